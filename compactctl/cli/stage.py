"""A stage: FILE through layers to a result and its report; and a command for each layer."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from compactctl import layers, pipeline, report
from compactctl.cli.command import Command, LayerOptions
from compactctl.cli.options import ArchiveOption, ArtifactsOption, Common, FileArgument
from compactctl.cli.reading import check_outputs, read
from compactctl.console import DRY_RUN
from compactctl.errors import UsageError
from compactctl.files.output import is_terminal, write_output
from compactctl.tokens import Counter, counter_for_one
from compactctl.view.tools import PROTECTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.pipeline import Result, Step

ProtectOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB",
        help="Leave every read of files that match this glob as it is (may be given several "
        f"times); always so: {', '.join(PROTECTED)}.",
    ),
]
_STORES = frozenset({"artifacts", "archive"})


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a command that runs one layer."""

    file: FileArgument = "-"
    layer_options: LayerOptions
    protect: ProtectOption = None
    artifacts: ArtifactsOption = None
    archive: ArchiveOption = None
    common: Common


def command(name: str) -> Command[Options]:
    """Make the command of the layer ``name``."""
    layer = layers.load(name)
    return Command(
        Options,
        functools.partial(_run, name),
        layer.example,
        help=layer.run.__doc__,
        layers=(name,),
        without=_STORES.difference(layer.keeps),
    )


def _run(layer: str, options: Options) -> int:
    start = time.monotonic()
    common = options.common
    refuse_unused_store((layer,), options.layer_options, options.artifacts)
    check_outputs(options.file, common.output, common.report, in_place=common.in_place)
    counter = counter_for_one(common.tokenizer)
    found = read(options.file, common.format, common.leaf)
    keep = pipeline.keep_in(found, options.artifacts, options.archive, dry=not is_written(common))
    result = pipeline.run(
        found,
        (layer,),
        options.layer_options,
        counter,
        mode=common.thinking,
        keep=keep,
        protect=options.protect or (),
        keep_usage=common.keep_usage,
    )
    finish(layer, result, counter, start, common)
    return 0


def refuse_unused_store(names: Sequence[str], options: LayerOptions, artifacts: str | None) -> None:
    """Refuse a store that nothing would be put into.

    Raises:
        UsageError: says what does put something there.

    """
    found = {name: layers.load(name) for name in names}
    if artifacts and not any(
        "artifacts" in layer.keeps and layer.stores(options[name]) for name, layer in found.items()
    ):
        raise UsageError("--artifacts belongs to truncate and to prune --mode clear")


def is_written(common: Common) -> bool:
    """Return True if there is a place to write to, and this is no dry run."""
    return common.output is not None or common.in_place or not is_terminal()


def finish(
    stage: str,
    result: Result,
    counter: Counter,
    start: float,
    common: Common,
    *,
    total: Step | None = None,
) -> None:
    """Append the record, write the result where it is wanted, then say what was done.

    In this order, so that a record that cannot be written leaves nothing half done. ``total``
    sums up the steps.
    """
    written = result.written()
    counter.save()  # first, for the next stage of a pipe begins to count at the first output
    if common.report:
        seconds = time.monotonic() - start
        entry = report.record(stage, result, written, counter.name, seconds, total=total)
        report.append(common.report, entry)
    done = write_output(
        written.chunks,
        common.output,
        result.transcript.name,
        in_place=common.in_place,
        original=[entry.raw for entry in result.transcript.entries],
    )
    if not common.quiet:
        steps = [*result.steps, *([] if total is None else [total])]
        _say(result, steps, counter, verbose=common.verbose)
        if not done:
            report.say(DRY_RUN)


def _say(result: Result, steps: Sequence[Step], counter: Counter, *, verbose: bool) -> None:
    for warn in (report.warn_of_open_tail, report.warn_of_no_message):
        warning = warn(result.transcript)
        if warning:
            report.say(warning)
    about = report.subjects(result.transcript) if verbose else {}
    for step in steps:
        more = report.besides(result) if step is steps[-1] else ""
        report.say(report.line(step, counter.name, approximate=counter.approximate, more=more))
        for detail in report.details(step, about, result.transcript) if verbose else ():
            report.say(detail)
