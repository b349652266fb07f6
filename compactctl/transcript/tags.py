"""The members that tie entries together: ids, parents, types and sequence numbers."""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compactctl.formats.base import Format

Row = tuple[Any, ...]
"""What a record holds of these members, in the order of ``_members``."""


@functools.cache
def reader(form: Format) -> Callable[[Any], Row]:
    """Return what reads the members off a decoded record of a format."""
    attributes = {field.encode_name: field.name for field in msgspec.structs.fields(form.record)}
    names = [attributes[name] for name in _members(form)]
    if len(names) == 1:
        one = attrgetter(*names)
        return lambda record: (one(record),)
    return attrgetter(*names)


def _members(form: Format) -> list[str]:
    """Return the members that entries of a format have of these, the type first."""
    links = form.links
    linking = (links.own, links.parent, *links.also, links.keeps) if links else ()
    return ["type", *filter(None, (*linking, form.sequence))]


class Tags:
    """These members of every entry, by its index; None where an entry has none.

    ``misfits`` are the entries with an id that is no string. ``also`` has a list for each further
    member that may hold an id, ``relinked`` the values in which an entry names what it keeps of
    those before it.
    """

    def __init__(self, form: Format, rows: Sequence[Row]) -> None:
        """Sort the rows of a format by member; a value of another type is none."""
        links = form.links
        columns: dict[str | None, Sequence[Any]] = dict(
            zip(_members(form), zip(*rows, strict=True), strict=True)
        )
        none = (None,) * len(rows)
        owns = columns[links.own] if links else none
        self.ids: list[str | None] = _only(str, owns)
        self.misfits = _misfits(owns) if links else []
        self.parents: list[str | None] = _spelled(columns[links.parent] if links else none)
        self.types: list[str | None] = _only(str, columns["type"])
        self.numbers: list[int | None] = _only(int, columns.get(form.sequence, none))
        self.also = {name: columns[name] for name in (links.also if links else ())}
        self.relinked = columns.get(links.keeps if links else None, none)


def _misfits(values: Sequence[Any]) -> list[int]:
    """Return the indices of values that are neither a string nor nothing."""
    if set(map(type, values)) <= {str, type(None)}:
        return []
    return [at for at, value in enumerate(values) if not isinstance(value, str | None)]


def _spelled(values: Sequence[Any]) -> list[str | None]:
    """Return parents as strings: one of another type is the id of no entry."""
    if set(map(type, values)) <= {str, type(None)}:
        return list(values)
    return [value if value is None or isinstance(value, str) else repr(value) for value in values]


def _only(kind: type, values: Sequence[Any]) -> list[Any]:
    if set(map(type, values)) <= {kind, type(None)}:
        return list(values)
    return [value if type(value) is kind else None for value in values]
