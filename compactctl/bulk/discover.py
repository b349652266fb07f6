"""Find the files that a FILE argument names, without following a link."""

# Names stay strings: a path and a URL are the same to most of this.
# ruff: noqa: PTH112, PTH114, PTH118, PTH119

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase

from compactctl.bulk import targets
from compactctl.bulk.storage import RemoteStorage
from compactctl.errors import InputError
from compactctl.files.folders import (
    MANIFEST,
    Avoid,
    FoundFile,
    entries_of,
    find_transcripts,
    is_transcript,
    size_of,
)


def find(name: str, avoid: Avoid) -> Iterator[FoundFile]:
    """Find what ``name`` names. One that is not there is found too: it fails when it is read.

    Raises:
        InputError: a pattern matches nothing, or a remote folder cannot be listed.

    """
    if not name:
        raise InputError("cannot be read: No such file or directory", file="''")
    if targets.is_url(name):
        yield from _remote(name)
    elif targets.is_pattern(name):
        yield from _pattern(name, avoid)
    elif os.path.isdir(name):
        yield from find_transcripts(name, avoid)
    else:
        yield FoundFile(name, os.path.basename(name), size_of(name))


def _pattern(pattern: str, avoid: Avoid) -> Iterator[FoundFile]:
    """Find what matches; its path from the first wildcard on is kept below the output."""
    parts = pattern.split("/")
    first = _first_wildcard(parts)
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
            yield from find_transcripts(path, avoid, root=root, below=relative)
        else:
            yield FoundFile(os.path.normpath(path), relative, size_of(path), root)


def _first_wildcard(parts: list[str]) -> int:
    return next(place for place, part in enumerate(parts) if targets.has_wildcard(part))


def _matches(root: str, below: str, parts: list[str]) -> Iterator[str]:
    """Yield the paths below ``root`` that match the parts of a pattern, following no link."""
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
    for entry in entries_of(os.path.join(root, below)):
        if entry.name.startswith(".") and not part.startswith("."):
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        if part == "**" and is_folder:
            yield from _matches(root, os.path.join(below, entry.name), parts)
        elif fnmatchcase(entry.name, part) and (is_folder or not rest):
            yield from _matches(root, os.path.join(below, entry.name), rest)


def _remote(url: str) -> Iterator[FoundFile]:
    storage = RemoteStorage()
    is_pattern = targets.is_pattern(url)
    if not is_pattern and not storage.is_folder(url):
        yield FoundFile(storage.spell(url), url.rpartition("/")[2], 0)
        return
    parts = storage.spell(url).split("/")
    if is_pattern:
        parts = parts[: _first_wildcard(parts)]
    root = "/".join(parts).rstrip("/") + "/"
    found = sorted(storage.glob(url) if is_pattern else storage.find(url))
    if is_pattern and not found:
        raise InputError("nothing matches this pattern", file=url)
    for name, size in found:
        base = name.rpartition("/")[2]
        if (is_pattern or is_transcript(base)) and base != MANIFEST:
            yield FoundFile(name, name.removeprefix(root), size)
