"""A run that was stopped goes on where it was: killed, interrupted, failed."""

import fcntl
import json
import os
import random
import signal
import time
from pathlib import Path

import pytest
from helpers.bulk_helpers import (
    BROKEN,
    SMALL,
    bulk,
    check_whole,
    children,
    compact_command,
    complete_lines,
    is_alive,
    kill_at,
    last_lines,
    manifest_lines,
    sabotaged,
    session,
    sha256,
    start,
    tree,
    wait_for,
    write,
)

from compactctl.bulk.archive import Archive

BIG = session()


def test_what_is_done_stays_and_what_failed_is_tried_again(tmp_path):
    files = {"done.jsonl": BIG, "same.jsonl": SMALL, "none.jsonl": b"no\n", "bad.jsonl": BROKEN}
    source = write(tmp_path / "in", files)
    out = tmp_path / "out"
    assert bulk(source, "-o", out).returncode == 6
    before = {
        path: path.stat().st_mtime_ns for path in out.glob("*.jsonl") if path.stem != "manifest"
    }
    write(source, {"bad.jsonl": BIG})
    done = bulk(source, "-o", out, "--resume")
    assert done.returncode == 0, done.stderr
    assert len(manifest_lines(out)) == 5
    assert last_lines(out)[f"{source}/bad.jsonl"]["status"] == "done"
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert "done before" in done.stderr


@pytest.mark.parametrize("change", ["input", "output", "gone"])
def test_a_file_that_is_not_what_the_manifest_says_is_done_again(tmp_path, change):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "y.jsonl": BIG})
    out = tmp_path / "out"
    bulk(source, "-o", out)
    if change == "input":
        write(source, {"x.jsonl": session(9)})
    elif change == "output":
        (out / "x.jsonl").write_bytes(b"damaged")
    else:
        (out / "x.jsonl").unlink()
    assert bulk(source, "-o", out, "--resume").returncode == 0
    assert len(manifest_lines(out)) == 3
    bulk(source, "-o", tmp_path / "fresh")
    assert tree(out) == tree(tmp_path / "fresh")


def test_an_archive_that_was_not_asked_for_before_is_filled(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "same.jsonl": SMALL})
    out, kept = tmp_path / "out", tmp_path / "kept"
    bulk(source, "-o", out)
    for _ in range(2):
        assert bulk(source, "-o", out, "--resume", "--archive", kept).returncode == 0
        assert (kept / sha256(BIG)[:2] / f"{sha256(BIG)}.gz").exists()
    assert len(manifest_lines(out)) == 3


def test_a_torn_last_line_of_the_manifest_is_as_if_it_were_not_there(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "y.jsonl": BIG})
    out = tmp_path / "out"
    bulk(source, "-o", out)
    whole = (out / "manifest.jsonl").read_bytes()
    (out / "manifest.jsonl").write_bytes(whole[:-40])
    assert bulk(source, "-o", out, "--resume").returncode == 0
    lines = (out / "manifest.jsonl").read_bytes().splitlines()
    assert len(lines) == 3
    assert lines[0] + b"\n" == whole.splitlines(keepends=True)[0]


def test_two_runs_do_not_share_an_output(tmp_path):
    source = write(tmp_path / "in", {f"slow{at}.jsonl": BIG for at in range(8)})
    first = start(compact_command(source, "-o", tmp_path / "out"), env=sabotaged())
    wait_for(lambda: complete_lines(tmp_path / "out"))
    second = bulk(source, "-o", tmp_path / "out")
    assert second.returncode == 2
    assert "another run is writing to" in second.stderr
    first.communicate()
    assert first.returncode == 0


def test_killed_at_any_moment_it_resumes_to_the_same(archive, undisturbed, tmp_path):
    out = tmp_path / "out"
    before = tree(archive)
    left = 0
    for moment in sorted(random.sample(range(1, 38), 3)):
        again = compact_command(archive, "-o", out, "--resume")
        left = kill_at(max(moment, left + 1), again, out)
        partial = tree(out)
        temporary = {name for name in partial if Path(name).name.startswith(".")}
        assert {n: partial[n] for n in partial.keys() - temporary}.items() <= undisturbed.items()
    done = bulk(archive, "-o", out, "--resume")
    assert done.returncode == 0, done.stderr
    check_whole(archive, out, before, undisturbed)


def test_helpers_of_a_killed_run_end_without_a_word(tmp_path):
    source = write(tmp_path / "in", {f"slow{at}.jsonl": BIG for at in range(6)})
    run = start(compact_command(source, "-o", tmp_path / "out"), env=sabotaged())
    wait_for(lambda: complete_lines(tmp_path / "out"))
    workers = children(run.pid)
    run.kill()
    assert run.communicate()[1] == ""  # all of them hold the other end
    wait_for(lambda: not any(map(is_alive, workers)))


