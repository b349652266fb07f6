"""Time compactctl as a user meets it: whole processes, start included, on made-up sessions.

    python tests/bench/run.py
    python tests/bench/run.py --mb 4 --runs 3 --only truncate

Every command runs once to warm up, then in rounds (A B C, A B C, …), so that a slow moment of the
machine hits all of them alike. Seconds are the median of the rounds with their range; a ratio is
the median of the ratios within each round. Memory is the peak of one process, which cannot show
below the 19 MB or so of this script; for a pipe that of its largest, with the sum of all in
brackets. A command that does not end well says so in its row.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# Nothing big is imported or made in this process: on Linux a child's peak memory starts at the
# memory of the process that started it.

SESSIONS = Path(__file__).resolve().parent / "sessions.py"
PYTHON = sys.executable
COMPACTCTL = str(Path(PYTHON).parent / "compactctl")
SHAPES = ("big", "chatty")
LAYERS = ("truncate", "dedup", "prune", "summarize --summarizer template")
LIMITS = ("--soft-limit", "0", "--hard-limit", "1000000000")
PRIVATE = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "COMPACTCTL_REPORT")
MEGABYTE = 1_000_000

FLOOR = """
import sys, orjson
rest = b""
with open(sys.argv[1], "rb") as file:
    while block := file.read(1 << 20):
        *lines, rest = (rest + block).split(b"\\n")
        for line in lines:
            orjson.loads(line)
if rest:
    orjson.loads(rest)
"""


class CommandError(Exception):
    """A command did not end well; the text is what its row says."""


class Run(NamedTuple):
    """One run of a command: how long, and the peak memory of each of its processes in bytes."""

    seconds: float
    peaks: list[int]


class Session(NamedTuple):
    """A session to run on."""

    path: str
    size: int
    lines: int


@dataclass
class Row:
    """A command or a pipe of them, the row that it is compared with, and its runs so far."""

    name: str
    stages: list[list[str]]
    shape: str = ""
    against: str = ""
    runs: list[Run] = field(default_factory=list)
    failure: str = ""


def all_rows(sessions: dict[str, Session]) -> Iterator[Row]:
    """Give everything that is timed, each row after the one that it is compared with."""
    imports = "python: import typer, orjson"
    yield Row(imports, [[PYTHON, "-c", "import typer, orjson"]])
    yield Row("compactctl --version", [[COMPACTCTL, "--version"]], against=imports)
    for shape, session in sessions.items():
        yield from rows_of(shape, session.path)


def rows_of(shape: str, file: str) -> Iterator[Row]:
    floor, pipe = "floor: read, orjson.loads each line", "pipe of five stages"
    yield Row(floor, [[PYTHON, "-c", FLOOR, file]], shape)
    yield Row("validate --check", [[COMPACTCTL, "validate", "--check", file]], shape, floor)
    for layer in LAYERS:
        stage, *options = layer.split()
        yield Row(layer, [[COMPACTCTL, stage, file, *options, "-o", "-"]], shape, floor)
    stages = [[COMPACTCTL, "validate", file], *([COMPACTCTL, *layer.split()] for layer in LAYERS)]
    yield Row(pipe, stages, shape, floor)
    yield Row("compact", [[COMPACTCTL, "compact", file, *LIMITS, "-o", "-"]], shape, pipe)


def run(row: Row, *, timeout: float, errors: Path) -> Run:
    """Run a row's command into nothing and measure it from outside."""
    with errors.open("wb") as stderr:
        if not all(Path(argv[0]).exists() for argv in row.stages):
            raise CommandError("failed (exit 127)")
        begin = perf_counter()
        processes = start(row.stages, stderr)
        timer = threading.Timer(timeout, stop, [processes])
        timer.start()
        ended = [reap(process) for process in processes]
        seconds = perf_counter() - begin
        timer.cancel()
    if seconds >= timeout:
        raise CommandError(f"failed (over {timeout:g} s)")
    if any(code for code, _ in ended):
        raise CommandError(f"failed (exit {'|'.join(str(code) for code, _ in ended)})")
    return Run(seconds, [peak for _, peak in ended])


