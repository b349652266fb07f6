"""How a command reads its FILE, and what it refuses before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl.errors import InputError
from compactctl.files.output import check_report, output_path
from compactctl.files.reading import read_lines
from compactctl.jsonl import lines
from compactctl.report import unreadable
from compactctl.transcript import loading
from compactctl.transcript.leaf import ending_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.jsonl.lines import Entry

_held: list[loading.Transcript] = []


def hold(found: loading.Transcript) -> None:
    """Keep a transcript to the end of the process, which takes less time than taking it apart."""
    _held[:] = [found]


def check_outputs(
    file: str, output: str | None, report: str | None, *, in_place: bool = False
) -> None:
    """Refuse an output that is the input before any work is done."""
    output_path(output, file, in_place=in_place)
    if report:
        check_report(report, file, output)


def read(file: str, format_name: str | None, leaf: str | None = None) -> loading.Transcript:
    """Read the one FILE argument into a transcript, of the branch that ends at ``leaf``."""
    found = loading.load(read_lines(file), file, format_name)
    if leaf is not None:
        found = ending_at(found, leaf)
    hold(found)
    return found


def read_objects(file: str) -> list[bytes]:
    """Read the lines of a FILE argument of any format."""
    found = read_lines(file)
    if not any(map(bytes.strip, found)):
        raise InputError("the input is empty; an earlier stage may have failed", file=file)
    if not any(True for _ in lines.objects(found)):
        raise InputError("no line is a JSON object; expected one JSON object a line", file=file)
    return found


class _Object(msgspec.Struct):
    """Any JSON object."""


def count_unreadable(raw_lines: Sequence[bytes]) -> int:
    """Count the lines that hold no JSON object."""
    entries: list[Entry] = []
    decode = msgspec.json.Decoder(_Object).decode
    records = [index for index, _ in lines.read(raw_lines, decode, entries, [])]
    return len(raw_lines) - len({entries[index].line for index in records})


def say_unreadable(raw_lines: Sequence[bytes]) -> str:
    """Return the end of a line for people about lines that hold something, but no JSON object."""
    return unreadable(count_unreadable([raw for raw in raw_lines if raw.strip()]))
