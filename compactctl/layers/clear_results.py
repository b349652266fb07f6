"""Replace the results that the model has long seen by what they were."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from compactctl import placeholders
from compactctl.layers.base import Action, Change, Context
from compactctl.model import Block, result_text
from compactctl.text import middle_cut, plural
from compactctl.view import failures
from compactctl.view.edits import Key, key
from compactctl.view.facts import line_of
from compactctl.view.pairs import block_at

SHORTEST = 120
"""Characters up to which a result of texts is left alone: a placeholder would not be shorter."""

FAILURE_TOKENS = 110
"""Tokens of a failure that its placeholder keeps."""
_CALL = 80
"""Characters of a call that a placeholder names."""

_ASKED = frozenset({"askuserquestion", "ask_user", "request_user_input"})


def clear(context: Context, keep: int) -> Change:
    """Clear all results but the newest ``keep`` and those that the model has not seen yet.

    The store takes the text away first and gives its pointer; images no store takes, so they are
    named in the placeholder. Without a store, what no tool can give again stays: answers of the
    user and results of memories.
    """
    view = context.view
    old = set(view.results[: max(0, len(view.results) - keep)]) - context.protected.always
    old -= context.protected.sources(
        lambda place: place not in old or place.message >= view.open_loop
    )
    calls = {found.result_at: found.call for found in view.answered}
    actions: list[Action] = []
    edits: dict[Key, Block | None] = {}
    for place in view.results:
        if place.message < view.open_loop and place in old:
            result = block_at(view.messages, place)
            new = _cleared(context, result, calls.get(place), actions)
            if new is not result:
                edits[key(result)] = new
    if actions and context.archive:
        context.archive()
    return Change(edits, None, actions, f"{plural(len(actions), 'result')} cleared")


def _cleared(context: Context, result: Block, call: Block | None, actions: list[Action]) -> Block:
    text, store, tool = result_text(result), context.store, call.tool if call else ""
    images = [piece for piece in result.content if piece.kind == "image"]
    if len(text) <= SHORTEST and not images:
        return result
    if placeholders.read_cleared(text) or (store is None and _alone(tool)):
        return result
    texts = [piece.text for piece in result.content if piece.kind == "text"]
    if not (texts or images):  # what it says is in a piece of a kind that only its provider knows
        return result
    before = context.count(result)
    cuts = [placeholders.read_cut(piece) for piece in texts]
    whole = [
        cut.original if cut else context.counter.count(piece)
        for piece, cut in zip(texts, cuts, strict=True)
    ]
    pointer = cuts[0].pointer if len(cuts) == 1 and cuts[0] else None
    if pointer is None and store is not None and text:
        pointer = store(text)
    elif pointer is None and any(cut and cut.pointer for cut in cuts):
        return result  # a placeholder has room for one pointer, and these are several texts
    size = sum(whole) if any(cuts) else before
    left = placeholders.cleared(
        size,
        pointer,
        images,
        of=middle_cut(line_of(call, call.cwd), _CALL) if call else "",
        failed=result.failed,
        said=_failure(context, text) if result.failed else (),
    )
    new = msgspec.structs.replace(result, content=_with_text(result.content, left))
    after = context.count(new)
    if after >= before:
        return result
    actions.append(Action("clear", result.entry, result.call_id, before, after, pointer))
    return new


def _failure(context: Context, text: str) -> list[str]:
    """Return the lines of a failure that stay."""
    return failures.within(
        failures.kept_lines(text), lambda kept: context.counter.fits(kept, FAILURE_TOKENS)
    )


def _with_text(content: Sequence[Block], text: str) -> tuple[Block, ...]:
    """Put ``text`` in the place of all texts and images; what has no other place stays."""
    first = next((at for at, piece in enumerate(content) if piece.kind == "text"), -1)
    if first < 0:
        first = next(at for at, piece in enumerate(content) if piece.kind == "image")
    return tuple(
        msgspec.structs.replace(piece, kind="text", text=text, image=None) if at == first else piece
        for at, piece in enumerate(content)
        if at == first or piece.kind not in {"text", "image"}
    )


def _alone(tool: str) -> bool:
    """Return True if a result can not be had again by calling the tool again."""
    lowered = tool.lower()
    return lowered in _ASKED or "memory" in lowered
