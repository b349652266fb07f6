"""Resolve source pointers: look at the sources themselves, inside trusted roots, when asked.

In this order: parse, authorise, locate inside the root, exists, content. The roots come from the
user, the pointers from anywhere; no result holds a path.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from compactctl.durable.manifest import Manifest
from compactctl.durable.policy import Authorize
from compactctl.durable.reasons import STATUS_OF, reason_unopened
from compactctl.durable.records import DurableContextState, SourceResolution, source_pointers
from compactctl.durable.roots import Root, root_of
from compactctl.durable.verify import WHOLE, Verification, verify_artifact, verify_events
from compactctl.files.beneath import NotOpenedError
from compactctl.pointers import (
    ArtifactPointer,
    PointerError,
    SourcePointer,
    TranscriptPointer,
    parse_source_pointer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet
    from typing import BinaryIO

Place = str | os.PathLike[str] | Root | None
Found = tuple[SourceResolution, bytes | None]
"""The state of a source, and as much of its verified bytes as was asked for."""


class SourcePointerResolver(msgspec.Struct, frozen=True):
    """Resolves pointers below two roots that the user trusts.

    Records lie in ``<transcript_root>/<session>.jsonl``, artifacts in
    ``<artifact_root>/<session>/tool-results/<filename>``. A root is a folder, the URL of a prefix
    in an object store, or anything with its :class:`~compactctl.durable.roots.Root` methods.
    Without a root its sources are missing; without ``authorize`` every session may be read; with a
    ``manifest`` only the artifacts in it. ``observe`` is told of every resolution.
    """

    transcript_root: Place = None
    artifact_root: Place = None
    authorize: Authorize | None = None
    manifest: Manifest | None = None
    observe: Callable[[SourceResolution], None] | None = None

    def resolve(self, pointer_text: str) -> SourceResolution:
        """Return the state of one source: whatever is wrong with it is a state, not an error."""
        return self.resolve_many((pointer_text,))[0]

    def resolve_many(self, pointer_texts: Iterable[str]) -> tuple[SourceResolution, ...]:
        """Resolve each pointer as :meth:`resolve` does, but read each transcript only once."""
        return tuple(resolution for resolution, _ in self.read_many(pointer_texts, 0))

    def read(self, pointer_text: str, limit: int = WHOLE) -> Found:
        """Resolve one source as :meth:`resolve` does, and return its verified bytes with it.

        The whole source is verified, and its first ``limit`` bytes are returned.
        """
        return self.read_many((pointer_text,), limit)[0]

    def read_many(self, pointer_texts: Iterable[str], limit: int) -> list[Found]:
        """Resolve each pointer as :meth:`read` does, but read each transcript only once."""
        parsed = [(text, _parse(text)) for text in pointer_texts]
        admitted = [pointer for _, pointer in parsed if not isinstance(pointer, PointerError)]
        verified = self._verify(dict.fromkeys(admitted), limit)
        found = [
            (SourceResolution(text, pointer.status, pointer.reason, None), None)
            if isinstance(pointer, PointerError)
            else _found(text, pointer, verified[pointer])
            for text, pointer in parsed
        ]
        if self.observe is not None:
            for resolution, _ in found:
                self.observe(resolution)
        return found

    def has_root(self, pointer: SourcePointer) -> bool:
        """Return True if there is a place where this source would be."""
        is_artifact = isinstance(pointer, ArtifactPointer)
        return (self.artifact_root if is_artifact else self.transcript_root) is not None

    def _verify(
        self, pointers: Iterable[SourcePointer], keep: int
    ) -> dict[SourcePointer, Verification]:
        """Ask the policy about each pointer before anything of its source is looked at."""
        found: dict[SourcePointer, Verification] = {}
        events: dict[str, set[int]] = {}
        for pointer in pointers:
            if not self._allows(pointer):
                found[pointer] = Verification("policy_denied")
            elif isinstance(pointer, ArtifactPointer):
                found[pointer] = self._artifact(pointer, keep)
            else:
                events.setdefault(pointer.session, set()).add(pointer.sequence)
        for session, sequences in events.items():
            for sequence, verification in self._events(session, sequences, keep).items():
                found[TranscriptPointer(session, sequence)] = verification
        return found

    def _allows(self, pointer: SourcePointer) -> bool:
        try:
            return self.authorize is None or bool(self.authorize(pointer))
        except PermissionError:
            return False

    def _artifact(self, pointer: ArtifactPointer, keep: int) -> Verification:
        digest: str | None = pointer.digest
        if self.manifest is not None:
            digest = self.manifest.sha256_of(pointer)
        if digest is None:
            return Verification("manifest_denied")
        parts = (pointer.session, "tool-results", pointer.filename)
        try:
            with _open(self.artifact_root, parts) as file:
                return verify_artifact(file, digest, keep=keep)
        except NotOpenedError as error:
            return Verification(reason_unopened(error.why, "artifact"))

    def _events(
        self, session: str, sequences: AbstractSet[int], keep: int
    ) -> dict[int, Verification]:
        try:
            with _open(self.transcript_root, (f"{session}.jsonl",)) as file:
                return verify_events(file, session, sequences, keep=keep)
        except NotOpenedError as error:
            reason = reason_unopened(error.why, "transcript")
            return dict.fromkeys(sequences, Verification(reason))


def resolve_durable_sources(
    state: DurableContextState, resolver: SourcePointerResolver
) -> tuple[SourceResolution, ...]:
    """Resolve each distinct pointer of facts and pending items once, in first-seen order.

    Retrieval evidence names its sources otherwise and is not resolved.
    """
    return resolver.resolve_many(source_pointers(state))


def _open(place: Place, parts: Sequence[str]) -> BinaryIO:
    if place is None:
        raise NotOpenedError("missing")
    return root_of(place).open(parts)


def _parse(text: str) -> SourcePointer | PointerError:
    try:
        return parse_source_pointer(text)
    except PointerError as error:
        return error


def _found(text: str, pointer: SourcePointer, verification: Verification) -> Found:
    kind = pointer.source_type
    status = STATUS_OF[kind][verification.reason]
    resolution = SourceResolution(text, status, verification.reason, kind, verification.sha256)
    return resolution, verification.content
