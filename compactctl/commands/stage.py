"""A command for each layer, made from the layer's own signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl import layers
from compactctl.commands.common import COMMON, layer_options, run_layers, with_options

if TYPE_CHECKING:
    from collections.abc import Callable


def command(name: str) -> Callable[..., None]:
    """Make the command of the layer ``name``."""

    def stage(file: str, **given: Any) -> None:
        run_layers(name, (name,), file, given)

    text = layers.load(name).__doc__ or ""
    return with_options(stage, name, text, layers.example(name), layer_options(name) | COMMON)
