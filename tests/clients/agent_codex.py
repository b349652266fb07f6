"""Codex CLI, with a provider of its own name on this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent import MODULES, Agent, Place, first
from streams import Call

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = """\
model = "{model}"
model_provider = "loop"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
{compacts}
[analytics]
enabled = false
[model_providers.loop]
name = "loop"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOOP_KEY"
"""


class Codex(Agent):
    """``codex exec``; a rollout of another provider is refused, so its provider is set to ours."""

    title = "Codex CLI"
    package = "@openai/codex"
    model = "gpt-5.5"
    fill = 235_000
    added = (
        r"# AGENTS\.md instructions.*?</INSTRUCTIONS>\s*"
        r"|<environment_context>.*?</environment_context>\s*|\S+ aborted"
    )

    def read(self, path: Path) -> Call:
        return Call("exec_command", {"cmd": f"cat {path}", "max_output_tokens": 30_000})

    def shell(self, command: str) -> Call:
        return Call("exec_command", {"cmd": command})

    def asks_for_summary(self, body: dict[str, Any]) -> bool:
        return "CONTEXT CHECKPOINT COMPACTION" in json.dumps(body["input"][-1:])

    def path(self, data: bytes, place: Place) -> Path:
        meta = first(data, "payload").get("payload", {})
        day = str(meta.get("timestamp", ""))[:19].replace(":", "-")
        folder = place.home / ".codex" / "sessions" / day[:10].replace("-", "/")
        return folder / f"rollout-{day}-{meta.get('id')}.jsonl"

    def sessions(self, place: Place) -> list[Path]:
        return sorted((place.home / ".codex" / "sessions").glob("**/*.jsonl"))

    def fit(self, data: bytes, place: Place) -> bytes:
        return data.replace(b'"model_provider":"openai"', b'"model_provider":"loop"')

    def command(self, prompt: str, place: Place, session: Path | None) -> list[str]:
        meta = first(session.read_bytes(), "payload")["payload"] if session else {}
        which = ["resume", str(meta.get("id"))] if session else []
        return [str(_binary()), "exec", *which, "--skip-git-repo-check", prompt]

    def settle(self, place: Place, url: str, *, compacts: bool) -> dict[str, str]:
        folder = place.home / ".codex"
        folder.mkdir(parents=True, exist_ok=True)
        never = "" if compacts else "model_auto_compact_token_limit = 10000000"
        text = SETTINGS.format(model=self.model, url=url, compacts=never)
        (folder / "config.toml").write_text(text)
        return {"CODEX_HOME": str(folder), "LOOP_KEY": "sk-dummy"}


def _binary() -> Path:
    return next((MODULES / "@openai").glob("codex-*/vendor/*/bin/codex"))
