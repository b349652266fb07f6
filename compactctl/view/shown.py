"""What the result of a read really shows: by its line numbers, else by what it says of itself.

Harnesses and layers cut results, and each says so in words of its own, at the head, in the middle
or at the end. Where lines are numbered, the numbers are trusted. Else a later read shows an earlier
one again if it holds its lines, or if nothing says that it was cut and it is not shorter.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property

from compactctl import placeholders
from compactctl.model import Block, result_text
from compactctl.view.reads import DEFAULT_READ_LINES, END, Read, points_back

_NUMBERED = re.compile(r"[ \t]*L?(\d{1,9})(?:→|\t|: |:$|[ \t]?\|)", re.MULTILINE)
_FIRST = re.compile(rf"^{_NUMBERED.pattern}", re.MULTILINE)
_HEAD = 2000
"""Characters in which the first numbered line begins; notes may stand in front of it."""
_TAIL = 64
"""Lines from the end among which the last numbered one is; notes may stand behind it."""
_REMINDER = "<system-reminder>"
_NEAR = 100
"""Characters at the end of a text among which white space is looked for."""
_OUTPUT = "\nOutput:\n"
"""Ends what Codex puts before the output of a command; it differs from run to run."""

_CUT_WORDS = (
    "truncat",
    "clipped",
    "omitted",
    "elided",
    "persisted-output",
    "partial view",
    "too large",
    "too long",
    "still running",
    "in the background",
    "running with ",
    "timed out",
    "to continue",
    "read more",
    "see more",
    "view more",
    "<snip>",
    "[...",
    "[…",
    placeholders.CUT,
)
_CUT_PHRASES = [
    re.compile(phrase, re.MULTILINE)
    for phrase in (
        r"more (?:lines?|bytes|characters|chars|tokens|rows|content)\b",
        r"remaining (?:lines|bytes|characters|content)\b",
        r"lines? (?:remaining|left|hidden|skipped|not shown|cut)\b",
        r"show(?:ing|n|s) (?:only |the )*(?:lines?|first|last|part|\d)",
        r"only (?:the )?(?:first|last|part|lines?|\d)",
        r"lines? \d[\d,]* ?(?:-|–|to|through|\.\.) ?\d[\d,]*,? (?:out )?(?:of|from)\b",
        r"(?:first|last) \d[\d,.]* ?(?:lines|bytes|characters|chars|tokens|[km]i?b)\b",
        r"limit (?:reached|exceeded|hit)|(?:byte|size|token|character|line|output|[km]b) limit",
        r"exceed(?:s|ed|ing)? (?:the )?(?:max|limit|allowed|\d)",
        r"(?:use|with|specify|pass) [^\n]{0,30}\b(?:offset|start_line|view_range)\b",
        r"(?:content|result|output|file read) (?:was |has been )?(?:cleared|removed|cut|collapsed)",
        r"(?:was|been) (?:shortened|trimmed|limited|pruned|compacted)\b",
        r"^\s*(?:\.\.\.|…)\s*$",
        r"[+…] ?\d+ lines",
    )
]


class Shown:
    """A read and what its result shows; what is said of it is looked for when it is asked for."""

    def __init__(self, read: Read, result: Block, by: str) -> None:
        """Take a read, its result and the id of its call."""
        self.read = read
        self.by = by
        self.said = result_text(result)
        self.text = _body(self.said)
        self.others = sum(piece.kind != "text" for piece in result.content)
        numbers = _numbers(self.text) if read.may_number else None
        self.is_numbered = numbers is not None
        self.start, self.stop = read.start, read.stop
        self.sure = read.start
        if numbers is not None:
            first, last, is_whole = numbers
            self.start, self.stop = first, last + 1
            self.sure = last + 1 if is_whole else first

    @cached_property
    def is_cut(self) -> bool:
        """True if anything in the text may say that it is not all that was asked for."""
        lowered = self.said.lower()
        return any(word in lowered for word in _CUT_WORDS) or any(
            phrase.search(lowered) for phrase in _CUT_PHRASES
        )

    @cached_property
    def lines(self) -> int:
        """How many lines the text has."""
        return self.text.count("\n") + 1 if self.text else 0

    @property
    def is_empty(self) -> bool:
        """True if no part of the file is shown: nothing at all, or a note in its place."""
        return (
            not (self.text or self.others)
            or points_back(self.said)
            or self.said.startswith(placeholders.CUT)
        )

    @cached_property
    def is_open(self) -> bool:
        """True if the read asked for all from its start on, and got it for all that is known."""
        if self.read.stop < END or not self.read.tells_lines:
            return False
        if self.is_numbered:
            return self.sure == self.stop <= DEFAULT_READ_LINES and not self.is_cut
        return not self.is_cut and not self.is_empty

    def is_whole(self, *, flags_failures: bool) -> bool:
        """True if the whole file is shown; an error that no flag tells of may look like one."""
        return self.start <= 1 and self.is_open and (self.is_numbered or flags_failures)

    def shows(self, other: Shown, *, flags_failures: bool) -> bool:
        """True if all that an ``other``, earlier read of the file showed is shown here."""
        if placeholders.is_superseded(other.said):
            return True
        if self.others < other.others or not self._reaches(other):
            return False
        if other.is_empty or _holds(self.text, other.text):
            return True
        if self.is_numbered:
            end = other.stop if other.is_numbered else other.start + other.lines_alone
            return end < self.sure or (end == self.sure and not self.is_cut)  # nor is the last line
        return flags_failures and not self.is_cut and self._is_as_long_as(other)

    def _reaches(self, other: Shown) -> bool:
        """True if the lines asked for, as far as they may have been shown, are those of both."""
        if not self.read.tells_lines or self.start > other.start:
            return False
        return other.stop <= self.stop or self.is_open

    def _is_as_long_as(self, other: Shown) -> bool:
        is_alike = other.read.is_alone and not other.is_numbered
        return self.lines >= other.lines_alone and (
            not is_alike or len(self.text) >= len(other.text)
        )

    @property
    def lines_alone(self) -> int:
        """How many lines of the file the text has at least."""
        return self.lines if self.read.is_alone else 0


def _holds(text: str, part: str) -> bool:
    """True if whole lines of a text are those of another."""
    return not part or f"\n{part}\n" in f"\n{text}\n"


def _body(text: str) -> str:
    """Return a text without what a harness puts in front of it and behind it."""
    header = text.find(_OUTPUT, 0, 400)
    if header >= 0:
        text = text[header + len(_OUTPUT) :]
    if text[-_NEAR:].rstrip().endswith("</system-reminder>"):
        text = text[: text.rfind(_REMINDER)]
    return "" if text.isspace() else text.strip("\n")


def _numbers(text: str) -> tuple[int, int, bool] | None:
    """Return the first and the last line number, and True if all between are there.

    None where lines are not numbered.
    """
    head = _FIRST.search(text, 0, _HEAD)
    if head is None:
        return None
    end = len(text)
    for _ in range(_TAIL):
        start = text.rfind("\n", 0, end) + 1
        tail = _NUMBERED.match(text, start)
        if tail is not None:
            first, last = int(head[1]), int(tail[1])
            between = text.count("\n", head.start(), tail.start())
            # Of fewer numbers than lines they are none of lines; of more, some lines are left out.
            return (first, last, last - first == between) if last - first >= between else None
        end = start - 1
        if end < 0:
            return None
    return None


class _Stairs:
    """Reads of one file of which none lies within another, by where they begin and end."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._reads: list[tuple[int, Shown]] = []

    def add(self, stop: int, shown: Shown) -> None:
        """Take a read up to and without the line ``stop``; those that lie within it go."""
        at = bisect_right(self._starts, shown.start)
        if at and self._reads[at - 1][0] >= stop:
            return
        first = bisect_left(self._starts, shown.start)
        end = first
        while end < len(self._reads) and self._reads[end][0] <= stop:
            end += 1
        self._starts[first:end] = [shown.start]
        self._reads[first:end] = [(stop, shown)]

    def widest(self, start: int) -> list[Shown]:
        """Return the read that goes farthest of those that begin at ``start`` or before it."""
        at = bisect_right(self._starts, start)
        return [self._reads[at - 1][1]] if at else []


