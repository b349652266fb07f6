"""Findings: what ``validate`` reports about a file, from its lines and from its view."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from compactctl.rules import BY_ID, chain, lines
from compactctl.rules.check import binds, problems
from compactctl.rules.rule import SENDABLE, Severity
from compactctl.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.rules.rule import Rule
    from compactctl.transcript.loading import Transcript


_LISTED = 20
"""Findings of one rule that are listed for a file; ``-v`` lists all."""

_WIDEST = 100
"""Characters of an id that are shown to people: it may be anything."""


class Finding(msgspec.Struct, frozen=True):
    """One finding, as ``validate --json`` prints it."""

    file: str
    line: int | None
    message: int | None
    rule: str
    severity: Severity
    call_id: str | None
    text: str
    mend: str


def find(transcript: Transcript, profile: str, *, sendable: bool = False) -> list[Finding]:
    """Return all findings in the order of their lines."""
    found = [
        *_in_lines(transcript, profile, sendable=sendable),
        *_in_view(transcript, profile, sendable=sendable),
    ]
    return sorted(found, key=lambda finding: finding.line or 0)


def _in_view(transcript: Transcript, profile: str, *, sendable: bool) -> Iterator[Finding]:
    messages = transcript.messages
    for problem in problems(messages, profile, sendable=sendable, transcript=transcript):
        block = messages[problem.place.message].blocks[problem.place.block]
        yield Finding(
            transcript.name,
            transcript.line_of(block.entry),
            problem.place.message,
            problem.rule,
            problem.severity,
            problem.call_id,
            _says(problem.rule, problem.detail),
            _advice(transcript, BY_ID[problem.rule]),
        )


def _in_lines(transcript: Transcript, profile: str, *, sendable: bool) -> Iterator[Finding]:
    faults = [*transcript.faults, *chain.find(transcript), *lines.find(transcript, profile)]
    starts = _starts(transcript) if any(fault.at is not None for fault in faults) else []
    for fault in faults:
        rule = BY_ID[fault.rule]
        if not binds(rule, profile, sendable=sendable):
            continue
        raised = fault.raised or (sendable and rule.when == SENDABLE)
        severity = rule.raised if raised and rule.raised else rule.severity
        text = fault.text
        if fault.at is not None:
            text += f"; byte {starts[fault.line - 1] + fault.at + 1:,} of the file"
        yield Finding(
            transcript.name,
            fault.line,
            None,
            rule.id,
            severity,
            None,
            _says(rule.id, text),
            _advice(transcript, rule, raised=raised),
        )


def _starts(transcript: Transcript) -> list[int]:
    """Return for each line the byte of the file that it starts at."""
    sizes: list[int] = [0]
    for entry in transcript.entries:
        sizes += [0] * (entry.line + 1 - len(sizes))
        sizes[entry.line] += len(entry.raw)
    return list(accumulate(sizes))


def _advice(transcript: Transcript, rule: Rule, *, raised: bool = True) -> str:
    """Return what to do; a repair judges by the profile of the format, whatever was asked for."""
    return rule.advice(raised=raised, repairs=transcript.format.profile in rule.profiles)


def _says(rule_id: str, detail: str) -> str:
    says = BY_ID[rule_id].says
    return f"{says} ({detail})" if detail else says


def verdict(
    transcript: Transcript, every: Sequence[Finding], profile: str, *, failed: bool, more: str = ""
) -> str:
    """Return the line for people about one file; ``more`` is put at its end."""
    calls = sum(b.kind == "call" for message in transcript.messages for b in message.blocks)
    return (
        f"validate: {transcript.name}: {'invalid' if failed else 'valid'} by {profile}"
        f"{_counted(Counter(finding.severity for finding in every))}; {transcript.format.name}, "
        f"{plural(len(transcript.entries), 'entry', 'entries')}, "
        f"{plural(len(transcript.messages), 'message')}, {plural(calls, 'call')}{more}"
    )


def listing(every: Sequence[Finding], *, all_of_them: bool) -> Iterator[str]:
    """Return a line for each finding, of one rule only so many; what is left out is counted."""
    listed: Counter[str] = Counter()
    for finding in every:
        listed[finding.rule] += 1
        if all_of_them or listed[finding.rule] <= _LISTED:
            call = f" {finding.call_id[:_WIDEST]}" if finding.call_id else ""
            where = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
            what = f"{finding.severity} {finding.rule}{call}: {finding.text}; {finding.mend}"
            yield f"{where}: {what}"
    for rule, many in listed.items():
        if many > _LISTED and not all_of_them:
            yield f"{every[0].file}: … and {many - _LISTED:,} more {rule} (-v lists all)"


def total(valid: int, invalid: int, unreadable: int, seen: Counter[str]) -> str:
    """Return the line for people about many files; ``seen`` counts findings by severity."""
    parts = ((valid, "valid"), (invalid, "invalid"), (unreadable, "unreadable"))
    said = ", ".join(f"{many:,} {what}" for many, what in parts if many)
    return f"validate: {plural(valid + invalid + unreadable, 'file')}: {said}{_counted(seen)}"


def _counted(seen: Counter[str]) -> str:
    """Count findings by severity, in brackets; "" when there are none."""
    said = ", ".join(
        f"{seen[severity]:,} {severity}{'s' * (seen[severity] > 1 and severity != 'info')}"
        for severity in ("error", "warning", "info")
        if seen[severity]
    )
    return f" ({said})" if said else ""
