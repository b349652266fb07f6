"""What must not be lost when messages go: read from a view, in one place.

Summaries and the placeholders of removed messages say it, and what they said before is read back
here, so nothing is lost by what stood between.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

import msgspec

from compactctl import placeholders, summaries
from compactctl.model import Block, Message, arguments, result_text
from compactctl.placeholders import IMAGE, Pruned
from compactctl.view import failures, paths, sentences, shell, tools
from compactctl.view.edits import Key, key
from compactctl.view.index import Answered, View
from compactctl.view.reads import path_of, reads_of
from compactctl.view.requests import own_words, says_something

_CALL = 120
"""Characters of a call on one line."""
_CALLS = 20
"""Latest calls that may be listed."""
_LOOKED_AT = 1000
"""Characters of a command that are looked at for that."""
_GIT = re.compile(
    r"^\[([^\s\]]+) (?:\([a-z-]+\) )?([0-9a-f]{7,40})\] (.{0,80})"  # what a commit prints
    r"|^(?:On branch|Switched to (?:a new )?branch) '?([^\s']+)'?"
    r"|^HEAD is now at ([0-9a-f]{7,40}) (.{0,80})"
    r"|(https://[\w.-]+/[\w.-]+/[\w.-]+/(?:pull|merge_requests)/\d+)",
    re.MULTILINE,
)
_SUMMARISED = re.compile(
    rf"Summarised here: ({placeholders.NUMBER}) messages? with ({placeholders.NUMBER}) tool calls?"
    rf"(?:, and ({placeholders.NUMBER}) messages? removed before)?"
)
_LEFT_OUT = re.compile(rf"\(({placeholders.NUMBER}) earlier not listed\)")


class Counts(msgspec.Struct):
    """What was summarised: messages, their calls, and messages that had gone before."""

    messages: int = 0
    calls: int = 0
    removed: int = 0
    left_out: dict[str, int] = {}
    """Items of each section that had no room."""


class _Told(msgspec.Struct):
    """What the user's messages say, in order, with what is carried in them from before."""

    requests: list[str] = []
    rules: list[str] = []
    read: list[str] = []
    modified: list[str] = []
    failed: list[str] = []
    branches: list[str] = []
    calls: list[str] = []
    todos: list[str] = []
    notes: list[str] = []
    answered: list[str] = []
    said: list[str] = []
    counts: Counts = msgspec.field(default_factory=Counts)


