import functools
import importlib.util

import pytest
import tiktoken

from compactctl.tokens import engines

VOCABULARIES = ["o200k_base", "cl100k_base"]


@functools.cache
def loaded(engine, name):
    return getattr(engines, f"_{engine}")(name)


@pytest.fixture(scope="session", params=VOCABULARIES)
def tiktoken_engine(request):
    return loaded("tiktoken", request.param)


@pytest.fixture(scope="session", params=VOCABULARIES)
def both_engines(request):
    if importlib.util.find_spec("toktok") is None:
        pytest.skip("the extra fast (toktok-rs) is not installed")
    return loaded("tiktoken", request.param), loaded("toktok", request.param)


@pytest.fixture(scope="session")
def encoding():
    """The vocabulary o200k_base in tiktoken's own hands, with its special tokens."""
    return tiktoken.Encoding(
        "reference",
        pat_str=engines.PATTERNS["o200k_base"],
        mergeable_ranks=engines.load_ranks("o200k_base"),
        special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    )
