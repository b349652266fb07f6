"""``show``: print what a source pointer names, once it is verified."""

from __future__ import annotations

from typing import Annotated

import typer

from compactctl.cli.options import ArtifactRootOption, OutputOption, PolicyOption, TranscriptsOption
from compactctl.console import say
from compactctl.durable.policy import load_policy
from compactctl.durable.resolver import SourcePointerResolver
from compactctl.files.output import is_terminal, output_path, write_output, write_standard


def show(
    pointer: Annotated[
        str,
        typer.Argument(
            metavar="POINTER", help="transcript:SESSION:N or artifact:SESSION:FILE:SHA256."
        ),
    ],
    transcripts: TranscriptsOption = None,
    artifacts: ArtifactRootOption = None,
    policy: PolicyOption = None,
    output: OutputOption = None,
) -> None:
    """Print the verified bytes behind a pointer; exit 1, with the state, if they are not to be had.

    Example:

        compactctl show transcript:shop-0217:4 --transcripts sessions

    """
    output_path(output, "", in_place=False)
    resolver = SourcePointerResolver(
        transcripts, artifacts, load_policy(policy) if policy else None
    )
    found, content = resolver.read(pointer)
    if content is None:
        said = pointer if found.source_type else "the pointer"  # what is none may be any text
        say(f"compactctl: {said} is {found.status} ({found.reason})")
        raise typer.Exit(1)
    if output is None:  # a terminal, too: it was asked for
        write_standard([content, b"" if content.endswith(b"\n") else _end()])
    else:
        write_output([content], output, "", in_place=False, exact=True)


def _end() -> bytes:
    """End the last line for a terminal; elsewhere the bytes are what they are."""
    return b"\n" if is_terminal() else b""
