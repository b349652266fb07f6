"""Where bytes come from and go to: a path on a disk, or any URL that fsspec knows.

Either way a file is read as it stood at one moment, and written whole or not at all.
"""

# Names stay strings: a path and a URL are the same to most of this.
# ruff: noqa: PTH110, PTH116, PTH206, PTH208

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from compactctl.bulk import targets
from compactctl.errors import CompactctlError, InputError
from compactctl.files.atomic import stamp
from compactctl.files.beneath import UNOPENED, NotOpenedError, open_beneath, write_beneath
from compactctl.files.remote import open_system

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedReader

_PRIVATE = 0o600
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO must not hold the opening up
_WHOLE_PUTS = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "memory"}
"""Where a put is one request that happens or does not. Elsewhere it takes a transaction: only
leaving ``with fs.open(…)`` would publish what an exception cut short."""

_STATE = ("ETag", "etag", "md5Hash", "generation", "mtime", "LastModified", "last_modified")
"""What tells one state of an object from another, by the names of several services."""


class ChangedError(Exception):
    """Something wrote to the file while it was read or worked on."""


class LinkError(Exception):
    """What was found in a folder is a link, which may lead out of it."""


class Source(msgspec.Struct, frozen=True):
    """The bytes of a file, and what would be different if something had written to it."""

    raw: bytes
    stamp: Any
    mode: int = _PRIVATE


class LocalStorage:
    """Files on a disk, by their paths."""

    def read(self, path: str, root: str | None = None) -> Source:
        """Read a file; with a ``root`` that it was found below, follow no link on the way there.

        Raises:
            ChangedError: something wrote to it meanwhile.
            LinkError: there is a link below the root.
            InputError: it is not there, no file, or cannot be read.

        """
        try:
            with self._open(path, root) as file:
                before = os.fstat(file.fileno())
                if not stat.S_ISREG(before.st_mode):
                    raise InputError("is not a regular file")
                raw = file.read()
                if stamp(os.fstat(file.fileno())) != stamp(before) or len(raw) != before.st_size:
                    raise ChangedError
        except IsADirectoryError:
            raise InputError("is a directory; name a file in it") from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}") from None
        return Source(raw, stamp(before), stat.S_IMODE(before.st_mode))

    def _open(self, path: str, root: str | None) -> BufferedReader:
        if root is None:
            return os.fdopen(os.open(path, _FLAGS), "rb")
        try:
            return open_beneath(root, os.path.relpath(path, root).split(os.sep))
        except NotOpenedError as error:
            if error.why == "link":
                raise LinkError from None
            raise InputError(UNOPENED[error.why]) from None

    def is_as_read(self, path: str, source: Source) -> bool:
        """Return True if the file is still what was read."""
        try:
            return bool(stamp(os.stat(path)) == source.stamp)
        except OSError:  # gone; what was read of it is whole all the same
            return True

    def read_optional(self, path: str) -> bytes | None:
        """Read a file that may not be there."""
        try:
            file = os.fdopen(os.open(path, _FLAGS | os.O_NOFOLLOW), "rb")
        except FileNotFoundError:
            return None
        except OSError as error:
            why = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise InputError(f"cannot be read: {why}", file=path) from None
        with file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InputError("is not a regular file", file=path)
            return file.read()

    def exists(self, path: str) -> bool:
        """Return True if there is such a file."""
        return os.path.exists(path)

    def names_in(self, folder: str) -> list[str]:
        """Return the names in a folder; none if it is not there."""
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"cannot be listed: {error.strerror}", file=folder) from None

    def sha256(self, path: str, root: str) -> str | None:
        """Hash a file below ``root``; None if it is not there or cannot be read."""
        try:
            with self._open(path, root) as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, LinkError, InputError):
            return None

    def put(self, path: str, data: bytes, root: str, mode: int = _PRIVATE) -> None:
        """Write a file below ``root`` whole or not at all, in folders made as needed.

        Raises:
            InputError: it cannot be written, or there is a link on the way.

        """
        try:
            write_beneath(root, os.path.relpath(path, root).split(os.sep), data, mode)
        except NotOpenedError:
            raise InputError(f"cannot be written: a link leads out of {root}", file=path) from None
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=path) from None


