"""What other processes do to the files meanwhile: they vanish, grow, shrink, become links."""

import contextlib
import os
import threading
import time
from pathlib import Path

import pytest
from helpers.bulk_helpers import (
    bulk,
    compact_command,
    complete_lines,
    last_lines,
    sabotaged,
    session,
    sha256,
    start,
    tree,
    wait_for,
    write,
)

from compactctl import pipeline
from compactctl.bulk import discover, plan, settings, storage, task

BIG = session()


def work(found, counter):
    names = ("truncate", "prune")
    return pipeline.compact(found, names, {}, counter, soft_limit=3000, hard_limit=9000)


RECIPE = settings.Recipe(work, "chars")


def test_an_output_that_is_a_file_is_one_clear_error(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "y.jsonl": BIG})
    write(tmp_path, {"out": b"a file"})
    done = bulk(source, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "out is a file; many files are written to a folder" in done.stderr
    assert (tmp_path / "out").read_bytes() == b"a file"


def test_a_file_that_vanishes_while_its_folder_is_listed_is_found_all_the_same(
    tmp_path, monkeypatch
):
    source = write(tmp_path / "in", {"a.jsonl": BIG, "b.jsonl": BIG})
    scan = os.scandir

    def scan_then_unlink(folder):
        with scan(folder) as entries:
            found = list(entries)
        (source / "a.jsonl").unlink(missing_ok=True)
        return contextlib.nullcontext(found)

    monkeypatch.setattr(os, "scandir", scan_then_unlink)
    found = list(discover.find(str(source), lambda _: False))
    assert [(each.relative, each.size) for each in found] == [("a.jsonl", 0), ("b.jsonl", len(BIG))]


def test_an_input_that_vanishes_fails_alone(tmp_path):
    files = {f"slow{at}.jsonl": BIG for at in range(6)}
    source = write(tmp_path / "in", {**files, "z.jsonl": b""})
    run = start(compact_command(source, "-o", tmp_path / "out"), env=sabotaged())
    wait_for(lambda: complete_lines(tmp_path / "out"))
    (source / "z.jsonl").unlink()
    _, said = run.communicate()
    assert run.returncode == 6, said
    failed = last_lines(tmp_path / "out")[f"{source}/z.jsonl"]
    assert (failed["status"], failed["error"]) == (
        "failed",
        "cannot be read: No such file or directory",
    )
    assert list(tree(tmp_path / "out")) == sorted(files)


def job(source, target):
    return task.Job(str(source), str(source), None, str(target), str(target), 0, str(target.parent))


def change_on_load(monkeypatch, change, times):
    """Change a file while it is worked on."""
    load = task.loading.load
    left = [times]

    def changing(*arguments):
        if left[0]:
            left[0] -= 1
            change(left[0])
        return load(*arguments)

    monkeypatch.setattr(task.loading, "load", changing)


def grow_on_load(monkeypatch, path, times):
    """Append to a file while it is worked on."""

    def grow(at):
        with path.open("ab") as file:
            file.write(session(1, name=f"late{at}-"))

    change_on_load(monkeypatch, grow, times)


def test_what_is_appended_while_a_file_is_worked_on_is_carried_over(tmp_path, monkeypatch):
    path = write(tmp_path, {"x.jsonl": BIG}) / "x.jsonl"
    grow_on_load(monkeypatch, path, 1)
    line = task.run(RECIPE, job(path, tmp_path / "out.jsonl")).line
    assert line.status == "done"
    assert line.input_sha256 == sha256(path.read_bytes())
    assert b"late0-: please do step 0" in (tmp_path / "out.jsonl").read_bytes()


def test_a_file_that_never_rests_is_skipped_and_tried_again_later(tmp_path, monkeypatch):
    path = write(tmp_path, {"x.jsonl": BIG}) / "x.jsonl"
    grow_on_load(monkeypatch, path, 9)
    line = task.run(RECIPE, job(path, tmp_path / "out.jsonl")).line
    assert line.status == "skipped"
    assert "something is writing to it" in line.error
    assert line.input_sha256 is None  # so that no hash makes --resume pass it over
    assert not (tmp_path / "out.jsonl").exists()


def test_in_place_nothing_is_written_over_what_was_appended(tmp_path, monkeypatch):
    path = write(tmp_path, {"x.jsonl": BIG}) / "x.jsonl"
    grow_on_load(monkeypatch, path, 9)
    line = task.run(RECIPE, task.Job("x", str(path), None, "x", None, 0, in_place=True)).line
    assert line.status == "skipped"
    assert path.read_bytes().startswith(BIG)


@pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="needs /proc")
def test_in_place_a_file_that_a_client_has_open_to_write_is_skipped_with_its_name(tmp_path):
    source = write(tmp_path / "in", {"live.jsonl": BIG, "x.jsonl": BIG})
    with (source / "live.jsonl").open("ab"):
        done = bulk(source, "--in-place")
    assert done.returncode == 0, done.stderr
    assert f"live.jsonl: skipped: open for writing in process {os.getpid()} (" in done.stderr
    assert sorted(tree(source)) == ["live.jsonl", "x.jsonl", "x.jsonl.bak"]
    assert (source / "live.jsonl").read_bytes() == BIG


