"""What ``compact`` does to a transcript, one or one of many; workers of bulk runs import it."""

from __future__ import annotations

import msgspec

from compactctl import layers, pipeline
from compactctl.errors import UsageError
from compactctl.layers.base import Context
from compactctl.layers.thinking import Mode
from compactctl.slim import slim
from compactctl.tokens import Counter
from compactctl.transcript.loading import Transcript
from compactctl.view.index import View

SOFT_LIMIT = 80_000
HARD_LIMIT = 120_000
RESERVE = 16_384

REACTIVE_MESSAGES = 5
"""Newest messages that the emergency form leaves word for word."""


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """What is done to each transcript; a bulk run sends it to its workers.

    ``layers`` run until the view is below ``soft_limit`` tokens; at ``hard_limit`` or above after
    all of them, the transcript is refused. ``slim`` also drops what is no part of the view.
    """

    layers: tuple[str, ...]
    options: pipeline.Options
    soft_limit: int
    hard_limit: int
    protect: tuple[str, ...] = ()
    thinking: Mode = "auto"
    keep_usage: bool = False
    artifacts: str | None = None
    archive: str | None = None
    slim: bool = False


def limits(
    soft: int | None, hard: int | None, window: int | None, reserve: int | None, *, reactive: bool
) -> tuple[int, int]:
    """Return the soft and the hard limit in tokens."""
    if window is not None:
        if soft is not None or hard is not None:
            raise UsageError("--window sets both limits: leave out --soft-limit and --hard-limit")
        return _limits_of_window(window, RESERVE if reserve is None else reserve)
    if reserve is not None:
        raise UsageError("--reserve is a part of --window: give both")
    if reactive and soft is not None:
        raise UsageError("--soft-limit does not belong to --reactive, which compacts at any size")
    if hard is None:
        hard = HARD_LIMIT
    if soft is None:
        soft = min(SOFT_LIMIT, max(hard, 0))
    if min(soft, hard) < 0:
        raise UsageError("--soft-limit and --hard-limit must be at least 0")
    if soft > hard and not reactive:  # which stops at no soft limit
        raise UsageError(f"--soft-limit ({soft:,}) must not be above --hard-limit ({hard:,})")
    return soft, hard


def _limits_of_window(window: int, reserve: int) -> tuple[int, int]:
    usable = window - reserve
    if reserve < 0 or usable <= 0:
        raise UsageError("--window must be greater than --reserve, and neither negative")
    # A view that is exactly as large as what is usable still fits.
    return usable + 1, window


def reactive(compaction: Compaction) -> Compaction:
    """Return the emergency form, for a prompt that the provider has refused as too long.

    The newest messages stay word for word and all else is summarized, whatever its size.
    """
    summarize = {**compaction.options["summarize"], "keep_messages": REACTIVE_MESSAGES}
    return msgspec.structs.replace(
        compaction,
        layers=("summarize",),
        options={**compaction.options, "summarize": summarize},
        soft_limit=0,
    )


def refuse_bad_options(compaction: Compaction) -> None:
    """Refuse what a layer would refuse: now, and not in the one session that comes to this layer.

    Raises:
        UsageError: says which option.

    """
    # A store is only stood in for: a pointer takes room in a placeholder.
    store = str if compaction.artifacts else None
    context = Context(View(()), Counter("chars"), store=store)
    for name in compaction.layers:
        layers.load(name).run(context, **compaction.options[name])


def compact(
    transcript: Transcript, compaction: Compaction, counter: Counter, *, dry: bool = False
) -> pipeline.Result:
    """Run the layers up to the limits; on a dry run nothing goes into a store."""
    archive = _archive_of_pointers(compaction)
    return pipeline.compact(
        transcript,
        compaction.layers,
        compaction.options,
        counter,
        soft_limit=compaction.soft_limit,
        hard_limit=compaction.hard_limit,
        mode=compaction.thinking,
        protect=compaction.protect,
        keep=pipeline.keep_in(transcript, compaction.artifacts, archive, dry=dry),
        keep_usage=compaction.keep_usage,
    )


def _archive_of_pointers(compaction: Compaction) -> str | None:
    """Return the archive if placeholders are to point into it.

    Only those of ``prune --mode snip`` do, which stand between two ends that stay; and they can
    point into a folder only. Every original is kept there all the same, whole, for ``restore``.
    """
    is_snip = compaction.options.get("prune", {}).get("mode") == "snip"
    is_folder = "://" not in (compaction.archive or "")
    return compaction.archive if is_snip and is_folder else None


def compact_whole(
    transcript: Transcript, counter: Counter, *, compaction: Compaction
) -> pipeline.Result:
    """Do all that is asked for to one of many transcripts."""
    result = compact(transcript, compaction, counter)
    return slim(result).result if compaction.slim else result
