"""Fix the ids of calls, and with each the id of its result."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from compactctl.repair.case import Step
from compactctl.rules.ids import LEGAL, LONGEST, is_blank
from compactctl.view.pairs import block_at, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.model import Block, Message
    from compactctl.repair.case import Case
    from compactctl.view.pairs import Place

_ILLEGAL = re.compile(f"[^{LEGAL}]")
_SHORTEST = min(LONGEST.values())


def drop_misplaced_calls(case: Case) -> list[Message]:
    """Take calls out of messages that are not the assistant's."""
    gone = case.broken()
    for place in sorted(gone):
        case.done("ROLE-01", block_at(case.messages, place), "call dropped")
    return case.replace(lambda place, block: None if place in gone else block)


def name_the_nameless(case: Case) -> list[Message]:
    """Assign ids to calls without one, and the same ids to results without one, in order."""
    free = _Free(case.messages)
    waiting: list[str] = []

    def named(place: Place, block: Block) -> Block | None:
        if block.kind not in {"call", "result"} or not is_blank(block.call_id):
            return block
        if block.kind == "result" and not waiting:
            case.done("PAIR-02", block, "result dropped")
            return None
        if block.kind == "call":
            waiting.append(free.name(f"call_{place.message}"))
        call_id = waiting[-1] if block.kind == "call" else waiting.pop(0)
        case.done("ID-01", block, f"{block.kind} given the id {call_id}")
        return msgspec.structs.replace(block, call_id=call_id)

    return case.replace(named)


class _Free:
    """Ids that no call of a view has; what is given is taken."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._taken = {block.call_id for message in messages for block in message.blocks}
        self._numbers: Counter[str] = Counter()

    def name(self, wanted: str) -> str:
        """Return ``wanted``, numbered if it is taken."""
        name = wanted
        while name in self._taken:
            self._numbers[wanted] += 1
            number = str(self._numbers[wanted] + 1)
            name = f"{wanted[: _SHORTEST - len(number) - 1]}_{number}"
        self._taken.add(name)
        return name


def drop_copies(case: Case) -> list[Message]:
    """Drop a call without a result that says again what another one of its id says."""
    every = [block for message in case.messages for block in message.blocks]
    many = Counter((block.kind, block.call_id) for block in every)
    pairs = pair(case.messages).interactions
    bare = {each.call for each in pairs if each.result is None}
    answered = (block_at(case.messages, each.call) for each in pairs if each.result is not None)
    seen = {(block.call_id, block.tool, block.text) for block in answered}

    def kept(place: Place, block: Block) -> Block | None:
        if place not in bare:
            return block
        says = (block.call_id, block.tool, block.text)
        spare = many["call", block.call_id] > max(many["result", block.call_id], 1)
        if says in seen and spare:
            many["call", block.call_id] -= 1
            case.done("PAIR-03", block, "copy dropped")
            return None
        seen.add(says)
        return block

    return case.replace(kept)


def rename(case: Case) -> list[Message]:
    """Assign a new id to a call whose id is taken, or is not one that the provider accepts.

    Its result, the next of that id, follows it. Chat completions let a later turn use the id of a
    closed one again, so there only calls that are open at once must differ.
    """
    wrong = case.broken()
    free = _Free(case.messages)
    now: dict[str | None, tuple[str, str]] = {}

    def renamed(place: Place, block: Block) -> Block:
        if block.kind == "call":
            now.pop(block.call_id, None)
            if place in wrong:
                name = free.name(_legal(block.call_id or "", case.profile))
                now[block.call_id] = name, wrong[place]
        if block.kind not in {"call", "result"} or block.call_id not in now:
            return block
        name, rule = now[block.call_id]
        case.done(rule, block, f"{block.kind} given the id {name}")
        return msgspec.structs.replace(block, call_id=name)

    return case.replace(renamed)


def _legal(call_id: str, profile: str) -> str:
    """Return an id that the provider takes: of legal characters, and not too long."""
    legal = _ILLEGAL.sub("_", call_id) if profile == "anthropic" else call_id
    longest = LONGEST.get(profile, len(legal))
    if len(legal) <= longest:
        return legal
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{legal[: longest - 9]}_{digest[:8]}"


STEPS = (
    Step(("ROLE-01",), drop_misplaced_calls),
    Step(("ID-01",), name_the_nameless),
    Step(("PAIR-03",), drop_copies),
    Step(("PAIR-03", "ID-02", "ID-03", "ID-04"), rename),
)
