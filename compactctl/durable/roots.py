"""Places that hold sources: a folder, or a prefix of an object store.

Another kind of place is another class with an ``open`` like theirs.
"""

from __future__ import annotations

import contextlib
import io
import os
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from compactctl.durable import straight
from compactctl.errors import InputError, UsageError
from compactctl.files.beneath import NotOpenedError, open_beneath
from compactctl.files.remote import is_url, open_system

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_S3 = ("s3", "s3a")
_STORES = (*_S3, "memory")
"""Where a key is all that there is to a name: no links, and no redirect that is followed."""
_CHUNK = 256 * 1024


class Root(Protocol):
    """A place below which sources lie."""

    def open(self, parts: Sequence[str]) -> BinaryIO:
        """Open the file ``part/…/part`` in it; the parts hold no slash and are not ``..``.

        Raises:
            NotOpenedError: with the reason. What is outside of the place is never opened.

        """

    def exists(self) -> bool:
        """Return False if there is no such place at all."""


class Folder:
    """A folder of a disk, through no link in it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Look at nothing yet."""
        self._path = path

    def open(self, parts: Sequence[str]) -> BinaryIO:
        """Open a file below the folder."""
        return open_beneath(self._path, parts)

    def exists(self) -> bool:
        """Return True if it is a folder."""
        return os.path.isdir(self._path)  # noqa: PTH112 (no need of pathlib)


class ObjectStore:
    """The keys of an object store that begin with a prefix: ``s3://bucket/prefix``."""

    def __init__(self, url: str) -> None:
        """Ask nothing of the network yet.

        Raises:
            UsageError: an extra is missing, or names of this kind may lead elsewhere.

        """
        kind = url.partition("://")[0]
        if kind not in _STORES:
            raise UsageError(
                f"{kind}:// may hold links or redirects; name a folder, or s3://BUCKET/PREFIX"
            )
        if kind in _S3:
            self._system, path = open_system(url, config_kwargs=straight.config())
        else:
            self._system, path = open_system(url)
        self._prefix = path.rstrip("/")

    def open(self, parts: Sequence[str]) -> BinaryIO:
        """Open an object by its key, which is the prefix and the parts and nothing else."""
        key = "/".join((self._prefix, *parts))
        with _reasons():
            self._system.invalidate_cache()
            info = self._system.info(key)
        if str(info.get("name", "")).lstrip("/") != key.lstrip("/"):
            raise NotOpenedError("link")
        if info.get("type") != "file":
            raise NotOpenedError("not_a_file")
        with _reasons():
            file = self._system.open(key, "rb", block_size=_CHUNK)
        return io.BufferedReader(_Guarded(file), _CHUNK)

    def exists(self) -> bool:
        """Return True if there is anything below the prefix, or one may not ask.

        Raises:
            InputError: the store cannot be reached.

        """
        try:
            return bool(self._system.isdir(self._prefix))
        except PermissionError:
            return True
        except Exception as error:  # noqa: BLE001 (as above)
            said = getattr(error, "strerror", None) or type(error).__name__
            raise InputError(f"the object store cannot be read: {said}") from None


@contextlib.contextmanager
def _reasons() -> Iterator[None]:
    """Turn whatever a driver raises into the reason why nothing was opened."""
    try:
        yield
    except FileNotFoundError:
        raise NotOpenedError("missing") from None
    except PermissionError:
        raise NotOpenedError("denied") from None
    except Exception:  # noqa: BLE001 (each driver has exceptions of its own)
        raise NotOpenedError("unreadable") from None


class _Guarded(io.RawIOBase):
    """An object as a raw file whose every trouble is an OSError."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read(len(buffer))
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 (as above)
            raise OSError(type(error).__name__) from None
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def root_of(place: str | os.PathLike[str] | Root) -> Root:
    """Return the root at a path or a URL; a root is itself.

    Raises:
        UsageError: the URL is of a kind that cannot be one.

    """
    if not isinstance(place, str | os.PathLike):
        return place
    name = os.fspath(place)
    if not is_url(name):
        return Folder(name)
    kind, _, path = name.partition("://")
    return Folder(path) if kind == "file" else ObjectStore(name)
