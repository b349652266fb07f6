"""``show``: print what a source pointer names, once it is verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from compactctl.cli.command import Command
from compactctl.cli.options import OutputOption
from compactctl.cli.sources import Sources
from compactctl.console import say
from compactctl.durable.verify import enough_for, excerpt
from compactctl.files.output import is_terminal, output_path, write_output, write_standard
from compactctl.text import escape_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Print the verified bytes behind a pointer; exit 1, with the state, if unavailable."""

    pointer: Annotated[
        str,
        typer.Argument(
            metavar="POINTER", help="transcript:SESSION:N or artifact:SESSION:FILE:SHA256."
        ),
    ]
    sources: Sources
    excerpt: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N characters.")
    ] = None
    output: OutputOption = None


def run(options: Options) -> int:
    """Write what the pointer names."""
    pointer, output = options.pointer, options.output
    output_path(output, "", in_place=False)
    resolver = options.sources.resolver("", output)
    if options.excerpt is None:
        found, content = resolver.read(pointer)
    else:
        found, content = resolver.read(pointer, enough_for(options.excerpt))
        content = content and excerpt(content, options.excerpt).encode()
    if content is None:
        said = pointer if found.source_type else "the pointer"  # what is none may be any text
        say(f"compactctl: {said} is {found.status} ({found.reason})")
        return 1
    if output is not None:
        write_output([content], output, "", in_place=False, exact=True)
    elif is_terminal():  # it was asked for; nothing in it steers the terminal
        write_standard(f"{line}\n".encode() for line in _printable(content))
    else:
        write_standard([content])
    return 0


COMMAND = Command(Options, run, "compactctl show transcript:shop-0217:4 --transcripts sessions")


def _printable(content: bytes) -> Iterator[str]:
    """Yield the lines of what is verified, and so UTF-8, fit for a terminal."""
    for line in content.decode().removesuffix("\n").split("\n"):
        yield "\t".join(map(escape_terminal, line.split("\t")))
