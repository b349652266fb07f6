"""Write a conversation as the lines of any format, through nothing but the format's own names.

What a line of a format can hold is found out by trying: a way of writing counts as one of the
format's ways when the view that is read back is the conversation that was written. So a new
format needs no line here.
"""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

from compactctl import formats
from compactctl.formats.base import Link
from compactctl.jsonl import exact
from compactctl.model import Message
from helpers.builders import assistant, call, identity, load, result, text, user

ENVELOPE = {"cwd": "/w", "sessionId": "s", "timestamp": "2026-01-05T08:00:00.000Z"}
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP8z8AARAwQCgAf7gMBJVKv4gAAAABJRU5E"
    "rkJggg=="
)
IMAGE = "(an image stands here)"
ODD_BLOCK = "(a block of a kind that nobody knows stands here)"
DOCUMENT = "(a document stands here)"
FACTS = "\n".join(f"fact {n} of a file that somebody put in" for n in range(40))
SHAPES = {
    IMAGE: (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    ),
    ODD_BLOCK: ({"type": "hologram", "scene": {"text": "a", "depth": 1e-07}, "data": "AAAA"},),
    DOCUMENT: (
        {
            "type": "document",
            "title": "facts",
            "source": {"type": "text", "media_type": "text/plain", "data": FACTS},
        },
    ),
}


class Way(NamedTuple):
    """How messages become lines: blocks of one ``together`` in a line, ``apart``, or ``woven``.

    ``woven``: each result stands right behind its call, between the blocks of the answer. Results
    may also stand in one line ``with the prompt`` that follows them.
    ``forks``: a result's parent is the line of its call, not the line before it.
    """

    prompt: str
    answer: str
    results: str
    forks: bool


class Mark(NamedTuple):
    """A line of this tool's own in the conversation: what stood before is out of the view."""

    record: dict


class Abandoned(NamedTuple):
    """Messages of a branch that the user went back from."""

    messages: tuple


WAYS = [
    Way(*each)
    for each in itertools.product(
        ("together", "apart"),
        ("together", "apart", "woven"),
        ("together", "apart", "with the prompt"),
        (False, True),
    )
]


@functools.cache
def ways(name):
    """The ways that a format reads back as they were meant."""
    has_links = formats.load(name).links is not None
    open_ways = [way for way in WAYS if has_links or not way.forks]
    return [way for way in open_ways if _reads_back(name, way)]


def _reads_back(name, way):
    said = [
        user("one", "two"),
        assistant("three", call("a"), call("b")),
        user(result("a", "four"), result("b", "five"), "six"),
        assistant("seven"),
        user("eight"),
    ]
    try:
        records = [record for record, _ in Scribe(name).write(said, lambda: way)]
        read = load([exact.dump(record) + b"\n" for record in records], name).messages
    except (KeyError, TypeError, ValueError, AssertionError):
        return False
    return _shape(read) == _shape(said)


def _shape(messages):
    return [(m.role, [(b.kind, b.call_id or b.text) for b in m.blocks]) for m in messages]


