"""Time compactctl as a user meets it: whole processes, start included, on made-up sessions.

    python tests/bench/run.py
    python tests/bench/run.py --mb 200 --runs 3 --only "big compact"

Every command runs once to warm up, then in rounds (A B C, A B C, …), so that a slow moment of the
machine hits all of them alike. Seconds are the median of the rounds with their range; a ratio is
the median of the ratios within each round. Memory is the peak of one process, which cannot show
below the 19 MB or so of this script; for a pipe that of its largest, with the sum of all in
brackets; for a bulk run that of its driver, without the workers. A command that does not end well,
or that has made nothing smaller, says so in its row.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import peers
import rows
from rows import PYTHON
from table import MEGABYTE, table
from timing import Row, Session, measure

if TYPE_CHECKING:
    from collections.abc import Iterator

SESSIONS = Path(__file__).resolve().parent / "sessions.py"
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "claude-code"
SHAPES = ("big", "chatty")
LISTS = ("big messages", "chatty messages")
SMALL_MB = 0.1


def make(folder: Path, name: str, mb: float | None) -> Session:
    """Write a session or an archive in a process of its own, see the note in timing."""
    shape, _, is_list = name.partition(" ")
    path = folder / name.replace(" ", "-")
    path = path if shape == "archive" else path.with_suffix(".jsonl")
    argv = [PYTHON, str(SESSIONS), "chatty" if shape == "small" else shape, str(path)]
    argv += ["--format", "messages"] if is_list else []
    subprocess.run(argv + (["--mb", str(mb)] if mb else []), check=True, stdout=subprocess.DEVNULL)
    return folder_of(path) if path.is_dir() else file_of(path)


def file_of(path: Path) -> Session:
    with path.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return Session(str(path), path.stat().st_size, lines)


def folder_of(path: Path) -> Session:
    files = list(path.rglob("*.jsonl"))
    return Session(str(path), sum(file.stat().st_size for file in files), len(files), "files")


def all_sessions(folder: Path, options: argparse.Namespace) -> dict[str, Session]:
    mb = {"small": SMALL_MB, "archive": options.archive_mb}
    names = ("small", *SHAPES, *LISTS, "archive")
    found = {name: make(folder, name, mb.get(name, options.mb)) for name in names}
    return found | ({"corpus": folder_of(CORPUS)} if CORPUS.is_dir() else {})


def all_rows(sessions: dict[str, Session], folder: Path) -> Iterator[Row]:
    """Give everything that is timed, each row after the one that it is compared with."""
    out = folder / "out.jsonl"
    yield from rows.of_start(sessions["small"].path)
    for shape in SHAPES:
        yield from rows.of_file(shape, sessions[shape].path, out)
        yield from rows.of_file_slowly(shape, sessions[shape].path, out)
        yield from peers.on_file(shape, sessions[shape], folder)
    for shape in LISTS:
        yield from rows.of_list(shape, sessions[shape].path, out)
        yield from peers.on_messages(shape, sessions[shape], folder)
    for shape in ("archive", "corpus"):
        if shape in sessions:
            yield from rows.of_folder(shape, sessions[shape], folder / "out")
            yield from peers.on_folder(shape, sessions[shape], folder)


def chosen(found: list[Row], text: str) -> list[Row]:
    """Keep the rows with ``text`` in their session and name, and what they are compared with."""
    kept = {(row.shape, row.name) for row in found if text in f"{row.shape} {row.name}"}
    for row in reversed(found):
        if (row.shape, row.name) in kept:
            kept.add((row.shape, row.against))
    return [row for row in found if (row.shape, row.name) in kept]


def machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text("utf-8", "replace").splitlines()
        model = next((ln.partition(":")[2].strip() for ln in lines if "model name" in ln), model)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} cores, {model}, {platform.system()}, {python}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time compactctl on made-up sessions.")
    parser.add_argument("--mb", type=float, help="size of each session [24 and 22]")
    parser.add_argument("--archive-mb", type=float, default=34, help="of 60 files [34]")
    parser.add_argument("--runs", type=int, default=5, help="runs after the warm-up [5]")
    parser.add_argument("--timeout", type=float, default=600, help="seconds a command may take")
    parser.add_argument("--only", default="", help="only rows with this text, and what they need")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sessions = all_sessions(folder, options)
        found = chosen(list(all_rows(sessions, folder)), options.only)
        runs = max(options.runs, 1)
        measure(found, runs=runs, timeout=options.timeout, errors=folder / "stderr")
    print(f"{datetime.now(tz=UTC):%Y-%m-%d} · {machine()} · median of {runs} runs\n")
    for shape, session in sessions.items():
        size = session.size / MEGABYTE
        print(f"{shape}: {size:.1f} MB in {session.parts:,} {session.unit}  ")
    if absent := peers.missing():
        print(f"\nleft out, not installed (make bench-peers): {', '.join(absent)}", file=sys.stdout)
    print()
    print("\n".join(table(found, sessions)))


if __name__ == "__main__":
    main()
