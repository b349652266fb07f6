"""What the well-known tools do: which of them read a file, change one, or run a shell.

Names and keys are those of Claude Code, Codex, pi, Gemini CLI, OpenHands and the tool examples of
the providers. A tool that is not here is neither a read nor an edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from compactctl import paths, placeholders
from compactctl.model import Block, Message, arguments, result_text
from compactctl.protocol.pairs import Place, block_at, pair

PROTECTED = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", "SKILL.md")
"""Files of standing rules: what was read from them must not be forgotten."""

_SHELLS = frozenset(
    """bash shell exec exec_command local_shell run_shell_command execute_bash terminal
    run_terminal_cmd run_command container.exec powershell write_stdin execute_command bashoutput
    """.split()
)
_PATH_KEYS = ("file_path", "path", "filename", "filePath", "absolute_path", "notebook_path")
_READS = frozenset({"read", "read_file", "readfile", "view_file", "open_file", "notebookread"})
_EDITS = frozenset(
    """edit multiedit write notebookedit write_file create_file edit_file replace str_replace
    search_replace insert delete_file""".split()
)
_EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "text_editor"})
_TODOS = frozenset({"todowrite", "update_plan", "todo_write", "write_todos"})
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_NUMBERED = re.compile(r"^\s*(\d+)(?:→|\t|: |\|)")
_CUT = re.compile(r"truncated|lines omitted|more lines|partial view", re.IGNORECASE)
_REMINDER = "<system-reminder>"
_UNCHANGED = re.compile(r"\b(?:unchanged|not (?:been )?(?:changed|modified))\b", re.IGNORECASE)
_STUB = 400
"""Characters; a result in place of the content, which an earlier one shows, is no longer."""

DEFAULT_READ_LINES = 2000
"""Claude Code's Read shows no more lines than this when the call names no limit."""

END = 1 << 60


class Read(msgspec.Struct, frozen=True):
    """A read of one file: lines ``start`` up to and without ``stop`` (from 1) at most.

    Of these only those before ``sure`` are known to be shown.
    """

    path: str
    key: str
    start: int = 1
    stop: int = END
    sure: int = END

    @property
    def is_full(self) -> bool:
        """Say whether the whole file is shown."""
        return self.start <= 1 and self.sure >= END

    def covers(self, other: Read) -> bool:
        """Say whether all that ``other`` may show is shown here."""
        return self.key == other.key and self.start <= other.start and other.stop <= self.sure


def is_shell(name: str) -> bool:
    """Say whether a tool's output is that of a shell."""
    return name.lower() in _SHELLS


def read_of(call: Block, result: Block) -> Read | None:
    """Give what a successful read shows; None for any other interaction."""
    if result.failed:
        return None
    given = arguments(call)
    path = result.path
    if path is None and _reads(call.name, given):
        path = _path(given)
    if not path:
        return None
    start, stop = _range(given)
    text = result_text(result)
    shown = _shown_to(text)
    if shown is None or not _tells_lines(given) or not (text.strip() or _has_image(result)):
        # Pages, lines from the end, or nothing at all: which lines are shown is not known.
        return Read(path, paths.key(path, call.cwd), start, stop, start)
    stop = min(stop, shown)
    return Read(path, paths.key(path, call.cwd), start, stop, stop)


def _tells_lines(given: dict[str, Any]) -> bool:
    """Say whether a call asks for lines of the file, counted from its start."""
    offset = given.get("offset", 1)
    return "pages" not in given and (type(offset) is not int or offset >= 0)


def _has_image(result: Block) -> bool:
    return any(piece.kind != "text" for piece in result.content)


def _reads(name: str, given: dict[str, Any]) -> bool:
    lowered = name.lower()
    return lowered in _READS or (lowered in _EDITORS and given.get("command") == "view")


def _path(given: dict[str, Any]) -> str | None:
    return next((value for key in _PATH_KEYS if isinstance(value := given.get(key), str)), None)


