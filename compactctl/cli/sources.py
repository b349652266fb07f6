"""Options of commands that look at the sources of durable records."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from compactctl import report
from compactctl.cli.options import ArtifactRootOption, PolicyOption, TranscriptsOption
from compactctl.durable.manifest import read_manifest
from compactctl.durable.policy import load_policy
from compactctl.durable.resolver import SourcePointerResolver
from compactctl.durable.roots import root_of
from compactctl.errors import InputError, UsageError
from compactctl.files.output import check_report
from compactctl.files.pipes import open_to_read
from compactctl.files.reading import read_lines

if TYPE_CHECKING:
    from compactctl.durable.manifest import Manifest
    from compactctl.durable.records import SourceResolution

KeyOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="The key that the manifest is signed with.")
]


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where sources are, and who may read them."""

    transcripts: TranscriptsOption = None
    artifacts: ArtifactRootOption = None
    policy: PolicyOption = None
    manifest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Deny artifacts that are not in this signed list; needs --key."
        ),
    ] = None
    key: KeyOption = None
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Append a line for each source that is looked at: pointer, state, reason, time.",
        ),
    ] = None

    def resolver(self, file: str = "", output: str | None = None) -> SourcePointerResolver:
        """Return what looks at the sources; the trace is neither ``file`` nor ``output``.

        Raises:
            UsageError: an option names what is not there, or what is read or written already.
            InputError: the manifest is not valid.

        """
        for option, place in (("--transcripts", self.transcripts), ("--artifacts", self.artifacts)):
            if place is not None and not root_of(place).exists():
                raise UsageError(f"{option} is not a folder")  # whose path is never repeated
        if self.trace:
            check_report(self.trace, file, output, "--trace")
        policy = load_policy(self.policy) if self.policy else None
        observe = self._observe if self.trace else None
        return SourcePointerResolver(
            self.transcripts, self.artifacts, policy, self._manifest(), observe
        )

    def _manifest(self) -> Manifest | None:
        if self.manifest is None and self.key is None:
            return None
        if self.manifest is None or self.key is None:
            raise UsageError("--manifest and --key belong together: give both")
        return read_manifest(read_lines(self.manifest), read_key(self.key), self.manifest)

    def _observe(self, resolution: SourceResolution) -> None:
        assert self.trace is not None  # else nobody calls
        is_pointer = resolution.source_type is not None  # else it may be any text
        entry = {
            "pointer": resolution.source_pointer if is_pointer else None,
            "decision": resolution.status,
            "reason": resolution.reason,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
        report.append(self.trace, entry)


def read_key(path: str) -> bytes:
    """Read a key; a line end behind it is not part of it.

    Raises:
        InputError: the file cannot be read.

    """
    try:
        with open_to_read(path) as file:
            return file.read().rstrip(b"\r\n")
    except OSError as error:
        raise InputError(f"the key cannot be read: {error.strerror}", file=path) from None
