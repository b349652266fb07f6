"""``resolve``: verify the sources that the durable records point to."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactctl import report
from compactctl.cli.common import Clock, check_outputs, count_unreadable, read_objects
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
from compactctl.console import DRY_RUN
from compactctl.durable import stream
from compactctl.durable.records import SourceResolution, to_json
from compactctl.durable.resolver import (
    SourcePointerResolver,
    load_policy,
    resolve_durable_sources,
)
from compactctl.errors import UsageError
from compactctl.files import output as files
from compactctl.jsonl import exact
from compactctl.layers.base import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compactctl.transcript.accounting import Output


def resolve(
    *,
    file: FileArgument = "-",
    state: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Durable records (JSONL) to carry along."),
    ] = None,
    transcripts: TranscriptsOption = None,
    artifacts: ArtifactRootOption = None,
    policy: PolicyOption = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Only the resolutions, as JSONL."),
    ] = False,
    output: OutputOption = None,
    in_place: InPlaceOption = False,
    report: ReportOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Add one verified resolution for each source that a fact or a pending item points to.

    Example:

        compactctl resolve session.jsonl --state state.jsonl --transcripts sessions

    """
    given = {"output": output, "in_place": in_place, "report": report, "json": json}
    given |= {"quiet": quiet, "verbose": verbose}
    resolver = SourcePointerResolver(
        transcripts, artifacts, load_policy(policy) if policy else None
    )
    _resolve(file, state, resolver, given)


def _resolve(
    file: str, state: str | None, resolver: SourcePointerResolver, given: Mapping[str, Any]
) -> None:
    clock = Clock()
    check_outputs(file, given)
    if given["json"] and given["in_place"]:
        raise UsageError("--json prints resolutions only; leave out --in-place")
    if file == state == files.STANDARD:
        raise UsageError("FILE and --state cannot both be standard input")
    lines = read_objects(file)
    here = stream.read(lines, file)
    there = [] if state is None else stream.read(files.read_lines(state), state, strict=True)
    stream.state_of(there)  # a state file has to hold by itself
    added = stream.merge(here, there)
    found = resolve_durable_sources(stream.state_of([*here, *added]), resolver)
    woven = stream.weave(lines, here, added, found)
    warnings = _no_folders(resolver)
    if given["report"]:
        entry = report.plain(
            "resolve",
            file,
            woven.counts.without(count_unreadable(lines)),
            warnings=warnings,
            seconds=clock.seconds(),
            actions=[_action(resolution) for resolution in found],
        )
        report.append(given["report"], entry)
    done = _write(file, lines, woven, found, given)
    if not given["quiet"]:
        details = _details(found) if given["verbose"] else []
        for said in (*warnings, _summary(found), *details, *([] if done else [DRY_RUN])):
            report.say(said)


def _no_folders(resolver: SourcePointerResolver) -> list[str]:
    """Warn of a mistyped option; all its sources will be missing. A path is never repeated."""
    roots = {"--transcripts": resolver.transcript_root, "--artifacts": resolver.artifact_root}
    return [
        f"resolve: {option} is no folder, so its sources are missing"
        for option, root in roots.items()
        if root is not None and not os.path.isdir(root)  # noqa: PTH112 (no need of pathlib)
    ]


def _write(
    file: str,
    lines: Sequence[bytes],
    woven: Output,
    found: Sequence[SourceResolution],
    given: Mapping[str, Any],
) -> bool:
    if given["json"]:
        chunks = [exact.dump(to_json(resolution)) + b"\n" for resolution in found]
        return files.write(chunks, given["output"] or files.STANDARD, file, in_place=False)
    return files.write(
        woven.chunks, given["output"], file, in_place=given["in_place"], original=lines
    )


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
    return f"resolve: {number(len(found), 'source')}: {said}"


def _details(found: Sequence[SourceResolution]) -> list[str]:
    return [
        f"  {resolution.source_pointer}: {resolution.status} ({resolution.reason})"
        for resolution in found
    ]