def _range(given: dict[str, Any]) -> tuple[int, int]:
    """Read the range that a call asks for, in any of the usual spellings."""
    window = given.get("view_range")
    if isinstance(window, list) and len(window) == 2:  # noqa: PLR2004 (first and last line)
        first, last = _whole(window[0], 1), _whole(window[1], -1)
        return first, END if last < 0 else last + 1
    start = _whole(given.get("offset", given.get("start_line")), 1)
    start = max(start, 1)
    if "end_line" in given:
        return start, _whole(given["end_line"], END - 1) + 1
    limit = _whole(given.get("limit"), -1)
    return start, END if limit < 0 else start + limit


def _whole(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _shown_to(text: str) -> int | None:
    """Give the line before which a result stops, ``END`` when nothing says that it stops short.

    Line numbers in the text tell where a cut result ends. None where that can not be relied on:
    a result with a gap, a cut one without numbers, or one that only says "unchanged".
    """
    if len(text) <= _STUB and _UNCHANGED.search(text):
        return None
    text = _without_reminder(text)
    end = text[-400:]
    note = text.rfind(placeholders.CUT)
    if note >= 0 and "\n" in text[note:].rstrip():  # something stands behind what was cut
        return None
    lines = end.split("\n")[1:] if _NUMBERED.match(text) else []
    numbers = [int(found[1]) for line in lines if (found := _NUMBERED.match(line))]
    last = numbers[-1] if numbers else 0
    if note >= 0 or _CUT.search(end):
        return last + 1 if last else None
    return last + 1 if last >= DEFAULT_READ_LINES else END


def _without_reminder(text: str) -> str:
    """Take off the reminder that a harness puts behind what a read shows."""
    shown = text.rstrip()
    if not shown.endswith("</system-reminder>"):
        return text
    return shown[: shown.rfind(_REMINDER)].rstrip()


def modified_by(call: Block) -> list[str]:
    """Give the paths that a call writes or edits."""
    lowered = call.name.lower()
    if lowered == "apply_patch" or "*** Begin Patch" in call.text:
        given = arguments(call)
        text = next((v for v in given.values() if isinstance(v, str)), call.text)
        return _PATCHED.findall(text)
    if lowered in _EDITS or lowered in _EDITORS:
        given = arguments(call)
        path = _path(given)
        return [path] if path and given.get("command") != "view" else []
    return []


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
        if isinstance(item, dict) and item.get("status") not in {"completed", "done", "cancelled"}
    ]


def keys_modified_by(call: Block) -> list[str]:
    """Give the keys of the files that a call writes or edits."""
    return [paths.key(path, call.cwd) for path in modified_by(call)]


def answered(messages: Sequence[Message]) -> dict[Place, str]:
    """Give for each result the name of the tool that it is from; ids may repeat."""
    return {
        interaction.result: block_at(messages, interaction.call).name
        for interaction in pair(messages).interactions
        if interaction.result is not None
    }


class Files(msgspec.Struct, frozen=True):
    """Paths in the order in which they were first read and first modified."""

    read: list[str]
    modified: list[str]


def files(messages: Sequence[Message]) -> Files:
    """Take the files read and modified from the calls that succeeded; no model is asked."""
    read: dict[str, str] = {}
    modified: dict[str, str] = {}
    for interaction in pair(messages).interactions:
        if interaction.result is None:
            continue
        call = block_at(messages, interaction.call)
        result = block_at(messages, interaction.result)
        if result.failed:
            continue
        shown = read_of(call, result)
        if shown:
            read.setdefault(shown.key, shown.path)
        for path in modified_by(call):
            modified.setdefault(paths.key(path, call.cwd), path)
    return Files(list(read.values()), list(modified.values()))


def union(*lists: Iterable[str]) -> list[str]:
    """Join lists of paths, each path once, in order."""
    return list(dict.fromkeys(path for one in lists for path in one))
