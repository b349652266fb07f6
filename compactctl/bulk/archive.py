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

from compactctl.bulk import manifest
from compactctl.bulk.storage import ChangedError, LocalStorage, storage_of
from compactctl.bulk.targets import is_url, join
from compactctl.errors import CompactctlError, InputError
from compactctl.files.compression import MAGIC_LENGTH, gzip_bytes, is_packed, lines_of
from compactctl.files.folders import MANIFEST
from compactctl.files.reading import STANDARD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.pipeline import Result

_QUICK = 1
"""The gzip level for what is packed already."""

TEMPORARY = re.compile(r"\.[0-9a-f]{64}(?:\.gz|-[0-9a-f]{64})\.[0-9a-f]{8}")
"""What is called so in an archive is not whole yet."""

_HASH = re.compile(r"[0-9a-f]{64}")


class NotRestoredError(CompactctlError):
    """There is no original, or what there is does not match its hash."""


class Archive:
    """A folder or a URL of originals."""

    def __init__(self, folder: str) -> None:
        """Touch nothing yet."""
        self._folder = folder
        self._storage = storage_of(folder)

    def put(self, raw: bytes, made: Iterable[str | None], digest: str | None = None) -> None:
        """Keep the original ``raw``, which the files of the hashes ``made`` come from.

        ``digest`` is its own hash, if that is known already.

        Raises:
            InputError: the archive cannot be written.

        """
        digest = digest or hashlib.sha256(raw).hexdigest()
        if not self.has(digest):
            level = (_QUICK,) if is_packed(raw[:MAGIC_LENGTH]) else ()
            self._put(self._object(digest), gzip_bytes(raw, *level))
        for key in made:
            if key is not None and key != digest:
                self._put(self._entry(key, digest), b"")

    def has(self, digest: str) -> bool:
        """Return whether the original of that hash is kept."""
        return self._storage.exists(self._object(digest))

    def note_unchanged(self, digest: str) -> None:
        """Remember that a file is its own original, which needs no copy."""
        self._put(self._entry(digest, digest), b"")

    def put_read(self, file: str, result: Result) -> None:
        """Keep what one stage has read of ``file``; see ``compactctl.bulk.keep_original``."""
        lines = [entry.raw for entry in result.transcript.entries]
        try:
            raw = b"".join(lines) if file == STANDARD else storage_of(file).read(file).raw
            is_same = lines_of(raw) == list(io.BytesIO(b"".join(lines)))
        except ChangedError:
            is_same = False
        if not is_same:
            raise InputError("changed since it was read; nothing was written", file=file)
        made = hashlib.sha256(b"".join(result.written().chunks)).hexdigest()
        digest = hashlib.sha256(raw).hexdigest()
        if made == digest:
            self.note_unchanged(made)
        else:
            self.put(raw, (made, (result.mark or {}).get("input_sha256")), digest)

    def original(self, name: str, raw: bytes) -> bytes:
        """Return the original of the compacted file ``name`` that holds ``raw``.

        Raises:
            NotRestoredError: none or several fit, or the one kept is damaged.

        """
        itself = _by_hash(raw)
        digest = self._find(name, raw, list(itself))
        if digest in itself:
            return itself[digest]
        path = self._object(digest)
        try:
            found = gzip.decompress(self._storage.read(path).raw)
        except InputError:
            raise NotRestoredError(
                f"its original, {digest}, is not in {self._folder}; was it another --archive?",
                file=name,
            ) from None
        except (OSError, EOFError, zlib.error):
            raise NotRestoredError(f"its original, {digest}, is damaged", file=name) from None
        if hashlib.sha256(found).hexdigest() != digest:
            raise NotRestoredError(f"its original, {digest}, does not match its hash", file=name)
        return found

    def _put(self, path: str, data: bytes) -> None:
        self._storage.put(path, data, self._folder)

    def _object(self, digest: str) -> str:
        return join(self._folder, f"{digest[:2]}/{digest}.gz")

    def _entry(self, key: str, digest: str) -> str:
        return join(self._folder, f"index/{key[:2]}/{key}-{digest}")

    def _find(self, name: str, raw: bytes, own: list[str]) -> str:
        """Find the hash of the original by the index, then by the record of the compaction.

        Of several that the index has, the manifest may say which; it is not believed beyond that.
        """
        for key in [*own, *_recorded(raw)]:
            found = self._index(key)
            if len(found) > 1:
                said = _in_manifest(name, own[0])
                if said in found:
                    return said
                raise NotRestoredError(
                    f"{len(found)} originals were compacted to these very bytes: "
                    f"{', '.join(found)}",
                    file=name,
                )
            if found:
                return found[0]
        raise NotRestoredError(f"no original of it is in {self._folder}", file=name)

    def _index(self, key: str) -> list[str]:
        if self.has(key):
            return [key]
        names = self._storage.names_in(join(self._folder, f"index/{key[:2]}"))
        found = [name.rpartition("-") for name in names]
        return sorted(digest for made, _, digest in found if made == key)


def _by_hash(raw: bytes) -> dict[str, bytes]:
    """Return the bytes of a file by their hash, then what they hold if they are compressed."""
    every = (raw, b"".join(lines_of(raw))) if is_packed(raw[:MAGIC_LENGTH]) else (raw,)
    return {hashlib.sha256(data).hexdigest(): data for data in every}


def _in_manifest(name: str, digest: str) -> str | None:
    """Ask the manifest above a file which source it was made of."""
    if is_url(name) or name == STANDARD:
        return None
    path = os.path.realpath(name)
    folder = os.path.dirname(path)
    while True:
        tail = os.path.relpath(path, folder)
        for line in reversed(_lines(os.path.join(folder, MANIFEST))):
            if line.output_sha256 == digest and _ends_with(line.output, tail):
                return line.input_sha256
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def _lines(path: str) -> list[manifest.ManifestLine]:
    try:
        return list(manifest.lines(LocalStorage().read_optional(path) or b""))
    except InputError:  # somebody else's, which is not for us to read
        return []


def _ends_with(output: str | None, tail: str) -> bool:
    return output is not None and f"/{output}".endswith(f"/{tail}")


def _recorded(raw: bytes) -> list[str]:
    """Return the hashes that compaction records in a file state as their input, newest first."""
    found: list[str] = []
    for line in lines_of(raw):
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
