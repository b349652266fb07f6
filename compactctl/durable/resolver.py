"""Resolve source pointers: look at the sources themselves, inside trusted roots, when asked.

In this order: parse, authorise, locate inside the root, exists, content. The roots come from the
user, the pointers from anywhere; no result holds a path.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from compactctl.durable.policy import Authorize
from compactctl.durable.reasons import STATUS_OF, reason_unopened
from compactctl.durable.records import DurableContextState, SourceResolution, source_pointers
from compactctl.durable.verify import Verification, verify_artifact, verify_events
from compactctl.files.beneath import NotOpenedError, open_beneath
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

Root = str | os.PathLike[str] | None


class SourcePointerResolver(msgspec.Struct, frozen=True):
    """Resolves pointers below two roots that the user trusts.

    Records lie in ``<transcript_root>/<session>.jsonl``, artifacts in
    ``<artifact_root>/<session>/tool-results/<filename>``. Without a root its sources are
    missing; without ``authorize`` every session may be read.
    """

    transcript_root: Root = None
    artifact_root: Root = None
    authorize: Authorize | None = None

    def resolve(self, pointer_text: str) -> SourceResolution:
        """Return the state of one source: whatever is wrong with it is a state, not an error."""
        return self.resolve_many((pointer_text,))[0]

    def resolve_many(self, pointer_texts: Iterable[str]) -> tuple[SourceResolution, ...]:
        """Resolve each pointer as :meth:`resolve` does, but read each transcript only once."""
        parsed = [(text, _parse(text)) for text in pointer_texts]
        admitted = [pointer for _, pointer in parsed if not isinstance(pointer, PointerError)]
        found = self._verify(dict.fromkeys(admitted))
        return tuple(
            SourceResolution(text, pointer.status, pointer.reason, None)
            if isinstance(pointer, PointerError)
            else _resolution(text, pointer, found[pointer])
            for text, pointer in parsed
        )

    def read(self, pointer_text: str) -> tuple[SourceResolution, bytes | None]:
        """Resolve one source as :meth:`resolve` does, and return its verified bytes with it."""
        pointer = _parse(pointer_text)
        if isinstance(pointer, PointerError):
            return SourceResolution(pointer_text, pointer.status, pointer.reason, None), None
        if not self._allows(pointer):
            verification = Verification("policy_denied")
        elif isinstance(pointer, ArtifactPointer):
            verification = self._artifact(pointer, keep=True)
        else:
            found = self._events(pointer.session, {pointer.sequence}, keep=True)
            verification = found[pointer.sequence]
        return _resolution(pointer_text, pointer, verification), verification.content

    def has_root(self, pointer: SourcePointer) -> bool:
        """Return True if there is a place where this source would be."""
        is_artifact = isinstance(pointer, ArtifactPointer)
        return (self.artifact_root if is_artifact else self.transcript_root) is not None

    def _verify(self, pointers: Iterable[SourcePointer]) -> dict[SourcePointer, Verification]:
        """Ask the policy about each pointer before anything of its source is looked at."""
        found: dict[SourcePointer, Verification] = {}
        events: dict[str, set[int]] = {}
        for pointer in pointers:
            if not self._allows(pointer):
                found[pointer] = Verification("policy_denied")
            elif isinstance(pointer, ArtifactPointer):
                found[pointer] = self._artifact(pointer)
            else:
                events.setdefault(pointer.session, set()).add(pointer.sequence)
        for session, sequences in events.items():
            for sequence, verification in self._events(session, sequences).items():
                found[TranscriptPointer(session, sequence)] = verification
        return found

    def _allows(self, pointer: SourcePointer) -> bool:
        try:
            return self.authorize is None or bool(self.authorize(pointer))
        except PermissionError:
            return False

    def _artifact(self, pointer: ArtifactPointer, *, keep: bool = False) -> Verification:
        parts = (pointer.session, "tool-results", pointer.filename)
        try:
            with _open(self.artifact_root, parts) as file:
                return verify_artifact(file, pointer.digest, keep=keep)
        except NotOpenedError as error:
            return Verification(reason_unopened(error.why, "artifact"))

    def _events(
        self, session: str, sequences: AbstractSet[int], *, keep: bool = False
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


def _open(root: Root, parts: Sequence[str]) -> BinaryIO:
    if root is None:
        raise NotOpenedError("missing")
    return open_beneath(root, parts)


def _parse(text: str) -> SourcePointer | PointerError:
    try:
        return parse_source_pointer(text)
    except PointerError as error:
        return error


def _resolution(text: str, pointer: SourcePointer, verification: Verification) -> SourceResolution:
    kind = pointer.source_type
    status = STATUS_OF[kind][verification.reason]
    return SourceResolution(text, status, verification.reason, kind, verification.sha256)
