"""Replace a file in its own place, while a client may be writing to it.

What it was stays beside it as ``NAME.bak``: not a copy but the very file, by another name. So what
a client writes in the moment of the change is in the backup, from where it is carried over.
"""

# Names stay strings: the same file is asked for by name and by descriptor.
# ruff: noqa: PTH105, PTH108, PTH116, PTH119, PTH123

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from typing import TYPE_CHECKING

from compactctl.console import say
from compactctl.errors import InputError
from compactctl.files.atomic import NEW, PRIVATE, fill, stamp, sync_folder, temporary
from compactctl.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_SETTLED = 1.0
"""Seconds since the last write, where the system cannot tell who has a file open."""

_PATIENCE = 2.0
"""Seconds for a writer that came in the moment of the change to be done."""


class LiveError(InputError):
    """Something is writing to the file, or may at any moment."""


def refuse_live(path: str | Path) -> None:
    """Refuse a file that a process has open for writing: it would write on into the backup.

    Raises:
        LiveError: a process has it open.
        InputError: it has other names, which would keep what it was.

    """
    with contextlib.suppress(OSError), _opened(path) as handle:  # who reads it will say why
        _refuse_other_names(path, os.fstat(handle))
        _hold_writers_off(path, handle)


def replace_in_place(path: Path, chunks: Sequence[bytes], read: tuple[int, ...]) -> None:
    """Replace a file that is still the one of the stamp ``read``; it stays as a backup.

    Raises:
        LiveError: it has changed since it was read, or a process has it open for writing.
        InputError: it has other names, cannot be backed up or cannot be written.

    """
    try:
        with _opened(path) as handle, temporary(str(path)) as (name, new):
            found = os.fstat(handle)
            _refuse_other_names(path, found)
            fill(new, chunks, like=found)
            is_held = _hold_writers_off(path, handle)
            if stamp(os.stat(path)) != read or stamp(os.fstat(handle)) != read:
                raise LiveError("changed since it was read; nothing was written", file=str(path))
            backup = _back_up(path, handle)
            try:
                if is_held and _is_awaited(handle):
                    raise LiveError(
                        "opened for writing just now; nothing was written", file=str(path)
                    )
                os.replace(name, path)
            except (OSError, InputError):
                os.unlink(backup)
                raise
            _carry_over(path, handle, found.st_size, backup, is_held=is_held)
        sync_folder(path.parent)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from None


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)  # whoever waited to open it for writing goes on


def _refuse_other_names(path: str | Path, found: os.stat_result) -> None:
    """Refuse a file with hard links that are not a backup which a killed run had just made."""
    others = found.st_nlink - 1
    if others > 0 and others > sum(os.path.samestat(found, old) for _, old in _backups(path)):
        raise InputError(
            f"has {plural(others, 'other name')} (hard links), which --in-place would leave as "
            "it was; write to another file with -o",
            file=str(path),
        )


def _hold_writers_off(path: str | Path, handle: int) -> bool:
    """Make whoever opens the file for writing wait until the handle is closed.

    False where the system has no such thing; then the file has been at rest for a while.

    Raises:
        LiveError: a process has it open for writing already.

    """
    is_free = _lease(handle)
    writer = None if is_free else _writer(handle)
    if is_free is False or writer is not None:
        raise LiveError(
            f"open for writing in {writer or 'another process'}; end that first, or write to "
            "another file with -o",
            file=str(path),
        )
    if is_free is None:
        _settle(handle)
    return is_free is True


def _lease(handle: int) -> bool | None:
    """Make who opens the file for writing wait; False if one has it open, None if unknown."""
    try:
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)  # ignored, unlike the usual signal
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return False
    except (AttributeError, OSError):  # not Linux, a network disk, another user's file
        return None
    return True


def _is_awaited(handle: int) -> bool:
    """Return True if a process waits to open the file for writing."""
    return fcntl.fcntl(handle, fcntl.F_GETLEASE) != fcntl.F_RDLCK


def _writer(handle: int) -> str | None:
    """Name a process that has the file open for writing, as far as /proc shows it."""
    wanted = os.fstat(handle)
    for pid in _numbers("/proc"):
        for number in _numbers(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError, ValueError):  # ended, or closed, meanwhile
                found = os.stat(f"/proc/{pid}/fd/{number}")
                if os.path.samestat(found, wanted) and _may_write(pid, number):
                    with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                        return f"process {pid} ({file.read().strip()})"
    return None


def _numbers(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.isdecimal()]  # noqa: PTH208 (a name)
    except OSError:  # none, or another user's
        return []


def _may_write(pid: str, number: str) -> bool:
    with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
        flags = next(line.split()[1] for line in file if line.startswith("flags:"))
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY


def _settle(handle: int) -> None:
    """Wait until the last write is a while ago; one that comes now changes the stamp."""
    left = os.fstat(handle).st_mtime + _SETTLED - time.time()
    if left > 0:
        time.sleep(min(left, _SETTLED))


def _backups(path: str | Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the backups that are there, in the order in which they were made."""
    number = 0
    while True:
        name = _backup_name(path, number)
        try:
            yield name, os.lstat(name)
        except FileNotFoundError:
            return
        number += 1


def _backup_name(path: str | Path, number: int) -> str:
    return f"{path}.bak{f'.{number}' if number else ''}"


def _back_up(path: Path, handle: int) -> str:
    """Link the file to another name, the first that is free; on a disk without links, copy it."""
    found = os.fstat(handle)
    number = 0
    for name, old in _backups(path):
        if os.path.samestat(old, found):  # a killed run had come so far
            return name
        number += 1
    while True:
        name = _backup_name(path, number)
        try:
            _link_or_copy(path, handle, name)
        except FileExistsError:  # made in this moment
            number += 1
        except OSError as error:
            raise InputError(f"cannot be backed up: {error.strerror}", file=str(path)) from None
        else:
            return name


def _link_or_copy(path: Path, handle: int, name: str) -> None:
    try:
        os.link(path, name, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links
        new = os.open(name, NEW, PRIVATE)
        try:
            with open(handle, "rb", closefd=False) as file:
                file.seek(0)
                fill(new, file, like=os.fstat(handle))
        except OSError:
            os.unlink(name)
            raise


def _carry_over(path: Path, handle: int, size: int, backup: str, *, is_held: bool) -> None:
    """Append to the new file what was written to the old one since."""
    if is_held and _is_awaited(handle):  # a writer that came after the last look
        _wait_for_writer(path, handle, backup)
    late = os.fstat(handle).st_size - size
    if late > 0:
        with open(path, "ab") as file:
            file.write(os.pread(handle, late, size))
        say(f"compactctl: {path}: {late:,} bytes that were written meanwhile are carried over")


def _wait_for_writer(path: Path, handle: int, backup: str) -> None:
    """Let a process that waits to open the file write to it, and wait until it has closed it."""
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        time.sleep(0.0005)
        if _lease(handle):
            return
    say(f"compactctl: {path}: what is still being written to it goes to {os.path.basename(backup)}")
