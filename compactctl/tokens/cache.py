"""A cache of counts on disk, so that the stages of a pipe do not each count the same texts.

A file for each vocabulary, of 20 bytes a text: a hash of the text and its tokens, never a word of
the text itself. Nothing depends on it: where the file is missing, damaged, of another version or
may not be written, texts are counted again without a word. So they are where another user could
have written it: it and its folder must be this user's, who alone may write to them, and no links.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from hashlib import blake2b
from struct import Struct, iter_unpack
from typing import TYPE_CHECKING

from compactctl.files.atomic import replace_file
from compactctl.tokens.chunks import LONGEST
from compactctl.tokens.engines import ENGINE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
                _write(self._path, new)
            self._known, self._new = (self._known or {}) | self._new, {}


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=_HASH_BYTES).digest()


def _read(path: str) -> bytes:
    """Return the records of a sound file, else none."""
    with contextlib.suppress(OSError), _folder_of(path) as folder:
        return _read_in(folder, os.path.basename(path))  # noqa: PTH119 (loads nothing)
    return b""


def _write(path: str, new: bytes) -> None:
    """Append records to the file, the newest of which stay.

    Not synced, for a torn file is told by its checksum.

    Raises:
        OSError: as the system gave it.

    """
    folder_name, name = os.path.split(path)
    os.makedirs(folder_name, 0o700, exist_ok=True)  # noqa: PTH103 (the same)
    with _folder_of(path) as folder:
        body = (_read_in(folder, name) + new)[-RECORDS * _RECORD.size :]
        replace_file(name, (_MAGIC, _checksum(body), body), folder=folder, sync=False)


@contextlib.contextmanager
def _folder_of(path: str) -> Iterator[int]:
    """Open the folder of the file, through no link.

    Raises:
        OSError: it is not there, or not this user's alone to write to.

    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(os.path.dirname(path), flags)  # noqa: PTH120 (loads nothing)
    try:
        _require_own(os.fstat(folder))
        yield folder
    finally:
        os.close(folder)


def _read_in(folder: int, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(name, flags, dir_fd=folder)
    except OSError:
        return b""
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        most = _HEAD_BYTES + RECORDS * _RECORD.size
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return b""
        try:
            _require_own(found)
            head, body = file.read(_HEAD_BYTES), file.read(most)
        except OSError:
            return b""
    is_sound = head == _MAGIC + _checksum(body) and len(body) % _RECORD.size == 0
    return body if is_sound else b""


def _require_own(found: os.stat_result) -> None:
    """Refuse what another user could have written: counts decide what is cut.

    Raises:
        PermissionError: it is another user's, or others may write to it.

    """
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EACCES, "may hold what another user wrote")
