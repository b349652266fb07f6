"""Forget what was read from a file and read again later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from compactctl import paths
from compactctl.layer import Action, Change, View, number
from compactctl.model import Message, replace_blocks
from compactctl.protocol.pairs import Interaction, Place, block_at, open_loop, pair
from compactctl.assemble import merge_users
from compactctl.tools import PROTECTED, Read, read_of

EXAMPLE = "compactctl dedup session.jsonl --protect '*.rules' -o small.jsonl"


def dedup(
    view: View,
    *,
    protect: Annotated[
        list[str] | None,
        "Also keep every read of files that match this glob (may be given several times); "
        f"always kept: {', '.join(PROTECTED)}.",
    ] = None,
) -> Change:
    """Drop a read of a file, call and result, when a later successful read shows all of it."""
    messages = view.messages
    globs = (*PROTECTED, *(protect or ()))
    gone: set[Place] = set()
    actions: list[Action] = []
    for interaction in _superseded(messages, globs):
        assert interaction.result is not None
        call, result = (block_at(messages, p) for p in (interaction.call, interaction.result))
        gone |= {interaction.call, interaction.result}
        tokens = view.count(call) + view.count(result)
        actions.append(Action("superseded-read", call.entry, call.call_id, tokens))
    return Change(
        without(messages, gone), actions, f"{number(len(actions), 'superseded read')} dropped"
    )


def _superseded(messages: Sequence[Message], globs: tuple[str, ...]) -> list[Interaction]:
    """Give the reads that a later one covers; the open loop is never touched."""
    end = open_loop(messages)
    latest: dict[str, list[Read]] = {}
    found: list[Interaction] = []
    for interaction in reversed(pair(messages).interactions):
        if interaction.result is None:
            continue
        read = read_of(
            block_at(messages, interaction.call), block_at(messages, interaction.result)
        )
        if read is None or paths.matches(read.path, globs):
            continue
        later = latest.setdefault(read.key, [])
        if interaction.call.message < end and any(other.covers(read) for other in later):
            found.append(interaction)
        else:
            later.append(read)
    return found[::-1]


def without(messages: Sequence[Message], gone: set[Place]) -> list[Message]:
    """Take blocks out of a view; a message that keeps nothing but thinking goes with them."""
    kept: list[Message] = []
    for position, message in enumerate(messages):
        blocks = [
            block for at, block in enumerate(message.blocks) if Place(position, at) not in gone
        ]
        new = replace_blocks(message, blocks)
        if new is message or any(block.kind != "thinking" for block in blocks):
            kept.append(new)
    return merge_users(kept)
