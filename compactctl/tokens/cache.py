"""A cache of counts on disk, so that the stages of a pipe do not each count the same texts.

A file for each vocabulary, of 20 bytes a text: a hash of the text and its tokens, never a word of
the text itself. Nothing depends on it: where the file is missing, damaged, of another version or
may not be written, texts are counted again without a word.
"""

from __future__ import annotations

import contextlib
import os
import stat
from hashlib import blake2b
from struct import Struct, iter_unpack
from typing import TYPE_CHECKING

from compactctl.files.atomic import replace_file
from compactctl.tokens.chunks import LONGEST
from compactctl.tokens.engines import ENGINE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SWITCH_VARIABLE = "COMPACTCTL_CACHE"

RECORDS = 1 << 16
"""How many counts a file holds, the newest: 1.3 MB, read in 10 ms."""

_MAGIC = b"compactctl counts 1\n"  # another number as soon as a text may count otherwise
_HASH_BYTES = 16
_RECORD = Struct(f"<{_HASH_BYTES}sI")
_HEAD_BYTES = len(_MAGIC) + _HASH_BYTES


def path_of(name: str) -> str | None:
    """Return the file of the vocabulary ``name``; None if there is to be no cache.

    Whoever names an engine wants to see that engine count.
    """
    if os.environ.get(SWITCH_VARIABLE) == "off" or os.environ.get(ENGINE_VARIABLE):
        return None
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not folder.startswith("/"):  # the standard says to ignore others
        home = os.path.expanduser("~")  # noqa: PTH111 (loads nothing)
        folder = f"{home}/.cache" if os.path.isdir(home) else ""  # noqa: PTH112 (the same)
    return f"{folder}/compactctl/{name}.counts" if folder.startswith("/") else None


class TokenCache:
    """The counts in the file at ``path``, which is read when the first is asked for."""

    MOST_CHARACTERS = 30_000_000
    """Beyond this, texts are counted and not looked up: hashing them would take as long."""

    def __init__(self, path: str) -> None:
        """Read nothing yet."""
        self._path = path
        self._known: dict[bytes, int] | None = None
        self._new: dict[bytes, int] = {}

    def find(self, texts: Sequence[str]) -> dict[str, int]:
        """Return the tokens of those of ``texts`` that are known."""
        if sum(map(len, texts)) > self.MOST_CHARACTERS:
            return {}
        if self._known is None:
            self._known = dict(iter_unpack(_RECORD.format, _read(self._path)))
        known = self._known
        found = ((text, known.get(_hash(text))) for text in texts)
        return {text: tokens for text, tokens in found if tokens is not None}

    def add(self, counts: Mapping[str, int]) -> None:
        """Add counts; they reach the disk with ``save``."""
        if sum(map(len, counts)) <= self.MOST_CHARACTERS and len(self._new) < RECORDS:
            known = self._known or {}
            hashed = ((_hash(text), tokens) for text, tokens in counts.items())
            self._new.update(each for each in hashed if each[0] not in known)

    def add_sum(self, text: str, tokens: int) -> None:
        """Add what the parts of ``text`` sum up to, unless an engine would cut it otherwise."""
        if len(text) <= LONGEST:
            self.add({text: tokens})

    def save(self) -> None:
        """Append what was added to the file, also to what others have written there since."""
        if self._new:
            new = b"".join([_RECORD.pack(*record) for record in self._new.items()])
            with contextlib.suppress(OSError):
                _write(self._path, (_read(self._path) + new)[-RECORDS * _RECORD.size :])
            self._known, self._new = (self._known or {}) | self._new, {}


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=_HASH_BYTES).digest()


def _read(path: str) -> bytes:
    """Return the records of a sound file, else none."""
    try:
        found = os.stat(path)  # noqa: PTH116 (the same)
        most = _HEAD_BYTES + RECORDS * _RECORD.size
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return b""
        with open(path, "rb") as file:  # noqa: PTH123 (the same)
            head, body = file.read(_HEAD_BYTES), file.read(most)
    except OSError:
        return b""
    is_sound = head == _MAGIC + _checksum(body) and len(body) % _RECORD.size == 0
    return body if is_sound else b""


def _write(path: str, body: bytes) -> None:
    """Replace the file; not synced, for a torn file is told by its checksum."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # noqa: PTH103, PTH120 (the same)
    replace_file(path, (_MAGIC, _checksum(body), body), sync=False)
