"""The part of ``store`` that goes through fsspec."""

# Each storage has exceptions of its own.
# ruff: noqa: BLE001

from __future__ import annotations

import importlib
import threading
from typing import Any

from compactctl.errors import CompactctlError, InputError, UsageError

_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
_WHOLE_PUTS = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "memory"}
"""Where a put is one request that happens or does not. Elsewhere it takes a transaction: only
leaving ``with fs.open(…)`` would publish what an exception cut short."""

_STATE = ("ETag", "etag", "md5Hash", "generation", "mtime", "LastModified", "last_modified")
_one_transaction = threading.Lock()


def open_system(url: str) -> tuple[Any, str]:
    """Give the file system of a URL and the path in it.

    Raises:
        UsageError: an extra is missing, or nothing knows this kind of URL.

    """
    kind = url.partition("://")[0]
    missing = f"'compactctl[{_EXTRAS[kind]}]'" if kind in _EXTRAS else "fsspec and its driver"
    try:
        fsspec: Any = importlib.import_module("fsspec.core")
        system, path = fsspec.url_to_fs(url)
    except ImportError:
        raise UsageError(f"{kind}:// needs another package: pip install {missing}") from None
    except ValueError:
        raise UsageError(f"{kind}:// is no storage that fsspec knows") from None
    return system, path


def trouble(what: str, error: Exception) -> InputError:
    """Say what went wrong in one line; a driver's own words can hold keys or be pages long."""
    said = getattr(error, "strerror", None) or type(error).__name__
    return InputError(f"cannot be {what}: {said}")


def stamp(url: str) -> Any:
    """Give what changes when something writes to the object; None when there is none."""
    system, path = open_system(url)
    system.invalidate_cache()
    try:
        info = system.info(path)
    except FileNotFoundError:
        return None
    except Exception as error:
        raise trouble("read", error) from None
    return (info.get("size"), *(str(info.get(key)) for key in _STATE))


def read(url: str) -> tuple[bytes, Any]:
    """Give the bytes and the stamp of an object.

    Who works on it asks for its stamp again before anything is published.
    """
    system, path = open_system(url)
    before = stamp(url)
    if before is None:
        raise InputError("cannot be read: No such file or directory")
    try:
        return system.cat_file(path), before
    except Exception as error:
        raise trouble("read", error) from None


def put(url: str, data: bytes) -> None:
    """Write an object whole or not at all."""
    system, path = open_system(url)
    try:
        if url.partition("://")[0] in _WHOLE_PUTS:
            system.pipe_file(path, data)
            return
        # The transaction belongs to the file system, which all threads share.
        with _one_transaction:
            system.makedirs(system._parent(path), exist_ok=True)  # noqa: SLF001 (has no other name)
            with system.transaction, system.open(path, "wb") as file:
                file.write(data)
    except CompactctlError:
        raise
    except Exception as error:
        raise trouble("written", error) from None


def listing(url: str, *, pattern: bool) -> list[tuple[str, int]]:
    """Give (URL, size) of all files below a folder, or of those that match a pattern."""
    system, path = open_system(url)
    try:
        found = system.glob(path, detail=True) if pattern else system.find(path, detail=True)
    except Exception as error:
        raise trouble("listed", error) from None
    return [
        (system.unstrip_protocol(name), info.get("size") or 0)
        for name, info in found.items()
        if info.get("type") != "directory"
    ]


def is_folder(url: str) -> bool:
    """Say whether there is something below a URL rather than at it."""
    system, path = open_system(url)
    try:
        return bool(system.isdir(path))
    except Exception as error:
        raise trouble("read", error) from None


def spell(url: str) -> str:
    """Give the spelling of a URL that listings use."""
    system, path = open_system(url)
    name: str = system.unstrip_protocol(path)
    return name
