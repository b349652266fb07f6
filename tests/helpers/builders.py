"""Short ways to say a view, and to write one as the lines of any format."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from compactctl import formats, layers
from compactctl.formats.base import Link
from compactctl.jsonl import exact
from compactctl.layers.base import Action, Context
from compactctl.layers.thinking import stale_thinking
from compactctl.model import Block, Message
from compactctl.tokens import load_counter
from compactctl.transcript import loading
from compactctl.transcript import rewrite as rewriting
from compactctl.transcript.rewrite import changed_entries
from compactctl.view.compare import first_change
from compactctl.view.edits import apply
from compactctl.view.index import View

COUNTER = load_counter("o200k_base")

TIGHT = {
    "truncate": {"max_tokens": 60},
    "dedup": {},
    "prune": {"keep_turns": 1},
    "summarize": {"summarizer": "template", "max_summary_tokens": 300, "keep_messages": 2},
}
"""Options with which every layer changes a session of a few turns."""


def text(words, **members):
    return Block("text", words, **members)


def thinking(words="hm"):
    return Block("thinking", words)


def call(call_id, tool="Bash", cwd="", **arguments):
    return Block("call", json.dumps(arguments), call_id, tool, cwd=cwd)


def read(call_id, path="/w/a.py", tool="Read", cwd="", **window):
    return call(call_id, tool, cwd, file_path=path, **window)


def result(call_id, *pieces, failed=False, path=None):
    """A result of texts; blocks among the pieces stay what they are."""
    content = tuple(text(p) if isinstance(p, str) else p for p in pieces or ("ok",))
    return Block("result", call_id=call_id, content=content, failed=failed, path=path)


def user(*pieces):
    return Message("user", tuple(text(p) if isinstance(p, str) else p for p in pieces))


def assistant(*pieces):
    return Message("assistant", tuple(text(p) if isinstance(p, str) else p for p in pieces))


def system(words):
    return Message("system", (text(words),))


def exchange(call_id, *answer, tool="Bash", failed=False, **arguments):
    """An assistant message with one call, and the user message with its result."""
    return [
        assistant(call(call_id, tool, **arguments)),
        user(result(call_id, *answer, failed=failed)),
    ]


def reading(call_id, *answer, path="/w/a.py", failed=False, **window):
    return exchange(call_id, *answer, tool="Read", failed=failed, file_path=path, **window)


def view(*messages, counter=COUNTER):
    """A view whose blocks have entries of their own, as if each were a line."""
    numbered, entry = [], 0
    for message in messages:
        blocks = []
        for block in message.blocks:
            blocks.append(msgspec.structs.replace(block, entry=entry))
            entry += 1
        numbered.append(Message(message.role, tuple(blocks)))
    return Seen(View(numbered), counter)


class Seen(Context, frozen=True):
    """What a layer works on, with its messages at hand."""

    @property
    def messages(self):
        return self.view.messages


class Applied(NamedTuple):
    """What a layer made of a view."""

    messages: Sequence[Message]
    actions: Sequence[Action]
    note: str
    mark: dict | None


def applied(layer):
    """The function of a layer that gives the view behind its change instead of the change."""

    @functools.wraps(layer)
    def run(context, *given, protect=(), **options):
        context = msgspec.structs.replace(context, protect=tuple(protect))
        change = layer(context, *given, **options)
        new = context.messages
        if change.edits or change.insert:
            new = apply(new, change.edits, change.insert)
        return Applied(new, change.actions, change.note, change.mark)

    return run


truncate = applied(layers.load("truncate").run)
dedup = applied(layers.load("dedup").run)
prune = applied(layers.load("prune").run)
summarize = applied(layers.load("summarize").run)


def ids(messages, kind="call"):
    """The call ids in a view, in order: what is left after a layer."""
    return [b.call_id for m in messages for b in m.blocks if b.kind == kind]


def texts(messages, role=None):
    said = [m for m in messages if role in {None, m.role}]
    return [b.text for m in said for b in m.blocks if b.kind == "text"]


def roles(messages):
    return "".join(message.role[0] for message in messages)


def lines(*messages, format_name="messages"):
    """Write a view the plain way: a line a message, or a line a block where one is needed."""
    form = formats.load(format_name)
    return [exact.dump(record) + b"\n" for record in records(form, messages)]


def records(form, messages):
    parent, like = None, {"cwd": "/w", "sessionId": "s"}
    for number, message in enumerate(messages):
        own = identity(form, number)
        written = form.create(message.role, list(message.blocks), like, Link(own, parent))
        yield from written
        like = written[-1]
        parent = like[form.links.own] if form.links else own


def identity(form, *number):
    return form.new_id(hashlib.sha256(repr(number).encode()).hexdigest())


def plain(block):
    """A block without what says where it stands, its JSON in one spelling."""
    words = json.loads(block.text) if block.kind == "call" else block.text
    pieces = [plain(piece) for piece in block.content]
    named = block.call_id, block.tool, block.type
    return block.kind, words, named, pieces, block.failed, block.image


def said(messages):
    """What is said, in order; where a message ends, some formats do not say."""
    return [(message.role, plain(block)) for message in messages for block in message.blocks]


def settle(old, new, mode):
    """The messages of a changed view without the thinking that may not stay."""
    stale = stale_thinking(new, first_change(old, new), mode)
    return apply(new, stale) if stale else new


def rewrite(found, messages, mark=None):
    """Write a changed view; what changed is told by identity."""
    return rewriting.rewrite(found, messages, changed_entries(found.messages, messages), mark)


def write(found, messages, mark=None):
    """The same, and read back: (the lines, what they say)."""
    return rewriting.write(found, messages, changed_entries(found.messages, messages), mark)


def changed(found, layer, given):
    """The view that a layer makes of a transcript before it is written: (messages, mark)."""
    old = found.messages
    change = layers.load(layer).run(Context(View(old), COUNTER), **given)
    new = apply(old, change.edits, change.insert)
    return settle(old, new, "auto"), change.mark


def load(written, format_name=None):
    return loading.load(written, "test", format_name)
