"""Store the full text of what a layer cuts, once, under a name made from its content.

An artifact lies in ``<root>/<session>/tool-results/<name>`` and is named by a pointer that
``resolve`` and ``show`` accept. It is written before anything is cut, synced, readable by its owner
alone, and never overwritten.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from pathlib import Path

from compactctl.errors import InputError
from compactctl.files.atomic import create_file
from compactctl.pointers import artifact_pointer, is_name

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

SHORT = 16
"""Hex digits of the digest that name an artifact; another content of the same start gets all."""


def session_name(name: str) -> str:
    """Return ``name``, or its digest if a pointer cannot hold it."""
    if is_name(name):
        return name
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class ArtifactStore:
    """A folder of artifacts of one session."""

    def __init__(self, root: str, session: str, *, dry: bool = False) -> None:
        """Make nothing until the first :meth:`put`, and nothing at all on a dry run."""
        self.root = root
        self.session = session_name(session)
        self.dry = dry

    def put(self, text: str) -> str:
        """Store ``text`` as UTF-8 and return its pointer; the same text is stored once.

        A text with half of a surrogate pair has no UTF-8. It is stored as a JSON string in ASCII
        under a name that ends in ``.json``; parsing that gives the very text.

        Raises:
            InputError: the folder cannot be written, or what lies there is not ours.

        """
        try:
            content = text.encode()
        except UnicodeEncodeError:
            return self.put_bytes(json.dumps(text).encode(), ".json")
        return self.put_bytes(content)

    def put_bytes(self, content: bytes, suffix: str = ".txt") -> str:
        """Store ``content``, as :meth:`put` does."""
        digest = hashlib.sha256(content).hexdigest()
        if self.dry:
            return artifact_pointer(self.session, f"{digest[:SHORT]}{suffix}", digest)
        try:
            folder = self._folder()
            try:
                name = next(
                    name
                    for name in (f"{digest[:SHORT]}{suffix}", f"{digest}{suffix}")
                    if _put(folder, name, content)
                )
            finally:
                os.close(folder)
        except StopIteration:
            raise InputError(
                "an artifact of this name holds something else", file=self.root
            ) from None
        except OSError as error:
            raise InputError(
                f"artifacts cannot be stored: {error.strerror}", file=self.root
            ) from None
        return artifact_pointer(self.session, name, digest)

    def _folder(self) -> int:
        """Open the folder step by step, through no link below the root; make what is missing."""
        with contextlib.suppress(FileExistsError):  # what is not a folder is told by opening it
            Path(self.root).mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in (self.session, "tool-results"):
            try:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=folder)
                below = os.open(name, _FOLDER, dir_fd=folder)
            finally:
                os.close(folder)
            folder = below
        return folder


def _put(folder: int, name: str, content: bytes) -> bool:
    """Create the file ``name``; False if it is there with another content."""
    if _holds(folder, name, content):
        return True
    try:
        create_file(folder, name, content)
    except FileExistsError:
        return _holds(folder, name, content)
    return True


def _holds(folder: int, name: str, content: bytes) -> bool:
    """Return True if the regular file ``name`` is there with this very content."""
    try:
        handle = os.open(name, _OLD, dir_fd=folder)
    except OSError:
        return False
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return False
        return file.read(len(content) + 1) == content
