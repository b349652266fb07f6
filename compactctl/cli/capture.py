"""``capture``: retrieval hits as evidence records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from compactctl import report
from compactctl.cli.command import Command
from compactctl.cli.options import OutputOption, QuietOption
from compactctl.cli.reading import check_outputs, read_objects
from compactctl.console import DRY_RUN, say
from compactctl.durable.capture import capture_retrieval_evidence, decision, evidence_of
from compactctl.durable.records import to_json
from compactctl.errors import InvalidTranscriptError
from compactctl.files.output import check_report, write_output
from compactctl.jsonl import exact
from compactctl.text import plural

if TYPE_CHECKING:
    from collections.abc import Sequence


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Make evidence records of retrieval hits, in their order, with no text of a memory.

    A hit a line: {"memory_id", "score": 0 to 1, "rank" or "source_rank": from 1, "conflict_key"
    if it won one, "provenance": {"source_id", "source_type", "title", "captured_at"}}. One with
    "selected": false is left out, and named as left in the trace.
    """

    file: Annotated[
        str, typer.Argument(metavar="[HITS]", help="Hits (JSONL); - is standard input.")
    ] = "-"
    query: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What was asked, for the trace.")
    ] = None
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Append what was decided as one line: the query, which hits were taken, "
            "which won a conflict.",
        ),
    ] = None
    output: OutputOption = None
    quiet: QuietOption = False


def run(options: Options) -> int:
    """Write the evidence of the hits."""
    file = options.file
    check_outputs(file, options.output, None)
    if options.trace:
        check_report(options.trace, file, options.output, "--trace")
    hits = _read(file)
    evidence = capture_retrieval_evidence(hits)
    if options.trace:
        report.append(options.trace, decision(hits, options.query))
    chunks = [exact.dump(to_json(record)) + b"\n" for record in evidence]
    done = write_output(chunks, options.output, file, in_place=False)
    if not options.quiet:
        say(f"capture: {plural(len(evidence), 'hit')} of {len(hits):,} taken")
        if not done:
            say(DRY_RUN)
    return 0


COMMAND = Command(
    Options,
    run,
    'compactctl capture hits.jsonl --query "how is rounding done?" --trace trace.jsonl '
    ">> state.jsonl",
)


def _read(file: str) -> Sequence[dict[str, Any]]:
    """Read the hits, each of which must make a record; an error names its line."""
    hits = []
    for number, raw in enumerate(read_objects(file), 1):
        if exact.is_blank(raw):
            continue
        hit = exact.object_or_none(raw)
        if hit is None:
            raise InvalidTranscriptError(
                "not a hit; expected one JSON object a line", file=file, line=number
            )
        try:
            evidence_of(hit)
        except InvalidTranscriptError as error:
            error.file, error.line = file, number
            raise
        hits.append(hit)
    return hits
