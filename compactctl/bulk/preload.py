"""Imported once by the process that workers are forked from: what they share costs once."""

from __future__ import annotations

import gc
import os
from contextlib import suppress

from compactctl import formats, layers
from compactctl.bulk import task  # noqa: F401 (what workers run)
from compactctl.tokens import load_counter

for _name in layers.ORDER:
    layers.load(_name)
formats.names()  # imports them all
with suppress(Exception):  # a worker says it, with the file that needed it
    load_counter(os.environ["COMPACTCTL_BULK_PRELOAD"]).count("a")
gc.freeze()  # a collection would touch, and so copy, all that is shared
