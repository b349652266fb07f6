"""``repair``: make a broken transcript valid."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from compactctl import report as reports
from compactctl.cli.command import Command
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
from compactctl.cli.reading import check_outputs, count_unreadable
from compactctl.console import DRY_RUN
from compactctl.errors import InvalidTranscriptError
from compactctl.files.output import write_output
from compactctl.files.reading import read_lines
from compactctl.repair.engine import Mend, Mended, mend
from compactctl.text import plural
from compactctl.tokens import count_view, counter_for_one
from compactctl.transcript import repair_tally

if TYPE_CHECKING:
    from compactctl.rules.findings import Finding


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Mend a broken transcript: close calls, place results, read damaged lines.

    Never removes a user's words, prints each mend, and leaves a valid transcript as it is.
    """

    file: FileArgument = "-"
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be mended.")] = (
        False
    )
    output: OutputOption = None
    in_place: InPlaceOption = False
    format: FormatOption = None
    tokenizer: TokenizerOption = "o200k_base"
    thinking: ThinkingOption = "auto"
    report: ReportOption = None
    quiet: QuietOption = False


def run(options: Options) -> int:
    """Mend FILE and write the result."""
    start = time.monotonic()
    file, output, in_place = options.file, options.output, options.in_place
    check_outputs(file, output, options.report, in_place=in_place)
    lines = read_lines(file)
    mended = mend(lines, file, options.format, options.thinking)
    if not options.quiet:
        for done in mended.mends:
            reports.say(f"repair: {done}")
    if mended.left:
        raise _unmendable(mended.left[0])
    if options.report:
        reports.append(options.report, _record(mended, options.tokenizer, start))
    written = options.dry_run or write_output(
        mended.lines, output, file, in_place=in_place, original=lines
    )
    if not options.quiet:
        said = plural(len(mended.mends), "mend") if mended.mends else "nothing to mend"
        reports.say(f"repair: {said}{'' if written and not options.dry_run else '; ' + DRY_RUN}")
    return 0


COMMAND = Command(Options, run, "compactctl repair broken.jsonl -o mended.jsonl")


def _unmendable(finding: Finding) -> InvalidTranscriptError:
    advice = finding.mend.removeprefix("run `compactctl repair`, or ")
    said = f"{finding.rule}: {finding.text}, which repair can not mend; {advice}"
    return InvalidTranscriptError(said, file=finding.file, line=finding.line)


def _record(mended: Mended, tokenizer: str, start: float) -> dict[str, object]:
    """Give the JSON record; a mend itself has no size, but what is made and dropped has."""
    counter = counter_for_one(tokenizer)
    old, new = mended.before, mended.after
    lines, kept = repair_tally.account(mended.read, mended.written)
    unread = count_unreadable(kept)
    lines |= {"kept": lines["kept"] - unread, "unreadable": unread}
    before, after = count_view(counter, old.messages), count_view(counter, new.messages)
    counter.save()
    seconds = time.monotonic() - start
    return reports.plain("repair", old.name, lines, warnings=(), seconds=seconds) | {
        "format": old.format.name,
        "tokenizer": counter.name,
        "tokens_before": before,
        "tokens_after": after,
        "tokens_saved": before - after,
        "messages_before": len(old.messages),
        "messages_after": len(new.messages),
        "actions": [_action(done) for done in mended.mends],
        "first_changed_message": repair_tally.first_changed(old.messages, new.messages),
    }


def _action(done: Mend) -> dict[str, object]:
    sizes = dict.fromkeys(("tokens_before", "tokens_after", "pointer"))
    return {"rule": done.rule, "line": done.line, "call_id": done.call_id} | sizes
