"""Originals kept by their hash, and the way from a compacted file back to its own.

``DIR/ab/abcd….gz`` is the file whose SHA-256 is ``abcd…``, packed with gzip: ``zcat`` gives it
back. ``DIR/index/12/1234…-abcd…`` is empty; its name says that the file of hash ``1234…`` was made
of that one. Both are written once, by any number of workers on any number of machines.
"""

# Names stay strings: a path and a URL are the same to most of this.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import zlib
from typing import TYPE_CHECKING

from compactctl.bulk import manifest, storage, targets
from compactctl.errors import CompactctlError, InputError
from compactctl.files import compression
from compactctl.files.reading import STANDARD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.pipeline import Result

_QUICK = 1
"""The gzip level for what is packed already."""

_HASH = re.compile(r"[0-9a-f]{64}")


class NotRestoredError(CompactctlError):
    """There is no original, or what there is does not match its hash."""


def keep(folder: str, raw: bytes, made: Iterable[str | None], digest: str | None = None) -> None:
    """Keep the original ``raw``, which the files of the hashes ``made`` come from.

    ``digest`` is its own hash, if that is known already.

    Raises:
        InputError: the archive cannot be written.

    """
    digest = digest or hashlib.sha256(raw).hexdigest()
    path = _object(folder, digest)
    if not storage.exists(path):
        is_packed = compression.is_packed(raw[: compression.MAGIC_LENGTH])
        storage.put(path, compression.gzip_bytes(raw, *([_QUICK] if is_packed else [])))
    for key in made:
        if key is not None and key != digest:
            storage.put(_entry(folder, key, digest), b"")


def has(folder: str, digest: str) -> bool:
    """Say whether the original of that hash is kept."""
    return storage.exists(_object(folder, digest))


def note_unchanged(folder: str, digest: str) -> None:
    """Remember that a file is its own original, which needs no copy."""
    storage.put(_entry(folder, digest, digest), b"")


def keep_of_stage(folder: str, file: str, result: Result) -> None:
    """Keep what one stage has read of ``file``; see ``compactctl.bulk.keep_original``."""
    lines = [entry.raw for entry in result.transcript.entries]
    try:
        raw = b"".join(lines) if file == STANDARD else storage.read(file).raw
        is_same = compression.lines_of(raw) == list(io.BytesIO(b"".join(lines)))
    except storage.ChangedError:
        is_same = False
    if not is_same:
        raise InputError("changed since it was read; nothing was written", file=file)
    made = hashlib.sha256(b"".join(result.written().chunks)).hexdigest()
    digest = hashlib.sha256(raw).hexdigest()
    if made == digest:
        note_unchanged(folder, made)
    else:
        keep(folder, raw, (made, (result.mark or {}).get("input_sha256")), digest)


def _object(folder: str, digest: str) -> str:
    return targets.join(folder, f"{digest[:2]}/{digest}.gz")


def _entry(folder: str, key: str, digest: str) -> str:
    return targets.join(folder, f"index/{key[:2]}/{key}-{digest}")


def original(folder: str, name: str, raw: bytes) -> bytes:
    """Give the original of the compacted file ``name`` that holds ``raw``.

    Raises:
        NotRestoredError: none or several fit, or the one kept is damaged.

    """
    itself = _by_hash(raw)
    digest = _find(folder, name, raw, list(itself))
    if digest in itself:
        return itself[digest]
    try:
        kept = storage.read(_object(folder, digest)).raw
        found = gzip.decompress(kept)
    except InputError:
        raise NotRestoredError(
            f"its original, {digest}, is not in {folder}; was it another --archive?", file=name
        ) from None
    except (OSError, EOFError, zlib.error):
        raise NotRestoredError(f"its original, {digest}, is damaged", file=name) from None
    if hashlib.sha256(found).hexdigest() != digest:
        raise NotRestoredError(f"its original, {digest}, does not match its hash", file=name)
    return found


def _by_hash(raw: bytes) -> dict[str, bytes]:
    """Give the bytes of a file by their hash, and what they hold if they are packed by its."""
    is_packed = compression.is_packed(raw[: compression.MAGIC_LENGTH])
    every = (raw, b"".join(compression.lines_of(raw))) if is_packed else (raw,)
    return {hashlib.sha256(data).hexdigest(): data for data in every}


def _find(folder: str, name: str, raw: bytes, own: list[str]) -> str:
    """Find the hash of the original: by the manifest, by the index, by the compaction record."""
    if by_manifest := _in_manifest(name, own[0]):
        return by_manifest
    for key in [*own, *_recorded(raw)]:
        found = _index(folder, key)
        if len(found) > 1:
            raise NotRestoredError(
                f"{len(found)} originals were compacted to these very bytes: {', '.join(found)}",
                file=name,
            )
        if found:
            return found[0]
    raise NotRestoredError(f"no original of it is in {folder}", file=name)


def _index(folder: str, key: str) -> list[str]:
    if storage.exists(_object(folder, key)):
        return [key]
    shelf = targets.join(folder, f"index/{key[:2]}")
    found = [entry.rpartition("-") for entry in storage.list_folder(shelf)]
    return sorted(digest for made, _, digest in found if made == key)


def _in_manifest(name: str, digest: str) -> str | None:
    """Ask the manifest above a file which source it was made of."""
    if targets.is_url(name) or name == "-":
        return None
    path = os.path.realpath(name)
    folder = os.path.dirname(path)
    while True:
        tail = os.path.relpath(path, folder)
        for line in reversed(_lines(os.path.join(folder, manifest.NAME))):
            if line.output_sha256 == digest and _ends_with(line.output, tail):
                return line.input_sha256
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def _lines(path: str) -> list[manifest.Line]:
    try:
        return list(manifest.lines(storage.read_optional(path) or b""))
    except InputError:  # somebody else's, which is not for us to read
        return []


def _ends_with(output: str | None, tail: str) -> bool:
    return output is not None and f"/{output}".endswith(f"/{tail}")


def _recorded(raw: bytes) -> list[str]:
    """Give the hashes that compaction records in a file state as their input, newest first."""
    found: list[str] = []
    for line in compression.lines_of(raw):
        if b'"input_sha256"' not in line:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        # In the record itself or in one of its members, but never in what was said.
        for holder in [record, *record.values()] if isinstance(record, dict) else []:
            is_ours = isinstance(holder, dict) and not {"role", "content"} & holder.keys()
            value = holder.get("input_sha256") if is_ours else None
            if isinstance(value, str) and _HASH.fullmatch(value):
                found.append(value)
    return found[::-1]
