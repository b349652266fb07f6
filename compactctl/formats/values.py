"""Members of a record that may be anything: taken where they are what they should be."""

from __future__ import annotations

from typing import Any


def string(value: Any) -> str:
    """Give a string, "" for anything else."""
    return value if isinstance(value, str) else ""


def identifier(value: Any) -> str | None:
    """Give a string, or None when it is none: the rules report an id that is missing."""
    return value if isinstance(value, str) else None
