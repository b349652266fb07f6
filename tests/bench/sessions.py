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
import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
from agent import Agent
from claude_code import ClaudeCode
from steps import SHAPES, Step
from vocabulary import PROJECTS
from words import Words

MEGABYTE = 1_000_000


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
