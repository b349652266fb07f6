"""``validate``: say whether a transcript holds by the rules, and pass it on if it does."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
import typer

from compactctl import files, findings, report, transcript
from compactctl.commands.common import (
    Clock,
    FormatOption,
    OutputOption,
    QuietOption,
    ReportOption,
    TokenizerOption,
)
from compactctl.errors import CompactctlError, UsageError
from compactctl.findings import Finding
from compactctl.pipeline import Result, Step
from compactctl.protocol.rules import PROFILES
from compactctl.tokens import count_view, load_counter
from compactctl.transcript import Transcript


def validate(
    file: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="Transcripts to read; - is standard input."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{', '.join(PROFILES)}. [by format]"),
    ] = None,
    sendable: Annotated[
        bool,
        typer.Option("--sendable", help="Judge it as a request to be sent now: no open tail."),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail it too.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only report; write no transcript.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Findings as JSONL on standard output; implies --check.")
    ] = False,
    output: OutputOption = None,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    tokenizer: TokenizerOption = "o200k_base",
    report: ReportOption = None,
    quiet: QuietOption = False,
) -> None:
    """Check a transcript; exit 1 if a provider would refuse it, pass it on unchanged if not.

    Example:

        compactctl validate session.jsonl --check --json

    """
    given = dict(profile=profile, sendable=sendable, strict=strict, json=json, format=format)
    given |= dict(tokenizer=tokenizer, report=report, quiet=quiet)
    names = file or ["-"]
    only_check = check or json or len(names) > 1
    if output is not None and only_check:
        raise UsageError("-o writes a transcript, which --check, --json and several FILEs never do")
    worst = 0
    for name in names:
        worst = max(worst, _one(name, given, output, only_check=only_check, many=len(names) > 1))
    if worst:
        raise typer.Exit(worst)


def _one(
    name: str, given: dict[str, Any], output: str | None, *, only_check: bool, many: bool
) -> int:
    """Validate one file; give its exit code."""
    clock = Clock()
    try:
        lines = files.read_lines(name)
        found = transcript.load(lines, name, given["format"])
    except CompactctlError as error:
        if not many or isinstance(error, UsageError):
            raise
        report.say(f"compactctl: {error}")
        return error.exit_code
    profile = given["profile"] or found.format.PROFILE
    if profile not in PROFILES:
        raise UsageError(f"unknown profile {profile!r}; choose one of {', '.join(PROFILES)}")
    all_findings = findings.find(found, profile, sendable=given["sendable"])
    fails = {"error", "warning"} if given["strict"] else {"error"}
    failed = any(finding.severity in fails for finding in all_findings)
    _show(found, all_findings, profile, failed=failed, given=given)
    if not only_check and not failed:
        files.write(lines, output, name, in_place=False)
    if given["report"]:
        _append(found, all_findings, given, clock)
    return int(failed)


def _show(
    found: Transcript,
    all_findings: list[Finding],
    profile: str,
    *,
    failed: bool,
    given: dict[str, Any],
) -> None:
    if given["json"]:
        for finding in all_findings:
            sys.stdout.buffer.write(msgspec.json.encode(finding) + b"\n")
        sys.stdout.buffer.flush()
    elif not given["quiet"] or failed:
        for finding in all_findings:
            report.say(_line(finding))
    if not given["quiet"]:
        report.say(_verdict(found, all_findings, profile, failed=failed))


def _line(finding: Finding) -> str:
    call = f" {finding.call_id}" if finding.call_id else ""
    where = f"{finding.file}:{finding.line}"
    return f"{where}: {finding.severity} {finding.rule}{call}: {finding.text}; {finding.mend}"


def _verdict(found: Transcript, all_findings: list[Finding], profile: str, *, failed: bool) -> str:
    calls = sum(block.kind == "call" for message in found.messages for block in message.blocks)
    counts = {
        severity: sum(finding.severity == severity for finding in all_findings)
        for severity in ("error", "warning", "info")
    }
    said = ", ".join(f"{many} {severity}{'s' * (many > 1)}" for severity, many in counts.items() if many)
    verdict = "invalid" if failed else "valid"
    name = found.format.__name__.rpartition(".")[2].replace("_", "-")
    return (
        f"validate: {found.name}: {verdict} by {profile}{f' ({said})' if said else ''}; "
        f"{name}, {len(found.entries):,} entries, {len(found.messages):,} messages, {calls:,} calls"
    )


def _append(
    found: Transcript, all_findings: list[Finding], given: dict[str, Any], clock: Clock
) -> None:
    """Append the record; only here are tokens worth their counting."""
    counter = load_counter(given["tokenizer"])
    tokens, many = count_view(counter, found.messages), len(found.messages)
    step = Step("validate", tokens, tokens, many, many, (), "", None)
    result = Result(found, found.messages, None, [step])
    entry = report.record("validate", result, None, counter.name, clock.seconds())
    entry["warnings"] = [f"{f.rule} line {f.line}" for f in all_findings]
    report.append(given["report"], entry)
