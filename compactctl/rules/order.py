"""Which message may stand where: the first, the last, and their order between.

Role alternation is no rule of Anthropic's own API (measured); gateways in front of it and models
with fixed chat templates ask for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactctl.rules.rule import ANTHROPIC, GATEWAY, Breach, Rule
from compactctl.view.pairs import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.model import Block, Message
    from compactctl.rules.context import RuleContext

RULES = (
    Rule(
        id="ORDER-01",
        profiles=ANTHROPIC,
        severity="error",
        says="the first message is not a user message",
        fix="put a user message in front of it",
        repaired=True,
        provider={"anthropic": 'messages: first message must use the "user" role'},
    ),
    Rule(
        id="ORDER-02",
        profiles=ANTHROPIC,
        severity="warning",
        says="a system message is inside the conversation, not directly after a user message",
        fix="move it to the top; only newer models accept one after a user message",
        provider={"anthropic": "role 'system' is not supported on this model"},
    ),
    Rule(
        id="END-01",
        profiles=ANTHROPIC,
        severity="error",
        only_sendable=True,
        says="the text of the last, unfinished answer ends with whitespace",
        fix="remove the whitespace",
        provider={"anthropic": "final assistant content cannot end with trailing whitespace"},
    ),
    Rule(
        id="END-02",
        profiles=ANTHROPIC,
        severity="error",
        only_sendable=True,
        says="the last message is an assistant message, which newer models reject",
        fix="add the user's next message",
        provider={
            "anthropic": "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        },
    ),
    Rule(
        id="GATE-01",
        profiles=GATEWAY,
        severity="error",
        says="consecutive messages have the same role",
        fix="merge them into one message",
        provider={"gateway": 'roles must alternate between "user" and "assistant"'},
    ),
    Rule(
        id="GATE-02",
        profiles=GATEWAY,
        severity="error",
        says="the results of one answer are split over several messages",
        fix="put them into one user message",
        provider={
            "gateway": "Did not find `tool_result` block(s) at the beginning of this message"
        },
    ),
    Rule(
        id="GATE-03",
        profiles=GATEWAY,
        severity="error",
        says="a text follows a call in the same assistant message",
        fix="move the text before the calls",
    ),
    Rule(
        id="GATE-04",
        profiles=GATEWAY,
        severity="warning",
        says="an assistant message ends with thinking",
        fix="remove the thinking, or put a text after it",
        provider={"gateway": "The final block in an assistant message cannot be `thinking`"},
    ),
)


def find(context: RuleContext) -> Iterator[Breach]:
    """Judge the order of messages."""
    yield from _opening(context.messages)
    yield from _systems(context)
    if context.sendable:
        yield from _ending(context.messages)
    if context.profile in GATEWAY:
        yield from _side_by_side(context)
        yield from _inside_answers(context.messages)


def _opening(messages: Sequence[Message]) -> Iterator[Breach]:
    for position, message in enumerate(messages):
        if message.role == "assistant":
            yield Breach("ORDER-01", Place(position, 0))
        if message.role != "system":
            return


def _systems(context: RuleContext) -> Iterator[Breach]:
    """Find system messages further down; each is judged by what the run of them stands behind."""
    before = "system"
    for position, message in enumerate(context.messages):
        if message.role != "system":
            before = message.role
        elif before == "assistant":
            yield Breach("ORDER-02", Place(position, 0))


def _ending(messages: Sequence[Message]) -> Iterator[Breach]:
    """Judge an unfinished answer; open calls are an open tail, and a paused turn may go back."""
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or any(map(_is_waiting, last.blocks)):
        return
    end = Place(len(messages) - 1, max(len(last.blocks) - 1, 0))
    yield Breach("END-02", end)
    if last.blocks and last.blocks[-1].kind == "text" and last.blocks[-1].text[-1:].isspace():
        yield Breach("END-01", end)


def _is_waiting(block: Block) -> bool:
    return block.kind == "call" or (block.kind == "other" and block.type.endswith("_tool_use"))


def _side_by_side(context: RuleContext) -> Iterator[Breach]:
    """Find neighbours of one role, in the view or, where it merged them, in the lines."""
    before = ""
    for position, message in enumerate(context.messages):
        if message.role != "system":
            if message.role == before:
                yield Breach("GATE-01", Place(position, 0))
            before = message.role
        if message.role == "user" and context.lines_are_messages:
            yield from _merged_lines(message.blocks, position)


def _merged_lines(blocks: Sequence[Block], position: int) -> Iterator[Breach]:
    for at in range(1, len(blocks)):
        first, second = blocks[at - 1], blocks[at]
        if first.entry != second.entry:
            split = first.kind == second.kind == "result"
            yield Breach("GATE-02" if split else "GATE-01", Place(position, at))


def _inside_answers(messages: Sequence[Message]) -> Iterator[Breach]:
    for position, message in enumerate(messages):
        if message.role != "assistant" or not message.blocks:
            continue
        called = False
        for at, block in enumerate(message.blocks):
            called = called or block.kind == "call"
            if called and block.kind == "text":
                yield Breach("GATE-03", Place(position, at))
        if message.blocks[-1].kind == "thinking" and position < len(messages) - 1:
            yield Breach("GATE-04", Place(position, len(message.blocks) - 1))
