"""Write made-up agent sessions, big enough to time the tool on.

Two shapes, after real sessions: ``big`` has few lines of about 10 KB, with a log of 300 KB now
and then; ``chatty`` has many small calls and progress lines, about 1.6 KB a line. Both are valid,
both are the same bytes for the same seed and size, and both go straight to disk.

    python tests/bench/sessions.py big OUT.jsonl --mb 24
    python tests/bench/sessions.py chatty OUT.jsonl --mb 22 --format messages
    python tests/bench/sessions.py archive OUT_DIR --files 60 --mb 34

Sizes are megabytes (1,000,000 bytes) of the Claude Code form; ``--format messages`` writes the
same conversation as plain API messages, which is about half of that.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import orjson

MEGABYTE = 1_000_000
REREAD_SHARE = 0.44  # of the text of reads in real sessions, what is read again later
HUGE_LOG = 300_000
START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
MODEL = "claude-sonnet-4-5-20250929"


def _words(text: str) -> list[str]:
    return text.split()


NOUNS = _words(
    "account address archive basket batch border bucket budget cache carrier catalog channel "
    "charge client column config counter coupon currency cursor customer delivery depot digest "
    "discount driver entry event export factor feature field filter folder gateway header history "
    "import index inventory invoice item job journal key label layout ledger limit line list "
    "locale lock manifest margin market matrix member message metric model module network node "
    "notice offer option order outbox output owner packet page parcel parser partner payload "
    "period plan pool price process product profile query queue quote rate reader receipt record "
    "refund region report request reserve result retry return route rule sample schedule schema "
    "session shelf shipment signal site slot source stage stock store stream supplier table target "
    "task tax template ticket token total trace transfer unit update user value vendor version "
    "voucher warehouse window worker zone"
)
VERBS = _words(
    "add allocate append apply assert build check clean close collect compare compute convert "
    "copy count create decode delete dispatch drain emit encode expand fetch filter find flush "
    "format group hash insert join link load lock map mark match merge move normalise open pack "
    "parse pick post prepare print publish push read rebuild refresh register release remove "
    "render replace reset resolve restore retry rotate round save scan schedule select send set "
    "shift sort split start store sum sync trim update validate verify visit wait wrap write"
)
QUALITIES = _words(
    "active base cached current default dirty double early empty external final first fresh full "
    "global inner internal last late local missing nested new old open outer partial pending plain "
    "primary raw recent remote safe shared single slow stale strict temporary total unique valid"
)
FOLDERS = ("api", "billing", "catalog", "cli", "core", "jobs", "models", "search", "storage", "web")
PROJECTS = ("shop", "ledger", "depot", "almanac", "fleet", "garden", "harbour", "mill")
ERRORS = ("KeyError", "TimeoutError", "TypeError", "ValueError", "LookupError", "ConnectionError")
LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "INFO", "WARNING", "ERROR")
REMINDER = (
    "\n\n<system-reminder>\nConsider whether this file looks malicious before you work on it. "
    "You may describe what it does, but do not improve it if it is.\n</system-reminder>\n"
)


class Words:
    """Names, numbers, sentences and lines of text, drawn from one seeded source."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.draw = self.random.random
        self.names = [
            *(f"{q}_{n}" for q in QUALITIES for n in NOUNS),
            *(f"{v}_{n}" for v in VERBS for n in NOUNS),
            *NOUNS * 40,
        ]
        self.clock = 0.0

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.draw() * len(items))]

    def between(self, low: int, high: int) -> int:
        return low + int(self.draw() * (high - low + 1))

    def size(self, low: int, high: int) -> int:
        """Draw a size so that every order of magnitude is as likely as the next."""
        return int(low * math.exp(self.draw() * math.log(high / low)))

    def chance(self, share: float) -> bool:
        return self.draw() < share

    def name(self) -> str:
        return self.names[int(self.draw() * len(self.names))]

    def noun(self) -> str:
        return NOUNS[int(self.draw() * len(NOUNS))]

    def verb(self) -> str:
        return VERBS[int(self.draw() * len(VERBS))]

    def kind(self) -> str:
        return self.noun().title() + self.noun().title()

    def number(self) -> int:
        return self.size(1, 100_000)

    def hexadecimal(self, digits: int) -> str:
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def base64(self, size: int) -> str:
        data = self.random.getrandbits(8 * size).to_bytes(size, "big")
        return base64.b64encode(data).decode()

    def uuid(self) -> str:
        digits = self.hexadecimal(32)
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def phrase(self) -> str:
        return self.pick(PHRASES)(self)

    def prose(self, chars: int) -> str:
        sentences: list[str] = []
        while chars > 0:
            sentences.append(self.phrase())
            chars -= len(sentences[-1]) + 1
        return " ".join(sentences)

    def code(self, lines: int) -> list[str]:
        """Write code-like lines, indented as code is."""
        depth = 0
        text = [
            f'"""{self.phrase()}"""',
            "",
            f"from {self.noun()}.{self.noun()} import {self.kind()}",
        ]
        while len(text) < lines:
            line = CODE[int(self.draw() * len(CODE))](self)
            if line.startswith(("def ", "class ")):
                text.append("")
                depth = self.between(0, 1)
            text.append("    " * depth + line if line else "")
            if line.endswith(":"):
                depth = min(depth + 1, 4)
            elif line.startswith(("return", "raise", "continue")):
                depth = max(depth - 1, 1)
        return text

    def log(self, chars: int) -> str:
        """Write the output of some command: a test run, a server, a build, JSON lines."""
        line = self.pick(LOGS)
        lines: list[str] = []
        while chars > 0:
            lines.append(line(self))
            chars -= len(lines[-1]) + 1
        return "\n".join(lines)

    def stamp(self) -> str:
        self.clock += self.draw() * 0.4
        seconds, rest = divmod(self.clock, 1)
        minutes, seconds = divmod(int(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours % 24:02d}:{minutes:02d}:{seconds:02d}.{int(rest * 1000):03d}"


Line = Callable[[Words], str]

CODE: tuple[Line, ...] = (
    lambda w: (
        f"def {w.verb()}_{w.noun()}(self, {w.name()}: {w.kind()}, *, {w.name()}: int = 0) -> None:"
    ),
    lambda w: f"def {w.verb()}_{w.noun()}({w.name()}: str) -> list[{w.kind()}]:",
    lambda w: f"class {w.kind()}({w.kind()}):",
    lambda w: f"if {w.name()} is None or {w.name()}.{w.noun()} > {w.number()}:",
    lambda w: f"for {w.noun()} in self.{w.name()}.{w.verb()}({w.name()}):",
    lambda w: f"with self.{w.name()}.{w.verb()}(timeout={w.number()}) as {w.noun()}:",
    lambda w: f"{w.name()} = {w.name()}.{w.verb()}({w.name()}, {w.name()}={w.number()})",
    lambda w: (
        f"{w.name()} = [{w.noun()}.{w.name()} for {w.noun()} in {w.name()} "
        f"if {w.noun()}.{w.name()} != {w.number()}]"
    ),
    lambda w: f"self.{w.name()}[{w.noun()!r}] = {w.kind()}({w.name()}, {w.name()})",
    lambda w: f"{w.name()}: dict[str, {w.kind()}] = {{}}",
    lambda w: f"logger.info('{w.verb()} {w.noun()} %s of %s', {w.name()}, {w.name()})",
    lambda w: f"assert {w.name()}.{w.noun()} == {w.number()}, {w.name()}",
    lambda w: f"total += {w.name()} * {w.number()} - {w.name()}",
    lambda w: f"# {w.phrase()}",
    lambda w: f"return {w.kind()}({w.name()}={w.name()}, {w.name()}={w.name()})",
    lambda w: f"return sorted({w.name()}, key=lambda {w.noun()}: {w.noun()}.{w.name()})",
    lambda w: (
        f'raise {w.pick(ERRORS)}(f"cannot {w.verb()} {{{w.name()}}}: '
        f'{w.noun()} is {w.pick(QUALITIES)}")'
    ),
    lambda _: "",
)

LOGS: tuple[Line, ...] = (
    lambda w: (
        f"tests/{w.pick(FOLDERS)}/test_{w.noun()}.py::test_{w.verb()}_{w.name()}"
        f"[{w.noun()}-{w.number()}] {'PASSED' if w.draw() < 0.98 else 'FAILED'} ({w.number()} µs)"
    ),
    lambda w: (
        f"2026-01-05T{w.stamp()}Z {w.pick(LEVELS):7} {w.pick(FOLDERS)}.{w.noun()} "
        f"{w.verb()} {w.name()}={w.number()} request={w.hexadecimal(12)} took={w.number()}ms"
    ),
    lambda w: (
        f"[{w.number():>6}] Compiling {w.noun()}-{w.noun()} v{w.between(0, 9)}.{w.between(0, 40)}."
        f"{w.between(0, 9)} (/srv/build/{w.pick(FOLDERS)}/{w.noun()}) → {w.hexadecimal(8)}"
    ),
    lambda w: (
        f'{{"time":"{w.stamp()}","level":"{w.pick(LEVELS)}","event":"{w.verb()}.{w.noun()}",'
        f'"{w.noun()}":{w.number()},"trace":"{w.hexadecimal(16)}","{w.name()}":"{w.name()}"}}'
    ),
    lambda w: (
        f"src/{w.pick(FOLDERS)}/{w.noun()}.ts({w.number()},{w.between(1, 99)}): "
        f"error TS{w.between(1000, 9999)}: "
        f"Property '{w.name()}' does not exist on type '{w.kind()}'."
    ),
    lambda w: (
        f'  File "/srv/lib/{w.pick(FOLDERS)}/{w.noun()}.py", line {w.number()}, '
        f"in {w.verb()}_{w.noun()}\n"
        f"    {w.name()} = self.{w.name()}.{w.verb()}({w.name()}, {w.number()})"
    ),
)

PHRASES: tuple[Line, ...] = (
    lambda w: (
        f"The {w.noun()} of the {w.pick(QUALITIES)} {w.noun()} is made before "
        f"we {w.verb()} its {w.noun()}."
    ),
    lambda w: f"Now {w.verb()} the {w.noun()} so that every {w.noun()} has its own {w.noun()}.",
    lambda w: (
        f"`{w.verb()}_{w.noun()}` returns a {w.pick(QUALITIES)} {w.noun()} "
        f"when the {w.noun()} is missing."
    ),
    lambda w: (
        f"This should {w.verb()} only the {w.pick(QUALITIES)} {w.noun()}, not the whole {w.noun()}."
    ),
    lambda w: (
        f"There are {w.number()} {w.noun()} rows, of which {w.between(1, 99)} have no {w.noun()}."
    ),
    lambda w: (
        f"I want to see where `{w.name()}` is set, because the {w.noun()} "
        f"comes out {w.pick(QUALITIES)}."
    ),
    lambda w: (
        f"Keep the {w.noun()} interface as it is; the {w.noun()} team depends on `{w.kind()}`."
    ),
    lambda w: f"Two {w.noun()} tests fail after the change in the {w.pick(QUALITIES)} {w.noun()}.",
)


@dataclass(frozen=True)
class Shape:
    """What makes one kind of session differ from the other."""

    default_mb: float
    tools: dict[str, int]
    file_lines: tuple[int, int]
    log_chars: tuple[int, int]
    edit_lines: tuple[int, int]
    replies: tuple[int, int]
    prose_chars: tuple[int, int]
    progress: float
    huge: float


SHAPES = {
    "big": Shape(
        default_mb=24,
        tools={"Read": 30, "Edit": 22, "Bash": 30, "Grep": 12, "TodoWrite": 6},
        file_lines=(80, 1000),
        log_chars=(500, 40_000),
        edit_lines=(3, 25),
        replies=(6, 24),
        prose_chars=(100, 1_500),
        progress=0.02,
        huge=0.022,
    ),
    "chatty": Shape(
        default_mb=22,
        tools={"Read": 20, "Edit": 16, "Bash": 42, "Grep": 16, "TodoWrite": 4, "Task": 2},
        file_lines=(12, 170),
        log_chars=(60, 3_600),
        edit_lines=(1, 6),
        replies=(8, 40),
        prose_chars=(60, 500),
        progress=0.58,
        huge=0.0,
    ),
}


@dataclass
class Call:
    """A call with its result. ``copy`` is what Claude Code keeps beside the result for its UI."""

    id: str
    name: str
    arguments: dict[str, Any]
    text: str
    copy: Any
    failed: bool = False

    def use(self) -> dict[str, Any]:
        return {"type": "tool_use", "id": self.id, "name": self.name, "input": self.arguments}

    def result(self) -> dict[str, Any]:
        block = {"tool_use_id": self.id, "type": "tool_result", "content": self.text}
        return {**block, "is_error": True} if self.failed else block


@dataclass
class Step:
    """What happens between two requests: a prompt, or an answer of the model with its results."""

    prompt: str = ""
    thinking: str = ""
    signature: str = ""
    text: str = ""
    calls: list[Call] = field(default_factory=list)

    def said(self) -> list[dict[str, Any]]:
        """Give the blocks of the answer."""
        blocks: list[dict[str, Any]] = []
        if self.thinking:
            thinking = {"thinking": self.thinking, "signature": self.signature}
            blocks.append({"type": "thinking", **thinking})
        if self.text:
            blocks.append({"type": "text", "text": self.text})
        return blocks + [call.use() for call in self.calls]


class File(NamedTuple):
    """A file of the made-up project, as it is now."""

    path: str
    lines: list[str]


class Agent:
    """Plays the model and its tools on a made-up project whose files really change."""

    def __init__(self, shape: Shape, words: Words, limit: int) -> None:
        self.shape = shape
        self.words = words
        self.root = f"/srv/{words.pick(PROJECTS)}"
        self.files: deque[File] = deque(maxlen=40)
        self.last_read: dict[str, int] = {}
        self.read_chars = 0
        self.reread_chars = 0
        self.todos: list[dict[str, str]] = []
        # One log may not be most of a small session.
        self.huge_log = min(HUGE_LOG, limit // 10)
        self.log_chars = (
            shape.log_chars[0],
            max(shape.log_chars[0] + 1, min(shape.log_chars[1], limit // 10)),
        )
        self.file_lines = (
            shape.file_lines[0],
            max(shape.file_lines[0] + 1, min(shape.file_lines[1], limit // 400)),
        )
        self.names = list(shape.tools)
        self.weights = list(itertools.accumulate(shape.tools.values()))

    def turn(self) -> Iterator[Step]:
        """Give a prompt, the answers with calls that it leads to, and a closing answer."""
        words = self.words
        yield Step(prompt=words.prose(words.size(60, 1_200)))
        for _ in range(words.between(*self.shape.replies)):
            yield self.answer()
        yield self.close()

    def close(self) -> Step:
        return Step(text=self.words.prose(self.words.size(*self.shape.prose_chars)))

    def answer(self) -> Step:
        words = self.words
        step = Step()
        if words.chance(0.45):
            step.thinking = words.prose(words.size(*self.shape.prose_chars))
            step.signature = words.base64(words.size(150, 900))
        if words.chance(0.5):
            step.text = words.prose(words.size(40, 300))
        calls = words.between(2, 5) if words.chance(0.11) else 1
        step.calls = [self.call() for _ in range(calls)]
        return step

    def call(self) -> Call:
        at = self.words.draw() * self.weights[-1]
        name = next(n for n, upto in zip(self.names, self.weights, strict=True) if at < upto)
        return getattr(self, name.lower())()

    def done(self, name: str, arguments: dict[str, Any], text: str, copy: Any) -> Call:
        return Call(f"toolu_01{self.words.hexadecimal(22)}", name, arguments, text, copy)

    def known_file(self) -> File:
        return self.words.pick(self.files) if self.files else self.new_file()

    def new_file(self) -> File:
        words = self.words
        path = f"{self.root}/src/{words.pick(FOLDERS)}/{words.name()}_{words.hexadecimal(3)}.py"
        file = File(path, words.code(words.size(*self.file_lines)))
        self.files.append(file)
        return file

    def read(self) -> Call:
        """Read a file, a known one as often as real sessions do."""
        words = self.words
        again = self.files and self.reread_chars < REREAD_SHARE * self.read_chars
        file = self.known_file() if again else self.new_file()
        arguments: dict[str, Any] = {"file_path": file.path}
        first, last = 0, len(file.lines)
        if words.chance(0.25) and last > 40:
            first = words.between(0, last // 2)
            last = words.between(first + 20, last)
            arguments |= {"offset": first + 1, "limit": last - first}
        shown = file.lines[first:last]
        text = "\n".join([f"{n:>6}→{line}" for n, line in enumerate(shown, first + 1)]) + REMINDER
        self.reread_chars += self.last_read.get(file.path, 0)
        self.last_read[file.path] = len(text)
        self.read_chars += len(text)
        copy = {
            "filePath": file.path,
            "content": "\n".join(shown),
            "numLines": len(shown),
            "startLine": first + 1,
            "totalLines": len(file.lines),
        }
        return self.done("Read", arguments, text, {"type": "text", "file": copy})

    def edit(self) -> Call:
        words = self.words
        file = self.known_file()
        count = min(words.between(*self.shape.edit_lines), len(file.lines))
        at = words.between(0, len(file.lines) - count)
        old = file.lines[at : at + count]
        new = words.code(count + words.between(0, 4))[3:] or [f"# {words.phrase()}"]
        arguments = {
            "replace_all": False,
            "file_path": file.path,
            "old_string": "\n".join(old),
            "new_string": "\n".join(new),
        }
        if words.chance(0.05):
            return self.failed_edit(arguments)
        original = "\n".join(file.lines)
        file.lines[at : at + count] = new
        patch = {
            "oldStart": at + 1,
            "oldLines": count,
            "newStart": at + 1,
            "newLines": len(new),
            "lines": [*(f"-{line}" for line in old), *(f"+{line}" for line in new)],
        }
        copy = {
            "filePath": file.path,
            "oldString": arguments["old_string"],
            "newString": arguments["new_string"],
            "originalFile": original,
            "structuredPatch": [patch],
            "userModified": False,
            "replaceAll": False,
        }
        text = f"The file {file.path} has been updated successfully."
        return self.done("Edit", arguments, text, copy)

    def failed_edit(self, arguments: dict[str, Any]) -> Call:
        arguments["old_string"] += f"  # {self.words.name()}"
        text = f"String to replace not found in file.\nString: {arguments['old_string']}"
        call = self.done(
            "Edit", arguments, f"<tool_use_error>{text}</tool_use_error>", f"Error: {text}"
        )
        call.failed = True
        return call

    def bash(self) -> Call:
        words = self.words
        program = words.pick(("make", "python -m", "cargo", "npm run"))
        command = f"{program} {words.verb()} --{words.noun()} {words.name()}"
        arguments = {"command": command, "description": words.phrase()}
        huge = words.chance(self.shape.huge)
        chars = self.huge_log if huge else words.size(*self.log_chars)
        text = words.log(chars) if words.chance(0.95) else ""
        if words.chance(0.06):
            text = f"Exit code {words.between(1, 2)}\n{text}"
            call = self.done("Bash", arguments, text, f"Error: {text}")
            call.failed = True
            return call
        copy = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        return self.done("Bash", arguments, text, copy)

    def grep(self) -> Call:
        words = self.words
        pattern = words.name()
        arguments = {"pattern": pattern, "path": self.root, "output_mode": "content", "-n": True}
        found = [
            f"src/{words.pick(FOLDERS)}/{words.noun()}.py:{words.number()}:"
            f"{words.pick(CODE)(words)} # {pattern}"
            for _ in range(words.size(1, 60))
        ]
        text = "\n".join(found)
        copy = {
            "mode": "content",
            "numFiles": 0,
            "filenames": [],
            "content": text,
            "numLines": len(found),
        }
        return self.done("Grep", arguments, text, copy)

    def todowrite(self) -> Call:
        words = self.words
        old, states = self.todos, ("completed", "in_progress", "pending")
        self.todos = [
            {"content": words.phrase(), "status": words.pick(states), "activeForm": words.phrase()}
            for _ in range(words.between(2, 7))
        ]
        text = "Todos have been modified successfully."
        return self.done(
            "TodoWrite", {"todos": self.todos}, text, {"oldTodos": old, "newTodos": self.todos}
        )

    def task(self) -> Call:
        """Hand work to a sub-agent; its own messages go into progress lines."""
        words = self.words
        arguments = {
            "description": f"{words.verb()} {words.noun()}",
            "prompt": words.prose(400),
            "subagent_type": "Explore",
        }
        content = [{"type": "text", "text": words.prose(words.size(300, 3_000))}]
        copy = {
            "status": "completed",
            "content": content,
            "totalToolUseCount": words.between(2, 30),
        }
        return self.done("Task", arguments, content[0]["text"], copy)


class ClaudeCode:
    """Write steps as Claude Code does: a line a block, and much that is not sent to the model."""

    def __init__(self, agent: Agent) -> None:
        self.words = agent.words
        self.shape = agent.shape
        self.parent: str | None = None
        self.clock = START
        self.context = 14_000
        self.envelope = {
            "isSidechain": False,
            "userType": "external",
            "cwd": agent.root,
            "sessionId": self.words.uuid(),
            "version": "2.1.29",
            "gitBranch": "main",
        }

    def now(self) -> str:
        self.clock += timedelta(milliseconds=self.words.between(5, 4_000))
        return f"{self.clock:%Y-%m-%dT%H:%M:%S}.{self.clock.microsecond // 1000:03d}Z"

    def entry(self, parent: str | None, **keys: Any) -> dict[str, Any]:
        return {
            "parentUuid": parent,
            **self.envelope,
            **keys,
            "uuid": self.words.uuid(),
            "timestamp": self.now(),
        }

    def entries(self, step: Step) -> Iterator[dict[str, Any]]:
        if step.prompt:
            yield from self.prompt(step)
            return
        yield from self.answer(step)
        if not step.calls:
            yield self.system()

    def prompt(self, step: Step) -> Iterator[dict[str, Any]]:
        entry = self.entry(
            self.parent, type="user", message={"role": "user", "content": step.prompt}
        )
        entry |= {
            "thinkingMetadata": {"level": "high", "disabled": False, "triggers": []},
            "todos": [],
        }
        self.parent = entry["uuid"]
        snapshot = {
            "messageId": self.parent,
            "trackedFileBackups": {},
            "timestamp": entry["timestamp"],
        }
        yield {
            "type": "file-history-snapshot",
            "messageId": self.parent,
            "snapshot": snapshot,
            "isSnapshotUpdate": False,
        }
        yield entry

    def system(self) -> dict[str, Any]:
        duration = self.words.between(4_000, 400_000)
        entry = self.entry(
            self.parent, type="system", subtype="turn_duration", durationMs=duration, isMeta=False
        )
        self.parent = entry["uuid"]
        return entry

    def answer(self, step: Step) -> Iterator[dict[str, Any]]:
        """Give a line a block; a result comes before the next block is written, or after all."""
        words = self.words
        message_id, request_id = f"msg_01{words.hexadecimal(22)}", f"req_011{words.hexadecimal(21)}"
        calls = {call.id: call for call in step.calls}
        blocks = step.said()
        added = sum(len(call.text) for call in step.calls) // 3
        waiting: list[tuple[Call, str]] = []
        for at, block in enumerate(blocks):
            output = 1 if at < len(blocks) - 1 else words.between(40, 900)
            message = self.message(message_id, block, output)
            entry = self.entry(self.parent, message=message, requestId=request_id, type="assistant")
            self.parent = entry["uuid"]
            yield entry
            if block["type"] != "tool_use":
                continue
            yield from self.progress(calls[block["id"]], entry["uuid"])
            waiting.append((calls[block["id"]], entry["uuid"]))
            if words.chance(0.5):
                yield self.result(*waiting.pop())
        if len(waiting) > 1 and words.chance(0.2):
            waiting.reverse()
        for call, asked in waiting:
            yield self.result(call, asked)
        self.context += added + 300
        if step.calls and words.chance(self.shape.progress / 4):
            yield self.hook(step.calls[-1])

    def message(self, message_id: str, block: dict[str, Any], output: int) -> dict[str, Any]:
        fresh = self.words.between(200, 4_000)
        return {
            "model": MODEL,
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 4,
                "cache_creation_input_tokens": fresh,
                "cache_read_input_tokens": self.context,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": fresh,
                    "ephemeral_1h_input_tokens": 0,
                },
                "output_tokens": output,
                "service_tier": "standard",
            },
        }

    def result(self, call: Call, asked: str) -> dict[str, Any]:
        message = {"role": "user", "content": [call.result()]}
        entry = self.entry(asked, type="user", message=message)
        entry |= {"toolUseResult": call.copy, "sourceToolAssistantUUID": asked}
        self.parent = entry["uuid"]
        return entry

    def progress(self, call: Call, asked: str) -> Iterator[dict[str, Any]]:
        """Give the progress lines of a call; they hang beside the chain, not in it."""
        words = self.words
        if call.name == "Task":
            yield from self.agent_progress(call, asked)
        if call.name != "Bash" or not words.chance(self.shape.progress):
            return
        parent, lines = asked, call.text.split("\n")
        for second in range(2, words.between(4, 12)):
            so_far = lines[: max(1, len(lines) * second // 12)]
            data = {
                "type": "bash_progress",
                "output": "\n".join(so_far[-4:]),
                "fullOutput": "\n".join(so_far[-20:]),
                "elapsedTimeSeconds": second,
                "totalLines": len(so_far),
                "timeoutMs": 120_000,
            }
            entry = self.entry(parent, type="progress", data=data, parentToolUseID=call.id)
            entry["toolUseID"] = f"bash-progress-{second - 2}"
            parent = entry["uuid"]
            yield entry

    def agent_progress(self, call: Call, asked: str) -> Iterator[dict[str, Any]]:
        words = self.words
        agent_id = words.hexadecimal(7)
        for _ in range(words.between(2, 6)):
            block = {"type": "tool_use", "id": f"toolu_01{words.hexadecimal(22)}", "name": "Glob"}
            block["input"] = {"pattern": f"**/{words.noun()}*.py"}
            inner = {"role": "assistant", "content": [block]}
            message = {"type": "assistant", "message": inner, "uuid": words.uuid()}
            data = {"message": message, "type": "agent_progress", "agentId": agent_id}
            data["prompt"] = call.arguments["prompt"]
            entry = self.entry(asked, type="progress", data=data, parentToolUseID=call.id)
            entry["toolUseID"] = f"agent_msg_01{words.hexadecimal(22)}"
            yield entry

    def hook(self, call: Call) -> dict[str, Any]:
        """Give a progress line that the next answer hangs from, as happens with hooks."""
        data = {
            "type": "hook_progress",
            "hookEvent": "PostToolUse",
            "hookName": f"PostToolUse:{call.name}",
            "command": f"make {self.words.verb()}-{self.words.noun()}",
        }
        entry = self.entry(self.parent, type="progress", data=data, parentToolUseID=call.id)
        entry["toolUseID"] = call.id
        self.parent = entry["uuid"]
        return entry


def messages(step: Step) -> list[dict[str, Any]]:
    """Give a step as plain API messages."""
    if step.prompt:
        return [{"role": "user", "content": step.prompt}]
    said = [{"role": "assistant", "content": step.said()}]
    if step.calls:
        said.append({"role": "user", "content": [call.result() for call in step.calls]})
    return said


def encode(entries: Iterable[dict[str, Any]]) -> list[bytes]:
    return [orjson.dumps(entry) + b"\n" for entry in entries]


def conversation(shape: str, mb: float, seed: int) -> Iterator[tuple[Step, list[bytes]]]:
    """Give steps with their Claude Code lines until these are ``mb`` megabytes."""
    limit = int(mb * MEGABYTE)
    agent = Agent(SHAPES[shape], Words(seed), limit)
    writer = ClaudeCode(agent)
    written = 0
    for step in itertools.chain.from_iterable(agent.turn() for _ in itertools.count()):
        lines = encode(writer.entries(step))
        yield step, lines
        written += sum(map(len, lines))
        if written >= limit and not step.prompt:
            break
    if step.calls:
        step = agent.close()
        yield step, encode(writer.entries(step))


def write(
    shape: str, path: Path, *, mb: float | None = None, seed: int = 1, form: str = "claude-code"
) -> int:
    """Write one session to ``path`` and give its size in bytes."""
    with path.open("wb") as file:
        for step, lines in conversation(shape, mb or SHAPES[shape].default_mb, seed):
            file.writelines(lines if form == "claude-code" else encode(messages(step)))
        return file.tell()


def archive(root: Path, n: int, total_mb: float, *, seed: int = 1) -> list[Path]:
    """Write ``n`` sessions of very different sizes, in a folder a project."""
    words = Words(seed)
    shares = [words.size(1, 200) for _ in range(n)]
    paths = []
    for at, share in enumerate(shares):
        path = root / f"-srv-{words.pick(PROJECTS)}" / f"{words.uuid()}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        shape = "big" if words.chance(0.4) else "chatty"
        write(shape, path, mb=total_mb * share / sum(shares), seed=seed * 100_003 + at)
        paths.append(path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description="Write made-up agent sessions.")
    parser.add_argument("shape", choices=[*SHAPES, "archive"])
    parser.add_argument("out", type=Path, help="the file, or the folder of an archive")
    parser.add_argument("--mb", type=float, help="size in megabytes of the Claude Code form")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=["claude-code", "messages"], default="claude-code")
    parser.add_argument("--files", type=int, default=60, help="how many files of an archive [60]")
    options = parser.parse_args()
    if options.shape == "archive":
        paths = archive(options.out, options.files, options.mb or 34, seed=options.seed)
        size = sum(path.stat().st_size for path in paths)
    else:
        size = write(
            options.shape, options.out, mb=options.mb, seed=options.seed, form=options.format
        )
    print(json.dumps({"out": str(options.out), "bytes": size}))


if __name__ == "__main__":
    main()
