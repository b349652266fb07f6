"""The command: its exit codes, where it writes, and what it says."""

from __future__ import annotations

import json

import pytest
from helpers.shell import ANSWER, USER, lines, refused, run, said

CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}],
}
BROKEN = lines(USER, CALL, USER)
VALID = lines(USER, ANSWER)
ORPHAN = lines({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]})


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(BROKEN)
    return path


def test_a_pipe_gets_the_mended_transcript_and_people_each_mend():
    done = run("repair", stdin=BROKEN)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == len(BROKEN.splitlines())
    assert b"no result was recorded" in done.stdout
    assert "repair: line 2: PAIR-01 t1: a call has no result" in said(done)
    assert "repair: 1 fix applied" in said(done)
    assert not run("validate", "--check", "-", stdin=done.stdout).returncode
    assert run("repair", stdin=done.stdout).stdout == done.stdout


def test_a_valid_transcript_passes_as_it_is():
    done = run("repair", stdin=VALID)
    assert (done.returncode, done.stdout) == (0, VALID)
    assert "nothing to repair" in said(done)


def test_dry_run_lists_and_writes_nothing(broken):
    out = broken.with_name("out.jsonl")
    done = run("repair", broken, "--dry-run", "-o", out)
    assert (done.returncode, done.stdout) == (0, b"")
    assert "PAIR-01 t1" in said(done)
    assert not out.exists()
    assert broken.read_bytes() == BROKEN


def test_output_goes_to_a_file_and_quiet_says_nothing(broken):
    out = broken.with_name("out.jsonl")
    done = run("repair", broken, "-o", out, "-q")
    assert (done.returncode, done.stdout, said(done)) == (0, b"", "")
    assert out.read_bytes() == run("repair", broken).stdout


def test_in_place_keeps_what_it_was(broken):
    assert run("repair", broken, "--in-place").returncode == 0
    assert b"no result was recorded" in broken.read_bytes()
    assert broken.with_name("s.jsonl.bak").read_bytes() == BROKEN
    assert run("repair", broken, "-o", broken).returncode == len("-o")  # a matter of usage


def test_the_report_lists_each_mend_and_accounts_for_each_line(tmp_path):
    path, report = tmp_path / "s.jsonl", tmp_path / "report.jsonl"
    orphan = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}
    path.write_bytes(lines(USER, ANSWER, orphan, USER, CALL, USER) + b"// a note\n" + b"{\n")
    done = run("repair", path, "--report", report)
    assert done.returncode == 0
    record = json.loads(report.read_bytes())
    assert record["stage"] == "repair"
    assert [(each["rule"], each["line"]) for each in record["actions"]] == [
        ("FILE-01", 8),
        ("PAIR-01", 5),
        ("PAIR-02", 3),
    ]
    counts = {"kept": 4, "changed": 2, "dropped": 1, "added": 0, "unreadable": 1}
    assert record["lines"] == counts
    assert record["tokens_after"] - record["tokens_before"] == -record["tokens_saved"] > 0
    assert record["first_changed_message"] == len([USER, ANSWER])
    assert len(done.stdout.splitlines()) == sum(counts.values()) - counts["dropped"]


def test_the_report_of_nothing_to_mend(tmp_path):
    report = tmp_path / "report.jsonl"
    assert run("repair", "--report", report, stdin=VALID).returncode == 0
    record = json.loads(report.read_bytes())
    counts = {"kept": 2, "changed": 0, "dropped": 0, "added": 0, "unreadable": 0}
    assert (record["lines"], record["first_changed_message"]) == (counts, None)
    assert record["tokens_saved"] == 0


def test_what_can_not_be_mended_is_said_and_nothing_written(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(ORPHAN)
    text = refused(run("repair", path, "-q"), 1)
    assert f"{path}:1: PAIR-02" in text
    assert "run `compactctl repair`" not in text


def test_empty_input_is_an_error():
    refused(run("repair", stdin=b""), 3)
