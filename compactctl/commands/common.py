"""Options that commands share, and the way from a FILE to a result and its report."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from compactctl import files, layers, pipeline, report, transcript
from compactctl.pipeline import Result
from compactctl.thinking import Mode
from compactctl.tokens import Counter, load_counter

FileArgument = Annotated[
    str, typer.Argument(metavar="[FILE]", help="Transcript to read; - is standard input.")
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the transcript to FILE, whole or not at all; - forces standard output.",
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
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No report on standard error.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Report every action.")]

COMMON: Mapping[str, tuple[Any, Any]] = {
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
    """Give the options of layers as typer options, each once."""
    found: dict[str, tuple[Any, Any]] = {}
    for name in names:
        for key, (kind, text, default) in layers.options(name).items():
            found.setdefault(key, (Annotated[kind, typer.Option(help=text)], default))
    return found


def read(file: str, format_name: str | None) -> transcript.Transcript:
    """Read a FILE argument into a transcript."""
    return transcript.load(files.read_lines(file), file, format_name)


class Clock:
    """Seconds since a stage began."""

    def __init__(self) -> None:
        """Start."""
        self._start = time.monotonic()

    def seconds(self) -> float:
        """Give the time so far."""
        return time.monotonic() - self._start


def finish(stage: str, result: Result, counter: Counter, clock: Clock, given: Mapping[str, Any]) -> None:
    """Write the result where it is wanted, then report."""
    written = result.written()
    done = files.write(
        written.chunks, given["output"], result.transcript.name, in_place=given["in_place"]
    )
    if not given["quiet"]:
        for step in result.steps:
            report.say(report.line(step, counter.name))
            for detail in report.details(step, result.transcript) if given["verbose"] else ():
                report.say(detail)
        if not done:
            report.say("nothing written (a dry run); -o FILE writes it, -o - prints it")
    if given["report"]:
        entry = report.record(stage, result, written, counter.name, clock.seconds())
        report.append(given["report"], entry)


def run_layers(
    stage: str, names: tuple[str, ...], file: str, given: Mapping[str, Any]
) -> None:
    """Run layers over FILE as one stage, with the options that the command line gave."""
    clock = Clock()
    counter = load_counter(given["tokenizer"])
    found = read(file, given["format"])
    result = pipeline.run(
        found, names, options_of(names, given), counter, mode=given["thinking"]
    )
    finish(stage, result, counter, clock, given)


def options_of(names: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Pick each layer's options out of all that were given."""
    return {name: {key: given[key] for key in layers.options(name)} for name in names}
