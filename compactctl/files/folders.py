"""Find the transcripts in a folder and the folders below it, without following a link."""

# Names stay strings: what is found is shown and opened by them.
# ruff: noqa: PTH116, PTH118, PTH123

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from compactctl.jsonl import exact

MANIFEST = "manifest.jsonl"
"""What a bulk run writes beside its outputs."""

_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
_LONGEST_LINE = 1 << 20

Avoid: TypeAlias = Callable[[str], bool]
"""Whether to stay out of a folder: the output may lie in what is walked."""


class FoundFile(NamedTuple):
    """A file: its name for people, what of it is kept below the output, and its size.

    ``root`` is the folder below which no link may be followed; None for a file named by itself.
    ``fault`` is why there is nothing to be read.
    """

    source: str
    relative: str
    size: int
    root: str | None = None
    fault: str | None = None


def find_transcripts(
    folder: str, avoid: Avoid = lambda _: False, *, root: str | None = None, below: str = ""
) -> Iterator[FoundFile]:
    """Find the transcripts in a folder and its folders, in the order of their names.

    Where the walk began further up, at ``root``, ``below`` is the path from there.
    """
    if avoid(folder):
        return
    root = folder if root is None else root
    try:
        entries = entries_of(folder)
    except OSError as error:
        yield FoundFile(folder, below, 0, root, f"cannot be listed: {error.strerror}")
        return
    for entry in entries:
        relative = os.path.join(below, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from find_transcripts(entry.path, avoid, root=root, below=relative)
        elif is_transcript(entry.name) and not _is_manifest(entry):
            size = size_of(entry.path, follow=False)
            yield FoundFile(os.path.normpath(entry.path), relative, size, root)


def is_transcript(name: str) -> bool:
    """Return True if a file found in a folder counts; hidden ones are temporary files."""
    return name.endswith(_SUFFIXES) and not name.startswith(".")


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    """List a folder in the order of the names.

    Raises:
        OSError: as the system gave it.

    """
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def size_of(path: str, *, follow: bool = True) -> int:
    """Return the size of a file; 0 if it is not there, which reading it will say."""
    try:
        return os.stat(path, follow_symlinks=follow).st_size
    except OSError:
        return 0


def _is_manifest(entry: os.DirEntry[str]) -> bool:
    """Return True if a bulk run wrote the file; its outputs can be compacted again."""
    if entry.name != MANIFEST or not entry.is_file(follow_symlinks=False):
        return False
    try:
        with open(entry.path, "rb") as file:
            first = exact.object_or_none(file.readline(_LONGEST_LINE))
    except OSError:
        return False
    return first is not None and {"source", "output", "status"} <= first.keys()
