"""A summary without a model: what can be taken from the messages themselves.

Requests word for word, the files from the calls, the last failures, the open items of the todo
list. Nothing is invented, so nothing can be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from compactctl import placeholders, summaries
from compactctl.model import Block, Message, arguments, result_text
from compactctl.view import protected, tools
from compactctl.view.index import View

_RULE_WORDS = re.compile(
    r"\b(must|never|always|only|don't|do not|without|keep|avoid|should not|no longer)\b"
    r"|不要|必须|只能|禁止|务必",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_LEFT_OUT = re.compile(rf"\(({placeholders.NUMBER}) earlier not listed\)")

FAILURES = 5
"""Failed calls that the summary names, the latest."""

WIDEST = 2000
"""Characters of one item; below a quarter of it, fewer items say more than shorter ones."""


def digest(view: View, previous: str | None, fits: Callable[[str], bool]) -> str:
    """Write the seven sections about a view, taking in the ``previous`` summary.

    ``fits`` says whether a text is within the size that a summary may have; sections give way
    from the longest on until it is.
    """
    sections = _sections(view, summaries.read(previous) if previous else {})
    width = WIDEST
    while not fits(text := summaries.write(_clipped(sections, width))):
        longest = max(sections, key=lambda name: sum(min(len(i), width) for i in sections[name]))
        if len(_parted(sections[longest])[1]) > 1 and width <= WIDEST // 4:
            sections[longest] = _fewer(sections[longest])
        elif width > 1:
            width = width * 3 // 4
        else:
            break
    return text


def _sections(view: View, before: dict[str, list[str]]) -> dict[str, list[str]]:
    messages = view.messages
    requests = [_flat(text) for text in _requests(messages)]
    files = known_files(view, summaries.write(before) if before else None)
    goals = before.get("Goal", []) or requests[:1]
    requests = [request for request in requests if not _is_listed(request, goals)]
    return {
        "Goal": goals,
        "Current status": _status(messages, requests, before),
        "Important constraints": tools.union(
            before.get("Important constraints", []), _constraints(messages)
        ),
        "Files observed": files.read,
        "Files modified": files.modified,
        "Open tool results": _failures(view) or before.get("Open tool results", []),
        "Next step": _todo(messages) or _last_words(messages) or before.get("Next step", []),
    }


def known_files(view: View, previous: str | None) -> tools.Files:
    """Give the files of the calls, of earlier placeholders and of the previous summary."""
    before = summaries.read(previous) if previous else {}
    marks = [
        mark
        for message in view.messages
        if message.role == "user"
        for block in message.blocks
        if (mark := placeholders.read_pruned(block.text))
    ]
    files = tools.files(view)
    return tools.Files(
        tools.union(
            before.get("Files observed", []), (p for m in marks for p in m.read), files.read
        ),
        tools.union(
            before.get("Files modified", []), (p for m in marks for p in m.modified), files.modified
        ),
    )


def _requests(messages: Sequence[Message]) -> list[str]:
    """Give what the user asked; of images that were taken out there is nothing to tell."""
    return [
        block.text
        for message in messages
        if message.role == "user"
        for block in message.blocks
        if block.kind == "text" and protected.is_request(block)
        if not block.text.startswith(placeholders.IMAGE)
    ]


def _status(
    messages: Sequence[Message], requests: list[str], before: dict[str, list[str]]
) -> list[str]:
    calls = [b for m in messages for b in m.blocks if b.kind == "call"]
    counted = f"Summarised here: {len(messages):,} messages with {len(calls):,} tool calls."
    earlier = [i for i in before.get("Current status", []) if not i.startswith("Summarised here:")]
    asked = [f"The user asked: {request}" for request in requests]
    asked = [item for item in asked if not _is_listed(item, earlier)]
    harness = [
        f"An earlier summary said: {_flat(block.text)}"
        for message in messages
        for block in message.blocks
        if message.role == "user" and block.is_summary
    ]
    return [counted, *earlier, *harness, *asked]


def _is_listed(item: str, listed: Sequence[str]) -> bool:
    """Say whether an item is among those of an earlier summary, which may have clipped it."""
    return any(item == one or (one.endswith("…") and item.startswith(one[:-1])) for one in listed)


def _constraints(messages: Sequence[Message]) -> list[str]:
    """Give the sentences of the user that lay down a rule."""
    return [
        _flat(sentence)
        for request in _requests(messages)
        for sentence in _SENTENCE.split(request)
        if sentence.strip() and _RULE_WORDS.search(sentence)
    ]


def _failures(view: View) -> list[str]:
    """Name the last calls that failed, with the end of what they said."""
    return [
        f"{_call(found.call)} failed: {_flat(result_text(found.result))[-300:]}"
        for found in view.answered
        if found.result.failed
    ][-FAILURES:]


def _call(call: Block) -> str:
    given = [value for value in arguments(call).values() if isinstance(value, str)]
    return f"{call.tool} {_flat(given[0])[:120]}" if given else call.tool


def _todo(messages: Sequence[Message]) -> list[str]:
    """Give the items of the last todo list that are not done."""
    for message in reversed(messages):
        for block in reversed(message.blocks):
            if block.kind == "call" and tools.is_todo(block.tool):
                return [_flat(item) for item in tools.open_items(block)]
    return []


def _last_words(messages: Sequence[Message]) -> list[str]:
    for message in reversed(messages):
        if message.role == "assistant":
            texts = [b.text for b in message.blocks if b.kind == "text" and b.text.strip()]
            if texts:
                return [f"The assistant last said: {_flat(texts[-1])}"]
    return []


def _flat(text: str) -> str:
    return " ".join(text.split())


def _clipped(sections: dict[str, list[str]], width: int) -> dict[str, list[str]]:
    return {name: [_clip(item, width) for item in items] for name, items in sections.items()}


def _clip(item: str, width: int) -> str:
    return item if len(item) <= width or _LEFT_OUT.fullmatch(item) else item[: width - 1] + "…"


def _fewer(items: list[str]) -> list[str]:
    """Leave out the older half; the first item says how many are not listed."""
    already, listed = _parted(items)
    many = len(listed) // 2
    return [f"({already + many:,} earlier not listed)", *listed[many:]]


def _parted(items: list[str]) -> tuple[int, list[str]]:
    """Part items from the count of those not listed, which may stand in front."""
    found = _LEFT_OUT.fullmatch(items[0]) if items else None
    return (placeholders.read_number(found[1]), items[1:]) if found else (0, items)