class Facts:
    """What must not be lost of a view; each kind is looked for when it is asked for.

    ``gone`` are messages that go, by default all, but for blocks that ``stays`` names; those from
    ``start`` on stay: what they mend is no open failure. Lists are in the order in which things
    came up, the newest last. Paths below the folder of the session are relative to it.
    """

    def __init__(
        self,
        view: View,
        gone: Sequence[Message] | None = None,
        start: int | None = None,
        *,
        stays: AbstractSet[Key] = frozenset(),
    ) -> None:
        """Take the view; nothing is looked for yet."""
        self._whole = view
        self._gone = view if gone is None else View(gone)
        self._start = len(view.messages) if start is None else start
        self._stays = stays
        self._others: list[Block] = []

    @cached_property
    def _told(self) -> _Told:
        told = _Told()
        for message in self._gone.messages:
            if message.role == "user":
                for block in message.blocks:
                    _take(told, block)
        return told

    @cached_property
    def requests(self) -> list[str]:
        """What the user asked, in the user's own words."""
        return _each_once(self._told.requests)

    @cached_property
    def rules(self) -> list[str]:
        """The sentences in which the user lays down a rule."""
        return _each_once(self._told.rules)

    @cached_property
    def notes(self) -> list[str]:
        """What earlier summaries said of how things stood."""
        return _each_once(self._told.notes)

    @cached_property
    def folder(self) -> str:
        """The outermost folder that calls start from; "" if no record says."""
        folders = {b.cwd for m in self._whole.messages for b in m.blocks if b.cwd}
        return min(folders, key=lambda folder: (len(folder), folder), default="")

    @cached_property
    def files(self) -> tools.Files:
        """The files that were read and modified, the latest last."""
        read = dict.fromkeys(map(self._short, self._told.read))
        modified = dict.fromkeys(map(self._short, self._told.modified))
        for found in self._gone.answered:
            if found.result.failed:
                continue
            shown, changed = reads_of(found.call, found.result), tools.changes(found.call)
            for one in shown:
                _to_the_end(read, self._short(one.path, one.key))
            for path, own in changed:
                _to_the_end(modified, self._short(path, own))
            if not (shown or changed):
                self._others.append(found.call)
        return tools.Files(list(read), list(modified))

    def _short(self, path: str, own: str | None = None) -> str:
        return paths.relative(path, paths.key(path) if own is None else own, self.folder)

    def in_full(self, listed: Sequence[str]) -> list[str]:
        """Return paths of a list with the folder that they are relative to."""
        start = f"{self.folder}/" if self.folder else ""
        return [path if paths.is_absolute(path) else start + path for path in listed]

    @cached_property
    def failures(self) -> list[str]:
        """The failed calls that no later success of the same file or command mended."""
        open_ones = failures.Open(self._told.failed)
        for found in self._gone.answered:
            if found.result.failed:
                told = self._failure(found)
                if told:
                    open_ones.add(told)
            elif open_ones.may_mend(found.call):
                open_ones.mend(self.line_of(found.call))
        if open_ones.lines:
            for found in View(self._whole.messages[self._start :]).answered:
                if not found.result.failed and open_ones.may_mend(found.call):
                    open_ones.mend(self.line_of(found.call))
        return list(open_ones.lines.values())

    def _failure(self, found: Answered) -> str:
        """Return the line that tells of a failure, "" if it is not worth one."""
        text = result_text(found.result)
        left, said = failures.exit_and_error(text)
        turned_down = failures.user_words(text)
        if turned_down is not None:
            left, said = "", "the user turned it down"
        if turned_down or not failures.is_worth_naming(found.call, said):
            return ""
        told = "; ".join(part for part in (left, said) if part) or "without a word"
        return f"{self.line_of(found.call)}{failures.SAID}{told}"

    def line_of(self, call: Block) -> str:
        """Return a call on one line: its tool and what it is about."""
        return line_of(call, self.folder)

    @cached_property
    def todos(self) -> list[str]:
        """What is still to be done, by the last list of the view that says so."""
        if any(tools.begins_todo(found.call) for found in self._whole.answered):
            return _each_once(map(_flat, tools.open_todo(self._whole).items))
        return _each_once(self._told.todos)

    @cached_property
    def branches(self) -> list[str]:
        """Branches, commits and requests to merge that commands told of."""
        found = dict.fromkeys(self._told.branches)
        for one in self._gone.answered:
            if "git" in one.call.text and shell.is_shell(one.call.tool) and not one.result.failed:
                for match in _GIT.finditer(result_text(one.result)):
                    _to_the_end(found, " ".join(part for part in match.groups() if part))
        return list(found)

    @cached_property
    def calls(self) -> list[str]:
        """The latest calls, a line each, but for failed ones and those whose files are listed."""
        assert self.files is not None  # which finds those whose files are listed
        calls = (call for call in reversed(self._others) if not tools.is_todo_call(call))
        lines = ((self.line_of(call), call.tool) for call in itertools.islice(calls, _CALLS * 2))
        latest = [line for line, tool in lines if line != tool]
        return _each_once([*latest, *reversed(self._told.calls)])[:_CALLS][::-1]

    @cached_property
    def last_words(self) -> str:
        """The last text of the assistant."""
        return next(_texts_backwards(self._gone.messages), "") or "".join(self._told.said[-1:])

    @cached_property
    def next_steps(self) -> list[str]:
        """The next steps that the assistant named shortly before its last words."""
        texts = itertools.islice(_texts_backwards(self._gone.messages), 1, 4)
        return _each_once(step for text in texts for step in sentences.steps_in(text))

    @cached_property
    def answered(self) -> str:
        """What the last request answers, if by itself it says next to nothing; "" if it stays."""
        found, position = _answered(self._whole.messages)
        if position is not None:
            return _flat(found) if position < self._start else ""
        return "".join(self._told.answered[-1:])

    @cached_property
    def counts(self) -> Counts:
        """How many messages and calls there are, and what earlier summaries counted."""
        before = self._told.counts
        gone = [[b for b in m.blocks if self._goes(b)] for m in self._gone.messages]
        said = [blocks for blocks in gone if blocks]
        calls = sum(block.kind == "call" for blocks in said for block in blocks)
        return msgspec.structs.replace(
            before, messages=before.messages + len(said), calls=before.calls + calls
        )

    def _goes(self, block: Block) -> bool:
        """Return True if a block goes and is more than a note of this tool or a summary."""
        if self._stays and key(block) in self._stays:
            return False
        if block.kind != "text":
            return True
        is_note = placeholders.is_note(block.text) or summaries.is_any(block.text)
        return not (block.is_summary or is_note)


