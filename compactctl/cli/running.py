"""From a FILE through layers to a result and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl import pipeline, report
from compactctl.cli.common import Clock, check_outputs, read
from compactctl.console import DRY_RUN
from compactctl.files.output import write_output
from compactctl.given import keep_of, options_of
from compactctl.tokens import Counter, counter_for_one

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compactctl.pipeline import Result, Step


def run_layers(stage: str, names: tuple[str, ...], file: str, given: Mapping[str, Any]) -> None:
    """Run layers over FILE as one stage, with the options that the command line gave."""
    clock = Clock()
    check_outputs(file, given)
    counter = counter_for_one(given["tokenizer"])
    found = read(file, given["format"])
    options = options_of(names, given, names)
    keep = keep_of(found, given)
    result = pipeline.run(found, names, options, counter, mode=given["thinking"], keep=keep)
    finish(stage, result, counter, clock, given)


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
    counter.save()  # first, for the next stage of a pipe begins to count at the first output
    if given["report"]:
        entry = report.record(stage, result, written, counter.name, clock.seconds(), total=total)
        report.append(given["report"], entry)
    done = write_output(
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
    for warn in (report.warn_of_open_tail, report.warn_of_no_message):
        warning = warn(result.transcript)
        if warning:
            report.say(warning)
    for step in steps:
        report.say(report.line(step, counter.name, approximate=counter.approximate))
        for detail in report.details(step, result.transcript) if verbose else ():
            report.say(detail)
