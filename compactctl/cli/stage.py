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


_STORES: dict[str, dict[str, tuple[Any, Any]]] = {
    "truncate": {"artifacts": (ArtifactsOption, None)},
    "prune": {"artifacts": (ArtifactsOption, None), "archive": (ArchiveOption, None)},
}
"""Where a layer may keep what it takes out; the layer itself only sees a function for it."""


def command(name: str) -> Callable[..., None]:
    """Make the command of the layer ``name``."""

    def stage(file: str, **given: Any) -> None:
        run_layers(name, (name,), file, given)

    text = layers.load(name).__doc__ or ""
    options = layer_options(name) | _STORES.get(name, {}) | COMMON
    return with_options(stage, name, text, layers.example(name), options)
