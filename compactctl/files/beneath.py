"""Open or write a file below a root so that it can be nothing but this very file.

Folder after folder is opened from the descriptor of the one before and no link is followed, so
a link swapped in at any moment is refused by the kernel and not by a check that came too early.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING, Literal, TypeAlias

from compactctl.files.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from io import BufferedReader

Why: TypeAlias = Literal["missing", "link", "not_a_file", "vanished", "denied", "unreadable"]
"""``vanished``: it was there a moment ago; ``unreadable``: any other error of the system."""

UNOPENED: dict[Why, str] = {
    "missing": "cannot be read: No such file or directory",
    "link": "is a symbolic link; name the file that it points to",
    "vanished": "cannot be read: it vanished in this moment",
    "not_a_file": "is not a regular file",
    "denied": "cannot be read: Permission denied",
    "unreadable": "cannot be read",
}
"""What is said of a file by why it was not opened."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not hold the opening up
# What O_NOFOLLOW answers for a link: Linux and macOS, with O_DIRECTORY, FreeBSD.
_LINK_ERRORS = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}


class NotOpenedError(Exception):
    """A file below a root that cannot be opened; says why, and never where it lies."""

    def __init__(self, why: Why) -> None:
        """Keep the reason for whoever puts it into words."""
        super().__init__(why)
        self.why: Why = why


def open_beneath(root: str | os.PathLike[str], parts: Sequence[str]) -> BufferedReader:
    """Open the regular file ``root/part/…/part``; ``parts`` are single names without a slash.

    The root is the user's own choice and may be a link. A link on the way beats a missing file.

    Raises:
        NotOpenedError: with the first reason that was met.

    """
    try:
        folder = os.open(root, _FOLDER)
        for part in parts[:-1]:
            folder = _step(folder, part, stat.S_ISDIR, _FOLDER, "missing")
        file = _step(folder, parts[-1], stat.S_ISREG, _FILE, "not_a_file")
    except (FileNotFoundError, NotADirectoryError):
        raise NotOpenedError("missing") from None
    except PermissionError:
        raise NotOpenedError("denied") from None
    except OSError:
        raise NotOpenedError("unreadable") from None
    return os.fdopen(file, "rb")


def write_beneath(
    root: str | os.PathLike[str], parts: Sequence[str], content: bytes, mode: int
) -> None:
    """Write the file ``root/part/…/part`` whole or not at all; folders are made as needed.

    The root is the user's own choice and may be a link.

    Raises:
        NotOpenedError: there is a link on the way.
        OSError: as the system gave it.

    """
    with contextlib.suppress(FileExistsError):  # what is not a folder is told by opening it
        os.makedirs(root, exist_ok=True)  # noqa: PTH103 (a name)
    folder = os.open(root, _FOLDER)
    try:
        for part in parts[:-1]:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
            above, folder = folder, _open_no_link(folder, part, _FOLDER)
            os.close(above)
        replace_file(parts[-1], [content], folder=folder, mode=mode)
        os.fsync(folder)
    finally:
        os.close(folder)


def _step(
    folder: int, name: str, is_wanted: Callable[[int], bool], flags: int, unwanted: Why
) -> int:
    """Open ``name`` in ``folder``, which is closed; refuse links, and ``unwanted`` kinds.

    The look before the opening is there to tell cases apart, and to leave devices alone. Safety
    does not rest on it: what is opened is never a link and is looked at again.
    """
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            raise NotOpenedError("link")
        if not is_wanted(mode):
            raise NotOpenedError(unwanted)
        opened = _open_no_link(folder, name, flags)
    finally:
        os.close(folder)
    if not is_wanted(os.fstat(opened).st_mode):
        os.close(opened)
        raise NotOpenedError(unwanted)
    return opened


def _open_no_link(folder: int, name: str, flags: int) -> int:
    """Open what was seen a moment ago; anything else in its place is a change behind our back."""
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno in _LINK_ERRORS:
            raise NotOpenedError("link") from None
        if error.errno == errno.ENOENT:
            raise NotOpenedError("vanished") from None
        raise
