"""``validate``: say whether a transcript holds by the rules, and pass it on if it does."""

from __future__ import annotations

import inspect
import os
import stat
import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import typer

from compactctl import console, report
from compactctl.cli.common import Clock, check_outputs, hold
from compactctl.cli.options import (
    FormatOption,
    OutputOption,
    QuietOption,
    ReportOption,
    TokenizerOption,
)
from compactctl.console import DRY_RUN
from compactctl.errors import InputError, UsageError
from compactctl.files.output import write_output, write_standard
from compactctl.files.reading import STANDARD, open_lines
from compactctl.jsonl import exact
from compactctl.rules import findings
from compactctl.rules.rule import PROFILES
from compactctl.tokens import count_view, counter_for_one
from compactctl.transcript import loading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.rules.findings import Finding
    from compactctl.transcript.loading import Transcript

_EXAMPLE = "compactctl validate session.jsonl --check --json"


class _Options(NamedTuple):
    """What the command line gave."""

    profile: str | None
    sendable: bool
    strict: bool
    only_check: bool
    json: bool
    output: str | None
    format: str | None
    tokenizer: str
    report: str | None
    quiet: bool
    verbose: bool
    many: bool


def validate(
    file: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Transcripts, or folders of *.jsonl (also .gz, .zst); - is standard input.",
        ),
    ] = None,
    *,
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
    rules: Annotated[
        bool, typer.Option("--rules", help="Print the table of rules (as JSONL with --json).")
    ] = False,
    output: OutputOption = None,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    tokenizer: TokenizerOption = "o200k_base",
    report: ReportOption = None,
    quiet: QuietOption = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="List every finding, however many.")
    ] = False,
) -> None:
    """Check a transcript; exit 1 if a provider would refuse it, pass it on unchanged if not.

    Several FILEs or folders are only checked: a line for each, its findings under it.
    """
    if profile is not None and profile not in PROFILES:
        raise UsageError(f"unknown profile {profile!r}; choose one of {', '.join(PROFILES)}")
    given = file or [STANDARD]
    many = len(given) > 1 or _is_folder(given[0])
    only_check = check or json or rules or many
    if output is not None and only_check:
        raise UsageError("-o writes a transcript; --check, --json, --rules and many FILEs do not")
    if rules:
        from compactctl.rules import table  # noqa: PLC0415 (all else does without)

        write_standard(table.as_json() if json else [table.as_text().encode()])
        return
    options = _Options(
        profile=profile,
        sendable=sendable,
        strict=strict,
        only_check=only_check,
        json=json,
        output=output,
        format=format,
        tokenizer=tokenizer,
        report=report,
        quiet=quiet,
        verbose=verbose,
        many=many,
    )
    code = _all(given, options) if many else _one(given[0], options, Counter())
    if code:
        raise typer.Exit(code)


validate.__doc__ = f"{inspect.cleandoc(validate.__doc__ or '')}\n\nExample:\n\n    {_EXAMPLE}"


def _all(given: Sequence[str], options: _Options) -> int:
    """Validate many files; give 1 if any is invalid, else 3 if any cannot be read."""
    codes: Counter[int] = Counter()
    seen: Counter[str] = Counter()
    for name, fault in _files(given):
        try:
            error = InputError(fault, file=name) if fault else None
            code = 0 if error else _one(name, options, seen)
        except InputError as refused:
            error = refused
        if error is not None:
            report.say(f"compactctl: {error}")
            code = error.exit_code
        codes[code] += 1
    if not options.quiet:
        report.say(findings.total(codes[0], codes[1], codes[InputError.exit_code], seen))
    return 1 if codes[1] else max(codes, default=0)


def _files(given: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Give each file with what keeps it from being read, if anything does; folders are walked."""
    from compactctl.files.folders import find_transcripts  # noqa: PLC0415 (only folders need it)

    for name in given:
        if not _is_folder(name):
            yield name, None
            continue
        empty = True
        for found in find_transcripts(name):
            empty = False
            yield found.source, found.fault or _no_file(found.source)
        if empty:
            yield name, "no transcript (*.jsonl, .jsonl.gz, .jsonl.zst) below this folder"


def _no_file(name: str) -> str | None:
    """Refuse what nobody named and may never end: opening a FIFO waits for who writes to it."""
    try:
        mode = os.stat(name).st_mode  # noqa: PTH116 (a name, no need of pathlib)
    except OSError:  # reading it will say why
        return None
    return None if stat.S_ISREG(mode) else "is no regular file"


def _is_folder(name: str) -> bool:
    return os.path.isdir(name)  # noqa: PTH112 (a name, no need of pathlib)


def _one(name: str, options: _Options, seen: Counter[str]) -> int:
    """Validate one file; give its exit code and count its findings by severity."""
    clock = Clock()
    check_outputs(name, {"output": options.output, "in_place": False, "report": options.report})
    with open_lines(name, hold=not options.only_check) as (lines, make_entry):
        found = loading.load(lines, name, options.format, make_entry)
        profile = options.profile or found.format.profile
        every = findings.find(found, profile, sendable=options.sendable)
    if not options.many:
        hold(found)
    fails = {"error", "warning"} if options.strict else {"error"}
    failed = any(finding.severity in fails for finding in every)
    if options.report:
        _append(found, every, options, clock)
    written = (
        options.only_check or failed or write_output(lines, options.output, name, in_place=False)
    )
    if options.json:
        try:
            write_standard(exact.dump(msgspec.structs.asdict(f)) + b"\n" for f in every)
        except BrokenPipeError:  # who reads no further is told by the exit code all the same
            console.silence(sys.stdout)
    if not options.quiet:
        report.say(findings.verdict(found, every, profile, failed=failed))
        if warning := report.warn_of_no_message(found):
            report.say(warning)
    if not options.json:
        listed = [f for f in every if f.severity in fails] if options.quiet else every
        for line in findings.listing(listed, all_of_them=options.verbose):
            report.say(line)
    if not options.quiet and not written:
        report.say(DRY_RUN)
    seen.update(finding.severity for finding in every)
    return int(failed)


def _append(found: Transcript, every: Sequence[Finding], options: _Options, clock: Clock) -> None:
    """Append the record; only here are tokens worth their counting."""
    from compactctl.pipeline import Result, Step  # noqa: PLC0415 (as the counting)

    counter = counter_for_one(options.tokenizer)
    tokens, many = count_view(counter, found.messages), len(found.messages)
    counter.save()
    step = Step("validate", tokens, tokens, many, many, (), "", None)
    result = Result(found, found.messages, None, [step])
    entry = report.record("validate", result, None, counter.name, clock.seconds())
    entry["warnings"] = [f"{f.rule} line {f.line}" for f in every]
    assert options.report is not None
    report.append(options.report, entry)
