"""A real Dask scheduler and two worker processes on loopback do what the local pool does."""

import contextlib
import os
import random
import signal
import sys
import threading
from pathlib import Path

import pytest
from helpers.bulk_helpers import (
    BROKEN,
    PATIENCE,
    answers,
    bulk,
    children,
    compact_command,
    complete_lines,
    free_port,
    last_lines,
    manifest_lines,
    process,
    sabotaged,
    session,
    start,
    tree,
    wait_for,
    write,
)

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")

from compactctl import pipeline  # noqa: E402 (needs distributed)
from compactctl.bulk import cluster as cluster_engine  # noqa: E402 (needs distributed)
from compactctl.bulk import settings  # noqa: E402 (the same)
from compactctl.errors import InputError, UsageError  # noqa: E402 (the same)

BIG = session()
LONG = session(text="x" * 700_000)  # too large to share a task, so that a run lasts
DASK = [sys.executable, "-m", "dask"]


@contextlib.contextmanager
def scheduler(env):
    port = free_port()
    arguments = ["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
    with process([*DASK, *arguments], env=env) as running:
        wait_for(lambda: answers(port) or running.poll() is not None)
        yield running, f"tcp://127.0.0.1:{port}"


@contextlib.contextmanager
def worker(address, folder, env):
    """One worker process with its nanny, which starts it again when it dies."""
    arguments = ["worker", address, "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard"]
    with process([*DASK, *arguments, "--local-directory", folder], env=env) as running:
        try:
            yield running
        finally:
            for pid in children(running.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a scheduler with two workers, which files can do harm."""
    env = sabotaged() | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2"}
    folder = tmp_path_factory.mktemp("dask")
    with (
        scheduler(env) as (_, address),
        worker(address, folder / "1", env) as one,
        worker(address, folder / "2", env) as two,
    ):
        yield address, (one, two)


def on(address):
    return ("--engine", "dask", "--scheduler", address)


def test_the_cluster_makes_the_same_as_the_pool(cluster, archive, undisturbed, tmp_path):
    done = bulk(archive, "-o", tmp_path / "out", *on(cluster[0]))
    assert done.returncode == 0, done.stderr
    assert tree(tmp_path / "out") == undisturbed
    assert len(manifest_lines(tmp_path / "out")) == len(undisturbed)
    again = bulk(archive, "-o", tmp_path / "out", "--resume", *on(cluster[0]))
    assert again.returncode == 0
    assert len(manifest_lines(tmp_path / "out")) == len(undisturbed)


def test_relative_names_hold_on_workers_elsewhere(cluster, tmp_path):
    write(tmp_path, {"in/x.jsonl": BIG, "in/bad.jsonl": BROKEN})
    done = bulk("in", "-o", "out", *on(cluster[0]), "--archive", "kept", cwd=tmp_path)
    assert done.returncode == 6
    assert list(tree(tmp_path / "out")) == ["x.jsonl"]
    assert last_lines(tmp_path / "out")["in/x.jsonl"]["output"] == "out/x.jsonl"
    assert (tmp_path / "kept").is_dir()


def test_workers_killed_in_mid_run_lose_nothing(cluster, tmp_path):
    address, nannies = cluster
    files = {f"slow{at}.jsonl": LONG for at in range(8)}
    source = write(tmp_path / "in", files)
    run = start(compact_command(source, "-o", tmp_path / "out", *on(address)))
    for at, nanny in enumerate(nannies):
        wait_for(lambda at=at: complete_lines(tmp_path / "out") >= 1 + 2 * at)
        workers = [pid for pid in children(nanny.pid) if is_busy(pid)]
        os.kill(random.choice(workers), signal.SIGKILL)
    _, said = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, said
    assert list(tree(tmp_path / "out")) == sorted(files)
    assert len(manifest_lines(tmp_path / "out")) == 8
    bulk(source, "-o", tmp_path / "undisturbed")
    assert tree(tmp_path / "out") == tree(tmp_path / "undisturbed")


def is_busy(pid):
    return b"spawn_main" in Path("/proc", str(pid), "cmdline").read_bytes()


def test_a_file_that_takes_workers_down_fails_alone(cluster, tmp_path):
    files = {f"good{at}.jsonl": BIG for at in range(6)}
    source = write(tmp_path / "in", {**files, "killer.jsonl": BIG})
    done = bulk(source, "-o", tmp_path / "out", *on(cluster[0]))
    assert done.returncode == 6, done.stderr
    assert list(tree(tmp_path / "out")) == list(files)
    error = last_lines(tmp_path / "out")[f"{source}/killer.jsonl"]["error"]
    assert "each worker that took it died" in error


def test_a_file_that_takes_too_long_fails_alone(cluster, tmp_path):
    source = write(tmp_path / "in", {"good.jsonl": BIG, "loop.jsonl": BIG})
    done = bulk(source, "-o", tmp_path / "out", *on(cluster[0]), "--file-timeout", 1)
    assert done.returncode == 6, done.stderr
    assert "took longer than 1 s" in done.stderr
    assert list(tree(tmp_path / "out")) == ["good.jsonl"]


def test_a_driver_that_is_killed_resumes(cluster, tmp_path):
    files = {f"slow{at}.jsonl": LONG for at in range(8)}
    source = write(tmp_path / "in", files)
    run = start(compact_command(source, "-o", tmp_path / "out", *on(cluster[0])))
    wait_for(lambda: complete_lines(tmp_path / "out") >= 2)
    run.kill()
    run.communicate()
    done = bulk(source, "-o", tmp_path / "out", *on(cluster[0]), "--resume")
    assert done.returncode == 0, done.stderr
    assert len(manifest_lines(tmp_path / "out")) == 8
    bulk(source, "-o", tmp_path / "undisturbed")
    assert tree(tmp_path / "out") == tree(tmp_path / "undisturbed")


def test_a_scheduler_that_is_lost_ends_the_run_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_engine, "_PATIENCE", 2)
    files = {f"slow{at}.jsonl": LONG for at in range(8)}
    source = write(tmp_path / "in", files)
    out = tmp_path / "out"
    env = sabotaged()
    with scheduler(env) as (running, address), worker(address, tmp_path / "w", env):
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
        watch = threading.Thread(
            target=lambda: (wait_for(lambda: complete_lines(out) >= 1), running.kill())
        )
        watch.start()
        done = bulk(source, "-o", out, *on(address))
        watch.join()
    assert done.returncode == 6
    assert done.stderr == (
        "compactctl: the Dask scheduler is gone; run the same command with --resume\n"
    )
    assert bulk(source, "-o", out, "--resume").returncode == 0
    assert len(last_lines(out)) == 8


def test_no_scheduler_is_said_in_one_line(monkeypatch):
    monkeypatch.setattr(cluster_engine, "_PATIENCE", 0.5)
    with pytest.raises(InputError, match="no Dask scheduler answers at tcp://127"):
        cluster_engine.Cluster(settings.Recipe(pipeline.compact), f"tcp://127.0.0.1:{free_port()}")


def test_another_version_on_the_workers_is_refused(cluster):
    recipe = settings.Recipe(pipeline.compact, version="0.0.0")
    with pytest.raises(UsageError, match=r"the driver is compactctl 0\.0\.0, the worker "):
        cluster_engine.Cluster(recipe, cluster[0])
