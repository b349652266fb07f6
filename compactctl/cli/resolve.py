"""``resolve``: verify the sources that the durable records point to."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from compactctl import report
from compactctl.cli.command import Command
from compactctl.cli.options import (
    ArtifactRootOption,
    FileArgument,
    InPlaceOption,
    OutputOption,
    PolicyOption,
    QuietOption,
    ReportOption,
    TranscriptsOption,
    VerboseOption,
)
from compactctl.cli.reading import check_outputs, count_unreadable, read_objects
from compactctl.console import DRY_RUN
from compactctl.durable import stream
from compactctl.durable.policy import load_policy
from compactctl.durable.records import SourceResolution, to_json
from compactctl.durable.resolver import SourcePointerResolver, resolve_durable_sources
from compactctl.errors import InputError, UsageError
from compactctl.files.output import write_output
from compactctl.files.reading import STANDARD, read_lines
from compactctl.formats import detect
from compactctl.jsonl import exact
from compactctl.text import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.formats.base import Format
    from compactctl.transcript.accounting import Output


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Add one verified resolution for each source that a fact or a pending item points to."""

    file: FileArgument = "-"
    state: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Durable records (JSONL) to carry along."),
    ] = None
    transcripts: TranscriptsOption = None
    artifacts: ArtifactRootOption = None
    policy: PolicyOption = None
    json: Annotated[
        bool,
        typer.Option("--json", help="Only the resolutions, as JSONL."),
    ] = False
    output: OutputOption = None
    in_place: InPlaceOption = False
    report: ReportOption = None
    quiet: QuietOption = False
    verbose: VerboseOption = False


def run(options: Options) -> int:
    """Resolve the sources of the records in FILE and the state file."""
    start = time.monotonic()
    policy = load_policy(options.policy) if options.policy else None
    resolver = SourcePointerResolver(options.transcripts, options.artifacts, policy)
    file, state = options.file, options.state
    _check(options)
    lines = read_objects(file)
    here = stream.read(lines, file)
    there = [] if state is None else stream.read(read_lines(state), state, strict=True)
    stream.state_of(there)  # a state file has to hold by itself
    added = stream.merge(here, there)
    found = resolve_durable_sources(stream.state_of([*here, *added]), resolver)
    woven = stream.weave(lines, here, added, found, _format(lines))
    warnings = _no_folders(resolver)
    if options.report:
        entry = report.plain(
            "resolve",
            file,
            woven.counts.without(count_unreadable(lines)),
            warnings=warnings,
            seconds=time.monotonic() - start,
            actions=[_action(resolution) for resolution in found],
        )
        report.append(options.report, entry)
    done = _write(lines, woven, found, options)
    if not options.quiet:
        details = _details(found) if options.verbose else []
        for said in (*warnings, _summary(found), *details, *([] if done else [DRY_RUN])):
            report.say(said)
    return 0


COMMAND = Command(
    Options,
    run,
    "compactctl resolve session.jsonl --state state.jsonl --transcripts sessions",
)


def _format(lines: Sequence[bytes]) -> Format | None:
    """Return the format of a session, None for lines of no known one."""
    try:
        return detect.format_of(lines)
    except InputError:
        return None


def _check(options: Options) -> None:
    """Refuse what cannot end well before any work is done."""
    check_outputs(options.file, options.output, options.report, in_place=options.in_place)
    if options.json and options.in_place:
        raise UsageError("--json prints resolutions only; leave out --in-place")
    if options.file == options.state == STANDARD:
        raise UsageError("FILE and --state cannot both be standard input")


def _no_folders(resolver: SourcePointerResolver) -> list[str]:
    """Warn of a mistyped option; all its sources will be missing. A path is never repeated."""
    roots = {"--transcripts": resolver.transcript_root, "--artifacts": resolver.artifact_root}
    return [
        f"resolve: {option} is no folder, so its sources are missing"
        for option, root in roots.items()
        if root is not None and not os.path.isdir(root)  # noqa: PTH112 (no need of pathlib)
    ]


def _write(
    lines: Sequence[bytes],
    woven: Output,
    found: Sequence[SourceResolution],
    options: Options,
) -> bool:
    file, output = options.file, options.output
    if options.json:
        chunks = [exact.dump(to_json(resolution)) + b"\n" for resolution in found]
        return write_output(chunks, output or STANDARD, file, in_place=False)
    return write_output(woven.chunks, output, file, in_place=options.in_place, original=lines)


def _action(resolution: SourceResolution) -> dict[str, Any]:
    """Describe what was found; a pointer that could not be parsed may be any text and stays out."""
    return {
        "rule": resolution.reason,
        "line": None,
        "call_id": None,
        "tokens_before": None,
        "tokens_after": None,
        "pointer": resolution.source_pointer if resolution.source_type else None,
    }


def _summary(found: Sequence[SourceResolution]) -> str:
    if not found:
        return "resolve: no sources to resolve"
    states = Counter(resolution.status for resolution in found)
    said = ", ".join(f"{many} {status}" for status, many in states.items())
    return f"resolve: {plural(len(found), 'source')}: {said}"


def _details(found: Sequence[SourceResolution]) -> list[str]:
    return [
        f"  {resolution.source_pointer}: {resolution.status} ({resolution.reason})"
        for resolution in found
    ]
