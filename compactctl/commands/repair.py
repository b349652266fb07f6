"""``repair``: make a broken transcript valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from compactctl import files
from compactctl import report as reports
from compactctl._version import __version__
from compactctl.commands.common import (
    DRY_RUN,
    Clock,
    FileArgument,
    FormatOption,
    InPlaceOption,
    OutputOption,
    QuietOption,
    ReportOption,
    ThinkingOption,
    check_outputs,
)
from compactctl.errors import InvalidTranscriptError
from compactctl.layer import number
from compactctl.mending import Mended, mend

if TYPE_CHECKING:
    from compactctl.findings import Finding


def repair(
    file: FileArgument = "-",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be mended.")
    ] = False,
    output: OutputOption = None,
    in_place: InPlaceOption = False,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    thinking: ThinkingOption = "auto",
    report: ReportOption = None,
    quiet: QuietOption = False,
) -> None:
    """Mend a broken transcript: close calls, place results, read damaged lines.

    Never removes a user's words, prints each mend, and leaves a valid transcript as it is.

    Example:

        compactctl repair broken.jsonl -o mended.jsonl

    """
    clock = Clock()
    given = {"output": output, "in_place": in_place, "report": report}
    check_outputs(file, given)
    lines = files.read_lines(file)
    mended = mend(lines, file, format, thinking)
    if not quiet:
        for done in mended.mends:
            reports.say(f"repair: {done}")
    if mended.left:
        raise _unmendable(mended.left[0])
    if report:
        reports.append(report, _record(mended, clock.seconds()))
    written = dry_run or files.write(mended.lines, output, file, in_place=in_place, original=lines)
    if not quiet:
        said = number(len(mended.mends), "mend") if mended.mends else "nothing to mend"
        reports.say(f"repair: {said}{'' if written and not dry_run else '; ' + DRY_RUN}")


def _unmendable(finding: Finding) -> InvalidTranscriptError:
    said = f"{finding.rule}: {finding.text}, which repair can not mend; {finding.mend}"
    return InvalidTranscriptError(said, file=finding.file, line=finding.line)


def _record(mended: Mended, seconds: float) -> dict[str, object]:
    """Give the JSON record: no tokens, for nothing is made smaller."""
    name = mended.before.format.__name__.rpartition(".")[2].replace("_", "-")
    return {
        "stage": "repair",
        "version": __version__,
        "source": mended.before.name,
        "format": name,
        "tokenizer": None,
        "tokens_before": None,
        "tokens_after": None,
        "tokens_saved": None,
        "messages_before": len(mended.before.messages),
        "messages_after": len(mended.after.messages),
        "lines": None,
        "actions": [
            {"rule": done.rule, "line": done.line, "call_id": done.call_id} for done in mended.mends
        ],
        "first_changed_message": None,
        "warnings": [],
        "seconds": round(seconds, 3),
    }
