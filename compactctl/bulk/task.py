"""What is done to one file, from end to end: the same in this process, a pool or a cluster.

A task reads its file, writes what it makes of it and gives back a line for the manifest, nothing
more. Done twice, or by two at once, it comes to the same. Whatever goes wrong is that line's error.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl import report
from compactctl._version import __version__
from compactctl.bulk import limits
from compactctl.bulk.archive import Archive
from compactctl.bulk.manifest import ManifestLine
from compactctl.bulk.storage import ChangedError, LinkError, Source, storage_of
from compactctl.errors import CompactctlError, InputError, UsageError, internal
from compactctl.files.compression import lines_of, pack_like, plain
from compactctl.files.in_place import LiveError, refuse_live, replace_in_place
from compactctl.tokens import count_view, load_counter
from compactctl.tokens.ranks import TokenizerUnavailableError
from compactctl.transcript import loading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.bulk.settings import Recipe
    from compactctl.transcript.accounting import Output


class Job(msgspec.Struct, frozen=True, gc=False):
    """A file to be done.

    ``source`` and ``output`` are what people are told, ``path`` and ``target`` where it is from
    any working directory. ``root`` is the folder that it was found in, None if it was named;
    ``below`` is the folder that holds all outputs.
    ``previous`` is what an earlier run, which is being resumed, made of it. ``fault`` is why
    there is nothing to be read.
    """

    source: str
    path: str
    root: str | None
    output: str | None
    target: str | None
    size: int
    below: str = ""
    in_place: bool = False
    previous: ManifestLine | None = None
    fault: str | None = None


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """A line for the manifest; ``is_new`` is false when it stands there already."""

    line: ManifestLine
    size: int
    is_new: bool = True


class _SkipError(Exception):
    """The file is not to be compacted, and that is nobody's mistake."""


def run_batch(recipe: Recipe, jobs: Sequence[Job]) -> list[Outcome]:
    """Do some files, one after another.

    Raises:
        RuntimeError: this is another version, which may give other bytes.

    """
    if recipe.version != __version__:
        raise RuntimeError(f"the driver is compactctl {recipe.version}, the worker {__version__}")
    return [run(recipe, job) for job in jobs]


def run(recipe: Recipe, job: Job) -> Outcome:
    """Do one file.

    Raises:
        UsageError, TokenizerUnavailableError: no file can be done like this.

    """
    start = time.monotonic()
    facts: dict[str, Any] = {}
    try:
        with limits.deadline(recipe.timeout):
            if _do(recipe, job, facts):
                assert job.previous is not None
                return Outcome(job.previous, job.size, is_new=False)
    except (UsageError, TokenizerUnavailableError):
        raise  # it would be the same for every file
    except _SkipError as reason:
        facts |= {"status": "skipped", "error": str(reason)}
    except (Exception, limits.OverdueError) as error:  # noqa: BLE001 (a bad file fails alone)
        facts |= {"status": "failed", "error": _said(error, recipe)}
    if facts["status"] in {"skipped", "failed"}:
        facts["output_sha256"] = None
    wrote = None if facts["status"] in {"skipped", "failed"} else job.output
    seconds = round(time.monotonic() - start, 3)
    return Outcome(
        ManifestLine(
            source=job.source, output=wrote, seconds=seconds, options=recipe.options, **facts
        ),
        job.size,
    )


def _said(error: BaseException, recipe: Recipe) -> str:
    """Return one line without content."""
    if isinstance(error, CompactctlError):
        return error.what if error.line is None else f"line {error.line}: {error.what}"
    if isinstance(error, limits.OverdueError):
        return f"took longer than {recipe.timeout:g} s; give it more with --file-timeout"
    if isinstance(error, MemoryError):
        return "needs more memory than it may have; give it more with --max-memory"
    return internal(error)


