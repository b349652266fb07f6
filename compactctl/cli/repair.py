"""``repair``: make a broken transcript valid."""

from __future__ import annotations

import io
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
    LeafOption,
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
from compactctl.model import arguments
from compactctl.repair import engine
from compactctl.rules import BY_ID
from compactctl.text import plural
from compactctl.tokens import count_view, counter_for_one
from compactctl.transcript import loading
from compactctl.transcript.accounting import kept_lines
from compactctl.transcript.leaf import ending_at
from compactctl.view.compare import first_difference
from compactctl.view.reads import path_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.repair.engine import Fix, Repaired
    from compactctl.rules.findings import Finding


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Repair a broken transcript: close calls, move results, recover damaged lines.

    Never removes a user's words, prints each fix, and leaves a valid transcript as it is.
    """

    file: FileArgument = "-"
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be fixed.")] = (
        False
    )
    output: OutputOption = None
    in_place: InPlaceOption = False
    format: FormatOption = None
    leaf: LeafOption = None
    tokenizer: TokenizerOption = "o200k_base"
    thinking: ThinkingOption = "auto"
    report: ReportOption = None
    quiet: QuietOption = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name the tool and the file of each call.")
    ] = False


def run(options: Options) -> int:
    """Repair FILE and write the result."""
    start = time.monotonic()
    file, output, in_place = options.file, options.output, options.in_place
    check_outputs(file, output, options.report, in_place=in_place)
    lines = read_lines(file)
    if options.leaf is not None:
        branch = ending_at(loading.load(lines, file, options.format), options.leaf)
        lines = list(io.BytesIO(b"".join(entry.raw for entry in branch.entries)))
    done = engine.repair(lines, file, options.format, options.thinking)
    if not options.quiet:
        called = _calls(done) if options.verbose else {}
        for fix in done.fixes:
            reports.say(f"repair: {fix}{called.get(fix.call_id, '')}")
    if done.left:
        raise _unfixable(done.left[0])
    if options.report:
        reports.append(options.report, _record(lines, done, options.tokenizer, start))
    written = options.dry_run or write_output(
        done.lines, output, file, in_place=in_place, original=lines
    )
    if not options.quiet:
        many = len(done.fixes)
        said = f"{plural(many, 'fix', 'fixes')} applied" if many else "nothing to repair"
        reports.say(f"repair: {said}{'' if written and not options.dry_run else '; ' + DRY_RUN}")
    return 0


COMMAND = Command(Options, run, "compactctl repair broken.jsonl -o repaired.jsonl")


def _calls(done: Repaired) -> dict[str | None, str]:
    """Return for each call id its tool and the file that it is about, to stand behind a fix."""
    found: dict[str | None, str] = {None: ""}
    for transcript in (done.after, done.before):
        for message in transcript.messages:
            for block in message.blocks:
                if block.kind == "call" and block.call_id:
                    about = " ".join(filter(None, (block.tool, path_of(arguments(block)))))
                    found[block.call_id] = f" [{about}]" if about else ""
    return found


def _unfixable(finding: Finding) -> InvalidTranscriptError:
    said = f"{finding.rule}: {finding.text}, which `repair` cannot fix: {BY_ID[finding.rule].fix}"
    return InvalidTranscriptError(said, file=finding.file, line=finding.line)


def _record(
    lines: Sequence[bytes], done: Repaired, tokenizer: str, start: float
) -> dict[str, object]:
    """Return the JSON record; a fix itself has no size, but what is made and dropped has."""
    counter = counter_for_one(tokenizer)
    old, new, output = done.before, done.after, done.output
    kept = sorted(kept_lines(lines, output.chunks, output.origins))
    counts = output.counts.without(count_unreadable([lines[index] for index in kept]))
    before, after = count_view(counter, old.messages), count_view(counter, new.messages)
    counter.save()
    seconds = time.monotonic() - start
    return reports.plain("repair", old.name, counts, warnings=(), seconds=seconds) | {
        "format": old.format.name,
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
