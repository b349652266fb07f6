"""Options that commands share, and how typer is told of them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactctl import layers
from compactctl.layers.thinking import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    str | None, typer.Option(metavar="DIR", help="Where SESSION.jsonl files lie.")
]
ArtifactRootOption = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Where SESSION/tool-results/FILE files lie."),
]
PolicyOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="TOML: allow = [...] and deny = [...] of sessions."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No report on standard error.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Report every action.")]

COMMON: dict[str, tuple[Any, Any]] = {
    "output": (OutputOption, None),
    "in_place": (InPlaceOption, False),
    "format": (FormatOption, None),
    "tokenizer": (TokenizerOption, "o200k_base"),
    "thinking": (ThinkingOption, "auto"),
    "report": (ReportOption, None),
    "quiet": (QuietOption, False),
    "verbose": (VerboseOption, False),
}
"""Options of every stage that writes a transcript: name to (type, default)."""


def with_options(
    function: Callable[..., None],
    name: str,
    text: str,
    example: str,
    options: Mapping[str, tuple[Any, Any]],
) -> Callable[..., None]:
    """Give ``function(file, **options)`` the signature that typer reads its options from."""
    every = {"file": (FileArgument, "-"), **options}
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # the documented way
        [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=kind)
            for key, (kind, value) in every.items()
        ]
    )
    function.__annotations__ = {key: kind for key, (kind, _) in every.items()}
    function.__name__ = name
    function.__doc__ = f"{text}\n\nExample:\n\n    {example}"
    return function


def layer_options(*names: str) -> dict[str, tuple[Any, Any]]:
    """Give the options of layers as typer options; one that two layers have is told apart."""
    return {
        option: (Annotated[kind, _typer_option(option, kind, text)], default)
        for name in names
        for key, (kind, text, default) in layers.options(name).items()
        for option in [layers.option_name(key, name, names)]
    }


def _typer_option(option: str, kind: Any, text: str) -> Any:
    """Describe an option; a flag has no --no-form beside it."""
    names = [f"--{option.replace('_', '-')}"] if kind is bool else []
    return typer.Option(*names, help=text)
