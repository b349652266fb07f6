"""Mend the lines of a file: damaged ones, and parents that are not there.

What cannot be read is not thrown away: it becomes a record that holds its text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from compactctl import jsonio, structure
from compactctl.layer import Action
from compactctl.lines import Fault
from compactctl.model import Block
from compactctl.placeholders import CUT
from compactctl.transcript import Transcript

UNREADABLE = "compactctl.unreadable"
GAP = f"{CUT}a gap: the entry that came before is not in the file]"

_DAMAGE = frozenset({"FILE-01", "FILE-02", "FILE-04", "FILE-05", "FILE-07", "FILE-08", "FILE-09"})
_BREAKS = frozenset({"FILE-12", "FILE-13", "FILE-18"})


def mend_lines(
    lines: Sequence[bytes], faults: Sequence[Fault], actions: list[Action]
) -> list[bytes]:
    """Write damaged lines anew; every other line is the very same object."""
    damaged = {fault.line: fault.rule for fault in faults if fault.rule in _DAMAGE}
    mended = list(lines)
    for number, rule in damaged.items():
        new = _mended(lines[number - 1])
        if new != lines[number - 1]:
            mended[number - 1] = new
            actions.append(Action(rule, number - 1))
    return mended


def _mended(raw: bytes) -> bytes:
    """Give the records of a line, one a line, and what is no record as text in one."""
    text = raw.replace(b"\0", b"").decode("utf-8-sig", "replace").strip()
    end = b"\r\n" if raw.endswith(b"\r\n") else b"\n"
    records: list[bytes] = []
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    while text:
        try:
            value, stop = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            value, stop = {"type": UNREADABLE, "text": text}, len(text)
        records.append(jsonio.dump(jsonio.without_surrogates(value)))
        text = text[stop:].strip()
    return b"".join(record + end for record in records)


def bridge(transcript: Transcript, actions: list[Action]) -> list[bytes] | None:
    """Link entries across a gap in the chain of parents, with a marker that can be seen.

    None where resume loses nothing.
    """
    broken = {f.line for f in structure.find(transcript) if f.rule in _BREAKS and f.raised}
    if not broken or transcript.format.LINK is None:
        return None
    own_key, parent_key = transcript.format.LINK
    in_view = {block.entry for message in transcript.messages for block in message.blocks}
    last: str | None = None
    lines: list[bytes] = []
    for index, entry in enumerate(transcript.entries):
        raw = entry.raw
        if entry.line in broken:
            record = jsonio.object_or_none(raw) or {}
            marker = _marker(transcript, record, last)
            if marker is not None:
                actions.append(Action("FILE-12", index))
                lines.append(jsonio.dump(marker) + b"\n")
                end = b"\n" if raw.endswith(b"\n") else b""
                raw = jsonio.dump(record | {parent_key: marker[own_key]}) + end
                broken.discard(entry.line)
        if index in in_view:
            own = (jsonio.object_or_none(raw) or {}).get(own_key)
            last = own if isinstance(own, str) else last
        lines.append(raw)
    return lines if len(lines) != len(transcript.entries) else None


def _marker(
    transcript: Transcript, record: dict[str, Any], parent: str | None
) -> dict[str, Any] | None:
    if parent is None:
        return None
    module = transcript.format
    block = Block("text", GAP, meta=True)
    digest = msgspec.json.encode([parent, record.get(module.LINK[0]), GAP])
    own = module.identity(_hex(digest))
    created = module.create("user", [block], record, own, parent)
    found: dict[str, Any] = created[0] if isinstance(created, list) else created
    return found


def _hex(data: bytes) -> str:
    import hashlib  # noqa: PLC0415 (only a repair needs it)

    return hashlib.sha256(data).hexdigest()
