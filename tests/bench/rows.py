"""What is timed of compactctl itself, and the floor below which nothing can go."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from timing import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from timing import Session

PYTHON = sys.executable
COMPACTCTL = str(Path(PYTHON).parent / "compactctl")
STAGES = ("truncate", "dedup", "prune", "summarize --summarizer template")
CHAIN = ("truncate", "dedup", "prune")
ALL_OF_THEM = ("--layers", ",".join(CHAIN), "--soft-limit", "0", "--hard-limit", "1000000000")
"""What makes ``compact`` run the layers of the pipe, whatever the size."""

IMPORTS = "python: import typer, orjson"
FLOOR = "floor: read, orjson.loads each line"
PIPE = "validate | truncate | dedup | prune"
COMPACT = "compact --layers truncate,dedup,prune"
SLOWLY = {"COMPACTCTL_TOKENIZER_ENGINE": "tiktoken"}
WITHOUT = ", without the extra fast"
BULK = "bulk, {} job(s)"

FLOOR_PROGRAM = """
import sys, orjson
def loads(line):
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        pass  # an empty line, or what real sessions hold besides
for name in sys.argv[1:]:
    rest = b""
    with open(name, "rb") as file:
        while block := file.read(1 << 20):
            *lines, rest = (rest + block).split(b"\\n")
            for line in lines:
                loads(line)
    loads(rest)
"""


def of_start(small: str) -> Iterator[Row]:
    """Give what a user waits for where there is next to nothing to do."""
    yield Row(IMPORTS, [[PYTHON, "-c", "import typer, orjson"]], "small")
    yield Row("compactctl --version", [[COMPACTCTL, "--version"]], "small", IMPORTS)
    check = [COMPACTCTL, "validate", "--check", small]
    yield Row("validate --check", [check], "small", IMPORTS)
    yield Row(PIPE, pipe(small), "small", IMPORTS)


def pipe(file: str) -> list[list[str]]:
    return [[COMPACTCTL, "validate", file], *([COMPACTCTL, layer] for layer in CHAIN)]


def of_file(shape: str, file: str, out: Path) -> Iterator[Row]:
    """Give the commands on one big session."""
    yield floor(shape, [file])
    yield Row("validate --check", [[COMPACTCTL, "validate", "--check", file]], shape, FLOOR)
    for layer in STAGES:
        yield Row(layer, [stage(layer, file)], shape, FLOOR)
    yield Row(PIPE, pipe(file), shape, FLOOR)
    yield compact(COMPACT, shape, file, out, PIPE)
    yield compact(f"{COMPACT} --slim", shape, file, out, COMPACT)


def of_list(shape: str, file: str, out: Path) -> Iterator[Row]:
    """Give what there is to compare with a library that takes message lists."""
    yield floor(shape, [file])
    yield compact(COMPACT, shape, file, out, FLOOR)


def floor(shape: str, files: list[str]) -> Row:
    return Row(FLOOR, [[PYTHON, "-c", FLOOR_PROGRAM, *files]], shape)


def of_file_slowly(shape: str, file: str, out: Path) -> Iterator[Row]:
    """Give what counts, once more with the tokenizer that everybody has."""
    for layer in CHAIN:
        yield slowly(Row(layer + WITHOUT, [stage(layer, file)], shape, layer))
    yield slowly(Row(PIPE + WITHOUT, pipe(file), shape, PIPE))
    yield slowly(compact(COMPACT + WITHOUT, shape, file, out, COMPACT))


def slowly(row: Row) -> Row:
    row.environment, row.once = SLOWLY, True
    return row


def stage(layer: str, file: str) -> list[str]:
    name, *options = layer.split()
    return [COMPACTCTL, name, file, *options, "-o", "-"]


def compact(name: str, shape: str, file: str, out: Path, against: str) -> Row:
    """Compact to a file, as the peers do."""
    argv = [COMPACTCTL, "compact", file, *ALL_OF_THEM, "-o", str(out)]
    argv += ["--slim"] if name.endswith("--slim") else []

    def check() -> str:
        return left(Path(file).stat().st_size, out.stat().st_size)

    return Row(name, [argv], shape, against, prepare=lambda: remove(out), check=check)


def of_folder(shape: str, session: Session, out: Path) -> Iterator[Row]:
    """Give a bulk run over a folder; of a corpus some files fail, as they should."""
    files = list(map(str, sorted(Path(session.path).rglob("*.jsonl"))))
    yield floor(shape, files)
    against = FLOOR
    for jobs in (1, 2):
        argv = [COMPACTCTL, "compact", session.path, "-q", *ALL_OF_THEM, "-o", str(out)]
        yield Row(
            BULK.format(jobs),
            [[*argv, "--jobs", str(jobs)]],
            shape,
            against,
            prepare=lambda: remove(out),
            check=lambda: outcome(session, out),
            codes=(0, 6),
        )
        against = BULK.format(1)


def outcome(session: Session, out: Path) -> str:
    """Say how much is left; what was refused stays as it is, as with tools that work in place."""
    source = Path(session.path)
    refused = [path for path in source.rglob("*.jsonl") if not is_made(path, source, out)]
    after = size_of(out) + sum(path.stat().st_size for path in refused)
    return left(session.size, after) + (f", {len(refused)} refused" if refused else "")


def is_made(path: Path, source: Path, out: Path) -> bool:
    return (out / path.relative_to(source)).exists()


def size_of(folder: Path) -> int:
    found = folder.rglob("*.jsonl")
    return sum(path.stat().st_size for path in found if path.name != "manifest.jsonl")


def left(before: int, after: int) -> str:
    return f"{before / 1e6:.2f} → {after / 1e6:.2f} MB"


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
