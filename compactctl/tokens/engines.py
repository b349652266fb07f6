"""The three engines, and which one counts when: ``plain``, tiktoken and the optional toktok.

They give the same numbers, which tests hold. What differs is the price (o200k_base, measured on
transcripts): plain, in Python, is ready in 0.1 s and counts 4 MB a second, tiktoken is ready in
0.2 s and counts 14, toktok is ready in 0.5 s and counts 150.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import math
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from compactctl.errors import UsageError
from compactctl.tokens.chunks import LONGEST, chunks, without_lone_surrogates
from compactctl.tokens.ranks import TokenizerUnavailableError, load_encoded_ranks, load_ranks

Engine: TypeAlias = Callable[[str], int]
"""Counts the tokens of a text."""

ENGINE_VARIABLE = "COMPACTCTL_TOKENIZER_ENGINE"

PLAIN_CHARACTERS = 600_000
"""Up to so much, counting in Python takes less time than tiktoken does, loading included."""

PAYING_CHARACTERS = 2_500_000
"""From this much on, toktok alone takes less time than tiktoken alone, loading included."""

_AT_ONCE = 50_000
"""Characters that are given to toktok in one call, which copies them."""

PATTERNS = {
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
}
"""How each vocabulary splits text before it merges bytes; tiktoken's own patterns."""


def choose_engine(name: str, characters: int, expected: int = 0) -> tuple[Engine, float]:
    """Return the engine to count with, and up to how many characters in all it is the best one.

    ``characters`` is what there has been to count so far, ``expected`` what there will be in all,
    as far as that is known. Where the ranks are missing, toktok does alone, for it has them
    compiled in. ``$COMPACTCTL_TOKENIZER_ENGINE`` forces one of the three. Raises ``UsageError``
    if it names another, ``TokenizerUnavailableError`` if there is none.
    """
    if name == "chars":
        return _quarter_of_characters, math.inf
    forced = os.environ.get(ENGINE_VARIABLE, "")
    if forced == "plain":
        return _plain(name), math.inf
    if forced == "tiktoken":
        return _tiktoken(name), math.inf
    if forced == "toktok":
        return _toktok(name), math.inf
    if forced:
        raise UsageError(f"unknown {ENGINE_VARIABLE} {forced!r}; known are plain, tiktoken, toktok")
    return _choose_by_cost(name, characters, expected)


def _choose_by_cost(name: str, characters: int, expected: int) -> tuple[Engine, float]:
    many = max(characters, expected)
    toktok, tiktoken = (_toktok, math.inf), (_tiktoken, math.inf)
    by_cost: list[tuple[Callable[[str], Engine], float]] = [toktok, tiktoken]
    if importlib.util.find_spec("toktok") is None:
        by_cost = [tiktoken]
    if many <= PLAIN_CHARACTERS:
        by_cost = [(_plain, PLAIN_CHARACTERS), *by_cost[:1]]
    elif expected > PLAIN_CHARACTERS and many <= PAYING_CHARACTERS and toktok in by_cost:
        # All of it is known of. What comes in small pieces may go on: toktok then, and no third.
        by_cost = [(_tiktoken, PAYING_CHARACTERS), toktok]
    for load, best_up_to in by_cost[:-1]:
        with suppress(TokenizerUnavailableError):
            return load(name), best_up_to
    load, best_up_to = by_cost[-1]
    return load(name), best_up_to


def count_each(engine: Engine, texts: list[str]) -> list[int]:
    """Return the tokens of each text, many at once if the engine counts faster so."""
    return engine.many(texts) if isinstance(engine, _ManyAtOnce) else list(map(engine, texts))


def _quarter_of_characters(text: str) -> int:
    return -(-len(text) // 4)


def _plain(name: str) -> Engine:
    ranks = load_encoded_ranks(name)
    from compactctl.tokens.python_bpe import PythonBpe  # noqa: PLC0415 - costs 10 ms, as below

    return _in_chunks(PythonBpe(PATTERNS[name], ranks, functools.partial(_tiktoken, name)))


def _tiktoken(name: str) -> Engine:
    ranks = load_ranks(name)
    import tiktoken  # noqa: PLC0415 - costs 30 ms, so only where the ranks are there

    # Without special tokens: in a transcript their text is text like any other.
    encoding = tiktoken.Encoding(
        name, pat_str=PATTERNS[name], mergeable_ranks=ranks, special_tokens={}
    )
    return _in_chunks(lambda text: len(encoding.encode_ordinary(text)))


def _toktok(name: str) -> Engine:
    try:
        # The public batch_count takes 25 µs a call, where counting a short text takes one, and it
        # holds the vocabulary until the process ends, so ``Counter.rest`` could not free it.
        encoding = importlib.import_module("toktok")._Tokenizer(name, "")  # noqa: SLF001
        return _ManyAtOnce(encoding.count, encoding.count_batch)
    except (ImportError, AttributeError, RuntimeError) as error:
        raise TokenizerUnavailableError(
            f"toktok cannot count {name}: pip install toktok-rs, or unset {ENGINE_VARIABLE}"
        ) from error


def _in_chunks(count: Engine) -> Engine:
    def count_any(text: str) -> int:
        try:
            return count(text) if len(text) <= LONGEST else sum(map(count, chunks(text)))
        except UnicodeEncodeError:
            return sum(map(count, chunks(without_lone_surrogates(text))))

    return count_any


def _copy(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")


class _ManyAtOnce:
    """An engine that counts many texts in one call."""

    def __init__(self, count: Engine, count_all: Callable[[list[str], int], list[int]]) -> None:
        self._count = _in_chunks(count)
        self._count_all = count_all

    def __call__(self, text: str) -> int:
        return self._count(text)

    def many(self, texts: list[str]) -> list[int]:
        """Count each of ``texts``, so many at once that their copies take little memory."""
        counts: list[int] = []
        some: list[str] = []
        room = _AT_ONCE
        for text in texts:
            if len(text) > LONGEST:
                self._add(counts, some)
                counts.append(self._count(text))
                continue
            # A text keeps the UTF-8 that toktok asks for as long as it lives: let it be a copy's.
            some.append(text if text.isascii() else _copy(text))
            room -= len(text)
            if room < 0:
                self._add(counts, some)
                room = _AT_ONCE
        self._add(counts, some)
        return counts

    def _add(self, counts: list[int], some: list[str]) -> None:
        """Count ``some`` texts and empty the list.

        On one core: a second one takes 16 MB of memory, and the time that it saves goes into
        parting the work.
        """
        try:
            counts += self._count_all(some, 1)
        except UnicodeEncodeError:
            counts += self._count_all(list(map(without_lone_surrogates, some)), 1)
        some.clear()
