"""What a stage reports: one line for people, one JSON record for machines; never content."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl._version import __version__
from compactctl.console import say
from compactctl.errors import InputError
from compactctl.files.pipes import open_to_write
from compactctl.jsonl import exact
from compactctl.rules import BY_ID
from compactctl.rules.rule import CHAT
from compactctl.text import plural
from compactctl.transcript.accounting import LineCounts
from compactctl.view import pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from compactctl.layers.base import Action
    from compactctl.model import Message
    from compactctl.pipeline import Result, Step
    from compactctl.transcript.accounting import Output
    from compactctl.transcript.loading import Transcript

__all__ = ["append", "details", "line", "open_tail", "plain", "record", "say"]

_OPEN_TAIL = "TAIL-01"
_TOO_LONG = "FILE-19"

_NAMED = 3
"""Files that are named of one call; a patch may change very many."""


def line(step: Step, tokenizer: str, *, approximate: bool = False, more: str = "") -> str:
    """Return the line for people; ``more`` is what is to be said beside what the step did."""
    about = "≈" if approximate else ""
    before, after = step.tokens_before, step.tokens_after
    size = f"{about}{plural(before, 'token')}"
    if after != before:
        share = f" ({(after - before) / before:+.1%})".replace("-", "−") if before else ""
        size = f"{about}{before:,} → {about}{plural(after, 'token')}{share}"
    note = f", {step.note}" if step.note else ""
    first = ""
    if step.first_changed is not None:
        first = f", first change at message {step.first_changed}"
    return f"{step.layer}: {size}{note}{first}{more} [{tokenizer}]"


def besides(result: Result) -> str:
    """Return what no layer says for itself: images that went, lines that could not be read."""
    before, after = (count_images(m) for m in (result.transcript.messages, result.messages))
    images = f", {plural(before - after, 'image')} taken out" if after < before else ""
    return f"{images}{unreadable(count_unreadable(result.transcript))}"


def count_images(messages: Sequence[Message]) -> int:
    """Count the images, also those in results."""
    return sum(
        (block.kind == "image") + sum(piece.kind == "image" for piece in block.content)
        for message in messages
        for block in message.blocks
    )


def count_unreadable(transcript: Transcript) -> int:
    """Count the lines that hold something, but no record that could be read."""
    if not transcript.unreadable:
        return 0
    return transcript.unreadable - sum(not entry.raw.strip() for entry in transcript.entries)


def unreadable(many: int) -> str:
    """Return the end of a line for people that says so; "" where there is nothing to say."""
    return f", {plural(many, 'line')} unreadable" if many > 0 else ""


def details(step: Step, about: Mapping[str, str], transcript: Transcript) -> list[str]:
    """Return a line for each action, for ``-v``; ``about`` is :func:`subjects`."""
    return [
        f"  line {transcript.line_of(action.entry) or '?'}: {action.rule}"
        f"{f' {action.call_id}' if action.call_id else ''}{about.get(action.call_id or '', '')}: "
        f"{action.tokens_before:,} → {plural(action.tokens_after, 'token')}"
        f"{f', {action.pointer}' if action.pointer else ''}"
        for action in step.actions
    ]


def subjects(transcript: Transcript) -> dict[str, str]:
    """Return for each call id its tool and the files that it is about, in brackets."""
    # Only here: validate and the stages of durable records do without.
    from compactctl.view.index import View  # noqa: PLC0415
    from compactctl.view.reads import reads_of  # noqa: PLC0415
    from compactctl.view.tools import changes  # noqa: PLC0415

    found: dict[str, str] = {}
    for each in View(transcript.messages).answered:
        reads = [read.path for read in reads_of(each.call, each.result)]
        changed = [path for path, _ in changes(each.call)]
        files = list(dict.fromkeys([*reads, *changed]))
        more = [f"and {len(files) - _NAMED} more"] if len(files) > _NAMED else []
        found[each.call.call_id or ""] = f" ({' '.join([each.call.tool, *files[:_NAMED], *more])})"
    return found


def open_tail(transcript: Transcript) -> int | None:
    """Return the line of the first call at the end that has no result yet.

    A call whose result may stand in a line too long to be read is not open.
    """
    messages = transcript.messages
    tail = messages[pairs.open_tail(messages, joined=transcript.format.profile not in CHAT) :]
    unread = max((f.line for f in transcript.faults if f.rule == _TOO_LONG), default=0)
    for interaction in pairs.pair(tail).interactions:
        if interaction.result is None:
            line = transcript.entries[pairs.block_at(tail, interaction.call).entry].line
            if line > unread:
                return line
    return None


def warn_of_open_tail(transcript: Transcript) -> str | None:
    """Give the warning that the session stopped in a call, for people."""
    at = open_tail(transcript)
    if at is None:
        return None
    says = BY_ID[_OPEN_TAIL].says
    return f"{transcript.name}:{at}: warning {_OPEN_TAIL}: {says}; they stay as they are"


def warn_of_no_message(transcript: Transcript) -> str | None:
    """Give the warning that nothing was read, as when ``--format`` names the wrong one."""
    if transcript.messages:
        return None
    name = transcript.format.name
    return f"{transcript.name}: warning: no message in it, read as {name}"


def record(
    stage: str,
    result: Result,
    written: Output | None,
    tokenizer: str,
    seconds: float,
    *,
    total: Step | None = None,
) -> dict[str, Any]:
    """Give the JSON record (CONTRACT §4).

    ``seconds`` is the time that the stage took; ``total`` sums up its steps where they do not
    tell all.
    """
    transcript, steps = result.transcript, result.steps if total is None else [total]
    before, after = (steps[0].tokens_before, steps[-1].tokens_after) if steps else (None, None)
    first = [step.first_changed for step in steps if step.first_changed is not None]
    counts = written.counts if written else LineCounts(transcript.entries[-1].line)
    lines = counts.without(transcript.unreadable)
    return plain(stage, transcript.name, lines, warnings=_warnings(result), seconds=seconds) | {
        "format": transcript.format.name,
        "tokenizer": tokenizer,
        "tokens_before": before,
        "tokens_after": after,
        "tokens_saved": None if before is None or after is None else before - after,
        "messages_before": len(transcript.messages),
        "messages_after": len(result.messages),
        "actions": [_action(a, transcript) for step in result.steps for a in step.actions],
        "first_changed_message": min(first, default=None),
    }


def plain(
    stage: str,
    source: str,
    lines: LineCounts,
    *,
    warnings: Iterable[str],
    seconds: float,
    actions: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Give the record of a stage that works on lines and counts neither messages nor tokens."""
    return {
        "stage": stage,
        "version": __version__,
        "source": source,
        "format": None,
        "tokenizer": None,
        "tokens_before": None,
        "tokens_after": None,
        "tokens_saved": None,
        "messages_before": None,
        "messages_after": None,
        "lines": msgspec.structs.asdict(lines),
        "actions": list(actions),
        "first_changed_message": None,
        "warnings": list(warnings),
        "seconds": round(seconds, 3),
    }


