"""The README shows what the commands print today, and names every command and format."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from compactctl import formats
from compactctl.cli import registry

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```console\n\$ (.*?)\n```$", README, re.MULTILINE | re.DOTALL)


def command_and_output(block):
    """Part a console block: the command ends at the first line that no operator continues."""
    lines = block.split("\n")
    end = next(i for i, line in enumerate(lines) if not line.rstrip().endswith(("|", "\\")))
    return "\n".join(lines[: end + 1]), lines[end + 1 :]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0][:40])
def test_shown_output_is_what_the_command_prints(block, tmp_path):
    command, shown = command_and_output(block)
    (tmp_path / "sample_transcripts").symlink_to(ROOT / "sample_transcripts")
    # `compactctl` by the interpreter that runs the tests, wherever it is installed.
    tool = tmp_path / "bin" / "compactctl"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m compactctl "$@"\n')
    tool.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COMPACTCTL_")}
    environment |= {
        "COMPACTCTL_CACHE": "off",
        "PATH": f"{tool.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    # Stages of a pipe end in any order.
    assert sorted((done.stdout + done.stderr).splitlines()) == sorted(shown)


def test_there_are_console_blocks_to_check():
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("name", registry.NAMES)
def test_every_command_is_in_the_readme(name):
    assert f"**{name}**" in README


@pytest.mark.parametrize("name", formats.names())
def test_every_format_is_in_the_readme(name):
    assert f"`{name}`" in README
