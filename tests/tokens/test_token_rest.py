"""A counter that rests holds no engine, and counts on as before."""

import gc
import weakref

import pytest

from compactctl.tokens import Counter, engines


@pytest.fixture
def _without_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_without_collector")
@pytest.mark.parametrize("engine", ["plain", "tiktoken", "toktok"])
def test_an_engine_goes_at_once(monkeypatch, engine):
    if engine == "toktok":
        pytest.importorskip("toktok")
    monkeypatch.setenv(engines.ENGINE_VARIABLE, engine)
    counter = Counter("o200k_base")
    counter.count("a word")
    used = weakref.ref(counter._engine)
    counter.rest()
    assert used() is None


def test_counts_are_the_same_after_a_rest():
    counter = Counter("o200k_base")
    before = counter.count("one text")
    counter.rest()
    assert counter.count("one text") == before
    assert counter.count("another text") == Counter("o200k_base").count("another text")


def test_a_rest_without_an_engine_is_none():
    counter = Counter("chars")
    counter.rest()
    assert counter.count("12345678") == 2
