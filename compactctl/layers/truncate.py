"""Shorten long tool results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, get_args

import msgspec

from compactctl import placeholders
from compactctl.errors import UsageError
from compactctl.layers.base import Action, Change, Context, Layer
from compactctl.layers.cut import NOTE_TOKENS, POINTER_TOKENS, Ends, cut_text, shares, source
from compactctl.model import Block, text_pieces, with_texts
from compactctl.text import plural
from compactctl.view.edits import Key, key
from compactctl.view.pairs import Place, block_at
from compactctl.view.shell import is_shell

Policy = Literal["auto", "head", "tail", "both"]
Images = Literal["keep", "drop", "placeholder"]

_ENDS: Mapping[str, Ends] = {"head": (1.0, 0.0), "tail": (0.0, 1.0), "both": (1 / 3, 2 / 3)}
_FLOOR = 500
"""Tokens that --batch-tokens leaves of a result: less says nothing of what it was."""


def truncate(
    context: Context,
    *,
    max_tokens: Annotated[
        int, "Tokens that one tool result or document may keep, its note included."
    ] = 5000,
    keep: Annotated[
        Policy,
        "What to keep of a long result: its head, its tail or both ends; auto keeps both ends of "
        "shell output, where the error is at the end, and the head of all else.",
    ] = "auto",
    tool: Annotated[
        list[str] | None,
        "NAME=head|tail|both|keep for one tool; keep never cuts it (may be given several times).",
    ] = None,
    batch_tokens: Annotated[
        int | None, "Tokens for the last batch of results together; the largest give way first."
    ] = None,
    skip_recent: Annotated[int, "Newest results to leave as they are."] = 0,
    images: Annotated[
        Images, "Images: keep them, drop them, or put a placeholder with their type and size."
    ] = "keep",
) -> Change:
    """Cut results and documents over --max-tokens; a note in the gap states the original size."""
    _check(context, max_tokens, batch_tokens, skip_recent)
    policies, view = _policies(tool or []), context.view
    policy = {at: policies.get(view.tools.get(at, ""), keep) for at in view.results}
    limits = _limits(context, policy, max_tokens, batch_tokens, skip_recent)
    for place in view.enclosed:
        policy[place] = policies.get(block_at(view.messages, place).type, keep)
        if policy[place] != "keep":
            limits[place] = max_tokens
    actions: list[Action] = []
    edits: dict[Key, Block | None] = {}
    touched = {place.message for place in limits}
    for position, message in enumerate(view.messages):
        if images == "keep" and position not in touched:
            continue
        done: list[Action] = []
        new_blocks: dict[Key, Block | None] = {}
        for at, block in enumerate(message.blocks):
            place = Place(position, at)
            is_kept = images == "keep" or (block.kind == "result" and _stays(context, place))
            new = block if is_kept else _without_images(context, block, images, done)
            if new is not None and place in limits:
                ends = _ends(policy[place], view.tools.get(place, ""))
                new = _cut(context, new, place, limits[place], ends, done)
            if new is not block:
                new_blocks[key(block)] = new
        gone = sum(new is None for new in new_blocks.values())
        if gone < len(message.blocks):  # of nothing but images to drop all stay: none is empty
            actions += done
            edits |= new_blocks
    return Change(edits, None, actions, _note(actions))


def _check(context: Context, max_tokens: int, batch_tokens: int | None, skip_recent: int) -> None:
    """Refuse numbers that nothing could be cut by."""
    least = _least(context)
    if skip_recent < 0:
        raise UsageError("--skip-recent must be at least 0")
    for option, value in (("--max-tokens", max_tokens), ("--batch-tokens", batch_tokens)):
        if value is not None and value < least:
            raise UsageError(f"{option} must be at least {least}, the room that the note needs")


def _least(context: Context) -> int:
    """Return the room that a note needs, in tokens."""
    return NOTE_TOKENS + (POINTER_TOKENS if context.store else 0)


def _policies(given: Sequence[str]) -> dict[str, str]:
    """Read ``NAME=POLICY`` options."""
    policies: dict[str, str] = {}
    known = (*get_args(Policy), "keep")
    for item in given:
        name, equals, policy = item.rpartition("=")
        if not equals or not name or policy not in known:
            raise UsageError(f"--tool {item}: expected NAME=POLICY with one of {', '.join(known)}")
        policies[name] = policy
    return policies


def _ends(policy: str, tool: str) -> Ends:
    if policy == "auto":
        policy = "both" if is_shell(tool) else "head"
    return _ENDS[policy]


def _limits(
    context: Context, policy: Mapping[Place, str], most: int, budget: int | None, skip_recent: int
) -> dict[Place, int]:
    """Return the tokens that each result may keep; what is to stay as it is has no limit."""
    places = list(policy)
    limits = dict.fromkeys(places[: max(0, len(places) - skip_recent)], most)
    last = [place for place in places if place.message == places[-1].message]
    if budget is not None:
        kept = {place for place in last if policy[place] == "keep" or _stays(context, place)}
        limits |= _batch(context, [place for place in last if place in limits], kept, budget, most)
    return {place: limit for place, limit in limits.items() if policy[place] != "keep"}


def _batch(
    context: Context, last: Sequence[Place], kept: set[Place], budget: int, most: int
) -> dict[Place, int]:
    """Return tighter limits to the largest results of the last batch, until it is in its budget.

    Only texts count: images are not cut. What is ``kept`` counts, but never gives way.
    """
    texts = {place: _text_tokens(context, block_at(context.view.messages, place)) for place in last}
    sizes = {place: size if place in kept else min(size, most) for place, size in texts.items()}
    limits: dict[Place, int] = {}
    excess = sum(sizes.values()) - budget
    for place, size in sorted(sizes.items(), key=lambda item: -item[1]):
        if excess <= 0:
            break
        if place not in kept:
            limits[place] = max(size - excess, min(size, _FLOOR))
            excess -= size - limits[place]
    return limits


def _text_tokens(context: Context, result: Block) -> int:
    return sum(context.counter.count(piece.text) for piece in text_pieces(result))


def _stays(context: Context, place: Place) -> bool:
    return place in context.protected.always  # asked late: of most views nothing is cut


def _cut(
    context: Context, result: Block, place: Place, limit: int, ends: Ends, actions: list[Action]
) -> Block:
    """Cut the texts of one result to ``limit`` tokens in all; images stay where they are."""
    counter = context.counter
    said = [piece.text for piece in text_pieces(result)]
    if sum(map(len, said)) * 4 <= limit or (len(said) == 1 and counter.fits(said[0], limit)):
        return result
    sizes = [counter.count(text) for text in said]
    if sum(sizes) <= limit or _stays(context, place):
        return result
    groups, room = [[text] for text in said], shares(sizes, limit)
    if any(one < min(size, _least(context)) for one, size in zip(room, sizes, strict=True)):
        groups, room = [said], [limit]  # a note in each would take more than there is
    pointers: list[str] = []
    new = [
        _cut_texts(context, *each, ends, pointers, failed=result.failed)
        for each in zip(groups, room, strict=True)
    ]
    after = sum(map(counter.count, new))
    if after >= sum(sizes):
        return result
    pointer = pointers[0] if pointers else None
    rule = "document" if result.kind == "document" else "truncate"
    actions.append(Action(rule, result.entry, result.call_id, sum(sizes), after, pointer))
    return with_texts(result, iter(new))


def _cut_texts(
    context: Context, texts: list[str], limit: int, ends: Ends, pointers: list[str], *, failed: bool
) -> str:
    """Cut texts that share one note; they are stored first, unless an earlier run did so."""
    if len(texts) == 1 and context.counter.fits(texts[0], limit):
        return texts[0]
    given = msgspec.structs.replace(source(context.counter, texts), failed=failed)
    if context.store is not None and not any(map(placeholders.read_cut, texts)):
        given = msgspec.structs.replace(given, pointer=context.store(given.head))
        pointers.append(given.pointer or "")
    return cut_text(context.counter, given, limit, ends)


def _without_images(
    context: Context, block: Block, images: Images, actions: list[Action]
) -> Block | None:
    """Drop a block's images, or put placeholders in their places."""
    if block.kind == "image":
        new = placeholders.of_image(block) if images == "placeholder" else None
        after = context.count(new) if new else 0
        actions.append(Action("image", block.entry, None, context.count(block), after))
        return new
    if block.kind != "result" or not any(piece.kind == "image" for piece in block.content):
        return block
    said = [placeholders.of_image(p) if p.kind == "image" else p for p in block.content]
    if images == "drop":  # of nothing but images one placeholder stays: no content may be empty
        rest = [piece for piece in block.content if piece.kind != "image"]
        said = rest or said[:1]
    content = tuple(said)
    new = msgspec.structs.replace(block, content=content)
    tokens = context.count(block), context.count(new)
    actions.append(Action("image", block.entry, block.call_id, *tokens))
    return new


def _note(actions: Sequence[Action]) -> str:
    many = Counter(action.rule for action in actions)
    said = f"{plural(many['truncate'], 'result')} cut"
    if many["document"]:
        said += f", {plural(many['document'], 'document')} cut"
    return said


LAYER = Layer(
    truncate,
    example="compactctl truncate session.jsonl --max-tokens 2000 -o small.jsonl",
    keeps=("artifacts",),
)
