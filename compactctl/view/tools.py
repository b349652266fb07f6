"""What the well-known tools change, and what they say of what is to be done.

Names and keys are those of Claude Code, Codex, pi, Gemini CLI, OpenHands and the tool examples of
the providers. A tool that is not here changes nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import msgspec

from compactctl.model import Block, arguments, result_text
from compactctl.view import paths, shell
from compactctl.view.index import Answered, View
from compactctl.view.reads import EDITORS, path_of, reads_of

PROTECTED = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", "SKILL.md")
"""Files of standing rules: what was read from them must not be forgotten."""

_EDITS = frozenset(
    """edit multiedit write notebookedit write_file create_file edit_file replace str_replace
    search_replace insert delete_file""".split()
)
_TODOS = frozenset(
    """todowrite update_plan todo_write write_todos update_todo_list settodolist
    task_tracker""".split()
)
_TODO_KEYS = ("todos", "plan", "task_list")
_CHECKBOX = re.compile(r"^\s*(?:[-*]\s+)?\[([ xX~-])\]\s+(.+)$", re.MULTILINE)
_TASK = re.compile(r"Task #(\w+) created")
_CLOSED = ("completed", "done", "cancelled", "deleted")  # no set: what is looked up may be anything


def keys_modified_by(call: Block) -> list[str]:
    """Return the keys of the files that a call writes or edits."""
    return [key for _, key in changes(call)]


def changes(call: Block) -> list[tuple[str, str]]:
    """Return (path, key) of the files that a call writes or edits."""
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


class Edits:
    """When which file was changed by a call; looked for when it is first asked for."""

    def __init__(self, answered: Sequence[Answered]) -> None:
        """Take the answered calls of a view, by whose order the others are asked for."""
        self._answered = answered

    @cached_property
    def _by_file(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for at, one in enumerate(self._answered):
            if not one.result.failed:
                for name in keys_modified_by(one.call):
                    found.setdefault(name, []).append(at)
        return found

    def between(self, key: str, first: int, last: int) -> bool:
        """Return True if a call behind ``first`` and in front of ``last`` changed the file."""
        edits = self._by_file.get(key, [])
        at = bisect_right(edits, first)
        return at < len(edits) and edits[at] < last


def is_todo(name: str) -> bool:
    """Return True if a tool writes down the whole list of what is to be done."""
    return name.lower() in _TODOS


def open_items(call: Block) -> list[str]:
    """Return the items of a todo list that are not done."""
    given = arguments(call)
    items: Any = next((given[key] for key in _TODO_KEYS if given.get(key)), [])
    if isinstance(items, str):  # a list in Markdown
        return [text for mark, text in _CHECKBOX.findall(items) if mark not in "xX"]
    return [
        _text_of(item)
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict) and item.get("status") not in _CLOSED
    ]


def _text_of(item: dict[str, Any]) -> str:
    keys = ("content", "step", "description", "title", "subject")
    return next((str(item[key]) for key in keys if item.get(key)), "")


def is_todo_call(call: Block) -> bool:
    """Return True if a call writes down what is to be done: a whole list, or a task of it."""
    return is_todo(call.tool) or call.tool in {"TaskCreate", "TaskUpdate"}


def begins_todo(call: Block) -> bool:
    """Return True if a call writes down something that no call before it did."""
    return is_todo(call.tool) or call.tool == "TaskCreate"


class Todo(msgspec.Struct, frozen=True):
    """What is still to be done, and the calls that say so."""

    items: list[str]
    said: list[Answered]


def open_todo(view: View) -> Todo:
    """Return what is open of the last todo list, and of tasks that are kept one by one."""
    items: list[str] = []
    said: list[Answered] = []
    tasks: dict[str, list[Answered]] = {}
    for found in view.answered:
        tool = found.call.tool
        if found.result.failed:
            continue
        if tool in {"TaskCreate", "TaskUpdate"}:
            _follow(tasks, found)
        elif is_todo(tool) and (tool.lower() != "task_tracker" or "task_list" in found.call.text):
            items = open_items(found.call)
            said = [found] if items else []
    for number, steps in tasks.items():
        items.append(_subject(steps) or f"task #{number}")
        said += steps
    return Todo(items, said)


def _follow(tasks: dict[str, list[Answered]], found: Answered) -> None:
    """Note what a call says of a task, by the number of the task; one that is done is left out."""
    given = arguments(found.call)
    if found.call.tool == "TaskCreate":
        created = _TASK.search(result_text(found.result))
        number = created[1] if created else found.call.call_id or ""
        tasks[number] = [found]
        return
    number = str(given.get("taskId", ""))
    if given.get("status") in _CLOSED:
        tasks.pop(number, None)
    else:
        tasks.setdefault(number, []).append(found)


def _subject(steps: list[Answered]) -> str:
    """Return what a task is called, as the last call that names it says."""
    for step in reversed(steps):
        subject = arguments(step.call).get("subject")
        if isinstance(subject, str) and subject:
            return subject
    return ""


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
        for path, key in changes(found.call):
            modified.setdefault(key, path)
    return Files(list(read.values()), list(modified.values()))


def union(*lists: Iterable[str]) -> list[str]:
    """Return the paths of several lists, each once, in order."""
    return list(dict.fromkeys(path for one in lists for path in one))
