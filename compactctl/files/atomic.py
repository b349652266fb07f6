"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from typing import TYPE_CHECKING

from compactctl.errors import InputError
from compactctl.files.pipes import open_to_write

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PRIVATE = 0o600
"""The mode of a new file: transcripts hold secrets."""

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

_LONGEST_NAME = 200
"""Bytes of a file's name that its temporary file repeats; 255 is all that most disks take."""


def write_file(chunks: Iterable[bytes], target: Path, mode: int | None = None) -> None:
    """Replace what the user called ``target``.

    The mode of an existing file is kept. A device or a pipe is written to as it is.

    Raises:
        InputError: the folder cannot be written, or the disk is full.

    """
    try:
        found = os.stat(target) if os.path.exists(target) else None  # noqa: PTH110, PTH116 (the same)
        if found is not None and not stat.S_ISREG(found.st_mode):
            with os.fdopen(open_to_write(target, 0), "wb") as file:
                file.writelines(chunks)
        else:
            replace_file(str(target), chunks, like=found, mode=mode)
            sync_folder(target.parent)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(target)) from None


def replace_file(
    path: str,
    chunks: Iterable[bytes],
    *,
    folder: int | None = None,
    like: os.stat_result | None = None,
    mode: int | None = None,
    sync: bool = True,
) -> None:
    """Replace ``path`` in one step: a temporary file beside it, synced, then renamed.

    It gets the owner and the mode of ``like``, or ``mode``. A relative path begins at the open
    ``folder``. Without ``sync`` a power loss may leave a torn file, which is for the reader to
    notice.

    Raises:
        OSError: as the system gave it.

    """
    with temporary(path, folder) as (name, handle):
        fill(handle, chunks, like=like, mode=mode, sync=sync)
        os.replace(name, path, src_dir_fd=folder, dst_dir_fd=folder)


def create_file(folder: int, name: str, content: bytes) -> None:
    """Create the file ``name`` in an open folder; the bytes are on the disk before the name is.

    Raises:
        FileExistsError: the name is taken; nothing was overwritten.
        OSError: as the system gave it.

    """
    with temporary(name, folder) as (hidden, handle):
        fill(handle, [content])
        os.link(hidden, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.fsync(folder)


def stamp(found: os.stat_result) -> tuple[int, ...]:
    """Return what differs once a file was written to, or is another file."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


@contextlib.contextmanager
def temporary(path: str, folder: int | None = None) -> Iterator[tuple[str, int]]:
    """Open a new file beside ``path``; at the end its temporary name is gone, whatever happened.

    It is locked while it is written, so that :func:`sweep` leaves it alone.
    """
    parent, name = os.path.split(path)
    name = os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])
    hidden = os.path.join(parent, f".{name}.{os.urandom(4).hex()}")  # noqa: PTH118 (a name)
    handle = os.open(hidden, NEW, PRIVATE, dir_fd=folder)
    try:
        with contextlib.suppress(OSError):  # a network disk without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield hidden, handle
    finally:
        with contextlib.suppress(OSError):  # renamed
            os.unlink(hidden, dir_fd=folder)


def sweep(root: str, name: re.Pattern[str]) -> None:
    """Remove what killed processes left half-written below ``root``, by no link.

    ``name`` is what the temporary files there are called; one that is being written stays.
    """
    with contextlib.suppress(FileNotFoundError):  # nothing was written yet
        for _, _, files, folder in os.fwalk(root):
            for file in files:
                if name.fullmatch(file) and not _is_in_use(file, folder):
                    with contextlib.suppress(OSError):
                        os.unlink(file, dir_fd=folder)


def _is_in_use(name: str, folder: int) -> bool:
    """Return whether another process is writing the temporary file."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def fill(
    handle: int,
    chunks: Iterable[bytes],
    *,
    like: os.stat_result | None = None,
    mode: int | None = None,
    sync: bool = True,
) -> None:
    """Write a new file, with the owner and the mode of the one that it replaces, and close it."""
    with os.fdopen(handle, "wb") as file:
        file.writelines(chunks)
        file.flush()
        if like is not None:
            with contextlib.suppress(OSError):  # only root may give files away
                os.fchown(handle, like.st_uid, like.st_gid)
            mode = stat.S_IMODE(like.st_mode) if mode is None else mode
        os.fchmod(handle, PRIVATE if mode is None else mode)
        if sync:
            os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Make a rename in it survive a power loss."""
    with contextlib.suppress(OSError):  # not every file system knows how
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
