"""Find the files that a FILE argument names, without following a link."""

# Names stay strings: a path and a URL are the same to most of this.
# ruff: noqa: PTH112, PTH114, PTH116, PTH118, PTH119, PTH123

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from compactctl.bulk import manifest, targets
from compactctl.errors import InputError

Avoid = Callable[[str], bool]
"""Whether to stay out of a folder: the output may lie in what is walked."""


class Found(NamedTuple):
    """A file: its name for people, what of it is kept below the output, and its size.

    ``root`` is the folder below which no link may be followed; None for a file named by itself.
    ``fault`` is why there is nothing to be read.
    """

    source: str
    relative: str
    size: int
    root: str | None = None
    fault: str | None = None


def find(name: str, avoid: Avoid) -> Iterator[Found]:
    """Find what ``name`` names. One that is not there is found too: it fails when it is read.

    Raises:
        InputError: a pattern matches nothing, or a remote folder cannot be listed.

    """
    if targets.is_url(name):
        yield from _remote(name)
    elif targets.is_pattern(name):
        yield from _pattern(name, avoid)
    elif os.path.isdir(name):
        yield from _folder(name, "", name, avoid)
    else:
        yield Found(name, os.path.basename(name), _size(name))


def _size(path: str, *, follow: bool = True) -> int:
    try:
        return os.stat(path, follow_symlinks=follow).st_size
    except OSError:
        return 0


def _folder(root: str, below: str, folder: str, avoid: Avoid) -> Iterator[Found]:
    """Find the transcripts in a folder and its folders, in the order of their names."""
    if avoid(folder):
        return
    try:
        entries = _entries(folder)
    except OSError as error:
        yield Found(folder, below, 0, root, f"cannot be listed: {error.strerror}")
        return
    for entry in entries:
        relative = os.path.join(below, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from _folder(root, relative, entry.path, avoid)
        elif targets.is_transcript(entry.name) and not _is_manifest(entry):
            size = _size(entry.path, follow=False)
            yield Found(os.path.normpath(entry.path), relative, size, root)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _is_manifest(entry: os.DirEntry[str]) -> bool:
    """Say whether it is what another bulk run wrote: its outputs can be compacted again."""
    if entry.name != manifest.NAME or not entry.is_file(follow_symlinks=False):
        return False
    try:
        with open(entry.path, "rb") as file:
            return manifest.is_manifest(file.readline(1 << 20))
    except OSError:
        return False


def _pattern(pattern: str, avoid: Avoid) -> Iterator[Found]:
    """Find what matches; its path from the first wildcard on is kept below the output."""
    parts = pattern.split("/")
    first = next(at for at, part in enumerate(parts) if targets.has_wildcard(part))
    root = "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")
    try:
        matches = sorted(set(_matches(root, "", parts[first:])))
    except OSError as error:
        raise InputError(f"cannot be listed: {error.strerror}", file=error.filename) from None
    if not matches:
        raise InputError("nothing matches this pattern", file=pattern)
    for relative in matches:
        path = os.path.join(root, relative)
        if os.path.isdir(path) and not os.path.islink(path):
            yield from _folder(root, relative, path, avoid)
        else:
            yield Found(os.path.normpath(path), relative, _size(path), root)


def _matches(root: str, below: str, parts: list[str]) -> Iterator[str]:
    """Give the paths below ``root`` that match the parts of a pattern, link by no link."""
    if not parts:
        yield below
        return
    part, rest = parts[0], parts[1:]
    if not targets.has_wildcard(part):
        if os.path.lexists(os.path.join(root, below, part)):
            yield from _matches(root, os.path.join(below, part), rest)
        return
    if part == "**":
        yield from _matches(root, below, rest)
    for entry in _entries(os.path.join(root, below)):
        if entry.name.startswith(".") and not part.startswith("."):
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        if part == "**" and is_folder:
            yield from _matches(root, os.path.join(below, entry.name), parts)
        elif fnmatchcase(entry.name, part) and (is_folder or not rest):
            yield from _matches(root, os.path.join(below, entry.name), rest)


def _remote(url: str) -> Iterator[Found]:
    from compactctl.bulk import remote  # noqa: PLC0415 (needs fsspec, which is an extra)

    is_pattern = targets.is_pattern(url)
    if not is_pattern and not remote.is_folder(url):
        yield Found(remote.spell(url), url.rpartition("/")[2], 0)
        return
    parts = remote.spell(url).split("/")
    if is_pattern:
        parts = parts[: next(at for at, part in enumerate(parts) if targets.has_wildcard(part))]
    root = "/".join(parts).rstrip("/") + "/"
    found = sorted(remote.listing(url, pattern=is_pattern))
    if is_pattern and not found:
        raise InputError("nothing matches this pattern", file=url)
    for name, size in found:
        base = name.rpartition("/")[2]
        if (is_pattern or targets.is_transcript(base)) and base != manifest.NAME:
            yield Found(name, name.removeprefix(root), size)
