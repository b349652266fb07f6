"""A bulk run from its command line to its exit code."""

# Names stay strings: a path and a URL are the same to most of this.
# ruff: noqa: PTH113

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from compactctl import formats
from compactctl.bulk import manifest, targets
from compactctl.bulk.archive import TEMPORARY
from compactctl.bulk.plan import batches, plan, refuse_report
from compactctl.bulk.progress import Progress
from compactctl.bulk.scheduler import Stop, outcomes, start, stoppable
from compactctl.console import say
from compactctl.errors import UsageError
from compactctl.files.atomic import sweep
from compactctl.text import plural
from compactctl.tokens import load_counter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compactctl.bulk.manifest import ManifestLine
    from compactctl.bulk.settings import Settings
    from compactctl.bulk.task import Job

_SOME_FAILED = 6
_TEMPORARY = re.compile(r"\..+\.jsonl(\.gz|\.zst)?\.[0-9a-f]{8}")
"""What is called so in an output is not whole yet."""


def run(sources: Sequence[str], out: str | None, settings: Settings) -> int:
    """Do a whole run; see ``compactctl.bulk.run``."""
    _check(out, settings)
    recipe = settings.recipe
    previous = manifest.last_lines(out) if settings.resume and out else None
    _say_what_is_redone(previous or {}, settings)
    jobs = plan(sources, out, in_place=settings.in_place, archive=recipe.archive, previous=previous)
    del previous
    refuse_report(recipe.report, jobs)
    writer = manifest.writer(None if recipe.dry_run else out)
    try:
        _sweep(out, settings)
        progress = Progress(
            len(jobs),
            sum(job.size for job in jobs),
            quiet=settings.quiet,
            verbose=settings.verbose,
        )
        with stoppable() as stop:
            try:
                _drive(jobs, settings, writer, progress, stop)
            finally:
                progress.close()
        _sweep(out, settings)
    finally:
        writer.close()
    return _conclude(progress, out, settings, stop)


def _check(out: str | None, settings: Settings) -> None:
    """Refuse what no file could be done with, before any is looked at."""
    if settings.in_place and out is not None:
        raise UsageError("--in-place writes to the inputs themselves; leave out -o")
    if out in (None, "-") and not (settings.in_place or settings.recipe.dry_run):
        raise UsageError(
            "several files need a folder to be written to: -o DIR (or --in-place, or --dry-run)"
        )
    if out is not None and os.path.isfile(out):
        raise UsageError(f"-o {out} is a file; many files are written to a folder")
    if settings.resume and out is None:
        raise UsageError("--resume goes by the manifest in -o DIR")
    load_counter(settings.recipe.tokenizer)
    if settings.recipe.format is not None:
        formats.choose(settings.recipe.format)


def _sweep(out: str | None, settings: Settings) -> None:
    """Remove what a run or a worker that was killed had not finished writing.

    In an archive only to resume: there may be very many files.
    """
    archive = settings.recipe.archive if settings.resume else None
    for folder, name in ((out, _TEMPORARY), (archive, TEMPORARY)):
        if folder is not None and not targets.is_url(folder) and not settings.recipe.dry_run:
            sweep(folder, name)


def _say_what_is_redone(previous: Mapping[str, ManifestLine], settings: Settings) -> None:
    """Say that a resumed run has other options than what it is to go on with."""
    lines = [line for line in previous.values() if line.status != "failed"]
    others = sum(line.options != settings.recipe.options for line in lines)
    if others and not settings.quiet:
        say(
            f"compactctl: {plural(others, 'file')} of the manifest had other options or another "
            "version; done again"
        )


def _drive(
    jobs: list[Job], settings: Settings, writer: manifest.Writer, progress: Progress, stop: Stop
) -> None:
    workers = start(settings, sum(job.size for job in jobs))
    tasks = batches(jobs, group=settings.engine == "dask")
    try:
        for outcome in outcomes(workers, tasks, stop):
            if outcome.is_new:
                writer.append(outcome.line)
            progress.take(outcome)
    finally:
        workers.close(now=stop.at_once())


def _conclude(progress: Progress, out: str | None, settings: Settings, stop: Stop) -> int:
    progress.table(settings.recipe.tokenizer)
    if stop.asked:
        resume = "; run the same command with --resume to go on" if out else ""
        progress.say(
            f"compactctl: interrupted: {progress.finished():,} of {progress.files:,} files "
            f"are done{resume}"
        )
        return 128 + stop.signal
    if progress.failed():
        again = "; --resume tries them again" if out and not settings.recipe.dry_run else ""
        progress.say(f"compactctl: {progress.failed():,} of {progress.files:,} files failed{again}")
        return _SOME_FAILED
    return 0