def _take(told: _Told, block: Block) -> None:
    """Take in what a block of the user says."""
    if block.kind == "result" and block.failed:
        _take_words(told, failures.user_words(result_text(block)) or "")
    if block.kind != "text":
        return
    mark = placeholders.read_pruned(block.text)
    if mark is not None:
        _take_mark(told, mark)
    elif block.is_summary or summaries.is_any(block.text):
        _take_summary(told, block)
    elif not block.meta and not block.text.startswith(IMAGE):
        _take_words(told, own_words(block.text).strip())


def _take_words(told: _Told, words: str) -> None:
    """Take in what the user says."""
    if words:
        told.requests.append(words)
        told.rules += sentences.rules_in(words)


def _take_mark(told: _Told, mark: Pruned) -> None:
    """Take in what an earlier placeholder says."""
    told.counts.removed += mark.messages
    told.read += reversed(mark.items(placeholders.READ))
    told.modified += reversed(mark.items(placeholders.MODIFIED))
    told.requests += reversed(mark.items(placeholders.ASKED))
    told.rules += reversed(mark.items(placeholders.RULES))
    told.failed += reversed(mark.items(placeholders.FAILED))
    told.branches += reversed(mark.items(placeholders.BRANCHES))
    told.answered += mark.items(placeholders.ANSWERED)
    for name, section in _SECTION_OF.items():
        _leave_out(told, section, mark.more.get(name, 0))


_SECTION_OF = {
    placeholders.READ: summaries.OBSERVED,
    placeholders.MODIFIED: summaries.MODIFIED,
    placeholders.ASKED: summaries.STATUS,
    placeholders.RULES: summaries.CONSTRAINTS,
    placeholders.FAILED: summaries.OPEN_RESULTS,
}


def _leave_out(told: _Told, section: str, many: int) -> None:
    if many:
        told.counts.left_out[section] = told.counts.left_out.get(section, 0) + many


def _take_summary(told: _Told, block: Block) -> None:
    """Take in an earlier summary, by its sections."""
    said: dict[str, list[str]] = {}
    for name, items in summaries.read_any(block.text).items():
        counted = [found for item in items if (found := _LEFT_OUT.fullmatch(item))]
        said[name] = [item for item in items if not _LEFT_OUT.fullmatch(item)]
        _leave_out(told, name, sum(placeholders.read_number(found[1]) for found in counted))
    told.requests += ["; ".join(said.get(summaries.GOAL, [])).replace(":; ", ": ")]
    told.rules += reversed(said.get(summaries.CONSTRAINTS, []))
    told.read += [*block.files[0], *reversed(said.get(summaries.OBSERVED, []))]
    told.modified += [*block.files[1], *reversed(said.get(summaries.MODIFIED, []))]
    told.failed += reversed(said.get(summaries.OPEN_RESULTS, []))
    told.todos += said.get(summaries.NEXT, [])
    if summaries.unfence(block.text) is None:
        _take_sentences(told, block.text, said)
    for item in reversed(said.get(summaries.STATUS, [])):
        _take_status(told, item)


