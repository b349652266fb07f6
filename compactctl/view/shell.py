"""What tools hand to a shell: its words, where it runs, and the patches in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from compactctl.view import paths

_SHELLS = frozenset(
    """bash shell exec exec_command local_shell run_shell_command execute_bash terminal
    run_terminal_cmd run_command container.exec powershell write_stdin execute_command bashoutput
    """.split()
)
_SPECIAL = re.compile(r"[|&;<>$`*?\[\]{}()~!\n\\]")
_PATCH = "*** Begin Patch"
_APPLIED = re.compile(r"(?:^|[;&|(.])\s*apply_patch\b[^\n]*\n?\s*\*\*\* Begin Patch", re.MULTILINE)
_ENTERED = re.compile(r"\s*cd\s+([^\s;&|]+)\s*(?:&&|;|\n)\s*apply_patch\b")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
_PLAIN = re.compile(r"[\w ./,:@%+=-]*", re.ASCII)
"""A command that is parted at its spaces, as nearly all are; others take much longer."""
_PIPED = re.compile(r"(nl\b[^|]*?)\s*\|\s*(sed -n [^|]*)")


def is_shell(name: str) -> bool:
    """Return True if a tool's output is that of a shell."""
    return name.lower() in _SHELLS


def folder(given: dict[str, Any], cwd: str) -> str:
    """Return the folder that a command starts in; ``given`` is the input of its call."""
    workdir = given.get("workdir")
    return paths.key(workdir, cwd) if isinstance(workdir, str) else cwd


def words(command: Any) -> list[str]:
    """Return the words of a simple command, [] for anything that a shell would work on."""
    if isinstance(command, list):
        if len(command) == 3 and command[1] in {"-c", "-lc"}:  # noqa: PLR2004 (bash -lc TEXT)
            return words(command[2])
        return command if all(isinstance(word, str) for word in command) else []
    if not isinstance(command, str):
        return []
    piped = _PIPED.fullmatch(command.strip())
    if piped:
        numbered, lines = words(piped[1]), words(piped[2])
        match numbered, lines:
            case ((["nl", "-ba", name] | ["nl", name]), ["sed", "-n", span]):
                return ["sed", "-n", span, name]
        return []
    if _PLAIN.fullmatch(command):
        return command.split()
    if _SPECIAL.search(command):
        return []
    try:
        return shlex.split(command)
    except ValueError:  # an open quote
        return []


def patched(given: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (path, folder that it starts from) of the files that patches in a call change.

    A patch stands alone in its text, or behind ``apply_patch``: in a here-document, say. One that
    another command only carries, into a file of its own perhaps, changes nothing.
    """
    found: list[tuple[str, str]] = []
    for text in _texts(given):
        if not (text.lstrip().startswith(_PATCH) or _APPLIED.search(text)):
            continue
        entered = _ENTERED.match(text)
        where = entered[1].strip("'\"") if entered else ""
        found += [(path, where) for path in _PATCHED.findall(text)]
    return found


def _texts(given: dict[str, Any]) -> Iterator[str]:
    for value in given.values():
        for text in value if isinstance(value, list) else (value,):
            if isinstance(text, str) and _PATCH in text:
                yield text
