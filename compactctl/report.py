"""What a stage reports: one line for people, one JSON record for machines; never content."""

from __future__ import annotations

import os
import sys
from typing import Any

from compactctl import jsonio
from compactctl._version import __version__
from compactctl.durable.escape import escape_terminal
from compactctl.errors import InputError
from compactctl.layer import Action
from compactctl.pipeline import Result, Step
from compactctl.rewrite import Written
from compactctl.transcript import Transcript


def say(text: str) -> None:
    """Print one line on standard error; text from a transcript cannot steer the terminal."""
    print(escape_terminal(text), file=sys.stderr)


def line(step: Step, tokenizer: str) -> str:
    """Give the line for people."""
    before, after = step.tokens_before, step.tokens_after
    share = f" ({(after - before) / before:+.1%})".replace("-", "−") if before else ""
    change = f"{before:,} → {after:,} tokens{share}" if after != before else f"{before:,} tokens"
    first = f", first change at message {step.first_changed}" if step.first_changed is not None else ""
    note = f", {step.note}" if step.note else ""
    return f"{step.layer}: {change}{note}{first} [{tokenizer}]"


def details(step: Step, transcript: Transcript) -> list[str]:
    """Give a line for each action, for ``-v``."""
    return [
        f"  line {_line(action, transcript) or '?'}: {action.rule}"
        f"{' ' + action.call_id if action.call_id else ''}: "
        f"{action.tokens_before:,} → {action.tokens_after:,} tokens"
        for action in step.actions
    ]


def _line(action: Action, transcript: Transcript) -> int | None:
    return transcript.entries[action.entry].line if action.entry >= 0 else None


def record(
    stage: str, result: Result, written: Written | None, tokenizer: str, seconds: float
) -> dict[str, Any]:
    """Give the JSON record (CONTRACT §4); ``seconds`` is the time that the stage took."""
    transcript, steps = result.transcript, result.steps
    first = [step.first_changed for step in steps if step.first_changed is not None]
    before = steps[0].tokens_before if steps else None
    after = steps[-1].tokens_after if steps else None
    unread = transcript.unreadable
    lines = {
        "kept": (written.kept if written else transcript.entries[-1].line) - unread,
        "changed": written.changed if written else 0,
        "dropped": written.dropped if written else 0,
        "added": written.added if written else 0,
        "unreadable": unread,
    }
    return {
        "stage": stage,
        "version": __version__,
        "source": transcript.name,
        "format": transcript.format.__name__.rpartition(".")[2].replace("_", "-"),
        "tokenizer": tokenizer,
        "tokens_before": before,
        "tokens_after": after,
        "tokens_saved": before - after if before is not None and after is not None else None,
        "messages_before": len(transcript.messages),
        "messages_after": len(result.messages),
        "lines": lines,
        "actions": [_action(a, transcript) for step in steps for a in step.actions],
        "first_changed_message": min(first, default=None),
        "warnings": [step.note for step in steps if not step.actions and step.note],
        "seconds": round(seconds, 3),
    }


def _action(action: Action, transcript: Transcript) -> dict[str, Any]:
    return {
        "rule": action.rule,
        "line": _line(action, transcript),
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
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, jsonio.dump(entry) + b"\n")
        finally:
            os.close(handle)
    except OSError as error:
        raise InputError(f"the report cannot be written: {error.strerror}", file=path) from None
