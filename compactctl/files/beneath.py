"""Open a file below a root so that nothing but this very file can be what is read.

Folder after folder is opened from the descriptor of the one before and no link is followed, so
a link swapped in at any moment is refused by the kernel and not by a check that came too early.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

from compactctl.durable.reasons import RefusedError, SourceType, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not hold the opening up
# What O_NOFOLLOW answers for a link: Linux and macOS, with O_DIRECTORY, FreeBSD.
_LINK_ERRORS = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}


def open_beneath(
    root: str | os.PathLike[str] | None, parts: Sequence[str], source_type: SourceType
) -> BinaryIO:
    """Open the regular file ``root/part/…/part``; ``parts`` are single names without a slash.

    The root is the user's own choice and may be a link. The order of refusals is that of
    CONTRACT §6: a link on the way beats a missing file.

    Raises:
        RefusedError: with the reason code, see ``compactctl.durable.reasons``.

    """
    missing = f"{source_type}_missing"
    if root is None:
        raise RefusedError(missing)
    try:
        folder = os.open(root, _FOLDER)
        for part in parts[:-1]:
            folder = _step(folder, part, stat.S_ISDIR, _FOLDER, missing)
        file = _step(folder, parts[-1], stat.S_ISREG, _FILE, f"{source_type}_not_a_file")
    except (FileNotFoundError, NotADirectoryError):
        raise RefusedError(missing) from None
    except OSError as error:
        raise RefusedError(reason_of(error)) from None
    return os.fdopen(file, "rb")


def _step(
    folder: int, name: str, is_wanted: Callable[[int], bool], flags: int, unwanted: str
) -> int:
    """Open ``name`` in ``folder``, which is closed; refuse links, and ``unwanted`` else.

    The look before the opening is there to tell cases apart, and to leave devices alone. Safety
    does not rest on it: what is opened is never a link and is looked at again.
    """
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            raise RefusedError("ownership_boundary")
        if not is_wanted(mode):
            raise RefusedError(unwanted)
        opened = _open_no_link(folder, name, flags)
    finally:
        os.close(folder)
    if not is_wanted(os.fstat(opened).st_mode):
        os.close(opened)
        raise RefusedError(unwanted)
    return opened


def _open_no_link(folder: int, name: str, flags: int) -> int:
    """Open what was seen a moment ago; anything else in its place is a change behind our back."""
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno in _LINK_ERRORS:
            raise RefusedError("ownership_boundary") from None
        if error.errno == errno.ENOENT:
            raise RefusedError("source_disappeared") from None
        raise
