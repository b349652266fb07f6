"""A rollout of the Codex CLI, one item of the Responses API a line.

The view is rebuilt as Codex does on resume: items in order; a ``compacted`` line puts its
replacement history in place of everything before it; events, metadata and snapshots stay outside.
Lines of old versions are bare items without an envelope. The parts of a ``compacted`` line are
those of all the items that it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from compactctl.formats import base
from compactctl.formats.codex import edit, items
from compactctl.formats.codex.items import Item
from compactctl.model import MADE, Block

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from compactctl.model import Role
    from compactctl.view.builder import Assembler

_ENVELOPED = frozenset(
    {
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "rollout_reference",
    }
)
_COMPACTED = "compacted"


class Payload(Item):
    """What an envelope holds: an item, or what the view needs of the other kinds."""

    cwd: Any = None
    message: Any = None
    num_turns: Any = None
    replacement_history: Any = None


class Record(Payload):
    """One line; a bare item is its own payload."""

    payload: Payload | None = None


class Slot(NamedTuple):
    """A part of a line: of which of its items, ``MADE`` for a new one, and the part itself."""

    item: int
    part: Any


class Codex(base.Format):
    """A line is an item, in an envelope but for old versions, or the history of a compaction."""

    name = "codex"
    description = "Codex rollout (~/.codex/sessions/…/rollout-*.jsonl)"
    profile = "openai-responses"
    record = Record
    joins_answers = True
    known_types = _ENVELOPED | items.KINDS
    boundary = _COMPACTED
    usage_keys = (b'"token_count"',)
    usage_is_apart = True
    ordinal = "ordinal"
    ours_stand_inside = True

    def recognises(self, record: dict[str, Any]) -> bool:
        """Recognise the envelope, the shape of a bare item, or the first line of old versions."""
        kind = record.get("type")
        if isinstance(record.get("payload"), dict):
            return isinstance(kind, str) and kind in _ENVELOPED
        if kind is None:
            header = "id" in record and "timestamp" in record and "instructions" in record
            return header or record.get("record_type") == "state"
        return items.is_item(record)

    def read(self, records: Iterable[tuple[int, Record]], builder: Assembler) -> None:
        """Rebuild the history that Codex would send."""
        history = _History(builder)
        for index, record in records:
            payload = record.payload
            if payload is None:
                history.add(record, index)
            elif record.type == "response_item":
                history.add(payload, index)
            elif record.type == _COMPACTED:
                history.compact(payload, index)
            elif payload.type == "thread_rolled_back":
                history.roll_back(payload.num_turns, index)
            elif isinstance(payload.cwd, str) and record.type in ("session_meta", "turn_context"):
                history.cwd = payload.cwd

    def parts(self, record: dict[str, Any]) -> list[Slot]:
        """Return the parts of all items of a line."""
        return [
            Slot(number, part)
            for number, item in enumerate(_items(record))
            for part in items.parts(item)
        ]

    def replace_parts(self, record: dict[str, Any], parts: list[Slot]) -> dict[str, Any]:
        """Replace the parts of the items; an item that lost all of them goes."""
        rebuilt = _rebuilt(_items(record), parts)
        new = [item for _, item in rebuilt]
        payload = record.get("payload")
        if not isinstance(payload, dict):
            return dict(new[0])
        if record.get("type") != _COMPACTED:
            return record | {"payload": new[0]}
        if self.opens_view(record):
            payload = _with_metadata(payload, rebuilt)
            return record | {"payload": payload | {"replacement_history": new}}
        return record | {"payload": payload | {"message": new[0]["content"] if new else ""}}

    def edit(self, part: Slot, block: Block) -> Slot:
        """Edit a part of an item."""
        return part._replace(part=edit.edit(part.part, block))

    def make(self, block: Block) -> Slot:
        """Make an item inside a line; a text that a layer made is the user's."""
        return Slot(MADE, edit.made("user", [block])[0])

    def create(
        self, role: Role, blocks: list[Block], like: dict[str, Any], _link: base.Link
    ) -> list[dict[str, Any]]:
        """Write one line an item, with an envelope where the neighbour has one."""
        new = edit.made(role, blocks)
        if "payload" in like or not self.recognises(like):
            stamp = like.get("timestamp", "")
            new = [{"timestamp": stamp, "type": "response_item", "payload": item} for item in new]
        return new

    def unseen_parts(self, record: dict[str, Any], shown: Collection[int]) -> list[Slot]:
        """Return the parts of items in a replacement history that were rolled back.

        Without its prompt in the line the rollback would find an older one.
        """
        if not self.opens_view(record):
            return []
        slots, history = self.parts(record), _items(record)
        seen = {slot.item for at, slot in enumerate(slots) if at in shown}
        return [
            slot for slot in slots if slot.item not in seen and items.is_seen(history[slot.item])
        ]

    def answer_type(self, record: dict[str, Any], call: Block) -> str:
        """Return the type of the output that belongs to the type of the call."""
        return edit.answer_type(self.parts(record)[call.at].part)

    def opens_view(self, record: dict[str, Any]) -> bool:
        """Return True for a compaction that holds a replacement history."""
        payload = record.get("payload") if record.get("type") == _COMPACTED else None
        return isinstance(payload, dict) and isinstance(payload.get("replacement_history"), list)

    def limit_rollback(self, record: dict[str, Any], turns: int) -> dict[str, Any]:
        """Limit the number of turns."""
        return record | {"payload": record["payload"] | {"num_turns": turns}}

    def usage(self, record: dict[str, Any]) -> tuple[Any, int] | None:
        """Return the input of the last call; the total of all calls tells which call that is."""
        info = _usage_info(record)
        last = info.get("last_token_usage")
        size = last.get("input_tokens") if isinstance(last, dict) else None
        if type(size) is not int or not size:
            return None
        total = info.get("total_token_usage")
        return (total.get("total_tokens") if isinstance(total, dict) else None), size

    def with_usage(self, record: dict[str, Any], size: int) -> dict[str, Any]:
        """Say that none of the input was cached; Codex takes the total of the last call."""
        payload, info = record["payload"], _usage_info(record)
        last = info["last_token_usage"]
        output = last.get("output_tokens")
        new = last | {"input_tokens": size}
        new["total_tokens"] = size + (output if type(output) is int else 0)
        if "cached_input_tokens" in last:
            new["cached_input_tokens"] = 0
        return record | {"payload": payload | {"info": info | {"last_token_usage": new}}}


