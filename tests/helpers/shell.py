"""Run compactctl as the shell does, and small inputs to run it on."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_transcripts"
COMPACTCTL = [sys.executable, "-m", "compactctl"]

# What the user of this machine set must not change a test; nor may an installed copy run instead.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("COMPACTCTL_", "ANTHROPIC_", "PYTHON"))
} | {"PYTHONPATH": str(ROOT), "COMPACTCTL_CACHE": "off"}

CHARS = ("--tokenizer", "chars")  # ready at once; which counter it is matters to no test here


def run(*arguments, stdin=b"", env=None, **more):
    """Run one command; ``stdin`` is bytes, or a file or number to read from."""
    source = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    more = {"capture_output": True, "timeout": 60} | source | more
    if "stdout" in more or "stderr" in more:
        del more["capture_output"]
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.run(
        [*COMPACTCTL, *map(str, arguments)], env=ENVIRONMENT | (env or {}), check=False, **more
    )


def lines(*records):
    """Write records as JSONL."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def said(done):
    """Give standard error as text."""
    return done.stderr.decode()


def refused(done, code):
    """Check a refusal: the exit code, one line for people, no transcript. Give the line."""
    text = said(done)
    assert done.returncode == code, text
    assert text.startswith("compactctl: ")
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    assert not done.stdout
    return text


def wait_until_it_waits(pid):
    """Come back once a process has slept for a while, which it does for nothing but the pipe."""
    asleep, end = 0, time.monotonic() + 60
    while asleep < 10:
        assert time.monotonic() < end
        time.sleep(0.03)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        asleep = asleep + 1 if state == "S" else 0


USER = {"role": "user", "content": "Why does the build fail?"}
ANSWER = {"role": "assistant", "content": "Because of a typo."}


def call(call_id, name="Bash", **arguments):
    block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    return {"role": "assistant", "content": [block]}


def result(call_id, text="ok"):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return {"role": "user", "content": [block]}


LOG = "\n".join(
    f"step {number}: compiled module_{number}.c without a warning" for number in range(400)
)

LONG = lines(
    USER,
    call("toolu_1", command="make"),
    result("toolu_1", LOG),
    ANSWER,
    {"role": "user", "content": "Then mend it."},
    call("toolu_2", command="sed -i s/teh/the/ main.c"),
    result("toolu_2"),
    {"role": "assistant", "content": "Done."},
)
"""A valid transcript with one result that is worth cutting."""

BROKEN = lines(USER, call("toolu_1", command="make"), ANSWER, {"role": "user", "content": "And?"})
"""A call in the middle (line 2) that has no result."""

OPEN = lines(USER, call("toolu_1", command="make"))
"""A session that stopped in a call."""

CUT = ("truncate", "--max-tokens", "100", *CHARS)
"""A stage that changes LONG."""


def fact(name="f", pointer="transcript:s1:1", content="The build is fixed."):
    """Give a durable record."""
    return {
        "type": "compactctl.fact",
        "fact_id": name,
        "content": content,
        "source_pointer": pointer,
        "last_confirmed_at": "2026-01-01T00:00:00Z",
    }


def resolution(pointer="transcript:s1:1", status="missing", reason="transcript_missing", **more):
    """Give what ``resolve`` says of a source that is not there, or something else."""
    return {
        "type": "compactctl.source_resolution",
        "source_pointer": pointer,
        "status": status,
        "reason": reason,
        "source_type": "transcript",
        "evidence_sha256": None,
    } | more


def names(folder):
    """Give what lies in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def mode(path):
    """Give the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def records(path):
    """Give the records of a JSONL file, each of which ends with a line end."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
