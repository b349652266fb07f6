"""The commands: a module each, and one for all layers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from compactctl import layers

if TYPE_CHECKING:
    from compactctl.cli.command import Command

NAMES = (
    "validate",
    "repair",
    *layers.ORDER,
    "resolve",
    "render",
    "compact",
    "state",
    "pending",
    "capture",
    "show",
    "restore",
    "manifest",
    "stats",
    "formats",
)


def load(name: str) -> Command[Any]:
    """Import a command by its name."""
    if name in layers.ORDER:
        from compactctl.cli import stage  # noqa: PLC0415 (only what the command needs)

        return stage.command(name)
    command: Command[Any] = importlib.import_module(f"compactctl.cli.{name}").COMMAND
    return command
