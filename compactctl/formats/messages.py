"""``messages``: a plain Anthropic message list, one ``{"role", "content"}`` a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.formats.anthropic_content import (
    Content,
    blocks,
    content,
    edit,
    make,
    parts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.model import Block, Role
    from compactctl.view.builder import Assembler

__all__ = ["create", "edit", "make", "parts_of", "recognise", "view", "with_parts"]

DESCRIPTION = "Anthropic message list, one message a line"
SIGNED = True
PROFILE = "anthropic"
ONE_LINE_A_MESSAGE = True
LINK = None


class Record(msgspec.Struct, gc=False):
    """One line."""

    type: Any = None
    role: Any = None
    content: Content = None


def recognise(record: dict[str, Any]) -> bool:
    """Tell by the two members that every message has, and no envelope around them."""
    return (
        record.get("role") in ("user", "assistant", "system")
        and "content" in record
        and "message" not in record
        and "schema_version" not in record
        and "tool_calls" not in record
    )


def view(records: Iterable[tuple[int, Record]], build: Assembler) -> None:
    """Take each line as the message that it is."""
    for index, record in records:
        if record.role == "user":
            build.user(blocks(record.content, index))
        elif record.role == "assistant":
            build.assistant(blocks(record.content, index))
        elif record.role == "system":
            build.system(blocks(record.content, index))


def parts_of(record: dict[str, Any]) -> list[Any]:
    """Give the parts of a parsed line, in the order that ``Block.at`` counts."""
    return parts(record.get("content"))


def with_parts(record: dict[str, Any], edited: list[Any]) -> dict[str, Any]:
    """Give the line with other parts."""
    return record | {"content": content(edited)}


def create(
    role: Role, made: list[Block], _like: dict[str, Any], _own: str, _parent: str | None
) -> dict[str, Any]:
    """Write a new line."""
    pieces = [block.text if block.kind == "text" else make(block) for block in made]
    return {"role": role, "content": content(pieces)}
