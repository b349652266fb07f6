"""Compress a message list with headroom: FILE, with a message a line, to OUT. Runs in its venv."""

import json
import sys
from pathlib import Path

from headroom import compress

with Path(sys.argv[1]).open(encoding="utf-8") as source:
    result = compress([json.loads(line) for line in source])
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # as the input is
with Path(sys.argv[2]).open("w", encoding="utf-8") as out:
    out.writelines(encode(message) + "\n" for message in result.messages)
