"""Fix what messages hold: drop what a provider refuses, or say what stood there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl import placeholders
from compactctl.model import MADE, Block, Message, replace_blocks, text_pieces
from compactctl.repair.case import Deed, Step
from compactctl.rules import images
from compactctl.rules.context import RuleContext
from compactctl.view.edits import group
from compactctl.view.pairs import pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.repair.case import Case
    from compactctl.view.pairs import Place


def drop_empty(case: Case) -> list[Message]:
    """Drop texts of nothing but white space, and empty ones inside results."""
    empty = case.broken()

    def filled(place: Place, block: Block) -> Block | None:
        if place not in empty:
            return block
        if block.kind != "result":
            case.done(empty[place], block, "text dropped")
            return None
        case.done(empty[place], block, "empty text dropped")
        pieces = tuple(piece for piece in block.content if piece.kind != "text" or piece.text)
        return msgspec.structs.replace(block, content=pieces)

    return group(case.replace(filled))


def leave_only_text(case: Case) -> list[Message]:
    """Replace all but text in failed results by what it was: such a result may hold only text."""
    mixed = case.broken()

    def plain(place: Place, block: Block) -> Block:
        if place not in mixed:
            return block
        case.done("RESULT-01", block, "said in words")
        pieces = tuple(in_words(piece) for piece in block.content)
        return msgspec.structs.replace(block, content=pieces)

    return case.replace(plain)


def in_words(piece: Block) -> Block:
    """Return the text that says what a piece of a result is, where only a text may stand."""
    if piece.kind == "image":
        return placeholders.of_image(piece)
    if piece.kind == "text":
        return piece
    said = "\n".join(each.text for each in text_pieces(piece))
    return Block("text", said or piece.text or f"[{piece.type or piece.kind}]")


def drop_bad_images(case: Case) -> list[Message]:
    """Put a placeholder where an image stands that the provider refuses, or is one too many."""
    bad = _bad_images(case)

    def shown(place: Place, block: Block) -> Block:
        gone = bad.get(place)
        if gone is None:
            return block
        for rule in gone.values():
            case.done(rule, block, "image replaced by a text")
        if block.kind == "image":
            return placeholders.of_image(block)
        pieces = [
            placeholders.of_image(piece) if at in gone else piece
            for at, piece in enumerate(block.content)
        ]
        return msgspec.structs.replace(block, content=tuple(pieces))

    return case.replace(shown)


def _bad_images(case: Case) -> dict[Place, dict[int, str]]:
    """Return for each block the pieces of it that have to go, with the rule of each.

    Of too many images the oldest in results go first, and then the oldest of all.
    """
    every = images.sent(RuleContext(case.messages, case.profile, transcript=case.transcript))
    bad: dict[Place, dict[int, str]] = {}
    good: list[images.Sent] = []
    for each in every:
        rule = next((breach.rule for breach in each.breaches(many=len(every))), None)
        if rule is None:
            good.append(each)
        else:
            bad.setdefault(each.found.place, {})[each.piece] = rule
    good.sort(key=lambda each: (each.piece == images.ITSELF, each.found.place, each.piece))
    for each in good[: max(len(good) - images.MOST, 0)]:
        bad.setdefault(each.found.place, {})[each.piece] = "IMG-06"
    return bad


def drop_half_servers(case: Case) -> list[Message]:
    """Drop calls and results of server tools that have no counterpart, and what such a call made.

    A call goes with its result.
    """
    gone = case.broken()
    for interaction in pair(case.messages).interactions:
        if interaction.call in gone and interaction.result is not None:
            gone[interaction.result] = gone[interaction.call]

    def whole(place: Place, block: Block) -> Block | None:
        if place in gone:
            case.done(gone[place], block, f"{block.type or block.kind} dropped")
            return None
        return block

    return group(case.replace(whole))


def open_with_user(case: Case) -> list[Message]:
    """Put a user message in front of an assistant message that opens the view."""
    first = next(at for at, message in enumerate(case.messages) if message.role != "system")
    blocks = case.messages[first].blocks
    case.deeds.append(Deed("ORDER-01", blocks[0].entry if blocks else MADE, "one put before it"))
    opening = Message("user", (Block("text", placeholders.MISSING_START, meta=True),))
    return [*case.messages[:first], opening, *case.messages[first:]]


STEPS = (
    Step(("TEXT-01", "TEXT-02"), drop_empty),
    Step(("RESULT-01",), leave_only_text),
    Step(("IMG-01", "IMG-02", "IMG-03", "IMG-04", "IMG-05", "IMG-06"), drop_bad_images),
    Step(("SERVER-01", "SERVER-02", "SERVER-03"), drop_half_servers),
    Step(("ORDER-01",), open_with_user),
)


def without_bare_reasoning(case: Case, fixed: Sequence[Message]) -> Sequence[Message]:
    """Drop reasoning whose item went: to the Responses API the two are one."""
    if case.profile != "openai-responses":
        return fixed
    bare = {id(m.blocks[-1]) for m in case.messages if m.blocks}
    kept: list[Message] = []
    for message in fixed:
        blocks = [*message.blocks]
        while blocks and blocks[-1].kind == "thinking" and id(blocks[-1]) not in bare:
            case.done("THINK-03", blocks.pop(), "reasoning dropped")
        if blocks or not message.blocks:
            kept.append(replace_blocks(message, blocks))
    return group(kept)
