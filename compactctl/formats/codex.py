"""``codex``: a rollout of the Codex CLI, one item of the Responses API a line.

The view is rebuilt as Codex does on resume (``rollout_reconstruction.rs``): items in order; a
``compacted`` line puts its replacement history in place of everything before it; events, metadata
and snapshots stay outside. Lines of old versions are bare items without an envelope. The parts
of a ``compacted`` line are those of all the items that it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from compactctl.formats import codex_edit, codex_items
from compactctl.formats.codex_items import Item
from compactctl.model import MADE, Block

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from compactctl.model import Role
    from compactctl.view.builder import Assembler

DESCRIPTION = "Codex rollout (~/.codex/sessions/…/rollout-*.jsonl)"
SIGNED = False
PROFILE = "openai-responses"
STAYS = "compacted"
ONE_LINE_A_MESSAGE = False
ANSWERS_JOIN = True
LINK = None

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
KNOWN_TYPES = _ENVELOPED | codex_items.KINDS


class Payload(Item):
    """What an envelope holds: an item, or what the view needs of the other kinds."""

    cwd: Any = None
    message: Any = None
    num_turns: Any = None
    replacement_history: Any = None


class Record(Payload):
    """One line; a bare item is its own payload."""

    payload: Payload | None = None


def recognise(record: dict[str, Any]) -> bool:
    """Tell by the envelope, by the shape of a bare item, or by a first line of old versions."""
    kind = record.get("type")
    if isinstance(record.get("payload"), dict):
        return isinstance(kind, str) and kind in _ENVELOPED
    if kind is None:
        header = "id" in record and "timestamp" in record and "instructions" in record
        return header or record.get("record_type") == "state"
    return codex_items.is_item(record)


def view(records: Iterable[tuple[int, Record]], build: Assembler) -> None:
    """Rebuild the history that Codex would send."""
    history = _History(build)
    for index, record in records:
        payload = record.payload
        if payload is None:
            history.add(record, index)
        elif record.type == "response_item":
            history.add(payload, index)
        elif record.type == "compacted":
            history.compact(payload, index)
        elif payload.type == "thread_rolled_back":
            history.roll_back(payload.num_turns, index)
        elif isinstance(payload.cwd, str) and record.type in ("session_meta", "turn_context"):
            history.cwd = payload.cwd


class _History:
    """Feeds the view; ``run`` numbers the runs of items that make one assistant message."""

    def __init__(self, build: Assembler) -> None:
        self.build = build
        self.cwd = ""
        self.run = 0
        self.prompts: list[tuple[int, int]] = []
        self.told: set[tuple[int, int]] = set()

    def add(self, item: Item, index: int, at: int = 0) -> None:
        """Add the blocks of one item; ``at`` is the place of the first."""
        side = codex_items.side(item)
        blocks = codex_items.blocks(item, index, at, self.cwd) if side else []
        if not blocks:
            return
        if side == "assistant":
            self.build.assistant(blocks, str(self.run))
            return
        self.run += 1
        if side != "result":
            self.told.update((block.entry, block.at) for block in blocks)
        if side == "system":
            self.build.system(blocks)
        else:
            self.build.user(blocks)
        if side == "user" and not any(block.meta and not block.is_summary for block in blocks):
            self.prompts.append((index, at))

    def compact(self, payload: Payload, index: int) -> None:
        """Start anew from the replacement history.

        Versions that wrote none kept what the user and the harness had said, and the summary.
        """
        self.run += 1
        new = payload.replacement_history
        if isinstance(new, list):
            self.build.rewrite(lambda _: None)  # a mere reset would keep the system messages
            self.build.reset()
            self.prompts, self.told = [], set()
            at = 0
            for raw in new:
                if isinstance(raw, dict):
                    self.add(codex_items.read(raw), index, at)
                at += len(codex_items.parts_of(raw))
            return
        self.build.rewrite(lambda block: block if self._outlives(block) else None)
        if isinstance(payload.message, str) and payload.message:
            summary = Block("text", payload.message, entry=index, is_summary=True, meta=True)
            self.build.user([summary])

    def _outlives(self, block: Block) -> bool:
        return (block.entry, block.at) in self.told and not block.is_summary

    def roll_back(self, turns: Any, index: int) -> None:
        """Drop the last prompts of the user with all that follows them."""
        if not isinstance(turns, int) or turns < 1:
            return
        self.build.hides = True
        if turns > len(self.prompts):
            self.build.overreach[index] = len(self.prompts)
        if not self.prompts:
            return
        cut = self.prompts[-turns:][0]
        del self.prompts[-turns:]
        self.run += 1
        self.build.rewrite(lambda block: block if (block.entry, block.at) < cut else None)


class Slot(NamedTuple):
    """A part of a line: of which of its items, ``MADE`` for a new one, and the part itself."""

    item: int
    part: Any


def parts_of(record: dict[str, Any]) -> list[Slot]:
    """Give the parts of a parsed line, in the order that ``Block.at`` counts."""
    return [
        Slot(number, part)
        for number, item in enumerate(_items(record))
        for part in codex_items.parts_of(item)
    ]


def _items(record: dict[str, Any]) -> list[Any]:
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return [record]
    if record.get("type") != "compacted":
        return [payload]
    new = payload.get("replacement_history")
    return new if isinstance(new, list) else [codex_edit.said("user", payload.get("message"))]


def takes_in(record: dict[str, Any]) -> bool:
    """Say whether nothing in front of a line is in the view: what goes there goes into it."""
    payload = record.get("payload") if record.get("type") == STAYS else None
    return isinstance(payload, dict) and isinstance(payload.get("replacement_history"), list)


def beside(record: dict[str, Any], shown: Collection[int]) -> list[Slot]:
    """Give the parts of items that the view had none of, which ``shown`` counts, to be kept.

    A prompt that was rolled back stays in its line: else the rollback finds an older one.
    """
    if not takes_in(record):
        return []
    slots, history = parts_of(record), _items(record)
    seen = {slot.item for at, slot in enumerate(slots) if at in shown}
    return [
        slot for slot in slots if slot.item not in seen and codex_items.is_seen(history[slot.item])
    ]


def bounded(record: dict[str, Any], turns: int) -> dict[str, Any]:
    """Give a rollback that asks for no more than the turns that it found."""
    return record | {"payload": record["payload"] | {"num_turns": turns}}


def edit(slot: Slot, block: Block) -> Slot:
    """Give ``slot`` with what ``block`` says; every other member stays."""
    return slot._replace(part=codex_edit.edit(slot.part, block))


def make(block: Block) -> Slot:
    """Write a new item inside a line; a text that a layer made is the user's."""
    return Slot(MADE, codex_edit.made("user", [block])[0])


