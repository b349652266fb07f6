"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from compactctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_LONGEST_NAME = 200
"""Bytes of a file's name that its temporary file repeats; 255 is all that most disks take."""


def back_up(path: Path, *content: bytes) -> Path:
    """Keep the bytes that will be replaced beside the file, under the first name that is free.

    Give that name.

    Raises:
        OSError: as the system gave it.

    """
    number = 0
    while True:
        backup = path.with_name(f"{path.name}.bak{f'.{number}' if number else ''}")
        try:
            handle = _create(backup)
            break
        except FileExistsError:
            number += 1
    try:
        _fill(handle, content, os.stat(path))  # noqa: PTH116 (the same)
    except OSError:
        backup.unlink()
        raise
    return backup


def write_file(
    chunks: Iterable[bytes],
    target: Path,
    mode: int | None = None,
    *,
    replaces: tuple[int, ...] | None = None,
) -> None:
    """Replace ``target`` in one step: a temporary file beside it, synced, then renamed.

    The mode of an existing file is kept; a new one gets 0600, since transcripts hold secrets.
    A device or a pipe is written to as it is. ``replaces`` is the stamp of the target from
    when it was read: nothing that was written to it since is lost.

    Raises:
        InputError: the folder cannot be written, the disk is full, or the target has changed.

    """
    try:
        found = os.stat(target) if os.path.exists(target) else None  # noqa: PTH110, PTH116 (the same)
        if found is not None and not stat.S_ISREG(found.st_mode):
            with target.open("wb") as file:
                file.writelines(chunks)
        else:
            _write_beside(chunks, target, found, mode, replaces)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(target)) from None


def _write_beside(
    chunks: Iterable[bytes],
    target: Path,
    like: os.stat_result | None,
    mode: int | None,
    replaces: tuple[int, ...] | None,
) -> None:
    name = os.fsdecode(os.fsencode(target.name)[:_LONGEST_NAME])
    temporary = target.with_name(f".{name}.{os.urandom(4).hex()}")
    handle = _create(temporary)
    try:
        _fill(handle, chunks, like, mode)
        if replaces is not None:
            _refuse_changed(target, replaces)
        os.replace(temporary, target)  # noqa: PTH105 (the same, without an object)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    with contextlib.suppress(OSError):  # not every file system knows how
        _sync_folder(target.parent)


def _refuse_changed(target: Path, replaces: tuple[int, ...]) -> None:
    if stamp(os.stat(target)) != replaces:  # noqa: PTH116 (the same)
        raise InputError("changed since it was read; nothing was written", file=str(target))


def stamp(found: os.stat_result) -> tuple[int, ...]:
    """Give what is another when a file was written to, or is another file."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _fill(
    handle: int, chunks: Iterable[bytes], like: os.stat_result | None, mode: int | None = None
) -> None:
    """Write a new file to the disk, with the owner and mode of the one that it stands for."""
    with os.fdopen(handle, "wb") as file:
        file.writelines(chunks)
        file.flush()
        if like is not None:
            with contextlib.suppress(OSError):  # only root may give files away
                os.fchown(handle, like.st_uid, like.st_gid)
            mode = stat.S_IMODE(like.st_mode) if mode is None else mode
        os.fchmod(handle, 0o600 if mode is None else mode)
        os.fsync(handle)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power loss."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
