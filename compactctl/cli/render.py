"""``render``: the durable context as text for the system prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl import report
from compactctl.cli.common import Clock, check_outputs, count_unreadable, read_objects
from compactctl.cli.options import FileArgument, OutputOption, QuietOption, ReportOption
from compactctl.durable import stream
from compactctl.durable.render import render_durable_context
from compactctl.errors import InvalidTranscriptError
from compactctl.files import output as files
from compactctl.transcript.accounting import LineCounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compactctl.durable.records import DurableContextState, SourceResolution

_UNRESOLVED = "sources were not resolved, so no status is shown; run resolve first"


def render(
    *,
    file: FileArgument = "-",
    output: OutputOption = None,
    report: ReportOption = None,
    quiet: QuietOption = False,
) -> None:
    """Print the durable records and the states of their sources, one line an item.

    Example:

        compactctl resolve session.jsonl --state state.jsonl | compactctl render

    """
    _render(file, {"output": output, "in_place": False, "report": report, "quiet": quiet})


def _render(file: str, given: Mapping[str, Any]) -> None:
    clock = Clock()
    check_outputs(file, given)
    lines = read_objects(file)
    records = stream.read(lines, file)
    state, resolutions = stream.state_of(records), stream.resolutions_of(records)
    text = _text(state, resolutions, file)
    unresolved = not resolutions and bool(state.facts or state.pending_items)
    warnings = [_UNRESOLVED] if unresolved else []
    if given["report"]:
        unreadable = count_unreadable(lines)
        counts = LineCounts(kept=0, dropped=len(lines) - unreadable, unreadable=unreadable)
        entry = report.plain("render", file, counts, warnings=warnings, seconds=clock.seconds())
        report.append(given["report"], entry)
    chunks = [text.encode() + b"\n"] if text else []
    files.write(chunks, given["output"] or files.STANDARD, file, in_place=False)
    if not given["quiet"]:
        for warning in warnings:
            report.say(f"render: {warning}")


def _text(state: DurableContextState, resolutions: Sequence[SourceResolution], file: str) -> str:
    try:
        return render_durable_context(state, resolutions or None)
    except InvalidTranscriptError as error:
        error.file = file
        raise
