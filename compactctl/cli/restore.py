"""``restore``: give back the original of a compacted transcript."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from compactctl.cli.command import Command
from compactctl.cli.options import InPlaceOption, OutputOption, QuietOption
from compactctl.console import DRY_RUN, say
from compactctl.errors import InputError, InvalidTranscriptError, UsageError
from compactctl.files.output import output_path, write_output
from compactctl.files.reading import STANDARD, read_lines

_POINTER = "artifact:"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Return back what FILE was compacted from, byte for byte; exit 1 if unavailable."""

    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The compacted transcript, or an artifact: pointer."),
    ]
    archive: Annotated[
        str,
        typer.Option(metavar="DIR", help="Where --archive kept originals."),
    ]
    output: OutputOption = None
    in_place: InPlaceOption = False
    quiet: QuietOption = False


def run(options: Options) -> int:
    """Write the original, or the artifact, where it is wanted."""
    if options.file.startswith(_POINTER):
        if options.in_place:
            raise UsageError("--in-place needs a file, not a pointer; write with -o")
        _write_artifact(options)
    else:
        _write_original(options)
    return 0


COMMAND = Command(
    Options,
    run,
    "compactctl restore small/session.jsonl --archive originals -o session.jsonl",
)


def _write_original(options: Options) -> None:
    from compactctl.bulk.archive import Archive  # noqa: PLC0415 (help and other commands do without)

    file, output, in_place = options.file, options.output, options.in_place
    if not in_place:
        output_path(output, file, in_place=False)  # refused before any work is done
    raw = _read(file)
    original = Archive(options.archive).original(file, raw)
    done = write_output([original], output, file, in_place=in_place, original=[raw], exact=True)
    _report(original, done=done, quiet=options.quiet)


def _write_artifact(options: Options) -> None:
    """Write the whole transcript that a placeholder of ``prune --archive`` points to."""
    from compactctl.durable.resolver import SourcePointerResolver  # noqa: PLC0415 (only here)

    output_path(options.output, "", in_place=False)
    found, content = SourcePointerResolver(artifact_root=options.archive).read(options.file)
    if content is None:
        raise InvalidTranscriptError(f"the artifact is {found.status} ({found.reason})")
    done = write_output([content], options.output, "", in_place=False, exact=True)
    _report(content, done=done, quiet=options.quiet)


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
