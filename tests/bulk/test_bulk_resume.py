"""A run that was stopped goes on where it was: killed, interrupted, failed."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from bulk_helpers import (
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


def test_ctrl_c_while_workers_are_started_leaves_nothing_running(tmp_path):
    source = write(tmp_path / "in", {f"{n}.jsonl": BIG for n in range(1500)})  # for seconds
    for pause in (0, 0.05, 0.2):
        run = start(compact_command(source, "-o", tmp_path / "out"))
        wait_for(lambda run=run: children(run.pid))
        time.sleep(pause)
        os.killpg(run.pid, signal.SIGINT)
        workers = children(run.pid)
        _, said = run.communicate(timeout=20)
        assert run.returncode == 130, said
        assert "Traceback" not in said
        wait_for(lambda workers=workers: not any(map(is_alive, workers)))
