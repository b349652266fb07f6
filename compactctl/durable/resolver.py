"""Resolve source pointers: look at the sources themselves, inside trusted roots, when asked.

Order (CONTRACT §6): parse, authorise, locate inside the root, exists, content. The roots come
from the user, the pointers from anywhere; no result holds a path.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from compactctl.durable.pointers import (
    ArtifactPointer,
    PointerError,
    SourcePointer,
    TranscriptPointer,
    parse_source_pointer,
)
from compactctl.durable.policy import Authorize, load_policy
from compactctl.durable.reasons import STATUS_OF, RefusedError
from compactctl.durable.records import DurableContextState, SourceResolution, source_pointers
from compactctl.durable.verify import Outcome, verify_artifact, verify_events
from compactctl.files.beneath import open_beneath

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

__all__ = ["Authorize", "SourcePointerResolver", "load_policy", "resolve_durable_sources"]

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
        """Give the state of one source: whatever is wrong with it is a state, not an error."""
        return self.resolve_many((pointer_text,))[0]

    def resolve_many(self, pointer_texts: Iterable[str]) -> tuple[SourceResolution, ...]:
        """Resolve each pointer as :meth:`resolve` does, but read each transcript only once."""
        parsed = [(text, _parse(text)) for text in pointer_texts]
        admitted = [pointer for _, pointer in parsed if not isinstance(pointer, PointerError)]
        outcomes = self._outcomes(dict.fromkeys(admitted))
        return tuple(
            SourceResolution(text, pointer.status, pointer.reason, None)
            if isinstance(pointer, PointerError)
            else _resolution(text, pointer, outcomes[pointer])
            for text, pointer in parsed
        )

    def read(self, pointer_text: str) -> tuple[SourceResolution, bytes | None]:
        """Resolve one source as :meth:`resolve` does, and give its verified bytes with it."""
        pointer = _parse(pointer_text)
        if isinstance(pointer, PointerError):
            return SourceResolution(pointer_text, pointer.status, pointer.reason, None), None
        if not self._allows(pointer):
            outcome = Outcome("policy_denied")
        elif isinstance(pointer, ArtifactPointer):
            outcome = self._artifact(pointer, keep=True)
        else:
            found = self._events(pointer.session, {pointer.sequence}, keep=True)
            outcome = found[pointer.sequence]
        return _resolution(pointer_text, pointer, outcome), outcome.content

    def _outcomes(self, pointers: Iterable[SourcePointer]) -> dict[SourcePointer, Outcome]:
        """Ask the policy about each pointer before anything of its source is looked at."""
        outcomes: dict[SourcePointer, Outcome] = {}
        events: dict[str, set[int]] = {}
        for pointer in pointers:
            if not self._allows(pointer):
                outcomes[pointer] = Outcome("policy_denied")
            elif isinstance(pointer, ArtifactPointer):
                outcomes[pointer] = self._artifact(pointer)
            else:
                events.setdefault(pointer.session, set()).add(pointer.sequence)
        for session, sequences in events.items():
            for sequence, outcome in self._events(session, sequences).items():
                outcomes[TranscriptPointer(session, sequence)] = outcome
        return outcomes

    def _allows(self, pointer: SourcePointer) -> bool:
        try:
            return self.authorize is None or bool(self.authorize(pointer))
        except PermissionError:
            return False

    def _artifact(self, pointer: ArtifactPointer, *, keep: bool = False) -> Outcome:
        parts = (pointer.session, "tool-results", pointer.filename)
        try:
            with open_beneath(self.artifact_root, parts, "artifact") as file:
                return verify_artifact(file, pointer.digest, keep=keep)
        except RefusedError as refusal:
            return Outcome(refusal.reason)

    def _events(
        self, session: str, sequences: AbstractSet[int], *, keep: bool = False
    ) -> dict[int, Outcome]:
        try:
            with open_beneath(self.transcript_root, (f"{session}.jsonl",), "transcript") as file:
                return verify_events(file, session, sequences, keep=keep)
        except RefusedError as refusal:
            return dict.fromkeys(sequences, Outcome(refusal.reason))


def resolve_durable_sources(
    state: DurableContextState, resolver: SourcePointerResolver
) -> tuple[SourceResolution, ...]:
    """Resolve each distinct pointer of facts and pending items once, in first-seen order.

    Retrieval evidence names its sources otherwise and is not resolved.
    """
    return resolver.resolve_many(source_pointers(state))


def _parse(text: str) -> SourcePointer | PointerError:
    try:
        return parse_source_pointer(text)
    except PointerError as error:
        return error


def _resolution(text: str, pointer: SourcePointer, outcome: Outcome) -> SourceResolution:
    kind = pointer.source_type
    status = STATUS_OF[kind][outcome.reason]
    return SourceResolution(text, status, outcome.reason, kind, outcome.sha256)
