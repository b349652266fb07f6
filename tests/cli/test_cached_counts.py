"""Stages leave their counts to the next one, and tests leave nothing in anyone's home."""

from pathlib import Path

import pytest
from helpers.shell import LONG, ROOT, SAMPLES, run, said

SAMPLE = SAMPLES / "claude-code.jsonl"
STAGES = [("truncate",), ("dedup",), ("prune",), ("compact", "--soft-limit", "8000"), ("stats",)]


def keeping(home):
    return {"COMPACTCTL_CACHE": "", "XDG_CACHE_HOME": str(home)}


@pytest.mark.parametrize("stage", STAGES, ids=" ".join)
def test_a_second_run_needs_no_tokenizer_and_says_the_same(tmp_path, stage):
    first = run(*stage, SAMPLE, env=keeping(tmp_path))
    blind = keeping(tmp_path) | {"PYTHONPATH": _without_a_tokenizer(tmp_path)}
    second = run(*stage, SAMPLE, env=blind)
    assert (second.returncode, second.stdout) == (first.returncode, first.stdout), said(second)
    assert said(second) == said(first)


def _without_a_tokenizer(folder):
    for name in ("regex", "tiktoken", "toktok"):
        (folder / f"{name}.py").write_text("raise AssertionError('a tokenizer is loaded')\n")
    return f"{folder}:{ROOT}"


def test_counts_are_written_before_the_output(tmp_path):
    """Where the output is refused, the counts are there."""
    with Path("/dev/full").open("wb") as full:
        done = run("truncate", stdin=LONG, env=keeping(tmp_path), stdout=full)
    assert done.returncode != 0
    assert (tmp_path / "compactctl" / "o200k_base.counts").exists()


def test_bulk_runs_keep_nothing(tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.jsonl").write_bytes(LONG)
    home = tmp_path / "home"
    done = run("compact", source, "-o", tmp_path / "out", "--jobs", 1, env=keeping(home))
    assert done.returncode == 0, said(done)
    assert not home.exists()


def test_tests_leave_nothing_behind(tmp_path):
    env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": ""}
    assert run("truncate", SAMPLE, env=env).returncode == 0
    assert list(tmp_path.iterdir()) == []
