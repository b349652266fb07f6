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
    rows = [known.load(name) for name in known.names()]
    if json:
        write_standard(
            exact.dump({"name": f.name, "profile": f.profile, "description": f.description}) + b"\n"
            for f in rows
        )
        return
    lines = [f"{form.name:<12} {form.profile:<17} {form.description}" for form in rows]
    write_standard([("\n".join(lines) + "\n").encode()])