def _warnings(result: Result) -> list[str]:
    """Give the open tail, and why a layer did nothing; "0 results cut" is no reason."""
    at = open_tail(result.transcript)
    reasons = [step.note for step in result.steps if step.note and not step.actions]
    return [
        *([] if at is None else [f"{_OPEN_TAIL} line {at}"]),
        *(reason for reason in reasons if not reason[0].isdigit()),
    ]


def _action(action: Action, transcript: Transcript) -> dict[str, Any]:
    return {
        "rule": action.rule,
        "line": transcript.line_of(action.entry),
        "call_id": action.call_id,
        "tokens_before": action.tokens_before,
        "tokens_after": action.tokens_after,
        "pointer": action.pointer,
    }


def append(path: str, entry: dict[str, Any]) -> None:
    """Append one record in a single write, so that stages of one pipe can share a file.

    Raises:
        InputError: the file cannot be written.

    """
    line = exact.dump(entry) + b"\n"
    try:
        handle = open_to_write(path, os.O_APPEND | os.O_CREAT)
        try:
            written = os.write(handle, line)
            if written < len(line):
                _take_back(handle, written)
        finally:
            os.close(handle)
    except OSError as error:
        raise InputError(f"the report cannot be written: {error.strerror}", file=path) from None
    if written < len(line):
        raise InputError("the report cannot be written whole: the disk is full", file=path)


def _take_back(handle: int, written: int) -> None:
    """Remove the half of a record that there was room for, if it is still the end of the file."""
    with contextlib.suppress(OSError):  # a pipe
        end = os.lseek(handle, 0, os.SEEK_CUR)
        if os.fstat(handle).st_size == end:
            os.ftruncate(handle, end - written)
