"""The formats: one module or package each, found by its name; content decides which a file is."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

from compactctl.errors import UsageError

if TYPE_CHECKING:
    from compactctl.formats.base import Format

_SHARED = frozenset({"base", "detect", "documents", "anthropic_parts", "openai_parts", "sent"})
"""Modules of this package that are no format."""


@functools.cache
def names() -> tuple[str, ...]:
    """Return the names of all formats, as ``--format`` takes them."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name.replace("_", "-") for name in found if name not in _SHARED))


def load(name: str) -> Format:
    """Import a format by its name."""
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    found: Format = module.FORMAT
    return found


def choose(name: str) -> Format:
    """Import the format that ``--format`` names.

    Raises:
        UsageError: there is no such format.

    """
    known = names()
    if name not in known:
        raise UsageError(f"unknown format {name!r}; choose one of {', '.join(known)}")
    return load(name)
