"""The version, alone in its file so that printing it imports nothing."""

__version__ = "0.1.0"
