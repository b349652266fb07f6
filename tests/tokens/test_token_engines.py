import json
import math
from pathlib import Path

import pytest
from helpers.token_samples import MILLION, ORDINARY, PATHOLOGICAL, texts
from hypothesis import given
from tiktoken_ext import openai_public

from compactctl.errors import UsageError
from compactctl.tokens import engines, load_counter
from compactctl.tokens.ranks import RANK_FILES, TokenizerUnavailableError

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
CORPUS_CHARACTERS = 3_000_000


def corpus_lines():
    budget = CORPUS_CHARACTERS
    for path in sorted(CORPUS.glob("*/*")):
        for line in path.read_text("utf-8", "surrogateescape").splitlines(keepends=True)[:200]:
            yield line
            budget -= len(line)
            if budget < 0:
                return


@pytest.mark.parametrize("name", engines.PATTERNS)
def test_patterns_are_those_of_tiktoken(name, monkeypatch):
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    assert openai_public.ENCODING_CONSTRUCTORS[name]()["pat_str"] == engines.PATTERNS[name]


def test_every_vocabulary_has_a_pattern_and_a_rank_file():
    assert set(engines.PATTERNS) == set(RANK_FILES)


@pytest.mark.parametrize("text", ORDINARY)
def test_counts_are_those_of_tiktoken(encoding, text):
    expected = len(encoding.encode(text, disallowed_special=()))
    assert load_counter("o200k_base").count(text) == expected


@pytest.mark.parametrize("text", ORDINARY)
def test_both_engines_agree_on_ordinary_texts(both_engines, text):
    one, other = both_engines
    assert one(text) == other(text)


@given(text=texts)
def test_both_engines_agree_on_any_text(both_engines, text):
    one, other = both_engines
    assert one(text) == other(text)


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_both_engines_agree_on_pathological_texts(both_engines, name):
    one, other = both_engines
    assert one(PATHOLOGICAL[name]) == other(PATHOLOGICAL[name])


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of transcripts is not here")
def test_both_engines_agree_on_real_transcripts(both_engines):
    one, other = both_engines
    lines = list(corpus_lines())
    assert sum(map(len, lines)) > MILLION
    assert [*map(one, lines)] == [*map(other, lines)]
    assert one("".join(lines)) == other("".join(lines))


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_a_million_characters_are_counted_in_linear_time(tiktoken_engine, name):
    """No clock here: anything but linear time would take hours."""
    text = PATHOLOGICAL[name]
    assert 0 < tiktoken_engine(text) <= len(text.encode())


def test_special_token_text_is_ordinary_text(both_engines):
    for engine in both_engines:
        assert engine("<|endoftext|>") > 1


def test_lone_surrogates_count_as_replacement_characters(both_engines):
    for engine in both_engines:
        assert engine("a\ud800b") == engine("a\ufffdb")


def test_a_cut_inside_a_line_adds_next_to_nothing(tiktoken_engine):
    record = json.dumps({"path": "/src/app.py", "text": "some words of a result, 12 of them"})
    line, count = record * 2000, tiktoken_engine(record)
    assert abs(tiktoken_engine(line) - 2000 * count) <= 2000 * count * 0.03


def test_a_quarter_of_the_characters_rounds_up_and_needs_no_vocabulary(monkeypatch):
    monkeypatch.setattr(engines, "_tiktoken", None)
    engine, best_up_to = engines.choose_engine("chars", 0)
    assert [engine("x" * n) for n in range(6)] == [0, 1, 1, 1, 1, 2]
    assert best_up_to == math.inf


class Loads:
    """Stands for the engines: says which one was loaded."""

    def __init__(self, monkeypatch, missing=()):
        monkeypatch.delenv(engines.ENGINE_VARIABLE, raising=False)
        monkeypatch.setattr(engines.importlib.util, "find_spec", lambda name: name)
        for name in ("plain", "tiktoken", "toktok"):
            loader = self.fail if name in missing else lambda _, name=name: name
            monkeypatch.setattr(engines, f"_{name}", loader)

    def fail(self, name):
        raise TokenizerUnavailableError(name)


