"""``formats``: what transcripts are known."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from compactctl import formats as known
from compactctl.cli.command import Command
from compactctl.files import output as files
from compactctl.jsonl import exact


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """List the formats that are known, with the profile that validate judges each by."""

    json: Annotated[bool, typer.Option("--json", help="One JSON object a format.")] = False


def run(options: Options) -> int:
    """Write the list to standard output."""
    rows = [(name, known.load(name)) for name in known.names()]
    if options.json:
        files.write_standard(
            exact.dump({"name": name, "profile": m.PROFILE, "description": m.DESCRIPTION}) + b"\n"
            for name, m in rows
        )
        return 0
    lines = [f"{name:<12} {module.PROFILE:<17} {module.DESCRIPTION}" for name, module in rows]
    files.write_standard([("\n".join(lines) + "\n").encode()])
    return 0


COMMAND = Command(Options, run, "compactctl formats")
