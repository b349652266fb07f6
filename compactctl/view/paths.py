"""One key for the many ways to write one path, by its letters alone; the disk is never asked."""

from __future__ import annotations

import functools
import posixpath
import re
import unicodedata
from fnmatch import fnmatchcase

_DRIVE = re.compile(r"^([A-Za-z]):[\\/]")


@functools.lru_cache(maxsize=1 << 13)  # a session names the same few files over and over
def key(path: str, cwd: str = "") -> str:
    """Return the key by which two spellings of a path are the same file.

    Relative paths start from ``cwd``; ``.``, ``..`` and doubled slashes are folded, and letters
    with accents are put together. A path that has the shape of a Windows path loses case and
    backslashes; on a POSIX path both mean what they say and are kept.
    """
    path, cwd = unicodedata.normalize("NFC", path), unicodedata.normalize("NFC", cwd)
    if _is_windows(path) or (_is_windows(cwd) and not path.startswith("/")):
        windows = path if _is_windows(path) else f"{cwd}/{path}"
        return posixpath.normpath(windows.replace("\\", "/")).lower()
    if not path.startswith(("/", "~")) and cwd:
        path = f"{cwd}/{path}"
    folded = posixpath.normpath(path)
    return folded[1:] if folded.startswith("//") else folded


def relative(path: str, own: str, folder: str) -> str:
    """Return a path from ``folder`` on if it lies below it, else as it is written.

    ``own`` is the :func:`key` of the path.
    """
    above = f"{key(folder)}/" if folder else ""
    if above and own.startswith(above):
        return own[len(above) :]
    return path if is_absolute(path) else own


def is_absolute(path: str) -> bool:
    """Return True if a path starts from no folder."""
    return path.startswith(("/", "~")) or _is_windows(path)


def _is_windows(path: str) -> bool:
    return bool(_DRIVE.match(path)) or path.startswith("\\\\")


@functools.lru_cache(maxsize=1 << 13)
def matches(path: str, globs: tuple[str, ...]) -> bool:
    """Return True if a path, or its last part, matches one of ``globs``."""
    plain = path.replace("\\", "/") if _is_windows(path) else path
    name = posixpath.basename(plain)
    return any(fnmatchcase(name, glob) or fnmatchcase(plain, glob) for glob in globs)
