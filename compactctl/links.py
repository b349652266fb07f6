"""Keep the chain of parents whole when entries go or come.

Harnesses rebuild a session by walking from the last entry to its parent and so on, through
progress and metadata lines too: an entry whose parent is gone would hide everything before it.
"""

from __future__ import annotations

import bisect
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl import jsonio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compactctl.lines import Entry
    from compactctl.model import Block, Role
    from compactctl.transcript import Transcript


class Made(msgspec.Struct, frozen=True):
    """A new line: what it holds, and the entries (by index) that it goes before and after."""

    role: Role
    blocks: list[Block]
    before: int
    after: int


def create(
    transcript: Transcript, made: Sequence[Made], changed: dict[int, bytes | None]
) -> list[tuple[int, bytes]]:
    """Write the new lines as (index of the entry that follows, bytes) and re-parent children.

    ``changed`` maps entries to their new bytes, None for dropped; lines whose parent is replaced
    are added to it.
    """
    module = transcript.format
    if module.LINK is None:
        return [
            (new.before, jsonio.dump(record))
            for new in made
            for record in _write(transcript, new, _identity(new, ""), None)
        ]
    if not made and None not in changed.values():
        return []
    tree = _Tree(transcript.entries, module.LINK, changed)
    created: list[tuple[int, bytes]] = []
    for new in made:
        parent = tree.parent_for(new)
        identity = module.identity(_identity(new, parent or ""))
        records = _write(transcript, new, identity, parent)
        created += [(new.before, jsonio.dump(record)) for record in records]
        for record in records:
            tree.insert(new.before, record.get(module.LINK[0], identity))
    _adopt(transcript, tree, changed)
    return created