def with_parts(record: dict[str, Any], edited: list[Slot]) -> dict[str, Any]:
    """Give the line with other parts; an item that lost all of its parts goes."""
    new = _rebuilt(_items(record), edited)
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return dict(new[0])
    if record.get("type") != STAYS:
        return record | {"payload": new[0]}
    if takes_in(record):
        return record | {"payload": payload | {"replacement_history": new}}
    return record | {"payload": payload | {"message": new[0]["content"] if new else ""}}


def _rebuilt(old: list[Any], edited: list[Slot]) -> list[Any]:
    parts: dict[int, list[Any]] = {}
    before: dict[int, list[Any]] = {}
    waiting: list[Any] = []
    for number, part in edited:
        if number == MADE:
            waiting.append(part)
            continue
        if number in parts:  # a new text between the parts of one message
            parts[number] += [new for item in waiting for new in codex_items.parts_of(item)]
        else:
            before[number] = waiting
        waiting = []
        parts.setdefault(number, []).append(part)
    new: list[Any] = []
    for number, item in enumerate(old):
        new += before.get(number, [])
        if number in parts:
            new.append(codex_items.with_parts(item, parts[number]))
        elif not codex_items.is_seen(item):
            new.append(item)
    return new + waiting


def answer_type(record: dict[str, Any], call: Block) -> str:
    """Give the type of the item that answers a call, the ``name`` of a result to be made."""
    return codex_edit.answer_type(parts_of(record)[call.at].part)


def create(
    role: Role, made: list[Block], like: dict[str, Any], _own: str, _parent: str | None
) -> dict[str, Any] | list[dict[str, Any]]:
    """Write new lines, one an item, in the envelope of their neighbour ``like``."""
    new = codex_edit.made(role, made)
    if "payload" in like or not recognise(like):
        stamp = like.get("timestamp", "")
        new = [{"timestamp": stamp, "type": "response_item", "payload": item} for item in new]
    return new[0] if len(new) == 1 else new
