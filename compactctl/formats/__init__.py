"""The formats: one module each, found by name; content decides which one a file is.

A format is a module with these names (CONTRACT §11 settles the doubtful cases):

``DESCRIPTION``         one line for people
``PROFILE``             the profile that ``validate`` judges it by
``SIGNED``              thinking carries signatures that bind it to what precedes it
``ONE_LINE_A_MESSAGE``  a line is a whole message, so what a layer adds goes into a neighbour
``LINK``                the keys of an entry's id and of its parent's, or None; with it come
                        ``ALSO_LINKED`` (other keys that hold an id) and ``identity(digest)``
``Record``              the typed form of one line, with the members that the view needs
``recognise(record)``   whether a parsed line is of this format
``view(records, build)``             feed the records into an Assembler
``parts_of``, ``with_parts``, ``edit``, ``make``, ``create``   change and write lines
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from compactctl.errors import InputError, UsageError
from compactctl.lines import objects

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_SAMPLE = 200
"""Records looked at; real files open with metadata lines that prove nothing."""


def names() -> list[str]:
    """Give the names of all formats, as ``--format`` takes them."""
    return sorted(
        module.name.replace("_", "-")
        for module in pkgutil.iter_modules(__path__)
        if hasattr(load(module.name), "recognise")
    )


def load(name: str) -> ModuleType:
    """Import a format by its name."""
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def choose(name: str) -> ModuleType:
    """Import the format that ``--format`` names.

    Raises:
        UsageError: there is no such format.

    """
    known = names()
    if name not in known:
        raise UsageError(f"unknown format {name!r}; choose one of {', '.join(known)}")
    return load(name)


def detect(lines: Sequence[bytes]) -> ModuleType:
    """Recognise the format by content: the one that knows most of the first records.

    Raises:
        InputError: no format knows any of them.

    """
    records = [r for r in objects(lines, _SAMPLE) if not _is_ours(r)]
    best, most = None, 0
    for name in names():
        module = load(name)
        score = sum(map(module.recognise, records))
        if score > most:
            best, most = module, score
    if best is None:
        raise InputError(_unknown(lines, records))
    return best


def _is_ours(record: dict[str, Any]) -> bool:
    return str(record.get("type", "")).startswith("compactctl.")


def _unknown(lines: Sequence[bytes], records: list[dict[str, Any]]) -> str:
    """Say why no format fits and what to do."""
    first = next((line.strip() for line in lines if line.strip()), b"")
    if first.startswith(b"["):
        return "a JSON array, not JSONL; turn it into lines with: jq -c '.[]' FILE"
    if first == b"{":
        return "a pretty-printed JSON document, not JSONL; one object a line: jq -c . FILE"
    if not records:
        return "no line is a JSON object; expected one JSON object a line"
    return f"no known format; known are {', '.join(names())} (choose one with --format)"
