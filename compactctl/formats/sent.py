"""What is sent of a part that is more than a text, a call or an image.

Documents, search results and what a provider's own tools answered come in many shapes, and each
release brings new ones. So a part is taken apart by its members, not by its type: an image is an
image, what only the provider can read has a price, a text that may be cut is a piece, and all the
rest is JSON that the model reads as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compactctl import opaque
from compactctl.formats.base import string
from compactctl.images import actual_type, read_image, split_data_uri
from compactctl.jsonl import exact
from compactctl.model import Block

Whole = Callable[[int], list[Any]]
"""Returns the parts of an entry with all their members."""


def part_of(whole: Whole, entry: int, at: int) -> Any:
    """Return one part of an entry."""
    parts = whole(entry)
    return parts[at] if at < len(parts) else {}


DOCUMENTS = frozenset(
    "document search_result container_upload file input_file input_audio audio_url "
    "video_url video input_video".split()
)
"""Types of parts that are a file or a find."""

_ENVELOPE = frozenset({"type", "id", "tool_use_id", "call_id", "cache_control"})
"""Members that the model does not read."""
_TEXTS = frozenset({"text", "stdout", "stderr", "content"})
"""Members whose text may be cut."""
_DEEPEST = 60
_SNIFFED = 1000
"""Characters from which a text is looked at as an image that nothing announces."""

_Visit = Callable[[str, str, dict[str, Any]], Any]
"""Returns what stands in the place of a string, given its member and the object that holds it."""
_GONE = object()


def unfold(
    part: Any, entry: int, at: int, *, cuts: bool | None = None, meta: bool = False
) -> Block:
    """Return the block of a part: a document, or one of kind "other".

    ``cuts`` says whether its texts may be cut, if not its type does.
    """
    if not isinstance(part, dict):
        return Block("other", entry=entry, at=at, meta=meta)
    kind = string(part.get("type"))
    found = _Found(entry, cuts=is_cuttable(kind) if cuts is None else cuts, meta=meta)
    sent = {key: value for key, value in part.items() if key not in _ENVELOPE}
    rest = _walk(sent, "", part, found.visit)
    return Block(
        "document" if kind in DOCUMENTS else "other",
        _spelled(rest),
        content=tuple(found.pieces),
        opaque=found.opaque,
        type=kind,
        entry=entry,
        at=at,
        meta=meta,
    )


def refold(part: Any, block: Block) -> Any:
    """Return a part with the texts that ``block`` has now; a text without a piece goes."""
    new = {piece.at: piece.text for piece in block.content if piece.kind == "text"}
    if not isinstance(part, dict) or not new:
        return part
    places = iter(range(1 << 62))

    def put(text: str, key: str, holder: dict[str, Any]) -> Any:
        return new.get(next(places), _GONE) if _is_piece(text, key, holder) else text

    kept = {key: value for key, value in part.items() if key not in _ENVELOPE}
    return part | _walk(kept, "", part, put)


def is_cuttable(kind: str) -> bool:
    """Return True if the texts in parts of a type may be cut: nothing refers to their letters."""
    return kind in DOCUMENTS or kind.endswith("_tool_result")


class _Found:
    """What is found on the way through a part."""

    def __init__(self, entry: int, *, cuts: bool, meta: bool) -> None:
        self.pieces: list[Block] = []
        self.opaque = 0
        self._entry = entry
        self._cuts = cuts
        self._meta = meta
        self._texts = 0

    def visit(self, text: str, key: str, holder: dict[str, Any]) -> str:
        """Take a string in; return what of it stays JSON."""
        if _is_encrypted(key, holder):
            self.opaque += opaque.encrypted(len(text))
            return ""
        if self._cuts and _is_piece(text, key, holder):
            self.pieces.append(
                Block("text", text, entry=self._entry, at=self._texts, meta=self._meta)
            )
            self._texts += 1
            return ""
        return "" if self._is_file(text, key, holder) else text

    def _is_file(self, text: str, key: str, holder: dict[str, Any]) -> bool:
        """Return True if a string is a file in base64, which is priced then."""
        media_type = string(holder.get("media_type")) or string(holder.get("mimeType"))
        uri = split_data_uri(text)
        if uri is not None:
            media_type, text = uri
        elif key != "data" or holder.get("type") == "text":
            media_type = actual_type(text) if len(text) > _SNIFFED else ""
        elif not media_type:
            self.opaque += opaque.sound(string(holder.get("format")), text)
            return True
        if not media_type:
            return False
        if media_type.startswith("image/"):
            self.pieces.append(
                Block("image", image=read_image(media_type, text), entry=self._entry)
            )
        else:
            self.opaque += opaque.document(media_type, text)
        return True


def _is_encrypted(key: str, holder: dict[str, Any]) -> bool:
    is_hidden = key == "data" and string(holder.get("type")).endswith((".encrypted", "redacted"))
    return is_hidden or key.startswith("encrypted") or key == "signature"


def _is_piece(text: str, key: str, holder: dict[str, Any]) -> bool:
    return bool(text) and (key in _TEXTS or (key == "data" and holder.get("type") == "text"))


def _walk(value: Any, key: str, holder: dict[str, Any], visit: _Visit, depth: int = 0) -> Any:
    """Return a copy of a JSON value in which ``visit`` replaced the strings, in order."""
    if isinstance(value, str):
        return visit(value, key, holder)
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        items = [_walk(item, key, holder, visit, depth + 1) for item in value]
        return [item for item in items if item is not _GONE]
    if not isinstance(value, dict):
        return value
    new = {name: _walk(item, name, value, visit, depth + 1) for name, item in value.items()}
    if new.get("text") is _GONE and value.get("type") == "text":
        return _GONE
    return {name: "" if item is _GONE else item for name, item in new.items()}


def _spelled(rest: dict[str, Any]) -> str:
    """Return members as the model reads them: a text alone is itself."""
    only = next(iter(rest.values())) if len(rest) == 1 else None
    if isinstance(only, str):
        return only
    try:
        return exact.dump(rest).decode() if rest else ""
    except RecursionError:
        return ""
