"""Which files and lines a call read: by read tool, by shell, by a tool that the user names.

Names and keys are those of Claude Code, Codex, pi, Gemini CLI, OpenHands and the tool examples of
the providers. A tool that is neither known here nor named by the user reads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from compactctl.errors import UsageError
from compactctl.model import Block, arguments, result_text
from compactctl.view import paths, shell

EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "text_editor"})
"""Tools that read, when their command is ``view``, and else write."""

END = 1 << 60
"""The line behind the last, where nothing says which that is."""


class Read(msgspec.Struct, frozen=True):
    """A read of one file: the lines asked for are ``start`` up to and without ``stop``, from 1.

    ``may_number``: its result may carry line numbers. ``is_alone``: its result is of no other file.
    ``tells_lines``: the call asks for lines counted from the start of the file, or for all.
    """

    path: str
    key: str
    start: int = 1
    stop: int = END
    may_number: bool = True
    is_alone: bool = True
    tells_lines: bool = True


class ReadTool(msgspec.Struct, frozen=True):
    """A tool that the user says reads files, and the keys of its input."""

    name: str
    path: str
    offset: str | None = None
    limit: str | None = None


def named_read_tools(given: Sequence[str]) -> list[ReadTool]:
    """Return the tools that ``NAME:KEY[:OFFSET:LIMIT]`` options name.

    Raises:
        UsageError: one is of another form.

    """
    tools = []
    for item in given:
        parts = item.split(":")
        if len(parts) not in {2, 4} or not all(parts):
            raise UsageError(f"--read-tool {item}: expected NAME:KEY or NAME:KEY:OFFSET:LIMIT")
        tools.append(ReadTool(*parts))
    return tools


def reads_of(call: Block, result: Block, named: Sequence[ReadTool] = ()) -> list[Read]:
    """Return every file that a successful call asked for; none for any other call.

    A call that asks for several files has its result in common for all of them. What of it the
    result shows is another question: see :mod:`compactctl.view.shown`.
    """
    if result.failed:
        return []
    tool = next((tool for tool in named if tool.name == call.tool), None)
    if tool is not None:
        return _by_named(tool, call)
    one = _by_read_tool(call, result)
    if one is not None:
        return [one]
    if shell.is_shell(call.tool):
        return _by_shell(call, result_text(result)) if _READER.search(call.text) else []
    return _of_many(call) if "read" in call.tool.lower() else []


def _by_named(tool: ReadTool, call: Block) -> list[Read]:
    given = arguments(call)
    path = given.get(tool.path)
    if not isinstance(path, str):
        return []
    start = given.get(tool.offset) if tool.offset else None
    limit = given.get(tool.limit) if tool.limit else None
    first = start if type(start) is int and start > 0 else 1
    stop = first + limit if type(limit) is int and limit >= 0 else END
    return [Read(path, paths.key(path, call.cwd), first, stop)]


_READS = frozenset({"read", "read_file", "readfile", "view_file", "open_file", "notebookread"})
_PATH_KEYS = ("file_path", "path", "filename", "filePath", "absolute_path", "notebook_path")
_MANY = ("paths", "files", "file_paths")
_UNCHANGED = re.compile(r"\b(?:unchanged|not (?:been )?(?:changed|modified))\b", re.IGNORECASE)
_STUB = 400
"""Characters; a result that only refers to an earlier one is no longer than this."""
DEFAULT_READ_LINES = 2000
"""Claude Code's Read shows no more lines than this when the call names no limit."""


def _of_many(call: Block) -> list[Read]:
    """Recognise a read tool that is asked for several files at once."""
    given = arguments(call)
    many: list[Any] = next((given[key] for key in _MANY if isinstance(given.get(key), list)), [])
    if not all(isinstance(path, str) for path in many):
        return []
    return _in_common(many, call.cwd)


def _in_common(names: list[str], cwd: str, start: int = 1, stop: int = END) -> list[Read]:
    """Return the reads of files that one call shows one after another."""
    alone = len(names) == 1
    return [Read(name, paths.key(name, cwd), start, stop, alone, alone) for name in names]


def _by_read_tool(call: Block, result: Block) -> Read | None:
    """Return what a read of one file asks for; None for a call of any other tool."""
    path, lowered = result.path, call.tool.lower()
    if path is None and lowered not in _READS and lowered not in EDITORS:
        return None
    given = arguments(call)
    if path is None and (lowered in _READS or given.get("command") == "view"):
        path = path_of(given)
    if not path:
        return None
    start, stop = _range(given)
    tells = _tells_lines(given)
    return Read(path, paths.key(path, call.cwd), start, stop, tells_lines=tells)


def _tells_lines(given: dict[str, Any]) -> bool:
    """Return True if a call asks for lines of the file, counted from its start."""
    offset = given.get("offset", 1)
    return "pages" not in given and (type(offset) is not int or offset >= 0)


def path_of(given: dict[str, Any]) -> str | None:
    """Return the path that a call names, under any of the usual keys."""
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


def points_back(text: str) -> bool:
    """Return True if a result only says that an earlier one still shows the file as it is."""
    if len(text) > _STUB:
        return False
    lowered = text.lower()  # much faster to look into than the expression that decides
    return ("changed" in lowered or "modified" in lowered) and bool(_UNCHANGED.search(text))


_COUNT = r"[0-9]{1,18}"
"""A number of lines that there may be; Python may refuse to read a longer one."""
_LINES = re.compile(rf"({_COUNT})(?:,({_COUNT}))?p")
_READER = re.compile(r"\b(?:cat|nl|sed|head)\b")
_COMPLAINT = re.compile(r"\s*(?:cat|sed|head|nl|bash|sh|zsh): ")
"""What a command says that could not show a file, where no flag tells that it failed."""


def _by_shell(call: Block, text: str) -> list[Read]:
    """Recognise a command that is exactly a read: cat, head, nl or ``sed -n a,bp`` of files."""
    given = arguments(call)
    words = shell.words(given.get("command", given.get("cmd")))
    where = shell.folder(given, call.cwd)
    found = _plain_read(words)
    if found is None or given.get("run_in_background") is True or _COMPLAINT.match(text):
        return []
    names, start, stop = found
    return _in_common(names, where, start, stop)


def _plain_read(words: list[str]) -> tuple[list[str], int, int] | None:
    """Return (files, first line, line behind the last) of a command that only shows files."""
    match words:
        case ["cat", "-n", *names] | ["nl", "-ba", *names] | ["cat" | "nl", *names]:
            lines = (1, END)
        case ["sed", "-n", span, *names] if len(names) == 1 and (found := _LINES.fullmatch(span)):
            # Of several files sed counts the lines through; it shows one line at least.
            lines = (int(found[1]), max(int(found[1]), int(found[2] or 0)) + 1)
        case ["head", "-n", count, *names] if re.fullmatch(_COUNT, count):
            lines = (1, int(count) + 1)
        case ["head", flag, *names] if re.fullmatch(f"-{_COUNT}", flag):
            lines = (1, int(flag[1:]) + 1)
        case ["head", *names]:
            lines = (1, 11)
        case _:
            return None
    if not names or any(name.startswith("-") for name in names):
        return None
    return names, *lines
