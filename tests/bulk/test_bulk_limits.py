"""One monster does not stop the rest: it is slow, hungry, deaf, or takes its worker down."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from helpers.bulk_helpers import (
    bulk,
    children,
    compact_command,
    complete_lines,
    last_lines,
    manifest_lines,
    sabotaged,
    session,
    start,
    tree,
    wait_for,
    write,
)

from compactctl.bulk import limits
from compactctl.files import compression

BIG = session()
GOOD = {f"good{at}.jsonl": BIG for at in range(6)}


def errors(out):
    return {
        Path(source).name: line["error"]
        for source, line in last_lines(out).items()
        if line["status"] == "failed"
    }


def test_a_file_that_takes_its_worker_down_fails_and_the_others_do_not(tmp_path):
    source = write(tmp_path / "in", {**GOOD, "killer.jsonl": BIG * 2, "once.jsonl": BIG})
    done = bulk(source, "-o", tmp_path / "out", env=sabotaged())
    assert done.returncode == 6
    failed = errors(tmp_path / "out")
    assert list(failed) == ["killer.jsonl"]
    assert "worker died twice" in failed["killer.jsonl"]
    assert list(tree(tmp_path / "out")) == [*GOOD, "once.jsonl"]
    assert len(manifest_lines(tmp_path / "out")) == 8


@pytest.mark.parametrize("kind", ["sleeper", "loop", "deaf"])
def test_a_file_that_takes_too_long_fails_and_the_others_do_not(tmp_path, kind):
    source = write(tmp_path / "in", {**GOOD, f"{kind}.jsonl": BIG * 2})
    start = time.monotonic()
    done = bulk(source, "-o", tmp_path / "out", "--file-timeout", 1, env=sabotaged())
    assert done.returncode == 6
    assert time.monotonic() - start < 20
    assert errors(tmp_path / "out") == {
        f"{kind}.jsonl": "took longer than 1 s; give it more with --file-timeout"
    }
    assert list(tree(tmp_path / "out")) == list(GOOD)


def test_a_file_that_needs_too_much_memory_fails_and_the_others_do_not(tmp_path):
    source = write(tmp_path / "in", {**GOOD, "glutton.jsonl": BIG * 2})
    done = bulk(source, "-o", tmp_path / "out", "--max-memory", 500, env=sabotaged())
    assert done.returncode == 6
    assert errors(tmp_path / "out") == {
        "glutton.jsonl": "needs more memory than it may have; give it more with --max-memory"
    }
    assert list(tree(tmp_path / "out")) == list(GOOD)


@pytest.mark.parametrize("bound", [1, 60, 99])
def test_a_bound_that_no_worker_can_begin_with_is_a_usage_error(tmp_path, bound):
    source = write(tmp_path / "in", GOOD)
    done = bulk(source, "-o", tmp_path / "out", "--max-memory", bound)
    assert done.returncode == 2
    assert done.stderr == "compactctl: --max-memory must be at least 100 (MB), or 0 for no bound\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["gzip", "Zstandard"])
def test_a_packed_file_needs_no_room_for_more_than_it_holds(tmp_path, kind):
    source = write(tmp_path / "in", {"packed.jsonl": compression.pack(BIG, kind)})
    done = bulk(source, "-o", tmp_path / "out", "--max-memory", 500)
    assert done.returncode == 0, done.stderr


def test_workers_that_are_killed_in_mid_run_lose_nothing(tmp_path):
    files = {f"slow{at}.jsonl": BIG for at in range(10)}
    source = write(tmp_path / "in", files)
    run = start(compact_command(source, "-o", tmp_path / "out"), env=sabotaged())
    killed = set()
    for count in (1, 3, 5):
        wait_for(lambda count=count: complete_lines(tmp_path / "out") >= count)
        # The forkserver's children are the workers; the forkserver itself has children.
        workers = [p for p in children(run.pid) - killed if not children(p) and is_worker(p)]
        os.kill(workers[0], signal.SIGKILL)
        killed.add(workers[0])
    _, said = run.communicate()
    assert run.returncode == 0, said
    assert list(tree(tmp_path / "out")) == sorted(files)
    assert len(manifest_lines(tmp_path / "out")) == 10


def is_worker(pid):
    return b"forkserver" in Path("/proc", str(pid), "cmdline").read_bytes()


def test_the_deadline_of_a_thread_ends_python_code_too():
    seen = []

    def work():
        try:
            with limits.deadline(0.1):
                while True:
                    pass
        except limits.OverdueError:
            seen.append("overdue")
        with limits.deadline(0.05):
            seen.append("in time")
        time.sleep(0.1)
        seen.append("not struck later")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert seen == ["overdue", "in time", "not struck later"]


def test_no_deadline_is_no_end():
    with limits.deadline(0):
        assert signal.getsignal(signal.SIGALRM) is not None
