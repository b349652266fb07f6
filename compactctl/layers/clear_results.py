"""Replace the results that the model has long seen by what they were."""

from __future__ import annotations

import msgspec

from compactctl import placeholders
from compactctl.layers.base import Action, Change, Context
from compactctl.model import Block, text_pieces, with_texts
from compactctl.text import middle_cut, plural
from compactctl.view import failures
from compactctl.view.edits import Key, key
from compactctl.view.facts import line_of
from compactctl.view.index import View
from compactctl.view.pairs import Place, block_at

SHORTEST = 120
"""Characters up to which a result of texts is left alone: a placeholder would not be shorter."""

FAILURE_TOKENS = 110
"""Tokens of a failure that its placeholder keeps."""
_CALL = 80
"""Characters of a call that a placeholder names."""

_SAID = frozenset({"text", "image", "document"})
"""Kinds of pieces in whose place a text may stand."""
_ASKED = frozenset({"askuserquestion", "ask_user", "request_user_input"})


def clear(context: Context, keep: int) -> Change:
    """Clear all results but the newest ``keep`` and those that the model has not seen yet.

    Answers of the provider's own tools are results too.

    The store takes the text away first and gives its pointer; images no store takes, so they are
    named in the placeholder. Without a store, what no tool can give again stays: answers of the
    user and results of memories.
    """
    view = context.view
    results = _results(view)
    old = set(results[: max(0, len(results) - keep)]) - context.protected.always
    old -= context.protected.sources(
        lambda place: place not in old or place.message >= view.open_loop
    )
    calls = {found.result_at: found.call for found in view.answered}
    actions: list[Action] = []
    edits: dict[Key, Block | None] = {}
    for place in results:
        if place.message < view.open_loop and place in old:
            result = block_at(view.messages, place)
            new = _cleared(context, result, calls.get(place), actions)
            if new is not result:
                edits[key(result)] = new
    if actions and context.archive:
        context.archive()
    return Change(edits, None, actions, f"{plural(len(actions), 'result')} cleared")


def _results(view: View) -> list[Place]:
    """Return the places of results, and of what the provider's own tools answered, in order."""
    served = [at for at in view.enclosed if block_at(view.messages, at).kind == "other"]
    return sorted([*view.results, *served]) if served else view.results


def _cleared(context: Context, result: Block, call: Block | None, actions: list[Action]) -> Block:
    texts = [piece.text for piece in text_pieces(result)]
    text, store, tool = "\n".join(texts), context.store, call.tool if call else ""
    lost = [piece for piece in result.content if piece.kind == "image" or _is_file(piece)]
    if len(text) <= SHORTEST and not lost:
        return result
    if placeholders.read_cleared(text) or (store is None and _alone(tool)):
        return result
    if not (texts or lost):  # what it says is in a piece of a kind that only its provider knows
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
        lost if result.kind == "result" else (),
        of=middle_cut(line_of(call, call.cwd), _CALL) if call else "",
        failed=result.failed,
        said=_failure(context, text) if result.failed else (),
    )
    new = with_texts(result, iter([left])) if result.kind == "other" else _with_text(result, left)
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


def _is_file(piece: Block) -> bool:
    """Return True for a document that no store takes: what it says stands in no text."""
    return piece.kind == "document" and piece.opaque > 0


def _with_text(result: Block, text: str) -> Block:
    """Put ``text`` in the place of texts, images and documents; what has no other place stays."""
    said = [piece for piece in result.content if piece.kind in _SAID]
    first = next((piece for piece in said if piece.kind == "text"), said[0])
    new = Block("text", text)
    if first.kind == "text":
        new = msgspec.structs.replace(first, text=text)
    return msgspec.structs.replace(
        result,
        content=tuple(
            new if piece is first else piece
            for piece in result.content
            if piece is first or piece.kind not in _SAID
        ),
    )


def _alone(tool: str) -> bool:
    """Return True if a result can not be had again by calling the tool again."""
    lowered = tool.lower()
    return lowered in _ASKED or "memory" in lowered
