"""Tools that the provider runs itself: a ``…_tool_use`` and its ``…_tool_result`` in the answer.

They pair by id, not by place (server tools and MCP connector documentation). A call that is
still open at the end is a paused turn, or waits for the results of client tools beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactctl.rules.rule import ANTHROPIC, Breach, Rule
from compactctl.view.pairs import block_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.rules.context import RuleContext
    from compactctl.view.pairs import Place

RULES = (
    Rule(
        id="SERVER-01",
        profiles=ANTHROPIC,
        severity="error",
        says="a server tool call has no result before the next user message",
        fix="remove the call, or move the user message after its result",
        repaired=True,
        provider={
            "anthropic": "tool use with id `srvtoolu_…` was found without a corresponding "
            "`web_search_tool_result` block"
        },
    ),
    Rule(
        id="SERVER-02",
        profiles=ANTHROPIC,
        severity="error",
        says="a server tool result has no call before it",
        fix="remove the result",
        repaired=True,
        provider={
            "anthropic": "Each `advisor_tool_result` block must have a corresponding "
            "`server_tool_use` block before it"
        },
    ),
    Rule(
        id="SERVER-03",
        profiles=ANTHROPIC,
        severity="error",
        says="a call names a server tool call that is not there as its caller",
        fix="remove the call and its result",
        repaired=True,
        provider={"anthropic": "source tool `srvtoolu_…` not found for tool use block"},
    ),
)


def find(context: RuleContext) -> Iterator[Breach]:
    """Pair calls and results of server tools by id."""
    waiting: dict[str, Place] = {}
    seen: set[str] = set()
    closed: set[str] = set()
    read_to = 0
    for found in context.of("other"):
        call_id, name = found.block.call_id, found.block.type
        if call_id is None:
            continue
        for breach in _closed(context, waiting, read_to, found.message):
            closed.add(block_at(context.messages, breach.place).call_id or "")
            yield breach
        read_to = found.message
        if name.endswith("_tool_use"):
            waiting[call_id] = found.place
            seen.add(call_id)
        elif name.endswith("_tool_result"):
            waiting.pop(call_id, None)
            if call_id not in seen:
                yield Breach("SERVER-02", found.place)
            elif call_id in closed:
                closed.discard(call_id)
                yield Breach("SERVER-02", found.place, "a user message stands between the two")
    yield from _closed(context, waiting, read_to, len(context.messages))
    yield from _called_by_nothing(context, seen)


def _called_by_nothing(context: RuleContext, served: set[str]) -> Iterator[Breach]:
    """Find calls that name a call of a server tool as the one that made them."""
    for found in context.of("call"):
        caller = found.block.caller
        if caller is not None and caller not in served:
            yield Breach("SERVER-03", found.place, caller)


def _closed(
    context: RuleContext, waiting: dict[str, Place], start: int, stop: int
) -> Iterator[Breach]:
    """Close the turn of waiting calls where a user message holds more than results."""
    if not waiting:
        return
    for message in context.messages[start:stop]:
        if message.role == "user" and any(block.kind != "result" for block in message.blocks):
            for place in waiting.values():
                yield Breach("SERVER-01", place)
            waiting.clear()
            return
