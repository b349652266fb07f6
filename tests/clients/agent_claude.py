"""Claude Code: a native binary in current versions, JavaScript for node in earlier ones."""

from __future__ import annotations

import json
import platform
import re
import sys
from typing import TYPE_CHECKING, Any

from agent import MODULES, Agent, Place, first
from streams import Call

if TYPE_CHECKING:
    from pathlib import Path

    from said import Said

NEW = "11111111-2222-4333-8444-555555555555"
"""The id of a session that is started here."""


class ClaudeCode(Agent):
    """``claude -p``, with what it would send elsewhere turned off."""

    title = "Claude Code"
    model = "claude-opus-4-6"
    added = (
        r"\s*<system-reminder>.*?</system-reminder>\s*"
        r"|Continue from where you left off\.|No response requested\."
    )

    def __init__(self, package: str, fill: int) -> None:
        self.package, self.fill = package, fill

    def read(self, path: Path) -> Call:
        return Call("Read", {"file_path": str(path)})

    def shell(self, command: str) -> Call:
        return Call("Bash", {"command": command, "description": "Run a command"})

    def asks_for_summary(self, body: dict[str, Any]) -> bool:
        return "detailed summary of the conversation" in json.dumps(body["messages"][-1:])

    def plain(self, piece: Said) -> Said:
        """Name the tool for sub-agents by its new name, as the agent does."""
        old = piece.kind == "call"
        return (
            piece._replace(text=re.sub("^(\\S+) Task ", r"\1 Agent ", piece.text)) if old else piece
        )

    def path(self, data: bytes, place: Place) -> Path:
        slug = re.sub("[^A-Za-z0-9]", "-", str(place.work))
        name = first(data, "sessionId").get("sessionId", NEW)
        return place.home / ".claude" / "projects" / slug / f"{name}.jsonl"

    def sessions(self, place: Place) -> list[Path]:
        return sorted((place.home / ".claude" / "projects").glob("*/*.jsonl"))

    def command(self, prompt: str, place: Place, session: Path | None) -> list[str]:
        which = ["--resume", session.stem] if session else ["--session-id", NEW]
        model = _model(session.read_bytes()) if session else ""
        return [*self._program(), "-p", prompt, *which, "--model", model or self.model]

    def settle(self, place: Place, url: str, *, compacts: bool) -> dict[str, str]:
        off = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING")
        off += ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",)
        off += () if compacts else ("DISABLE_AUTO_COMPACT",)
        found = dict.fromkeys(off, "1")
        return found | {"ANTHROPIC_API_KEY": "sk-ant-dummy", "ANTHROPIC_BASE_URL": url}

    def _program(self) -> list[str]:
        script = MODULES / self.package / "cli.js"
        if script.exists():
            return ["node", str(script)]
        machine = "arm64" if platform.machine() in {"arm64", "aarch64"} else "x64"
        return [str(MODULES / f"{self.package}-{sys.platform}-{machine}" / "claude")]


def _model(data: bytes) -> str:
    """Return the model of the last answer: thinking of another model is not sent."""
    found = re.findall(rb'"model":"(claude-[^"]+)"', data)
    return found[-1].decode() if found else ""
