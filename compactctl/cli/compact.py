"""``compact``: the layers in order, until the view is small enough."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactctl import bulk, layers, report
from compactctl.cli import bulk_options
from compactctl.cli.common import Clock, check_outputs, read
from compactctl.cli.options import COMMON, ArtifactsOption, layer_options, with_options
from compactctl.cli.running import finish
from compactctl.errors import UsageError
from compactctl.files.output import is_terminal
from compactctl.files.reading import STANDARD
from compactctl.limits import (
    HARD_LIMIT,
    REACTIVE_MESSAGES,
    RESERVE,
    SOFT_LIMIT,
    compacted,
    how_of,
    limits_of,
    run,
)
from compactctl.pipeline import Step
from compactctl.slim import slim
from compactctl.tokens import count_view, counter_for_one

if TYPE_CHECKING:
    from compactctl.pipeline import Result
    from compactctl.tokens import Counter

EXAMPLE = "compactctl compact session.jsonl --soft-limit 60000 -o small.jsonl"

_FILES = {
    "file": (
        Annotated[
            list[str] | None,
            typer.Argument(
                metavar="[FILE]...",
                help="Transcript to read; - is standard input. Several, a folder, a pattern or "
                "a URL make a bulk run into the folder -o DIR.",
            ),
        ],
        None,
    ),
}

_LIMITS = {
    "soft_limit": (
        Annotated[
            int | None,
            typer.Option(
                help="Stop at the first layer that brings the view below. "
                f"[default: {SOFT_LIMIT}, or --hard-limit where that is lower]"
            ),
        ],
        None,
    ),
    "hard_limit": (
        Annotated[
            int | None,
            typer.Option(
                help=f"Fail (exit 4) if the view is not below after all. [default: {HARD_LIMIT}]"
            ),
        ],
        None,
    ),
    "window": (
        Annotated[
            int | None,
            typer.Option(help="Instead of the limits: the model's context window in tokens."),
        ],
        None,
    ),
    "reserve": (
        Annotated[
            int | None,
            typer.Option(help=f"Tokens of --window to leave for the answer. [default: {RESERVE}]"),
        ],
        None,
    ),
    "reactive": (
        Annotated[
            bool,
            typer.Option(
                "--reactive",
                help="After a provider said that the prompt is too long: keep the newest "
                f"{REACTIVE_MESSAGES} messages, summarize everything else.",
            ),
        ],
        False,
    ),
    "slim": (
        Annotated[
            bool,
            typer.Option(
                "--slim",
                help="Also drop what the harness keeps for its own screen (bytes, not tokens).",
            ),
        ],
        False,
    ),
    "layers": (
        Annotated[
            str | None,
            typer.Option(
                metavar="A,B", help=f"The layers to run, in this order. [{','.join(layers.ORDER)}]"
            ),
        ],
        None,
    ),
}


def _compact(file: list[str] | None, **given: Any) -> None:
    sources = file or [STANDARD]
    if not bulk.is_wanted(sources, given["output"], dry_run=given["dry_run"]):
        _refuse_bulk_options(given)
        _one(sources[0], given)
        return
    # Workers run elsewhere; and a dry run stores nothing.
    stores = {
        name: bulk.absolute(given[name]) if given[name] and not given["dry_run"] else None
        for name in ("artifacts", "archive")
    }
    work = functools.partial(compacted, given=given | stores, how=how_of(given))
    raise typer.Exit(bulk.run(sources, given["output"], bulk.settings_from(work, given)))


def _refuse_bulk_options(given: dict[str, Any]) -> None:
    """Let nobody wait for what only a run over many files does."""
    for name, (_, default) in bulk_options.OPTIONS.items():
        if name not in bulk_options.ALSO_FOR_ONE and given[name] != default:
            raise UsageError(
                f"--{name.replace('_', '-')} is for many files: name several, a folder, or -o DIR/"
            )


def _one(file: str, given: dict[str, Any]) -> None:
    clock = Clock()
    check_outputs(file, given)
    how = how_of(given)
    counter = counter_for_one(given["tokenizer"])
    found = read(file, given["format"])
    result = run(found, given, how, counter)
    slimmed = slim(result) if given["slim"] else None
    total = _total(result, counter, given)
    result = slimmed.result if slimmed else result
    is_written = given["output"] is not None or given["in_place"] or not is_terminal()
    if given["archive"] and is_written:
        bulk.keep_original(given["archive"], file, result)
    finish("compact", result, counter, clock, given, total=total)
    if slimmed and not given["quiet"]:
        report.say(slimmed.line())


def _total(result: Result, counter: Counter, given: dict[str, Any]) -> Step:
    """Sum up all steps as one; say so when the target is out of reach."""
    steps = result.steps
    soft = 0 if given["reactive"] else limits_of(given)[0]
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
        f"after {', '.join(step.layer for step in steps)}{_out_of_reach(steps, soft)}",
        min(first, default=None),
    )


def _out_of_reach(steps: list[Step], soft: int) -> str:
    floor = steps[-1].tokens_after
    if soft < 2 or floor < soft:  # noqa: PLR2004 (a limit of 0 or 1 asks for all layers, not for a size)
        return ""
    return f", cannot reach {soft:,}: the floor is {floor:,}"


compact = with_options(
    _compact,
    "compact",
    "Run the layers in order, each only if the view is still too large.",
    EXAMPLE,
    _FILES
    | _LIMITS
    | layer_options(*layers.ORDER)
    | {"artifacts": (ArtifactsOption, None)}
    | COMMON
    | bulk_options.OPTIONS,
)
