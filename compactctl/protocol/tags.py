"""The members that tie entries together, read of every entry in one pass that skips all else."""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl import jsonio
from compactctl.loosen import loosen

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactctl.transcript import Transcript


class Tags:
    """Four members of every entry, by its index; None where an entry has none."""

    def __init__(self, transcript: Transcript) -> None:
        """Read them in one pass that skips all else."""
        every = _read(transcript)
        self.ids: list[str | None] = list(map(attrgetter("own"), every))
        self.parents: list[str | None] = list(map(attrgetter("parent"), every))
        self.types: list[str | None] = list(map(attrgetter("type"), every))
        self.numbers: list[int | None] = list(map(attrgetter("number"), every))


def _read(transcript: Transcript) -> list[Any]:
    """Decode the four members of each entry and nothing else."""
    module = transcript.format
    own, parent = module.LINK or (None, None)
    decode = _decoder(own, parent, getattr(module, "SEQUENCE", None))
    lines = [entry.raw for entry in transcript.entries]
    try:
        return list(map(decode, lines))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return [_read_odd(raw, decode) for raw in lines]


def _read_odd(raw: bytes, decode: Callable[[bytes], Any]) -> Any:
    try:
        return decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        pass
    try:
        value = jsonio.without_surrogates(jsonio.object_or_none(raw) or {})
    except RecursionError:
        value = {}
    return loosen(value, decode)[0]


@functools.cache
def _decoder(own: str | None, parent: str | None, number: str | None) -> Callable[[bytes], Any]:
    """Make the reader of the members by the names that a format gives them; None: it has none."""
    names = {"own": own, "parent": parent, "type": "type", "number": number}
    there = {key: name for key, name in names.items() if name}
    fields = [(key, (int if key == "number" else str) | None, None) for key in there]
    missing = {key: None for key in names if key not in there}
    tags = msgspec.defstruct("Tags", fields, namespace=missing, rename=there, gc=False)
    return msgspec.json.Decoder(tags).decode
