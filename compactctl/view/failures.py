"""What a failed call says of its failure, and which later success mends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from compactctl.model import Block, arguments
from compactctl.placeholders import CUT
from compactctl.view import shell

SAID = " failed: "
"""Between a call and what it said of its failure, on the line that tells of both."""

_EXIT = re.compile(r"(?:process exited with|exited with|exit|status) code:? -?\d+", re.IGNORECASE)
_NAMED = re.compile(
    r"\b[A-Za-z_.]*(?:Error|Exception|Failure)\b|^\s*E\s{2,}\S|\b(?:error|fatal|panic(?:ked)?)\b"
    r"\s*(?:\[\w+\])?\s*[:(]|^\s*(?:ERR!|error|fatal)\b|\bFAIL(?:ED|URE)?\b|[✗✘✖×]\s"
)
_HINTED = re.compile(
    r"\b(?:errors?|fail(?:ed|s|ure)?|fatal|exception|cannot|can't|could not|couldn't|unable|denied"
    r"|refused|not found|no such|does not exist|undefined|unexpected|invalid|missing|timed? ?out"
    r"|aborted|rejected|conflict|must|not permitted|mismatch)\b",
    re.IGNORECASE,
)
_NOT_NAMED = re.compile(
    r"\b0 (?:errors?|failed|failures?)\b|Traceback \(most recent", re.IGNORECASE
)
_TURNED_DOWN = ("The user doesn't want to", "User rejected", "The user rejected")
_TOLD = "the user said:"
_OUTPUT = "\nOutput:\n"
_HEADER = 600
"""Characters in which the header of a command's output ends."""
_TAG = re.compile(r"</?tool_use_error>")
_WIDEST = 300
"""Characters of one line of a failure."""
_NARROWEST = 40
_MOST = 30
"""Open failures that are kept, the latest."""
_TAIL = 2
"""Last lines that are kept of a failure."""
_SEARCHED = 200_000
"""Characters of an output in which the line that names the error is looked for."""


def exit_and_error(text: str) -> tuple[str, str]:
    """Return the line that tells the exit code, and the first that names the error.

    A line that names one by its form comes before one that only speaks of it; where there is
    neither, the last line stands for it.
    """
    lines = _lines(text)
    left = next((line for line in lines[:8] if _EXIT.search(line)), "")
    said = [line for line in lines if line != left and not _NOT_NAMED.search(line)]
    for pattern in (_NAMED, _HINTED):
        found = next((line for line in said if pattern.search(line)), None)
        if found:
            return left, found
    return left, said[-1] if said else ""


def kept_lines(text: str) -> list[str]:
    """Return what is kept of a failure: the exit, the error, the last lines; each once."""
    lines = _lines(text)
    return list(dict.fromkeys(line for line in (*exit_and_error(text), *lines[-_TAIL:]) if line))


def user_words(text: str) -> str | None:
    """Return what the user said who turned a call down, None if it failed by itself."""
    if not text.startswith(_TURNED_DOWN):
        return None
    return text.partition(_TOLD)[2].strip()


def _lines(text: str) -> list[str]:
    head, _, output = text[:_HEADER].partition(_OUTPUT)
    if output or head != text[:_HEADER]:  # what Codex tells of a command, and its output
        head = "\n".join(line for line in head.splitlines() if _EXIT.search(line))
        text = f"{head}\n{output}{text[_HEADER:]}"
    stripped = (" ".join(line.split()) for line in _TAG.sub("", text[:_SEARCHED]).splitlines())
    return [
        line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"
        for line in stripped
        if line and not line.startswith(CUT)
    ]


_QUOTED = re.compile(r"""<<-?\s*['"]?\w+.*|"(?:[^"\\]|\\.)*(?:"|\Z)|'[^']*(?:'|\Z)""", re.DOTALL)
_RUNNER = re.compile(r"\b(?:pytest|tests?|jest|vitest|tox|nox|checks?|lint|ruff|mypy|clippy)\b")
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_ENTERED = re.compile(r"^cd\s+(\S+)\s*(?:&&|;)\s*")
_SHOWN_LESS = re.compile(r"\s*(?:2>&1|[12]?>\s*\S+|\|\s*(?:tail|head|grep|tee|less|cat)\b.*)")
_SILENT = re.compile(
    r"\s*(?:(?:[a-z]?grep|rg|diff|test|which)\b|\[)|.*\|\s*(?:[a-z]?grep|rg)\b[^|]*\Z", re.DOTALL
)