def test_plain_counts_until_loading_toktok_pays(monkeypatch):
    Loads(monkeypatch)
    little = engines.PLAIN_CHARACTERS
    assert engines.choose_engine("o200k_base", little) == ("plain", little)
    assert engines.choose_engine("o200k_base", little + 1) == ("toktok", math.inf)


def test_what_is_expected_chooses_before_it_comes(monkeypatch):
    Loads(monkeypatch)
    little, paying = engines.PLAIN_CHARACTERS, engines.PAYING_CHARACTERS
    assert engines.choose_engine("o200k_base", 0, little) == ("plain", little)
    assert engines.choose_engine("o200k_base", 0, little + 1) == ("tiktoken", paying)
    assert engines.choose_engine("o200k_base", little, little + 1) == ("tiktoken", paying)
    assert engines.choose_engine("o200k_base", 0, paying + 1) == ("toktok", math.inf)
    assert engines.choose_engine("o200k_base", paying + 1, little + 1) == ("toktok", math.inf)


def test_what_comes_little_by_little_loads_no_third_engine(monkeypatch):
    Loads(monkeypatch)
    little = engines.PLAIN_CHARACTERS
    assert engines.choose_engine("o200k_base", little + 1, little)[0] == "toktok"


def test_tiktoken_counts_everything_where_toktok_is_not_installed(monkeypatch):
    Loads(monkeypatch)
    monkeypatch.setattr(engines.importlib.util, "find_spec", lambda _: None)
    little = engines.PLAIN_CHARACTERS
    for characters, expected in ((little + 1, 0), (0, little + 1), (10**9, 0)):
        assert engines.choose_engine("o200k_base", characters, expected) == ("tiktoken", math.inf)
    assert engines.choose_engine("o200k_base", little) == ("plain", little)


@pytest.mark.parametrize("characters", [0, 10**6, 10**9])
def test_toktok_counts_where_the_ranks_are_missing(monkeypatch, characters):
    Loads(monkeypatch, missing=["plain", "tiktoken"])
    assert engines.choose_engine("o200k_base", characters) == ("toktok", math.inf)


def test_tiktoken_stands_in_for_toktok(monkeypatch):
    Loads(monkeypatch, missing=["toktok"])
    engine, _ = engines.choose_engine("o200k_base", 10**9)
    assert engine == "tiktoken"


def test_no_engine_at_all_is_an_error(monkeypatch):
    Loads(monkeypatch, missing=["plain", "tiktoken", "toktok"])
    with pytest.raises(TokenizerUnavailableError):
        engines.choose_engine("o200k_base", 0)


@pytest.mark.parametrize("forced", ["plain", "tiktoken", "toktok"])
@pytest.mark.parametrize("characters", [0, 10**9])
def test_the_environment_forces_an_engine(monkeypatch, forced, characters):
    Loads(monkeypatch)
    monkeypatch.setenv(engines.ENGINE_VARIABLE, forced)
    assert engines.choose_engine("o200k_base", characters) == (forced, math.inf)


@pytest.mark.parametrize("forced", ["plain", "tiktoken", "toktok"])
def test_a_forced_engine_has_no_stand_in(monkeypatch, forced):
    Loads(monkeypatch, missing=[forced])
    monkeypatch.setenv(engines.ENGINE_VARIABLE, forced)
    with pytest.raises(TokenizerUnavailableError):
        engines.choose_engine("o200k_base", 0)


def test_an_unknown_engine_is_a_usage_error(monkeypatch):
    monkeypatch.setenv(engines.ENGINE_VARIABLE, "abacus")
    with pytest.raises(UsageError, match="abacus"):
        engines.choose_engine("o200k_base", 0)


def test_a_toktok_that_lacks_the_counter_is_unavailable(monkeypatch):
    monkeypatch.setattr(engines.importlib, "import_module", lambda _: math)
    with pytest.raises(TokenizerUnavailableError, match="toktok-rs"):
        engines._toktok("o200k_base")
