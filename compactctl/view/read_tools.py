"""What a read tool showed: of which file, and how many lines of it.

Names and keys are those of Claude Code, Codex, pi, Gemini CLI, OpenHands and the tool examples of
the providers. A tool that is not here is no read.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from compactctl import placeholders
from compactctl.model import Block, arguments, result_text
from compactctl.view import paths

EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "text_editor"})
"""Tools that read, when their command is ``view``, and else write."""

_PATH_KEYS = ("file_path", "path", "filename", "filePath", "absolute_path", "notebook_path")
_READS = frozenset({"read", "read_file", "readfile", "view_file", "open_file", "notebookread"})
_NUMBERED = re.compile(r"^\s*(\d+)(?:→|\t|: |\|)")
_CUT = ("truncated", "lines omitted", "more lines", "partial view")
_REMINDER = "<system-reminder>"
_NEAR = 100
"""Characters at the end of a text among which white space is looked for."""
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


def read_of(call: Block, result: Block) -> Read | None:
    """Give what a successful read shows; None for any other interaction."""
    path, lowered = result.path, call.name.lower()
    if result.failed or (path is None and lowered not in _READS and lowered not in EDITORS):
        return None
    given = arguments(call)
    if path is None and (lowered in _READS or given.get("command") == "view"):
        path = path_of(given)
    if not path:
        return None
    start, stop = _range(given)
    text = result_text(result)
    shown = _shown_to(text)
    if shown is None or not _tells_lines(given) or _is_blank(text, result):
        # Pages, lines from the end, or nothing at all: which lines are shown is not known.
        return Read(path, paths.key(path, call.cwd), start, stop, start)
    stop = min(stop, shown)
    return Read(path, paths.key(path, call.cwd), start, stop, stop)


def _tells_lines(given: dict[str, Any]) -> bool:
    """Say whether a call asks for lines of the file, counted from its start."""
    offset = given.get("offset", 1)
    return "pages" not in given and (type(offset) is not int or offset >= 0)


def _is_blank(text: str, result: Block) -> bool:
    if text and not text.isspace():
        return False
    return all(piece.kind == "text" for piece in result.content)


def path_of(given: dict[str, Any]) -> str | None:
    """Give the path that a call names, under any of the usual keys."""
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
    if points_back(text):
        return None
    text = _without_reminder(text)
    end = text[-400:]
    note = text.rfind(placeholders.CUT)
    if note >= 0 and "\n" in text[note:].rstrip():  # something stands behind what was cut
        return None
    lines = end.split("\n")[1:] if _NUMBERED.match(text) else []
    numbers = [int(found[1]) for line in lines if (found := _NUMBERED.match(line))]
    last = numbers[-1] if numbers else 0
    lowered = end.lower()  # with four searches much faster than an expression
    if note >= 0 or any(said in lowered for said in _CUT):
        return last + 1 if last else None
    return last + 1 if last >= DEFAULT_READ_LINES else END


def points_back(text: str) -> bool:
    """Say whether a result only says that an earlier one still shows the file as it is."""
    if len(text) > _STUB:
        return False
    lowered = text.lower()  # much faster to look into than the expression that decides
    return ("changed" in lowered or "modified" in lowered) and bool(_UNCHANGED.search(text))


def _without_reminder(text: str) -> str:
    """Take off the reminder that a harness puts behind what a read shows."""
    if not text[-_NEAR:].rstrip().endswith("</system-reminder>"):
        return text
    shown = text.rstrip()
    return shown[: shown.rfind(_REMINDER)].rstrip()
