"""What ``compact`` does to a transcript, one or one of many; workers of bulk runs import it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from compactctl import layers, pipeline
from compactctl.errors import UsageError
from compactctl.given import keep_of, options_of
from compactctl.layers.base import Context
from compactctl.slim import slim
from compactctl.tokens import Counter
from compactctl.view.index import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactctl.pipeline import Result
    from compactctl.transcript.loading import Transcript

SOFT_LIMIT = 80_000
HARD_LIMIT = 120_000
RESERVE = 16_384

REACTIVE_MESSAGES = 5
"""Messages that the emergency form leaves word for word (CONTRACT §3)."""


class How(NamedTuple):
    """The layers that the options ask for, with theirs, and the limits that they set."""

    names: tuple[str, ...]
    options: dict[str, dict[str, Any]]
    soft: int
    hard: int


def how_of(given: dict[str, Any]) -> How:
    """Read the options; a bulk run does that once, since it takes as long as a small file."""
    if given["reactive"] and given["layers"] is not None:
        raise UsageError("--reactive runs summarize alone: give it or --layers")
    names = ("summarize",) if given["reactive"] else _names(given["layers"])
    options = options_of(names, given, layers.ORDER)
    soft, hard = limits_of(given)
    if given["reactive"]:
        options["summarize"]["keep_messages"] = REACTIVE_MESSAGES
        soft = 0
    for name in names:  # refused now, and not in the one session that comes to this layer
        layers.load(name).run(
            Context(View(()), Counter("chars"), store=_stored(given)), **options[name]
        )
    return How(names, options, soft, hard)


def _stored(given: dict[str, Any]) -> Callable[[str], str] | None:
    """Stand for the store where one is asked for: a pointer takes room in a placeholder."""
    return str if given["artifacts"] else None


def run(found: Transcript, given: dict[str, Any], how: How, counter: Counter) -> Result:
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
    )


def limits_of(given: dict[str, Any]) -> tuple[int, int]:
    """Give the soft and the hard limit in tokens."""
    if given["window"] is None:
        if given["reserve"] is not None:
            raise UsageError("--reserve is a part of --window: give both")
        soft = given["soft_limit"]
        hard = HARD_LIMIT if given["hard_limit"] is None else given["hard_limit"]
        if soft is None:
            soft = min(SOFT_LIMIT, max(hard, 0))
        if min(soft, hard) < 0:
            raise UsageError("--soft-limit and --hard-limit must be at least 0")
        if soft > hard and not given["reactive"]:  # which stops at no soft limit
            raise UsageError(f"--soft-limit ({soft:,}) must not be above --hard-limit ({hard:,})")
        return soft, hard
    if given["soft_limit"] is not None or given["hard_limit"] is not None:
        raise UsageError("--window sets both limits: leave out --soft-limit and --hard-limit")
    reserve = RESERVE if given["reserve"] is None else given["reserve"]
    usable = given["window"] - reserve
    if reserve < 0 or usable <= 0:
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


def compacted(found: Transcript, counter: Counter, given: dict[str, Any], how: How) -> Result:
    """Do to one of many transcripts what is done to one alone."""
    result = run(found, given, how, counter)
    return slim(result).result if given["slim"] else result
