"""What the result of a read really shows: by its line numbers, else by what it says of itself.

Harnesses and layers cut results, and each says so in words of its own, at the head, in the middle
or at the end. Where lines are numbered, the numbers are trusted. Else a later read shows an earlier
one again if it holds its lines, or if nothing says that it was cut and it is not shorter.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import NamedTuple

from compactctl import placeholders
from compactctl.model import Block, result_text
from compactctl.view.reads import DEFAULT_READ_LINES, END, Read, points_back
from compactctl.view.tools import Edits

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
    *("truncat", "clipped", "omitted", "elided", "<snip>", "[...", "[…", placeholders.CUT),
    *("persisted-output", "partial view", "too large", "too long", "\n...\n", "\n…\n"),
    *("to continue", "read more", "see more", "view more", "use offset", "use 'offset"),
    *("with offset", "offset parameter", "offset' parameter", "view_range parameter"),
    *("content cleared", "result cleared", "output cleared", "content removed", "output removed"),
    *("been cleared", "been removed", "been cut", "was cut", "shortened", "been trimmed"),
    *("still running", "in the background", "running with ", "timed out", "been limited"),
)
_CUT_PHRASES = [
    re.compile(phrase)  # each begins with plain letters, which is looked for much faster
    for phrase in (
        r"more (?:lines?|bytes|characters|chars|tokens|rows|content)\b",
        r"remaining (?:lines|bytes|characters|content)\b",
        r"line(?:s|\(s\))? (?:remaining|left|hidden|skipped|not shown|cut)\b",
        r"show(?:ing|n|s) (?:only |the )*(?:lines?|first|last|part|\d)",
        r"only (?:the )?(?:first|last|part|lines?|\d)",
        r"line(?:s|\(s\))? \d[\d,]* ?(?:-|–|to|through|\.\.) ?\d[\d,]*,? (?:out )?(?:of|from)\b",
        r"first \d[\d,.]* ?(?:lines|bytes|characters|chars|tokens|[km]i?b)\b",
        r"last \d[\d,.]* ?(?:lines|bytes|characters|chars|tokens|[km]i?b)\b",
        r"limited to (?:\d|the )",
        r"limit (?:reached|exceeded|hit)",
        r" limit(?:(?<=b limit)|(?<=byte limit)|(?<=size limit)|(?<=token limit))\b",
        r" limit(?:(?<=line limit)|(?<=character limit)|(?<=output limit))\b",
        r"exceed(?:s|ed|ing)? (?:the )?(?:max|limit|allowed|\d)",
        r"\+ ?\d+ (?:more )?lines",
        r"… ?\+?\d+ ",
    )
]


class Shown:
    """A read and what its result shows; what is said of it is looked for when it is asked for."""

    def __init__(self, read: Read, result: Block, at: int = 0, by: str = "") -> None:
        """Take a read, its result, and its call: the how manieth it is, and its id."""
        self.read = read
        self.at = at
        self.by = by
        self.said = result_text(result)
        self.text = _body(self.said)
        self.others = sum(piece.kind != "text" for piece in result.content)
        numbers = _numbers(self.text) if read.may_number else None
        self.is_numbered = numbers is not None
        self.start, self.stop = read.start, read.stop
        self.sure = read.start
        self.is_bare = False
        if numbers is not None:
            self.start, self.stop = numbers.first, numbers.last + 1
            self.sure = self.stop if numbers.is_whole else self.start
            self.is_bare = numbers.is_bare

    @cached_property
    def is_cut(self) -> bool:
        """True if anything in the text may say that it is not all that was asked for."""
        lowered = f"\n{self._around()}\n".lower()
        return any(word in lowered for word in _CUT_WORDS) or any(
            phrase.search(lowered) for phrase in _CUT_PHRASES
        )

    def _around(self) -> str:
        """Return where a note may stand: between lines that are all numbered there is none."""
        if not self.is_bare or self.sure < self.stop:
            return self.said
        start = self.said.find(self.text)
        return self.said[:start] + self.said[start + self.text.rfind("\n") + 1 :]

    @cached_property
    def lines(self) -> int:
        """How many lines the text has."""
        return self.text.count("\n") + 1 if self.text else 0

    @property
    def end(self) -> int:
        """The line before which all lines are shown, as far as is known of one that was not cut."""
        return self.sure if self.is_numbered else self.stop

    @property
    def is_empty(self) -> bool:
        """True if no part of the file is shown: nothing at all, or a note in its place."""
        return (
            not (self.text or self.others)
            or points_back(self.said)
            or (self.text.startswith(placeholders.CUT) and "\n" not in self.text)
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
        if self.others < other.others or not self.read.tells_lines or self.start > other.start:
            return False
        is_enough = _holds(self.text, other.text) or (other.is_empty and not self.is_cut)
        if not is_enough and self.is_numbered:
            end = other.stop if other.is_numbered else other.start + other.lines_alone
            is_enough = end < self.sure or (end == self.sure and not self.is_cut)
        elif not is_enough and flags_failures and self._is_as_long_as(other):
            is_enough = not self.is_cut
        return is_enough and (other.stop <= self.stop or self.is_open)

    def is_all_left_of(self, other: Shown) -> bool:
        """True if an edit that took lines away explains why an ``other``, earlier read had more."""
        return (
            self.is_bare
            and other.is_bare
            and self.start == other.start == 1
            and other.read.stop == END
            and self.is_open
        )

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


class _Numbers(NamedTuple):
    """The first and the last number of lines.

    ``is_whole``: all between are there; ``is_bare``: nothing stands around the numbered lines.
    """

    first: int
    last: int
    is_whole: bool
    is_bare: bool


def _numbers(text: str) -> _Numbers | None:
    """Return the numbers of lines, None where they have none."""
    head = _FIRST.search(text, 0, _HEAD)
    if head is None:
        return None
    end = len(text)
    for behind in range(_TAIL):
        start = text.rfind("\n", 0, end) + 1
        tail = _NUMBERED.match(text, start)
        if tail is not None:
            first, last = int(head[1]), int(tail[1])
            between = text.count("\n", head.start(), tail.start())
            # Of fewer numbers than lines they are none of lines; of more, some lines are left out.
            is_bare = behind == 0 and head.start() == 0
            many = last - first
            return _Numbers(first, last, many == between, is_bare) if many >= between else None
        end = start - 1
        if end < 0:
            return None
    return None


class _Stairs:
    """Reads of one file of which none lies within another, by where they begin and end."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._reads: list[Shown] = []

    def add(self, shown: Shown) -> None:
        """Take a read; those that lie within it go."""
        at = bisect_right(self._starts, shown.start)
        if at and self._reads[at - 1].end >= shown.end:
            return
        first = bisect_left(self._starts, shown.start)
        last = first
        while last < len(self._reads) and self._reads[last].end <= shown.end:
            last += 1
        self._starts[first:last] = [shown.start]
        self._reads[first:last] = [shown]

    def widest(self, start: int) -> list[Shown]:
        """Return the read that goes farthest of those that begin at ``start`` or before it."""
        at = bisect_right(self._starts, start)
        return self._reads[at - 1 : at]


