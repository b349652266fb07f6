"""Where a stage may write: never over its input, never half."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from compactctl.console import silence
from compactctl.errors import InputError, UsageError
from compactctl.files.atomic import stamp, write_file
from compactctl.files.compression import MAGIC_LENGTH, is_packed, pack
from compactctl.files.in_place import refuse_live, replace_in_place
from compactctl.files.reading import STANDARD
from compactctl.text import escape_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def write_output(
    chunks: Iterable[bytes],
    output: str | None,
    source: str,
    *,
    in_place: bool,
    original: Sequence[bytes] | None = None,
    exact: bool = False,
) -> bool:
    """Write the result; False when it was only a dry run, for want of a place to write to.

    A terminal gets no transcript unless ``-o -`` asks for it. What goes to a .gz or .zst is
    packed, unless these ``exact`` bytes are wanted. ``original`` is what was read of the source:
    in place, nothing is written over a file that holds anything else by now.

    Raises:
        UsageError: as for :func:`output_path`.
        InputError: the output cannot be written.

    """
    path = output_path(output, source, in_place=in_place)
    if path is None:
        if output is None and is_terminal():
            return False
        write_standard(chunks)
    elif in_place:
        _replace(chunks, path, original)
    else:
        write_file(chunks if exact else _packed(chunks, path.name), path)
    return True


def _packed(chunks: Iterable[bytes], name: str) -> Iterable[bytes]:
    """Pack what goes to a file whose name says that it is packed."""
    if not name.endswith((".gz", ".zst")):
        return chunks
    return [pack(b"".join(chunks), "gzip" if name.endswith(".gz") else "Zstandard")]


def is_terminal() -> bool:
    """Return whether standard output is a terminal, which gets no transcript unasked."""
    return sys.stdout is not None and sys.stdout.isatty()


def output_path(output: str | None, source: str, *, in_place: bool) -> Path | None:
    """Return the file to write to, None for standard output; call it before any work is done.

    Raises:
        UsageError: the output is the input, a symbolic link or a folder, or cannot be replaced.
        InputError: it is to be replaced, and a process is writing to it, or it has other names.

    """
    if in_place:
        return _in_place(output, source)
    if output is None or output == STANDARD:
        found = _stat_stream(sys.stdout)
        if found is not None and _is_input(found, source):
            raise UsageError("standard output is the input itself; use --in-place")
        return None
    if not output:
        raise UsageError("-o '' names no file")
    path = Path(output)
    found = _stat(path)
    if found is not None and _is_input(found, source):
        raise UsageError("-o names the input itself; use --in-place, which keeps a backup")
    # What is no file is not replaced: /dev/stdout and >(command) are links, and may be.
    if os.path.islink(path) and (found is None or stat.S_ISREG(found.st_mode)):  # noqa: PTH114
        raise UsageError(f"-o {output} is a symbolic link; name the file that it points to")
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise UsageError(f"-o {output} is a folder; name a file")
    return path


def check_report(report: str, source: str, output: str | None, option: str = "--report") -> None:
    """Make sure that the record is not appended to a transcript.

    Raises:
        UsageError: the report is the input or the output.

    """
    found = _stat(report)
    if output is None or output == STANDARD:
        out = _stat_stream(sys.stdout)
        same = found is not None and out is not None and _is_one_file(found, out)
    else:
        same = os.path.realpath(report) == os.path.realpath(output)
    if same or (found is not None and _is_input(found, source)):
        raise UsageError(f"{option} {report} is read or written already; give it a file of its own")


def _in_place(output: str | None, source: str) -> Path:
    if output is not None:
        raise UsageError("--in-place writes to the input itself; leave out -o")
    if source == STANDARD:
        raise UsageError("--in-place needs a FILE, not standard input")
    path = Path(os.path.realpath(source))
    found = _stat(path)
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise UsageError(f"--in-place needs a file, which {source} is not")
    with contextlib.suppress(OSError), path.open("rb") as file:
        if is_packed(file.read(MAGIC_LENGTH)):
            raise UsageError("--in-place writes no packed files; write to another with -o")
    refuse_live(path)
    return path


def _stat(path: str | Path) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 (a name, too)
    except OSError:  # who opens it will say why
        return None


def _stat_stream(stream: TextIO | None) -> os.stat_result | None:
    try:
        return None if stream is None else os.fstat(stream.fileno())
    except OSError:  # no real stream: a test's, or a notebook's
        return None


def _is_input(found: os.stat_result, source: str) -> bool:
    """Return whether ``found`` is the file that is read, by whatever name."""
    read = _stat_stream(sys.stdin) if source == STANDARD else _stat(source)
    return read is not None and _is_one_file(found, read)


def _is_one_file(one: os.stat_result, other: os.stat_result) -> bool:
    return stat.S_ISREG(one.st_mode) and os.path.samestat(one, other)


def write_standard(chunks: Iterable[bytes]) -> None:
    """Write to standard output; the caller handles a closed pipe.

    Raises:
        InputError: the disk is full, or standard output is closed.

    """
    if sys.stdout is None:  # started with >&-
        raise InputError("standard output is closed; write to a file with -o")
    try:
        sys.stdout.buffer.writelines(chunks)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(sys.stdout)
        raise InputError(f"standard output cannot be written: {error.strerror}") from None


def write_json(lines: Iterable[bytes]) -> None:
    """Write lines of JSON to standard output; a terminal gets the same with escapes.

    Raises:
        InputError: as for :func:`write_standard`.

    """
    write_standard(map(escape_json, lines) if is_terminal() else lines)


def _replace(chunks: Iterable[bytes], path: Path, original: Sequence[bytes] | None) -> None:
    """Put the result where the input was, with the input beside it."""
    result = list(chunks)
    try:
        before = stamp(os.stat(path))  # noqa: PTH116 (no need of pathlib)
        is_read = original is None or _holds(path, original)
        is_same = is_read and _holds(path, result)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    if not is_read:
        raise InputError("changed since it was read; nothing was written", file=str(path))
    if not is_same:
        replace_in_place(path, result, before)


def _holds(path: Path, chunks: Iterable[bytes]) -> bool:
    """Return whether a file holds just these bytes, which are never put together for it."""
    with path.open("rb") as file:
        return all(file.read(len(chunk)) == chunk for chunk in chunks) and not file.read(1)
