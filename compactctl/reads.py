"""Which files a call read, and which lines of them: by read tools, by shell, by tools of one's own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

import msgspec

from compactctl import paths
from compactctl.errors import UsageError
from compactctl.model import Block, arguments, result_text
from compactctl.tools import END, Read, is_shell, read_of

__all__ = ["Read", "ReadTool", "named_read_tools", "reads_of"]

_MANY = ("paths", "files", "file_paths")
_SPECIAL = re.compile(r"[|&;<>$`*?\[\]{}()~!\n\\]")
_LINES = re.compile(r"(\d+)(?:,(\d+))?p")
_PIPED = re.compile(r"(nl\b[^|]*?)\s*\|\s*(sed -n [^|]*)")


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
        return _by_named(tool, call)
    one = read_of(call, result)
    if one is not None:
        return [one]
    given = arguments(call)
    if is_shell(call.name):
        return _by_shell(given, call.cwd, result_text(result))
    many = next((given[key] for key in _MANY if isinstance(given.get(key), list)), [])
    if "read" not in call.name.lower() or not all(isinstance(path, str) for path in many):
        return []
    return [Read(path, paths.key(path, call.cwd)) for path in many]


def _by_named(tool: ReadTool, call: Block) -> list[Read]:
    given = arguments(call)
    path = given.get(tool.path)
    if not isinstance(path, str):
        return []
    start = given.get(tool.offset) if tool.offset else None
    limit = given.get(tool.limit) if tool.limit else None
    first = start if type(start) is int and start > 0 else 1
    stop = first + limit if type(limit) is int and limit >= 0 else END
    return [Read(path, paths.key(path, call.cwd), first, stop, stop)]


def _by_shell(given: dict[str, Any], cwd: str, text: str) -> list[Read]:
    """Recognise a command that is exactly a read: cat, head, nl or ``sed -n a,bp`` of files."""
    words = _words(given.get("command", given.get("cmd")))
    workdir = given.get("workdir")
    where = paths.key(workdir, cwd) if isinstance(workdir, str) else cwd
    found = _plain_read(words)
    if found is None:
        return []
    names, start, stop = found
    # A shell's output may be shortened in its middle by the harness, with a word about it.
    sure = start if "truncated" in text else stop
    return [Read(name, paths.key(name, where), start, stop, sure) for name in names]


def _words(command: Any) -> list[str]:
    """Give the words of a simple command, [] for anything that a shell would work on."""
    if isinstance(command, list):
        if len(command) == 3 and command[1] in {"-c", "-lc"}:  # noqa: PLR2004 (bash -lc TEXT)
            return _words(command[2])
        return command if all(isinstance(word, str) for word in command) else []
    if not isinstance(command, str):
        return []
    piped = _PIPED.fullmatch(command.strip())
    if piped:
        numbered, lines = _words(piped[1]), _words(piped[2])
        return [*lines, *numbered[-1:]] if len(lines) == 3 and lines[0] == "sed" else []  # noqa: PLR2004 (sed -n RANGE)
    if _SPECIAL.search(command):
        return []
    try:
        return shlex.split(command)
    except ValueError:  # an open quote
        return []


def _plain_read(words: list[str]) -> tuple[list[str], int, int] | None:
    """Give (files, first line, line behind the last) of a command that only shows files."""
    match words:
        case ["cat", "-n", *names] | ["nl", "-ba", *names] | ["cat" | "nl", *names]:
            lines = (1, END)
        case ["sed", "-n", span, *names] if found := _LINES.fullmatch(span):
            lines = (int(found[1]), int(found[2] or found[1]) + 1)
        case ["head", "-n", count, *names] if count.isdecimal():
            lines = (1, int(count) + 1)
        case ["head", flag, *names] if re.fullmatch(r"-\d+", flag):
            lines = (1, int(flag[1:]) + 1)
        case ["head", *names]:
            lines = (1, 11)
        case _:
            return None
    if not names or any(name.startswith("-") for name in names):
        return None
    return names, *lines
