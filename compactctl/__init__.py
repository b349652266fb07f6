"""Make LLM-agent transcripts small without breaking them."""

from compactctl._version import __version__

__all__ = ["__version__"]
