"""What the well-known tools change, and what they say of what is to be done.

Names and keys are those of Claude Code, Codex, pi, Gemini CLI, OpenHands and the tool examples of
the providers. A tool that is not here changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from compactctl.model import Block, arguments
from compactctl.view import paths, shell
from compactctl.view.index import View
from compactctl.view.reads import EDITORS, path_of, reads_of

PROTECTED = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", "SKILL.md")
"""Files of standing rules: what was read from them must not be forgotten."""

_EDITS = frozenset(
    """edit multiedit write notebookedit write_file create_file edit_file replace str_replace
    search_replace insert delete_file""".split()
)
_TODOS = frozenset({"todowrite", "update_plan", "todo_write", "write_todos"})
_CLOSED = ("completed", "done", "cancelled")  # no set: what is looked up may be anything


def keys_modified_by(call: Block) -> list[str]:
    """Give the keys of the files that a call writes or edits."""
    return [key for _, key in _changes(call)]


def _changes(call: Block) -> list[tuple[str, str]]:
    """Give (path, key) of the files that a call writes or edits."""
    lowered = call.tool.lower()
    if lowered in _EDITS or lowered in EDITORS:
        given = arguments(call)
        path = path_of(given)
        return (
            [(path, paths.key(path, call.cwd))] if path and given.get("command") != "view" else []
        )
    if "*** Begin Patch" not in call.text:
        return []
    given = arguments(call)
    cwd = shell.folder(given, call.cwd)
    return [
        (path, paths.key(path, paths.key(folder, cwd) if folder else cwd))
        for path, folder in shell.patched(given or {"patch": call.text})
    ]


def is_todo(name: str) -> bool:
    """Say whether a tool writes down the list of what is to be done."""
    return name.lower() in _TODOS


def open_items(call: Block) -> list[str]:
    """Give the items of a todo list that are not done."""
    given = arguments(call)
    items = given.get("todos") or given.get("plan") or []
    return [
        str(item.get("content") or item.get("step") or item.get("description") or "")
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict) and item.get("status") not in _CLOSED
    ]


class Files(msgspec.Struct, frozen=True):
    """Paths in the order in which they were first read and first modified."""

    read: list[str]
    modified: list[str]


def files(view: View) -> Files:
    """Return the files that calls of a view read and modified; failed calls did neither."""
    read: dict[str, str] = {}
    modified: dict[str, str] = {}
    for found in view.answered:
        if found.result.failed:
            continue
        for shown in reads_of(found.call, found.result):
            read.setdefault(shown.key, shown.path)
        for path, key in _changes(found.call):
            modified.setdefault(key, path)
    return Files(list(read.values()), list(modified.values()))


def union(*lists: Iterable[str]) -> list[str]:
    """Join lists of paths, each path once, in order."""
    return list(dict.fromkeys(path for one in lists for path in one))