class Scribe:
    """Writes one conversation as records; ``link`` is the id that the next line follows."""

    def __init__(self, name):
        self.name = name
        self.format = formats.load(name)
        self.count = 0
        self.link = None
        self.like = ENVELOPE
        self.places = {}

    def write(self, conversation, draw_way):
        """Yield (record, its own id) of each line."""
        waiting = None
        for item in conversation:
            if waiting is not None:
                answer, waiting = waiting, None
                if isinstance(item, Message) and item.role == "user":
                    yield from self._exchange(answer, item, draw_way())
                    continue
                yield from self._exchange(answer, Message("user", ()), draw_way())
            if isinstance(item, Mark):
                yield item.record, None
            elif isinstance(item, Abandoned):
                yield from self._branch(item, draw_way)
            elif item.role == "assistant":
                waiting = item
            else:
                yield from self._blocks(item.role, item.blocks, draw_way().prompt)
        if waiting is not None:
            yield from self._exchange(waiting, Message("user", ()), draw_way())

    def odd(self, record):
        """Put ids into a record of an unknown kind, so that the chain runs through it."""
        own = self._identity()
        record = self._linked(record, own)
        self.link = own
        return record

    def _branch(self, item, draw_way):
        before = self.link
        yield from self.write(item.messages, draw_way)
        if self.format.links:
            self.link = before

    def _exchange(self, answer, reply, way):
        results = [block for block in reply.blocks if block.kind == "result"]
        rest = [block for block in reply.blocks if block.kind != "result"]
        identity = self._identity()
        if way.answer == "together":
            yield from self._lines("assistant", answer.blocks, identity)
        else:
            for block in answer.blocks:
                yield from self._lines("assistant", [block], identity)
                if way.answer == "woven":
                    own = [one for one in results if one.call_id == block.call_id]
                    yield from self._results(own, way)
        if way.results == "with the prompt" and results and way.answer != "woven":
            yield from self._lines("user", reply.blocks)
            return
        if way.answer != "woven":
            yield from self._results(results, way)
        if rest:
            yield from self._blocks("user", rest, way.prompt)

    def _results(self, results, way):
        if not results:
            return
        if way.results != "apart":
            yield from self._lines("user", results)
            return
        for block in results:
            if way.forks:
                self.link = self.places.get(block.call_id, self.link)
            yield from self._lines("user", [block])

    def _blocks(self, role, blocks, way):
        for group in [blocks] if way == "together" else [[block] for block in blocks]:
            yield from self._lines(role, group)

    def _lines(self, role, blocks, identity=None):
        """Write one line, or several where one holds less; ``identity`` is what they share."""
        own = self._identity()
        link = Link(identity or own, self.link)
        for at, record in enumerate(self.format.create(role, list(blocks), self.like, link)):
            linked = record
            if self.format.links:
                own = self._identity() if at else own
                linked = self._linked(record, own)
            self.link, self.like = own, linked
            self.places |= {block.call_id: own for block in blocks if block.kind == "call"}
            yield with_shapes(self.name, linked), own

    def _linked(self, record, own):
        links = self.format.links
        return record | {links.own: own, links.parent: self.link}

    def _identity(self):
        self.count += 1
        return identity(self.format, "scribe", self.count)


def with_shapes(name, value):
    """Replace the parts that only stand for an image or an odd block by real ones."""
    if isinstance(value, list):
        return [with_shapes(name, item) for item in value]
    if not isinstance(value, dict):
        return value
    for stand_in in SHAPES:
        if _stands_in(value, stand_in):
            return shape(name, stand_in) or value
    return {key: with_shapes(name, item) for key, item in value.items()}


def _stands_in(part, stand_in):
    return len(part) == 2 and "type" in part and stand_in in part.values()


@functools.cache
def shape(name, stand_in):
    """The form in which a format reads a block as an image, or as one that it does not know."""
    kind = {IMAGE: "image", DOCUMENT: "document", ODD_BLOCK: "other"}[stand_in]
    written_as = formats.load(name)
    for form in SHAPES[stand_in]:
        blocks = [text("x"), text(stand_in)]
        link = Link(identity(written_as, 0), None)
        written = written_as.create("user", blocks, ENVELOPE, link)
        lines = [exact.dump(_swap(record, stand_in, form)) + b"\n" for record in written]
        blocks = [block for message in load(lines, name).messages for block in message.blocks]
        if any(block.kind == kind and _is_whole(block) for block in blocks):
            return form
    return None


def _is_whole(block):
    return block.image is None or block.image.size > 0


def _swap(value, stand_in, form):
    if isinstance(value, list):
        return [_swap(item, stand_in, form) for item in value]
    if not isinstance(value, dict):
        return value
    if _stands_in(value, stand_in):
        return form
    return {key: _swap(item, stand_in, form) for key, item in value.items()}
