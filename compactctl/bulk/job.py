"""A file that is to be done, and what comes of it: all that passes between driver and workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from compactctl.bulk.manifest import Line


class Job(msgspec.Struct, frozen=True, gc=False):
    """A file to be done.

    ``source`` and ``output`` are what people are told, ``path`` and ``target`` where it is from
    any working directory. ``root`` is the folder that it was found in, None if it was named.
    ``previous`` is what an earlier run, which is being resumed, made of it. ``fault`` is why
    there is nothing to be read.
    """

    source: str
    path: str
    root: str | None
    output: str | None
    target: str | None
    size: int
    in_place: bool = False
    previous: Line | None = None
    fault: str | None = None


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """A line for the manifest; ``is_new`` is false when it stands there already."""

    line: Line
    size: int
    is_new: bool = True
