"""Check a view against the rules of a profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from compactctl.model import Message
from compactctl.protocol.pairs import Interaction, Pairing, Place, block_at, pair
from compactctl.protocol.rules import BY_ID, Severity


class Problem(msgspec.Struct, frozen=True):
    """A rule that does not hold, and where."""

    rule: str
    severity: Severity
    place: Place
    call_id: str | None = None


def problems(messages: Sequence[Message], profile: str, *, sendable: bool = False) -> list[Problem]:
    """Give every breach of the profile's rules, in the order of the view.

    ``sendable`` judges the view as a request to be sent now: an open tail becomes an error, as it
    is under ``core`` (CONTRACT §11).
    """
    pairing = pair(messages)
    found = [
        _problem(messages, rule, place)
        for rule, place in (
            *_identities(messages),
            *_pairs(messages, pairing, profile),
        )
        if profile in BY_ID[rule].profiles
    ]
    if not sendable and profile != "core":
        found = [_softened(problem) for problem in found]
    return sorted(found, key=lambda problem: problem.place)


def breaks_pairs(problem: Problem) -> bool:
    """Say whether layers must refuse the view for this problem."""
    return problem.severity == "error" and BY_ID[problem.rule].breaks_pairs


def _problem(messages: Sequence[Message], rule: str, place: Place) -> Problem:
    return Problem(rule, BY_ID[rule].severity, place, block_at(messages, place).call_id)


def _softened(problem: Problem) -> Problem:
    """A session that stopped in a call can be resumed, so an open tail is only a warning."""
    if problem.rule != "TAIL-01":
        return problem
    return msgspec.structs.replace(problem, severity="warning")


def _identities(messages: Sequence[Message]) -> Iterator[tuple[str, Place]]:
    """Find blocks with a bad id or in a message of the wrong role."""
    for position, message in enumerate(messages):
        for at, block in enumerate(message.blocks):
            if block.kind not in {"call", "result"}:
                continue
            if not (block.call_id and block.call_id.strip()):
                yield "ID-01", Place(position, at)
            if block.kind == "call" and message.role != "assistant":
                yield "ROLE-01", Place(position, at)
            if block.kind == "result" and message.role != "user":
                yield "ROLE-02", Place(position, at)


def _pairs(
    messages: Sequence[Message], pairing: Pairing, profile: str
) -> Iterator[tuple[str, Place]]:
    """Find what is wrong between calls and results."""
    early = {block_at(messages, orphan).call_id for orphan in pairing.orphans}
    seen: set[str | None] = set()
    answered: set[str | None] = set()
    tail = _tail(messages)
    for interaction in pairing.interactions:
        call_id = block_at(messages, interaction.call).call_id
        if call_id in seen and call_id:
            yield "PAIR-03", interaction.call
        seen.add(call_id)
        if interaction.result is not None:
            answered.add(call_id)
            if profile != "core" and not _follows(messages, interaction):
                yield "PAIR-06", interaction.result
        elif call_id not in early:
            yield "TAIL-01" if interaction.call.message == tail else "PAIR-01", interaction.call
    for orphan in pairing.orphans:
        call_id = block_at(messages, orphan).call_id
        if call_id in answered:
            yield "PAIR-04", orphan
        else:
            yield "PAIR-05" if call_id in seen else "PAIR-02", orphan


def _tail(messages: Sequence[Message]) -> int:
    """Give the message whose unanswered calls are an open tail: no user text follows them."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.role == "assistant":
            return position
        if any(block.kind != "result" for block in message.blocks):
            break
    return -1


def _follows(messages: Sequence[Message], interaction: Interaction) -> bool:
    """Say whether the result is in the run of results right behind the message of its call."""
    result = interaction.result
    assert result is not None
    if result.message != interaction.call.message + 1:
        return False
    run = messages[result.message].blocks[: result.block]
    return all(block.kind == "result" for block in run)
