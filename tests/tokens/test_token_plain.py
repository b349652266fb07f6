"""The engine for little text: what it counts itself, and what it leaves to tiktoken."""

import itertools
import unicodedata

import pytest
from helpers.token_samples import ORDINARY
from hypothesis import given
from hypothesis import strategies as st

from compactctl.tokens import engines, python_bpe

CONTEXTS = ["{}", "a{}b", "A{}", " {} ", "!{}\n", "1{}1", "it'{}e", "\n  {}s"]


class LeftError(Exception):
    """Something was left to tiktoken."""


def leave():
    raise LeftError


@pytest.fixture(scope="module", params=engines.PATTERNS)
def ranks(request):
    return request.param, engines.load_encoded_ranks(request.param)


@pytest.fixture
def alone(ranks):
    """An engine that has no other."""
    name, encoded = ranks
    return python_bpe.PythonBpe(engines.PATTERNS[name], encoded, leave)


def is_safe(text):
    return not python_bpe._MAY_DIFFER.search(text)


@pytest.mark.parametrize("text", [text for text in ORDINARY if text.isascii()])
def test_ascii_is_counted_without_another_engine(alone, text):
    assert alone(text) <= len(text)


@pytest.mark.parametrize(
    "text", ["naïve — “so”…", "Россия", "日本語 漢字かな", "한국어", "✓ ├── │ 🙂 ⚠️"]
)
def test_common_writing_is_counted_without_another_engine(alone, text):
    assert alone(text) > 0


@pytest.mark.parametrize("text", ["\u0378", "\u0558", "\u2b74", "\ua7ce", "\U0001fae9", "हिन्दी"])
def test_characters_that_may_be_classified_otherwise_are_left_to_tiktoken(alone, text):
    with pytest.raises(LeftError):
        alone(f"plain {text}")


def test_a_half_of_a_pair_is_no_reason_to_load_another_engine(alone):
    with pytest.raises(UnicodeEncodeError):
        alone("a\ud800b")
    assert engines._in_chunks(alone)("a\ud800b") == alone("a\ufffdb")


def test_long_pieces_are_left_to_tiktoken(alone):
    assert alone("qj" * 100) > 1
    with pytest.raises(LeftError):
        alone("qj" * 100 + "q")


def test_much_to_merge_is_left_to_tiktoken(alone):
    words = map("".join, itertools.product("qxjz", repeat=8))
    with pytest.raises(LeftError):
        alone(" ".join(words))


def test_once_there_is_another_engine_it_counts_everything(ranks):
    name, encoded = ranks
    loads = []
    count = python_bpe.PythonBpe(engines.PATTERNS[name], encoded, lambda: loads.append(1) or len)
    assert count("hello world") == 2
    assert count("qj" * 101) == 202
    assert count("hello world") == 11
    assert loads == [1]


def test_no_character_of_the_safe_blocks_is_of_an_age_that_may_differ():
    """Only such are unassigned here as never will be assigned, or not soon."""
    unassigned = [
        code
        for code in range(0x110000)
        if is_safe(chr(code)) and unicodedata.category(chr(code)) == "Cn"
    ]
    assert unassigned == []


def test_both_classify_every_1009th_character_alike(both_engines):
    one, other = both_engines
    texts = [form.format(chr(code)) for code in range(0, 0x30000, 1009) for form in CONTEXTS]
    assert list(map(one, texts)) == list(map(other, texts))


@given(text=st.text(st.characters(max_codepoint=0x2FFFF).filter(is_safe)))
def test_both_engines_agree_on_any_safe_text(both_engines, text):
    one, other = both_engines
    assert one(text) == other(text)