class RemoteStorage:
    """Objects behind URLs, through fsspec, which is an extra. No link leads out of a bucket."""

    _one_transaction = threading.Lock()

    def read(self, url: str, root: str | None = None) -> Source:  # noqa: ARG002 (see LocalStorage)
        """Read an object. Who works on it asks :meth:`is_as_read` before anything is published.

        Raises:
            InputError: it is not there or cannot be read.

        """
        system, path = open_system(url)
        before = self._stamp(url)
        if before is None:
            raise InputError("cannot be read: No such file or directory")
        try:
            return Source(system.cat_file(path), before)
        except Exception as error:  # noqa: BLE001 (each storage has exceptions of its own)
            raise _trouble("read", error) from None

    def is_as_read(self, url: str, source: Source) -> bool:
        """Return True if the object is still what was read."""
        return bool(self._stamp(url) == source.stamp)

    def read_optional(self, url: str) -> bytes | None:
        """Read an object that may not be there."""
        return self.read(url).raw if self.exists(url) else None

    def exists(self, url: str) -> bool:
        """Return True if there is such an object."""
        return self._stamp(url) is not None

    def names_in(self, folder: str) -> list[str]:
        """Return the names of all objects below a folder."""
        return [url.rpartition("/")[2] for url, _ in self.find(folder)]

    def sha256(self, url: str, root: str) -> str | None:  # noqa: ARG002 (see LocalStorage)
        """Hash an object; None if it is not there or cannot be read."""
        try:
            return hashlib.sha256(self.read(url).raw).hexdigest()
        except InputError:
            return None

    def put(self, url: str, data: bytes, root: str = "", mode: int = _PRIVATE) -> None:  # noqa: ARG002 (see LocalStorage)
        """Write an object whole or not at all.

        Raises:
            InputError: it cannot be written.

        """
        system, path = open_system(url)
        try:
            if url.partition("://")[0] in _WHOLE_PUTS:
                system.pipe_file(path, data)
                return
            # The transaction belongs to the file system, which all threads share.
            with self._one_transaction:
                system.makedirs(system._parent(path), exist_ok=True)  # noqa: SLF001 (has no other name)
                with system.transaction, system.open(path, "wb") as file:
                    file.write(data)
        except CompactctlError:
            raise
        except Exception as error:  # noqa: BLE001 (as above)
            raise _trouble("written", error) from None

    def find(self, url: str) -> list[tuple[str, int]]:
        """Return (URL, size) of all files below a folder."""
        system, path = open_system(url)
        return _files(system, system.find, path)

    def glob(self, url: str) -> list[tuple[str, int]]:
        """Return (URL, size) of all files that match a pattern."""
        system, path = open_system(url)
        return _files(system, system.glob, path)

    def is_folder(self, url: str) -> bool:
        """Return True if there is something below a URL rather than at it."""
        system, path = open_system(url)
        try:
            return bool(system.isdir(path))
        except Exception as error:  # noqa: BLE001 (as above)
            raise _trouble("read", error) from None

    def spell(self, url: str) -> str:
        """Return the spelling of a URL that listings use."""
        system, path = open_system(url)
        name: str = system.unstrip_protocol(path)
        return name

    def _stamp(self, url: str) -> tuple[object, ...] | None:
        """Return what changes when something writes to the object; None if there is none."""
        system, path = open_system(url)
        system.invalidate_cache()
        try:
            info = system.info(path)
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001 (as above)
            raise _trouble("read", error) from None
        return (info.get("size"), *(str(info.get(key)) for key in _STATE))


def _files(system: Any, listing: Callable[..., Any], path: str) -> list[tuple[str, int]]:
    try:
        found = listing(path, detail=True)
    except Exception as error:  # noqa: BLE001 (as above)
        raise _trouble("listed", error) from None
    return [
        (system.unstrip_protocol(name), info.get("size") or 0)
        for name, info in found.items()
        if info.get("type") != "directory"
    ]


def _trouble(what: str, error: Exception) -> InputError:
    """Say what went wrong in one line; a driver's own words can hold keys or be pages long."""
    said = getattr(error, "strerror", None) or type(error).__name__
    return InputError(f"cannot be {what}: {said}")


Storage: TypeAlias = LocalStorage | RemoteStorage


def storage_of(name: str) -> Storage:
    """Return what reads and writes files of such a name."""
    return RemoteStorage() if targets.is_url(name) else LocalStorage()
