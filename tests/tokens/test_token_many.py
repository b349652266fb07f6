"""Many texts are counted at once as they are one by one."""

import pytest
from helpers.token_samples import PATHOLOGICAL, texts
from hypothesis import given
from hypothesis import strategies as st

from compactctl.tokens import Counter, engines, load_counter


@pytest.fixture(scope="module", autouse=True)
def _small_calls():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "_AT_ONCE", 40)
        yield


@given(many=st.lists(texts))
def test_both_engines_count_many_texts_as_one_by_one(both_engines, many):
    expected = list(map(both_engines[0], many))
    for engine in both_engines:
        assert engines.count_each(engine, many) == expected


def test_long_texts_are_counted_in_pieces_among_the_others(toktok_engine):
    many = ["short", *list(PATHOLOGICAL.values())[:3], "", "a\ud800b"]
    assert engines.count_each(toktok_engine, many) == list(map(toktok_engine, many))


@given(many=st.lists(texts))
def test_a_total_is_the_sum_of_the_counts(many):
    count = Counter("chars")
    assert count.total(many) == sum(map(load_counter("chars").count, many))
    assert count.total(many * 2) == 2 * count.total(many)