_RECENT = 8


class Later:
    """The later reads of one file, to be asked for what they show; each question is quick."""

    def __init__(self, *, flags_failures: bool) -> None:
        """Begin without a read; ``flags_failures`` as :class:`Format` says."""
        self._flags = flags_failures
        self._numbered, self._plain = _Stairs(), _Stairs()
        self._recent: list[Shown] = []
        self._whole: str | None = None
        self._waiting: tuple[Read, Block, str] | None = None

    def add(self, read: Read, result: Block, by: str) -> None:
        """Take a read that stands in front of all those before; what it shows is seen later."""
        self._settle()
        self._waiting = read, result, by

    def shows(self, read: Read, result: Block, *, stale: bool) -> str | None:
        """Return the id of a call that shows again what ``read`` shows, None if none does.

        One that is ``stale`` gives way to any that shows the whole file.
        """
        self._settle()
        if stale and self._whole is not None:
            return self._whole
        earlier = Shown(read, result, "")
        for later in (
            *self._numbered.widest(earlier.start),
            *self._plain.widest(earlier.start),
            *self._recent,
        ):
            if later.shows(earlier, flags_failures=self._flags):
                return later.by
        return None

    def _settle(self) -> None:
        if self._waiting is None:
            return
        shown = Shown(*self._waiting)
        self._waiting = None
        if shown.is_empty:
            return
        if self._whole is None and shown.is_whole(flags_failures=self._flags):
            self._whole = shown.by
        if shown.is_numbered:
            self._numbered.add(shown.sure, shown)
        elif not shown.is_cut:
            self._plain.add(shown.stop, shown)
        self._recent = [*self._recent[1 - _RECENT :], shown]