def key_of(line: str) -> str:
    """Return what a failure and the success that mends it have in common, from the call's line.

    That is the file, or the command without the words that differ from try to try: quoted texts,
    flags, and what only shows less of the output.
    """
    _, _, about = line.partition(SAID)[0].partition(" ")
    plain = _SHOWN_LESS.sub("", _ENTERED.sub("", _QUOTED.sub("", about)))
    return " ".join(word for word in plain.split() if not word.startswith("-")) or line


class Open:
    """Failures that nothing mended yet, by their keys, the latest last; only so many."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Start with the lines of earlier ones."""
        self.lines: dict[str, str] = {}
        self._hints: set[str] = set()
        for line in lines:
            self.add(line)

    def add(self, line: str) -> None:
        """Take in a failure; it takes the place of an earlier one of the same call."""
        key = key_of(line)
        self.lines.pop(key, None)
        self.lines[key] = line
        self._hints.add(_hint_of(key))
        if len(self.lines) > _MOST:
            del self.lines[next(iter(self.lines))]
            self._hints = {_hint_of(key) for key in self.lines}

    def may_mend(self, call: Block) -> bool:
        """Return False if a call mends nothing, as nearly all do not; this is seen at once."""
        text = call.text
        for hint in self._hints:  # noqa: SIM110 (twice as fast as any, and asked of every call)
            if hint in text:
                return True
        return False

    def mend(self, line: str) -> None:
        """Take off what the success of a call mends."""
        done = key_of(line)
        mended = [done] if done in self.lines else []
        if _RUNNER.search(done):
            mended = [key for key in self.lines if _mends(done, key)]
        for key in mended:
            del self.lines[key]
        if mended:
            self._hints = {_hint_of(key) for key in self.lines}


def _hint_of(key: str) -> str:
    """Return a part of a key that is in the arguments of every call that may mend it."""
    runner = _RUNNER.search(key)
    return runner[0] if runner else max(_PLAIN.findall(key), key=len, default="")


def _mends(done: str, failed: str) -> bool:
    """Return True if a run of tests or checks mends what failed: it names the same, or more.

    That is all that was named, a folder above it, or nothing at all.
    """
    runs = _RUNNER.search(done)
    if done == failed or not runs or not failed.startswith(done[: runs.end()]):
        return done == failed
    named, picked = done[runs.end() :].split(), failed[runs.end() :].split()
    if not picked or not named:
        return bool(picked)
    return all(any(word == n or word.startswith(f"{n}/") for n in named) for word in picked)


def from_folder(command: str, folder: str) -> str:
    """Return a command without the step into the folder that it starts from anyway."""
    entered = _ENTERED.match(command)
    return command[entered.end() :] if entered and entered[1].strip("'\"") == folder else command


def command_of(given: dict[str, Any]) -> str:
    """Return the command that a call hands to a shell."""
    command = given.get("command", given.get("cmd", ""))
    if isinstance(command, list):
        return " ".join(word for word in command if isinstance(word, str))
    return command if isinstance(command, str) else ""


def first_text(given: dict[str, Any]) -> str:
    """Return the first text among the arguments of a call."""
    return next((value for value in given.values() if isinstance(value, str)), "")


def is_worth_naming(call: Block, said: str) -> bool:
    """Return True if a failure is more than a search that found nothing or a call set aside."""
    if not said:
        command = _ENTERED.sub("", command_of(arguments(call)))
        return not (shell.is_shell(call.tool) and _SILENT.match(command))
    return "Sibling tool call errored" not in said


def within(lines: Sequence[str], fits: Callable[[str], bool]) -> list[str]:
    """Return lines of a failure, cut until they fit together."""
    width = _WIDEST
    kept = list(lines)
    while kept and not fits("\n".join(kept)):
        width = width * 3 // 4
        kept = [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines]
        if width < _NARROWEST:
            kept, width = kept[:-1], _NARROWEST
            lines = lines[:-1]
    return kept
