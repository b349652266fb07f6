"""The texts that stand where something was taken out: what, how much, how to get it back.

Each form has one writer and one reader here. A reader trusts nothing that it can check: a note of
a cut carries a digest of the text around it, so that a look-alike inside a tool's own output is
not taken for one of ours; a placeholder of messages carries one of itself, so that what a person
types stays theirs.

This is at the bottom of the import order, on the model alone: layers write these texts, and the
formats that have no flag for it read off them that a call failed.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Sequence

import msgspec

from compactctl.model import Block
from compactctl.pointers import ARTIFACT

CUT = "[compactctl: "
NO_RESULT = f"{CUT}no result was recorded, the call was interrupted]"
"""Stands for the result of a call that has none; formats without a flag read it as a failure."""

IMAGE = f"{CUT}image removed: "
"""Begins what stands for an image."""

MISSING_START = f"{CUT}what came before is missing]"
GAP = f"{CUT}a gap: the entry that came before is not in the file]"
"""What repair says where something is missing, in messages of its own."""

NUMBER = r"[0-9]{1,3}(?:,[0-9]{3}){0,9}"
"""A number as it is written here; of more digits it is none of ours, and Python may refuse it."""

_FAILED = ", the call failed"
"""Where no flag says so but the text, it has to go on doing so."""

_CUT = re.compile(
    rf"\n?\[compactctl: {NUMBER} of ({NUMBER}) tokens cut \(([0-9a-f]{{8}})\)"
    rf"({_FAILED})?(?:, whole in ({ARTIFACT}))?\]\n?"
)
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_CLEARED = re.compile(
    rf"\[compactctl: (?:tool result of {NUMBER} tokens cleared"
    rf"|{_QUOTED}, {NUMBER} tokens cleared)"
    rf"(?: \(([0-9a-f]{{8}})\))?({_FAILED})?(?:, (?:whole|text) in {ARTIFACT})?"
    r"(?:, removed with it: [^\n]+)?\](?:\n(.+))?",
    re.DOTALL,
)
_SUPERSEDED = re.compile(
    rf"\[compactctl: {_QUOTED}(?:, {_QUOTED})*(?:, and {NUMBER} more)? (?:was|were) read again"
    r"(?: by (.+))?, see there\]"
)
_NAMED = 10
"""Paths, calls or images that the placeholder of one result names."""
_CANDIDATES = 16
"""Look-alikes of a note that are checked in one text, each at the cost of a hash of it."""
_NAME = r"[^\s,\"\]\[]*[^\s,\"\]\[.]"
_ITEM = rf"(?:{_QUOTED}|{_NAME})"
_LIST = rf"(?:{_ITEM}(?:, {_ITEM})*(?:, and {NUMBER} more)?|and {NUMBER} more)"
_LONGEST = 10_000
"""Characters; a text beyond is none of ours, and matching it would only take time."""
_PLAIN = re.compile(_NAME)
_ITEMS = re.compile(_ITEM)
_MORE = re.compile(rf"(?:^|, )and ({NUMBER}) more$")


class Cut(msgspec.Struct, frozen=True):
    """A text that was cut before: what is left, its tokens when whole, where the whole is."""

    head: str
    tail: str
    original: int
    pointer: str | None = None
    failed: bool = False


def cut(whole: Cut, left: int) -> str:
    """Join the head and the tail around a note; ``left`` is how many tokens they have."""
    note = f"{CUT}{whole.original - left:,} of {whole.original:,} tokens cut ({_digest_of(whole)})"
    note += f"{_FAILED if whole.failed else ''}{_whole_in(whole.pointer)}]"
    before = f"{whole.head}\n" if whole.head else ""
    after = f"\n{whole.tail}" if whole.tail else ""
    return f"{before}{note}{after}"


def read_cut(text: str) -> Cut | None:
    """Recognise a text that :func:`cut` wrote."""
    if CUT not in text:
        return None
    for found in itertools.islice(_CUT.finditer(text), _CANDIDATES):
        head, tail = text[: found.start()], text[found.end() :]
        whole = Cut(head, tail, read_number(found[1]), found[4], found[3] is not None)
        if found[2] == _digest_of(whole):
            return whole
    return None


def _digest_of(whole: Cut) -> str:
    failed = ("failed",) if whole.failed else ()
    return _digest(str(whole.original), whole.pointer or "", whole.head, whole.tail, *failed)


def _digest(*said: str) -> str:
    import hashlib  # noqa: PLC0415 (3 ms and 4 MB, which no stage needs that meets no cut)

    return hashlib.sha256("\0".join(said).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def tells_failure(text: str) -> bool:
    """Return True if a note or a placeholder says that the call failed whose result it is in."""
    if _FAILED not in text:
        return False
    if (found := _cleared(text)) is not None:
        return found[2] is not None
    cut_out = read_cut(text)
    return cut_out is not None and cut_out.failed


def _whole_in(pointer: str | None) -> str:
    return f", whole in {pointer}" if pointer else ""


def cleared(
    original: int,
    pointer: str | None,
    images: Sequence[Block] = (),
    *,
    of: str = "",
    failed: bool = False,
    said: Sequence[str] = (),
) -> str:
    """Stand for a result that was taken out; ``original`` is its size in tokens.

    ``of`` is its call on one line, and ``said`` are lines of it that stay. What ``pointer`` leads
    to is its text: its ``images`` are kept nowhere, and are named.
    """
    what = f"{_quote(of)}," if of else "tool result of"
    rest = _FAILED if failed else ""
    rest += f", {'text' if images else 'whole'} in {pointer}" if pointer else ""
    rest += f", removed with it: {_some([_described(b) for b in images], '; ')}" if images else ""
    kept = "\n".join(said)
    digest = f" ({_digest(kept)})" if kept else ""
    note = f"{CUT}{what} {original:,} tokens cleared{digest}{rest}]"
    return f"{note}\n{kept}" if kept else note


def read_cleared(text: str) -> bool:
    """Return True for a whole text that :func:`cleared` wrote."""
    return _cleared(text) is not None


def _cleared(text: str) -> re.Match[str] | None:
    if not text.startswith(CUT) or len(text) > _LONGEST:
        return None
    found = _CLEARED.fullmatch(text)
    if found is None or (found[1] or "") != (_digest(found[3]) if found[3] else ""):
        return None
    return found


def superseded(paths: Sequence[str], by: Sequence[str]) -> str:
    """Stand for a read that later ones show again; ``by`` are the call ids of those."""
    said = _some([_quote(path) for path in paths])
    verb = "was" if len(paths) == 1 else "were"
    later = f" by {_some(by)}" if by else ""
    return f"{CUT}{said} {verb} read again{later}, see there]"


def _some(items: Sequence[str], comma: str = ", ") -> str:
    more = len(items) - _NAMED
    return comma.join([*items[:_NAMED], *([f"and {more:,} more"] if more > 0 else [])])


def is_superseded(text: str) -> bool:
    """Recognise a whole text that :func:`superseded` wrote."""
    return read_superseded(text) is not None


def read_superseded(text: str) -> list[str] | None:
    """Return the call ids that a text of :func:`superseded` names; None for any other text."""
    found = _SUPERSEDED.fullmatch(text) if len(text) <= _LONGEST else None
    return (found[1] or "").split(", ") if found else None


def of_image(block: Block) -> Block:
    """Stand for an image: its type, its dimensions and its size."""
    return msgspec.structs.replace(
        block, kind="text", text=f"{IMAGE}{_described(block)}]", image=None
    )


def _described(block: Block) -> str:
    image = block.image
    said = (image.media_type if image else "") or block.type or "image"
    if image and image.width and image.height:
        said += f", {image.width}×{image.height}"
    if image and image.size:
        said += f", {image.size:,} bytes"
    return said


READ, MODIFIED, ASKED = "Files read", "Files modified", "Asked"
ANSWERED, RULES = "The last request answers", "Rules"
FAILED, BRANCHES = "Failed", "Branches and commits"
_SHARES = {READ: 2, MODIFIED: 3, ASKED: 4, ANSWERED: 2, RULES: 3, FAILED: 3, BRANCHES: 1}
"""The lists of a prune placeholder, in order, and how much of the room each is worth."""


@functools.cache
def _pruned_form() -> re.Pattern[str]:
    return re.compile(
        rf"\[compactctl: ({NUMBER}) earlier messages? removed \([0-9a-f]{{8}}\)\."
        + "".join(rf"(?: {name}: ({_LIST})\.)?" for name in _SHARES)
        + rf"(?: Whole in ({ARTIFACT}(?:, {ARTIFACT})*))?\]",
        re.DOTALL,
    )


class Pruned(msgspec.Struct, frozen=True):
    """What a prune placeholder says: lists by their names, each with the newest first.

    ``more`` counts, by list, the items that had no room.
    """

    messages: int
    lists: dict[str, list[str]] = {}
    more: dict[str, int] = {}
    pointers: tuple[str, ...] = ()

    def items(self, name: str) -> list[str]:
        """Return the items of a list."""
        return self.lists.get(name, [])


def pruned(what: Pruned) -> str:
    """Return the placeholder for messages that went, with what they held."""
    noun = "message" if what.messages == 1 else "messages"
    rest = ""
    for name in _SHARES:
        items, more = what.items(name), what.more.get(name, 0)
        if items or more:
            rest += f" {name}: {_list(items, more)}."
    if what.pointers:
        rest += f" Whole in {', '.join(what.pointers)}"
    digest = _digest(str(what.messages), "", noun, rest)
    return f"{CUT}{what.messages:,} earlier {noun} removed ({digest}).{rest}]"


def newest(what: Pruned, most: int) -> Pruned:
    """Leave out items until no more than ``most`` of a list are left, the oldest first."""
    for name in _SHARES:
        what = _without_last(what, name, len(what.items(name)) - most)
    return what


def shorter(what: Pruned, part: int = 10) -> Pruned:
    """Leave out one ``part`` of the list that is furthest above its share, the oldest items."""
    size = {name: sum(map(len, what.items(name))) / share for name, share in _SHARES.items()}
    name = max(size, key=lambda name: size[name])
    many = len(what.items(name))
    if many:
        return _without_last(what, name, max(1, many // part))
    return msgspec.structs.replace(what, pointers=what.pointers[1:])


def _without_last(what: Pruned, name: str, many: int) -> Pruned:
    if many <= 0:
        return what
    left = what.lists | {name: what.items(name)[:-many]}
    more = what.more | {name: what.more.get(name, 0) + many}
    return msgspec.structs.replace(what, lists=left, more=more)


def read_pruned(text: str) -> Pruned | None:
    """Recognise a whole text that :func:`pruned` wrote."""
    if not text.startswith(CUT) or len(text) > _LONGEST:
        return None
    found = _pruned_form().fullmatch(text)
    if not found:
        return None
    try:
        lists = {name: _unlist(found[at]) for at, name in enumerate(_SHARES, 2)}
    except ValueError:  # quoted as we do not
        return None
    pointers = found[found.re.groups]
    what = Pruned(
        read_number(found[1]),
        {name: items for name, (items, _) in lists.items() if items},
        {name: more for name, (_, more) in lists.items() if more},
        tuple(pointers.split(", ")) if pointers else (),
    )
    return what if pruned(what) == text else None


def is_note(text: str) -> bool:
    """Recognise a whole text that this tool put in where messages went or are missing."""
    return text in {MISSING_START, GAP} or read_pruned(text) is not None


def _list(paths: list[str], more: int) -> str:
    """Write paths so that none can end the list or forge another: odd ones are quoted."""
    items = [p if _PLAIN.fullmatch(p) else _quote(p) for p in paths]
    return ", ".join([*items, *([f"and {more:,} more"] if more else [])])


def _quote(path: str) -> str:
    try:
        return msgspec.json.encode(path).decode()
    except UnicodeError:  # half of a surrogate pair
        return json.dumps(path)


def _unlist(text: str | None) -> tuple[list[str], int]:
    if not text:
        return [], 0
    rest = _MORE.search(text)
    items = _ITEMS.findall(text[: rest.start()] if rest else text)
    paths = [json.loads(i) if i.startswith('"') else i for i in items]
    return paths, read_number(rest[1]) if rest else 0


def read_number(text: str) -> int:
    """Read what :data:`NUMBER` matches."""
    return int(text.replace(",", ""))
