"""Repair a transcript until nothing is left to fix: its lines, its chain, its view."""

from __future__ import annotations

import io
import itertools
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from compactctl.errors import InvalidTranscriptError
from compactctl.layers import thinking
from compactctl.model import MADE
from compactctl.repair import chain, entries, order, steps
from compactctl.repair import lines as repair_lines
from compactctl.repair.case import Deed
from compactctl.rules import BY_ID, RULES, findings
from compactctl.transcript import loading, placing
from compactctl.transcript.accounting import Output, account_lines
from compactctl.transcript.rewrite import changed_entries, rewrite
from compactctl.view.compare import first_change, first_difference, same_view
from compactctl.view.edits import apply, key
from compactctl.view.reasoning import is_sealed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactctl.model import Message
    from compactctl.repair.case import Pieces
    from compactctl.rules.findings import Finding
    from compactctl.transcript.loading import Transcript

_ROUNDS = 100
"""Each round is one step, which lays open the next; real damage takes a handful."""

_GROWTH, _SLACK = 8, 1 << 20
"""What is made is small beside the lines that it is made for, however often that happens."""

THINKING = "thinking"
"""What thinking that goes is reported as, for no rule is against it."""

_OF_VIEW = frozenset(rule.id for rule in RULES)


class Fix(msgspec.Struct, frozen=True):
    """One thing that was fixed, by the rule that was broken; the line as it was then."""

    rule: str
    line: int | None
    call_id: str | None
    did: str = ""
    tool: str = ""

    def __str__(self) -> str:
        """Return it as one line."""
        call = f" {self.call_id}" if self.call_id else ""
        says = f"{BY_ID[self.rule].says}; " if self.rule in BY_ID else ""
        return f"line {self.line or '?'}: {self.rule}{call}: {says}{self.did}"


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
        InvalidTranscriptError: no fix-point is in sight.

    """
    before = now = loading.load(lines, name, format_name)
    new: Sequence[bytes] = lines
    origins: Sequence[int] = range(len(lines))
    most = _GROWTH * sum(map(len, lines)) + _SLACK
    fixes: list[Fix] = []
    last: list[Deed] = []
    for _ in range(_ROUNDS):
        done = _round(now, new, mode, last)
        if done is None or not any(raw.strip() for raw, _ in done.pieces):
            if fixes:
                new, origins = placing.inside(now.format, new, origins)
                now = loading.parse(new, name, now.format)
            return Repaired(before, now, account_lines(lines, new, origins), fixes, _left(now))
        fixes += [Fix(d.rule, now.line_of(d.entry), d.call_id, d.did, d.tool) for d in done.deeds]
        new, origins = _joined(done.pieces, origins)
        last = done.deeds
        if sum(map(len, new)) > most:
            break
        now = loading.parse(new, name, now.format)
    raise _endless(fixes[-1], name)


def _endless(fix: Fix, name: str) -> InvalidTranscriptError:
    what = f"{fix.rule} ({BY_ID[fix.rule].says})" if fix.rule in BY_ID else fix.rule
    return InvalidTranscriptError(
        f"repair comes to no end: {what} is there again after each fix; fix it by hand", file=name
    )


def _left(now: Transcript) -> list[Finding]:
    """Return the errors by every profile that the format has, each once."""
    own = now.format.profile
    profiles = (own, "core") if own == "anthropic" else (own,)
    found = (each for profile in profiles for each in findings.find(now, profile))
    return [*dict.fromkeys(each for each in found if each.severity == "error")]


class _Round(NamedTuple):
    """What one round did, and the pieces of lines that are the file now."""

    pieces: Pieces
    deeds: list[Deed]


def _round(
    now: Transcript, lines: Sequence[bytes], mode: thinking.Mode, last: list[Deed]
) -> _Round | None:
    """Do the next step that has something to do; None if there is none.

    ``last`` is what the round before did: where this one would do the same and the view would
    stay as it is, what is made is no part of the view, for ids repeat.
    """
    deeds: list[Deed] = []
    fixed = repair_lines.fix_damage(now, lines, deeds)
    if deeds:
        return _Round([*zip(fixed, itertools.count())], deeds)
    for step in (_fix_order, chain.fix_chain, *entries.STEPS):
        pieces = step(now, deeds)
        if pieces is not None:
            return _Round(_by_line(pieces, now), deeds)
    messages = steps.fix(now, deeds)
    again = deeds and _of_view(deeds) == _of_view(last)
    messages = _without_stale(now, messages, mode, deeds)
    if not deeds:
        return None
    written = _written(now, messages)
    if again and _is_same_view(now, written.chunks):
        deeds = []
        told_apart = chain.tell_apart(now, deeds)
        return None if told_apart is None else _Round(_by_line(told_apart, now), deeds)
    return _Round(_by_line(zip(written.chunks, written.origins, strict=True), now), deeds)


def _written(now: Transcript, messages: Sequence[Message]) -> Output:
    """Return the lines with another view; forks that would hide some of it are made straight."""
    touched = changed_entries(now.messages, messages)
    written = rewrite(now, messages, touched)
    if now.hides and now.format.links is not None and not now.format.links.follows:
        then = loading.parse(written.lines(), now.name, now.format)
        if not same_view(then.messages, messages):
            return rewrite(now, messages, touched, straight=True)
    return written


def _of_view(deeds: Sequence[Deed]) -> list[tuple[str, str | None]]:
    return [(deed.rule, deed.call_id) for deed in deeds if deed.rule in _OF_VIEW]


def _is_same_view(now: Transcript, chunks: Sequence[bytes]) -> bool:
    lines, _ = _joined([(chunk, MADE) for chunk in chunks], ())
    then = loading.parse(lines, now.name, now.format)
    return first_difference(now.messages, then.messages) is None


def _without_stale(
    now: Transcript, messages: Sequence[Message], mode: thinking.Mode, deeds: list[Deed]
) -> Sequence[Message]:
    """Take out the thinking that was signed over what is another text now, or all of it."""
    first = first_change(now.messages, messages)
    stale = thinking.stale_thinking(messages, first, mode)
    if not stale:
        return messages
    why = "dropped, as was asked for" if mode == "drop" else "dropped, what precedes it changed"
    gone = (block for m in messages for block in m.blocks if key(block) in stale)
    deeds += [Deed("ITEM-01" if is_sealed(b) else THINKING, b.entry, why) for b in gone]
    return apply(messages, stale)


def _fix_order(now: Transcript, deeds: list[Deed]) -> Pieces | None:
    """Sort the entries of a file in which more is wrong than their order."""
    moved: list[Deed] = []
    pieces = order.fix_order(now, moved)
    found = findings.find(now, now.format.profile) if pieces else ()
    if not any(each.severity == "error" or each.rule in steps.OPEN for each in found):
        return None
    deeds += moved
    return pieces


def _by_line(pieces: Iterable[tuple[bytes, int]], now: Transcript) -> Pieces:
    """Name the lines that pieces were, by index, in place of the entries."""
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
