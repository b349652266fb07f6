"""``render``: the durable context as text for the system prompt."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from compactctl import report
from compactctl.cli.command import Command
from compactctl.cli.options import FileArgument, OutputOption, QuietOption, ReportOption
from compactctl.cli.reading import check_outputs, count_unreadable, read_objects, say_unreadable
from compactctl.durable import stream
from compactctl.durable.render import render_durable_context
from compactctl.errors import InvalidTranscriptError
from compactctl.files.output import write_output
from compactctl.files.reading import STANDARD
from compactctl.transcript.accounting import LineCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.durable.records import DurableContextState, SourceResolution

_UNRESOLVED = "sources were not resolved, so no status is shown; run resolve first"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Print the durable records and the states of their sources, one line an item."""

    file: FileArgument = "-"
    output: OutputOption = None
    report: ReportOption = None
    quiet: QuietOption = False


def run(options: Options) -> int:
    """Render the records in FILE."""
    start = time.monotonic()
    file = options.file
    check_outputs(file, options.output, options.report)
    lines = read_objects(file)
    records = stream.read(lines, file)
    state, resolutions = stream.state_of(records), stream.resolutions_of(records)
    text = _text(state, resolutions, file)
    unresolved = not resolutions and bool(state.facts or state.pending_items)
    warnings = [_UNRESOLVED] if unresolved else []
    if options.report:
        unreadable = count_unreadable(lines)
        counts = LineCounts(kept=0, dropped=len(lines) - unreadable, unreadable=unreadable)
        seconds = time.monotonic() - start
        entry = report.plain("render", file, counts, warnings=warnings, seconds=seconds)
        report.append(options.report, entry)
    chunks = [text.encode() + b"\n"] if text else []
    write_output(chunks, options.output or STANDARD, file, in_place=False)
    if not options.quiet:
        for warning in warnings:
            report.say(f"render: {warning}")
        if more := say_unreadable(lines):
            report.say(f"render: {more.removeprefix(', ')}")
    return 0


COMMAND = Command(
    Options, run, "compactctl resolve session.jsonl --state state.jsonl | compactctl render"
)


def _text(state: DurableContextState, resolutions: Sequence[SourceResolution], file: str) -> str:
    try:
        return render_durable_context(state, resolutions or None)
    except InvalidTranscriptError as error:
        error.file = file
        raise
