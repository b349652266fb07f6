"""A command for each layer, made from the layer's own signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl import layers
from compactctl.cli.options import (
    COMMON,
    ArchiveOption,
    ArtifactsOption,
    layer_options,
    with_options,
)
from compactctl.cli.running import run_layers

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactctl.layers.base import Store


_STORES: dict[Store, tuple[Any, Any]] = {
    "artifacts": (ArtifactsOption, None),
    "archive": (ArchiveOption, None),
}
"""Where a layer may keep what it takes out; the layer itself only sees a function for it."""


def command(name: str) -> Callable[..., None]:
    """Make the command of the layer ``name``."""

    def stage(file: str, **given: Any) -> None:
        run_layers(name, (name,), file, given)

    layer = layers.load(name)
    stores = {store: _STORES[store] for store in layer.keeps}
    options = layer_options(name) | stores | COMMON
    return with_options(stage, name, layer.run.__doc__ or "", layer.example, options)
