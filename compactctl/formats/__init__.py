"""The formats: one module each, found by name; content decides which one a file is.

A format is a module with these names (CONTRACT §11 settles the doubtful cases):

``DESCRIPTION``         one line for people
``PROFILE``             the profile that ``validate`` judges it by
``SIGNED``              thinking carries signatures that bind it to what precedes it
``ONE_LINE_A_MESSAGE``  a line is a whole message, so what a layer adds goes into a neighbour
``MENDS_IDS``           (where it is so) the harness gives calls the ids that a provider wants
``ANSWERS_CALLS``       (where it is so) it answers calls without a result when it sends
``ANSWERS_JOIN``        (where it is so) assistant pieces side by side are one message
``LINK``                the keys of an entry's id and of its parent's, or None; with it come
                        ``ALSO_LINKED`` (other keys that hold an id) and ``identity(digest)``
``Record``              the typed form of one line, with the members that the view needs
``recognise(record)``   whether a parsed line is of this format
``view(records, build)``             feed the records into an Assembler
``parts_of``, ``with_parts``, ``edit``, ``make``, ``create``   change and write lines; ``create``
                        gives one record, or a list where a line holds less than a message

A format whose lines can cut off what precedes them has two more:

``takes_in(record)``    nothing in front of the line is in the view: what a layer puts there goes
                        into it
``STAYS``               the type of lines that do their work also when all their blocks went

A format whose parts are in one member of a line, and whose other members may be large, names that
in ``EDITED``: ``with_parts`` touches nothing else, and the others leave as they came.

A format with lines that name which earlier ones they keep has ``RELINKED``, the member in which
they do, and ``relink(record, links)``, which gives it with what is left of them and came in.

``Record`` has a field for each of the members that are named here.

What else a format may have, each where it is so:

``KNOWN_TYPES``         the types of its lines; others are told by ``validate``
``SEQUENCE``            the member that numbers the lines
``FOLLOWS_LINKS``       the view is the last line and its ancestors: it shows nothing that is lost
``is_prompt(record)``   whether a line is what a person asked: two under one parent are a rewind
``session_of(record)``  the name of the session, as a line tells it
``usage_of(record)``    (message, context size in tokens) where a line records it
``answer_type(record, call)``   the type that the result of a call must have
``beside(record, shown)``   parts that the view had none of and an edit of the line must keep
``bounded(record, turns)``  a line that takes back more turns than there are, taking back just these
``slim(record)``, ``SLIM_KEYS``   what is left of a line without copies for a screen, and bytes that
                        lines with such copies hold
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Any

from compactctl.errors import InputError, UsageError
from compactctl.formats import documents
from compactctl.jsonl.lines import objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType

_SAMPLE = 200
"""Records looked at, from the first that any format knows."""

_FEW = 30
"""Records that do if one format knows ``_ENOUGH`` of them and no other knows any."""

_ENOUGH = 20

_CHAT = re.compile(rb'"tool_calls"|"role"\s*:\s*"(?:system|developer|tool)"')
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CHAT_ROLES = ("system", "developer", "tool")


@functools.cache
def names() -> tuple[str, ...]:
    """Give the names of all formats, as ``--format`` takes them."""
    found = [m.name for m in pkgutil.iter_modules(__path__) if hasattr(load(m.name), "recognise")]
    return tuple(sorted(name.replace("_", "-") for name in found))


def load(name: str) -> ModuleType:
    """Import a format by its name."""
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def name_of(module: ModuleType) -> str:
    """Give the name of a format, as ``--format`` takes it."""
    return module.__name__.rpartition(".")[2].replace("_", "-")


def choose(name: str) -> ModuleType:
    """Import the format that ``--format`` names.

    Raises:
        UsageError: there is no such format.

    """
    known = names()
    if name not in known:
        raise UsageError(f"unknown format {name!r}; choose one of {', '.join(known)}")
    return load(name)


def detect(lines: Iterable[bytes]) -> ModuleType:
    """Recognise the format by content: the one that knows most of the first records.

    Raises:
        InputError: no format knows any of them, or the file is no JSONL.

    """
    document = documents.whole(lines)
    best = _detected(lines) if document is None else None
    if best is None:
        raise InputError(_unknown(lines, list(islice(_records(lines), _SAMPLE)), document))
    return best


def _detected(lines: Iterable[bytes]) -> ModuleType | None:
    few = _known(lines, _FEW)
    scores = _scores(few)
    if sum(scores.values()) == max(scores.values()) >= _ENOUGH:
        return load(max(scores, key=scores.__getitem__))
    return _best(_scores(_known(lines, _SAMPLE)) if len(few) == _FEW else scores, lines)


def _records(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    return (record for record in objects(lines) if not _is_ours(record))


def _known(lines: Iterable[bytes], many: int) -> list[dict[str, Any]]:
    """Give so many records from the first that any format knows: metadata may stand before it."""
    modules = [load(name) for name in names()]

    def is_unknown(record: dict[str, Any]) -> bool:
        return not any(_knows(module, record) for module in modules)

    return list(islice(dropwhile(is_unknown, _records(lines)), many))


def _scores(records: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Count for each format the records that it knows."""
    modules = {name: load(name) for name in names()}
    return {
        name: sum(_knows(module, record) for record in records) for name, module in modules.items()
    }


def _best(scores: dict[str, int], lines: Iterable[bytes]) -> ModuleType | None:
    most = max(scores.values())
    best = [name for name, score in scores.items() if score == most]
    if not most:
        return None
    if "messages" in best and "openai" in best:
        return load("openai" if any(map(_is_chat, lines)) else "messages")
    return load(best[0])


def _knows(module: ModuleType, record: dict[str, Any]) -> bool:
    try:
        return bool(module.recognise(record))
    except TypeError:  # a list or an object where every format has a word
        return False


def _is_chat(raw: bytes) -> bool:
    """Say whether a line has what only OpenAI's chat messages have (CONTRACT §11)."""
    if not _CHAT.search(raw):
        return False
    return any(
        record.get("role") in _CHAT_ROLES or "tool_calls" in record for record in objects([raw])
    )


def _is_ours(record: dict[str, Any]) -> bool:
    return str(record.get("type", "")).startswith("compactctl.")


def _unknown(lines: Iterable[bytes], records: Sequence[dict[str, Any]], document: Any) -> str:
    """Say why no format fits and what to do."""
    found = document if document is not None else next(iter(records), None)
    advice = documents.advice(found, len(records) if document is None else 1)
    if advice:
        return advice
    first = next((line.strip() for line in lines if line.strip()), b"")
    if document is not None or first == b"{":
        return "a pretty-printed JSON document, not JSONL; one object a line: jq -c . FILE"
    if not records and any(True for _ in objects(lines)):
        return "only compactctl records and no transcript; resolve and render take such a file"
    if first.startswith(_UTF_16):
        return "UTF-16 text; save it as UTF-8 (PowerShell: Out-File -Encoding utf8)"
    if not records:
        return "no line is a JSON object; expected one JSON object a line"
    return f"no known format; known are {', '.join(names())} (choose one with --format)"
