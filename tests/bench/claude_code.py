"""Made-up sessions as Claude Code writes them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from agent import Agent
from steps import Call, Step

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
MODEL = "claude-sonnet-4-5-20250929"


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
