"""``messages``: a plain Anthropic message list, one ``{"role", "content"}`` a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl.formats import anthropic_parts, base, openai_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.model import Block, Role
    from compactctl.view.builder import Assembler


class Record(base.Record):
    """One line."""

    role: Any = None
    content: anthropic_parts.Content = None


class Messages(base.Format):
    """A line is a message."""

    name = "messages"
    description = "Anthropic message list, one message a line"
    profile = "anthropic"
    record = Record
    bare = True
    line_is_message = True

    def recognises(self, record: dict[str, Any]) -> bool:
        """Recognise a role and a content without a part that only another API has."""
        return (
            record.get("role") in ("user", "assistant", "system")
            and "content" in record
            and "message" not in record
            and "tool_calls" not in record
            and not openai_parts.holds(record["content"], openai_parts.CHAT)
        )

    def read(self, records: Iterable[tuple[int, Record]], builder: Assembler) -> None:
        """Take each line as the message that it is."""
        for index, record in records:
            if record.role == "user":
                builder.user(anthropic_parts.blocks(record.content, index, builder.whole))
            elif record.role == "assistant":
                builder.assistant(anthropic_parts.blocks(record.content, index, builder.whole))
            elif record.role == "system":
                builder.system(anthropic_parts.blocks(record.content, index, builder.whole))

    def parts(self, record: dict[str, Any]) -> list[Any]:
        """Return the parts of the content."""
        return anthropic_parts.parts(record.get("content"))

    def replace_parts(self, record: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
        """Replace the content."""
        return record | {"content": anthropic_parts.content(parts)}

    def edit(self, part: Any, block: Block) -> Any:
        """Edit a content block."""
        return anthropic_parts.edit(part, block)

    def make(self, block: Block) -> dict[str, Any]:
        """Make a content block."""
        return anthropic_parts.make(block)

    def create(
        self, role: Role, blocks: list[Block], _like: dict[str, Any], _link: base.Link
    ) -> list[dict[str, Any]]:
        """Write one line."""
        return [{"role": role, "content": anthropic_parts.made(blocks)}]


FORMAT = Messages()
