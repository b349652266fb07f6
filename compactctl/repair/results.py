"""Return each call its one result, where the provider looks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl import placeholders
from compactctl.jsonl import exact
from compactctl.model import MADE, Block, Message, replace_blocks
from compactctl.repair.case import Step
from compactctl.repair.content import in_words
from compactctl.view.edits import group
from compactctl.view.pairs import Place, block_at, results

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.repair.case import Case

_MISPLACED = ("PAIR-05", "PAIR-06", "PAIR-08", "ROLE-02")
_UNPAIRED = ("PAIR-01", "PAIR-02", "PAIR-04", "PAIR-09", "TAIL-01")


def place(case: Case) -> list[Message]:
    """Put results behind their calls, make those that are missing, drop those of no call.

    A result in its place stays what it is.
    """
    answers = _answers(case.messages)
    misplaced = case.broken(*_MISPLACED)
    moved = {place: misplaced[place] for place in answers.values() if place in misplaced}
    spare = _spare(case, answers)
    gone = moved | spare
    placed: list[Message] = []
    due: tuple[Block, ...] = ()
    for position, message in enumerate(case.messages):
        kept = [
            block
            for at, block in enumerate(message.blocks)
            if block.kind != "result" or Place(position, at) not in gone
        ]
        if message.role == "user":
            kept = _behind_results(kept, due)
        elif due:
            placed.append(Message("user", due))
        if kept or not message.blocks:
            placed.append(replace_blocks(message, kept))
        due = tuple(_missing_behind(case, position, answers, moved))
    if due:
        placed.append(Message("user", due))
    for here, rule in spare.items():
        case.done(rule, block_at(case.messages, here), "result dropped")
    return group(placed)


def _behind_results(blocks: list[Block], due: tuple[Block, ...]) -> list[Block]:
    """Put results behind those that a message begins with."""
    run = next((at for at, b in enumerate(blocks) if b.kind != "result"), len(blocks))
    return [*blocks[:run], *due, *blocks[run:]]


def _answers(messages: Sequence[Message]) -> dict[Place, Place]:
    """Map each call to its last result: of the calls of one id the newest before the result.

    A result that precedes every call of its id answers the first of them.
    """
    newest: dict[str | None, Place] = {}
    early: dict[str | None, Place] = {}
    answers: dict[Place, Place] = {}
    for position, message in enumerate(messages):
        for at, block in enumerate(message.blocks):
            here = Place(position, at)
            if block.kind == "call" and message.role == "assistant":
                newest[block.call_id] = here
                if block.call_id in early:
                    answers[here] = early.pop(block.call_id)
            elif block.kind == "result":
                call = newest.get(block.call_id)
                if call is None:
                    early[block.call_id] = here
                else:
                    answers[call] = here
    return answers


def _missing_behind(
    case: Case,
    position: int,
    answers: dict[Place, Place],
    moved: dict[Place, str],
) -> Iterator[Block]:
    """Return the results that a message has to be followed by: moved ones, then made ones.

    ``moved`` has for each result that is out of place the rule that says so.
    """
    unanswered = case.broken(*_UNPAIRED)
    calls = {
        Place(position, at): block
        for at, block in enumerate(case.messages[position].blocks)
        if block.kind == "call"
    }
    found = {answers[call]: block for call, block in calls.items() if call in answers}
    for here in sorted(moved.keys() & found):
        result, rule = block_at(case.messages, here), moved[here]
        is_of_its_type = rule != "PAIR-08"
        case.done(rule, result, "put behind its call" if is_of_its_type else "written anew")
        yield (
            result
            if is_of_its_type and _moves_in_its_line(case, position, here)
            else _copy(result, _answer_type(case, found[here]))
        )
    for call, block in calls.items():
        if call not in answers and call in unanswered:
            case.done(unanswered[call], block, "a result that says so was added")
            text = (Block("text", placeholders.NO_RESULT),)
            kind = _answer_type(case, block)
            yield Block("result", call_id=block.call_id, type=kind, content=text, failed=True)


def _moves_in_its_line(case: Case, position: int, here: Place) -> bool:
    """Return True if a result has nothing to pass but parts of its own line."""
    message = case.messages[here.message]
    before = message.blocks[: here.block]
    entry = message.blocks[here.block].entry
    return (
        here.message == position + 1
        and message.role == "user"
        and all(block.kind == "result" or block.entry == entry for block in before)
    )


def _answer_type(case: Case, call: Block) -> str:
    """Return the type that the result of a call must have, where the format has several."""
    record = exact.object_or_none(case.transcript.entries[call.entry].raw)
    return case.transcript.format.answer_type(record, call) if record else ""


def _copy(result: Block, kind: str) -> Block:
    """Write a result anew at another place; its old line goes."""
    words = map(in_words, result.content)
    pieces = tuple(msgspec.structs.replace(piece, entry=MADE, at=0) for piece in words)
    return msgspec.structs.replace(result, content=pieces, entry=MADE, at=0, type=kind)


def _spare(case: Case, answers: dict[Place, Place]) -> dict[Place, str]:
    """Return the results that answer no call, or not as the last, each with its rule.

    One whose call may stand in a line too long to be read breaks no rule, and stays.
    """
    used, broken = {*answers.values()}, case.broken()
    answered = {block_at(case.messages, call).call_id for call in answers}
    spare: dict[Place, str] = {}
    for here in results(case.messages):
        if here not in used:
            is_second = block_at(case.messages, here).call_id in answered
            if is_second or here in broken:
                spare[here] = "PAIR-04" if is_second else "PAIR-02"
    return spare


STEPS = (Step((*_MISPLACED, *_UNPAIRED), place),)
