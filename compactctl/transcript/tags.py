"""The members that tie entries together: ids, parents, types and sequence numbers."""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

Row = tuple[Any, ...]
"""What a record holds of these members, in the order of ``_members``."""


@functools.cache
def reader(module: ModuleType) -> Callable[[Any], Row]:
    """Return what reads the members off a decoded record of a format."""
    attributes = {field.encode_name: field.name for field in msgspec.structs.fields(module.Record)}
    names = [attributes[name] for name in _members(module)]
    if len(names) == 1:
        one = attrgetter(*names)
        return lambda record: (one(record),)
    return attrgetter(*names)


def _members(module: ModuleType) -> list[str]:
    """Return the names of the members that a format has of these, the type first."""
    also: tuple[str, ...] = getattr(module, "ALSO_LINKED", ())
    further = [getattr(module, name, None) for name in ("SEQUENCE", "RELINKED")]
    return ["type", *(module.LINK or ()), *also, *filter(None, further)]


class Tags:
    """These members of every entry, by its index; None where an entry has none.

    ``also`` has a list for each further member that may hold an id, ``relinked`` the values in
    which an entry names what it keeps of those before it.
    """

    def __init__(self, module: ModuleType, rows: Sequence[Row]) -> None:
        """Sort the rows of a format by member; a value of another type is none."""
        columns: dict[str | None, Sequence[Any]] = dict(
            zip(_members(module), zip(*rows, strict=True), strict=True)
        )
        none = (None,) * len(rows)
        own, parent = module.LINK or (None, None)
        self.ids: list[str | None] = _only(str, columns.get(own, none))
        self.parents: list[str | None] = _only(str, columns.get(parent, none))
        self.types: list[str | None] = _only(str, columns["type"])
        self.numbers: list[int | None] = _only(
            int, columns.get(getattr(module, "SEQUENCE", None), none)
        )
        self.also = {name: columns[name] for name in getattr(module, "ALSO_LINKED", ())}
        self.relinked = columns.get(getattr(module, "RELINKED", None), none)


def _only(kind: type, values: Sequence[Any]) -> list[Any]:
    if set(map(type, values)) <= {kind, type(None)}:
        return list(values)
    return [value if type(value) is kind else None for value in values]
