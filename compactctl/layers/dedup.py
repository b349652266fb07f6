"""Forget what was read from a file and read again later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from compactctl import placeholders
from compactctl.layers.base import Action, Change, View
from compactctl.layers.thinking import left_of
from compactctl.model import Block, Message, replace_blocks, result_text
from compactctl.text import plural
from compactctl.view import paths
from compactctl.view.builder import merge_users
from compactctl.view.pairs import Interaction, Place, block_at, open_loop, pair
from compactctl.view.reads import Read, ReadTool, named_read_tools, reads_of
from compactctl.view.tools import PROTECTED, keys_modified_by

EXAMPLE = "compactctl dedup session.jsonl --protect '*.rules' -o small.jsonl"


class Superseded(msgspec.Struct, frozen=True):
    """A read that may go: which interaction, what it read, and the calls that show it again."""

    interaction: Interaction
    paths: list[str]
    by: list[str]


def dedup(
    view: View,
    *,
    mode: Annotated[
        Literal["drop", "stub"],
        "drop takes out call and result; stub leaves a placeholder that names the later call.",
    ] = "drop",
    stale: Annotated[
        bool, "Also replace reads of files edited later, where a later full read exists."
    ] = False,
    read_tool: Annotated[
        list[str] | None,
        "NAME:KEY[:OFFSET:LIMIT], a tool that reads files and the keys of its input "
        "(may be given several times).",
    ] = None,
    protect: Annotated[
        list[str] | None,
        "Also keep every read of files that match this glob (may be given several times); "
        f"always kept: {', '.join(PROTECTED)}.",
    ] = None,
) -> Change:
    """Drop a read of a file, call and result, when a later successful read shows all of it."""
    messages = view.messages
    named = named_read_tools(read_tool or [])
    globs = (*PROTECTED, *(protect or ()))
    found = _superseded(messages, globs, named, stale=stale)
    found = _to_do(messages, found, drop=mode == "drop")
    changed = _drop(view, found) if mode == "drop" else _stub(view, found)
    verb = "dropped" if mode == "drop" else "replaced"
    note = f"{plural(len(changed[1]), 'superseded read')} {verb}"
    return Change(changed[0], changed[1], note)


def _to_do(
    messages: Sequence[Message], found: Sequence[Superseded], *, drop: bool
) -> list[Superseded]:
    """Leave out the reads of which only a placeholder is left; it goes with the call it names."""
    todo: list[Superseded] = []
    gone: set[str] = set()
    for superseded in reversed(found):
        assert superseded.interaction.result is not None
        result = block_at(messages, superseded.interaction.result)
        names = placeholders.read_superseded(result_text(result))
        if names is None or (drop and not gone.isdisjoint(names)):
            todo.append(superseded)
            gone.add(result.call_id or "")
    return todo[::-1]


def _superseded(
    messages: Sequence[Message],
    globs: tuple[str, ...],
    named: Sequence[ReadTool],
    *,
    stale: bool,
) -> list[Superseded]:
    """Give the reads that later ones show again, in order; the open loop is never touched.

    With ``stale``, a read before a successful edit of its file also goes when a full read comes
    later: what it shows is no longer so.
    """
    end = open_loop(messages)
    later: dict[str, list[tuple[Read, str | None]]] = {}
    edited: set[str] = set()
    found: list[Superseded] = []
    for interaction in reversed(pair(messages).interactions):
        if interaction.result is None:
            continue
        call, result = block_at(messages, interaction.call), block_at(messages, interaction.result)
        if stale and not result.failed:
            edited.update(keys_modified_by(call))
        reads = reads_of(call, result, named)
        if not reads or any(paths.matches(read.path, globs) for read in reads):
            continue
        by = [_shown_again(read, later, stale=read.key in edited) for read in reads]
        if interaction.call.message < end and all(who is not None for who in by):
            names = dict.fromkeys(read.path for read in reads)
            found.append(Superseded(interaction, [*names], [*dict.fromkeys(filter(None, by))]))
        else:
            for read in reads:
                later.setdefault(read.key, []).append((read, call.call_id))
    return found[::-1]


def _shown_again(
    read: Read, later: dict[str, list[tuple[Read, str | None]]], *, stale: bool
) -> str | None:
    """Give the id of the newest later call that shows this read's lines, or the whole file."""
    for other, call_id in later.get(read.key, []):
        if other.covers(read) or (stale and other.is_full):
            return call_id or ""
    return None


def _drop(view: View, found: Sequence[Superseded]) -> tuple[list[Message], list[Action]]:
    gone: set[Place] = set()
    actions: list[Action] = []
    for superseded in found:
        call, result = superseded.interaction.call, superseded.interaction.result
        assert result is not None
        gone |= {call, result}
        blocks = [block_at(view.messages, place) for place in (call, result)]
        tokens = sum(map(view.count, blocks))
        actions.append(Action("superseded-read", blocks[0].entry, blocks[0].call_id, tokens))
    return without(view.messages, gone), actions


def _stub(view: View, found: Sequence[Superseded]) -> tuple[list[Message], list[Action]]:
    """Replace results by a placeholder that names the surviving call, where that is shorter."""
    stubs: dict[Place, Block] = {}
    actions: list[Action] = []
    for superseded in found:
        place = superseded.interaction.result
        assert place is not None
        result = block_at(view.messages, place)
        text = placeholders.superseded(superseded.paths, superseded.by)
        first = next((p for p in result.content if p.kind == "text"), Block("text"))
        stub = msgspec.structs.replace(result, content=(msgspec.structs.replace(first, text=text),))
        before, after = view.count(result), view.count(stub)
        if after < before:
            stubs[place] = stub
            actions.append(Action("superseded-read", result.entry, result.call_id, before, after))
    messages = [
        replace_blocks(
            message, [stubs.get(Place(at, b), block) for b, block in enumerate(message.blocks)]
        )
        for at, message in enumerate(view.messages)
    ]
    return messages, actions


def without(messages: Sequence[Message], gone: set[Place]) -> list[Message]:
    """Take blocks out of a view, thinking with what it led to; an empty message goes with them."""
    touched = {place.message for place in gone}
    kept: list[Message] = []
    for position, message in enumerate(messages):
        if position not in touched:
            kept.append(message)
            continue
        stays = [Place(position, at) not in gone for at in range(len(message.blocks))]
        blocks = left_of(message.blocks, stays)
        if any(block.kind != "thinking" for block in blocks):
            kept.append(replace_blocks(message, blocks))
    return merge_users(kept)
