"""Run commands in rounds and measure them from outside: seconds and peak memory.

Nothing big is imported or made here: on Linux a child's peak memory starts at the memory of the
process that started it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import BinaryIO, NamedTuple

PRIVATE = ("ANTHROPIC_", "COMPACTCTL_", "OPENAI_")


class CommandError(Exception):
    """A command did not end well, or did nothing; the text is what its row says."""


class Run(NamedTuple):
    """One run of a command: how long, and the peak memory of each of its processes in bytes."""

    seconds: float
    peaks: list[int]


class Session(NamedTuple):
    """What is run on: a file, or a folder of ``parts`` files; else ``parts`` counts its lines."""

    path: str
    size: int
    parts: int
    unit: str = "lines"


@dataclass
class Row:
    """A command or a pipe of them, the row that it is compared with, and its runs so far.

    ``prepare`` makes everything as it was, off the clock; ``check`` makes sure that there was
    work done and says how much; ``once`` is for what runs in the first round only.
    """

    name: str
    stages: list[list[str]]
    shape: str = ""
    against: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], None] = lambda: None
    check: Callable[[], str] = lambda: ""
    codes: tuple[int, ...] = (0,)
    once: bool = False
    runs: list[Run] = field(default_factory=list)
    failure: str = ""
    note: str = ""


def measure(rows: list[Row], *, runs: int, timeout: float, errors: Path) -> None:
    """Fill in the runs of every row, round by round; a row that fails is not tried again."""
    for number in range(runs + 1):
        print(f"round {number} of {runs}" if number else "warming up", file=sys.stderr)
        for row in rows:
            if not row.failure and not (row.once and number > 1):
                attempt(row, timeout=timeout, errors=errors, is_counted=number > 0)


def attempt(row: Row, *, timeout: float, errors: Path, is_counted: bool) -> None:
    row.prepare()
    try:
        result = run(row, timeout=timeout, errors=errors)
        row.note = row.check()
    except CommandError as error:
        row.failure = str(error)
        said = errors.read_text("utf-8", "replace").strip().rpartition("\n")[2]
        print(f"  {row.shape} {row.name}: {error} {said}", file=sys.stderr)
    else:
        row.runs += [result] if is_counted else []


def run(row: Row, *, timeout: float, errors: Path) -> Run:
    """Run a row's command into nothing and measure it."""
    with errors.open("wb") as stderr:
        if not all(Path(argv[0]).exists() for argv in row.stages):
            raise CommandError("failed (exit 127)")
        cache = tempfile.TemporaryDirectory()  # empty: no run finds what another has counted
        begin = perf_counter()
        processes = start(row, stderr, cache.name)
        timer = threading.Timer(timeout, stop, [processes])
        timer.start()
        ended = [reap(process) for process in processes]
        seconds = perf_counter() - begin
        timer.cancel()
        cache.cleanup()
    if seconds >= timeout:
        raise CommandError(f"failed (over {timeout:g} s)")
    if any(code not in row.codes for code, _ in ended):
        raise CommandError(f"failed (exit {'|'.join(str(code) for code, _ in ended)})")
    return Run(seconds, [peak for _, peak in ended])


def start(row: Row, stderr: BinaryIO, cache: str) -> list[subprocess.Popen[bytes]]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(PRIVATE)}
    environment = clean | {"XDG_CACHE_HOME": cache} | dict(row.environment)
    processes = []
    source = os.open(os.devnull, os.O_RDONLY)
    for argv in row.stages:
        if argv is row.stages[-1]:
            next_source, sink = -1, os.open(os.devnull, os.O_WRONLY)
        else:
            next_source, sink = os.pipe()
        processes.append(
            subprocess.Popen(
                argv,
                stdin=source,
                stdout=sink,
                stderr=stderr,
                env=environment,
                process_group=0,
            )
        )
        os.close(source)
        os.close(sink)
        source = next_source
    return processes


def reap(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Wait for a process and give its exit code and its peak memory in bytes."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return process.returncode, usage.ru_maxrss * unit


def stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """End what takes too long, with all that it has started."""
    for process in processes:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
