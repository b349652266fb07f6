"""Reasoning that a provider wants back as it was: it is one with the calls of its step.

A step is a thought with what it led to, up to the next thought of the message. What is bound in it
stays as long as any call of it does: the thought, and the call that carries its signature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactctl.view.pairs import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from compactctl.model import Block
    from compactctl.view.index import View


def is_sealed(block: Block) -> bool:
    """Return True for history that only the provider and the account that wrote it can read."""
    return block.kind == "other" and block.bound


def step_of(blocks: Sequence[Block], at: int) -> range:
    """Return the step that block ``at`` is in."""
    start = at
    while start and not _begins(blocks, start):
        start -= 1
    stop = at + 1
    while stop < len(blocks) and not _begins(blocks, stop):
        stop += 1
    return range(start, stop)


def _begins(blocks: Sequence[Block], at: int) -> bool:
    return blocks[at].kind == "thinking" and blocks[at - 1].kind != "thinking"


def with_steps(view: View, places: Collection[Place]) -> set[Place]:
    """Return places, and what is bound in the steps of the calls among them, with its results."""
    needed = set(places)
    for place in places:
        blocks = view.messages[place.message].blocks
        if blocks[place.block].kind == "call":
            needed.update(
                Place(place.message, at) for at in step_of(blocks, place.block) if blocks[at].bound
            )
    signed = needed.difference(places)
    if signed:
        needed.update(found.result_at for found in view.answered if found.call_at in signed)
    return needed


def lets_go(view: View, call: Place, gone: Collection[Place]) -> bool:
    """Return True if a call may go with ``gone``: one that is bound goes with its whole step."""
    blocks = view.messages[call.message].blocks
    return not blocks[call.block].bound or all(
        Place(call.message, at) in gone
        for at in step_of(blocks, call.block)
        if blocks[at].kind == "call"
    )
