"""``pi``: a session of pi."""

from compactctl.formats.pi.session import FORMAT

__all__ = ["FORMAT"]
