"""pi, with the base URL of its Anthropic provider on this machine."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from agent import MODULES, Agent, Place
from streams import Call

if TYPE_CHECKING:
    from pathlib import Path

    from said import Said

WRAPPER = (
    "The conversation history before this point was compacted into the following summary:"
    "\n\n<summary>\n(.*)\n</summary>"
)


class Pi(Agent):
    """``pi -p``; the folder that a session names must exist."""

    title = "pi"
    package = "@mariozechner/pi-coding-agent"
    model = "claude-sonnet-4-5"
    fill = 188_000
    added = r"\S+ No result provided"

    def read(self, path: Path) -> Call:
        return Call("read", {"path": str(path)})

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command})

    def asks_for_summary(self, body: dict[str, Any]) -> bool:
        return "context summarization assistant" in json.dumps(body.get("system", ""))

    def path(self, data: bytes, place: Place) -> Path:
        return place.home / "sessions" / "session.jsonl"

    def sessions(self, place: Place) -> list[Path]:
        return sorted((place.home / "sessions").glob("*.jsonl"))

    def plain(self, piece: Said) -> Said:
        found = re.fullmatch(WRAPPER, piece.text, re.DOTALL)
        return piece._replace(text=found[1]) if found else piece

    def fit(self, data: bytes, place: Place) -> bytes:
        lines = data.splitlines(keepends=True)
        return b"".join(_here(line, place) if b'"cwd"' in line else line for line in lines)

    def command(self, prompt: str, place: Place, session: Path | None) -> list[str]:
        file = session or self.path(b"", place)
        file.parent.mkdir(parents=True, exist_ok=True)
        program = ["node", str(MODULES / self.package / "dist" / "cli.js")]
        model = [] if session else ["--model", self.model]
        return [*program, "--session", str(file), "--provider", "anthropic", *model, "-p", prompt]

    def settle(self, place: Place, url: str, *, compacts: bool) -> dict[str, str]:
        folder = place.home / ".pi" / "agent"
        folder.mkdir(parents=True, exist_ok=True)
        provider = {"providers": {"anthropic": {"baseUrl": url}}}
        (folder / "models.json").write_text(json.dumps(provider))
        (folder / "settings.json").write_text(json.dumps({"compaction": {"enabled": compacts}}))
        return {"ANTHROPIC_API_KEY": "sk-ant-dummy", "PI_OFFLINE": "1"}


def _here(line: bytes, place: Place) -> bytes:
    """Return the first line of a session with the folder of this machine."""
    try:
        record = json.loads(line)
    except ValueError:
        return line
    if not isinstance(record, dict) or record.get("type") != "session":
        return line
    return json.dumps(record | {"cwd": str(place.work)}, separators=(",", ":")).encode() + b"\n"
