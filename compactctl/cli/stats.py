"""``stats``: where the tokens are."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from compactctl import report
from compactctl.cli.command import Command
from compactctl.cli.options import FileArgument, FormatOption, LeafOption, TokenizerOption
from compactctl.cli.reading import read
from compactctl.files.output import write_json, write_standard
from compactctl.stats import LARGEST, Share, Stats
from compactctl.stats import stats as measure
from compactctl.text import escape_terminal
from compactctl.tokens import counter_for_one


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Show where the tokens are: by role, kind, tool and file, and what could go."""

    file: FileArgument = "-"
    json: Annotated[bool, typer.Option("--json", help="All figures as one JSON object.")] = False
    top: Annotated[int, typer.Option(min=0, metavar="N", help="Rows of each table.")] = 10
    format: FormatOption = None
    leaf: LeafOption = None
    tokenizer: TokenizerOption = "o200k_base"


def run(options: Options) -> int:
    """Write the figures to standard output."""
    counter = counter_for_one(options.tokenizer)
    transcript = read(options.file, options.format, options.leaf)
    found = measure(transcript, counter, max(options.top, LARGEST))
    counter.save()
    if options.json:
        write_json([msgspec.json.encode(found) + b"\n"])
    else:
        lines = [escape_terminal(line) for line in _lines(found, options.tokenizer, options.top)]
        write_standard([("\n".join(lines) + "\n").encode()])
    if more := report.unreadable(report.count_unreadable(transcript)):
        report.say(f"stats: {more.removeprefix(', ')}")
    return 0


COMMAND = Command(Options, run, "compactctl stats session.jsonl --top 5")


def _lines(found: Stats, tokenizer: str, top: int) -> list[str]:
    lines = [f"{found.tokens:,} tokens in {found.messages:,} messages [{tokenizer}]"]
    for title, shares in (
        ("by role", found.roles),
        ("by kind", found.kinds),
        ("results by tool", found.tools),
        ("results by file read", found.files),
    ):
        lines += _table(title, shares, found.tokens, top)
    lines += ["", "largest results"]
    lines += [
        f"{large.tokens:>12,}  line {large.line}: {large.tool} {large.call_id or ''}"
        for large in found.largest[:top]
    ]
    lines += ["", "what could go"]
    lines += [_row("reads shown again later", found.superseded_reads, found.tokens)]
    lines += [_row("reads of files changed later", found.stale_reads, found.tokens)]
    if found.usage:
        lines += ["", "context size as the provider recorded it (with system prompt and tools)"]
        lines += [f"{found.usage.first:>12,}  at the first of {found.usage.calls:,} calls"]
        lines += [f"{found.usage.last:>12,}  at the last"]
    return lines


def _table(title: str, shares: dict[str, Share], total: int, top: int) -> list[str]:
    rows = list(shares.items())
    lines = ["", title, *(_row(name, share, total) for name, share in rows[:top])]
    rest = rows[top:]
    if rest:
        other = Share(sum(s.count for _, s in rest), sum(s.tokens for _, s in rest))
        lines.append(_row(f"({len(rest):,} more)", other, total))
    return lines


def _row(name: str, share: Share, total: int) -> str:
    part = f"{share.tokens / total:.1%}" if total else "–"
    return f"{share.tokens:>12,} {part:>6}  {name} ({share.count:,})"
