"""The counter that the layers, the reports and the limits share."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from compactctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("o200k_base", "cl100k_base", "chars")

MEMO_CHARACTERS = 1 << 26
"""How much counted text a counter keeps alive; one view is far below it, a bulk run is not."""


def _not_loaded(_text: str) -> int:
    raise AssertionError


class Counter:
    """Counts tokens, each distinct text once. Make it with ``load_counter``."""

    approximate = False
    """Whether the numbers only estimate what ``name`` promises; reports mark those with ≈."""

    def __init__(self, name: str) -> None:
        """Load nothing yet: ``name`` is one of ``NAMES``."""
        self.name = name
        self._memo: dict[str, int] = {}
        self._remembered = 0
        self._counted = 0
        self._expected = 0
        self._engine: Callable[[str], int] = _not_loaded
        self._engine_is_best_up_to: float = -1

    def expect(self, characters: int) -> None:
        """Say how much there will be to count, so that the engine that pays for it is loaded."""
        self._expected = characters

    def count(self, text: str) -> int:
        """Give the tokens of ``text``: special-token text is ordinary, lone surrogates are U+FFFD.

        Raises ``TokenizerUnavailableError`` at the first text if the vocabulary is not installed,
        ``UsageError`` if the environment asks for an unknown engine.
        """
        tokens = self._memo.get(text)
        if tokens is None:
            tokens = self._count_new(text)
            self._remember(text, tokens)
        return tokens

    def fits(self, text: str, limit: int) -> bool:
        """Say whether ``text`` has at most ``limit`` tokens, counting only if no bound decides.

        A token is at least one byte of UTF-8, and a character at most four.
        """
        characters = len(text)
        if characters * 4 <= limit:
            return True
        if characters <= limit and len(text.encode("utf-8", "surrogatepass")) <= limit:
            return True
        return self.count(text) <= limit

    def _count_new(self, text: str) -> int:
        self._counted += len(text)
        if self._counted > self._engine_is_best_up_to:
            # Imported here, so that a process that never counts never loads any of it.
            from compactctl.tokens.engines import choose_engine  # noqa: PLC0415

            self._engine, self._engine_is_best_up_to = choose_engine(
                self.name, self._counted, self._expected
            )
        return self._engine(text)

    def _remember(self, text: str, tokens: int) -> None:
        self._remembered += len(text)
        if self._remembered > MEMO_CHARACTERS:
            self._memo.clear()
            self._remembered = len(text)
        self._memo[text] = tokens


@functools.cache
def load_counter(name: str = "o200k_base") -> Counter:
    """Give the counter of that name, the same one for the whole process.

    ``o200k_base`` and ``cl100k_base`` are the vocabularies of those names; ``chars`` is a quarter
    of the characters, rounded up, and needs no vocabulary. Raises ``UsageError`` for other names.
    """
    if name not in NAMES:
        raise UsageError(f"unknown tokenizer {name!r}; known are {', '.join(NAMES)}")
    return Counter(name)
