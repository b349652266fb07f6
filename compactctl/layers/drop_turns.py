"""Cut a stretch of turns out of a view, and leave one placeholder that says what went.

What is pinned stays, an interaction goes or stays as one, and user pieces that come to stand side
by side become one message, so that roles go on alternating.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compactctl import placeholders
from compactctl.layers.base import Action, Change, Context
from compactctl.model import Block, Message, replace_blocks
from compactctl.placeholders import Pruned
from compactctl.text import middle_cut, plural
from compactctl.tokens import count_message
from compactctl.view.edits import Insert, Key, key
from compactctl.view.facts import Facts
from compactctl.view.pairs import Place

MARKER_TOKENS = 300
"""Tokens that the placeholder may have."""
_WIDEST = 240
"""Characters of one request, rule or failure in the placeholder."""


def cut_out(
    context: Context,
    start: int,
    pinned: set[Place],
    *,
    head: int = 0,
    marker: bool = True,
) -> Change:
    """Remove all between the first ``head`` messages and the assistant message at ``start``.

    The placeholder stands behind the head, or without one behind the first user message; it takes
    in what an earlier placeholder said, and the pointer to the archive if there is one. What is
    archived is so without a placeholder as well.
    """
    view = context.view
    pinned = pinned | context.protected.sources(
        lambda place: place in pinned or place.message < head or place.message >= start
    )
    kept, gone = _split(view.messages[:start], pinned, head)
    if not gone:
        return Change(note="nothing to drop: everything older is protected")
    pointer = context.archive() if context.archive else None
    edits: dict[Key, Block | None] = {key(block): None for m in gone for block in m.blocks}
    insert = None
    if marker:
        ours, at = _earlier_markers(kept, head)
        edits |= {key(block): None for block in ours}
        earlier = [mark for b in ours if (mark := placeholders.read_pruned(b.text)) is not None]
        facts = Facts(view, [Message("user", tuple(ours)), *gone], start)
        insert = Insert(at + 1, "user", _marker(context, facts, len(gone), earlier, pointer))
    actions = [
        Action(
            "prune",
            message.blocks[0].entry,
            tokens_before=count_message(context.counter, message),
        )
        for message in gone
    ]
    return Change(edits, insert, actions, f"{plural(len(gone), 'message')} removed")


def _split(
    old: Sequence[Message], pinned: set[Place], head: int
) -> tuple[list[Message | None], list[Message]]:
    """Part old messages into what stays of each (None: nothing) and what goes of each.

    The user blocks right before the first kept turn open it, so they stay. An earlier
    placeholder stays too, to be taken in by the new one.
    """
    kept: list[Message | None] = []
    gone: list[Message] = []
    pins_in = {place.message for place in pinned}
    for position, message in enumerate(old):
        opens = position == len(old) - 1 and message.role == "user"
        if position < head or message.role == "system":
            kept.append(message)
            continue
        if not (opens or position in pins_in or _markers(message)):
            kept.append(None if message.blocks else message)
            if message.blocks:
                gone.append(message)
            continue
        stays = [
            Place(position, at) in pinned
            or (opens and block.kind != "result")
            or (message.role == "user" and _is_marker(block))
            for at, block in enumerate(message.blocks)
        ]
        left = [block for block, stay in zip(message.blocks, stays, strict=True) if stay]
        lost = [block for block, stay in zip(message.blocks, stays, strict=True) if not stay]
        kept.append(replace_blocks(message, left) if left else None)
        if lost:
            gone.append(Message(message.role, tuple(lost)))
    return kept, gone


def _earlier_markers(kept: Sequence[Message | None], head: int) -> tuple[list[Block], int]:
    """Return the earlier placeholders to be taken in, and the message that the new one follows.

    In the head a message of nothing else stays, since an answer may stand on either side: the new
    placeholder takes the place of the first, and goes to the end of the head if there is none.
    Where the format flags what a harness wrote, a copy without the flag is a person's and stays.
    """
    is_flagged = any(block.meta for message in kept for block in _markers(message))
    taken: list[Block] = []
    alone: int | None = None
    for position, message in enumerate(kept):
        ours = [block for block in _markers(message) if block.meta or not is_flagged]
        if ours and message and position < head and len(ours) == len(message.blocks):
            if alone is not None:
                continue
            alone = position
        taken += ours
    if alone is not None:
        return taken, alone
    first = (at for at, message in enumerate(kept) if message and message.role == "user")
    return taken, head - 1 if head else next(first, -1)


def _markers(message: Message | None) -> list[Block]:
    if message is None or message.role != "user":
        return []
    return [block for block in message.blocks if _is_marker(block)]


def _is_marker(block: Block) -> bool:
    return block.kind == "text" and placeholders.read_pruned(block.text) is not None


def _marker(
    context: Context, facts: Facts, many: int, earlier: Sequence[Pruned], pointer: str | None
) -> Block:
    """Return the placeholder of ``many`` messages, within its size, with what went with them."""
    pointers = (*(p for mark in earlier for p in mark.pointers), *([pointer] if pointer else []))
    whole = Pruned(
        many + sum(mark.messages for mark in earlier),
        _lists(facts),
        {name: sum(m.more.get(name, 0) for m in earlier) for m in earlier for name in m.more},
        tuple(dict.fromkeys(pointers)),
    )
    whole = placeholders.newest(whole, MARKER_TOKENS)  # an item takes at least a token
    while (size := context.counter.count(text := placeholders.pruned(whole))) > MARKER_TOKENS:
        whole = placeholders.shorter(whole, 3 if size > 2 * MARKER_TOKENS else 10)
    return Block("text", text, meta=True)


def _lists(facts: Facts) -> dict[str, list[str]]:
    """Return what a placeholder carries, the newest first."""
    files, rules = facts.files, facts.rules
    modified = set(files.modified)
    return {
        placeholders.READ: [path for path in files.read[::-1] if path not in modified],
        placeholders.MODIFIED: files.modified[::-1],
        placeholders.ASKED: _short(words for words in facts.requests[::-1] if words not in rules),
        placeholders.ANSWERED: _short([facts.answered]),
        placeholders.RULES: _short(rules[::-1]),
        placeholders.FAILED: _short(facts.failures[::-1]),
        placeholders.BRANCHES: facts.branches[::-1],
    }


def _short(items: Iterable[str]) -> list[str]:
    flat = (" ".join(item.split()) for item in items)
    return list(dict.fromkeys(middle_cut(item, _WIDEST) for item in flat if item))
