"""Drop old turns, and leave a placeholder that says what went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from compactctl.errors import UsageError
from compactctl.layers.base import Change, Context, Layer
from compactctl.layers.clear_results import clear
from compactctl.layers.drop_turns import cut_out
from compactctl.model import Message
from compactctl.view.edits import apply
from compactctl.view.index import View
from compactctl.view.pairs import Place

_TURNS, _HEAD, _MESSAGES, _RESULTS = 6, 3, 50, 3
"""What stays when nothing else is asked for."""

_OPTIONS = {
    "drop": ("keep_turns", "keep_messages", "keep_tokens", "no_marker"),
    "snip": ("head", "max_messages", "no_marker"),
    "clear": ("keep_results",),
}
"""The options that belong to each mode."""


def prune(
    context: Context,
    *,
    mode: Annotated[
        Literal["drop", "snip", "clear"],
        "drop lets old turns go; snip takes the middle out of a long list; clear keeps all "
        "messages and takes out old tool results.",
    ] = "drop",
    keep_turns: Annotated[
        int | None,
        "drop: newest turns to keep (a turn: one answer of the model with all its tool results). "
        f"[{_TURNS}]",
    ] = None,
    keep_messages: Annotated[
        int | None, "drop, instead: newest messages to keep, widened so that no turn is parted."
    ] = None,
    keep_tokens: Annotated[
        int | None, "drop, instead: keep the newest turns that fit into this many tokens."
    ] = None,
    head: Annotated[int | None, f"snip: messages to keep at the start. [{_HEAD}]"] = None,
    max_messages: Annotated[
        int | None, f"snip: messages that the view may have. [{_MESSAGES}]"
    ] = None,
    keep_results: Annotated[int | None, f"clear: newest tool results to keep. [{_RESULTS}]"] = None,
    no_marker: Annotated[bool, "drop and snip: leave no placeholder that says what went."] = False,
) -> Change:
    """Drop old turns; the first and the last request of the user and standing rules stay."""
    measures = {
        "keep_turns": keep_turns,
        "keep_messages": keep_messages,
        "keep_tokens": keep_tokens,
    }
    others = {"head": head, "max_messages": max_messages, "keep_results": keep_results}
    _refuse_of_other_modes(mode, {**measures, **others, "no_marker": no_marker or None})
    only_one(*measures.values())
    if mode == "clear":
        return clear(context, _positive("--keep-results", _or(keep_results, _RESULTS), 0))
    if mode == "snip":
        return _snip(context, _or(head, _HEAD), _or(max_messages, _MESSAGES), marker=not no_marker)
    view = context.view
    pinned = context.protected.with_first
    if keep_messages is not None:
        start = _start_of_messages(view, _positive("--keep-messages", keep_messages))
    elif keep_tokens is not None:
        start = _start_of_tokens(context, _positive("--keep-tokens", keep_tokens), pinned)
    else:
        keep = _positive("--keep-turns", _or(keep_turns, _TURNS))
        start = view.turns[-keep].assistant if len(view.turns) > keep else None
    if start is None:
        return Change(note="nothing to prune")
    return cut_out(context, start, pinned, marker=not no_marker)


def _or(given: int | None, default: int) -> int:
    return default if given is None else given


def _refuse_of_other_modes(mode: str, given: Mapping[str, object]) -> None:
    """Refuse options that the mode would not look at.

    Raises:
        UsageError: says to which mode the option belongs.

    """
    for option, value in given.items():
        if value is not None and option not in _OPTIONS[mode]:
            modes = " and ".join(one for one, options in _OPTIONS.items() if option in options)
            name = option.replace("_", "-")
            raise UsageError(f"--{name} belongs to --mode {modes}; the mode here is {mode}")


def only_one(*measures: int | None) -> None:
    """Refuse more than one measure of what is kept.

    Raises:
        UsageError: several are given.

    """
    if sum(measure is not None for measure in measures) > 1:
        raise UsageError("give only one of --keep-turns, --keep-messages and --keep-tokens")


def _positive(option: str, value: int, least: int = 1) -> int:
    if value < least:
        raise UsageError(f"{option} must be at least {least}")
    return value


def _start_of_messages(view: View, keep: int) -> int | None:
    """Return the last turn that leaves at least ``keep`` messages, its prompt counted with it."""
    for turn in reversed(view.turns):
        if turn.first <= len(view.messages) - keep:
            return turn.assistant
    return None


def _start_of_tokens(context: Context, budget: int, pinned: set[Place]) -> int | None:
    """Return the first of the newest turns that fit together; the newest is kept in any case.

    What stays anyway does not count: it does so wherever a run before this one has put it.
    """
    messages = context.view.messages
    start = None
    end, left = len(messages), budget
    for turn in reversed(context.view.turns):
        left -= sum(
            context.count(block)
            for position in range(turn.first, end)
            for at, block in enumerate(messages[position].blocks)
            if Place(position, at) not in pinned
        )
        if left < 0 and start is not None:
            return start
        start, end = turn.assistant, turn.first
    return None


def _snip(context: Context, head: int, most: int, *, marker: bool) -> Change:
    """Take out the middle so that no more than ``most`` messages are left, placeholder included.

    What is left never exceeds the limit, so a second run finds nothing to do.
    """
    view, messages = context.view, context.view.messages
    _positive("--head", head, 0)
    if _positive("--max-messages", most) <= head:
        raise UsageError("--max-messages must be greater than --head")
    if len(messages) <= most:
        return Change(note="no more messages than are allowed")
    whole = _closed_head(view, head, marker=marker)
    pinned = context.protected.with_first
    least = len(messages) - (most - whole) + 1
    starts = [turn for turn in view.turns if turn.assistant > whole]
    for turn in starts:
        if turn.first >= least or turn is starts[-1]:
            change = cut_out(context, turn.assistant, pinned, head=whole, marker=marker)
            left = len(apply(messages, change.edits, change.insert))
            if left <= most or turn is starts[-1]:
                return change
            least = turn.first + left - most
    return Change(note="nothing to take out: everything there is protected")


def _closed_head(view: View, head: int, *, marker: bool) -> int:
    """Return how many messages the head has, widened so that no call is parted from its result."""
    messages, reach = view.messages, view.last_results
    while 0 < head < len(messages) and (_holds_calls(messages[head - 1]) or reach[head] >= head):
        head += 1
    while not marker and head and messages[head - 1].role == "assistant":
        head -= 1  # without a placeholder behind it the next answer would follow it
    return head


def _holds_calls(message: Message) -> bool:
    """Return True if a cut behind this message would part calls from their results."""
    return any(block.kind == "call" for block in message.blocks)


LAYER = Layer(
    prune,
    example="compactctl prune session.jsonl --keep-turns 10 -o small.jsonl",
    keeps=("artifacts", "archive"),
    stores=lambda options: options["mode"] == "clear",
)
