"""What the disk does to one stage: it fills up, is read-only, or changes under its hands."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.shell import (
    CHARS,
    COMPACTCTL,
    CUT,
    ENVIRONMENT,
    LONG,
    USER,
    call,
    fact,
    lines,
    refused,
    result,
    run,
    wait_until_it_waits,
)

from compactctl.errors import InputError
from compactctl.files import reading

LARGE = lines(
    {"role": "user", "content": "word " * 4000},
    call("toolu_1", command="make"),
    result("toolu_1", "done " * 4000),
    {"role": "assistant", "content": "Done."},
    USER,
)
"""40 KB; all layers keep half of it, the request."""

FULL_AT = 10_000
STAGES = [
    ("validate",),
    ("repair",),
    ("resolve",),
    ("dedup", *CHARS),
    CUT,
    ("prune", "--keep-turns", "1", *CHARS),
    ("summarize", "--summarizer", "template", *CHARS),
    ("compact", "--soft-limit", "10", *CHARS),
]
LIMITED = (
    "import os, resource, sys; "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def run_with_room(size, *arguments):
    """Run a command that can make no file larger than ``size``, as if the disk were full then.

    Without bytecode: Python would leave its own files cut off.
    """
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(size), *COMPACTCTL, *map(str, arguments)],
        env=ENVIRONMENT | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        timeout=60,
        check=False,
    )


@contextlib.contextmanager
def mounted(folder):
    """Mount a disk that can be made read-only, where that is allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def make_read_only(folder):
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def everything(folder):
    """Give all files below a folder, hidden ones too, with their bytes."""
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(LARGE)
    return path


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage[0])
@pytest.mark.parametrize("was_there", [False, True])
def test_a_full_disk_is_one_line_and_leaves_what_was_there(source, stage, was_there):
    output = source.with_name("out.jsonl")
    if was_there:
        output.write_bytes(b"earlier")
    before = everything(source.parent)
    complaint = refused(run_with_room(FULL_AT, *stage, source, "-o", output), 3)
    assert "out.jsonl: cannot be written: File too large" in complaint
    assert everything(source.parent) == before


def test_in_place_the_backup_needs_no_room(source):
    small = run(*CUT, source).stdout
    assert len(small) < len(LARGE)
    done = run_with_room(len(small), *CUT, source, "--in-place")
    assert done.returncode == 0, done.stderr
    assert source.read_bytes() == small
    assert source.with_name("s.jsonl.bak").read_bytes() == LARGE


def test_in_place_a_result_for_which_there_is_no_room_leaves_no_backup_either(source, tmp_path):
    state = tmp_path / "state.jsonl"
    state.write_bytes(lines(fact()))
    before = everything(tmp_path)
    done = run_with_room(len(LARGE), "resolve", source, "--state", state, "--in-place")
    assert "cannot be written: File too large" in refused(done, 3)
    assert everything(tmp_path) == before


def test_a_store_that_is_full_stops_the_stage_before_its_pointers_lead_nowhere(source, tmp_path):
    for options in (
        ("truncate", "--max-tokens", "200", "--artifacts"),
        ("prune", "--mode", "snip", "--max-messages", "3", "--head", "1", "--archive"),
    ):
        kept = tmp_path / "kept"
        kept.mkdir(exist_ok=True)
        output = tmp_path / "out.jsonl"
        refused(run_with_room(FULL_AT, *options, kept, *CHARS, source, "-o", output), 3)
        assert set(everything(tmp_path)) == {source.relative_to(tmp_path)}


def test_a_report_gets_a_whole_record_or_none(source, tmp_path):
    report, output = tmp_path / "report.jsonl", tmp_path / "out.jsonl"
    assert run(*CUT, source, "-o", tmp_path / "first", "--report", report).returncode == 0
    record = report.read_bytes()
    for room in (len(record), len(record) + 10):
        done = run_with_room(room, *CUT, source, "-o", output, "--report", report)
        assert "the report cannot be written" in refused(done, 3)
        assert report.read_bytes() == record
        assert not output.exists()


@pytest.mark.parametrize(
    "options", [("-o", "out"), ("--in-place",), ("--report", "r")], ids=" ".join
)
def test_a_read_only_disk_is_one_line(tmp_path, options):
    with mounted(tmp_path / "disk") as disk:
        (disk / "s.jsonl").write_bytes(LARGE)
        make_read_only(disk)
        complaint = refused(run(*CUT, "s.jsonl", *options, cwd=disk), 3)
        assert "Read-only file system" in complaint
        assert everything(disk).keys() == {(disk / "s.jsonl").relative_to(disk)}


def test_an_input_that_is_not_there_is_one_line(tmp_path):
    for stage in STAGES:
        done = run(*stage, tmp_path / "s.jsonl", "-o", tmp_path / "out.jsonl")
        assert "cannot be read: No such file or directory" in refused(done, 3)
    assert not everything(tmp_path)


CHANGES = {
    "grows": lambda path: path.write_bytes(LONG + lines(USER)),
    "shrinks": lambda path: os.truncate(path, 1000),
    "vanishes": lambda path: path.unlink(),
}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("where", ["-o", "--in-place"])
def test_a_file_that_changes_after_it_was_read(source, change, where):
    """To another file goes what was read, whole; in its own place goes nothing.

    The stage waits for its report, a pipe, between reading and writing.
    """
    source.write_bytes(LONG)
    expected = run(*CUT, source).stdout
    pipe, output = source.with_name("report"), source.with_name("out.jsonl")
    os.mkfifo(pipe)
    place = ("-o", str(output)) if where == "-o" else ("--in-place",)
    started = subprocess.Popen(
        [*COMPACTCTL, *CUT, str(source), *place, "--report", str(pipe)],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
    )
    wait_until_it_waits(started.pid)
    CHANGES[change](source)
    now = everything(source.parent)
    with pipe.open("rb") as report:
        report.read()
    complaint = started.communicate(timeout=60)[1].decode()
    if where == "-o":
        assert started.returncode == 0, complaint
        assert output.read_bytes() == expected
        output.unlink()
    else:
        assert started.returncode == 3, complaint
        assert complaint.count("\n") == 1
    assert everything(source.parent) == now


@pytest.mark.parametrize("by", [1, -10])
def test_a_file_that_changes_while_it_is_read_is_refused(source, monkeypatch, by):
    source.write_bytes(LONG)
    look = os.fstat

    def look_then_change(handle):
        found = look(handle)
        os.truncate(source, source.stat().st_size + by)
        return found

    monkeypatch.setattr(os, "fstat", look_then_change)
    with pytest.raises(InputError, match=r"s\.jsonl: changed while it was read"):
        reading.read_lines(str(source))
