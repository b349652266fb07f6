"""What starting costs: modules that a command has no use for are not imported."""

import subprocess
import sys

import pytest
from helpers.shell import CHARS, ENVIRONMENT, LONG, SAMPLES

from compactctl.layers import ORDER

# Measured on the machine of the reference notes: the SDK alone takes 1.9 s, pydantic 0.1 s.
HEAVY = {"anthropic", "pydantic", "rich", "tqdm", "tiktoken", "toktok", "fsspec", "distributed"}
NETWORK = {"socket", "ssl", "http.client", "http", "urllib.request", "requests", "httpx", "asyncio"}


REPORTER = """
import sys
from compactctl import cli
code = cli.run(sys.argv[1:])
print("modules:", *sys.modules, file=sys.stderr)
sys.exit(code)
"""


def imported(*arguments, stdin=b""):
    """Give the modules that are loaded when a command ends."""
    done = subprocess.run(
        [sys.executable, "-c", REPORTER, *map(str, arguments)],
        input=stdin,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return set(done.stderr.decode().rpartition("modules:")[2].split())


def test_the_version_needs_next_to_nothing():
    found = imported("--version")
    assert not found & (HEAVY | NETWORK | {"typer", "orjson", "msgspec", "inspect", "pathlib"})


@pytest.mark.parametrize(
    "command",
    [
        ("--help",),
        ("compact", "--help"),
        ("validate", "--check"),
        ("truncate", *CHARS),
        ("compact", *CHARS, "--soft-limit", "10"),
        ("resolve",),
        ("render",),
    ],
    ids=" ".join,
)
def test_no_command_imports_what_it_does_not_need(command):
    found = imported(*command, stdin=LONG)
    assert not found & (HEAVY | NETWORK)
    assert {name for name in found if name.startswith("compactctl.bulk.")} <= {
        "compactctl.bulk.targets"
    }


def test_a_folder_is_validated_without_what_bulk_runs_need(tmp_path):
    (tmp_path / "s.jsonl").write_bytes(LONG)
    found = imported("validate", tmp_path)
    assert not [name for name in found if name.startswith("compactctl.bulk")]


def test_a_command_imports_no_layer_but_its_own():
    every = {f"compactctl.layers.{name}" for name in ORDER}
    assert every & imported("truncate", *CHARS, stdin=LONG) == {"compactctl.layers.truncate"}
    assert not every & imported("validate", "--check", stdin=LONG)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")
def test_counting_asks_nothing_of_the_network():
    found = imported("truncate", SAMPLES / "messages.jsonl")
    assert "regex" in found
    assert "tiktoken" not in found
    assert not found & {"requests", "http.client", "urllib.request", "ssl"}
