"""Run layers over a transcript: refuse what is broken, never make things worse, write once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from compactctl import layers
from compactctl.errors import HardLimitError, InvalidTranscriptError
from compactctl.layers import thinking
from compactctl.layers.base import Action, Change, Context
from compactctl.model import MADE, Message
from compactctl.rules import BY_ID
from compactctl.rules.check import Problem, breaks_pairs, pair_problems
from compactctl.text import plural
from compactctl.tokens import Counter, count_block, count_view, recount_view
from compactctl.transcript import usage
from compactctl.transcript.loading import Transcript, session
from compactctl.transcript.rewrite import Output, account, rewrite, write
from compactctl.transcript.usage import Recorded
from compactctl.view.compare import first_change
from compactctl.view.edits import Edits, apply, key
from compactctl.view.index import View

Options = Mapping[str, Mapping[str, Any]]
"""Options of each layer, by its name."""


class Keep(msgspec.Struct, frozen=True):
    """Where what layers take out is kept for good; each gives the pointer to it.

    ``text`` keeps one text, ``whole`` all bytes that a layer read.
    """

    text: Callable[[str], str] | None = None
    whole: Callable[[bytes], str] | None = None


def keep_in(
    transcript: Transcript, artifacts: str | None, archive: str | None, *, dry: bool = False
) -> Keep:
    """Return stores in these folders; dry ones only say what the pointers would be."""
    if not (artifacts or archive):
        return Keep()
    from compactctl.durable.artifacts import ArtifactStore  # noqa: PLC0415 (only with a store)

    name = session(transcript)
    return Keep(
        ArtifactStore(artifacts, name, dry=dry).put if artifacts else None,
        ArtifactStore(archive, name, dry=dry).put_bytes if archive else None,
    )


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
        """Return the lines that hold the view; what no layer ran over stays as it is."""
        return self.lines or _as_read(self.transcript)


class _Draft(msgspec.Struct, frozen=True):
    """A transcript as it was last read, and changes that are in no line of it yet.

    ``edits`` are those of all layers since then, made to ``transcript.messages``. ``origins``
    gives for each entry the index that it had in the first transcript.
    """

    transcript: Transcript
    view: View
    origins: Sequence[int]
    edits: Edits = {}
    mark: dict[str, Any] | None = None
    recorded: Recorded | None = None
    """The newest usage if it is another by now."""

    @property
    def touched(self) -> set[int]:
        """The entries of which a block was changed or taken out."""
        return {entry for entry, _ in self.edits}

    @property
    def is_changed(self) -> bool:
        return self.view.messages is not self.transcript.messages

    def holds_new(self) -> bool:
        """True if something in the view is in no line yet."""
        blocks = (block for message in self.view.messages for block in message.blocks)
        return self.is_changed and any(block.entry == MADE for block in blocks)

    def origin(self, index: int) -> int:
        """Return the index in the first transcript, MADE for what was not in it."""
        return self.origins[index] if index != MADE else MADE


def refuse_broken(transcript: Transcript, messages: Sequence[Message] | None = None) -> None:
    """Make sure that each call has its result, as every layer needs.

    Raises:
        InvalidTranscriptError: names the line, the rule and the call.

    """
    view = transcript.messages if messages is None else messages
    form = transcript.format
    answered = form.answers_open_calls
    unread = transcript.unread()
    for problem in pair_problems(view, form.profile, calls_are_answered=answered, unread=unread):
        if breaks_pairs(problem):
            raise InvalidTranscriptError(
                describe(problem), file=transcript.name, line=line_of(transcript, view, problem)
            )


def describe(problem: Problem) -> str:
    """Return what does not hold and how to fix it."""
    rule = BY_ID[problem.rule]
    call = f" {problem.call_id}" if problem.call_id else ""
    return f"{rule.id}{call}: {rule.says}; {rule.advice()}"


def line_of(transcript: Transcript, messages: Sequence[Message], problem: Problem) -> int | None:
    """Return the line of the block that a problem is about."""
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
    protect: Sequence[str] = (),
    keep_usage: bool = False,
) -> Result:
    """Run the named layers one after another; stop when the view is below ``until`` tokens.

    Reads of files that match a glob of ``protect`` stay as they are. The newest usage that the
    lines record is made true of the new view, unless ``keep_usage``.

    Raises:
        InvalidTranscriptError: the view was broken before, or a layer broke it.

    """
    refuse_broken(transcript)
    draft = _Draft(transcript, View(transcript.messages), range(len(transcript.entries)))
    mark: dict[str, Any] | None = None
    steps: list[Step] = []
    tokens = count_view(counter, transcript.messages) if names else 0
    for name in names:
        layer = layers.load(name)
        if until is not None and tokens < until and not layer.must_apply:
            continue
        if draft.holds_new() or layer.leaves_mark:
            draft = _read_back(draft)
        change = layer.run(_context(draft, counter, keep, protect), **options.get(name, {}))
        old, (draft, step) = draft, _take(draft, name, change, tokens, counter, mode)
        if not keep_usage and step.first_changed is not None:
            draft = _with_usage(old, draft, step, counter)
        steps.append(step)
        tokens, mark = step.tokens_after, (change.mark if step.actions else None) or mark
    if counter.is_for_one:
        counter.rest()  # before the lines are made, which takes most memory
    return Result(transcript, draft.view.messages, mark, steps, _written(transcript, draft))


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
    protect: Sequence[str] = (),
    keep_usage: bool = False,
) -> Result:
    """Run layers until the view is under ``soft_limit`` tokens.

    Raises:
        HardLimitError: the view is at or above ``hard_limit`` after all of them.
        InvalidTranscriptError: as for :func:`run`.

    """
    result = run(
        transcript,
        names,
        options,
        counter,
        mode=mode,
        until=soft_limit,
        keep=keep,
        protect=protect,
        keep_usage=keep_usage,
    )
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


def _context(draft: _Draft, counter: Counter, keep: Keep | None, protect: Sequence[str]) -> Context:
    """Return what a layer works on; bytes are made only for a layer that asks for them."""
    whole = keep.whole if keep else None
    return Context(
        draft.view,
        counter,
        lambda: _sha256(draft),
        keep.text if keep else None,
        (lambda: whole(b"".join(_raw(draft)))) if whole else None,
        tuple(protect),
        draft.transcript.format.flags_failures,
    )


def _raw(draft: _Draft) -> Iterator[bytes]:
    """Yield the bytes that a stage of its own would read."""
    return (entry.raw for entry in _read_back(draft).transcript.entries)


def _sha256(draft: _Draft) -> str:
    """Return the hash of these bytes, which never lie side by side."""
    digest = hashlib.sha256()
    for raw in _raw(draft):
        digest.update(raw)
    return digest.hexdigest()


_LARGER = "skipped: the result would be larger"


def _take(
    draft: _Draft, name: str, change: Change, before: int, counter: Counter, mode: thinking.Mode
) -> tuple[_Draft, Step]:
    """Go on with a change and with what it means for thinking, unless it makes things worse.

    What layers take out and shorten is carried on as it is: the laws hold it to what a stage of
    its own would read.
    """
    old, form = draft.view.messages, draft.transcript.format
    new = apply(old, change.edits, change.insert, joins_answers=form.joins_answers)
    first = first_change(old, new)
    stale = thinking.stale_thinking(new, first, mode)
    if stale:
        change = _with_thinking(change, new, stale, counter)
        new = apply(new, stale, joins_answers=form.joins_answers)
        first = first_change(old, new)
    same = Step(name, before, before, len(old), len(old), (), change.note, None)
    if first is None:
        return draft, same
    after = recount_view(counter, before, old, new)
    if after > before and not layers.load(name).must_apply:
        return _take(draft, name, Change(note=_LARGER), before, counter, mode)
    actions = [
        msgspec.structs.replace(action, entry=draft.origin(action.entry))
        for action in change.actions
    ]
    step = Step(name, before, after, len(old), len(new), actions, change.note, first)
    edits = {**draft.edits, **change.edits, **stale}
    return _Draft(
        draft.transcript, View(new), draft.origins, edits, change.mark, draft.recorded
    ), step


def _with_thinking(
    change: Change, messages: Sequence[Message], stale: Edits, counter: Counter
) -> Change:
    """Name the thinking that goes: one action for each block of it, and their sum in the note."""
    actions = [
        Action("thinking", block.entry, None, count_block(counter, block))
        for message in messages
        for block in message.blocks
        if key(block) in stale
    ]
    tokens = sum(action.tokens_before for action in actions)
    said = f"{plural(len(actions), 'thinking block')} removed ({plural(tokens, 'token')})"
    note = f"{change.note}, {said}" if change.note else said
    return msgspec.structs.replace(change, actions=[*change.actions, *actions], note=note)


def _with_usage(old: _Draft, new: _Draft, step: Step, counter: Counter) -> _Draft:
    """Return the draft with its newest usage made true of a step."""
    recorded = old.recorded or usage.newest(old.transcript, old.view.messages)
    left = usage.newest(new.transcript, new.view.messages) if recorded else None
    if recorded is None or left is None:
        return new
    before = usage.Measured(old.view.messages, step.tokens_before, recorded)
    after = usage.Measured(new.view.messages, step.tokens_after, left)
    return msgspec.structs.replace(new, recorded=usage.resized(before, after, counter))


def _read_back(draft: _Draft) -> _Draft:
    """Write the view and read it back, as the next stage of a pipe would."""
    if not draft.is_changed:
        return draft
    written, new = write(
        draft.transcript, draft.view.messages, draft.touched, draft.mark, draft.recorded
    )
    refuse_broken(new)
    assert len(new.entries) == len(written.origins)
    return _Draft(new, View(new.messages), [draft.origin(index) for index in written.origins])


def _written(transcript: Transcript, draft: _Draft) -> Output:
    """Return the lines that hold the view, counted against those that ``transcript`` had.

    They are read back only where lines that go may reveal hidden ones; elsewhere the laws hold
    that they would read back as they are, and to see it would take twice the memory.
    """
    if draft.is_changed and not draft.transcript.hides:
        refuse_broken(draft.transcript, draft.view.messages)
        written = rewrite(
            draft.transcript,
            draft.view.messages,
            draft.touched,
            draft.mark,
            recorded=draft.recorded,
        )
        if draft.transcript is transcript:
            return written
        origins = [draft.origin(index) for index in written.origins]
        return account(transcript.entries, written.chunks, origins)
    draft = _read_back(draft)
    chunks = [entry.raw for entry in draft.transcript.entries]
    return account(transcript.entries, chunks, list(draft.origins))


def _as_read(transcript: Transcript) -> Output:
    chunks = [entry.raw for entry in transcript.entries]
    return account(transcript.entries, chunks, [*range(len(chunks))])
