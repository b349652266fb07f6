"""``resolve``: verify the sources that the durable records point to."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from compactctl import report
from compactctl.cli.command import Command
from compactctl.cli.options import (
    FileArgument,
    InPlaceOption,
    OutputOption,
    QuietOption,
    ReportOption,
    StateOption,
    VerboseOption,
)
from compactctl.cli.reading import check_outputs, count_unreadable, read_objects, say_unreadable
from compactctl.cli.sources import Sources
from compactctl.console import DRY_RUN
from compactctl.durable import stream
from compactctl.durable.records import SourceResolution, source_pointers, to_json
from compactctl.durable.verify import LONGEST_EXCERPT, enough_for, excerpt
from compactctl.errors import InputError, UsageError
from compactctl.files.output import write_json, write_output
from compactctl.files.reading import STANDARD, read_lines
from compactctl.formats import detect
from compactctl.jsonl import exact
from compactctl.text import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.durable.resolver import Found
    from compactctl.formats.base import Format
    from compactctl.transcript.accounting import Output


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Add one verified resolution for each source that a fact or a pending item points to."""

    file: FileArgument = "-"
    state: StateOption = None
    sources: Sources
    json: Annotated[
        bool,
        typer.Option("--json", help="Only the resolutions, as JSONL."),
    ] = False
    excerpts: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=LONGEST_EXCERPT,
            metavar="N",
            help="With --json: the first N characters of each available source. They are never "
            "rendered.",
        ),
    ] = None
    output: OutputOption = None
    in_place: InPlaceOption = False
    report: ReportOption = None
    quiet: QuietOption = False
    verbose: VerboseOption = False


def run(options: Options) -> int:
    """Resolve the sources of the records in FILE and the state file."""
    start = time.monotonic()
    _check(options)
    file, state = options.file, options.state
    resolver = options.sources.resolver(file, options.output)
    lines = read_objects(file)
    here = stream.read(lines, file)
    there = [] if state is None else stream.read(read_lines(state), state, strict=True)
    stream.state_of(there)  # a state file has to hold by itself
    added = stream.merge(here, there)
    pointers = source_pointers(stream.state_of([*here, *added]))
    read = resolver.read_many(pointers, enough_for(options.excerpts or 0))
    found = [resolution for resolution, _ in read]
    woven = stream.weave(lines, here, added, found, _format(lines))
    if options.report:
        entry = report.plain(
            "resolve",
            file,
            woven.counts.without(count_unreadable(lines)),
            warnings=(),
            seconds=time.monotonic() - start,
            actions=[_action(resolution) for resolution in found],
        )
        report.append(options.report, entry)
    done = _write_json(read, options) if options.json else _write(lines, woven, options)
    if not options.quiet:
        details = _details(found) if options.verbose else []
        summary = f"{_summary(found)}{say_unreadable(lines)}"
        for said in (summary, *details, *([] if done else [DRY_RUN])):
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
    if options.excerpts and not options.json:
        raise UsageError("--excerpts needs --json")
    if options.file == options.state == STANDARD:
        raise UsageError("FILE and --state cannot both be standard input")


def _write(lines: Sequence[bytes], woven: Output, options: Options) -> bool:
    in_place = options.in_place
    return write_output(
        woven.chunks, options.output, options.file, in_place=in_place, original=lines
    )


def _write_json(read: Sequence[Found], options: Options) -> bool:
    """Write the resolutions, with the start of what each source holds if that was asked for."""
    chunks = []
    for resolution, content in read:
        row = to_json(resolution)
        if options.excerpts and content is not None:
            row["excerpt"] = excerpt(content, options.excerpts)
        chunks.append(exact.dump(row) + b"\n")
    if options.output is not None:
        return write_output(chunks, options.output, options.file, in_place=False)
    write_json(chunks)
    return True


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
