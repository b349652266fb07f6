"""``codex``: a rollout of the Codex CLI."""

from compactctl.formats.codex.rollout import FORMAT

__all__ = ["FORMAT"]
