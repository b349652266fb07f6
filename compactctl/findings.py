"""Findings: what ``validate`` reports about a file, from its lines and from its view."""

from __future__ import annotations

import msgspec

from compactctl.protocol.check import problems
from compactctl.protocol.rules import BY_ID, Severity
from compactctl.transcript import Transcript


class Finding(msgspec.Struct, frozen=True):
    """One finding, as ``validate --json`` prints it (CONTRACT §11)."""

    file: str
    line: int | None
    message: int | None
    rule: str
    severity: Severity
    call_id: str | None
    text: str
    mend: str


def find(transcript: Transcript, profile: str, *, sendable: bool = False) -> list[Finding]:
    """Give all findings in the order of their lines."""
    found = [
        _of_line(transcript, fault.rule, fault.line, fault.text, sendable=sendable)
        for fault in transcript.faults
    ]
    for problem in problems(transcript.messages, profile, sendable=sendable):
        rule = BY_ID[problem.rule]
        block = transcript.messages[problem.place.message].blocks[problem.place.block]
        found.append(
            Finding(
                transcript.name,
                transcript.entries[block.entry].line,
                problem.place.message,
                rule.id,
                problem.severity,
                problem.call_id,
                rule.says,
                rule.mend,
            )
        )
    return sorted(found, key=lambda finding: finding.line or 0)


def _of_line(
    transcript: Transcript, rule_id: str, line: int, text: str, *, sendable: bool
) -> Finding:
    rule = BY_ID[rule_id]
    severity: Severity = "error" if sendable and rule_id == "FILE-09" else rule.severity
    says = f"{rule.says} ({text})"
    return Finding(transcript.name, line, None, rule.id, severity, None, says, rule.mend)
