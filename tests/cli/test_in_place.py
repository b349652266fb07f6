"""``--in-place``: the input is replaced, and what it was stays beside it."""

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
    fact,
    lines,
    mode,
    names,
    refused,
    run,
    wait_until_it_waits,
)

from compactctl.errors import InputError
from compactctl.files import in_place
from compactctl.files.atomic import stamp

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


def hold_open(path, mode="ab"):
    """Start a client that holds the file open and writes a line whenever it is given one."""
    says = f"import sys; f = open({str(path)!r}, {mode!r}, buffering=0); print(flush=True)\n"
    says += "for line in sys.stdin.buffer: f.write(line); print(flush=True)"
    client = subprocess.Popen(
        [sys.executable, "-c", says], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    client.stdout.readline()
    return client


MORE = b'{"role":"user","content":"more"}\n'


def write_more(client):
    client.stdin.write(MORE)
    client.stdin.flush()
    client.stdout.readline()


@pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="needs /proc")
@pytest.mark.parametrize("mode", ["ab", "r+b"])
def test_a_file_that_a_client_has_open_to_write_is_refused_with_its_name(source, mode):
    with hold_open(source, mode) as client:
        for stage in (CUT, ("resolve",), ("compact", *CHARS)):
            complaint = refused(run(*stage, source, "--in-place"), 3)
            assert f"open for writing in process {client.pid} (python" in complaint
            assert "end that first, or write to another file with -o" in complaint
        write_more(client)
        client.stdin.close()
    assert len(source.read_bytes()) == len(LONG) + len(MORE) * (mode == "ab")
    assert names(source.parent) == ["s.jsonl"]


def test_a_file_that_is_only_read_by_others_is_replaced(source):
    with source.open("rb"):
        assert run(*CUT, source, "--in-place").returncode == 0
    assert source.read_bytes() == EXPECTED


def test_a_client_that_opens_the_file_for_each_line_loses_none(source, tmp_path):
    """It writes in any moment of a change, also between the last look and the new name."""
    says = "import sys, time, random\nfor at in range(100000):\n f = open(sys.argv[1], 'ab')\n"
    says += " f.write(b'{\"n\":%d}\\n' % at); f.close()\n"
    says += " print(flush=True); time.sleep(random.random() / 300)"
    source.write_bytes(b"{}\n")
    client = subprocess.Popen([sys.executable, "-c", says, str(source)], stdout=subprocess.PIPE)
    client.stdout.readline()
    replaced = 0
    while replaced < 40:
        before, content = stamp(source.stat()), source.read_bytes()
        with contextlib.suppress(in_place.LiveError):
            in_place.replace_in_place(source, [content], before)
            replaced += 1
            (tmp_path / "s.jsonl.bak").unlink()
    client.terminate()
    wrote = 1 + client.communicate()[0].count(b"\n")
    kept = source.read_bytes().splitlines()
    assert len(set(kept)) == len(kept)
    assert {b"{}", *(b'{"n":%d}' % at for at in range(wrote))} <= set(kept)


def test_a_file_that_has_changed_is_left_alone(source):
    before = stamp(source.stat())
    source.write_bytes(LONG + MORE)
    with pytest.raises(InputError, match="changed since it was read; nothing was written"):
        in_place.replace_in_place(source, [EXPECTED], before)
    assert source.read_bytes() == LONG + MORE
    assert names(source.parent) == ["s.jsonl"]


def test_the_backup_is_the_very_file(source):
    before = source.stat()
    assert run(*CUT, source, "--in-place").returncode == 0
    assert os.path.samestat(source.with_name("s.jsonl.bak").stat(), before)


def test_on_a_disk_without_hard_links_the_backup_is_a_copy(source):
    """Which another disk is like: nothing on this one can have another name there."""
    other = Path("/dev/shm")  # another disk, which the copy leaves again
    if not other.is_dir() or other.stat().st_dev == source.stat().st_dev:
        pytest.skip("no other disk here")
    source.chmod(0o604)
    copy = other / f"{source.parent.name}.bak"
    handle = os.open(source, os.O_RDONLY)
    try:
        in_place._link_or_copy(source, handle, str(copy))
        assert (copy.read_bytes(), mode(copy)) == (LONG, 0o604)
        with pytest.raises(FileExistsError):
            in_place._link_or_copy(source, handle, str(copy))
    finally:
        os.close(handle)
        copy.unlink(missing_ok=True)


def test_hard_links_are_not_parted(source, tmp_path):
    other = tmp_path / "other.jsonl"
    other.hardlink_to(source)
    assert "1 other name (hard links)" in refused(run(*CUT, source, "--in-place"), 3)
    assert source.read_bytes() == other.read_bytes() == LONG
    assert names(tmp_path) == ["other.jsonl", "s.jsonl"]


def test_a_backup_that_a_killed_run_had_made_is_taken(source, tmp_path):
    (tmp_path / "s.jsonl.bak").write_text("first")
    (tmp_path / "s.jsonl.bak.1").hardlink_to(source)
    assert run(*CUT, source, "--in-place").returncode == 0
    assert source.read_bytes() == EXPECTED
    assert (tmp_path / "s.jsonl.bak.1").read_bytes() == LONG
    assert names(tmp_path) == ["s.jsonl", "s.jsonl.bak", "s.jsonl.bak.1"]
