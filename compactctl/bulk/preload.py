"""Imported once by the process that workers are forked from: what they share costs once."""

from __future__ import annotations

import gc
import os
from contextlib import suppress

from compactctl import (
    formats,
    layers,
    limits,  # noqa: F401 (what workers run, and below)
)
from compactctl.bulk import task  # noqa: F401 (what workers run)
from compactctl.tokens import load_counter


def _load_tokenizer(name: str, size: int) -> None:
    """Load what counts best when there is so much to count."""
    load_counter(name).prepare(size)


for _layer in layers.ORDER:
    layers.load(_layer)
for _format in formats.names():
    formats.load(_format)
with suppress(Exception):  # a worker says it, with the file that needed it
    _name, _, _size = os.environ["COMPACTCTL_BULK_PRELOAD"].partition(":")
    _load_tokenizer(_name, int(_size))
gc.freeze()  # a collection would touch, and so copy, all that is shared