def test_in_place_hard_links_are_not_parted(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    (source / "y.jsonl").hardlink_to(source / "x.jsonl")
    done = bulk(source, "--in-place")
    assert done.returncode == 6, done.stderr
    assert done.stderr.count("has 1 other name (hard links)") == 2
    assert sorted(tree(source)) == ["x.jsonl", "y.jsonl"]


def test_a_file_that_shrinks_while_it_is_worked_on_is_read_once_more(tmp_path, monkeypatch):
    path = write(tmp_path, {"x.jsonl": session(9)}) / "x.jsonl"
    change_on_load(monkeypatch, lambda _: path.write_bytes(BIG), 1)
    line = task.run(RECIPE, job(path, tmp_path / "out.jsonl")).line
    assert (line.status, line.input_sha256) == ("done", sha256(BIG))
    write(tmp_path, {"y.jsonl": BIG})
    assert task.run(RECIPE, job(tmp_path / "y.jsonl", tmp_path / "y")).line.status == "done"
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "y").read_bytes()


def test_a_file_cut_off_in_a_line_is_copied_or_compacted_but_never_lengthened(
    tmp_path, monkeypatch
):
    path = write(tmp_path, {"x.jsonl": BIG}) / "x.jsonl"
    change_on_load(monkeypatch, lambda _: os.truncate(path, len(BIG) - 20), 1)
    line = task.run(RECIPE, job(path, tmp_path / "out.jsonl")).line
    assert line.input_sha256 == sha256(BIG[:-20])
    assert path.read_bytes() == BIG[:-20]
    assert list(tmp_path.glob(".*")) == []


def test_a_file_emptied_while_it_is_worked_on_is_skipped(tmp_path, monkeypatch):
    path = write(tmp_path, {"x.jsonl": BIG}) / "x.jsonl"
    change_on_load(monkeypatch, lambda _: os.truncate(path, 0), 1)
    line = task.run(RECIPE, job(path, tmp_path / "out.jsonl")).line
    assert (line.status, line.output) == ("skipped", None)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_file_that_grows_during_a_run_is_whole_or_skipped(tmp_path):
    source = write(tmp_path / "in", {"live.jsonl": session(30), "x.jsonl": BIG})
    live = source / "live.jsonl"
    stop = threading.Event()

    def append():
        at = 0
        while not stop.is_set():
            with live.open("ab") as file:
                file.write(session(1, name=f"more{at}-"))
            at += 1
            time.sleep(0.02)

    writer = threading.Thread(target=append)
    writer.start()
    try:
        done = bulk(source, "-o", tmp_path / "out")
    finally:
        stop.set()
        writer.join()
    assert done.returncode == 0, done.stderr
    line = last_lines(tmp_path / "out")[str(live)]
    if line["status"] == "skipped":
        assert not (tmp_path / "out/live.jsonl").exists()
    else:
        data = live.read_bytes()
        ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
        assert line["input_sha256"] in {sha256(data[:end]) for end in ends}


def test_a_link_put_in_the_place_of_a_folder_is_not_followed(tmp_path):
    write(tmp_path, {"in/a/x.jsonl": BIG, "secret/x.jsonl": BIG})
    (tmp_path / "in/a/x.jsonl").unlink()
    (tmp_path / "in/a").rmdir()
    (tmp_path / "in/a").symlink_to(tmp_path / "secret")
    with pytest.raises(storage.LinkError):
        storage.LocalStorage().read(str(tmp_path / "in/a/x.jsonl"), str(tmp_path / "in"))


def test_a_folder_that_cannot_be_listed_fails_alone(tmp_path, monkeypatch):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "shut/y.jsonl": BIG})
    scan = os.scandir

    def scan_but_one(folder):
        if folder.endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scan_but_one)
    jobs = plan.plan([str(source)], str(tmp_path / "out"))
    outcomes = {job.source: task.run(RECIPE, job).line for job in jobs}
    assert outcomes[f"{source}/x.jsonl"].status == "done"
    assert outcomes[f"{source}/shut"].error == "cannot be listed: Permission denied"
