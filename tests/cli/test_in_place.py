"""``--in-place``: the input is replaced, and what it was stays beside it."""

import os
import subprocess
from pathlib import Path

import pytest
from shell import (
    CHARS,
    COMPACTCTL,
    CUT,
    ENVIRONMENT,
    LONG,
    fact,
    lines,
    mode,
    names,
    refused,
    run,
    wait_until_it_waits,
)

from compactctl.errors import InputError
from compactctl.files import atomic, output

EXPECTED = run(*CUT, stdin=LONG).stdout


def test_in_place_keeps_a_backup_and_the_mode(source, tmp_path):
    source.chmod(0o604)
    done = run(*CUT, source, "--in-place")
    assert (done.returncode, done.stdout) == (0, b"")
    assert source.read_bytes() == EXPECTED
    assert (tmp_path / "s.jsonl.bak").read_bytes() == LONG
    assert mode(source) == mode(tmp_path / "s.jsonl.bak") == 0o604
    assert names(tmp_path) == ["s.jsonl", "s.jsonl.bak"]


def test_in_place_never_overwrites_a_backup(source, tmp_path):
    (tmp_path / "s.jsonl.bak").write_text("first")
    (tmp_path / "s.jsonl.bak.1").symlink_to("nowhere")
    assert run(*CUT, source, "--in-place").returncode == 0
    assert (tmp_path / "s.jsonl.bak").read_text() == "first"
    assert (tmp_path / "s.jsonl.bak.2").read_bytes() == LONG
    assert not (tmp_path / "nowhere").exists()


def test_in_place_with_nothing_to_do_leaves_everything_alone(source, tmp_path):
    before = source.stat()
    assert run("truncate", *CHARS, source, "--in-place").returncode == 0
    assert (source.stat().st_ino, source.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert names(tmp_path) == ["s.jsonl"]


def test_in_place_follows_a_link_to_the_file(source, tmp_path):
    link = tmp_path / "link.jsonl"
    link.symlink_to(source)
    assert run(*CUT, link, "--in-place").returncode == 0
    assert link.is_symlink()
    assert source.read_bytes() == EXPECTED
    assert (tmp_path / "s.jsonl.bak").read_bytes() == LONG


def test_resolve_works_in_place_too(source, tmp_path):
    state = tmp_path / "state.jsonl"
    state.write_bytes(lines(fact()))
    assert run("resolve", source, "--state", state, "--in-place").returncode == 0
    assert source.read_bytes().startswith(LONG)
    assert (tmp_path / "s.jsonl.bak").read_bytes() == LONG


def test_in_place_needs_a_file_of_its_own(source, tmp_path):
    refused(run(*CUT, "--in-place", stdin=LONG), 2)
    refused(run(*CUT, source, "--in-place", "-o", tmp_path / "out.jsonl"), 2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refused(run(*CUT, pipe, "--in-place"), 2)
    refused(run("resolve", source, "--json", "--in-place"), 2)
    assert source.read_bytes() == LONG


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_file_that_changes_meanwhile_is_not_written_over(source):
    """The stage waits for its report, a pipe, between reading and writing."""
    pipe = source.with_name("report")
    os.mkfifo(pipe)
    started = subprocess.Popen(
        [*COMPACTCTL, *CUT, str(source), "--in-place", "--report", str(pipe)],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
    )
    wait_until_it_waits(started.pid)
    with source.open("ab") as file:
        file.write(b'{"role":"user","content":"more"}\n')
    with pipe.open("rb") as report:
        report.read()
    complaint = started.communicate(timeout=60)[1].decode()
    assert started.returncode == 3, complaint
    assert "changed since it was read" in complaint
    assert source.read_bytes() == LONG + b'{"role":"user","content":"more"}\n'
    assert names(source.parent) == ["report", "s.jsonl"]


def test_what_is_appended_after_the_backup_is_not_lost(source, monkeypatch):
    def and_then_append(path, *content):
        backup = atomic.back_up(path, *content)
        with path.open("ab") as file:
            file.write(b'{"role":"user","content":"wait"}\n')
        return backup

    monkeypatch.setattr(output, "back_up", and_then_append)
    with pytest.raises(InputError, match="changed since it was read; nothing was written"):
        output.write_output([b"small\n"], None, str(source), in_place=True)
    assert source.read_bytes() == LONG + b'{"role":"user","content":"wait"}\n'
    assert names(source.parent) == ["s.jsonl"]
