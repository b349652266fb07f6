import functools
import importlib.util
import itertools

import pytest
import tiktoken

from compactctl.tokens import engines
from compactctl.tokens.python_bpe import PythonBpe

VOCABULARIES = ["o200k_base", "cl100k_base"]


@functools.cache
def loaded(engine, name):
    return getattr(engines, f"_{engine}")(name)


@pytest.fixture(scope="session", params=VOCABULARIES)
def tiktoken_engine(request):
    return loaded("tiktoken", request.param)


def fresh_plain(name):
    """Give an engine that never stays with tiktoken, to which it may leave a text."""
    ranks, pattern = engines.load_encoded_ranks(name), engines.PATTERNS[name]

    def count(text):
        return engines._in_chunks(PythonBpe(pattern, ranks, lambda: loaded("tiktoken", name)))(text)

    return count


def toktok(name):
    if importlib.util.find_spec("toktok") is None:
        pytest.skip("the extra fast (toktok-rs) is not installed")
    return loaded("toktok", name)


@pytest.fixture(scope="session", params=VOCABULARIES)
def toktok_engine(request):
    return toktok(request.param)


@pytest.fixture(
    scope="session",
    params=itertools.product(VOCABULARIES, [toktok, fresh_plain]),
    ids=lambda param: f"{param[0]}-{param[1].__name__}",
)
def both_engines(request):
    name, load = request.param
    return loaded("tiktoken", name), load(name)


@pytest.fixture(scope="session")
def encoding():
    """The vocabulary o200k_base in tiktoken's own hands, with its special tokens."""
    return tiktoken.Encoding(
        "reference",
        pat_str=engines.PATTERNS["o200k_base"],
        mergeable_ranks=engines.load_ranks("o200k_base"),
        special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    )
