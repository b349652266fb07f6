"""Let go of old turns, and say what went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from compactctl import pins, placeholders, tools
from compactctl.assemble import merge_users
from compactctl.errors import UsageError
from compactctl.layer import Action, Change, View, number
from compactctl.model import Block, Message, replace_blocks
from compactctl.placeholders import Pruned
from compactctl.protocol.pairs import Place
from compactctl.protocol.turns import turns

EXAMPLE = "compactctl prune session.jsonl --keep-turns 10 -o small.jsonl"

MARKER_TOKENS = 300
"""The placeholder says no more than this (CONTRACT §3)."""


def prune(
    view: View,
    *,
    keep_turns: Annotated[
        int, "Newest turns to keep (a turn: one answer of the model with all its tool results)."
    ] = 6,
) -> Change:
    """Drop old turns; the first and the last request of the user and standing rules stay."""
    if keep_turns < 1:
        raise UsageError("--keep-turns must be at least 1")
    found = turns(view.messages)
    if len(found) <= keep_turns:
        return Change(view.messages, (), "no more turns than are kept")
    old = view.messages[: found[-keep_turns].assistant]
    kept, gone = _split(old, pins.first_request(old) | _pinned(view.messages))
    if not gone:
        return Change(view.messages, (), "nothing to drop but what must stay")
    went = sum(1 for message, left in zip(old, kept, strict=True) if left is None and message)
    before = [mark for block in _blocks(old) if (mark := placeholders.read_pruned(block.text))]
    marker = _marker(view, gone, went, before)
    rest = [message for message in kept if message is not None]
    messages = merge_users([*_with_marker(rest, marker), *view.messages[len(old) :]])
    actions = [
        Action("prune", message.blocks[0].entry, tokens_before=sum(map(view.count, message.blocks)))
        for message in gone
    ]
    return Change(messages, actions, f"{number(went, 'message')} removed")


def _pinned(messages: Sequence[Message]) -> set[Place]:
    return pins.last_request(messages) | pins.rules(messages)


def _split(
    old: Sequence[Message], pinned: set[Place]
) -> tuple[list[Message | None], list[Message]]:
    """Part old messages into what stays of each (None: nothing) and what goes.

    The user blocks right before the first kept turn open it, so they stay.
    """
    kept: list[Message | None] = []
    gone: list[Message] = []
    for position, message in enumerate(old):
        opens = position == len(old) - 1 and message.role == "user"
        stays = [
            message.role == "system"
            or Place(position, at) in pinned
            or (opens and block.kind != "result")
            for at, block in enumerate(message.blocks)
        ]
        left = [b for b, stay in zip(message.blocks, stays, strict=True) if stay]
        lost = [b for b, stay in zip(message.blocks, stays, strict=True) if not stay]
        kept.append(replace_blocks(message, left) if left else None)
        if lost:
            gone.append(Message(message.role, tuple(lost)))
    return kept, gone


def _blocks(messages: Sequence[Message]) -> list[Block]:
    return [
        block
        for message in messages
        if message.role == "user"
        for block in message.blocks
        if block.kind == "text" and block.text.startswith(placeholders.CUT)
    ]


def _with_marker(kept: list[Message], marker: Block) -> list[Message]:
    """Put the marker behind the first request; an older marker goes."""
    messages: list[Message] = []
    placed = False
    for message in kept:
        blocks = [b for b in message.blocks if placeholders.read_pruned(b.text) is None]
        if message.role == "user" and not placed:
            blocks.append(marker)
            placed = True
        if blocks:
            messages.append(replace_blocks(message, blocks))
    return messages if placed else [*messages, Message("user", (marker,))]


def _marker(view: View, gone: list[Message], went: int, before: list[Pruned]) -> Block:
    """Write the placeholder: it takes in what an earlier one said and keeps within its size."""
    files = tools.files(gone)
    whole = Pruned(
        went + sum(mark.messages for mark in before),
        tools.union((path for mark in before for path in mark.read), files.read),
        tools.union((path for mark in before for path in mark.modified), files.modified),
        sum(mark.more_read for mark in before),
        sum(mark.more_modified for mark in before),
    )
    while view.counter.count(text := placeholders.pruned(whole)) > MARKER_TOKENS:
        whole = placeholders.shorter(whole)
    return Block("text", text, meta=True)
