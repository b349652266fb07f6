"""``show``: print what a source pointer names, once it is verified."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from compactctl.cli.command import Command
from compactctl.cli.options import OutputOption
from compactctl.cli.sources import Sources
from compactctl.console import say
from compactctl.files.output import is_terminal, output_path, write_output, write_standard


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Print the verified bytes behind a pointer; exit 1, with the state, if unavailable."""

    pointer: Annotated[
        str,
        typer.Argument(
            metavar="POINTER", help="transcript:SESSION:N or artifact:SESSION:FILE:SHA256."
        ),
    ]
    sources: Sources
    output: OutputOption = None


def run(options: Options) -> int:
    """Write what the pointer names."""
    pointer, output = options.pointer, options.output
    output_path(output, "", in_place=False)
    found, content = options.sources.resolver().read(pointer)
    if content is None:
        said = pointer if found.source_type else "the pointer"  # what is none may be any text
        say(f"compactctl: {said} is {found.status} ({found.reason})")
        return 1
    if output is None:  # a terminal, too: it was asked for
        write_standard([content, b"" if content.endswith(b"\n") else _end()])
    else:
        write_output([content], output, "", in_place=False, exact=True)
    return 0


COMMAND = Command(Options, run, "compactctl show transcript:shop-0217:4 --transcripts sessions")


def _end() -> bytes:
    """End the last line for a terminal; elsewhere the bytes are what they are."""
    return b"\n" if is_terminal() else b""
