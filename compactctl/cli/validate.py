"""``validate``: say whether a transcript holds by the rules, and pass it on if it does."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from compactctl import console, report
from compactctl.cli.command import Command
from compactctl.cli.options import (
    FormatOption,
    LeafOption,
    OutputOption,
    QuietOption,
    ReportOption,
    TokenizerOption,
)
from compactctl.cli.reading import check_outputs, hold
from compactctl.console import DRY_RUN
from compactctl.errors import InputError, UsageError
from compactctl.files.beneath import UNOPENED
from compactctl.files.output import write_json, write_output, write_standard
from compactctl.files.reading import STANDARD, open_lines
from compactctl.jsonl import exact
from compactctl.rules import findings
from compactctl.rules.rule import PROFILES
from compactctl.tokens import count_view, counter_for_one
from compactctl.transcript import loading
from compactctl.transcript.leaf import ending_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.rules.findings import Finding
    from compactctl.transcript.loading import Transcript


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Check a transcript; exit 1 if a provider would refuse it, pass it on unchanged if not.

    Several FILEs or folders are only checked: a line for each, its findings under it.
    """

    file: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Transcripts, or folders of *.jsonl (also .gz, .zst); - is standard input.",
        ),
    ] = None
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{', '.join(PROFILES)}. [by format]"),
    ] = None
    sendable: Annotated[
        bool,
        typer.Option("--sendable", help="Judge it as a request to be sent now: no open tail."),
    ] = False
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail it too.")] = False
    check: Annotated[bool, typer.Option("--check", help="Only report; write no transcript.")] = (
        False
    )
    json: Annotated[
        bool, typer.Option("--json", help="Findings as JSONL on standard output; implies --check.")
    ] = False
    rules: Annotated[
        bool, typer.Option("--rules", help="Print the table of rules (as JSONL with --json).")
    ] = False
    output: OutputOption = None
    format: FormatOption = None
    leaf: LeafOption = None
    tokenizer: TokenizerOption = "o200k_base"
    report: ReportOption = None
    quiet: QuietOption = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="List every finding, however many.")
    ] = False

    @property
    def only_reports(self) -> bool:
        """True if no transcript is passed on, whatever FILE is."""
        return self.check or self.json or self.rules

    @property
    def fails(self) -> set[str]:
        """The severities that make a transcript invalid."""
        return {"error", "warning"} if self.strict else {"error"}


def run(options: Options) -> int:
    """Validate one file as a stage, or check many."""
    if options.profile is not None and options.profile not in PROFILES:
        raise UsageError(
            f"unknown profile {options.profile!r}; choose one of {', '.join(PROFILES)}"
        )
    names = options.file or [STANDARD]
    is_one = len(names) == 1 and not _is_folder(names[0])
    if options.output is not None and (options.only_reports or not is_one):
        raise UsageError("-o writes a transcript; --check, --json, --rules and many FILEs do not")
    if options.rules:
        from compactctl.rules import table  # noqa: PLC0415 (all else does without)

        if options.json:
            write_json(table.as_json())
        else:
            write_standard([table.as_text().encode()])
        return 0
    return _one(names[0], options, Counter()) if is_one else _all(names, options)


COMMAND = Command(Options, run, "compactctl validate session.jsonl --check --json")


def _all(names: Sequence[str], options: Options) -> int:
    """Check many files; return 1 if any is invalid, else 3 if any cannot be read."""
    codes: Counter[int] = Counter()
    seen: Counter[str] = Counter()
    for name, fault, root in _files(names):
        try:
            error = InputError(fault, file=name) if fault else None
            code = 0 if error else _one(name, options, seen, is_alone=False, root=root)
        except InputError as refused:
            error = refused
        if error is not None:
            report.say(f"compactctl: {error}")
            code = error.exit_code
        codes[code] += 1
    if not options.quiet:
        report.say(findings.total(codes[0], codes[1], codes[InputError.exit_code], seen))
    return 1 if codes[1] else max(codes, default=0)


def _files(names: Sequence[str]) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield each file, what keeps it from being read, if anything does, and its root.

    Folders are walked; what is found in one is opened through no link below it.
    """
    from compactctl.files.folders import find_transcripts  # noqa: PLC0415 (only folders need it)

    for name in names:
        if not _is_folder(name):
            yield name, None, None
            continue
        empty = True
        for found in find_transcripts(name):
            if os.path.islink(found.source):  # noqa: PTH114 (a name, no need of pathlib)
                report.say(f"{found.source}: skipped: {UNOPENED['link']}")
                continue
            empty = False
            yield found.source, found.fault, found.root
        if empty:
            fault = "no transcript (*.jsonl, .jsonl.gz, .jsonl.zst) below this folder"
            yield name, fault, None


def _is_folder(name: str) -> bool:
    return os.path.isdir(name)  # noqa: PTH112 (a name, no need of pathlib)


def _one(
    name: str,
    options: Options,
    seen: Counter[str],
    *,
    is_alone: bool = True,
    root: str | None = None,
) -> int:
    """Validate one file; return its exit code and count its findings by severity."""
    start = time.monotonic()
    check_outputs(name, options.output, options.report)
    is_passed_on = is_alone and not options.only_reports
    with open_lines(name, hold=is_passed_on, root=root) as (whole, make_entry):
        lines = whole
        if options.leaf is None:
            found = loading.load(whole, name, options.format, make_entry)
        else:
            found = ending_at(loading.load(whole, name, options.format), options.leaf)
            lines = [entry.raw for entry in found.entries]
        profile = options.profile or found.format.profile
        every = findings.find(found, profile, sendable=options.sendable)
        unreadable = report.unreadable(report.count_unreadable(found))
    if is_alone:
        hold(found)
    failed = any(finding.severity in options.fails for finding in every)
    if options.report:
        _append(options.report, found, every, options.tokenizer, start)
    written = (
        not is_passed_on or failed or write_output(lines, options.output, name, in_place=False)
    )
    if options.json:
        _print(every)
    if not options.quiet:
        report.say(findings.verdict(found, every, profile, failed=failed, more=unreadable))
        if warning := report.warn_of_no_message(found):
            report.say(warning)
    if not options.json:
        _list(every, options)
    if not options.quiet and not written:
        report.say(DRY_RUN)
    seen.update(finding.severity for finding in every)
    return int(failed)


def _print(every: Sequence[Finding]) -> None:
    """Write the findings to standard output; who reads no further is told by the exit code."""
    try:
        write_json(exact.dump(msgspec.structs.asdict(f)) + b"\n" for f in every)
    except BrokenPipeError:
        console.silence(sys.stdout)


def _list(every: Sequence[Finding], options: Options) -> None:
    """List the findings for people; quietly only those that fail the file."""
    listed = [f for f in every if f.severity in options.fails] if options.quiet else every
    for line in findings.listing(listed, all_of_them=options.verbose):
        report.say(line)


def _append(
    file: str, found: Transcript, every: Sequence[Finding], tokenizer: str, start: float
) -> None:
    """Append the record; only here are tokens worth their counting."""
    from compactctl.pipeline import Result, Step  # noqa: PLC0415 (as the counting)

    counter = counter_for_one(tokenizer)
    tokens, many = count_view(counter, found.messages), len(found.messages)
    counter.save()
    step = Step("validate", tokens, tokens, many, many, (), "", None)
    result = Result(found, found.messages, None, [step])
    seconds = time.monotonic() - start
    entry = report.record("validate", result, None, counter.name, seconds)
    entry["warnings"] = [f"{f.rule} line {f.line}" for f in every]
    report.append(file, entry)
