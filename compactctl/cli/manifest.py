"""``manifest``: sign the artifacts of a folder."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from compactctl.cli.command import Command
from compactctl.cli.options import OutputOption, QuietOption
from compactctl.cli.sources import read_key
from compactctl.console import say
from compactctl.durable.manifest import Signed, write_manifest
from compactctl.errors import InputError, UsageError
from compactctl.files.beneath import NotOpenedError, open_beneath
from compactctl.files.folders import entries_of
from compactctl.files.output import output_path, write_output
from compactctl.files.reading import STANDARD
from compactctl.pointers import is_name
from compactctl.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

_RESULTS = "tool-results"
_CHUNK = 64 * 1024


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """List the artifacts of a folder, signed with a key, for --manifest of other commands."""

    artifacts: Annotated[
        str, typer.Argument(metavar="DIR", help="Where SESSION/tool-results/FILE files lie.")
    ]
    key: Annotated[
        str, typer.Option(metavar="FILE", help="The key to sign with, of at least 16 bytes.")
    ]
    output: OutputOption = None
    quiet: QuietOption = False


def run(options: Options) -> int:
    """Write the manifest."""
    if not os.path.isdir(options.artifacts):  # noqa: PTH112 (no need of pathlib)
        raise UsageError("DIR is not a folder")
    output_path(options.output, "", in_place=False)
    key = read_key(options.key)
    signed = [
        Signed(session, name, _sha256(options.artifacts, session, name))
        for session, name in _artifacts(options.artifacts)
    ]
    chunks = [write_manifest(signed, key)]
    write_output(chunks, options.output or STANDARD, "", in_place=False)
    if not options.quiet:
        say(f"manifest: {plural(len(signed), 'artifact')}")
    return 0


COMMAND = Command(Options, run, "compactctl manifest artifacts --key key -o artifacts.manifest")


def _artifacts(root: str) -> Iterator[tuple[str, str]]:
    """Yield (session, name) of all that a pointer can name, in the order of the names."""
    for session in entries_of(root):
        folder = os.path.join(session.path, _RESULTS)  # noqa: PTH118 (a name)
        if is_name(session.name) and os.path.isdir(folder):  # noqa: PTH112 (the same)
            for entry in entries_of(folder):
                if is_name(entry.name) and entry.is_file(follow_symlinks=False):
                    yield session.name, entry.name


def _sha256(root: str, session: str, name: str) -> str:
    digest = hashlib.sha256()
    try:
        with open_beneath(root, (session, _RESULTS, name)) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except NotOpenedError as error:
        raise InputError(f"artifact {session}/{name} cannot be read: {error.why}") from None
    return digest.hexdigest()
