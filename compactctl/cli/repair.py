"""``repair``: make a broken transcript valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from compactctl import formats
from compactctl import report as reports
from compactctl.cli.common import Clock, check_outputs, count_unreadable
from compactctl.cli.options import (
    FileArgument,
    FormatOption,
    InPlaceOption,
    OutputOption,
    QuietOption,
    ReportOption,
    ThinkingOption,
    TokenizerOption,
)
from compactctl.console import DRY_RUN
from compactctl.errors import InvalidTranscriptError
from compactctl.files import output as files
from compactctl.layers.base import number
from compactctl.repair import engine
from compactctl.tokens import count_view, counter_for_one
from compactctl.transcript.accounting import kept_lines
from compactctl.view.compare import first_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.repair.engine import Fix, Repaired
    from compactctl.rules.findings import Finding


def repair(
    file: FileArgument = "-",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be mended.")
    ] = False,
    output: OutputOption = None,
    in_place: InPlaceOption = False,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    tokenizer: TokenizerOption = "o200k_base",
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
    done = engine.repair(lines, file, format, thinking)
    if not quiet:
        for fix in done.fixes:
            reports.say(f"repair: {fix}")
    if done.left:
        raise _unfixable(done.left[0])
    if report:
        reports.append(report, _record(lines, done, tokenizer, clock.seconds()))
    written = dry_run or files.write(done.lines, output, file, in_place=in_place, original=lines)
    if not quiet:
        said = number(len(done.fixes), "mend") if done.fixes else "nothing to mend"
        reports.say(f"repair: {said}{'' if written and not dry_run else '; ' + DRY_RUN}")


def _unfixable(finding: Finding) -> InvalidTranscriptError:
    advice = finding.mend.removeprefix("run `compactctl repair`, or ")
    said = f"{finding.rule}: {finding.text}, which repair can not mend; {advice}"
    return InvalidTranscriptError(said, file=finding.file, line=finding.line)


def _record(
    lines: Sequence[bytes], done: Repaired, tokenizer: str, seconds: float
) -> dict[str, object]:
    """Return the JSON record; a fix itself has no size, but what is made and dropped has."""
    counter = counter_for_one(tokenizer)
    old, new, output = done.before, done.after, done.output
    kept = sorted(kept_lines(lines, output.chunks, output.origins))
    counts = output.counts.without(count_unreadable([lines[index] for index in kept]))
    before, after = count_view(counter, old.messages), count_view(counter, new.messages)
    counter.keep()
    return reports.plain("repair", old.name, counts, warnings=(), seconds=seconds) | {
        "format": formats.name_of(old.format),
        "tokenizer": counter.name,
        "tokens_before": before,
        "tokens_after": after,
        "tokens_saved": before - after,
        "messages_before": len(old.messages),
        "messages_after": len(new.messages),
        "actions": [_action(fix) for fix in done.fixes],
        "first_changed_message": first_difference(old.messages, new.messages),
    }


def _action(fix: Fix) -> dict[str, object]:
    sizes = dict.fromkeys(("tokens_before", "tokens_after", "pointer"))
    return {"rule": fix.rule, "line": fix.line, "call_id": fix.call_id} | sizes
