"""Repair a transcript until nothing is left to fix: its lines, its chain, its view."""

from __future__ import annotations

import io
import itertools
from typing import TYPE_CHECKING

import msgspec

from compactctl.layers import thinking
from compactctl.layers.base import Action
from compactctl.model import MADE
from compactctl.repair import chain, order, steps
from compactctl.repair import lines as repair_lines
from compactctl.rules import BY_ID, RULES, findings
from compactctl.transcript import loading
from compactctl.transcript.accounting import Output, account_lines
from compactctl.transcript.rewrite import changed_entries, rewrite
from compactctl.view.compare import first_change, first_difference
from compactctl.view.edits import apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactctl.repair.case import Pieces
    from compactctl.rules.findings import Finding
    from compactctl.transcript.loading import Transcript

_ROUNDS = 100
"""Each round is one step, which lays open the next; real damage takes a handful."""


_THINKING = "thinking"
_SAYS = {
    _THINKING: "thinking dropped, as was asked for",
    order.ORDER: "an entry before its parent put behind it",
}
"""What is fixed though no rule is against it."""


_OF_VIEW = frozenset(rule.id for rule in RULES)


class Fix(msgspec.Struct, frozen=True):
    """One thing that was fixed, by the rule that was broken; the line as it was then."""

    rule: str
    line: int | None
    call_id: str | None

    def __str__(self) -> str:
        """Say it in one line."""
        call = f" {self.call_id}" if self.call_id else ""
        says = _SAYS.get(self.rule) or BY_ID[self.rule].says
        return f"line {self.line or '?'}: {self.rule}{call}: {says}"


class Repaired(msgspec.Struct, frozen=True):
    """The lines after all fixes, and the errors that no fix could take away."""

    before: Transcript
    after: Transcript
    output: Output
    fixes: list[Fix]
    left: list[Finding]

    @property
    def lines(self) -> Sequence[bytes]:
        """The lines; the very list that was read where nothing was fixed."""
        return self.output.chunks


def repair(
    lines: Sequence[bytes], name: str, format_name: str | None, mode: thinking.Mode = "auto"
) -> Repaired:
    """Repair to a fix-point: a second run finds nothing to do.

    Raises:
        InputError: as for :func:`compactctl.transcript.loading.load`.

    """
    before = now = loading.load(lines, name, format_name)
    new: Sequence[bytes] = lines
    origins: Sequence[int] = range(len(lines))
    fixes: list[Fix] = []
    before_that: list[tuple[str, str | None]] = []
    for _ in range(_ROUNDS):
        actions: list[Action] = []
        pieces = _round(now, new, actions, mode)
        if pieces is None or not any(raw.strip() for raw, _ in pieces):
            break  # an empty file is no transcript
        joined = _joined(pieces, origins)
        then = loading.parse(joined[0], name, now.format)
        did = [(a.rule, a.call_id) for a in actions if a.rule in _OF_VIEW]
        if did and did == before_that and first_difference(now.messages, then.messages) is None:
            did, actions = [], []  # what is made is no part of the view: ids repeat
            pieces = _by_line(chain.tell_apart(now, actions), now)
            if pieces is None:
                break
            joined = _joined(pieces, origins)
            then = loading.parse(joined[0], name, now.format)
        before_that = did
        fixes += [Fix(a.rule, now.line_of(a.entry), a.call_id) for a in actions]
        (new, origins), now = joined, then
    return Repaired(before, now, account_lines(lines, new, origins), fixes, _left(now))


def _left(now: Transcript) -> list[Finding]:
    """Return the errors by every profile that the format has, each once."""
    own = now.format.profile
    profiles = (own, "core") if own == "anthropic" else (own,)
    found = (each for profile in profiles for each in findings.find(now, profile))
    return [*dict.fromkeys(each for each in found if each.severity == "error")]


def _round(
    now: Transcript, lines: Sequence[bytes], actions: list[Action], mode: thinking.Mode
) -> Pieces | None:
    """Do the next step that has something to do; its pieces are of lines, None if there is none."""
    fixed = repair_lines.fix_damage(now, lines, actions)
    if actions:
        return [*zip(fixed, itertools.count())]
    for step in (_fix_order, chain.fix_chain, repair_lines.fix_empty):
        pieces = step(now, actions)
        if pieces is not None:
            return _by_line(pieces, now)
    messages = steps.fix(now, actions)
    if mode == "drop":
        thoughts = [b for m in now.messages for b in m.blocks if b.kind == "thinking"]
        actions += [Action(_THINKING, block.entry) for block in thoughts]
    if not actions:
        return None
    first = first_change(now.messages, messages)
    stale = thinking.stale_thinking(messages, first, mode, signed=now.format.signed)
    left = apply(messages, stale) if stale else messages
    new = rewrite(now, left, changed_entries(now.messages, left))
    return _by_line(zip(new.chunks, new.origins, strict=True), now)


def _fix_order(now: Transcript, actions: list[Action]) -> Pieces | None:
    """Sort the entries of a file in which more is wrong than their order."""
    moved: list[Action] = []
    pieces = order.fix_order(now, moved)
    found = findings.find(now, now.format.profile) if pieces else ()
    if not any(each.severity == "error" or each.rule in steps.OPEN for each in found):
        return None
    actions += moved
    return pieces


def _by_line(pieces: Iterable[tuple[bytes, int]] | None, now: Transcript) -> Pieces | None:
    """Name the lines that pieces were, by index, in place of the entries."""
    if pieces is None:
        return None
    return [(raw, at if at == MADE else now.entries[at].line - 1) for raw, at in pieces]


def _joined(pieces: Pieces, origins: Sequence[int]) -> tuple[list[bytes], list[int]]:
    """Make whole lines of pieces of lines: (lines, where each is from in the file).

    A line may be several by now, or less.
    """
    lines: list[bytes] = []
    found: list[int] = []
    begun = False
    for raw, at in pieces:
        origin = MADE if at == MADE else origins[at]
        for part in [raw] if raw.count(b"\n") == 1 and raw.endswith(b"\n") else io.BytesIO(raw):
            if begun:
                lines[-1] += part
                found[-1] = origin if found[-1] == MADE else found[-1]
            else:
                lines.append(part)
                found.append(origin)
            begun = not part.endswith(b"\n")
    return lines, found
