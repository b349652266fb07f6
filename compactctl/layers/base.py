"""What a layer is: a function from a view to a change, in a module of its own name.

A layer's keyword-only parameters, annotated ``Annotated[type, "help"]``, are its options; its
docstring is its help; ``EXAMPLE`` in its module is the command line shown under ``--help``. It
keeps a message by passing the very object on, and running it twice changes nothing more than
running it once. It knows blocks and messages, never lines or parents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import msgspec

from compactctl.model import Block
from compactctl.tokens import Counter, count_block, count_view
from compactctl.view.edits import Edits, Insert
from compactctl.view.index import View
from compactctl.view.protected import Protected


class Context(msgspec.Struct, frozen=True, dict=True):
    """What a layer works on.

    ``view`` is what it may change, but for what is ``protected``. ``counter`` counts tokens.
    ``sha256`` gives the hash of the bytes that hold the view. ``store`` keeps a text for good and
    gives the pointer to it; ``archive`` does so with the bytes that hold the view. None when the
    user named no place for that. ``protect`` are the globs of files that the user protects.
    ``flags_failures``: the format says of each result whether its call failed.
    """

    view: View
    counter: Counter
    sha256: Callable[[], str] = str
    store: Callable[[str], str] | None = None
    archive: Callable[[], str] | None = None
    protect: tuple[str, ...] = ()
    flags_failures: bool = True

    @cached_property
    def protected(self) -> Protected:
        """What must stay, by every layer's rule."""
        return Protected(self.view, self.protect)

    def tokens(self) -> int:
        """Return the tokens of the whole view."""
        return count_view(self.counter, self.view.messages)

    def count(self, block: Block) -> int:
        """Return the tokens of one block."""
        return count_block(self.counter, block)


class Action(msgspec.Struct, frozen=True):
    """One thing that a layer did, without content: for the report and ``-v``.

    ``tokens_before`` and ``tokens_after`` are of the block or message that it concerns.
    """

    rule: str
    entry: int
    call_id: str | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    pointer: str | None = None


class Change(msgspec.Struct, frozen=True):
    """What a layer gives back: edits by block, and at most one new block.

    ``note`` says in a few words what was done ("12 results cut") or, when nothing was, why.
    ``mark`` is a compaction record to stand in front of what the layer made.
    """

    edits: Edits = {}
    insert: Insert | None = None
    actions: Sequence[Action] = ()
    note: str = ""
    mark: dict[str, Any] | None = None


Store = Literal["artifacts", "archive"]


def _always(_: Mapping[str, Any]) -> bool:
    return True


class Layer(msgspec.Struct, frozen=True):
    """A layer: ``run(context, *, option=…)`` returns its change; the rest is what it needs.

    ``example`` is shown under ``--help``. ``keeps`` names the stores that it can put things into.
    ``leaves_mark``: its record names lines and bytes of what it read, so these must be there.
    ``stores``: True for options with which it puts texts into ``artifacts``, if it can at all.
    ``must_apply``: its change stands even where the text grows, and ``compact`` runs it whatever
    the size of the view.
    """

    run: Callable[..., Change]
    example: str
    keeps: tuple[Store, ...] = ()
    stores: Callable[[Mapping[str, Any]], bool] = _always
    leaves_mark: bool = False
    must_apply: bool = False
