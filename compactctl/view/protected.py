"""What no layer may take out: requests, standing rules, protected files, the open todo list.

Every layer asks :class:`Protected`, which its context carries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from compactctl import placeholders, summaries
from compactctl.model import Block, Message, result_text, text_pieces
from compactctl.view import paths
from compactctl.view.index import View
from compactctl.view.pairs import Place
from compactctl.view.reads import points_back, reads_of
from compactctl.view.reasoning import with_steps
from compactctl.view.requests import own_words
from compactctl.view.shell import is_shell
from compactctl.view.tools import PROTECTED, open_todo

_RULES = (
    "<system-reminder>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<environment_context>",
    "<INSTRUCTIONS>",
    "<REPOSITORY_INSTRUCTIONS>",
)
"""Codex, for one, does not send its own again when they are gone."""
_SHELL_HEADER = "\nOutput:\n"
"""Ends what Codex puts before the output of a command; it differs from run to run."""


_STANDING = frozenset(
    "instructions nested_memory critical_system_reminder output_style environment model date "
    "deferred_tools_delta agent_listing_delta mcp_instructions_delta skill_listing".split()
)
"""Types of what a harness attaches once and goes by from then on."""


def is_rule(block: Block) -> bool:
    """Return True if a user block holds instructions or facts that a harness put in."""
    if block.kind == "document":
        return block.meta and block.type in _STANDING
    return block.kind == "text" and block.text.lstrip().startswith(_RULES)


def is_request(block: Block) -> bool:
    """Return True if a user block holds what a person asked; images and files are part of it."""
    if block.kind == "result" or block.meta or block.is_summary:
        return False
    return block.kind != "text" or not block.text or bool(own_words(block.text).strip())


def first_request(messages: Sequence[Message]) -> set[Place]:
    """Return the blocks of the first user message, and of the first in which a person asked.

    Results are no part of it, and a note of this tool alone is not that message: it may be put in
    front of it. A summary of what came before counts as what was asked first; one
    that stands beside it in front of the first answer stays as well.
    """
    found: set[Place] = set()
    opened = asked = False
    for position, message in enumerate(messages):
        if message.role == "assistant" and asked:
            break
        if message.role != "user":
            continue
        blocks = list(enumerate(message.blocks))
        sums_up = {Place(position, at) for at, block in blocks if is_summary(block)}
        asks = bool(sums_up) or any(is_request(block) for _, block in blocks)
        if not asked and (asks or not opened):
            found |= {Place(position, at) for at, block in blocks if block.kind != "result"}
            opened = opened or any(_is_said(block) for _, block in blocks)
        elif asked:
            found |= sums_up
        asked = asked or asks
    return found


def _is_said(block: Block) -> bool:
    """Return True if a user block is more than a result or a note of this tool."""
    return block.kind != "result" and not (
        block.kind == "text" and placeholders.is_note(block.text)
    )


def is_summary(block: Block) -> bool:
    """Return True if a user block sums up what came before, in the words of any tool."""
    return block.is_summary or summaries.is_any(block.text)


def last_request(messages: Sequence[Message]) -> set[Place]:
    """Return the blocks of the last user message in which a person asked for something."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.role != "user":
            continue
        asked = {Place(position, at) for at, b in enumerate(message.blocks) if is_request(b)}
        if asked:
            return asked
    return set()


class Protected:
    """What must stay of one view, whatever layer works on it.

    ``globs`` name files beside those of standing rules: what was read of them stays as well. Each
    answer is made once, when it is first asked for.
    """

    def __init__(self, view: View, globs: Sequence[str] = ()) -> None:
        """Take the view; nothing is looked for yet."""
        self._view = view
        self._globs = (*PROTECTED, *globs)

    def names(self, path: str) -> bool:
        """Return True if what was read of this file must stay."""
        return paths.matches(path, self._globs)

    @cached_property
    def always(self) -> set[Place]:
        """What stays word for word: the last request, standing rules, the open todo list."""
        return last_request(self._view.messages) | self.rules | self.todo

    @cached_property
    def with_first(self) -> set[Place]:
        """The same, and the first request."""
        return first_request(self._view.messages) | self.always

    @cached_property
    def rules(self) -> set[Place]:
        """The blocks of standing rules and protected files; of identical copies the latest."""
        latest: dict[str, set[Place]] = {}
        for position, message in enumerate(self._view.messages):
            if message.role != "user":
                continue
            for at, block in enumerate(message.blocks):
                if is_rule(block):
                    said = block.text or "\0".join(piece.text for piece in text_pieces(block))
                    latest[said] = {Place(position, at)}
        for found in self._view.answered:
            shown = self._rules_read(found.call, found.result)
            if shown:
                latest[shown] = {found.call_at, found.result_at}
        return with_steps(self._view, set().union(*latest.values()))

    def _rules_read(self, call: Block, result: Block) -> str | None:
        """Return what identifies a read of protected files; None for a call that read none."""
        is_asked = self._globs != PROTECTED or result.path is not None
        if not is_asked and not any(name in call.text for name in PROTECTED):  # nearly always
            return None
        reads = reads_of(call, result)
        if not any(self.names(read.path) for read in reads):
            return None
        text = result_text(result)
        _, header, output = text.partition(_SHELL_HEADER) if is_shell(call.tool) else ("", "", "")
        return "\0".join([*(read.key for read in reads), output if header else text])

    @cached_property
    def todo(self) -> set[Place]:
        """The calls, with their results, that say what is still to be done."""
        said = open_todo(self._view).said
        kept = {place for found in said for place in (found.call_at, found.result_at)}
        return with_steps(self._view, kept)

    def sources(self, stays: Callable[[Place], bool]) -> set[Place]:
        """Return the reads, call and result, to which results that stay only point back.

        A harness answers a second read of a file with "unchanged"; without the first that says
        nothing.
        """
        view = self._view
        if not any(b.kind == "result" and _points_back(b) for m in view.messages for b in m.blocks):
            return set()
        shown: dict[str, set[Place]] = {}
        needed: set[Place] = set()
        for found in view.answered:
            for read in reads_of(found.call, found.result):
                if not _points_back(found.result):
                    shown[read.key] = {found.call_at, found.result_at}
                elif stays(found.result_at):
                    needed |= shown.get(read.key, set())
        return with_steps(view, needed)


def _points_back(result: Block) -> bool:
    return not result.failed and points_back(result_text(result))
