"""Mend a transcript until there is nothing left to mend: its lines, its chain, its view."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from compactctl import findings, repair, repair_lines, thinking, transcript
from compactctl.findings import Finding
from compactctl.layer import Action
from compactctl.protocol.rules import BY_ID
from compactctl.rewrite import rewrite
from compactctl.transcript import Transcript

_ROUNDS = 10
"""Each round mends what the one before laid open; real damage takes two or three."""


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
    for _ in range(_ROUNDS):
        actions: list[Action] = []
        new = _round(now, lines, actions, mode)
        if new is None:
            break
        mends.extend(_mend(action, now) for action in actions)
        lines = new
        now = transcript.parse(lines, name, now.format)
    profiles = (now.format.PROFILE, "core") if now.format.PROFILE == "anthropic" else (now.format.PROFILE,)
    left = [
        finding
        for profile in profiles
        for finding in findings.find(now, profile)
        if finding.severity == "error"
    ]
    return Mended(before, now, lines, mends, left)


def _round(
    now: Transcript, lines: Sequence[bytes], actions: list[Action], mode: thinking.Mode
) -> Sequence[bytes] | None:
    """Do the next mend that is due; None when there is none."""
    mended = repair_lines.mend_lines(lines, now.faults, actions)
    if actions:
        return _split(mended)
    bridged = repair_lines.bridge(now, actions)
    if bridged is not None:
        return _split(bridged)
    messages = repair.mend(now.messages, actions, now.format.PROFILE)
    if not actions:
        return None
    settled = thinking.settle(now.messages, messages, mode, signed=now.format.SIGNED)
    return rewrite(now, settled).lines()


def _split(chunks: Sequence[bytes]) -> list[bytes]:
    """Give whole lines: a mended line may hold several, an entry only a part of one."""
    data = b"".join(chunks)
    found = [line + b"\n" for line in data.split(b"\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


def _mend(action: Action, now: Transcript) -> Mend:
    line = now.entries[action.entry].line if 0 <= action.entry < len(now.entries) else None
    return Mend(action.rule, line, action.call_id)
