"""Thinking, as far as a transcript tells; its signatures only the provider can judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactctl.rules.rule import ANTHROPIC, CHAT, RESPONSES, Breach, Rule
from compactctl.view.pairs import Place, is_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.model import Message
    from compactctl.rules.context import RuleContext

RULES = (
    Rule(
        id="THINK-01",
        profiles=ANTHROPIC,
        severity="info",
        says="the open tool loop has no thinking, though every other turn begins with it",
        fix="send the next request with thinking off, or close the turn first",
        provider={
            "anthropic": "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block"
        },
    ),
    Rule(
        id="THINK-02",
        profiles=ANTHROPIC,
        severity="warning",
        raised="error",
        says="the last message ends with thinking",
        fix="remove the thinking, or resume the session",
        provider={"anthropic": "The final block in an assistant message cannot be `thinking`"},
    ),
    Rule(
        id="THINK-03",
        profiles=RESPONSES,
        severity="info",
        says="reasoning without the item that should follow it",
        fix="remove the reasoning if the provider rejects it",
        provider={
            "openai-responses": "of type 'reasoning' was provided without its required following "
            "item"
        },
    ),
    Rule(
        id="THINK-04",
        profiles=CHAT,
        severity="info",
        says="an answer with calls has no reasoning, though nearly all others have it",
        fix="send it back with its reasoning if the provider asks for it",
        provider={
            "openai-chat": "The reasoning_content in the thinking mode must be passed back to the "
            "API"
        },
    ),
)


_MANY = 5
"""One answer without reasoning among so many is odd."""


def find(context: RuleContext) -> Iterator[Breach]:
    """Look at what follows thinking, and at what the open loop begins with."""
    messages = context.messages
    thoughts = context.of("thinking")
    if not thoughts:
        return
    last = len(messages) - 1
    if thoughts[-1].place == Place(last, len(messages[last].blocks) - 1):
        yield Breach("THINK-02", thoughts[-1].place)
    yield from _bare_loop(messages)
    yield from _bare_calls(context)
    for thought in thoughts:
        ends = thought.at == len(messages[thought.message].blocks) - 1
        after = thought.message + 1
        if ends and (after > last or messages[after].role != "assistant"):
            yield Breach("THINK-03", thought.place)


def _bare_loop(messages: Sequence[Message]) -> Iterator[Breach]:
    """Find an open tool loop without any thinking while all other turns begin with it.

    Only then is thinking on and always there: models that think when they see fit leave it out,
    and are not refused for it. Without interleaved thinking only a turn's first answer has any.
    """
    openers = [*_openers(messages)] if _is_open(messages) else []
    if len(openers) > 1:
        last = openers.pop()
        loop = (block for message in messages[last:] for block in message.blocks)
        if all(_begins_with_thinking(messages[opener]) for opener in openers) and all(
            block.kind != "thinking" for block in loop
        ):
            yield Breach("THINK-01", Place(last, 0))


def _bare_calls(context: RuleContext) -> Iterator[Breach]:
    """Find the few answers that call without reasoning among many that reason."""
    calls = (call for call in context.of("call") if context.role(call) == "assistant")
    calling = dict.fromkeys(call.message for call in calls)
    reasoned = {thought.message for thought in context.of("thinking")}
    bare = [at for at in calling if at not in reasoned]
    if len(bare) * _MANY <= len(calling):
        for at in bare:
            yield Breach("THINK-04", Place(at, 0))


def _begins_with_thinking(message: Message) -> bool:
    return bool(message.blocks) and message.blocks[0].kind == "thinking"


def _openers(messages: Sequence[Message]) -> Iterator[int]:
    """Return the first answer of each turn: the one behind a user message of more than results."""
    prompted = False
    for position, message in enumerate(messages):
        if message.role == "user":
            prompted = prompted or is_prompt(message)
        elif message.role == "assistant" and prompted:
            yield position
            prompted = False


def _is_open(messages: Sequence[Message]) -> bool:
    """Return True if the view ends on calls, or on nothing but their results."""
    for message in reversed(messages):
        if message.role == "assistant":
            return any(block.kind == "call" for block in message.blocks)
        if is_prompt(message):
            return False
    return False