def test_what_a_killed_run_had_half_written_in_an_archive_is_removed_to_resume(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    out, kept = tmp_path / "out", tmp_path / "kept"
    one, two = sha256(b"one"), sha256(b"two")
    half = {f"{one[:2]}/.{one}.gz.0a1b2c3d": b"half", f"index/aa/.{one}-{two}.0a1b2c3d": b""}
    write(kept, half | {".mine": b"", "aa/busy": b""})
    busy = kept / f"aa/.{two}.gz.0a1b2c3d"  # of another run, which is writing it
    with busy.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert bulk(source, "-o", out, "--archive", kept).returncode == 0
        assert half.keys() < tree(kept).keys()
        assert bulk(source, "-o", out, "--archive", kept, "--resume").returncode == 0
        left = {name for name in tree(kept) if Path(name).name.startswith(".")}
        assert left == {".mine", f"aa/.{two}.gz.0a1b2c3d"}


def test_what_was_made_with_other_options_is_said_and_done_again(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "y.jsonl": session(9), "same.jsonl": SMALL})
    out, fresh = tmp_path / "out", tmp_path / "fresh"
    bulk(source, "-o", out)
    other = ("--keep-turns", 2)
    done = bulk(source, "-o", out, "--resume", *other)
    assert done.returncode == 0, done.stderr
    said = "3 files of the manifest had other options or another version; done again"
    assert said in done.stderr
    bulk(source, "-o", fresh, *other)
    assert tree(out) == tree(fresh)
    again = bulk(source, "-o", out, "--resume", *other)
    assert "done again" not in again.stderr
    assert len(manifest_lines(out)) == 6


@pytest.mark.parametrize("other", [("--jobs", 1), ("--file-timeout", 9), ("--verbose",)])
def test_options_that_no_output_depends_on_are_no_other_options(tmp_path, other):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    bulk(source, "-o", tmp_path / "out")
    done = bulk(source, "-o", tmp_path / "out", "--resume", *other)
    assert "done again" not in done.stderr
    assert len(manifest_lines(tmp_path / "out")) == 1


def edited(line, **more):
    return json.dumps(line | more).encode() + b"\n"


@pytest.mark.parametrize(
    "edit",
    [
        {"output_sha256": sha256(b"planted")},
        {"status": "skipped", "output": None},
        {"status": "unchanged", "output_sha256": sha256(b"planted")},
        {"output": "/etc/passwd", "output_sha256": sha256(b"planted"), "seconds": 0},
        {"tokens_before": 10**30},
        {"check": None},
        {"check": ["x"]},
    ],
    ids=str,
)
def test_an_edited_manifest_is_not_believed(tmp_path, edit):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    out = tmp_path / "out"
    bulk(source, "-o", out)
    whole = tree(out)
    write(out, {"x.jsonl": b"planted", "manifest.jsonl": edited(manifest_lines(out)[0], **edit)})
    done = bulk(source, "-o", out, "--resume")
    assert done.returncode == 0, done.stderr
    assert tree(out) == whole
    assert last_lines(out)[f"{source}/x.jsonl"]["status"] == "done"


@pytest.mark.parametrize("resume", [(), ("--resume",)])
@pytest.mark.parametrize("plant", ["fifo", "link", "folder"])
def test_a_manifest_that_is_no_file_is_not_followed(tmp_path, plant, resume):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    out = write(tmp_path / "out", {"other": b""})
    path = out / "manifest.jsonl"
    if plant == "fifo":
        os.mkfifo(path)
    elif plant == "link":
        path.symlink_to(out / "other")
    else:
        path.mkdir()
    done = bulk(source, "-o", out, *resume)
    assert done.returncode == 3
    assert str(path) in done.stderr
    assert done.stderr.count("\n") == 1
    assert tree(out) == {"other": sha256(b"")}