_RECENT = 8
"""Reads that are asked each by each, beside the two that go farthest."""


class Later:
    """The later reads of one file, to be asked for what they show; each question is quick."""

    def __init__(self, edits: Edits, *, flags_failures: bool) -> None:
        """Begin without a read; ``flags_failures`` as a format has it."""
        self._edits = edits
        self._flags = flags_failures
        self._numbered, self._plain = _Stairs(), _Stairs()
        self._recent: list[Shown] = []
        self._open: list[Shown] = []
        self._whole: str | None = None
        self._newest: tuple[Read, Block, int, str] | None = None

    def add(self, read: Read, result: Block, at: int, by: str) -> None:
        """Take a read that stands in front of all those before; it is looked at when asked for."""
        self._look()
        self._newest = read, result, at, by

    def shows(self, read: Read, result: Block, at: int) -> str | None:
        """Return the id of a call that shows again what ``read`` shows, None if none does."""
        self._look()
        earlier = Shown(read, result, at)
        asked = (
            *self._numbered.widest(earlier.start),
            *self._plain.widest(earlier.start),
            *self._recent,
        )
        return next((one.by for one in asked if self._does_show(one, earlier)), None)

    def _does_show(self, later: Shown, earlier: Shown) -> bool:
        return later.shows(earlier, flags_failures=self._flags) or (
            later.is_all_left_of(earlier)
            and self._edits.between(earlier.read.key, earlier.at, later.at)
        )

    def whole(self) -> str | None:
        """Return the id of a call that shows the whole file, None if none does."""
        self._look()
        while self._whole is None and self._open:
            shown = self._open.pop()
            if shown.is_whole(flags_failures=self._flags):
                self._whole = shown.by
        return self._whole

    def _look(self) -> None:
        if self._newest is None:
            return
        shown = Shown(*self._newest)
        self._newest = None
        if shown.is_empty:
            return
        if shown.is_numbered:
            self._numbered.add(shown)
        elif not shown.is_cut:  # else it would hide others
            self._plain.add(shown)
        self._recent = [*self._recent[1 - _RECENT :], shown]
        if self._whole is None and shown.read.stop == END:
            self._open.append(shown)
