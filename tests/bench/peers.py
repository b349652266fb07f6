"""Other tools at the same work, where ``make bench-peers`` has installed them.

They live in an environment of their own, run on copies, with a home that is thrown away, and may
neither report nor update themselves. cozempic works on a file in place; headroom is a library.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from rows import BULK, COMPACT, left, remove, size_of
from timing import CommandError, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from timing import Session

BIN = Path(__file__).resolve().parents[2] / ".venv" / "peers" / "bin"
COZEMPIC = BIN / "cozempic"
HEADROOM = BIN / "headroom"
HEADROOM_PROGRAM = Path(__file__).with_name("headroom_job.py")
QUIETLY = {
    "DO_NOT_TRACK": "1",
    "COZEMPIC_NO_TELEMETRY": "1",
    "COZEMPIC_NO_AUTO_UPDATE": "1",
    "COZEMPIC_NO_AUTO_INIT": "1",
    "COZEMPIC_NO_GLOBAL_INIT": "1",
    "COZEMPIC_NO_RECEIPTS": "1",
    "HEADROOM_OFFLINE": "1",
    "HEADROOM_TELEMETRY": "off",
    "HEADROOM_BEACON": "off",
    "HEADROOM_UPDATE_CHECK": "off",
}
TREAT = 'cozempic=$1 folder=$2; for file in $(find "$folder" -name "*.jsonl"); do\n'
TREAT += '"$cozempic" treat "$file" -rx standard --execute; done; true'


def missing() -> list[str]:
    """Name those that are not there."""
    return [tool.name for tool in (COZEMPIC, HEADROOM) if not tool.exists()]


def on_file(shape: str, session: Session, folder: Path) -> Iterator[Row]:
    """Give cozempic on a copy of a Claude Code session."""
    if COZEMPIC.exists():
        copy = folder / "peers" / "copy.jsonl"
        argv = [str(COZEMPIC), "treat", str(copy), "-rx", "standard", "--execute"]
        yield Row(
            "cozempic treat -rx standard",
            [argv],
            shape,
            COMPACT,
            environment=environment(folder),
            prepare=lambda: fresh(folder, session.path, copy),
            check=lambda: done(session.size, copy.stat().st_size),
        )


def on_messages(shape: str, session: Session, folder: Path) -> Iterator[Row]:
    """Give headroom on a message list."""
    if HEADROOM.exists():
        out = folder / "peers" / "out.jsonl"
        argv = [str(BIN / "python"), str(HEADROOM_PROGRAM), session.path, str(out)]
        yield Row(
            "headroom: compress(messages)",
            [argv],
            shape,
            COMPACT,
            environment=environment(folder),
            prepare=lambda: fresh(folder),
            check=lambda: done(session.size, out.stat().st_size),
        )


def on_folder(shape: str, session: Session, folder: Path) -> Iterator[Row]:
    """Give a shell loop of cozempic over copies of all files."""
    if COZEMPIC.exists():
        copy = folder / "peers" / "copies"
        yield Row(
            "shell loop of cozempic treat -rx standard",
            [["/bin/sh", "-c", TREAT, "sh", str(COZEMPIC), str(copy)]],
            shape,
            BULK.format(1),
            environment=environment(folder),
            prepare=lambda: fresh(folder, session.path, copy),
            check=lambda: done(session.size, size_of(copy)),
        )


def environment(folder: Path) -> Mapping[str, str]:
    return QUIETLY | {"HOME": str(folder / "peers" / "home")}


def fresh(folder: Path, source: str = "", copy: Path | None = None) -> None:
    """Make everything as if the tool had never run."""
    remove(folder / "peers")
    (folder / "peers" / "home").mkdir(parents=True)
    if copy is not None:
        take = shutil.copytree if Path(source).is_dir() else shutil.copyfile
        take(source, copy)


def done(before: int, after: int) -> str:
    """Say how much is left; an end without any work is no result."""
    if not 0 < after < before:
        raise CommandError(f"did nothing ({left(before, after)})")
    return left(before, after)
