"""The counter that the layers, the reports and the limits share."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from compactctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactctl.tokens.cache import TokenCache

NAMES = ("o200k_base", "cl100k_base", "chars")

MEMO_CHARACTERS = 1 << 28
"""How much counted text a counter keeps alive; one view is below it, a bulk run is not."""


def _not_loaded(_text: str) -> int:
    raise AssertionError


class Counter:
    """Counts tokens, each distinct text once. Make it with ``load_counter``."""

    approximate = False
    """Whether the numbers only estimate what ``name`` promises; reports mark those with ≈."""

    is_for_one = False
    """Whether no other transcript comes after this one, so that the engine may go early."""

    def __init__(self, name: str) -> None:
        """Load nothing yet: ``name`` is one of ``NAMES``."""
        self.name = name
        self.adds_up = name != "chars"
        """Whether a text has the tokens of its parts, cut where no token reaches over."""
        self._memo: dict[str, int] = {}
        self._remembered = 0
        self._counted = 0
        self._engine: Callable[[str], int] = _not_loaded
        self._engine_is_best_up_to: float = -1
        self._cache: TokenCache | None = None

    def use_cache(self) -> None:
        """Use the counts that earlier processes left, unless that is switched off."""
        if self.name != "chars":
            # Imported here, for a library's user and a bulk worker never come here.
            from compactctl.tokens.cache import TokenCache, path_of  # noqa: PLC0415

            path = path_of(self.name)
            self._cache = TokenCache(path) if path else None

    def save(self) -> None:
        """Leave what was counted to later processes, if the cache is in use. Never raises."""
        if self._cache is not None:
            self._cache.save()

    def rest(self) -> None:
        """Free the engine, up to 70 MB; the next text without a count loads it again."""
        self._engine, self._engine_is_best_up_to = _not_loaded, -1

    def count(self, text: str) -> int:
        """Return the tokens of ``text``; special tokens are plain text, lone surrogates are U+FFFD.

        Raises ``TokenizerUnavailableError`` at the first text if the vocabulary is not installed,
        ``UsageError`` if the environment asks for an unknown engine.
        """
        tokens = self._memo.get(text)
        if tokens is None:
            tokens = self._count_new(text)
            self._take(text, tokens)
        return tokens

    def measure(self, text: str) -> int:
        """Return the tokens of a text that will not be asked for again; raises as ``count``."""
        tokens = self._memo.get(text)
        return self._count_new(text) if tokens is None else tokens

    def fits(self, text: str, limit: int) -> bool:
        """Return whether ``text`` has at most ``limit`` tokens, counting only if no bound decides.

        A token is at least one byte of UTF-8, and a character at most four.
        """
        characters = len(text)
        if characters * 4 <= limit:
            return True
        if characters <= limit and len(text.encode("utf-8", "surrogatepass")) <= limit:
            return True
        return self.count(text) <= limit

    def total(self, texts: list[str]) -> int:
        """Return the tokens of many texts together, which is quicker; raises as ``count``."""
        counts = list(map(self._memo.get, texts))
        if None in counts:
            missing = (text for text, known in zip(texts, counts, strict=True) if known is None)
            new = self._count_many(list(dict.fromkeys(missing)))
            return sum(
                new[text] if known is None else known
                for text, known in zip(texts, counts, strict=True)
            )
        return sum(counts)  # type: ignore[arg-type]  # none of them is None

    def _count_many(self, texts: list[str]) -> dict[str, int]:
        found = self._cache.find(texts) if self._cache is not None else {}
        new = self._count_by_engine([text for text in texts if text not in found])
        if self._cache is not None:
            self._cache.add(new)
        new |= found
        self._make_room(sum(map(len, texts)))
        self._memo.update(new)
        return new

    def _count_by_engine(self, texts: list[str]) -> dict[str, int]:
        if not texts:
            return {}
        characters = sum(map(len, texts))
        engine = self._engine_for(characters, characters)
        from compactctl.tokens.engines import count_each  # noqa: PLC0415 (loaded by now)

        return dict(zip(texts, count_each(engine, texts), strict=True))

    def prepare(self, characters: int) -> None:
        """Load the engine that is best for so much to count; raises as ``count``."""
        self._engine_for(0, characters)

    def _count_new(self, text: str) -> int:
        if self._cache is None or self._counted > self._cache.MOST_CHARACTERS:
            return self._engine_for(len(text), len(text))(text)
        tokens = self._cache.find([text]).get(text)
        if tokens is None:
            tokens = self._engine_for(len(text), len(text))(text)
            self._cache.add({text: tokens})
        return tokens

    def _engine_for(self, characters: int, expected: int) -> Callable[[str], int]:
        """Return the engine for so much more to count, ``expected`` of it at once."""
        self._counted += characters
        if self._counted > self._engine_is_best_up_to:
            # Imported here, so that a process that never counts never loads any of it.
            from compactctl.tokens.engines import choose_engine  # noqa: PLC0415

            self._engine, self._engine_is_best_up_to = choose_engine(
                self.name, self._counted, expected
            )
        return self._engine

    def remember(self, text: str, tokens: int) -> None:
        """Take in the count of a text that is known without counting it."""
        self._take(text, tokens)
        if self._cache is not None:
            self._cache.add_sum(text, tokens)

    def _take(self, text: str, tokens: int) -> None:
        self._make_room(len(text))
        self._memo[text] = tokens

    def _make_room(self, characters: int) -> None:
        self._remembered += characters
        if self._remembered > MEMO_CHARACTERS:
            self._memo.clear()
            self._remembered = characters


@functools.cache
def load_counter(name: str = "o200k_base") -> Counter:
    """Return the counter of that name, the same one for the whole process.

    ``o200k_base`` and ``cl100k_base`` are the vocabularies of those names; ``chars`` is a quarter
    of the characters, rounded up, and needs no vocabulary. Raises ``UsageError`` for other names.
    """
    return Counter(_known(name))


def counter_for_one(name: str) -> Counter:
    """Return a counter for one transcript, which uses the cache; raises as above."""
    counter = Counter(_known(name))
    counter.is_for_one = True
    counter.use_cache()
    return counter


def _known(name: str) -> str:
    if name not in NAMES:
        raise UsageError(f"unknown tokenizer {name!r}; known are {', '.join(NAMES)}")
    return name
