"""Keep the chain of parents whole when entries go or come.

Harnesses rebuild a session by walking from the last entry to its parent and so on, through
progress and metadata lines too: an entry whose parent is gone would hide everything before it.
"""

from __future__ import annotations

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
            (new.before, _write(transcript, new, _identity(new, ""), None)) for new in made
        ]
    if not made and None not in changed.values():
        return []
    tree = _Tree(transcript.entries, module.LINK, changed)
    created: list[tuple[int, bytes]] = []
    inserted: list[tuple[int, str]] = []
    for new in made:
        parent = tree.parent_at(new.before, inserted, otherwise=new.after)
        identity = module.identity(_identity(new, parent or ""))
        created.append((new.before, _write(transcript, new, identity, parent)))
        inserted.append((new.before, identity))
    _adopt(transcript, tree, inserted, changed)
    return created


def _identity(new: Made, parent: str) -> str:
    """Derive an id from content, so that the same input gives the same output."""
    digest = hashlib.sha256(f"{parent}\n{new.role}\n".encode())
    for block in new.blocks:
        digest.update(repr(block).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _write(transcript: Transcript, new: Made, identity: str, parent: str | None) -> bytes:
    near = new.before if new.before < len(transcript.entries) else new.after
    like = _object(transcript.entries[near].raw) if near >= 0 else {}
    return jsonio.dump(transcript.format.create(new.role, new.blocks, like, identity, parent))


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = jsonio.parse(raw)
    except jsonio.NotJsonError:
        return {}
    return value if isinstance(value, dict) else {}


class _Tree:
    """Ids and parents of all entries, and where a parent that went is replaced by which."""

    def __init__(
        self, entries: Sequence[Entry], link: tuple[str, str], changed: dict[int, bytes | None]
    ) -> None:
        decode = _decoder(*link)
        self.ids: list[str | None] = []
        self.parents: list[str | None] = []
        self.index: dict[str, int] = {}
        self.gone: dict[str, str | None] = {}
        for index, entry in enumerate(entries):
            own, parent = decode(entry.raw)
            self.ids.append(own)
            self.parents.append(parent)
            if own is not None:
                if index in changed and changed[index] is None:
                    self.gone[own] = parent
                else:
                    self.index[own] = index
        for own in self.index:
            self.gone.pop(own, None)  # a second entry of the same id stays

    def surviving(self, parent: str | None) -> str | None:
        """Give the nearest ancestor that stays, from ``parent`` on; None for the root."""
        passed: dict[str, None] = {}
        while parent in self.gone and parent not in passed:
            passed[parent] = None
            parent = self.gone[parent]
        if parent in passed:  # a cycle of parents, all of them gone
            parent = None
        for step in passed:  # so that a long stretch is walked once
            self.gone[step] = parent
        return parent

    def parent_at(
        self, index: int, inserted: Sequence[tuple[int, str]], otherwise: int | None = None
    ) -> str | None:
        """Give the parent for entry ``index``: an inserted line wins over what precedes it."""
        if index < len(self.parents):
            parent = self.surviving(self.parents[index])
        else:
            parent = self.ids[otherwise] if otherwise is not None and otherwise >= 0 else None
            parent = self.surviving(parent)
        place = self.index.get(parent, -1) if parent is not None else -1
        for before, identity in reversed(inserted):
            if before <= index:
                return identity if before > place else parent
        return parent


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


def _adopt(
    transcript: Transcript,
    tree: _Tree,
    inserted: Sequence[tuple[int, str]],
    changed: dict[int, bytes | None],
) -> None:
    """Give a new parent to each entry that lost its own or now follows an inserted line."""
    key = transcript.format.LINK[1]
    heads = {before for before, _ in inserted}
    for index, old in enumerate(tree.parents):
        if index in changed and changed[index] is None:
            continue
        raw = changed.get(index) or transcript.entries[index].raw
        if index in heads or old in tree.gone:
            new = tree.parent_at(index, inserted)
            if new != old:
                raw = _with_member(raw, key, old, new)
        for also in transcript.format.ALSO_LINKED if tree.gone else ():
            raw = _follow(raw, also, tree)
        if raw is not transcript.entries[index].raw and raw is not changed.get(index):
            changed[index] = raw.rstrip(b"\r\n")


def _follow(raw: bytes, key: str, tree: _Tree) -> bytes:
    """Let a second reference point to a surviving ancestor; a dangling one is normal, it stays."""
    if f'"{key}"'.encode() not in raw:
        return raw
    old = _object(raw).get(key)
    if not isinstance(old, str) or old not in tree.gone:
        return raw
    new = tree.surviving(old)
    return raw if new is None else _with_member(raw, key, old, new)


def _with_member(raw: bytes, key: str, old: str | None, new: str | None) -> bytes:
    """Replace one member of an object, and where it can be seen plainly nothing but its bytes."""
    member = jsonio.dump(key) + b":"
    found = member + jsonio.dump(old)
    if raw.count(found) == 1:
        return raw.replace(found, member + jsonio.dump(new))
    return jsonio.dump(_object(raw) | {key: new})
