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
from compactctl.view.reads import ReadTool, named_read_tools, reads_of
from compactctl.view.reasoning import lets_go
from compactctl.view.shown import Later
from compactctl.view.tools import Edits


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
    return Change(edits, None, actions, _note(actions, "dropped" if mode == "drop" else "replaced"))


def _note(actions: Sequence[Action], verb: str) -> str:
    """Say what is dedup's own; thinking that went with what it led to has its own name."""
    thoughts = [action for action in actions if action.rule == "thinking"]
    note = f"{plural(len(actions) - len(thoughts), 'superseded read')} {verb}"
    if not thoughts:
        return note
    tokens = sum(action.tokens_before for action in thoughts)
    return f"{note}, thinking: {plural(len(thoughts), 'block')}, {plural(tokens, 'token')}"


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
    edits = Edits(view.answered)
    goes: list[Superseded] = []
    for at, found in reversed([*enumerate(view.answered)]):
        reads = reads_of(found.call, found.result, named)
        if not reads or any(protected.names(read.path) for read in reads):
            continue
        by: list[str | None] = [None]
        if found.result_at.message < view.open_loop and all(read.key in later for read in reads):
            by = [
                (
                    stale
                    and edits.between(read.key, at, len(view.answered))
                    and later[read.key].whole()
                )
                or later[read.key].shows(read, found.result, at)
                for read in reads
            ]
        if all(who is not None for who in by):
            names = dict.fromkeys(read.path for read in reads)
            goes.append(Superseded(found, [*names], [*dict.fromkeys(filter(None, by))]))
            continue
        for read in reads:
            if read.key not in later:
                later[read.key] = Later(edits, flags_failures=flags_failures)
            later[read.key].add(read, found.result, at, found.call.call_id or "")
    if drop and any(read.found.call.bound for read in goes):
        gone = {read.found.call_at for read in goes}
        goes = [read for read in goes if lets_go(view, read.found.call_at, gone)]
    return goes[::-1]


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
    edits = without(context.view.messages, gone)
    actions += [
        Action("thinking", block.entry, None, context.count(block))
        for position in sorted({place.message for place in gone})
        for block in context.view.messages[position].blocks
        if block.kind == "thinking" and key(block) in edits
    ]
    return edits, actions


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
