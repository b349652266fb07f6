"""Where bytes come from and go to: a path on a disk, or any URL that fsspec knows.

A file is read as it stood at one moment, and written whole or not at all.
"""

# Names stay strings: a path and a URL are the same to most of this.
# ruff: noqa: PTH110, PTH116, PTH123, PTH206, PTH208

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from compactctl.bulk import targets
from compactctl.errors import InputError
from compactctl.files.atomic import stamp, write_file
from compactctl.files.beneath import NotOpenedError, Why, open_beneath

if TYPE_CHECKING:
    from types import ModuleType

_PRIVATE = 0o600
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO must not hold the opening up


class ChangedError(Exception):
    """Something wrote to the file while it was read or worked on."""


class LinkError(Exception):
    """What was found in a folder is a link, which may lead out of it."""


class Source(msgspec.Struct, frozen=True):
    """The bytes of a file, and what would be different if something had written to it."""

    raw: bytes
    stamp: Any
    mode: int = _PRIVATE


def _remote() -> ModuleType:
    from compactctl.bulk import remote  # noqa: PLC0415 (needs fsspec, which is an extra)

    return remote


def read(path: str, root: str | None = None) -> Source:
    """Read a file; with a ``root`` that it was found below, follow no link on the way there.

    Raises:
        ChangedError: something wrote to it meanwhile.
        LinkError: there is a link below the root.
        InputError: it is not there, no file, or cannot be read.

    """
    if targets.is_url(path):
        return Source(*_remote().read(path))
    try:
        with _open(path, root) as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise InputError("is no regular file")
            raw = file.read()
            if stamp(os.fstat(file.fileno())) != stamp(before) or len(raw) != before.st_size:
                raise ChangedError
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from None
    return Source(raw, stamp(before), stat.S_IMODE(before.st_mode))


def _open(path: str, root: str | None) -> BinaryIO:
    if root is None:
        return os.fdopen(os.open(path, _FLAGS), "rb")
    try:
        return open_beneath(root, os.path.relpath(path, root).split(os.sep))
    except NotOpenedError as error:
        if error.why == "link":
            raise LinkError from None
        raise InputError(_SAID[error.why]) from None


_SAID: dict[Why, str] = {
    "missing": "cannot be read: No such file or directory",
    "vanished": "cannot be read: it vanished in this moment",
    "not_a_file": "is no regular file",
    "denied": "cannot be read: Permission denied",
    "unreadable": "cannot be read",
}


def is_as_read(path: str, source: Source) -> bool:
    """Say whether the file is still what was read."""
    if targets.is_url(path):
        return bool(_remote().stamp(path) == source.stamp)
    try:
        return bool(stamp(os.stat(path)) == source.stamp)
    except OSError:  # gone; what was read of it is whole all the same
        return True


def read_optional(path: str) -> bytes | None:
    """Read a file that may not be there."""
    if targets.is_url(path):
        return read(path).raw if _remote().stamp(path) is not None else None
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None


def exists(path: str) -> bool:
    """Say whether there is such a file."""
    return _remote().stamp(path) is not None if targets.is_url(path) else os.path.exists(path)


def list_folder(path: str) -> list[str]:
    """Give the names in a folder; none when it is not there."""
    if targets.is_url(path):
        return [url.rpartition("/")[2] for url, _ in _remote().listing(path, pattern=False)]
    try:
        return os.listdir(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"cannot be listed: {error.strerror}", file=path) from None


def sha256(path: str) -> str | None:
    """Hash a file; None when it is not there or cannot be read."""
    try:
        if targets.is_url(path):
            return hashlib.sha256(read(path).raw).hexdigest()
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, InputError, ChangedError):
        return None


def put(path: str, data: bytes, mode: int = _PRIVATE) -> None:
    """Write a file whole or not at all, and its folder when that is missing.

    Raises:
        InputError: it cannot be written.

    """
    if targets.is_url(path):
        _remote().put(path, data)
        return
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from None
    write_file([data], target, mode)


def replace(path: str, source: Source, data: bytes) -> None:
    """Write over a file on a disk, if it is still what was read.

    Raises:
        ChangedError: it is not.
        InputError: it cannot be written.

    """
    if not is_as_read(path, source):
        raise ChangedError
    try:
        write_file([data], Path(os.path.realpath(path)), source.mode, replaces=source.stamp)
    except InputError:
        if not is_as_read(path, source):
            raise ChangedError from None
        raise