def _take_sentences(told: _Told, text: str, said: dict[str, list[str]]) -> None:
    """Take in rules, and next steps, that no section of a harness's summary is for."""
    status = said[summaries.STATUS]
    if any(item.startswith(summaries.ENDED) for item in status):
        told.rules += sentences.rules_in(text)
        told.todos += sentences.steps_in(text)
    else:
        asked = [
            item.removeprefix(summaries.ASKED)
            for item in status
            if item.startswith(summaries.ASKED)
        ]
        told.rules += sentences.rules_in("\n".join([*said[summaries.GOAL], *asked]))


def _take_status(told: _Told, item: str) -> None:
    counted = _SUMMARISED.match(item)
    if counted:
        messages, calls, removed = (
            placeholders.read_number(found or "0") for found in counted.groups()
        )
        told.counts.messages += messages
        told.counts.calls += calls
        told.counts.removed += removed
        return
    if item.startswith(summaries.ALSO):
        told.requests += reversed(item.removeprefix(summaries.ALSO).split("; "))
        return
    kinds = {
        summaries.ASKED: told.requests,
        summaries.ANSWERED: told.answered,
        summaries.SAID: told.said,
        summaries.BRANCH: told.branches,
        summaries.RAN: told.calls,
    }
    start = next((start for start in kinds if item.startswith(start)), None)
    (kinds[start] if start else told.notes).append(item.removeprefix(start or ""))


def _answered(messages: Sequence[Message]) -> tuple[str, int | None]:
    """Return what the last request answers, and where that stands.

    No place is None: it says itself what is to be done, or nothing was said before it.
    """
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        words = [own_words(b.text) for b in message.blocks if _is_typed(message, b)]
        if not any(word.strip() for word in words):
            continue
        if any(map(says_something, words)):
            break
        for before in range(position - 1, -1, -1):
            text = next(_texts_backwards(messages[before : before + 1]), "")
            if text:
                return text, before
    return "", None


def _is_typed(message: Message, block: Block) -> bool:
    return message.role == "user" and block.kind == "text" and not (block.meta or block.is_summary)


def _texts_backwards(messages: Sequence[Message]) -> Iterator[str]:
    for message in reversed(messages):
        if message.role == "assistant":
            texts = [b.text for b in message.blocks if b.kind == "text" and b.text.strip()]
            if texts:
                yield "\n".join(texts)


def line_of(call: Block, folder: str) -> str:
    """Return a call on one line: its tool, and the file, command or text that it is about."""
    given = arguments(call)
    if shell.is_shell(call.tool):
        about = failures.from_folder(failures.command_of(given), folder)
    else:
        about = _about(call, given, folder)
    line = " ".join(f"{call.tool} {about[:_LOOKED_AT]}".split())
    return line if len(line) <= _CALL else f"{line[: _CALL - 1]}…"


def _about(call: Block, given: dict[str, Any], folder: str) -> str:
    changed = tools.changes(call)
    path = changed[0][0] if changed else path_of(given)
    if not path:
        return failures.first_text(given)
    about = paths.relative(path, paths.key(path, call.cwd), folder)
    pattern = given.get("pattern")
    return f"{pattern} in {about}" if isinstance(pattern, str) else about


def _flat(text: str) -> str:
    return " ".join(text.split())


def _each_once(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(item for item in items if item.strip()))


def _to_the_end(found: dict[str, None], item: str) -> None:
    found.pop(item, None)
    found[item] = None
