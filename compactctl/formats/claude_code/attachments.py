"""What Claude Code puts into the conversation by itself: files, reminders, lists of tools.

A line of type ``attachment`` holds what it is about; newer versions write beside it, as
``rendered``, the very messages that are sent for it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from compactctl.formats import sent
from compactctl.formats.anthropic_parts import Content
from compactctl.formats.base import string
from compactctl.jsonl import DECODE_ERRORS
from compactctl.model import Block

TYPE = "attachment"

_SENT = frozenset(
    "todo_reminder task_reminder queued_command file compact_file_reference directory "
    "edited_text_file nested_memory diagnostics selected_lines_in_ide opened_file_in_ide "
    "invoked_skills skill_listing plan_mode plan_mode_reentry plan_mode_exit auto_mode "
    "auto_mode_exit mcp_resource task_status date_change critical_system_reminder output_style "
    "async_hook_response token_usage budget_usd hook_blocking_error hook_additional_context "
    "hook_stopped_continuation deferred_tools_delta agent_listing_delta "
    "mcp_instructions_delta".split()
)
"""Attachments that the agent sends, as a message of the user."""


class Attachment(msgspec.Struct, gc=False, rename="camel"):
    """What the agent adds to the conversation by itself, or what was typed while it worked."""

    type: Any = None
    prompt: Content = None
    command_mode: Any = None

    def asked(self) -> Content:
        """Return what the user asked in the middle of a turn, None for any other attachment."""
        is_asked = self.type == "queued_command" and self.command_mode in (None, "prompt")
        return self.prompt if is_asked else None

    def is_sent(self) -> bool:
        """Return True if the agent sends it, so that it parts what stands around it."""
        return self.type in _SENT


_decode = msgspec.json.Decoder(Attachment).decode


def read(raw: msgspec.Raw) -> Attachment:
    """Read an attachment, an empty one if it has another form."""
    try:
        return _decode(raw)
    except DECODE_ERRORS:
        return Attachment()


def block(record: Any, entry: int) -> Block:
    """Return what the agent sends for an attachment."""
    name = _holder(record)
    held = record.get(TYPE)
    kind = string(held.get("type")) if isinstance(held, dict) else ""
    found = sent.unfold({"type": kind, name: record.get(name)}, entry, 0, cuts=True, meta=True)
    text = found.text if name == TYPE else ""  # what is rendered is all in its pieces
    return msgspec.structs.replace(found, kind="document", text=text)


def edit(record: dict[str, Any], new: Block) -> dict[str, Any]:
    """Return the line of an attachment with other texts in what is sent."""
    name = _holder(record)
    return record | {name: sent.refold({name: record[name]}, new)[name]}


def _holder(record: Any) -> str:
    return "rendered" if isinstance(record.get("rendered"), list) else TYPE
