"""``formats``: what transcripts are known."""

from __future__ import annotations

from typing import Annotated

import typer

from compactctl import formats as known
from compactctl.files.output import write_standard
from compactctl.jsonl import exact


def formats(
    json: Annotated[bool, typer.Option("--json", help="One JSON object a format.")] = False,
) -> None:
    """List the formats that are known, with the profile that validate judges each by.

    Example:

        compactctl formats

    """
    rows = [(name, known.load(name)) for name in known.names()]
    if json:
        write_standard(
            exact.dump({"name": name, "profile": m.PROFILE, "description": m.DESCRIPTION}) + b"\n"
            for name, m in rows
        )
        return
    lines = [f"{name:<12} {module.PROFILE:<17} {module.DESCRIPTION}" for name, module in rows]
    write_standard([("\n".join(lines) + "\n").encode()])
