"""Forget what was read from a file and read again later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from compactctl import placeholders
from compactctl.layers.base import Action, Change, Context, Layer
from compactctl.layers.thinking import left_of
from compactctl.model import Block, Message, result_text
from compactctl.text import plural
from compactctl.view.edits import Key, key
from compactctl.view.index import Answered, View
from compactctl.view.pairs import Place
from compactctl.view.protected import Protected
from compactctl.view.reads import Read, ReadTool, named_read_tools, reads_of
from compactctl.view.reasoning import lets_go
from compactctl.view.shown import Later
from compactctl.view.tools import keys_modified_by


class Superseded(msgspec.Struct, frozen=True):
    """A read that may go: its call and result, its paths, and the calls that show them again."""

    found: Answered
    paths: list[str]
    by: list[str]


def dedup(
    context: Context,
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
) -> Change:
    """Drop a read of a file, call and result, when a later successful read shows all of it."""
    named = named_read_tools(read_tool or [])
    every = superseded(
        context.view,
        context.protected,
        named,
        stale=stale,
        drop=mode == "drop",
        flags_failures=context.flags_failures,
    )
    found = _to_do(every, drop=mode == "drop")
    edits, actions = (_drop if mode == "drop" else _stub)(context, found)
    verb = "dropped" if mode == "drop" else "replaced"
    return Change(edits, None, actions, f"{plural(len(actions), 'superseded read')} {verb}")


def superseded(
    view: View,
    protected: Protected,
    named: Sequence[ReadTool] = (),
    *,
    stale: bool = False,
    drop: bool = True,
    flags_failures: bool = True,
) -> list[Superseded]:
    """Return the reads that later ones show again, in order; the open loop is never touched.

    With ``stale``, a read before a successful edit of its file also goes when a full read comes
    later: what it shows is no longer so. Protected files are left alone. Where no flag says that a
    call failed, a later read counts only for what it visibly holds. With ``drop``, a call that
    carries the signature of its step is left alone where other calls of the step stay.
    """
    later: dict[str, Later] = {}
    edited: set[str] = set()
    goes: list[Superseded] = []
    for found in reversed(view.answered):
        if stale and not found.result.failed:
            edited.update(keys_modified_by(found.call))
        reads = reads_of(found.call, found.result, named)
        if not reads or any(protected.names(read.path) for read in reads):
            continue
        by: list[str | None] = []
        if found.call_at.message < view.open_loop:
            by = [_shown_again(read, found.result, later, edited) for read in reads]
        if by and all(who is not None for who in by):
            names = dict.fromkeys(read.path for read in reads)
            goes.append(Superseded(found, [*names], [*dict.fromkeys(filter(None, by))]))
            continue
        for read in reads:
            if read.key not in later:
                later[read.key] = Later(flags_failures=flags_failures)
            later[read.key].add(read, found.result, found.call.call_id or "")
    if drop and any(read.found.call.bound for read in goes):
        gone = {read.found.call_at for read in goes}
        goes = [read for read in goes if lets_go(view, read.found.call_at, gone)]
    return goes[::-1]


def _shown_again(
    read: Read, result: Block, later: dict[str, Later], edited: set[str]
) -> str | None:
    """Return the id of a later call that shows this read's lines, or the whole file."""
    if read.key not in later:
        return None
    whole = later[read.key].whole() if read.key in edited else None
    return later[read.key].shows(read, result) if whole is None else whole


def _to_do(every: Sequence[Superseded], *, drop: bool) -> list[Superseded]:
    """Leave out reads of which only a placeholder is left; it goes with the call that it names."""
    todo: list[Superseded] = []
    gone: set[str] = set()
    for read in reversed(every):
        names = placeholders.read_superseded(result_text(read.found.result))
        if names is None or (drop and not gone.isdisjoint(names)):
            todo.append(read)
            gone.add(read.found.result.call_id or "")
    return todo[::-1]


def _drop(
    context: Context, reads: Sequence[Superseded]
) -> tuple[dict[Key, Block | None], list[Action]]:
    gone: set[Place] = set()
    actions: list[Action] = []
    for read in reads:
        call, result = read.found.call, read.found.result
        gone |= {read.found.call_at, read.found.result_at}
        tokens = context.count(call) + context.count(result)
        actions.append(Action("superseded-read", call.entry, call.call_id, tokens))
    return without(context.view.messages, gone), actions


def _stub(
    context: Context, reads: Sequence[Superseded]
) -> tuple[dict[Key, Block | None], list[Action]]:
    """Replace results by a placeholder that names the surviving call, where that is shorter."""
    edits: dict[Key, Block | None] = {}
    actions: list[Action] = []
    for read in reads:
        result = read.found.result
        text = placeholders.superseded(read.paths, read.by)
        first = next((p for p in result.content if p.kind == "text"), Block("text"))
        stub = msgspec.structs.replace(result, content=(msgspec.structs.replace(first, text=text),))
        before, after = context.count(result), context.count(stub)
        if after < before:
            edits[key(result)] = stub
            actions.append(Action("superseded-read", result.entry, result.call_id, before, after))
    return edits, actions


def without(messages: Sequence[Message], gone: set[Place]) -> dict[Key, Block | None]:
    """Return the edits that take blocks out of a view, thinking with all that it led to."""
    edits: dict[Key, Block | None] = {}
    for position in {place.message for place in gone}:
        blocks = messages[position].blocks
        left = left_of(blocks, [Place(position, at) not in gone for at in range(len(blocks))])
        stays = set(map(key, left)) if any(block.kind != "thinking" for block in left) else set()
        edits |= dict.fromkeys(name for name in map(key, blocks) if name not in stays)
    return edits


LAYER = Layer(dedup, example="compactctl dedup session.jsonl --protect '*.rules' -o small.jsonl")
