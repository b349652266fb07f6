"""Mend a view: close calls, place results, drop what no provider takes; never a user's words.

Each mend is a function from messages to messages that leaves alone what is right, so that mends can
be run again until nothing changes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

import msgspec

from compactctl import placeholders
from compactctl.assemble import merge_users
from compactctl.layer import Action
from compactctl.model import MADE, Block, Message, replace_blocks
from compactctl.protocol.check import problems
from compactctl.protocol.pairs import Place

NO_RESULT = f"{placeholders.CUT}no result was recorded, the call was interrupted]"
MISSING_START = f"{placeholders.CUT}what came before is missing]"

Mend = Callable[[Sequence[Message], list[Action]], list[Message]]


def mend(messages: Sequence[Message], actions: list[Action], profile: str) -> list[Message]:
    """Apply every mend that ``profile`` calls for; ``actions`` takes one entry for each."""
    steps: list[Mend] = [
        _drop_misplaced_calls,
        _name_the_nameless,
        lambda view, done: _rename(view, done, profile),
        _place_results,
    ]
    if profile == "anthropic":
        steps += [_drop_empty, _only_text, _drop_bad_images, _pair_servers, _open_with_user]
    for step in steps:
        messages = step(messages, actions)
    return list(messages)


def _drop_misplaced_calls(messages: Sequence[Message], actions: list[Action]) -> list[Message]:
    """Take calls out of messages that are not the assistant's."""
    kept = []
    for message in messages:
        stays = [b for b in message.blocks if message.role == "assistant" or b.kind != "call"]
        actions.extend(_done("ROLE-01", b) for b in message.blocks if b not in stays)
        if stays or not message.blocks:
            kept.append(replace_blocks(message, stays))
    return kept


def _done(rule: str, block: Block) -> Action:
    return Action(rule, block.entry, block.call_id)


def _name_the_nameless(messages: Sequence[Message], actions: list[Action]) -> list[Message]:
    """Give calls without an id one, and the results without an id theirs, in order."""
    taken = {b.call_id for m in messages for b in m.blocks}
    waiting: list[str] = []
    named: list[Message] = []
    for message in messages:
        blocks: list[Block] = []
        for block in message.blocks:
            new = block
            if block.kind == "call" and not _has_id(block):
                waiting.append(_free(f"call_{len(named)}", taken))
                new = msgspec.structs.replace(block, call_id=waiting[-1])
            elif block.kind == "result" and not _has_id(block) and waiting:
                new = msgspec.structs.replace(block, call_id=waiting.pop(0))
            if new is not block:
                actions.append(_done("ID-01", new))
            blocks.append(new)
        named.append(replace_blocks(message, blocks))
    return named


def _has_id(block: Block) -> bool:
    return bool(block.call_id and block.call_id.strip())


