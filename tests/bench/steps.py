"""What happens in a made-up session, whatever the format that it is written in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


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
