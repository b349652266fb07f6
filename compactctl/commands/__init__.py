"""The commands: a module each where the command is more than a layer's options."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from compactctl import layers

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("validate", *layers.ORDER, "resolve", "render", "compact")


def load(name: str) -> Callable[..., Any]:
    """Import the function behind a command, ready for typer."""
    if name in layers.ORDER:
        from compactctl.commands import stage  # noqa: PLC0415 (only what the command needs)

        return stage.command(name)
    function: Callable[..., Any] = getattr(importlib.import_module(f"{__name__}.{name}"), name)
    return function
