"""The texts that stand where something was taken out: what, how much, how to get it back.

Each form has one writer and one reader here. A reader trusts nothing that it can check: a note of
a cut carries a digest of the text around it, so that a look-alike inside a tool's own output is
not taken for one of ours.
"""

from __future__ import annotations

import hashlib
import re

import msgspec

CUT = "[compactctl: "

_CUT = re.compile(r"\n?\[compactctl: [\d,]+ of ([\d,]+) tokens cut \(([0-9a-f]{8})\)\]\n?")
_PRUNED = re.compile(
    r"\[compactctl: ([\d,]+) earlier messages? removed\.(?: Files read: (.*?)\.)?"
    r"(?: Files modified: (.*?)\.)?\]",
    re.DOTALL,
)
_LONGEST = 10_000
"""Characters; a text beyond is none of ours, and matching it would only take time."""
_PLAIN = re.compile(r"[^\s,\"\]\[]*[^\s,\"\]\[.]")
_ITEM = re.compile(r'"(?:[^"\\]|\\.)*"|[^,\s]+')
_MORE = re.compile(r"(?:^|, )and ([\d,]+) more$")


class Cut(msgspec.Struct, frozen=True):
    """A text that was cut before: what is left of it, and its size in tokens when whole."""

    head: str
    tail: str
    original: int


def cut(head: str, tail: str, original: int, left: int) -> str:
    """Join ``head`` and ``tail`` around a note; ``original`` and ``left`` are tokens."""
    note = f"{CUT}{original - left:,} of {original:,} tokens cut ({_digest(head, tail, original)})]"
    before = f"{head}\n" if head else ""
    after = f"\n{tail}" if tail else ""
    return f"{before}{note}{after}"


def read_cut(text: str) -> Cut | None:
    """Recognise a text that :func:`cut` wrote."""
    if CUT not in text:
        return None
    for found in _CUT.finditer(text):
        head, tail = text[: found.start()], text[found.end() :]
        original = int(found[1].replace(",", ""))
        if found[2] == _digest(head, tail, original):
            return Cut(head, tail, original)
    return None


def _digest(head: str, tail: str, original: int) -> str:
    whole = f"{original}\0{head}\0{tail}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(whole).hexdigest()[:8]


class Pruned(msgspec.Struct, frozen=True):
    """What a prune placeholder says; ``more_…`` counts paths that had no room."""

    messages: int
    read: list[str]
    modified: list[str]
    more_read: int = 0
    more_modified: int = 0


def pruned(what: Pruned) -> str:
    """Say how many messages went and which files they read and modified."""
    noun = "message" if what.messages == 1 else "messages"
    text = f"{CUT}{what.messages:,} earlier {noun} removed."
    if what.read or what.more_read:
        text += f" Files read: {_list(what.read, what.more_read)}."
    if what.modified or what.more_modified:
        text += f" Files modified: {_list(what.modified, what.more_modified)}."
    return text + "]"


def shorter(what: Pruned) -> Pruned:
    """Leave out about a tenth of the paths, the oldest, of those read as long as there are any."""
    if what.read:
        many = max(1, len(what.read) // 10)
        return msgspec.structs.replace(
            what, read=what.read[many:], more_read=what.more_read + many
        )
    many = max(1, len(what.modified) // 10)
    return msgspec.structs.replace(
        what, modified=what.modified[many:], more_modified=what.more_modified + many
    )


def read_pruned(text: str) -> Pruned | None:
    """Recognise a whole text that :func:`pruned` wrote."""
    found = (
        _PRUNED.fullmatch(text) if text.startswith(CUT) and len(text) <= _LONGEST else None
    )
    if not found:
        return None
    read, more_read = _unlist(found[2])
    modified, more_modified = _unlist(found[3])
    return Pruned(_int(found[1]), read, modified, more_read, more_modified)


def _list(paths: list[str], more: int) -> str:
    """Write paths so that none can end the list or forge another: odd ones are quoted."""
    items = [p if _PLAIN.fullmatch(p) else msgspec.json.encode(p).decode() for p in paths]
    return ", ".join([*items, *([f"and {more:,} more"] if more else [])])


def _unlist(text: str | None) -> tuple[list[str], int]:
    if not text:
        return [], 0
    rest = _MORE.search(text)
    items = _ITEM.findall(text[: rest.start()] if rest else text)
    paths = [msgspec.json.decode(i, type=str) if i.startswith('"') else i for i in items]
    return paths, _int(rest[1]) if rest else 0


def _int(text: str) -> int:
    return int(text.replace(",", ""))

