"""Calls and their results: each call has one, each belongs to a call, and it stands in its place.

Anthropic: results stand in the leading run behind the calls; consecutive messages of one role
count as one (Messages API reference), so the run may be split over user messages, in any order
(measured). OpenAI: behind the message that holds the calls, before anything else. Responses and
Codex (``normalize.rs``): anywhere behind the call, one to one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactctl.rules.ids import is_blank
from compactctl.rules.rule import ANTHROPIC, CHAT, EVERY, SENDABLE, Breach, Rule
from compactctl.view.pairs import Place, block_at, open_tail

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.model import Message
    from compactctl.rules.context import RuleContext
    from compactctl.view.pairs import Pairing

_NO_RESULT = {
    "anthropic": "`tool_use` ids were found without `tool_result` blocks immediately after",
    "openai-chat": "An assistant message with 'tool_calls' must be followed by tool messages "
    "responding to each 'tool_call_id'",
    "openai-responses": "No tool output found for function call",
}
_NO_CALL = {
    "anthropic": "unexpected `tool_use_id` found in `tool_result` blocks",
    "openai-chat": "messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'",
    "openai-responses": "No tool call found for function call output with call_id",
}

RULES = (
    Rule(
        id="PAIR-01",
        profiles=EVERY,
        severity="error",
        says="a call has no result",
        fix="add a result for it",
        repaired=True,
        provider=_NO_RESULT,
        breaks_pairs=True,
    ),
    Rule(
        id="PAIR-02",
        profiles=EVERY,
        severity="error",
        says="a result does not belong to any call",
        fix="remove the result",
        repaired=True,
        provider=_NO_CALL,
        breaks_pairs=True,
    ),
    Rule(
        id="PAIR-03",
        profiles=EVERY,
        severity="error",
        says="duplicate call id",
        fix="remove the copy, or give it and its result a new id",
        repaired=True,
        provider={
            "anthropic": "`tool_use` ids must be unique",
            "openai-responses": "No tool call found for function call output with call_id",
        },
        breaks_pairs=True,
    ),
    Rule(
        id="PAIR-04",
        profiles=EVERY,
        severity="error",
        says="a call has more than one result",
        fix="keep only the last of them",
        repaired=True,
        provider={
            "anthropic": "each tool_use must have a single result. Found multiple `tool_result` "
            "blocks with id",
            "openai-responses": "No tool call found for function call output with call_id",
        },
        breaks_pairs=True,
    ),
    Rule(
        id="PAIR-05",
        profiles=EVERY,
        severity="error",
        says="a result comes before its call",
        fix="move the result after its call",
        repaired=True,
        provider=_NO_CALL,
        breaks_pairs=True,
    ),
    Rule(
        id="PAIR-06",
        profiles=ANTHROPIC | CHAT,
        severity="error",
        says="a result does not directly follow its call",
        fix="move the results directly after their calls",
        repaired=True,
        provider=_NO_RESULT,
        breaks_pairs=True,
    ),
    Rule(
        id="PAIR-07",
        profiles=CHAT,
        severity="info",
        says="a later turn reuses the id of an earlier call",
        fix="no action needed here, both turns are closed; Anthropic would reject it",
    ),
    Rule(
        id="PAIR-09",
        profiles=EVERY - {"core"},
        severity="warning",
        raised="error",
        says="a call has no result; the client answers it by itself when it sends",
        fix="continue the session as it is",
        repaired=True,
        provider=_NO_RESULT,
    ),
    Rule(
        id="TAIL-01",
        profiles=EVERY,
        severity="warning",
        raised="error",
        when=f"{SENDABLE} or core",
        says="the transcript ends on calls without results (an open tail)",
        fix="resume the session",
        repaired=True,
        provider=_NO_RESULT,
    ),
)


def find(context: RuleContext) -> Iterator[Breach]:
    """Pair calls with results and judge what is left over or out of place."""
    messages = context.messages
    pairing = context.pairing
    ids = [block_at(messages, found.call).call_id for found in pairing.interactions]
    runs = _Runs(messages, merged=context.profile not in CHAT)
    taken: set[str | None] = set()
    if len(set(ids)) < len(ids):
        for breach in _repeated(ids, pairing, runs, by_turn=context.profile in CHAT):
            if breach.rule == "PAIR-03":
                taken.add(block_at(messages, breach.place).call_id)
            yield breach
    early: set[Place] = set()
    for breach, call in _left_over_results(context) if pairing.orphans else ():
        if call is not None:
            early.add(call)
        yield breach
    for call_id, interaction in zip(ids, pairing.interactions, strict=True):
        call, result = interaction.call, interaction.result
        if result is None:
            if call not in early and call_id not in taken:
                yield from _unanswered(context, runs, call)
        elif not runs.in_place(call, result) and not is_blank(call_id):
            yield Breach("PAIR-06", result)


def _unanswered(context: RuleContext, runs: _Runs, call: Place) -> Iterator[Breach]:
    """Judge a call without a result, unless that may stand in a line that was not read."""
    call_id = block_at(context.messages, call).call_id
    if not is_blank(call_id) and not context.may_be_unread(call_id):
        is_answered = context.calls_are_answered and context.profile != "core"
        missing = "PAIR-09" if is_answered else "PAIR-01"
        yield Breach("TAIL-01" if runs.is_tail(call) else missing, call)


def _repeated(
    ids: Sequence[str | None], pairing: Pairing, runs: _Runs, *, by_turn: bool
) -> Iterator[Breach]:
    """Find ids that several calls carry; ``by_turn`` minds it only within one turn."""
    last: dict[str | None, Place] = {}
    for call_id, interaction in zip(ids, pairing.interactions, strict=True):
        before = last.get(call_id)
        if before is not None and not is_blank(call_id):
            again = by_turn and runs.of(before) != runs.of(interaction.call)
            yield Breach("PAIR-07" if again else "PAIR-03", interaction.call)
        last[call_id] = interaction.call


def _left_over_results(context: RuleContext) -> Iterator[tuple[Breach, Place | None]]:
    """Judge results without a call; with a breach of PAIR-05 comes the call that is meant.

    One whose call may stand in a line that was not read is none of them.
    """
    messages, pairing = context.messages, context.pairing
    answered: set[str | None] = set()
    calls: dict[str | None, list[Place]] = {}
    for interaction in reversed(pairing.interactions):
        call_id = block_at(messages, interaction.call).call_id
        if interaction.result is not None:
            answered.add(call_id)
        else:  # still open at the end, so it stands behind every result of its id
            calls.setdefault(call_id, []).append(interaction.call)
    for orphan in pairing.orphans:
        call_id = block_at(messages, orphan).call_id
        if is_blank(call_id):
            continue
        later = calls.get(call_id)
        if later:
            yield Breach("PAIR-05", orphan), later.pop()
        elif call_id in answered or not context.may_be_unread(call_id):
            yield Breach("PAIR-04" if call_id in answered else "PAIR-02", orphan), None


class _Runs:
    """Which calls belong together, and which stretch behind them may answer them."""

    def __init__(self, messages: Sequence[Message], *, merged: bool) -> None:
        """Count the runs; with ``merged``, assistant messages side by side are one."""
        self._messages = messages
        self._tail = open_tail(messages, joined=merged)
        self._run: list[int] = []
        self._ends: list[Place | None] = [None]
        """Per run, the first block behind it that is no result."""
        before = ""
        for position, message in enumerate(messages):
            if message.role == "assistant" and not (merged and before == "assistant"):
                self._ends.append(None)
            elif message.role == "user" and self._ends[-1] is None:
                self._ends[-1] = _first_other(message, position)
            elif message.role == "system" and not merged and self._ends[-1] is None:
                self._ends[-1] = Place(position, 0)
            if message.role != "system":
                before = message.role
            self._run.append(len(self._ends) - 1)

    def of(self, place: Place) -> int:
        """Return the run that a block belongs to or follows."""
        return self._run[place.message]

    def in_place(self, call: Place, result: Place) -> bool:
        """Return True if a result stands in the run of results right behind its call.

        A call or a result in a message of the wrong role is a matter of roles alone.
        """
        run = self._run[result.message]
        if self._run[call.message] == run:
            end = self._ends[run]
            if end is None or result < end:
                return True
        roles = self._messages[call.message].role, self._messages[result.message].role
        return roles != ("assistant", "user")

    def is_tail(self, call: Place) -> bool:
        """Return True if nothing but results follows the run of this call."""
        return call.message >= self._tail


def _first_other(message: Message, position: int) -> Place | None:
    """Return the first block that is no result; None when there is none."""
    for at, block in enumerate(message.blocks):
        if block.kind != "result":
            return Place(position, at)
    return None
