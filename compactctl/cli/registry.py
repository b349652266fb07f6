"""The commands: a module each where the command is more than a layer's options."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

from compactctl import layers

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = (
    "validate",
    "repair",
    *layers.ORDER,
    "resolve",
    "render",
    "compact",
    "show",
    "restore",
    "stats",
    "formats",
)

_EXAMPLE = re.compile(r"^( *)Example:\n\n(?! *\x08)", re.MULTILINE)


def load(name: str) -> Callable[..., Any]:
    """Import the function behind a command, ready for typer."""
    function: Callable[..., Any]
    if name in layers.ORDER:
        from compactctl.cli import stage  # noqa: PLC0415 (only what the command needs)

        function = stage.command(name)
    else:
        function = getattr(importlib.import_module(f"compactctl.cli.{name}"), name)
    # The sign by which typer leaves the lines of a paragraph as they are: for pasting.
    function.__doc__ = _EXAMPLE.sub("\\g<0>\\1\b\n", function.__doc__ or "")
    return function
