"""Which files a call read, and which lines: by read tools, by shell, by tools of one's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from compactctl import placeholders
from compactctl.errors import UsageError
from compactctl.model import Block, arguments, result_text
from compactctl.view import paths, shell
from compactctl.view.read_tools import END, Read, read_of

__all__ = ["Read", "ReadTool", "named_read_tools", "reads_of"]

_MANY = ("paths", "files", "file_paths")
_COUNT = r"[0-9]{1,18}"
"""A number of lines that there may be; Python may refuse to read a longer one."""
_LINES = re.compile(rf"({_COUNT})(?:,({_COUNT}))?p")
_READER = re.compile(r"\b(?:cat|nl|sed|head)\b")
_SHORTENED = re.compile(r"truncated|omitted|<persisted-output>", re.IGNORECASE)
_COMPLAINT = re.compile(r"\s*(?:cat|sed|head|nl|bash|sh|zsh): ")
"""What a command says that could not show a file, where no flag tells that it failed."""


class ReadTool(msgspec.Struct, frozen=True):
    """A tool of the user's that reads files, and the keys of its input."""

    name: str
    path: str
    offset: str | None = None
    limit: str | None = None


def named_read_tools(given: Sequence[str]) -> list[ReadTool]:
    """Read ``NAME:KEY[:OFFSET:LIMIT]`` options.

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
    """Give every file that a successful call showed; none for any other call.

    A call that shows several files has its result in common for all of them.
    """
    if result.failed:
        return []
    tool = next((tool for tool in named if tool.name == call.name), None)
    if tool is not None:
        return _by_named(tool, call, result_text(result))
    one = read_of(call, result)
    if one is not None:
        return [one]
    if shell.is_shell(call.name):
        if not _READER.search(call.text):
            return []
        return _by_shell(arguments(call), call.cwd, result_text(result))
    if "read" not in call.name.lower():
        return []
    given = arguments(call)
    many: list[Any] = next((given[key] for key in _MANY if isinstance(given.get(key), list)), [])
    if not all(isinstance(path, str) for path in many):
        return []
    sure = 1 if _is_shortened(result_text(result)) else END
    return [Read(path, paths.key(path, call.cwd), sure=sure) for path in many]


def _is_shortened(text: str) -> bool:
    """Say whether a result may lack some of what its call asked for: a harness or a layer cut it.

    Their notes stand anywhere in it. A file that only speaks of such things is taken for a cut
    one, which costs no more than an older read of it.
    """
    return placeholders.CUT in text or bool(_SHORTENED.search(text))


def _by_named(tool: ReadTool, call: Block, text: str) -> list[Read]:
    given = arguments(call)
    path = given.get(tool.path)
    if not isinstance(path, str):
        return []
    start = given.get(tool.offset) if tool.offset else None
    limit = given.get(tool.limit) if tool.limit else None
    first = start if type(start) is int and start > 0 else 1
    stop = first + limit if type(limit) is int and limit >= 0 else END
    sure = first if placeholders.CUT in text else stop
    return [Read(path, paths.key(path, call.cwd), first, stop, sure)]


def _by_shell(given: dict[str, Any], cwd: str, text: str) -> list[Read]:
    """Recognise a command that is exactly a read: cat, head, nl or ``sed -n a,bp`` of files."""
    words = shell.words(given.get("command", given.get("cmd")))
    where = shell.folder(given, cwd)
    found = _plain_read(words)
    if found is None or given.get("run_in_background") is True or _COMPLAINT.match(text):
        return []
    names, start, stop = found
    sure = start if _is_shortened(text) else stop
    return [Read(name, paths.key(name, where), start, stop, sure) for name in names]


def _plain_read(words: list[str]) -> tuple[list[str], int, int] | None:
    """Give (files, first line, line behind the last) of a command that only shows files."""
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
