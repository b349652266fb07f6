"""Make jobs of what the command line names; refuse before anything starts what cannot end well."""

# Names stay strings: a path and a URL are the same to most of this.
# ruff: noqa: PTH100, PTH114, PTH118

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from compactctl.bulk import discover, targets
from compactctl.bulk.task import Job
from compactctl.errors import InputError, UsageError
from compactctl.files.folders import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from compactctl.bulk.manifest import ManifestLine
    from compactctl.files.folders import Avoid, FoundFile

_A_TASK = 4_000_000
"""Bytes of transcripts that take a tenth of a second: worth the trip to a cluster."""

_MOST = 64
"""Files in a task at most: all of them are done again when its worker dies."""


def plan(
    sources: Sequence[str],
    out: str | None,
    *,
    in_place: bool = False,
    archive: str | None = None,
    previous: Mapping[str, ManifestLine] | None = None,
) -> list[Job]:
    """Return the jobs, largest first, so that none that is long comes last.

    Raises:
        UsageError: two files would become one, or one would be written over.
        InputError: there is nothing to do.

    """
    _real_folder.cache_clear()
    avoid = _avoid([folder for folder in (out, archive) if folder is not None])
    jobs: dict[tuple[str, str | None], Job] = {}
    for source in sources:
        if out is not None and avoid(source):
            raise UsageError(f"-o {out} is {source} itself; use another folder, or --in-place")
        for found in discover.find(source, avoid):
            job = _job(found, out, in_place, previous or {})
            jobs.setdefault((_real(job.path), job.target), job)
    if not jobs:
        raise InputError("no transcript found (*.jsonl, *.jsonl.gz, *.jsonl.zst)", file=sources[0])
    if out is not None:
        _refuse_collisions(jobs, out)
    return sorted(jobs.values(), key=lambda job: (-job.size, job.source))


def _job(
    found: FoundFile, out: str | None, in_place: bool, previous: Mapping[str, ManifestLine]
) -> Job:
    if in_place and targets.is_url(found.source):
        raise UsageError(f"--in-place is for files on a disk, not {found.source}; use -o")
    output = found.source if in_place else out and targets.join(out, found.relative)
    return Job(
        found.source,
        targets.absolute(found.source),
        found.root and os.path.abspath(found.root),
        output,
        None if in_place or output is None else targets.absolute(output),
        found.size,
        targets.absolute(out or ""),
        in_place,
        previous.get(found.source),
        found.fault,
    )


def _avoid(folders: Iterable[str]) -> Avoid:
    own = {os.path.realpath(folder) for folder in folders if not targets.is_url(folder)}

    def avoid(folder: str) -> bool:
        return os.path.realpath(folder) in own

    return avoid


@functools.lru_cache(1024)
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


def _real(path: str, *, follow: bool = True) -> str:
    """Return the one name of a file that may have several."""
    if targets.is_url(path):
        return path
    if follow and os.path.islink(path):
        return os.path.realpath(path)
    folder, name = os.path.split(path)
    return os.path.join(_real_folder(folder), name)


def _refuse_collisions(jobs: Mapping[tuple[str, str | None], Job], out: str) -> None:
    read = {source: job.source for (source, _), job in jobs.items()}
    made: dict[str, str] = {_real(targets.absolute(targets.join(out, MANIFEST))): "the manifest"}
    for job in jobs.values():
        assert job.target is not None
        assert job.output is not None
        target = _real(job.target, follow=False)
        if target in read:
            raise UsageError(f"{job.output} would be written over {read[target]}; use another -o")
        if target in made:
            raise UsageError(
                f"{job.source} and {made[target]} would both become {job.output}; "
                "name a folder above them, or compact them into different folders"
            )
        made[target] = job.source


def refuse_report(report: str | None, jobs: Iterable[Job]) -> None:
    """Make sure that no record is appended to a transcript.

    Raises:
        UsageError: the report is one of the sources or of the outputs.

    """
    if report is not None:
        path = _real(report)
        if any(path in {_real(job.path), job.target and _real(job.target)} for job in jobs):
            raise UsageError(f"--report {report} is a transcript; give the report another file")


def batches(jobs: Iterable[Job], *, group: bool) -> Iterator[list[Job]]:
    """Group jobs into tasks: one each, or for a cluster as many as are worth the trip.

    In the local pool a task costs a tenth of a millisecond, on a cluster two.
    """
    batch: list[Job] = []
    for job in jobs:
        batch.append(job)
        if not group or len(batch) == _MOST or sum(job.size for job in batch) >= _A_TASK:
            yield batch
            batch = []
    if batch:
        yield batch