def start(stages: list[list[str]], stderr: BinaryIO) -> list[subprocess.Popen[bytes]]:
    environment = {key: value for key, value in os.environ.items() if key not in PRIVATE}
    processes = []
    source = os.open(os.devnull, os.O_RDONLY)
    for argv in stages:
        if argv is stages[-1]:
            next_source, sink = -1, os.open(os.devnull, os.O_WRONLY)
        else:
            next_source, sink = os.pipe()
        processes.append(
            subprocess.Popen(argv, stdin=source, stdout=sink, stderr=stderr, env=environment)
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
    for process in processes:
        if process.returncode is None:
            os.kill(process.pid, signal.SIGKILL)


def measure(rows: list[Row], *, runs: int, timeout: float, errors: Path) -> None:
    """Fill in the runs of every row, round by round; a row that fails is not tried again."""
    for number in range(runs + 1):
        print(f"round {number} of {runs}" if number else "warming up", file=sys.stderr)
        for row in rows:
            if row.failure:
                continue
            try:
                result = run(row, timeout=timeout, errors=errors)
            except CommandError as error:
                row.failure = str(error)
                first = errors.read_text("utf-8", "replace").partition("\n")[0]
                print(f"  {row.name}: {error} {first}", file=sys.stderr)
            else:
                row.runs += [result] if number else []


def chosen(rows: list[Row], text: str) -> list[Row]:
    """Keep the rows with ``text`` in their name, and those that they are compared with."""
    kept = [row for row in rows if text in row.name]
    wanted = {(row.shape, row.against) for row in kept}
    return [row for row in rows if row in kept or (row.shape, row.name) in wanted]


def table(rows: list[Row], sessions: dict[str, Session]) -> Iterator[str]:
    yield "| session | command | seconds | range | MB/s | peak MB | against | ratio |"
    yield "|---|---|--:|--:|--:|--:|---|--:|"
    known = {(row.shape, row.name): row for row in rows}
    for row in rows:
        cells = measured(row, sessions.get(row.shape)) if row.runs else [row.failure, "", "", ""]
        base = known.get((row.shape, row.against))
        against = "floor" if row.against.startswith("floor") else row.against
        yield f"| {' | '.join([row.shape, row.name, *cells, against, ratio(row, base)])} |"


def measured(row: Row, session: Session | None) -> list[str]:
    seconds = [run.seconds for run in row.runs]
    median = statistics.median(seconds)
    largest = max(max(run.peaks) for run in row.runs) / MEGABYTE
    peak = f"{largest:.0f}"
    if len(row.stages) > 1:
        peak += f" ({max(sum(run.peaks) for run in row.runs) / MEGABYTE:.0f})"
    speed = f"{session.size / MEGABYTE / median:.1f}" if session else ""
    return [f"{median:.3f}", f"{min(seconds):.3f}–{max(seconds):.3f}", speed, peak]


def ratio(row: Row, base: Row | None) -> str:
    if not base or row.failure or base.failure:
        return ""
    pairs = zip(row.runs, base.runs, strict=True)
    return f"{statistics.median(mine.seconds / other.seconds for mine, other in pairs):.2f}"


def machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text("utf-8", "replace").splitlines()
        model = next((ln.partition(":")[2].strip() for ln in lines if "model name" in ln), model)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} cores, {model}, {platform.system()}, {python}"


def make(shape: str, folder: Path, mb: float) -> Session:
    """Write a session in a process of its own, see the note on memory above."""
    path = folder / f"{shape}.jsonl"
    argv = [PYTHON, str(SESSIONS), shape, str(path), "--mb", str(mb)]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    with path.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return Session(str(path), path.stat().st_size, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time compactctl on made-up sessions.")
    parser.add_argument("--mb", type=float, default=24, help="size of each session [24]")
    parser.add_argument("--runs", type=int, default=5, help="runs after the warm-up [5]")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a command may take")
    parser.add_argument("--only", default="", help="only rows with this text, and what they need")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sessions = {shape: make(shape, folder, options.mb) for shape in SHAPES}
        rows = chosen(list(all_rows(sessions)), options.only)
        errors = folder / "stderr"
        measure(rows, runs=max(options.runs, 1), timeout=options.timeout, errors=errors)
    print(f"{datetime.now(tz=UTC):%Y-%m-%d} · {machine()} · median of {options.runs} runs\n")
    for shape, session in sessions.items():
        print(f"{shape}: {session.size / MEGABYTE:.1f} MB in {session.lines:,} lines  ")
    print()
    print("\n".join(table(rows, sessions)))


if __name__ == "__main__":
    main()
