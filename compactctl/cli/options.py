"""Options that commands share."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from compactctl.layers.thinking import Mode

FileArgument = Annotated[
    str, typer.Argument(metavar="[FILE]", help="Transcript to read; - is standard input.")
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the result to FILE, whole or not at all; - forces standard output.",
    ),
]
InPlaceOption = Annotated[
    bool, typer.Option("--in-place", help="Replace FILE itself; what it was stays as FILE.bak.")
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Take FILE for this format. [by content]"),
]
LeafOption = Annotated[
    str | None,
    typer.Option(
        metavar="ID",
        help="Of a session that forks, take the branch that ends at the entry ID; what stands "
        "behind it goes. [the last entry]",
    ),
]
TokenizerOption = Annotated[
    str,
    typer.Option(metavar="NAME", help="What counts tokens: o200k_base, cl100k_base or chars."),
]
ThinkingOption = Annotated[
    Mode,
    typer.Option(
        help="Signed thinking behind a change: auto drops it except in the open tool loop, "
        "keep keeps it, drop drops all thinking."
    ),
]
KeepUsageOption = Annotated[
    bool,
    typer.Option(
        "--keep-usage",
        help="Leave the recorded usage as it is. By default the newest is set to the new size, "
        "since the client takes it for the size of its context and would compact again.",
    ),
]
ReportOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", envvar="COMPACTCTL_REPORT", help="Append one JSON record to FILE."
    ),
]
ArtifactsOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Store the full text of what is cut there; placeholders point to it."
    ),
]
ArchiveOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Store the whole transcript there first; the placeholder points to it."
    ),
]
TranscriptsOption = Annotated[
    str | None, typer.Option(metavar="DIR", help="Where SESSION.jsonl files lie; s3://… too.")
]
ArtifactRootOption = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Where SESSION/tool-results/FILE files lie; s3://… too."),
]
PolicyOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="TOML: allow = [...] and deny = [...] of sessions."),
]
StateOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Durable records (JSONL) to carry along; left untouched."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No report on standard error.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Report every action.")]


class Common(msgspec.Struct, frozen=True, kw_only=True):
    """Options of every stage that runs layers."""

    output: OutputOption = None
    in_place: InPlaceOption = False
    format: FormatOption = None
    leaf: LeafOption = None
    tokenizer: TokenizerOption = "o200k_base"
    thinking: ThinkingOption = "auto"
    keep_usage: KeepUsageOption = False
    report: ReportOption = None
    quiet: QuietOption = False
    verbose: VerboseOption = False
