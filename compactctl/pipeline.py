"""Run layers over a transcript: refuse what is broken, never make things worse, write once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from compactctl import layers, thinking
from compactctl.assemble import merge_users
from compactctl.errors import HardLimitError, InvalidTranscriptError
from compactctl.layer import Action, Change, View
from compactctl.model import Message
from compactctl.protocol.check import Problem, breaks_pairs, problems
from compactctl.protocol.rules import BY_ID
from compactctl.rewrite import Written, rewrite
from compactctl.tokens import Counter
from compactctl.transcript import Transcript

Options = Mapping[str, Mapping[str, Any]]
"""Options of each layer, by its name."""


class Step(msgspec.Struct, frozen=True):
    """What one layer did to the view; ``first_changed`` is the index of a message or None."""

    layer: str
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    actions: Sequence[Action]
    note: str
    first_changed: int | None


class Result(msgspec.Struct, frozen=True):
    """The view after all layers, and what each of them did."""

    transcript: Transcript
    messages: Sequence[Message]
    mark: dict[str, Any] | None
    steps: list[Step]

    def written(self) -> Written:
        """Write the view back into lines."""
        return rewrite(self.transcript, self.messages, self.mark)


def refuse_broken(transcript: Transcript, messages: Sequence[Message] | None = None) -> None:
    """Make sure that each call has its result, as every layer needs.

    Raises:
        InvalidTranscriptError: names the line, the rule and the call.

    """
    view = transcript.messages if messages is None else messages
    for problem in problems(view, transcript.format.PROFILE):
        if breaks_pairs(problem):
            raise InvalidTranscriptError(
                describe(problem), file=transcript.name, line=line_of(transcript, view, problem)
            )


def describe(problem: Problem) -> str:
    """Say what does not hold and how to mend it."""
    rule = BY_ID[problem.rule]
    call = f" {problem.call_id}" if problem.call_id else ""
    return f"{rule.id}{call}: {rule.says}; {rule.mend}"


def line_of(transcript: Transcript, messages: Sequence[Message], problem: Problem) -> int | None:
    """Give the line of the block that a problem is about."""
    block = messages[problem.place.message].blocks[problem.place.block]
    return transcript.entries[block.entry].line if block.entry >= 0 else None


def run(
    transcript: Transcript,
    names: Sequence[str],
    options: Options,
    counter: Counter,
    *,
    mode: thinking.Mode = "auto",
    until: int | None = None,
) -> Result:
    """Run the named layers one after another; stop when the view is below ``until`` tokens.

    Raises:
        InvalidTranscriptError: the view was broken before, or a layer broke it.

    """
    refuse_broken(transcript)
    messages: Sequence[Message] = transcript.messages
    mark: dict[str, Any] | None = None
    steps: list[Step] = []
    for name in names:

        def sha256(messages: Sequence[Message] = messages, mark: Any = mark) -> str:
            return _sha256(transcript, messages, mark)

        view = View(messages, counter, transcript.format.SIGNED, sha256)
        before = steps[-1].tokens_after if steps else view.tokens()
        if until is not None and before < until:
            break
        change = _apply(name, view, options.get(name, {}), mode, before)
        refuse_broken(transcript, change.messages)
        steps.append(_step(name, view, change, before))
        messages, mark = change.messages, change.mark or mark
    return Result(transcript, messages, mark, steps)


def compact(
    transcript: Transcript,
    names: Sequence[str],
    options: Options,
    counter: Counter,
    *,
    soft_limit: int,
    hard_limit: int,
    mode: thinking.Mode = "auto",
) -> Result:
    """Run layers until the view is under ``soft_limit`` tokens.

    Raises:
        HardLimitError: the view is at or above ``hard_limit`` after all of them.
        InvalidTranscriptError: as for :func:`run`.

    """
    result = run(transcript, names, options, counter, mode=mode, until=soft_limit)
    view = View(transcript.messages, counter)
    before = result.steps[0].tokens_before if result.steps else view.tokens()
    after = result.steps[-1].tokens_after if result.steps else before
    if after >= hard_limit:
        ran = ", ".join(step.layer for step in result.steps) or "no layer"
        raise HardLimitError(
            f"still {after:,} tokens (from {before:,}) after {ran}; the hard limit is "
            f"{hard_limit:,}: raise --hard-limit or give the layers tighter options",
            file=transcript.name,
        )
    return result


def _apply(
    name: str, view: View, options: Mapping[str, Any], mode: thinking.Mode, before: int
) -> Change:
    """Run one layer and settle what follows from it; keep the input if it would grow."""
    change = layers.load(name)(view, **options)
    settled = thinking.settle(view.messages, change.messages, mode, signed=view.signed)
    messages = settled if settled is change.messages else merge_users(settled)
    if thinking.first_change(view.messages, messages) is None:
        return Change(view.messages, (), change.note)
    if View(messages, view.counter).tokens() > before:
        return Change(view.messages, (), "left as it was: the result would be larger")
    return msgspec.structs.replace(change, messages=messages)


def _step(name: str, view: View, change: Change, before: int) -> Step:
    same = change.messages is view.messages
    return Step(
        name,
        before,
        before if same else View(change.messages, view.counter).tokens(),
        len(view.messages),
        len(change.messages),
        change.actions,
        change.note,
        None if same else thinking.first_change(view.messages, change.messages),
    )


def _sha256(
    transcript: Transcript, messages: Sequence[Message], mark: dict[str, Any] | None
) -> str:
    """Hash the bytes that a stage of its own would read here."""
    digest = hashlib.sha256()
    for chunk in rewrite(transcript, messages, mark).chunks:
        digest.update(chunk)
    return digest.hexdigest()
