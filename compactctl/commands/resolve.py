"""``resolve``: verify the sources that the durable records point to."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from compactctl import files, jsonio, report
from compactctl.commands.common import FileArgument, InPlaceOption, OutputOption, QuietOption
from compactctl.durable import stream
from compactctl.durable.records import SourceResolution, to_json
from compactctl.durable.resolver import (
    SourcePointerResolver,
    load_policy,
    resolve_durable_sources,
)
from compactctl.errors import InputError


def resolve(
    file: FileArgument = "-",
    state: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Durable records (JSONL) to carry along."),
    ] = None,
    transcripts: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where SESSION.jsonl files lie.")
    ] = None,
    artifacts: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where SESSION/tool-results/FILE files lie."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="TOML: allow = [...] and deny = [...] of sessions."),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Only the resolutions, as JSONL on standard output."),
    ] = False,
    output: OutputOption = None,
    in_place: InPlaceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Add one verified resolution for each source that a fact or a pending item points to.

    Example:

        compactctl resolve session.jsonl --state state.jsonl --transcripts sessions

    """
    lines = files.read_lines(file)
    if not any(map(bytes.strip, lines)):
        raise InputError("the input is empty; an earlier stage may have failed", file=file)
    here = stream.read(enumerate(lines, 1), file)
    there = [] if state is None else _read_state(state)
    added = stream.merge(here, there)
    context = stream.state_of([*here, *added])
    resolver = SourcePointerResolver(transcripts, artifacts, load_policy(policy) if policy else None)
    found = resolve_durable_sources(context, resolver)
    new = [jsonio.dump(to_json(resolution)) for resolution in found]
    if json:
        files.write_standard(line + b"\n" for line in new)
    else:
        chunks = _with(lines, here, [*(line.raw for line in added), *new])
        if not files.write(chunks, output, file, in_place=in_place) and not quiet:
            report.say("nothing written (a dry run); -o FILE writes it, -o - prints it")
    if not quiet:
        report.say(_summary(found))


def _read_state(state: str) -> list[stream.Line]:
    return stream.read(enumerate(files.read_lines(state), 1), state, strict=True)


def _with(
    lines: Sequence[bytes], here: Sequence[stream.Line], added: Sequence[bytes]
) -> list[bytes]:
    """Put new records at the end, in place of resolutions that an earlier run left."""
    old = {line.number for line in here if isinstance(line.record, SourceResolution)}
    kept = [line for number, line in enumerate(lines, 1) if number not in old]
    if kept and added and not kept[-1].endswith(b"\n"):
        kept.append(b"\n")
    return [*kept, *(line + b"\n" for line in added)]


def _summary(found: Sequence[SourceResolution]) -> str:
    if not found:
        return "resolve: no sources to resolve"
    states = Counter(resolution.status for resolution in found)
    said = ", ".join(f"{many} {status}" for status, many in states.items())
    return f"resolve: {len(found)} {'source' if len(found) == 1 else 'sources'}: {said}"
