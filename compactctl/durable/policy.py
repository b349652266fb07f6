"""Which sessions may be read: a policy file of session-name globs."""

from __future__ import annotations

import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from compactctl.errors import UsageError
from compactctl.files.pipes import open_to_read
from compactctl.pointers import SourcePointer

Authorize = Callable[[SourcePointer], bool]
"""A policy: it says no by a false answer or by raising PermissionError."""


def load_policy(path: str | os.PathLike[str]) -> Authorize:
    """Read ``allow = ["sess-*"]`` and ``deny = […]`` from a TOML file; deny wins.

    Without ``allow`` every session is allowed that is not denied; with an empty one, none is.

    Raises:
        UsageError: the file is unreadable, not TOML, or holds anything else. A misspelt key is
            refused because it would let through what it was meant to stop.

    """
    name = os.fspath(path)
    table = _read_toml(name)
    for key, value in table.items():
        if key not in ("allow", "deny"):
            raise UsageError("the policy knows only the keys allow and deny", file=name)
        if not isinstance(value, list) or not all(isinstance(glob, str) for glob in value):
            raise UsageError(f"{key} must be a list of session-name globs", file=name)
    allow: list[str] = table.get("allow", ["*"])
    deny: list[str] = table.get("deny", [])

    def authorize(pointer: SourcePointer) -> bool:
        denied = any(fnmatchcase(pointer.session, glob) for glob in deny)
        return not denied and any(fnmatchcase(pointer.session, glob) for glob in allow)

    return authorize


def _read_toml(name: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415  # only who has a policy pays for its import

    try:
        with open_to_read(name) as file:
            return tomllib.load(file)
    except OSError as error:
        raise UsageError(f"the policy cannot be read: {error.strerror}", file=name) from None
    except (ValueError, RecursionError):
        raise UsageError("the policy is not valid TOML in UTF-8", file=name) from None
