"""JSON lines as they are found."""

import msgspec

DECODE_ERRORS = (msgspec.MsgspecError, RecursionError, UnicodeError)
"""What msgspec raises for a text that is not JSON, not of the type, too deep, or not UTF-8."""
