"""Many files in one run: ``compact ARCHIVE… -o OUT``.

``plan`` makes jobs of what the command line names, ``task`` does one of them from end to end,
``pool`` and ``cluster`` run tasks somewhere, ``scheduler`` keeps them busy, ``manifest`` remembers
the outcomes, and ``driver`` puts them all together. Importing this imports none of them.
"""

# Names stay strings: a path and a URL are the same to most of this.
# ruff: noqa: PTH112

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from compactctl.bulk.targets import absolute, is_many, is_url
from compactctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.bulk.settings import Settings
    from compactctl.pipeline import Result

__all__ = ["absolute", "is_wanted", "keep_original", "run"]


def is_wanted(sources: Sequence[str], output: str | None, *, dry_run: bool = False) -> bool:
    """Return True if these FILEs and this ``-o`` make a bulk run and not one stage of a pipe.

    Raises:
        UsageError: standard input among several FILEs.

    """
    if len(sources) != 1 or dry_run:
        if "-" in sources:
            raise UsageError("standard input cannot be one of several FILEs, nor a dry run's")
        return True
    if sources == ["-"]:
        return False
    if output is not None and (is_url(output) or output.endswith("/") or os.path.isdir(output)):
        return True
    return is_many(sources[0])


def run(sources: Sequence[str], out: str | None, settings: Settings) -> int:
    """Compact all that ``sources`` name into the folder ``out``; return the exit code.

    Raises:
        UsageError: the command line cannot be carried out; nothing was started.
        InputError: nothing to do, or the manifest cannot be written.

    """
    # Imported here, so that single-file compact imports none of it.
    from compactctl.bulk.driver import run as drive  # noqa: PLC0415

    return drive(sources, out, settings)


def keep_original(folder: str, file: str, result: Result) -> None:
    """Put what one stage has read into an archive, before it writes anything.

    Raises:
        InputError: the archive cannot be written, or the file has changed since it was read.

    """
    from compactctl.bulk.archive import Archive  # noqa: PLC0415 (only with --archive)

    Archive(folder).put_read(file, result)