def _identity(new: Made, parent: str) -> str:
    """Derive an id from content, so that the same input gives the same output."""
    digest = hashlib.sha256(f"{parent}\n{new.role}\n".encode())
    for block in new.blocks:
        digest.update(repr(block).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _write(
    transcript: Transcript, new: Made, identity: str, parent: str | None
) -> list[dict[str, Any]]:
    """Give the records that hold ``new``: one, or several where a line holds less than a run."""
    near = new.before if new.before < len(transcript.entries) else new.after
    like = _object(transcript.entries[near].raw) if near >= 0 else {}
    written = transcript.format.create(new.role, new.blocks, like, identity, parent)
    return written if isinstance(written, list) else [written]


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = jsonio.parse(raw)
    except jsonio.NotJsonError:
        return {}
    return value if isinstance(value, dict) else {}


class _Tree:
    """Ids and parents of all entries, which of them are gone, and which lines are new."""

    def __init__(
        self, entries: Sequence[Entry], link: tuple[str, str], changed: dict[int, bytes | None]
    ) -> None:
        decode = _decoder(*link)
        self.ids: list[str | None] = []
        self.parents: list[str | None] = []
        self.places: dict[str, int] = {}
        self.gone: dict[str, str | None] = {}
        self.heirs: dict[str, str] = {}
        self._survivors: dict[str, str | None] = {}
        self._before: list[int] = []
        self._made: list[str] = []
        for index, entry in enumerate(entries):
            own, parent = decode(entry.raw)
            self.ids.append(own)
            self.parents.append(parent)
            if own is not None:
                if index in changed and changed[index] is None:
                    self.gone[own] = parent
                else:
                    self.places[own] = index
        for own in self.places:
            self.gone.pop(own, None)  # a second entry of the same id stays

    def insert(self, before: int, identity: str) -> None:
        """Note a new line in front of entry ``before``; no earlier one stands behind it."""
        self._before.append(before)
        self._made.append(identity)

    def surviving(self, parent: str | None) -> str | None:
        """Give the nearest ancestor that stays, from ``parent`` on; None for the root."""
        passed: set[str] = set()
        while parent in self.gone and parent not in passed and parent not in self._survivors:
            passed.add(parent)
            parent = self.gone[parent]
        if parent in passed:  # a cycle of parents, all of them gone
            parent = None
        elif parent in self._survivors:
            parent = self._survivors[parent]
        self._survivors.update(dict.fromkeys(passed, parent))  # a long stretch is walked once
        return parent

    def parent_for(self, new: Made) -> str | None:
        """Give the parent of a new line."""
        if new.before < len(self.parents):
            parent = self.parent_at(new.before)
            # A parent that is nowhere may be shared: beside its other children a new line would
            # be a branch that was given up.
            return parent if parent in self.places or parent in self._made else None
        return self._behind(self.surviving(self.ids[new.after]) if new.after >= 0 else None)

    def parent_at(self, index: int) -> str | None:
        """Give the parent for entry ``index`` now.

        A new line between an entry and its parent comes between the two; an entry whose parent
        is none of this file takes only a line that was put right in front of it, one without an
        id none at all: it is no part of the tree.
        """
        old = self.parents[index]
        parent = self.surviving(old)
        if self.ids[index] is None:
            return parent
        if parent in self.places or old in self.gone or index in self._before:
            return self._behind(parent, index)
        return parent

    def _behind(self, parent: str | None, index: int | None = None) -> str | None:
        """Give the last new line in front of entry ``index`` if it stands behind ``parent``."""
        many = len(self._before) if index is None else bisect.bisect_right(self._before, index)
        place = self.places.get(parent, -1) if parent is not None else -1
        return self._made[many - 1] if many and self._before[many - 1] > place else parent

    def inherit(self, index: int) -> None:
        """Note who is the first of what follows each entry that went, from ``index`` up."""
        gone, heir = self.parents[index], self.ids[index]
        if gone not in self.gone:
            return
        parent = self.surviving(gone)
        place = self.places.get(parent, -1) if parent is not None else -1
        first = bisect.bisect_right(self._before, place)
        if first < bisect.bisect_right(self._before, index):
            heir = self._made[first]
        while gone in self.gone and heir is not None and gone not in self.heirs:
            self.heirs[gone] = heir
            gone = self.gone[gone]

    def now(self, own: str) -> list[str]:
        """Give what stands at the place of an entry: new lines in front of it, and itself."""
        place = self.places.get(own)
        if place is None:
            return [] if own in self.gone else [own]
        first = bisect.bisect_left(self._before, place)
        return [*self._made[first : bisect.bisect_right(self._before, place)], own]

    def between(self, first: str, last: str) -> list[str]:
        """Give the same for all entries from ``first`` to ``last``."""
        if first not in self.ids or last not in self.ids:
            return []
        own = self.ids[self.ids.index(first) : self.ids.index(last) + 1]
        return [new for one in own if one is not None for new in self.now(one)]

    def first(self, own: str) -> str:
        """Give the first line of what follows from an entry on."""
        if own in self.gone:
            return self.heirs.get(own) or self.surviving(own) or own
        return self.now(own)[0]


def _decoder(own: str, parent: str) -> Callable[[bytes], tuple[str | None, str | None]]:
    """Make a reader of two members that skips all else."""
    record = msgspec.defstruct(
        "Link",
        [("own", Any, None), ("parent", Any, None)],
        rename={"own": own, "parent": parent},
        gc=False,
    )
    decode = msgspec.json.Decoder(record).decode

    def read(raw: bytes) -> tuple[str | None, str | None]:
        try:
            link: Any = decode(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            value = _object(raw)
            ids = value.get(own), value.get(parent)
        else:
            ids = link.own, link.parent
        return tuple(item if isinstance(item, str) else None for item in ids)  # type: ignore[return-value]  # two items by construction

    return read


def _adopt(transcript: Transcript, tree: _Tree, changed: dict[int, bytes | None]) -> None:
    """Give a new parent to each entry that lost its own or now follows a new line."""
    key = transcript.format.LINK[1]
    for index, old in enumerate(tree.parents):
        if index in changed and changed[index] is None:
            continue
        new = tree.parent_at(index)
        if new != old:
            _change(transcript, changed, index, (key, old, new))
        tree.inherit(index)
    for index in range(len(tree.parents)):
        for also in transcript.format.ALSO_LINKED if tree.gone else ():
            _follow(transcript, tree, changed, index, also)
        _relink(transcript, tree, changed, index)


def _relink(
    transcript: Transcript, tree: _Tree, changed: dict[int, bytes | None], index: int
) -> None:
    """Let a line that names what it keeps of the lines before it name what is left of them."""
    raw = changed.get(index, transcript.entries[index].raw)
    keys = getattr(transcript.format, "RELINKED", ())
    if raw is None or not any(key in raw for key in keys):
        return
    record = _object(raw)
    new = transcript.format.relink(record, tree)
    if new != record:
        changed[index] = jsonio.dump(new)


def _follow(
    transcript: Transcript, tree: _Tree, changed: dict[int, bytes | None], index: int, key: str
) -> None:
    """Let a second reference to an entry that went point to what is first in its place.

    Where nothing follows it, that is its nearest ancestor; a dangling reference is normal.
    """
    raw = changed.get(index, transcript.entries[index].raw)
    if raw is None or f'"{key}"'.encode() not in raw:
        return
    old = _object(raw).get(key)
    if isinstance(old, str) and old in tree.gone:
        new = tree.heirs.get(old) or tree.surviving(old)
        if new is not None:
            _change(transcript, changed, index, (key, old, new))


def _change(
    transcript: Transcript,
    changed: dict[int, bytes | None],
    index: int,
    member: tuple[str, str | None, str | None],
) -> None:
    """Replace one member of an entry, and where it can be seen plainly nothing but its bytes."""
    key, old, new = member
    raw = changed.get(index) or transcript.entries[index].raw.rstrip(b"\r\n")
    name = jsonio.dump(key) + b":"
    found = name + jsonio.dump(old)
    edited = raw.replace(found, name + jsonio.dump(new))
    # The one that is seen plainly may be in a record inside this one.
    seen = raw.count(found) == 1 and _object(edited).get(key) == new
    changed[index] = edited if seen else jsonio.dump(_object(raw) | {key: new})
