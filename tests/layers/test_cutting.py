"""A text is cut to its room, and what is left is counted right without counting it again."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactctl.layers import cut
from compactctl.tokens import Counter, load_counter
from compactctl.tokens.counter import NAMES
from compactctl.tokens.engines import choose_engine

LINES = st.sampled_from(
    (
        "word " * 30,
        "    indented",
        "",
        "/slash",
        "\t",
        "é日本",
        "x" * 700,
        "}\r",
        "[compactctl: ",
        "  ",
    )
)
TEXTS = st.lists(LINES, min_size=1, max_size=60).map("\n".join) | st.text(max_size=300)
ENDS = st.sampled_from(((1.0, 0.0), (0.0, 1.0), (1 / 3, 2 / 3)))


ENGINES = {name: choose_engine(name, 0)[0] for name in NAMES}


def forgetful(name):
    """A counter that knows no text yet."""
    counter = Counter(name)
    counter._engine, counter._engine_is_best_up_to = ENGINES[name], math.inf
    return counter


@pytest.fixture(scope="module", autouse=True)
def _small_stride():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut, "_STRIDE", 40)
        yield


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS, limit=st.integers(60, 400), ends=ENDS)
def test_a_cut_text_is_within_its_room_and_counted_right(name, text, limit, ends):
    counter = forgetful(name)
    short = cut.cut_text(counter, cut.source(counter, [text]), limit, ends)
    exact = ENGINES[name](short)
    assert counter.count(short) == exact
    assert exact <= max(limit, 60)


@given(text=TEXTS, budget=st.integers(1, 200))
def test_ends_are_ends_and_counted_right(text, budget):
    counter, count = forgetful("o200k_base"), ENGINES["o200k_base"]
    head, tail = cut._head(counter, text, budget), cut._tail(counter, text, budget)
    assert text.startswith(head.text)
    assert text.endswith(tail.text)
    for end in (head, tail):
        assert end.tokens == count(end.text) <= budget + 2  # a line end may have saved one
    assert head.ended == (count(f"{head.text}\n") if head.text else 0)


def test_a_head_takes_nearly_all_of_its_room():
    text = "\n".join(f"line {n} of a log, with some words in it" for n in range(4000))
    counter = load_counter("o200k_base")
    for end in (cut._head(counter, text, 3000), cut._tail(counter, text, 3000)):
        assert end.tokens > 2900
