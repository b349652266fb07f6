"""``claude-code``: a session of Claude Code."""

from compactctl.formats.claude_code.session import FORMAT

__all__ = ["FORMAT"]
