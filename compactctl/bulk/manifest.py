"""The manifest: a line for each file that was looked at, and the memory of an interrupted run.

Lines are only appended, and the last one of a source wins. Only the driver writes.
"""

# Names stay strings: a path and a URL are the same to most of this.
# ruff: noqa: PTH103, PTH118

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import time
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from compactctl.bulk import targets
from compactctl.bulk.storage import RemoteStorage, storage_of
from compactctl.errors import InputError, UsageError
from compactctl.files.folders import MANIFEST
from compactctl.jsonl import exact

if TYPE_CHECKING:
    from collections.abc import Iterator

_FLAGS = (
    os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
)  # of a FIFO nobody is waited for

FileStatus: TypeAlias = Literal["done", "unchanged", "skipped", "failed"]


class ManifestLine(msgspec.Struct, frozen=True, gc=False):
    """What became of one file; hashes and bytes are of the files as they are stored.

    ``options`` is the digest of what it was compacted with.
    """

    source: str
    output: str | None
    status: FileStatus
    input_sha256: str | None = None
    output_sha256: str | None = None
    format: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    layers: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    bytes_before: int | None = None
    bytes_after: int | None = None
    options: str | None = None


def encode(line: ManifestLine) -> bytes:
    """Return one line as bytes; names that are no Unicode leave as escapes."""
    members = msgspec.structs.asdict(line)
    return exact.dump(members | {"check": _check(line)}) + b"\n"


def _check(line: ManifestLine) -> str:
    """Return the digest by which a line is known that somebody edited."""
    return hashlib.sha256(exact.dump(msgspec.structs.asdict(line))).hexdigest()[:16]


def _decode(raw: bytes) -> ManifestLine | None:
    """Read one line; None for what a killed run left of its last one, and for an edited one."""
    try:
        members = exact.parse(raw)
        line = msgspec.convert(members, ManifestLine)
    except (exact.NotJsonError, msgspec.ValidationError):
        return None
    return line if members.get("check") == _check(line) else None


def lines(data: bytes) -> Iterator[ManifestLine]:
    """Yield the lines of a manifest, oldest first."""
    return filter(None, map(_decode, data.split(b"\n")))


def last_lines(out: str) -> dict[str, ManifestLine]:
    """Return the last line of each source in the manifest of ``out``."""
    path = targets.join(out, MANIFEST)
    data = storage_of(path).read_optional(path)
    return {line.source: line for line in lines(data)} if data else {}


class LocalManifest:
    """Appends to a manifest on a disk, which one run has to itself."""

    def __init__(self, out: str) -> None:
        """Open it, and make sure that no other run is writing to ``out``."""
        self._path = os.path.join(out, MANIFEST)
        try:
            os.makedirs(out, exist_ok=True)
            self._handle = os.open(self._path, _FLAGS, 0o600)
        except OSError as error:
            why = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise InputError(f"cannot be written: {why}", file=self._path) from None
        if not stat.S_ISREG(os.fstat(self._handle).st_mode):
            raise InputError("is not a regular file; move it away", file=self._path)
        self._lock(out)
        size = os.fstat(self._handle).st_size
        if size and os.pread(self._handle, 1, size - 1) != b"\n":
            self._append(b"\n")  # a run was killed in the middle of a line

    def _lock(self, out: str) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another run is writing to {out}; wait for it to end") from None
        except OSError:
            pass  # a network disk without locks

    def append(self, line: ManifestLine) -> None:
        """Write a line, in one piece."""
        self._append(encode(line))

    def _append(self, raw: bytes) -> None:
        size = os.fstat(self._handle).st_size
        try:
            written = os.write(self._handle, raw)
            if written < len(raw):
                os.write(self._handle, raw[written:])
        except OSError as error:
            os.ftruncate(self._handle, size)
            raise InputError(
                f"cannot be written: {error.strerror}; mend that and run again with --resume",
                file=self._path,
            ) from None

    def close(self) -> None:
        """Sync it to the disk and close it."""
        try:
            os.fsync(self._handle)
        finally:
            os.close(self._handle)


class RemoteManifest:
    """A manifest where nothing can be appended: put as a whole, now and then.

    What a kill loses is repeated by the next run, to the same bytes.
    """

    _OFTEN = 5.0
    """Seconds between two puts, and a put takes at most a tenth of the time."""

    def __init__(self, out: str) -> None:
        """Read the lines that are there."""
        self._path = targets.join(out, MANIFEST)
        self._data = bytearray(RemoteStorage().read_optional(self._path) or b"")
        self._next = time.monotonic() + self._OFTEN
        self._new = False

    def append(self, line: ManifestLine) -> None:
        """Add a line, to be put with others."""
        self._data += encode(line)
        self._new = True
        if time.monotonic() >= self._next:
            self._put()

    def _put(self) -> None:
        start = time.monotonic()
        RemoteStorage().put(self._path, bytes(self._data))
        self._new = False
        now = time.monotonic()
        self._next = now + max(self._OFTEN, 10 * (now - start))

    def close(self) -> None:
        """Put what is new."""
        if self._new:
            self._put()


class NoManifest:
    """Keeps nothing: for a dry run, and for files that are changed in place."""

    def append(self, line: ManifestLine) -> None:
        """Forget it."""

    def close(self) -> None:
        """Do nothing."""


Writer: TypeAlias = LocalManifest | RemoteManifest | NoManifest


def writer(out: str | None) -> Writer:
    """Open the manifest of ``out``.

    Raises:
        UsageError: another run has it.
        InputError: it cannot be written.

    """
    if out is None:
        return NoManifest()
    return RemoteManifest(out) if targets.is_url(out) else LocalManifest(out)
