"""The layers that make a view smaller: one module each, its name the name of its command."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.layers.base import Layer

ORDER = ("truncate", "dedup", "prune", "summarize")
"""All layers, from cheap and recoverable to dear and lossy; each of them is a command."""

DEFAULT = ("truncate", "dedup", "prune", "summarize")
"""The layers that ``compact`` runs, in this order, unless ``--layers`` says otherwise."""


def load(name: str) -> Layer:
    """Import a layer by its name."""
    layer: Layer = importlib.import_module(f"{__name__}.{name}").LAYER
    return layer


@functools.cache  # each option asks all layers whether they share it
def options(name: str) -> dict[str, tuple[Any, str, Any]]:
    """Return a layer's options: name to (type, help, default), from its signature."""
    run = load(name).run
    hints = get_type_hints(run, include_extras=True)
    found: dict[str, tuple[Any, str, Any]] = {}
    for parameter in inspect.signature(run).parameters.values():
        hint = hints[parameter.name]
        if parameter.kind is parameter.KEYWORD_ONLY and get_origin(hint) is Annotated:
            kind, text = get_args(hint)[:2]
            found[parameter.name] = (kind, text, parameter.default)
    return found


def option_name(key: str, name: str, names: Sequence[str]) -> str:
    """Return the option that sets ``key`` of the layer ``name`` among ``names``."""
    shared = sum(key in options(other) for other in names) > 1
    return f"{name}_{key}" if shared else key
