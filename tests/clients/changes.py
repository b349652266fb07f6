"""What is done to a session before the agent goes on with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from compactctl.transcript import loading

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120
FACT = (
    b'{"type":"compactctl.fact","fact_id":"f1","content":"The port is 8443.",'
    b'"source_pointer":"transcript:sess-1:1","last_confirmed_at":"2026-01-01T00:00:00Z"}\n'
)
"""A durable record; what it points to is nowhere, which is a state as good as any."""

Lines = list[bytes]


class FailedError(Exception):
    """compactctl did not do what it was asked for."""


@dataclass(frozen=True)
class Change:
    """A command of compactctl, and what becomes of the lines before it runs."""

    name: str
    argv: tuple[str, ...] = ()
    before: Callable[[Lines, int, int], Lines] | None = None
    """Gets the lines, and the indices of those of a call and of its result."""
    rounds: int = 1
    """How often it is done, the agent working on in between."""

    @property
    def acts(self) -> bool:
        """Return True if there is nothing to try where the command changes nothing."""
        return bool(self.argv) and not self.before

    def prepared(self, data: bytes) -> bytes:
        """Return what the command gets."""
        if not self.before:
            return data
        lines = data.splitlines(keepends=True)
        return b"".join(self.before(lines, *_a_call_and_its_result(data)))


def compactctl(argv: tuple[str, ...], data: bytes) -> bytes:
    """Run a stage over a session.

    Raises:
        FailedError: it did not exit with 0.

    """
    done = subprocess.run(
        [sys.executable, "-m", "compactctl", *argv],
        cwd=ROOT,
        input=data,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise FailedError(f"compactctl {argv[0]} exits {done.returncode}: {said[-1:]}")
    return done.stdout


def _a_call_and_its_result(data: bytes) -> tuple[int, int]:
    """Return the lines of a call in the middle of what is sent, and of its result."""
    found = loading.load(data.splitlines(keepends=True))
    blocks = [block for message in found.messages for block in message.blocks]
    calls = {block.call_id: block.entry for block in blocks if block.kind == "call"}
    pairs = [
        (found.entries[calls[b.call_id]].line - 1, found.entries[b.entry].line - 1)
        for b in blocks
        if b.kind == "result" and b.call_id in calls
    ]
    if not pairs:
        raise FailedError("there is no call to damage")
    return pairs[len(pairs) // 2]


def _torn(lines: Lines, _call: int, _result: int) -> Lines:
    return [*lines[:-1], lines[-1][: len(lines[-1]) // 2]]


def _without_result(lines: Lines, _call: int, result: int) -> Lines:
    return lines[:result] + lines[result + 1 :]


def _without_call(lines: Lines, call: int, _result: int) -> Lines:
    return lines[:call] + lines[call + 1 :]


def _stopped(lines: Lines, call: int, _result: int) -> Lines:
    return lines[: call + 1]


def _torn_result(lines: Lines, _call: int, result: int) -> Lines:
    return [*lines[:result], lines[result][: len(lines[result]) // 2]]


def _twice(lines: Lines, _call: int, result: int) -> Lines:
    return lines[: result + 1] + lines[result:]


def _swapped(lines: Lines, call: int, result: int) -> Lines:
    return [*lines[:call], lines[result], *lines[call:result], *lines[result + 1 :]]


def _facts_first(lines: Lines, _call: int, _result: int) -> Lines:
    return [FACT, *lines]


def _facts_last(lines: Lines, _call: int, _result: int) -> Lines:
    return [*lines[:-1], lines[-1].rstrip(b"\n") + b"\n", FACT]


UNTOUCHED = Change("untouched")
LAYERS = (
    Change("truncate", ("truncate", "--max-tokens", "400")),
    Change("dedup", ("dedup",)),
    Change("dedup, stubs", ("dedup", "--mode", "stub")),
    Change("prune", ("prune", "--keep-turns", "2")),
    Change("prune, no marker", ("prune", "--keep-turns", "2", "--no-marker")),
    Change("prune, snip", ("prune", "--mode", "snip", "--head", "2", "--max-messages", "8")),
    Change("prune, clear", ("prune", "--mode", "clear", "--keep-results", "1")),
    Change("summarize", ("summarize", "--summarizer", "template", "--keep-messages", "2")),
    Change("compact", ("compact", "--soft-limit", "1500", "--hard-limit", "9000000")),
    Change("compact, reactive", ("compact", "--reactive", "--hard-limit", "9000000")),
    Change(
        "compact, slim", ("compact", "--slim", "--soft-limit", "1500", "--hard-limit", "9000000")
    ),
    Change(
        "compact, go on, compact",
        ("compact", "--soft-limit", "1500", "--hard-limit", "9000000"),
        rounds=2,
    ),
    Change("without thinking", ("truncate", "--thinking", "drop")),
)
RECORDS = (
    Change("records in front, truncate", ("truncate", "--max-tokens", "400"), _facts_first),
    Change("records at the end, truncate", ("truncate", "--max-tokens", "400"), _facts_last),
    Change("records, resolve", ("resolve",), _facts_first),
)
REPAIRS = tuple(
    Change(f"repair: {name}", ("repair",), damage)
    for name, damage in (
        ("last line torn", _torn),
        ("result lost", _without_result),
        ("call lost", _without_call),
        ("stopped after a call", _stopped),
        ("stopped in a result", _torn_result),
        ("result twice", _twice),
        ("result before its call", _swapped),
    )
)
GROUPS = {
    "untouched": (UNTOUCHED,),
    "after a layer": LAYERS,
    "with records": RECORDS,
    "after repair": REPAIRS,
}
