"""``restore``: give back the original of a compacted transcript."""

from __future__ import annotations

from typing import Annotated

import typer

from compactctl.cli.options import InPlaceOption, OutputOption, QuietOption
from compactctl.console import DRY_RUN, say
from compactctl.errors import InputError, InvalidTranscriptError, UsageError
from compactctl.files.output import output_path, write_output
from compactctl.files.reading import STANDARD, read_lines

_POINTER = "artifact:"
EXAMPLE = "compactctl restore small/session.jsonl --archive originals -o session.jsonl"


def restore(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The compacted transcript, or an artifact: pointer."),
    ],
    archive_folder: Annotated[
        str,
        typer.Option("--archive", metavar="DIR", help="Where --archive kept originals."),
    ],
    output: OutputOption = None,
    in_place: InPlaceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Give back what FILE was compacted from, byte for byte; exit 1 if that is not to be had."""
    if file.startswith(_POINTER):
        if in_place:
            raise UsageError("--in-place needs a file, not a pointer; write with -o")
        _write_artifact(file, archive_folder, output, quiet=quiet)
        return
    from compactctl.bulk.archive import Archive  # noqa: PLC0415 (help and other commands do without)

    if not in_place:
        output_path(output, file, in_place=False)  # refused before any work is done
    raw = _read(file)
    original = Archive(archive_folder).original(file, raw)
    done = write_output([original], output, file, in_place=in_place, original=[raw], exact=True)
    _report(original, done=done, quiet=quiet)


restore.__doc__ = f"{restore.__doc__}\n\nExample:\n\n    {EXAMPLE}"


def _write_artifact(pointer: str, folder: str, output: str | None, *, quiet: bool) -> None:
    """Write the whole transcript that a placeholder of ``prune --archive`` points to."""
    from compactctl.durable.resolver import SourcePointerResolver  # noqa: PLC0415 (only here)

    output_path(output, "", in_place=False)
    found, content = SourcePointerResolver(artifact_root=folder).read(pointer)
    if content is None:
        raise InvalidTranscriptError(f"the artifact is {found.status} ({found.reason})")
    done = write_output([content], output, "", in_place=False, exact=True)
    _report(content, done=done, quiet=quiet)


def _report(content: bytes, *, done: bool, quiet: bool) -> None:
    if not quiet:
        say(f"restore: {len(content):,} bytes, verified by their SHA-256")
        if not done:
            say(DRY_RUN)


def _read(file: str) -> bytes:
    if file == STANDARD:
        return b"".join(read_lines(file))
    from compactctl.bulk.storage import ChangedError, storage_of  # noqa: PLC0415 (the same)

    try:
        return storage_of(file).read(file).raw
    except InputError as error:
        error.file = file
        raise
    except ChangedError:
        raise InputError("something is writing to it; try again", file=file) from None
