"""What goes in and out of a stage: files, pipes, names."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.shell import (
    ANSWER,
    BROKEN,
    CHARS,
    COMPACTCTL,
    CUT,
    ENVIRONMENT,
    LONG,
    SAMPLES,
    USER,
    lines,
    refused,
    run,
    said,
)

from compactctl import layers

NOTHING_TO_DO = lines(USER, ANSWER)


@pytest.mark.parametrize("stage", ["validate", *layers.ORDER, "resolve", "compact"])
def test_a_stage_with_nothing_to_do_is_the_identity(stage):
    options = () if stage == "resolve" else CHARS
    assert run(stage, *options, stdin=NOTHING_TO_DO).stdout == NOTHING_TO_DO


def test_file_dash_pipe_and_redirect_give_the_same_bytes(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(LONG)
    by_name = run(*CUT, path).stdout
    assert by_name
    assert by_name != LONG
    assert run(*CUT, "-", stdin=LONG).stdout == by_name
    assert run(*CUT, stdin=LONG).stdout == by_name
    with path.open("rb") as file:
        assert run(*CUT, stdin=file).stdout == by_name
    assert run(*CUT, path, "-o", "-").stdout == by_name


def shell(command, **more):
    """Run a command line of bash; ``compactctl`` in it is this one."""
    ours = " ".join(map(shlex.quote, COMPACTCTL))
    script = f'set -o pipefail; compactctl() {{ {ours} "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", script],
        env=ENVIRONMENT,
        capture_output=True,
        timeout=120,
        check=False,
        **more,
    )


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")
def test_the_whole_chain_renders_the_durable_context():
    done = shell(
        "compactctl validate claude-code.jsonl | compactctl truncate --tokenizer chars"
        " | compactctl dedup --tokenizer chars | compactctl prune --tokenizer chars"
        " | compactctl summarize --summarizer template --tokenizer chars"
        " | compactctl resolve --state state.jsonl --transcripts transcripts --artifacts artifacts"
        " | compactctl render",
        cwd=SAMPLES,
    )
    assert done.returncode == 0, said(done)
    assert done.stdout.startswith(b"Durable context")
    assert b"source_status=available" in done.stdout
    reports = sorted(line.partition(":")[0] for line in said(done).splitlines())
    assert reports == ["dedup", "prune", "resolve", "summarize", "truncate", "validate"]


def test_process_substitution_is_a_file():
    done = shell("compactctl truncate --tokenizer chars <(cat)", input=NOTHING_TO_DO)
    assert done.stdout == NOTHING_TO_DO


def test_a_broken_stage_upstream_fails_the_pipe_and_nothing_comes_out():
    done = shell("compactctl validate -q | compactctl truncate --tokenizer chars", input=BROKEN)
    assert done.returncode == 3
    assert not done.stdout
    assert "PAIR-01" in said(done)
    assert "the input is empty; an earlier stage may have failed" in said(done)


@pytest.mark.parametrize("command", ["truncate --tokenizer chars -q", "validate -q", "resolve -q"])
def test_a_closed_downstream_ends_quietly(tmp_path, command):
    path = tmp_path / "s.jsonl"
    path.write_bytes(NOTHING_TO_DO * 50_000)  # more than a pipe holds
    done = shell(f"compactctl {command} {path} | head -n 1; echo ${{PIPESTATUS[0]}}")
    assert done.stdout == lines(USER) + b"0\n"
    assert not done.stderr


@pytest.mark.parametrize(
    "encoding", [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_reports_are_utf8_whatever_the_locale(encoding):
    done = run(*CUT, stdin=LONG, env=encoding)
    assert done.returncode == 0
    assert " → " in said(done)
    assert "(−" in said(done)


def test_names_of_files_may_be_any_bytes(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff\n\x1b[31m.jsonl"
    path = Path(os.fsdecode(name))
    path.write_bytes(BROKEN)
    done = subprocess.run(
        [*map(os.fsencode, COMPACTCTL), b"truncate", *map(os.fsencode, CHARS), name],
        env=ENVIRONMENT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert "\\udcff\\n\\x1b[31m.jsonl:2: PAIR-01 toolu_1: " in refused(done, 1)
    path.write_bytes(LONG)
    done = subprocess.run(
        [
            *map(os.fsencode, COMPACTCTL),
            b"truncate",
            *map(os.fsencode, CHARS),
            name,
            b"-o",
            name + b"2",
        ],
        env=ENVIRONMENT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert Path(f"{path}2").read_bytes() == LONG


def test_it_runs_as_a_module_and_as_a_script():
    script = Path(sys.executable).with_name("compactctl")
    if not script.exists():
        pytest.skip("not installed beside this Python")
    done = subprocess.run([script, "--version"], capture_output=True, check=True)
    assert done.stdout == run("--version").stdout