class _History:
    """Feeds the view; ``run`` numbers the runs of items that make one assistant message."""

    def __init__(self, builder: Assembler) -> None:
        self.builder = builder
        self.cwd = ""
        self.run = 0
        self.prompts: list[tuple[int, int]] = []
        self.told: set[tuple[int, int]] = set()

    def add(self, item: Item, index: int, at: int = 0, raw: Any = None) -> None:
        """Add the blocks of one item; ``at`` is the place of the first.

        ``raw`` is the item with all its members if a line holds several.
        """

        def whole() -> Any:
            return self.builder.whole(index)[0].part if raw is None else raw

        side = items.side(item)
        blocks = items.blocks(item, index, at, self.cwd, whole) if side else []
        if not blocks:
            return
        if side == "assistant":
            self.builder.assistant(blocks, str(self.run))
            return
        self.run += 1
        if side != "result":
            self.told.update((block.entry, block.at) for block in blocks)
        if side == "system":
            self.builder.system(blocks)
        else:
            self.builder.user(blocks)
        if side == "user" and not any(block.meta and not block.is_summary for block in blocks):
            self.prompts.append((index, at))

    def compact(self, payload: Payload, index: int) -> None:
        """Start anew from the replacement history.

        Versions that wrote none kept what the user and Codex had said, and the summary.
        """
        self.run += 1
        new = payload.replacement_history
        if isinstance(new, list):
            self.builder.rewrite(lambda _: None)  # a mere reset would keep the system messages
            self.builder.reset()
            self.prompts, self.told = [], set()
            at = 0
            for raw in new:
                if isinstance(raw, dict):
                    self.add(items.read(raw), index, at, raw)
                at += len(items.parts(raw))
            return
        self.builder.rewrite(lambda block: block if self._outlives(block) else None)
        if isinstance(payload.message, str) and payload.message:
            summary = Block("text", payload.message, entry=index, is_summary=True, meta=True)
            self.builder.user([summary])

    def _outlives(self, block: Block) -> bool:
        return (block.entry, block.at) in self.told and not block.is_summary

    def roll_back(self, turns: Any, index: int) -> None:
        """Drop the last prompts of the user with all that follows them."""
        if not isinstance(turns, int) or turns < 1:
            return
        self.builder.hides = True
        if turns > len(self.prompts):
            self.builder.overreach[index] = len(self.prompts)
        if not self.prompts:
            return
        cut = self.prompts[-turns:][0]
        del self.prompts[-turns:]
        self.run += 1
        self.builder.take_back(cut)


def _usage_info(record: dict[str, Any]) -> dict[str, Any]:
    """Return what a ``token_count`` event tells; {} for any other line, or if it tells nothing."""
    payload = record.get("payload")
    if not isinstance(payload, dict) or payload.get("type") != "token_count":
        return {}
    info = payload.get("info")
    return info if isinstance(info, dict) else {}


def _items(record: dict[str, Any]) -> list[Any]:
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return [record]
    if record.get("type") != _COMPACTED:
        return [payload]
    new = payload.get("replacement_history")
    return new if isinstance(new, list) else [edit.said("user", payload.get("message"))]


_METADATA = "replacement_history_metadata"


def _with_metadata(payload: dict[str, Any], rebuilt: list[tuple[int, Any]]) -> dict[str, Any]:
    """Cut the metadata of a history as its items are; none where an item is new.

    Codex ignores the line where there are not as many of both, and sends what it took out.
    """
    old = payload.get(_METADATA)
    if not isinstance(old, list):
        return payload
    if any(at == MADE or at >= len(old) for at, _ in rebuilt):
        return {key: value for key, value in payload.items() if key != _METADATA}
    return payload | {_METADATA: [old[at] for at, _ in rebuilt]}


def _rebuilt(old: list[Any], edited: list[Slot]) -> list[tuple[int, Any]]:
    """Return the items that hold the parts, each with its index among the old ones, or MADE."""
    parts: dict[int, list[Any]] = {}
    before: dict[int, list[Any]] = {}
    waiting: list[Any] = []
    for number, part in edited:
        if number == MADE:
            waiting.append(part)
            continue
        if number in parts:  # a new text between the parts of one message
            parts[number] += [new for item in waiting for new in items.parts(item)]
        else:
            before[number] = waiting
        waiting = []
        parts.setdefault(number, []).append(part)
    new: list[tuple[int, Any]] = []
    for number, item in enumerate(old):
        new += [(MADE, made) for made in before.get(number, [])]
        if number in parts:
            new.append((number, items.replace_parts(item, parts[number])))
        elif not items.is_seen(item):
            new.append((number, item))
    return new + [(MADE, made) for made in waiting]


FORMAT = Codex()
