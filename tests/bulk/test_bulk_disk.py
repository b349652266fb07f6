"""A disk that is full or read-only: clear lines, nothing half-written, nothing left over."""

import contextlib
import os
import subprocess

import pytest
from helpers.bulk_helpers import bulk, session, sha256, tree, write

BIG = session()


@contextlib.contextmanager
def small_disk(folder, size):
    """Mount a disk of some bytes, where that is allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_fails_what_does_not_fit_and_leaves_nothing_half_written(tmp_path):
    # All are to be copied as they are; the large ones are larger than the disk.
    files = {f"large{at}.jsonl": session(400, text="z" * 2000) for at in range(2)}
    source = write(tmp_path / "in", files | {"little.jsonl": session(1)})
    with small_disk(tmp_path / "disk", "512k") as disk:
        # One at a time, so that the manifest never meets a disk that others are filling.
        limits = ("--soft-limit", 10**9, "--hard-limit", 10**9, "--jobs", 1)
        done = bulk(source, "-o", disk / "out", *limits)
        assert done.returncode == 6, done.stderr
        assert done.stderr.count("No space left on device") == 2
        assert list(tree(disk / "out")) == ["little.jsonl"]
    assert tree(source) == {
        name: sha256(data) for name, data in sorted((files | {"little.jsonl": session(1)}).items())
    }


def test_a_manifest_that_cannot_be_written_ends_the_run_with_one_line(tmp_path):
    source = write(tmp_path / "in", {f"x{at}.jsonl": BIG for at in range(40)})
    with small_disk(tmp_path / "disk", "4k") as disk:
        (disk / "fill").write_bytes(b"")
        done = bulk(source, "-o", disk)
        assert done.returncode in {3, 6}
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
        for line in (disk / "manifest.jsonl").read_bytes().splitlines(keepends=True):
            assert line.endswith(b"}\n")


def test_a_read_only_output_is_one_clear_error(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    with small_disk(tmp_path / "disk", "64k") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        done = bulk(source, "-o", disk / "out")
        assert done.returncode == 3
        assert "cannot be written: Read-only file system" in done.stderr
        assert done.stderr.count("\n") == 1


def test_in_place_a_full_disk_leaves_the_source_alone_and_nothing_beside_it(tmp_path):
    large = session(400, text="z" * 1000)
    with small_disk(tmp_path / "disk", len(large) // 4096 * 4096 + 4096) as disk:
        write(disk, {"large.jsonl": large})
        done = bulk(disk, "--in-place")
        assert done.returncode == 6, done.stderr
        assert "large.jsonl: cannot be written: No space left on device" in done.stderr
        assert tree(disk) == {"large.jsonl": sha256(large)}


def test_a_full_archive_keeps_the_output_from_being_written(tmp_path):
    noise = os.urandom(300_000).hex()
    source = write(tmp_path / "in", {"noise.jsonl": session(3, text=noise), "x.jsonl": BIG})
    with small_disk(tmp_path / "disk", "128k") as disk:
        done = bulk(source, "-o", tmp_path / "out", "--archive", disk / "kept")
        assert done.returncode == 6, done.stderr
        assert "its original could not be kept: it cannot be written: No space" in done.stderr
        assert list(tree(tmp_path / "out")) == ["x.jsonl"]
        digest = sha256(BIG)
        assert {name for name in tree(disk) if "index" not in name} == {
            f"kept/{digest[:2]}/{digest}.gz"
        }
