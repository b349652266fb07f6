"""``compact``: the layers in order, until the view is small enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactctl import layers, pipeline
from compactctl.commands.common import (
    COMMON,
    Clock,
    check_outputs,
    finish,
    layer_options,
    options_of,
    read,
    with_options,
)
from compactctl.errors import UsageError
from compactctl.pipeline import Step
from compactctl.tokens import count_view, load_counter

if TYPE_CHECKING:
    from compactctl.pipeline import Result
    from compactctl.tokens import Counter

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
    check_outputs(file, given)
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
    finish("compact", result, counter, clock, given, total=_total(result, counter))


def _names(given: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    unknown = [name for name in names if name not in layers.ORDER]
    if unknown or not names:
        raise UsageError(
            f"--layers: unknown layer {', '.join(unknown) or '(none given)'}; "
            f"choose from {', '.join(layers.ORDER)}"
        )
    return names


def _total(result: Result, counter: Counter) -> Step:
    """Sum up all steps as one."""
    steps = result.steps
    if not steps:
        tokens, many = count_view(counter, result.messages), len(result.messages)
        note = "already below the soft limit"
        return Step("compact", tokens, tokens, many, many, (), note, None)
    first = [step.first_changed for step in steps if step.first_changed is not None]
    return Step(
        "compact",
        steps[0].tokens_before,
        steps[-1].tokens_after,
        steps[0].messages_before,
        steps[-1].messages_after,
        (),
        f"after {', '.join(step.layer for step in steps)}",
        min(first, default=None),
    )


compact = with_options(
    _compact,
    "compact",
    "Run the layers in order, each only if the view is still too large.",
    EXAMPLE,
    _LIMITS | layer_options(*layers.ORDER) | COMMON,
)
