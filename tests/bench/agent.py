"""A made-up agent at work on a made-up project."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from steps import Call, Shape, Step
from vocabulary import CODE, FOLDERS, PROJECTS, REMINDER
from words import Words

REREAD_SHARE = 0.44  # of the text of reads in real sessions, what is read again later
HUGE_LOG = 300_000


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
