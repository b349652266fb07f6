"""Items of the Responses API: which output answers which call, and what only the provider reads.

Calls come in several kinds, and an output has to be of its call's kind. The kinds are those of
Codex (``normalize.rs``): a local shell call is answered by the output of a function, every other
call by an output of its own kind.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from compactctl.rules.rule import RESPONSES, Breach, Rule
from compactctl.view.pairs import block_at
from compactctl.view.reasoning import is_sealed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.model import Block
    from compactctl.rules.context import RuleContext

_OUTPUTS = {
    b"function_call": b"function_call_output",
    b"local_shell_call": b"function_call_output",
    b"custom_tool_call": b"custom_tool_call_output",
    b"tool_search_call": b"tool_search_output",
}
_KIND = re.compile(rb'"type" ?: ?"((?:function|local_shell|custom_tool|tool_search)_\w+)"')
_HEAD = 400
"""The type is one of the first members of an item; what a tool printed must not be searched."""

RULES = (
    Rule(
        id="PAIR-08",
        profiles=RESPONSES,
        severity="error",
        says="the type of a result does not match its call",
        fix="give the output the type that matches its call",
        repaired=True,
        provider={"openai-responses": "No tool output found for custom tool call"},
    ),
    Rule(
        id="ITEM-01",
        profiles=RESPONSES,
        severity="info",
        says="a summary of earlier messages that only its provider can read",
        fix="stay with this provider and account; `repair --thinking drop` removes it, and with "
        "it what it sums up",
        provider={"openai-responses": "invalid_encrypted_content"},
    ),
    Rule(
        id="ITEM-02",
        profiles=RESPONSES,
        severity="warning",
        only_sendable=True,
        says="a web search has an action type that the API does not know",
        fix="remove the item if the provider rejects it",
    ),
)


_SEARCHES = frozenset({"search", "open_page", "find_in_page"})


def find(context: RuleContext) -> Iterator[Breach]:
    """Look at the items that are neither messages nor calls, and compare calls with results."""
    for found in context.of("other"):
        if is_sealed(found.block):
            yield Breach("ITEM-01", found.place, found.block.type)
        elif found.block.type == "web_search_call" and context.sendable:
            action = _action(context.part(found.block))
            if action is not None and action not in _SEARCHES:
                yield Breach("ITEM-02", found.place, action)
    yield from _other_outputs(context)


def _action(part: Any) -> str | None:
    """Return what a web search did; None if that cannot be told."""
    item = part[-1] if isinstance(part, tuple) else part
    action = item.get("action") if isinstance(item, dict) else None
    kind = action.get("type") if isinstance(action, dict) else None
    return kind if isinstance(kind, str) else None


def _other_outputs(context: RuleContext) -> Iterator[Breach]:
    """Compare the types in the lines of a call and of its result, where both can be told."""
    for interaction in context.pairing.interactions:
        if interaction.result is None:
            continue
        call = block_at(context.messages, interaction.call)
        result = block_at(context.messages, interaction.result)
        wanted, answered = _OUTPUTS.get(_kind(context, call)), _kind(context, result)
        known = wanted is not None and answered in _OUTPUTS.values()
        if known and wanted != answered and call.entry != result.entry:
            yield Breach("PAIR-08", interaction.result, answered.decode())


def _kind(context: RuleContext, block: Block) -> bytes:
    found = _KIND.search(context.raw(block)[:_HEAD])
    return found[1] if found else b""
