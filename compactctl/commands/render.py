"""``render``: the durable context as text for the system prompt."""

from __future__ import annotations

from compactctl import files, report
from compactctl.commands.common import FileArgument, OutputOption, QuietOption
from compactctl.durable import stream
from compactctl.durable.render import render_durable_context
from compactctl.errors import InputError


def render(
    file: FileArgument = "-", output: OutputOption = None, quiet: QuietOption = False
) -> None:
    """Print the durable records and the states of their sources, one line an item.

    Example:

        compactctl resolve session.jsonl --state state.jsonl --transcripts DIR | compactctl render

    """
    lines = files.read_lines(file)
    if not any(map(bytes.strip, lines)):
        raise InputError("the input is empty; an earlier stage may have failed", file=file)
    records = stream.read(enumerate(lines, 1), file)
    state = stream.state_of(records)
    resolutions = stream.resolutions_of(records)
    text = render_durable_context(state, resolutions or None)
    if not resolutions and (state.facts or state.pending_items) and not quiet:
        report.say("render: sources were not resolved, so no status is shown; run resolve first")
    chunks = [text.encode() + b"\n"] if text else []
    if output is None:
        files.write_standard(chunks)
    else:
        files.write(chunks, output, file, in_place=False)
