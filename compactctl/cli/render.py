"""``render``: the durable context as text for the system prompt, as data, or in a request."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from compactctl import report
from compactctl.cli.command import Command
from compactctl.cli.options import (
    FileArgument,
    FormatOption,
    OutputOption,
    QuietOption,
    ReportOption,
)
from compactctl.cli.reading import check_outputs, count_unreadable, read_objects, say_unreadable
from compactctl.durable import stream
from compactctl.durable.render import render_durable_context, show_state
from compactctl.errors import InvalidTranscriptError, UsageError
from compactctl.files.output import write_output
from compactctl.files.reading import STANDARD
from compactctl.jsonl import exact
from compactctl.transcript.accounting import LineCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.durable.records import DurableContextState, SourceResolution

_UNRESOLVED = "sources were not resolved, so no status is shown; run resolve first"
_ANSWERED = "the last message is the assistant's; add the user's next one before it is sent"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Print the durable records and the states of their sources, one line an item.

    As a request: the body for the provider, with the view of FILE as messages.
    """

    file: FileArgument = "-"
    as_: Annotated[
        Literal["text", "json", "request"],
        typer.Option(
            "--as", help="text for a system prompt, json, or request: the body for the provider."
        ),
    ] = "text"
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="request: the model, put into the body.")
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="request: put into the body.")
    ] = None
    format: FormatOption = None
    output: OutputOption = None
    report: ReportOption = None
    quiet: QuietOption = False


def run(options: Options) -> int:
    """Render the records in FILE."""
    start = time.monotonic()
    file = options.file
    check_outputs(file, options.output, options.report)
    _refuse_unused(options)
    lines = read_objects(file)
    records = stream.read(lines, file)
    state, resolutions = stream.state_of(records), stream.resolutions_of(records)
    unresolved = not resolutions and bool(state.facts or state.pending_items)
    warnings = [_UNRESOLVED] if unresolved else []
    chunks = _render(state, resolutions, lines, options, warnings)
    if options.report:
        unreadable = count_unreadable(lines)
        counts = LineCounts(kept=0, dropped=len(lines) - unreadable, unreadable=unreadable)
        seconds = time.monotonic() - start
        entry = report.plain("render", file, counts, warnings=warnings, seconds=seconds)
        report.append(options.report, entry)
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


def _refuse_unused(options: Options) -> None:
    names = ("model", "max_tokens", "format")
    if options.as_ != "request" and any(getattr(options, name) is not None for name in names):
        raise UsageError("--model, --max-tokens and --format are for --as request")


def _render(
    state: DurableContextState,
    resolutions: Sequence[SourceResolution],
    lines: list[bytes],
    options: Options,
    warnings: list[str],
) -> list[bytes]:
    try:
        if options.as_ == "json":
            shown = show_state(state, resolutions or None)
            return [exact.dump(msgspec.structs.asdict(shown)) + b"\n"]
        text = render_durable_context(state, resolutions or None)
    except InvalidTranscriptError as error:
        error.file = options.file
        raise
    if options.as_ == "text":
        return [text.encode() + b"\n"] if text else []
    body = _request(text, lines, options)
    told = body.get("messages") or body.get("input") or [{}]
    if told[-1].get("role") == "assistant":
        warnings.append(_ANSWERED)
    return [exact.dump(body) + b"\n"]


def _request(context: str, lines: list[bytes], options: Options) -> dict[str, Any]:
    """Return the body of a request with the view of the lines."""
    from compactctl import pipeline, request  # noqa: PLC0415 (only for requests)
    from compactctl.transcript import loading  # noqa: PLC0415 (the same)

    found = loading.load(lines, options.file, options.format)
    pipeline.refuse_broken(found)
    body = request.request_body(found, context)
    most = "max_output_tokens" if "input" in body else "max_tokens"
    given = {"model": options.model, most: options.max_tokens}
    return {name: value for name, value in given.items() if value is not None} | body
