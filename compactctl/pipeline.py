"""Run layers over a transcript: refuse what is broken, never make things worse, write once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from compactctl import layers
from compactctl.errors import HardLimitError, InvalidTranscriptError
from compactctl.layers import thinking
from compactctl.layers.base import Action, Change, View
from compactctl.model import MADE, Message
from compactctl.rules import BY_ID
from compactctl.rules.check import Problem, answers_calls, breaks_pairs, pair_problems
from compactctl.tokens import Counter, count_view, recount_view
from compactctl.transcript.loading import Transcript
from compactctl.transcript.rewrite import Output, account, rewrite, write
from compactctl.view.builder import merge_users
from compactctl.view.compare import first_change

Options = Mapping[str, Mapping[str, Any]]
"""Options of each layer, by its name."""


class Keep(msgspec.Struct, frozen=True):
    """Where what layers take out is kept for good; each gives the pointer to it.

    ``text`` keeps one text, ``whole`` all bytes that a layer read.
    """

    text: Callable[[str], str] | None = None
    whole: Callable[[bytes], str] | None = None


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
    """The view after all layers, what each of them did, and the lines that hold it."""

    transcript: Transcript
    messages: Sequence[Message]
    mark: dict[str, Any] | None
    steps: list[Step]
    lines: Output | None = None

    def written(self) -> Output:
        """Give the lines that hold the view."""
        return self.lines or rewrite(self.transcript, self.messages, self.mark)


class _State(msgspec.Struct, frozen=True):
    """Where a run has come to: the lines as they were last read, and the view as it is by now.

    ``origins`` gives for each entry the index of the entry of the first transcript that it was.
    """

    transcript: Transcript
    messages: Sequence[Message]
    origins: Sequence[int]
    mark: dict[str, Any] | None = None
    written: Output | None = None

    def is_read(self) -> bool:
        """Say whether the lines hold the view."""
        return self.messages is self.transcript.messages

    def is_plain(self) -> bool:
        """Say whether nothing but cuts were made in lines as they came, where no line hides any.

        What is left then reads back as it is, which the laws hold; to see it, twice the memory
        would be needed.
        """
        is_first = isinstance(self.origins, range) and not self.transcript.hides
        return is_first and not self.is_read() and not self.holds_made()

    def holds_made(self) -> bool:
        """Say whether something in the view is in no line yet."""
        blocks = (block for message in self.messages for block in message.blocks)
        return not self.is_read() and any(block.entry == MADE for block in blocks)


def refuse_broken(transcript: Transcript, messages: Sequence[Message] | None = None) -> None:
    """Make sure that each call has its result, as every layer needs.

    Raises:
        InvalidTranscriptError: names the line, the rule and the call.

    """
    view = transcript.messages if messages is None else messages
    module = transcript.format
    answered = answers_calls(module)
    for problem in pair_problems(view, module.PROFILE, calls_are_answered=answered):
        if breaks_pairs(problem):
            raise InvalidTranscriptError(
                describe(problem), file=transcript.name, line=line_of(transcript, view, problem)
            )


def describe(problem: Problem) -> str:
    """Say what does not hold and how to fix it."""
    rule = BY_ID[problem.rule]
    call = f" {problem.call_id}" if problem.call_id else ""
    return f"{rule.id}{call}: {rule.says}; {rule.fix}"


def line_of(transcript: Transcript, messages: Sequence[Message], problem: Problem) -> int | None:
    """Give the line of the block that a problem is about."""
    block = messages[problem.place.message].blocks[problem.place.block]
    return transcript.line_of(block.entry)


def run(
    transcript: Transcript,
    names: Sequence[str],
    options: Options,
    counter: Counter,
    *,
    mode: thinking.Mode = "auto",
    until: int | None = None,
    keep: Keep | None = None,
) -> Result:
    """Run the named layers one after another; stop when the view is below ``until`` tokens.

    Raises:
        InvalidTranscriptError: the view was broken before, or a layer broke it.

    """
    refuse_broken(transcript)
    state = _State(transcript, transcript.messages, range(len(transcript.entries)))
    mark: dict[str, Any] | None = None
    steps: list[Step] = []
    tokens = count_view(counter, transcript.messages) if names else 0
    for name in names:
        if until is not None and tokens < until:
            break
        if state.holds_made() or layers.leaves_mark(name):
            state = _read_back(state)
        change = _settled(name, state, options.get(name, {}), counter, mode, keep)
        state, step = _take(name, state, change, tokens, counter)
        steps.append(step)
        tokens, mark = step.tokens_after, (change.mark if step.actions else None) or mark
    if counter.is_for_one:
        counter.rest()  # before the lines are made, which takes most memory
    if state.is_plain():
        refuse_broken(transcript, state.messages)
        lines = rewrite(transcript, state.messages)
        return Result(transcript, state.messages, mark, steps, lines)
    state = _read_back(state)
    written = state.written
    if written is None or written.origins is not state.origins:  # written more than once, or never
        chunks = [entry.raw for entry in state.transcript.entries]
        written = account(transcript.entries, chunks, list(state.origins))
    return Result(transcript, state.messages, mark, steps, written)


def compact(
    transcript: Transcript,
    names: Sequence[str],
    options: Options,
    counter: Counter,
    *,
    soft_limit: int,
    hard_limit: int,
    mode: thinking.Mode = "auto",
    keep: Keep | None = None,
) -> Result:
    """Run layers until the view is under ``soft_limit`` tokens.

    Raises:
        HardLimitError: the view is at or above ``hard_limit`` after all of them.
        InvalidTranscriptError: as for :func:`run`.

    """
    result = run(transcript, names, options, counter, mode=mode, until=soft_limit, keep=keep)
    before = (
        result.steps[0].tokens_before if result.steps else count_view(counter, transcript.messages)
    )
    after = result.steps[-1].tokens_after if result.steps else before
    if after >= hard_limit:
        ran = ", ".join(step.layer for step in result.steps) or "no layer"
        raise HardLimitError(
            f"still {after:,} tokens (from {before:,}) after {ran}; the hard limit is "
            f"{hard_limit:,}: raise --hard-limit or give the layers tighter options",
            file=transcript.name,
        )
    return result


def _settled(
    name: str,
    state: _State,
    options: Mapping[str, Any],
    counter: Counter,
    mode: thinking.Mode,
    keep: Keep | None,
) -> Change:
    """Run one layer, and take out the thinking that may not stay behind what it changed."""
    module = state.transcript.format
    whole = keep.whole if keep else None
    view = View(
        state.messages,
        counter,
        module.SIGNED,
        lambda: _sha256(state),
        keep.text if keep else None,
        (lambda: whole(_bytes(state))) if whole else None,
    )
    change = layers.load(name)(view, **options)
    settled = thinking.settle(view.messages, change.messages, mode, signed=view.signed)
    if settled is not change.messages or getattr(module, "ANSWERS_JOIN", False):
        settled = merge_users(settled, answers=getattr(module, "ANSWERS_JOIN", False))
    return msgspec.structs.replace(change, messages=settled)


def _bytes(state: _State) -> bytes:
    """Give the bytes that a stage of its own would read."""
    return b"".join(entry.raw for entry in _read_back(state).transcript.entries)


def _sha256(state: _State) -> str:
    """Give the hash of these bytes, which never lie side by side."""
    digest = hashlib.sha256()
    for entry in _read_back(state).transcript.entries:
        digest.update(entry.raw)
    return digest.hexdigest()


def _take(
    name: str, state: _State, change: Change, before: int, counter: Counter
) -> tuple[_State, Step]:
    """Go on with a change, unless it makes things worse.

    What layers take out and shorten is carried on as it is; it would read back the same, which
    the laws hold.
    """
    first = first_change(state.messages, change.messages)
    many = len(state.messages)
    same = Step(name, before, before, many, many, (), change.note, None)
    if first is None:
        return state, same
    after = recount_view(counter, before, state.messages, change.messages)
    if after > before:
        note = "left as it was: the result would be larger"
        return state, msgspec.structs.replace(same, note=note)
    actions = [
        msgspec.structs.replace(action, entry=_origin(state, action.entry))
        for action in change.actions
    ]
    new = msgspec.structs.replace(state, messages=change.messages, mark=change.mark)
    step = Step(name, before, after, many, len(new.messages), actions, change.note, first)
    return new, step


def _read_back(state: _State) -> _State:
    """Write the view and read it back, as the next stage of a pipe would."""
    if state.is_read():
        return state
    written, new = write(state.transcript, state.messages, state.mark)
    refuse_broken(new)
    assert len(new.entries) == len(written.origins)
    if isinstance(state.origins, range):  # the first time
        return _State(new, new.messages, written.origins, None, written)
    return _State(new, new.messages, [_origin(state, index) for index in written.origins])


def _origin(state: _State, index: int) -> int:
    return state.origins[index] if index != MADE else MADE
