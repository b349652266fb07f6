"""How much memory a stage takes at most: 2.5 times what the file does, and 80 MB."""

import importlib.util
import json
import os
import random
import subprocess
import sys

import pytest
from helpers.shell import COMPACTCTL, ENVIRONMENT

MB = 1_000_000
RESULTS = 1_200

# A process of its own: what a child takes is no less than what its parent took when it began.
WATCH = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("toktok") is None, reason="counts with toktok"),
    pytest.mark.skipif(not hasattr(os, "wait4"), reason="the system does not say"),
]


def step(index, words):
    """A call and its result, which the harness keeps twice, as it does in real sessions."""
    output = "\n".join(" ".join(random.choices(words, k=9)) for _ in range(270))
    output += " ✓" * (index % 4 == 0)  # takes two bytes a character
    call = {"type": "tool_use", "id": f"c{index}", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": f"c{index}", "content": output}
    for role, block in (("assistant", call), ("user", result)):
        parent = f"u{index}" if role == "user" else f"r{index - 1}" if index else None
        yield {
            "type": role,
            "uuid": f"{'r' if role == 'user' else 'u'}{index}",
            "parentUuid": parent,
            "message": {"role": role, "content": [block]},
            "toolUseResult": output if role == "user" else None,
        }


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    random.seed(1)
    words = ["".join(random.choices("etaoinshr", k=8)) for _ in range(5_000)]
    path = tmp_path_factory.mktemp("large") / "session.jsonl"
    with path.open("w") as file:
        for index in range(RESULTS):
            for record in step(index, words):
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


@pytest.mark.parametrize(
    "stage", [["stats"], ["truncate", "--max-tokens", "3000"], ["summarize"], ["prune"]]
)
def test_a_stage_stays_within_its_memory(session, stage):
    command = [sys.executable, "-c", WATCH, *COMPACTCTL, stage[0], str(session), *stage[1:]]
    watched = subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=True)
    code, most = map(int, watched.stdout.split())
    assert code == 0
    unit = 1 if sys.platform == "darwin" else 1024
    assert most * unit <= 2.5 * session.stat().st_size + 80 * MB
