"""Read a record whose members are not all of the types that its format has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from compactctl.jsonl import exact

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")


def loosen(value: dict[str, Any], decode: Callable[[bytes], R]) -> tuple[R, str]:
    """Decode an object whose types the typed decoder refused: (record, first complaint or "").

    A member of an unexpected type is dropped, at the deepest place that makes the record
    readable, so that one odd member does not hide the rest.
    """
    first = ""
    while True:
        try:
            return decode(exact.dump(value)), first
        except msgspec.ValidationError as error:
            first = first or str(error)
            if not _drop_at(value, str(error)):
                return decode(b"{}"), first
        except (msgspec.DecodeError, RecursionError) as error:
            return decode(b"{}"), first or str(error)


def _drop_at(value: Any, complaint: str) -> bool:
    """Delete the member that a msgspec complaint (``… at `$.a[...].b` ``) points to."""
    path = complaint.rpartition("`$")[2].rstrip("`") if "`$" in complaint else ""
    steps = [step for step in path.replace("[", ".[").split(".") if step]
    return bool(steps) and _drop_path(value, steps)


def _drop_path(value: Any, steps: list[str]) -> bool:
    """Follow ``steps``; msgspec writes every list index as ``[...]``, so all items are tried."""
    step, rest = steps[0], steps[1:]
    if step.startswith("["):
        if not isinstance(value, list):
            return False
        if rest:
            dropped = [_drop_path(item, rest) for item in value]
            return any(dropped)
        # An empty object in the place of what is none: what follows keeps its number.
        objects = [item if isinstance(item, dict) else {} for item in value]
        value[:] = [] if all(isinstance(item, dict) for item in value) else objects
        return True
    if not isinstance(value, dict) or step not in value:
        return False
    if not rest:
        del value[step]
        return True
    return _drop_path(value[step], rest)
