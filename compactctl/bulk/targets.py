"""What a FILE argument names: a path, a folder, a pattern or a URL."""

# Names stay strings: a path and a URL are the same to most of this.
# ruff: noqa: PTH100, PTH112, PTH118

from __future__ import annotations

import os
import re

from compactctl.files.remote import is_url

__all__ = ["absolute", "has_wildcard", "is_many", "is_pattern", "is_url", "join"]

_MAGIC = re.compile(r"[*?[]")


def is_pattern(name: str) -> bool:
    """Return whether it has wildcards and is no file of that very name."""
    return bool(_MAGIC.search(name)) and (is_url(name) or not os.path.lexists(name))


def has_wildcard(part: str) -> bool:
    """Return whether one part of a pattern has wildcards."""
    return bool(_MAGIC.search(part))


def is_many(name: str) -> bool:
    """Return whether it may name more than one file, or one elsewhere."""
    return is_url(name) or is_pattern(name) or os.path.isdir(name)


def join(folder: str, relative: str) -> str:
    """Return a path below a folder or a URL; ``/`` separates in both."""
    return f"{folder.rstrip('/')}/{relative}" if is_url(folder) else os.path.join(folder, relative)


def absolute(name: str) -> str:
    """Return a name that holds in any working directory: a worker has its own."""
    return name if is_url(name) else os.path.abspath(name)
