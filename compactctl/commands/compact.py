"""``compact``: the layers in order, until the view is small enough."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from compactctl import bulk, files, layers, pipeline, report
from compactctl.commands.common import (
    COMMON,
    ArtifactsOption,
    Clock,
    check_outputs,
    finish,
    keep_of,
    layer_options,
    options_of,
    read,
    with_options,
)
from compactctl.errors import UsageError
from compactctl.layers.prune import only_one
from compactctl.pipeline import Step
from compactctl.reading import STANDARD
from compactctl.slim import slim
from compactctl.tokens import count_view, load_counter

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactctl.pipeline import Result
    from compactctl.tokens import Counter
    from compactctl.transcript import Transcript

EXAMPLE = "compactctl compact session.jsonl --soft-limit 60000 -o small.jsonl"

_REACTIVE_MESSAGES = 5
"""Messages that the emergency form leaves word for word (CONTRACT §3)."""

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

SOFT_LIMIT = 80_000

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
        Annotated[int, typer.Option(help="Fail (exit 4) if the view is not below after all.")],
        120_000,
    ),
    "window": (
        Annotated[
            int | None,
            typer.Option(help="Instead of the limits: the model's context window in tokens."),
        ],
        None,
    ),
    "reserve": (
        Annotated[int, typer.Option(help="Tokens of --window to leave for the answer.")],
        16_384,
    ),
    "reactive": (
        Annotated[
            bool,
            typer.Option(
                "--reactive",
                help="After a provider said that the prompt is too long: keep the newest "
                f"{_REACTIVE_MESSAGES} messages, summarize everything else.",
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
        _one(sources[0], given)
        return
    # Workers run elsewhere; and a dry run stores nothing.
    stores = {
        name: bulk.absolute(given[name]) if given[name] and not given["dry_run"] else None
        for name in ("artifacts", "archive")
    }
    work = functools.partial(compacted, given=given | stores, how=_how(given))
    raise typer.Exit(bulk.run(sources, given["output"], bulk.settings_from(work, given)))


def compacted(found: Transcript, counter: Counter, given: dict[str, Any], how: How) -> Result:
    """Do to one of many transcripts what is done to one alone."""
    result = _run(found, given, how, counter)
    return slim(result).result if given["slim"] else result


def _one(file: str, given: dict[str, Any]) -> None:
    clock = Clock()
    check_outputs(file, given)
    how = _how(given)
    counter = load_counter(given["tokenizer"])
    counter.recall()
    found = read(file, given["format"])
    result = _run(found, given, how, counter, counter.rest)
    slimmed = slim(result) if given["slim"] else None
    total = _total(result, counter, given)
    result = slimmed.result if slimmed else result
    is_written = given["output"] is not None or given["in_place"] or not files.is_terminal()
    if given["archive"] and is_written:
        bulk.keep_original(given["archive"], file, result)
    finish("compact", result, counter, clock, given, total=total)
    if slimmed and not given["quiet"]:
        report.say(slimmed.line())


class How(NamedTuple):
    """The layers that the options ask for, with theirs, and the limits that they set."""

    names: tuple[str, ...]
    options: dict[str, dict[str, Any]]
    soft: int
    hard: int


def _how(given: dict[str, Any]) -> How:
    """Read the options; a bulk run does that once, since it takes as long as a small file."""
    if given["reactive"] and given["layers"] is not None:
        raise UsageError("--reactive runs summarize alone: give it or --layers")
    names = ("summarize",) if given["reactive"] else _names(given["layers"])
    options = options_of(names, given, layers.ORDER)
    if "prune" in options:
        only_one(*(options["prune"][f"keep_{each}"] for each in ("turns", "messages", "tokens")))
    soft, hard = _limits(given)
    if given["reactive"]:
        options["summarize"]["keep_messages"] = _REACTIVE_MESSAGES
        soft = 0
    return How(names, options, soft, hard)


def _run(
    found: Transcript,
    given: dict[str, Any],
    how: How,
    counter: Counter,
    counted: Callable[[], None] | None = None,
) -> Result:
    """Run the layers up to the limits."""
    # Only snip, which keeps both ends, points into the archive (CONTRACT §3).
    points = given["prune_mode"] == "snip" and "://" not in (given["archive"] or "")
    keep = keep_of(found, given if points else given | {"archive": None})
    return pipeline.compact(
        found,
        how.names,
        how.options,
        counter,
        soft_limit=how.soft,
        hard_limit=how.hard,
        mode=given["thinking"],
        keep=keep,
        counted=counted,
    )


def _limits(given: dict[str, Any]) -> tuple[int, int]:
    """Give the soft and the hard limit in tokens."""
    if given["window"] is None:
        soft, hard = given["soft_limit"], given["hard_limit"]
        if soft is None:
            soft = min(SOFT_LIMIT, max(hard, 0))
        if min(soft, hard) < 0:
            raise UsageError("--soft-limit and --hard-limit must be at least 0")
        if soft > hard and not given["reactive"]:  # which stops at no soft limit
            raise UsageError(f"--soft-limit ({soft:,}) must not be above --hard-limit ({hard:,})")
        return soft, hard
    usable = given["window"] - given["reserve"]
    if given["reserve"] < 0 or usable <= 0:
        raise UsageError("--window must be greater than --reserve, and neither negative")
    # A view that is exactly as large as what is usable still fits.
    return usable + 1, given["window"]


def _names(given: str | None) -> tuple[str, ...]:
    if given is None:
        return layers.ORDER
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    unknown = [name for name in names if name not in layers.ORDER]
    if unknown or not names:
        raise UsageError(
            f"--layers: unknown layer {', '.join(unknown) or '(none given)'}; "
            f"choose from {', '.join(layers.ORDER)}"
        )
    return names


def _total(result: Result, counter: Counter, given: dict[str, Any]) -> Step:
    """Sum up all steps as one; say so when the target is out of reach."""
    steps = result.steps
    soft = 0 if given["reactive"] else _limits(given)[0]
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
    | bulk.OPTIONS,
)
