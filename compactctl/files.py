"""Reading and writing files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from compactctl.errors import InputError, UsageError

STANDARD = "-"
_BLOCK = 1 << 20


def read_lines(path: str) -> list[bytes]:
    """Read a file, or standard input for ``-``, as lines that keep their line ends.

    Lines end at ``\\n`` and nowhere else: U+2028 and a bare carriage return are text.

    Raises:
        InputError: the file cannot be read.

    """
    try:
        if path == STANDARD:
            if sys.stdin.isatty():
                print("compactctl: reading from the terminal; give a FILE or a pipe", file=sys.stderr)
            return list(sys.stdin.buffer)
        with open(path, "rb", buffering=_BLOCK) as file:  # noqa: PTH123 (Path.open is the same, slower)
            return list(file)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None


def write(chunks: Iterable[bytes], output: str | None, source: str, *, in_place: bool) -> bool:
    """Write the result; False when it was only a dry run, for want of a place to write to.

    A terminal gets no transcript unless ``-o -`` asks for it.

    Raises:
        UsageError: the output is the input, or a symbolic link.
        InputError: the output cannot be written.

    """
    if in_place:
        target = _in_place(output, source)
        _back_up(target)
        write_file(chunks, target)
    elif output is None or output == STANDARD:
        if output is None and sys.stdout.isatty():
            return False
        write_standard(chunks)
    else:
        target = Path(output)
        _check_target(target, source)
        write_file(chunks, target)
    return True


def write_standard(chunks: Iterable[bytes]) -> None:
    """Write to standard output; the caller handles a closed pipe."""
    sys.stdout.buffer.writelines(chunks)
    sys.stdout.buffer.flush()


def _in_place(output: str | None, source: str) -> Path:
    if output is not None:
        raise UsageError("--in-place writes to the input itself; leave out -o")
    if source == STANDARD:
        raise UsageError("--in-place needs a FILE, not standard input")
    return Path(source).resolve()


def _check_target(target: Path, source: str) -> None:
    if target.is_symlink():
        raise UsageError(f"-o {target} is a symbolic link; name the file that it points to")
    if source != STANDARD and target.exists() and target.samefile(source):
        raise UsageError("-o names the input itself; use --in-place, which keeps a backup")
    if target.is_dir():
        raise UsageError(f"-o {target} is a folder; name a file")


def _back_up(target: Path) -> None:
    """Keep the bytes that will be replaced, beside the file, under a name that is free."""
    number = 0
    while True:
        backup = target.with_name(f"{target.name}.bak{f'.{number}' if number else ''}")
        if not backup.exists():
            write_file([target.read_bytes()], backup, mode=stat.S_IMODE(target.stat().st_mode))
            return
        number += 1


def write_file(chunks: Iterable[bytes], target: Path, mode: int | None = None) -> None:
    """Replace ``target`` in one step: a temporary file beside it, synced, then renamed.

    The mode of an existing file is kept; a new one gets 0600, since transcripts hold secrets.

    Raises:
        InputError: the folder cannot be written, or the disk is full.

    """
    if mode is None:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)  # noqa: PTH101 (a name, not a path object)
        os.replace(temporary, target)  # noqa: PTH105 (the same)
        temporary = None
        _sync_folder(target.parent)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(target)) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108 (the same)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power loss."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