def _do(recipe: Recipe, job: Job, facts: dict[str, Any]) -> bool:
    """Read, compact, write; a file that is written to meanwhile is read once more.

    True when an earlier run has done it.
    """
    if job.fault is not None:
        raise InputError(job.fault)
    again = "run again" if job.in_place else "run again with --resume"
    why = f"something is writing to it; {again} when it is at rest"
    for _ in range(2):
        facts.clear()
        try:
            if job.in_place:
                refuse_live(job.path)
            source = storage_of(job.path).read(job.path, job.root)
            facts["input_sha256"] = hashlib.sha256(source.raw).hexdigest()
            if _was_done(recipe, job, facts["input_sha256"]):
                return True
            _compact(recipe, job, source, facts)
        except ChangedError:
            continue
        except LiveError as error:
            why = error.what
            continue
        except LinkError:
            raise _SkipError("a symbolic link; name what it points to") from None
        return False
    facts.clear()  # so that --resume takes it up again
    raise _SkipError(why)


def _was_done(recipe: Recipe, job: Job, digest: str) -> bool:
    previous = job.previous
    if previous is None or previous.status == "failed" or previous.input_sha256 != digest:
        return False
    if previous.options != recipe.options:
        return False
    if previous.status == "done" and recipe.archive and not Archive(recipe.archive).has(digest):
        return False
    if previous.status == "skipped":
        return True
    target = job.target
    return (
        target is not None
        and storage_of(target).sha256(target, job.below) == previous.output_sha256
    )


def _compact(recipe: Recipe, job: Job, source: Source, facts: dict[str, Any]) -> None:
    start = time.monotonic()
    lines = lines_of(source.raw)
    try:
        found = loading.load(lines, job.source, recipe.format)
    except InputError as error:
        raise _SkipError(error.what) from None
    facts["format"] = found.format.name
    counter = load_counter(recipe.tokenizer)
    result = recipe.work(found, counter)
    steps = result.steps
    before = steps[0].tokens_before if steps else count_view(counter, found.messages)
    facts["tokens_before"] = before
    facts["tokens_after"] = steps[-1].tokens_after if steps else before
    facts["layers"] = tuple(step.layer for step in steps)
    written = result.written() if steps or result.lines else None
    data = _bytes(source.raw, lines, written)
    is_same = data is source.raw
    facts["status"] = "unchanged" if is_same else "done"
    facts["bytes_before"], facts["bytes_after"] = len(source.raw), len(data)
    facts["output_sha256"] = facts["input_sha256"] if is_same else hashlib.sha256(data).hexdigest()
    if not storage_of(job.path).is_as_read(job.path, source):
        raise ChangedError
    if not recipe.dry_run:
        _publish(recipe, job, source, data, facts, result.mark or {})
    if recipe.report:
        entry = report.record("compact", result, written, counter.name, time.monotonic() - start)
        report.append(recipe.report, entry)


def _bytes(raw: bytes, lines: list[bytes], written: Output | None) -> bytes:
    """Return what is to be written: the very bytes of the source if nothing in them changed."""
    if written is None:
        return raw
    data = b"".join(written.chunks)
    return raw if data == plain(raw, lines) else pack_like(raw, data)


def _publish(
    recipe: Recipe,
    job: Job,
    source: Source,
    data: bytes,
    facts: dict[str, Any],
    mark: dict[str, Any],
) -> None:
    """Write the result, but the original into the archive first, under the hashes it goes by."""
    made = (facts["output_sha256"], mark.get("input_sha256"))
    if recipe.archive is not None:
        try:
            if data is source.raw:
                Archive(recipe.archive).note_unchanged(made[0])
            else:
                Archive(recipe.archive).put(source.raw, made, facts["input_sha256"])
        except InputError as error:
            raise InputError(f"its original could not be kept: it {error.what}") from None
    if job.in_place:
        if data is not source.raw:
            replace_in_place(Path(os.path.realpath(job.path)), [data], source.stamp)
    elif job.target is not None:
        # As private as the source, and never less than a transcript should be.
        storage_of(job.target).put(job.target, data, job.below, source.mode & 0o600 | 0o400)
