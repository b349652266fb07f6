"""Options of commands that look at the sources of durable records."""

from __future__ import annotations

import os

import msgspec

from compactctl.cli.options import ArtifactRootOption, PolicyOption, TranscriptsOption
from compactctl.durable.policy import load_policy
from compactctl.durable.resolver import SourcePointerResolver
from compactctl.errors import UsageError


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where sources are, and who may read them."""

    transcripts: TranscriptsOption = None
    artifacts: ArtifactRootOption = None
    policy: PolicyOption = None

    def resolver(self) -> SourcePointerResolver:
        """Return what looks at the sources.

        Raises:
            UsageError: an option names what is not there.

        """
        for option, root in (("--transcripts", self.transcripts), ("--artifacts", self.artifacts)):
            if root is not None and not os.path.isdir(root):  # noqa: PTH112 (no need of pathlib)
                raise UsageError(f"{option} is not a folder")  # whose path is never repeated
        policy = load_policy(self.policy) if self.policy else None
        return SourcePointerResolver(self.transcripts, self.artifacts, policy)
