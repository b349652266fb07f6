"""Options that commands share, and the way from a FILE to a result and its report."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from compactctl import files, layers, lines, pipeline, report, transcript
from compactctl.durable.artifacts import ArtifactStore
from compactctl.errors import InputError
from compactctl.thinking import Mode
from compactctl.tokens import Counter, load_counter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from compactctl.lines import Entry
    from compactctl.pipeline import Result, Step

DRY_RUN = "nothing written (a dry run); -o FILE writes it, -o - prints it"

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
        for option in [_option(key, name, names)]
    }


def _typer_option(option: str, kind: Any, text: str) -> Any:
    """Describe an option; a flag has no --no-form beside it."""
    names = [f"--{option.replace('_', '-')}"] if kind is bool else []
    return typer.Option(*names, help=text)


def _option(key: str, name: str, names: Sequence[str]) -> str:
    """Give the option that sets ``key`` of the layer ``name`` among ``names``."""
    shared = sum(key in layers.options(other) for other in names) > 1
    return f"{name}_{key}" if shared else key


def read(file: str, format_name: str | None) -> transcript.Transcript:
    """Read a FILE argument into a transcript."""
    return transcript.load(files.read_lines(file), file, format_name)


def read_objects(file: str) -> list[bytes]:
    """Read the lines of a FILE argument of any format."""
    found = files.read_lines(file)
    if not any(map(bytes.strip, found)):
        raise InputError("the input is empty; an earlier stage may have failed", file=file)
    if not lines.objects(found, 1):
        raise InputError("no line is a JSON object; expected one JSON object a line", file=file)
    return found


class _Object(msgspec.Struct):
    """Any JSON object."""


def count_unreadable(raw_lines: Sequence[bytes]) -> int:
    """Count the lines that hold no JSON object."""
    entries: list[Entry] = []
    decode = msgspec.json.Decoder(_Object).decode
    records = [index for index, _ in lines.read(raw_lines, decode, entries, [])]
    return len(raw_lines) - len({entries[index].line for index in records})


class Clock:
    """Seconds since a stage began."""

    def __init__(self) -> None:
        """Start."""
        self._start = time.monotonic()

    def seconds(self) -> float:
        """Give the time so far."""
        return time.monotonic() - self._start


def check_outputs(file: str, given: Mapping[str, Any]) -> None:
    """Refuse an output that is the input before any work is done."""
    files.target(given["output"], file, in_place=given["in_place"])
    if given["report"]:
        files.check_report(given["report"], file, given["output"])


def run_layers(stage: str, names: tuple[str, ...], file: str, given: Mapping[str, Any]) -> None:
    """Run layers over FILE as one stage, with the options that the command line gave."""
    clock = Clock()
    check_outputs(file, given)
    counter = load_counter(given["tokenizer"])
    counter.recall()
    found = read(file, given["format"])
    options = options_of(names, given, names)
    keep = keep_of(found, given)
    result = pipeline.run(
        found,
        names,
        options,
        counter,
        mode=given["thinking"],
        keep=keep,
        counted=counter.rest,
    )
    finish(stage, result, counter, clock, given)


def keep_of(found: transcript.Transcript, given: Mapping[str, Any]) -> pipeline.Keep:
    """Give the places that the command line named for what is taken out."""
    dry = given["output"] is None and not given["in_place"] and files.is_terminal()
    session = transcript.session(found)
    artifacts, archive = given.get("artifacts"), given.get("archive")
    return pipeline.Keep(
        ArtifactStore(artifacts, session, dry=dry).put if artifacts else None,
        ArtifactStore(archive, session, dry=dry).put_bytes if archive else None,
    )


def options_of(
    names: Sequence[str], given: Mapping[str, Any], among: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Pick the options of each layer out of all that were given for the layers ``among``."""
    return {
        name: {key: given[_option(key, name, among)] for key in layers.options(name)}
        for name in names
    }


def finish(
    stage: str,
    result: Result,
    counter: Counter,
    clock: Clock,
    given: Mapping[str, Any],
    *,
    total: Step | None = None,
) -> None:
    """Append the record, write the result where it is wanted, then say what was done.

    In this order, so that a record that cannot be written leaves nothing half done. ``total``
    sums up the steps.
    """
    written = result.written()
    counter.keep()  # first, for the next stage of a pipe begins to count at the first output
    if given["report"]:
        entry = report.record(stage, result, written, counter.name, clock.seconds(), total=total)
        report.append(given["report"], entry)
    done = files.write(
        written.chunks,
        given["output"],
        result.transcript.name,
        in_place=given["in_place"],
        original=[entry.raw for entry in result.transcript.entries],
    )
    if not given["quiet"]:
        steps = [*result.steps, *([] if total is None else [total])]
        _say(result, steps, counter, verbose=given["verbose"])
        if not done:
            report.say(DRY_RUN)


def _say(result: Result, steps: Sequence[Step], counter: Counter, *, verbose: bool) -> None:
    warning = report.warn_of_open_tail(result.transcript)
    if warning:
        report.say(warning)
    for step in steps:
        report.say(report.line(step, counter.name, approximate=counter.approximate))
        for detail in report.details(step, result.transcript) if verbose else ():
            report.say(detail)
