"""Where the result goes: files appear whole or not at all, and the input is never lost."""

import os
import signal
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.shell import (
    BROKEN,
    CHARS,
    COMPACTCTL,
    CUT,
    ENVIRONMENT,
    LONG,
    mode,
    names,
    refused,
    run,
    said,
)

from compactctl.files.atomic import write_file

ROOT_USER = os.geteuid() == 0
EXPECTED = run(*CUT, stdin=LONG).stdout


def test_a_new_file_is_for_its_owner_only(source, tmp_path):
    output = tmp_path / "out.jsonl"
    done = run(*CUT, source, "-o", output)
    assert (done.returncode, done.stdout) == (0, b"")
    assert output.read_bytes() == EXPECTED
    assert mode(output) == 0o600
    assert names(tmp_path) == ["out.jsonl", "s.jsonl"]


def test_a_file_that_was_there_keeps_its_mode(source, tmp_path):
    output = tmp_path / "out.jsonl"
    output.write_text("old")
    output.chmod(0o640)
    assert run(*CUT, source, "--output", output).returncode == 0
    assert output.read_bytes() == EXPECTED
    assert mode(output) == 0o640


def test_a_stage_that_fails_leaves_the_output_as_it_was(tmp_path):
    output = tmp_path / "out.jsonl"
    output.write_text("old")
    for command, code in (
        (("truncate", *CHARS), 1),
        (("validate",), 1),
        (("compact", *CHARS), 1),
        (("prune", "--format", "nonsense", *CHARS), 2),
    ):
        done = run(*command, "-o", output, stdin=BROKEN)
        assert done.returncode == code
        assert not done.stdout
        assert output.read_text() == "old"
        assert names(tmp_path) == ["out.jsonl"]


def test_the_input_is_no_output_by_any_name(source, tmp_path):
    hard, link = tmp_path / "hard.jsonl", tmp_path / "link.jsonl"
    hard.hardlink_to(source)
    link.symlink_to(source)
    folder = tmp_path / "folder"
    folder.symlink_to(tmp_path)
    for output in (source, hard, link, folder / "s.jsonl"):
        refused(run(*CUT, source, "-o", output), 2)
    for command in (("resolve",), ("compact", *CHARS), ("render",)):
        refused(run(*command, source, "-o", hard), 2)
    assert run("validate", "-q", source, "-o", hard).returncode == 2
    with source.open("rb") as file:
        refused(run(*CUT, "-o", hard, stdin=file), 2)
    with source.open("ab") as file:
        assert run(*CUT, source, stdout=file).returncode == 2
    with source.open("rb") as file, source.open("ab") as end:
        assert run(*CUT, stdin=file, stdout=end).returncode == 2
    assert source.read_bytes() == LONG
    assert names(tmp_path) == ["folder", "hard.jsonl", "link.jsonl", "s.jsonl"]


def test_a_symbolic_link_is_not_written_through(source, tmp_path):
    other, link, dangling = (tmp_path / name for name in ("other", "link", "dangling"))
    other.write_text("old")
    link.symlink_to(other)
    dangling.symlink_to(tmp_path / "nowhere")
    for output in (link, dangling):
        assert "symbolic link" in refused(run(*CUT, source, "-o", output), 2)
    assert other.read_text() == "old"
    assert not (tmp_path / "nowhere").exists()


def test_a_pipe_is_written_to_as_it_is(source, tmp_path):
    assert run(*CUT, source, "-o", "/dev/stdout").stdout == EXPECTED
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as other:
        read = other.submit(pipe.read_bytes)
        assert run(*CUT, source, "-o", pipe).returncode == 0
        assert read.result() == EXPECTED


@pytest.mark.skipif(not ROOT_USER, reason="only root makes devices")
def test_a_device_is_never_replaced(source, tmp_path):
    null = tmp_path / "null"  # not the real one: no test should be able to break the machine
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, Path(os.devnull).stat().st_rdev)
    except PermissionError:
        pytest.skip("not even root does, here")
    assert run(*CUT, source, "-o", null).returncode == 0
    assert stat.S_ISCHR(null.stat().st_mode)


def test_folders_and_what_cannot_be_written_are_one_line(source, tmp_path):
    assert "is a folder" in refused(run(*CUT, source, "-o", tmp_path), 2)
    refused(run(*CUT, source, "-o", tmp_path / "missing" / "out.jsonl"), 3)
    refused(run(*CUT, source, "-o", tmp_path / ("n" * 300)), 3)
    refused(run(*CUT, source, "-o", source / "out.jsonl"), 3)
    if Path("/dev/full").exists():
        assert "No space left" in refused(run(*CUT, source, "-o", "/dev/full"), 3)


def test_long_names_have_room_for_a_temporary_file(source, tmp_path):
    output = tmp_path / ("é" * 127)
    assert run(*CUT, source, "-o", output).returncode == 0
    assert output.read_bytes() == EXPECTED


@pytest.mark.skipif(ROOT_USER, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_one_line(source, tmp_path):
    tmp_path.chmod(0o500)
    refused(run(*CUT, source, "-o", tmp_path / "out.jsonl"), 3)
    tmp_path.chmod(0o700)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_it_writes_nothing(tmp_path, number, code):
    pipe, output = tmp_path / "pipe", tmp_path / "out.jsonl"
    os.mkfifo(pipe)
    started = subprocess.Popen(
        [*COMPACTCTL, *CUT, str(pipe), "-o", str(output)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with pipe.open("wb") as feed:  # opens when the other side does
        feed.write(LONG)
        feed.flush()
        started.send_signal(number)
        shown, complaint = started.communicate(timeout=60)
    assert (started.returncode, shown) == (code, b"")
    assert b"Traceback" not in complaint
    assert names(tmp_path) == ["pipe"]


def test_no_temporary_file_outlives_an_interrupt(tmp_path):
    def chunks():
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(chunks(), tmp_path / "out.jsonl")
    assert names(tmp_path) == []


def test_reports_of_a_failed_write_say_which_file(source, tmp_path):
    output = tmp_path / "missing" / "out.jsonl"
    assert said(run(*CUT, source, "-o", output)).startswith(f"compactctl: {output}: ")
