"""What a layer is: a function from a view to a change, in a module of its own name.

A layer's keyword-only parameters, annotated ``Annotated[type, "help"]``, are its options; its
docstring is its help; ``EXAMPLE`` in its module is the command line shown under ``--help``. It
keeps a message by passing the very object on, and running it twice changes nothing more than
running it once. It knows blocks and messages, never lines or parents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from compactctl.model import Block, Message
from compactctl.tokens import Counter, count_block, count_view


class View(msgspec.Struct, frozen=True):
    """What a layer works on.

    ``counter`` counts tokens. ``signed``: thinking in this format is bound to what precedes it.
    ``sha256`` gives the hash of the bytes that hold the view. ``store`` keeps a text for good and
    gives the pointer to it; ``archive`` does so with the bytes that hold the view. None when the
    user named no place for that.
    """

    messages: Sequence[Message]
    counter: Counter
    signed: bool = True
    sha256: Callable[[], str] = str
    store: Callable[[str], str] | None = None
    archive: Callable[[], str] | None = None

    def tokens(self) -> int:
        """Count the whole view."""
        return count_view(self.counter, self.messages)

    def count(self, block: Block) -> int:
        """Count one block."""
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
    """What a layer gives back.

    ``note`` says in a few words what was done ("12 results cut") or, when nothing was, why.
    ``mark`` is a compaction record to stand in front of what the layer made.
    """

    messages: Sequence[Message]
    actions: Sequence[Action] = ()
    note: str = ""
    mark: dict[str, Any] | None = None


Layer = Callable[..., Change]
"""``layer(view, *, option=…) -> Change``."""
