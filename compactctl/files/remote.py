"""URLs, and the file systems of fsspec behind them, which are extras."""

from __future__ import annotations

import importlib
import re
from typing import Any

from compactctl.errors import UsageError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}


def is_url(name: str) -> bool:
    """Return True if fsspec is needed to open it."""
    return bool(_URL.match(name))


def open_system(url: str, **options: Any) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it; ``options`` are those of its driver.

    Raises:
        UsageError: an extra is missing, or nothing knows this kind of URL.

    """
    kind = url.partition("://")[0]
    extra = _EXTRAS.get(kind)
    missing = f"'compactctl[{extra}]'" if extra else "fsspec and its driver"
    try:
        fsspec: Any = importlib.import_module("fsspec.core")
        system, path = fsspec.url_to_fs(url, **options)
    except ImportError:
        raise UsageError(f"{kind}:// needs another package: pip install {missing}") from None
    except ValueError:
        raise UsageError(f"{kind}:// is no storage that fsspec knows") from None
    return system, path
