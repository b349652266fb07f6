"""Ids and roles of calls and results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compactctl.rules.rule import ANTHROPIC, CHAT, EVERY, RESPONSES, Breach, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.rules.context import RuleContext

LONGEST = {"openai-chat": 40, "openai-responses": 64}
"""Characters of an id that a provider takes, where it has a limit."""
LEGAL = "a-zA-Z0-9_-"
"""Characters that Anthropic takes."""
_LEGAL_ID = re.compile(f"[{LEGAL}]+")
_TOO_LONG = {"openai-chat": "ID-03", "openai-responses": "ID-04"}

RULES = (
    Rule(
        id="ID-01",
        profiles=EVERY,
        severity="error",
        says="a call or result has no id, or its id is blank or not a string",
        fix="give the call and its result one id",
        repaired=True,
        provider={
            "anthropic": "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
            "openai-chat": "tool_call_id  is not found",
        },
        breaks_pairs=True,
    ),
    Rule(
        id="ID-02",
        profiles=ANTHROPIC,
        severity="error",
        says="a call id contains characters other than letters, digits, _ and -",
        fix="give the call and its result the same id, of these characters only",
        repaired=True,
        provider={"anthropic": "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
    ),
    Rule(
        id="ID-03",
        profiles=CHAT,
        severity="error",
        says=f"the id of a call is longer than {LONGEST['openai-chat']} characters",
        fix="give the call and its result the same, shorter id",
        repaired=True,
        provider={
            "openai-chat": "string too long. Expected a string with maximum length 40, but got"
        },
    ),
    Rule(
        id="ID-04",
        profiles=RESPONSES,
        severity="error",
        says=f"the id of a call is longer than {LONGEST['openai-responses']} characters",
        fix="give the call and its result the same, shorter id",
        repaired=True,
        provider={
            "openai-responses": "string too long. Expected a string with maximum length 64, but got"
        },
    ),
    Rule(
        id="ROLE-01",
        profiles=EVERY,
        severity="error",
        says="a call is outside an assistant message",
        fix="move the call into an assistant message",
        repaired=True,
        provider={"anthropic": "`tool_use` blocks can only be in `assistant` messages"},
        breaks_pairs=True,
    ),
    Rule(
        id="ROLE-02",
        profiles=EVERY,
        severity="error",
        says="a result is outside a user message",
        fix="move the result into the user message after its call",
        repaired=True,
        provider={"anthropic": "`tool_result` blocks can only be in `user` messages"},
        breaks_pairs=True,
    ),
)


def find(context: RuleContext) -> Iterator[Breach]:
    """Judge each call and each result by itself."""
    messages = context.messages
    yield from _call_ids(context)
    for call in context.of("call"):
        if messages[call.message].role != "assistant":
            yield Breach("ROLE-01", call.place)
    for result in context.of("result"):
        if is_blank(result.block.call_id):
            yield Breach("ID-01", result.place)
        if messages[result.message].role != "user":
            yield Breach("ROLE-02", result.place)


def _call_ids(context: RuleContext) -> Iterator[Breach]:
    """Judge the ids of calls; a result whose id differs from its call's answers no call."""
    longest = LONGEST.get(context.profile, 0)
    matches = _LEGAL_ID.fullmatch
    for call in context.of("call"):
        call_id = call.block.call_id or ""
        if longest and len(call_id) > longest:
            yield Breach(_TOO_LONG[context.profile], call.place, f"{len(call_id)} characters")
        if matches(call_id):
            continue
        if not call_id.strip():
            yield Breach("ID-01", call.place)
        elif not context.ids_are_fixed:
            yield Breach("ID-02", call.place)


def is_blank(call_id: str | None) -> bool:
    """Return True if an id is none at all."""
    return not (call_id and call_id.strip())