def _free(wanted: str, taken: set[str | None]) -> str:
    """Give ``wanted``, numbered if it is taken, and take it."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST = {"openai-chat": 40, "openai-responses": 64}


def _legal(call_id: str, profile: str) -> str:
    """Give an id that the provider takes: of legal characters, and not too long."""
    legal = _ILLEGAL.sub("_", call_id) if profile == "anthropic" else call_id
    longest = _LONGEST.get(profile, len(legal))
    if len(legal) <= longest:
        return legal
    return f"{legal[: longest - 9]}_{hashlib.sha256(call_id.encode()).hexdigest()[:8]}"


def _rename(messages: Sequence[Message], actions: list[Action], profile: str) -> list[Message]:
    """Give a call whose id is taken, or is none that the provider takes, an id of its own.

    Its result, the next of that id, follows it. Chat completions let a later turn use the id of a
    closed one again, so there only calls that are open at once must differ.
    """
    taken = {b.call_id for m in messages for b in m.blocks}
    seen: set[str | None] = set()
    now: dict[str | None, str | None] = {}
    renamed: list[Message] = []
    for message in messages:
        blocks: list[Block] = []
        for block in message.blocks:
            if block.kind == "call" and block.call_id:
                legal = _legal(block.call_id, profile)
                fits = block.call_id not in seen and legal == block.call_id
                now[block.call_id] = block.call_id if fits else _free(legal, taken)
                seen.add(block.call_id)
            elif block.kind == "result" and profile == "openai-chat":
                seen.discard(block.call_id)
            new = block
            if block.kind in {"call", "result"} and block.call_id in now:
                new = _with_id(block, now[block.call_id], actions)
            blocks.append(new)
        renamed.append(replace_blocks(message, blocks))
    return renamed


def _with_id(block: Block, call_id: str | None, actions: list[Action]) -> Block:
    if call_id == block.call_id:
        return block
    actions.append(_done("PAIR-03", block))
    return msgspec.structs.replace(block, call_id=call_id)


def _place_results(messages: Sequence[Message], actions: list[Action]) -> list[Message]:
    """Put one result for each call first in the message behind it; drop those of no call."""
    answers = _answers(messages)
    placed: list[Message] = []
    for position, message in enumerate(messages):
        if message.role != "assistant":
            rest = tuple(block for block in message.blocks if block.kind != "result")
            if not placed or placed[-1].role != "assistant":
                _append_user(placed, message, rest)
            elif rest:
                _append_user(placed, message, rest)
            continue
        placed.append(message)
        results = _results_for(position, message, answers, messages, actions)
        if results:
            placed.append(Message("user", tuple(results)))
    _report_dropped(messages, answers, actions)
    return _reuse(messages, merge_users(placed))


def _append_user(placed: list[Message], message: Message, rest: tuple[Block, ...]) -> None:
    if rest or not message.blocks:
        placed.append(replace_blocks(message, rest))


def _answers(messages: Sequence[Message]) -> dict[Place, Place]:
    """Map each call to its last result: of the calls of one id the newest before the result.

    A result that precedes every call of its id answers the first of them.
    """
    newest: dict[str | None, Place] = {}
    early: dict[str | None, Place] = {}
    answers: dict[Place, Place] = {}
    for position, message in enumerate(messages):
        for at, block in enumerate(message.blocks):
            place = Place(position, at)
            if block.kind == "call" and message.role == "assistant":
                newest[block.call_id] = place
                if block.call_id in early:
                    answers[place] = early.pop(block.call_id)
            elif block.kind == "result":
                call = newest.get(block.call_id)
                if call is None:
                    early[block.call_id] = place
                else:
                    answers[call] = place
    return answers


def _results_for(
    position: int,
    message: Message,
    answers: dict[Place, Place],
    messages: Sequence[Message],
    actions: list[Action],
) -> list[Block]:
    """Give the results of one assistant message: found ones in their order, then made ones."""
    calls = [(Place(position, at), b) for at, b in enumerate(message.blocks) if b.kind == "call"]
    found = sorted(answers[call] for call, _ in calls if call in answers)
    results: list[Block] = []
    for place in found:
        block = messages[place.message].blocks[place.block]
        if place.message != position + 1:
            actions.append(_done("PAIR-06", block))
            block = _copy(block)
        elif any(b.kind != "result" for b in messages[place.message].blocks[: place.block]):
            actions.append(_done("PAIR-06", block))
        results.append(block)
    for call, block in calls:
        if call not in answers:
            actions.append(_done("PAIR-01", block))
            text = (Block("text", NO_RESULT),)
            results.append(Block("result", call_id=block.call_id, content=text, failed=True))
    return results


def _copy(result: Block) -> Block:
    """Write a result anew at another place; its old line goes."""
    pieces = tuple(
        Block("text", piece.text or f"[{piece.kind}]") for piece in result.content
    )
    return msgspec.structs.replace(result, content=pieces, entry=MADE, at=0)


def _report_dropped(
    messages: Sequence[Message], answers: dict[Place, Place], actions: list[Action]
) -> None:
    used = set(answers.values())
    answered = {messages[c.message].blocks[c.block].call_id for c in answers}
    for position, message in enumerate(messages):
        for at, block in enumerate(message.blocks):
            if block.kind == "result" and Place(position, at) not in used:
                rule = "PAIR-04" if block.call_id in answered else "PAIR-02"
                actions.append(_done(rule, block))


def _reuse(old: Sequence[Message], new: Sequence[Message]) -> list[Message]:
    """Give back the very message wherever its blocks did not change."""
    by_first = {id(m.blocks[0]): m for m in old if m.blocks}
    reused = []
    for message in new:
        before = by_first.get(id(message.blocks[0])) if message.blocks else None
        same = before is not None and before.role == message.role
        reused.append(replace_blocks(before, message.blocks) if before and same else message)
    return reused


def _drop_empty(messages: Sequence[Message], actions: list[Action]) -> list[Message]:
    """Drop texts of nothing but white space, also inside results, and messages left empty."""
    kept: list[Message] = []
    for message in messages:
        blocks: list[Block] = []
        for block in message.blocks:
            new = _without_blank_pieces(block)
            if new is None or new is not block:
                actions.append(_done("TEXT-01", block))
            if new is not None:
                blocks.append(new)
        if blocks or not message.blocks:
            kept.append(replace_blocks(message, blocks))
    return merge_users(kept)


def _is_blank(block: Block) -> bool:
    return block.kind == "text" and not block.text.strip()


def _without_blank_pieces(block: Block) -> Block | None:
    if block.kind == "result" and len(block.content) > 1:
        pieces = tuple(piece for piece in block.content if not _is_blank(piece))
        if len(pieces) != len(block.content):
            return msgspec.structs.replace(block, content=pieces)
    return None if _is_blank(block) else block


def _only_text(messages: Sequence[Message], actions: list[Action]) -> list[Message]:
    """Replace images in failed results by what they were: such a result may hold only text."""
    mended: list[Message] = []
    for message in messages:
        blocks: list[Block] = []
        for block in message.blocks:
            new = block
            if block.failed and any(piece.kind == "image" for piece in block.content):
                pieces = tuple(placeholders.of_image(p) if p.kind == "image" else p for p in block.content)
                new = msgspec.structs.replace(block, content=pieces)
                actions.append(_done("RESULT-01", block))
            blocks.append(new)
        mended.append(replace_blocks(message, blocks))
    return mended


def _drop_bad_images(messages: Sequence[Message], actions: list[Action]) -> list[Message]:
    """Put a placeholder where an image stands that the provider refuses."""
    bad = {
        (problem.place, problem.rule)
        for problem in problems(messages, "anthropic")
        if problem.rule.startswith("IMG-") and problem.severity == "error"
    }
    if not bad:
        return list(messages)
    places = {place for place, _ in bad}
    mended: list[Message] = []
    for position, message in enumerate(messages):
        blocks = []
        for at, block in enumerate(message.blocks):
            new = block
            if Place(position, at) in places:
                actions.append(_done("IMG-01", block))
                new = _imageless(block)
            blocks.append(new)
        mended.append(replace_blocks(message, blocks))
    return mended


def _imageless(block: Block) -> Block:
    if block.kind == "image":
        return placeholders.of_image(block)
    pieces = tuple(placeholders.of_image(p) if p.kind == "image" else p for p in block.content)
    return msgspec.structs.replace(block, content=pieces)


def _pair_servers(messages: Sequence[Message], actions: list[Action]) -> list[Message]:
    """Drop calls and results of server tools that have no counterpart."""
    gone = {
        problem.place
        for problem in problems(messages, "anthropic")
        if problem.rule.startswith("SERVER-") and problem.severity == "error"
    }
    kept: list[Message] = []
    for position, message in enumerate(messages):
        blocks = [b for at, b in enumerate(message.blocks) if Place(position, at) not in gone]
        actions.extend(_done("SERVER-01", b) for b in message.blocks if b not in blocks)
        if blocks or not message.blocks:
            kept.append(replace_blocks(message, blocks))
    return kept


def _open_with_user(messages: Sequence[Message], actions: list[Action]) -> list[Message]:
    """Put a user message in front of an assistant message that opens the view."""
    first = next((at for at, m in enumerate(messages) if m.role != "system"), None)
    if first is None or messages[first].role != "assistant":
        return list(messages)
    actions.append(Action("ORDER-01", messages[first].blocks[0].entry if messages[first].blocks else MADE))
    opening = Message("user", (Block("text", MISSING_START, meta=True),))
    return [*messages[:first], opening, *messages[first:]]
