"""``compact``: the layers in order, until the view is small enough."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from compactctl import layers, pipeline, report
from compactctl.commands.common import (
    COMMON,
    Clock,
    finish,
    layer_options,
    options_of,
    read,
    with_options,
)
from compactctl.errors import UsageError
from compactctl.tokens import load_counter

EXAMPLE = "compactctl compact session.jsonl --soft-limit 60000 -o small.jsonl"

_LIMITS = {
    "soft_limit": (
        Annotated[int, typer.Option(help="Stop at the first layer that brings the view below.")],
        80_000,
    ),
    "hard_limit": (
        Annotated[int, typer.Option(help="Fail (exit 4) if the view is not below after all.")],
        120_000,
    ),
    "layers": (
        Annotated[str, typer.Option(metavar="A,B", help="The layers to run, in this order.")],
        ",".join(layers.ORDER),
    ),
}


def _compact(file: str, **given: Any) -> None:
    clock = Clock()
    names = _names(given["layers"])
    counter = load_counter(given["tokenizer"])
    result = pipeline.compact(
        read(file, given["format"]),
        names,
        options_of(names, given),
        counter,
        soft_limit=given["soft_limit"],
        hard_limit=given["hard_limit"],
        mode=given["thinking"],
    )
    finish("compact", result, counter, clock, given)
    if not given["quiet"]:
        report.say(_total(result, counter.name))


def _names(given: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    unknown = [name for name in names if name not in layers.ORDER]
    if unknown or not names:
        raise UsageError(
            f"--layers: unknown layer {', '.join(unknown) or '(none given)'}; "
            f"choose from {', '.join(layers.ORDER)}"
        )
    return names


def _total(result: pipeline.Result, tokenizer: str) -> str:
    if not result.steps:
        return f"compact: already below the soft limit, nothing to do [{tokenizer}]"
    before, after = result.steps[0].tokens_before, result.steps[-1].tokens_after
    ran = ", ".join(step.layer for step in result.steps)
    share = f" (−{(before - after) / before:.1%})" if before else ""
    return f"compact: {before:,} → {after:,} tokens{share} after {ran} [{tokenizer}]"


compact = with_options(
    _compact,
    "compact",
    "Run the layers in order, each only if the view is still too large.",
    EXAMPLE,
    _LIMITS | layer_options(*layers.ORDER) | COMMON,
)
