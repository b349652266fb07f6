"""``formats``: what transcripts are known."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from compactctl import formats as known
from compactctl.cli.command import Command
from compactctl.files.output import write_json, write_standard
from compactctl.jsonl import exact


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """List the formats that are known, with the profile that validate judges each by."""

    json: Annotated[bool, typer.Option("--json", help="One JSON object a format.")] = False


def run(options: Options) -> int:
    """Write the list to standard output."""
    rows = [known.load(name) for name in known.names()]
    if options.json:
        write_json(
            exact.dump({"name": f.name, "profile": f.profile, "description": f.description}) + b"\n"
            for f in rows
        )
        return 0
    lines = [f"{form.name:<12} {form.profile:<17} {form.description}" for form in rows]
    write_standard([("\n".join(lines) + "\n").encode()])
    return 0


COMMAND = Command(Options, run, "compactctl formats")
