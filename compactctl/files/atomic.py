"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from compactctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_PRIVATE = 0o600
"""The mode of a new file: transcripts hold secrets."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

_LONGEST_NAME = 200
"""Bytes of a file's name that its temporary file repeats; 255 is all that most disks take."""


def write_file(
    chunks: Iterable[bytes],
    target: Path,
    mode: int | None = None,
    *,
    replaces: tuple[int, ...] | None = None,
) -> None:
    """Replace what the user called ``target``.

    The mode of an existing file is kept. A device or a pipe is written to as it is. ``replaces``
    is the stamp of the target from when it was read: nothing written to it since is lost.

    Raises:
        InputError: the folder cannot be written, the disk is full, or the target has changed.

    """
    try:
        found = os.stat(target) if os.path.exists(target) else None  # noqa: PTH110, PTH116 (the same)
        if found is not None and not stat.S_ISREG(found.st_mode):
            with target.open("wb") as file:
                file.writelines(chunks)
        else:
            replace_file(str(target), chunks, like=found, mode=mode, replaces=replaces)
            with contextlib.suppress(OSError):  # not every file system knows how
                _sync_folder(target.parent)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(target)) from None


def replace_file(
    path: str,
    chunks: Iterable[bytes],
    *,
    like: os.stat_result | None = None,
    mode: int | None = None,
    replaces: tuple[int, ...] | None = None,
    sync: bool = True,
) -> None:
    """Replace ``path`` in one step: a temporary file beside it, synced, then renamed.

    It gets the owner and the mode of ``like``, or ``mode``. Without ``sync`` a power loss may
    leave a torn file, which is for the reader to notice.

    Raises:
        OSError: as the system gave it.
        InputError: the file is no longer the one of the stamp ``replaces``.

    """
    with _temporary(path) as (temporary, handle):
        _fill(handle, chunks, like=like, mode=mode, sync=sync)
        if replaces is not None and stamp(os.stat(path)) != replaces:  # noqa: PTH116 (a name)
            raise InputError("changed since it was read; nothing was written", file=path)
        os.replace(temporary, path)  # noqa: PTH105 (the same, without an object)


def create_file(folder: int, name: str, content: bytes) -> None:
    """Create the file ``name`` in an open folder; the bytes are on the disk before the name is.

    Raises:
        FileExistsError: the name is taken; nothing was overwritten.
        OSError: as the system gave it.

    """
    with _temporary(name, folder) as (temporary, handle):
        _fill(handle, [content])
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.fsync(folder)


def back_up(path: Path, *content: bytes) -> Path:
    """Keep the bytes that will be replaced beside the file, under the first name that is free.

    Return that name.

    Raises:
        OSError: as the system gave it.

    """
    number = 0
    while True:
        backup = path.with_name(f"{path.name}.bak{f'.{number}' if number else ''}")
        try:
            handle = os.open(backup, _NEW, _PRIVATE)
            break
        except FileExistsError:
            number += 1
    try:
        _fill(handle, content, like=os.stat(path))  # noqa: PTH116 (the same)
    except OSError:
        backup.unlink()
        raise
    return backup


def stamp(found: os.stat_result) -> tuple[int, ...]:
    """Return what differs once a file was written to, or is another file."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


@contextlib.contextmanager
def _temporary(path: str, folder: int | None = None) -> Iterator[tuple[str, int]]:
    """Open a new file beside ``path``; at the end its temporary name is gone, whatever happened."""
    parent, name = os.path.split(path)
    name = os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])
    temporary = os.path.join(parent, f".{name}.{os.urandom(4).hex()}")  # noqa: PTH118 (a name)
    handle = os.open(temporary, _NEW, _PRIVATE, dir_fd=folder)
    try:
        yield temporary, handle
    finally:
        with contextlib.suppress(OSError):  # renamed
            os.unlink(temporary, dir_fd=folder)


def _fill(
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
        os.fchmod(handle, _PRIVATE if mode is None else mode)
        if sync:
            os.fsync(handle)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power loss."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
