"""Mend a transcript until there is nothing left to mend: its lines, its chain, its view."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl import (
    findings,
    repair,
    repair_chain,
    repair_lines,
    repair_order,
    thinking,
    transcript,
)
from compactctl.protocol.rules import BY_ID
from compactctl.rewrite import rewrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.findings import Finding
    from compactctl.layer import Action
    from compactctl.transcript import Transcript

_ROUNDS = 100
"""Each round is one step, which lays open the next; real damage takes a handful."""


class Mend(msgspec.Struct, frozen=True):
    """One thing that was mended, by the rule that was broken; the line as it was then."""

    rule: str
    line: int | None
    call_id: str | None

    def __str__(self) -> str:
        """Say it in one line."""
        call = f" {self.call_id}" if self.call_id else ""
        return f"line {self.line or '?'}: {self.rule}{call}: {BY_ID[self.rule].says}"


class Mended(msgspec.Struct, frozen=True):
    """The lines after all mends, and the errors that no mend could take away."""

    before: Transcript
    after: Transcript
    lines: Sequence[bytes]
    mends: list[Mend]
    left: list[Finding]


def mend(
    lines: Sequence[bytes], name: str, format_name: str | None, mode: thinking.Mode = "auto"
) -> Mended:
    """Mend to a fix-point: a second run finds nothing to do.

    Raises:
        InputError: as for :func:`compactctl.transcript.load`.

    """
    before = now = transcript.load(lines, name, format_name)
    mends: list[Mend] = []
    before_that: list[tuple[str, str | None]] = []
    for _ in range(_ROUNDS):
        actions: list[Action] = []
        new = _round(now, lines, actions, mode)
        did = [(a.rule, a.call_id) for a in actions if not a.rule.startswith("FILE-")]
        if did and did == before_that:  # what was made is no part of the view: ids repeat
            actions = []
            chunks = repair_chain.tell_apart(now, actions)
            new = None if chunks is None else _split(chunks)
        if new is None or not any(map(bytes.strip, new)):
            break  # an empty file is no transcript
        before_that = did
        mends += [_mend(action, now) for action in actions]
        lines = new
        now = transcript.parse(lines, name, now.format)
    return Mended(before, now, lines, mends, _left(now))


def _left(now: Transcript) -> list[Finding]:
    """Give the errors by every profile that the format has, each once."""
    own: str = now.format.PROFILE
    profiles = (own, "core") if own == "anthropic" else (own,)
    found = (each for profile in profiles for each in findings.find(now, profile))
    return [*dict.fromkeys(each for each in found if each.severity == "error")]


def _round(
    now: Transcript, lines: Sequence[bytes], actions: list[Action], mode: thinking.Mode
) -> Sequence[bytes] | None:
    """Do the next step that has something to do; None when there is none."""
    mended = repair_lines.mend_damage(now, lines, actions)
    if actions:
        return _split(mended)
    for step in (_mend_order, repair_chain.mend_chain, repair_lines.mend_hollow):
        chunks = step(now, actions)
        if chunks is not None:
            return _split(chunks)
    messages = repair.mend(now, actions)
    if not actions:
        return None
    settled = thinking.settle(now.messages, messages, mode, signed=now.format.SIGNED)
    return rewrite(now, settled).lines()


def _mend_order(now: Transcript, actions: list[Action]) -> Sequence[bytes] | None:
    """Sort the entries of a file in which more is wrong than their order."""
    moved: list[Action] = []
    chunks = repair_order.mend_order(now, moved)
    found = findings.find(now, now.format.PROFILE) if chunks else ()
    if not any(each.severity == "error" or each.rule == repair.TAIL for each in found):
        return None
    actions += moved
    return chunks


def _split(chunks: Sequence[bytes]) -> list[bytes]:
    """Give whole lines: a mended line may hold several, an entry only a part of one."""
    data = b"".join(chunks)
    found = [line + b"\n" for line in data.split(b"\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


def _mend(action: Action, now: Transcript) -> Mend:
    line = now.entries[action.entry].line if 0 <= action.entry < len(now.entries) else None
    return Mend(action.rule, line, action.call_id)
