"""Mend a transcript until there is nothing left to mend: its lines, its chain, its view."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec

from compactctl.layers import thinking
from compactctl.layers.base import Action
from compactctl.repair import chain, order, steps
from compactctl.repair import lines as repair_lines
from compactctl.rules import findings
from compactctl.rules.registry import BY_ID, RULES
from compactctl.transcript import loading, repair_tally
from compactctl.transcript.repair_tally import first_changed
from compactctl.transcript.rewrite import changed_entries, rewrite
from compactctl.view.edits import apply, first_change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.rules.findings import Finding
    from compactctl.transcript.loading import Transcript
    from compactctl.transcript.repair_tally import Lines, Pieces

_ROUNDS = 100
"""Each round is one step, which lays open the next; real damage takes a handful."""


_THINKING = "thinking"
_SAYS = {
    _THINKING: "thinking dropped, as was asked for",
    order.ORDER: "an entry before its parent put behind it",
}
"""What is mended though no rule is against it."""


_OF_VIEW = frozenset(rule.id for rule in RULES)


class Mend(msgspec.Struct, frozen=True):
    """One thing that was mended, by the rule that was broken; the line as it was then."""

    rule: str
    line: int | None
    call_id: str | None

    def __str__(self) -> str:
        """Say it in one line."""
        call = f" {self.call_id}" if self.call_id else ""
        says = _SAYS.get(self.rule) or BY_ID[self.rule].says
        return f"line {self.line or '?'}: {self.rule}{call}: {says}"


class Mended(msgspec.Struct, frozen=True):
    """The lines after all mends, and the errors that no mend could take away."""

    before: Transcript
    after: Transcript
    read: Sequence[bytes]
    written: Lines
    mends: list[Mend]
    left: list[Finding]

    @property
    def lines(self) -> Sequence[bytes]:
        """Give the lines; the very list that was read where nothing was mended."""
        return self.written.raw


def mend(
    lines: Sequence[bytes], name: str, format_name: str | None, mode: thinking.Mode = "auto"
) -> Mended:
    """Mend to a fix-point: a second run finds nothing to do.

    Raises:
        InputError: as for :func:`compactctl.transcript.load`.

    """
    before = now = loading.load(lines, name, format_name)
    written = repair_tally.first(lines)
    mends: list[Mend] = []
    before_that: list[tuple[str, str | None]] = []
    for _ in range(_ROUNDS):
        actions: list[Action] = []
        new = _round(now, written, actions, mode)
        if new is None or not any(map(bytes.strip, new.raw)):
            break  # an empty file is no transcript
        then = loading.parse(new.raw, name, now.format)
        did = [(a.rule, a.call_id) for a in actions if a.rule in _OF_VIEW]
        if did and did == before_that and first_changed(now.messages, then.messages) is None:
            did, actions = [], []  # what is made is no part of the view: ids repeat
            pieces = chain.tell_apart(now, actions)
            if pieces is None:
                break
            new = repair_tally.of_entries(pieces, now, written)
            then = loading.parse(new.raw, name, now.format)
        before_that = did
        mends += [_mend(action, now) for action in actions]
        written, now = new, then
    return Mended(before, now, lines, written, mends, _left(now))


def _left(now: Transcript) -> list[Finding]:
    """Give the errors by every profile that the format has, each once."""
    own = now.format.profile
    profiles = (own, "core") if own == "anthropic" else (own,)
    found = (each for profile in profiles for each in findings.find(now, profile))
    return [*dict.fromkeys(each for each in found if each.severity == "error")]


def _round(now: Transcript, old: Lines, actions: list[Action], mode: thinking.Mode) -> Lines | None:
    """Do the next step that has something to do; None when there is none."""
    mended = repair_lines.mend_damage(now, old.raw, actions)
    if actions:
        return repair_tally.of_lines(zip(mended, itertools.count()), old)
    for step in (_mend_order, chain.mend_chain, repair_lines.mend_hollow):
        pieces = step(now, actions)
        if pieces is not None:
            return repair_tally.of_entries(pieces, now, old)
    messages = steps.mend(now, actions)
    if mode == "drop":
        thoughts = [b for m in now.messages for b in m.blocks if b.kind == "thinking"]
        actions += [Action(_THINKING, block.entry) for block in thoughts]
    if not actions:
        return None
    first = first_change(now.messages, messages)
    stale = thinking.stale_thinking(messages, first, mode, signed=now.format.signed)
    left = apply(messages, stale) if stale else messages
    new = rewrite(now, left, changed_entries(now.messages, left))
    return repair_tally.of_entries(zip(new.chunks, new.origins, strict=True), now, old)


def _mend_order(now: Transcript, actions: list[Action]) -> Pieces | None:
    """Sort the entries of a file in which more is wrong than their order."""
    moved: list[Action] = []
    pieces = order.mend_order(now, moved)
    found = findings.find(now, now.format.profile) if pieces else ()
    if not any(each.severity == "error" or each.rule in steps.OPEN for each in found):
        return None
    actions += moved
    return pieces


def _mend(action: Action, now: Transcript) -> Mend:
    line = now.entries[action.entry].line if 0 <= action.entry < len(now.entries) else None
    return Mend(action.rule, line, action.call_id)