def test_a_fifo_in_the_place_of_a_manifest_does_not_hold_restore_up(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    bulk(source, "-o", tmp_path / "out", "--archive", tmp_path / "kept")
    (tmp_path / "out/manifest.jsonl").unlink()
    os.mkfifo(tmp_path / "out/manifest.jsonl")
    kept = Archive(str(tmp_path / "kept"))
    small = (tmp_path / "out/x.jsonl").read_bytes()
    assert kept.original(str(tmp_path / "out/x.jsonl"), small) == BIG


def test_a_folder_link_inside_an_output_is_not_followed(tmp_path):
    source = write(tmp_path / "in", {"a/x.jsonl": BIG, "b/c/y.jsonl": BIG, "z.jsonl": BIG})
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    (out / "b").mkdir(parents=True)
    elsewhere.mkdir()
    (out / "a").symlink_to(elsewhere)
    (out / "b/c").symlink_to(elsewhere)
    done = bulk(source, "-o", out)
    assert done.returncode == 6, done.stderr
    assert done.stderr.count("a link leads out of") == 2
    assert list(elsewhere.iterdir()) == []
    assert list(tree(out)) == ["z.jsonl"]


def test_an_output_that_was_led_elsewhere_is_not_believed(tmp_path):
    source = write(tmp_path / "in", {"a/x.jsonl": BIG})
    out = tmp_path / "out"
    bulk(source, "-o", out)
    (out / "a").rename(tmp_path / "elsewhere")
    (out / "a").symlink_to(tmp_path / "elsewhere")
    assert bulk(source, "-o", out, "--resume").returncode == 6


def test_a_link_to_the_output_itself_is_the_users_choice(tmp_path):
    source = write(tmp_path / "in", {"a/x.jsonl": BIG})
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    assert bulk(source, "-o", tmp_path / "out").returncode == 0
    assert list(tree(tmp_path / "real")) == ["a/x.jsonl"]


def test_a_fifo_in_the_place_of_an_output_is_replaced(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out/x.jsonl")
    assert bulk(source, "-o", tmp_path / "out").returncode == 0
    assert list(tree(tmp_path / "out")) == ["x.jsonl"]


def test_what_a_killed_run_had_half_written_is_removed(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    out = write(tmp_path / "out", {".x.jsonl.0a1b2c3d": b"half", ".keep.jsonl": b"mine"})
    assert bulk(source, "-o", out).returncode == 0
    assert list(tree(out)) == [".keep.jsonl", "x.jsonl"]


@pytest.mark.parametrize(
    ("end", "code"),
    [
        # As a terminal does, to workers and all; and as a service manager does.
        (lambda pid: os.killpg(pid, signal.SIGINT), 130),
        (lambda pid: os.kill(pid, signal.SIGTERM), 143),
        (lambda pid: os.killpg(pid, signal.SIGTERM), 143),
        # As timeout(1) does.
        (lambda pid: [os.kill(pid, signal.SIGTERM), os.killpg(pid, signal.SIGTERM)], 143),
    ],
)
def test_a_signal_lets_what_is_in_hand_finish_and_says_how_to_go_on(tmp_path, end, code):
    source = write(tmp_path / "in", {f"slow{at}.jsonl": BIG for at in range(12)})
    out = tmp_path / "out"
    run = start(compact_command(source, "-o", out), env=sabotaged())
    wait_for(lambda: complete_lines(out) >= 2)
    end(run.pid)
    _, said = run.communicate()
    assert run.returncode == code, said
    assert "stopping when the files in hand are done" in said
    lines = manifest_lines(out)
    assert 2 <= len(lines) < 12
    assert {line["status"] for line in lines} == {"done"}
    assert f"{len(lines)} of 12 files are done; run the same command with --resume" in said
    assert len(tree(out)) == len(lines)
    assert bulk(source, "-o", out, "--resume").returncode == 0
    assert len(manifest_lines(out)) == len(tree(out)) == 12


def test_ctrl_c_twice_ends_at_once(tmp_path):
    source = write(tmp_path / "in", {"sleeper.jsonl": BIG, "x.jsonl": SMALL})
    out = tmp_path / "out"
    run = start(compact_command(source, "-o", out), env=sabotaged())
    wait_for(lambda: complete_lines(out) >= 1)
    workers = children(run.pid)
    for _ in range(2):
        os.killpg(run.pid, signal.SIGINT)
        time.sleep(0.5)
    _, said = run.communicate(timeout=20)
    assert run.returncode == 130, said
    wait_for(lambda: not any(map(is_alive, workers)))
    assert list(tree(out)) == ["x.jsonl"]


def test_a_signal_while_workers_are_started_leaves_nothing_running(tmp_path):
    source = write(tmp_path / "in", {f"{n}.jsonl": BIG for n in range(1500)})  # for seconds
    for pause, number in [(0, 2), (0.05, 2), (0.2, 2), (0.02, 15), (0.1, 15)]:
        run = start(compact_command(source, "-o", tmp_path / "out"))
        wait_for(lambda run=run: children(run.pid))
        time.sleep(pause)
        os.killpg(run.pid, number)
        workers = children(run.pid)
        _, said = run.communicate(timeout=20)
        assert run.returncode == 128 + number, said
        assert "Traceback" not in said
        wait_for(lambda workers=workers: not any(map(is_alive, workers)))
