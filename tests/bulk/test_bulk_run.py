"""A bulk run as a user sees it: what goes where, what is said, what is left alone."""

import contextlib
import gzip
import json
import os
import pty
import re
import stat
import sys
import termios
from pathlib import Path

import pytest
from helpers.bulk_helpers import (
    BROKEN,
    SMALL,
    bulk,
    command,
    compact_command,
    environment,
    last_lines,
    manifest_lines,
    sabotaged,
    session,
    sha256,
    subprocess,
    tree,
    write,
)

BIG = session()
KEYS = [
    "source",
    "output",
    "status",
    "input_sha256",
    "output_sha256",
    "format",
    "tokens_before",
    "tokens_after",
    "layers",
    "error",
    "seconds",
    "bytes_before",
    "bytes_after",
    "options",
    "check",
]


def alone(path, *options):
    """Compact one file as a stage of a pipe."""
    limits = ("--tokenizer", "chars", "--soft-limit", 3000)
    arguments = command("compact", path, *limits, *options, "-q")
    return subprocess.run(arguments, env=environment(), capture_output=True)


def test_a_folder_is_mirrored_without_its_name_and_each_file_as_if_alone(tmp_path):
    files = {"a/one.jsonl": BIG, "a/b/two.jsonl": session(8), "three.jsonl": SMALL}
    source = write(tmp_path / "in", {**files, "notes.txt": b"no", "a/.one.jsonl.12345678": b"no"})
    done = bulk(source, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert tree(tmp_path / "out") == {
        name: sha256(alone(source / name).stdout) for name in sorted(files)
    }
    assert tree(source) == tree(write(tmp_path / "again", {**files, "notes.txt": b"no"})) | {
        "a/.one.jsonl.12345678": sha256(b"no")
    }


def test_the_manifest_has_a_line_for_each_file_with_exactly_its_keys(tmp_path):
    source = write(tmp_path / "in", {"big.jsonl": BIG, "small.jsonl": SMALL})
    bulk(source, "-o", tmp_path / "out")
    lines = manifest_lines(tmp_path / "out")
    assert [list(line) for line in lines] == [KEYS, KEYS]
    big, small = (last_lines(tmp_path / "out")[f"{source}/{n}.jsonl"] for n in ("big", "small"))
    assert big["status"] == "done"
    assert big["format"] == "messages"
    assert big["layers"]
    assert big["input_sha256"] == sha256(BIG)
    assert big["output_sha256"] == sha256((tmp_path / "out/big.jsonl").read_bytes())
    assert big["output"] == f"{tmp_path}/out/big.jsonl"
    assert big["tokens_after"] < 3000 < big["tokens_before"]
    assert small["status"] == "unchanged"
    assert small["layers"] == []
    assert small["input_sha256"] == small["output_sha256"] == sha256(SMALL)
    assert (tmp_path / "out/small.jsonl").read_bytes() == SMALL


def test_what_is_no_transcript_is_skipped_and_what_is_broken_fails_alone(tmp_path):
    source = write(
        tmp_path / "in",
        {
            "good.jsonl": BIG,
            "broken.jsonl": BROKEN,
            "empty.jsonl": b"",
            "log.jsonl": b'{"level":"info"}\n',
            "text.jsonl": b"hello\n",
            "torn.jsonl.gz": b"",
        },
    )
    (source / "torn.jsonl.gz").write_bytes(gzip.compress(BIG)[:-20])
    done = bulk(source, tmp_path / "missing.jsonl", "-o", tmp_path / "out")
    assert done.returncode == 6
    lines = {Path(k).name: v for k, v in last_lines(tmp_path / "out").items()}
    assert {name: line["status"] for name, line in lines.items()} == {
        "good.jsonl": "done",
        "broken.jsonl": "failed",
        "empty.jsonl": "skipped",
        "log.jsonl": "skipped",
        "text.jsonl": "skipped",
        "torn.jsonl.gz": "failed",
        "missing.jsonl": "failed",
    }
    assert "PAIR-01" in lines["broken.jsonl"]["error"]
    assert "damaged" in lines["torn.jsonl.gz"]["error"]
    assert "No such file" in lines["missing.jsonl"]["error"]
    assert "no known format" in lines["log.jsonl"]["error"]
    assert list(tree(tmp_path / "out")) == ["good.jsonl"]
    assert f"compactctl: {source}/broken.jsonl: line 2: PAIR-01" in done.stderr
    assert "3 of 7 files failed" in done.stderr
    assert f"{source}/log.jsonl: skipped: no known format" in done.stderr
    assert f"{source}/empty.jsonl: skipped: " in done.stderr


def test_a_view_over_the_hard_limit_fails_and_is_not_written(tmp_path):
    source = write(tmp_path / "in", {"big.jsonl": BIG})
    done = bulk(source, "-o", tmp_path / "out", "--soft-limit", 10, "--hard-limit", 10)
    assert done.returncode == 6
    assert "the hard limit is 10" in done.stderr
    assert tree(tmp_path / "out") == {}


def test_packed_in_is_packed_out_and_always_the_same_bytes(tmp_path):
    zstd = pytest.importorskip("backports.zstd", reason="the extra zst is not installed")
    source = write(tmp_path / "in", {"a.jsonl.gz": BIG, "plain.jsonl": BIG})
    (source / "b.jsonl.zst").write_bytes(zstd.compress(BIG))
    small = gzip.compress(SMALL, 1)
    (source / "small.jsonl.gz").write_bytes(small)
    for out in ("one", "two"):
        assert bulk(source, "-o", tmp_path / out).returncode == 0
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    plain = (tmp_path / "one/plain.jsonl").read_bytes()
    packed = (tmp_path / "one/a.jsonl.gz").read_bytes()
    assert gzip.decompress(packed) == plain
    assert packed[4:8] == b"\0\0\0\0"  # no time in it
    assert zstd.decompress((tmp_path / "one/b.jsonl.zst").read_bytes()) == plain
    # Unchanged is byte for byte, packed though it is.
    assert (tmp_path / "one/small.jsonl.gz").read_bytes() == small


def test_files_patterns_and_folders_mix(tmp_path):
    write(tmp_path, {"a/x/1.jsonl": BIG, "a/y/2.jsonl": BIG, "a/y/z/3.txt": BIG, "b.log": BIG})
    write(tmp_path, {"c/4.jsonl": BIG})
    done = bulk("a/**/*.jsonl", "a/y/*/*.txt", "b.log", "c", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tree(tmp_path / "out")) == ["4.jsonl", "b.log", "x/1.jsonl", "y/2.jsonl", "z/3.txt"]
    assert "a/x/1.jsonl" in last_lines(tmp_path / "out")


def test_links_in_a_folder_are_not_followed_and_links_that_were_named_are(tmp_path):
    outside = write(tmp_path / "outside", {"secret.jsonl": BIG})
    source = write(tmp_path / "in", {"good.jsonl": BIG})
    (source / "file.jsonl").symlink_to(outside / "secret.jsonl")
    (source / "folder").symlink_to(outside)
    (source / "loop").symlink_to(source)
    for name in (source, f"{source}/**/*"):
        assert bulk(name, "-o", tmp_path / "out").returncode == 0
        line = last_lines(tmp_path / "out")[f"{source}/file.jsonl"]
        assert line["status"] == "skipped"
        assert "symbolic link" in line["error"]
        assert list(tree(tmp_path / "out")) == ["good.jsonl"]
    assert bulk(source / "file.jsonl", "-o", f"{tmp_path}/named/").returncode == 0
    assert list(tree(tmp_path / "named")) == ["file.jsonl"]


def test_a_pipe_in_a_folder_does_not_hold_the_run_up(tmp_path):
    source = write(tmp_path / "in", {"good.jsonl": BIG})
    os.mkfifo(source / "pipe.jsonl")
    done = bulk(source, "-o", tmp_path / "out")
    assert done.returncode == 6
    assert "is not a regular file" in last_lines(tmp_path / "out")[f"{source}/pipe.jsonl"]["error"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a", "b", "-o", "out"], "would both become out/x.jsonl"),
        (["a/x.jsonl", "-o", "a/"], "would be written over a/x.jsonl"),
        (["a", "-o", "link"], "-o link is a itself"),
        (["a/x.jsonl", "-o", "link"], "would be written over a/x.jsonl"),
        (["m", "-o", "out"], "manifest.jsonl and the manifest would both become"),
        (["a", "b"], "need a folder to be written to: -o DIR"),
        (["a"], "need a folder to be written to: -o DIR"),
        (["a", "-o", "-"], "need a folder to be written to: -o DIR"),
        (["a", "-", "-o", "out"], "standard input cannot be one of several"),
        (["a", "--in-place", "-o", "out"], "leave out -o"),
        (["a", "--in-place", "--resume"], "--resume goes by the manifest"),
        (["a", "-o", "out", "--engine", "dask"], "--scheduler tcp://HOST:PORT"),
        (["a", "-o", "out", "--format", "nonsense"], "unknown format"),
        (["xyz://y/z", "-o", "out"], "xyz:// "),
        (["a", "-o", "out", "--report", "link/x.jsonl"], "is a transcript"),
    ],
)
def test_what_cannot_end_well_is_refused_before_anything_starts(tmp_path, arguments, said):
    write(tmp_path, {"a/x.jsonl": BIG, "b/x.jsonl": SMALL, "m/manifest.jsonl": BIG})
    (tmp_path / "link").symlink_to("a")
    before = tree(tmp_path, but=())
    done = bulk(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert tree(tmp_path, but=()) == before


def test_nothing_to_do_is_an_error(tmp_path):
    (tmp_path / "empty").mkdir()
    for source in ("empty", "empty/*.jsonl"):
        done = bulk(source, "-o", "out", cwd=tmp_path)
        assert done.returncode == 3
    assert not (tmp_path / "out").exists()


def test_the_same_file_named_twice_is_done_once(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    assert bulk(source, source / "x.jsonl", "-o", tmp_path / "out").returncode == 0
    assert len(manifest_lines(tmp_path / "out")) == 1


def test_an_output_inside_the_input_is_not_input(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    for _ in range(2):
        done = bulk(source, "-o", source / "out", "--archive", source / "kept")
        assert done.returncode == 0
    assert {line["source"] for line in manifest_lines(source / "out")} == {f"{source}/x.jsonl"}


def test_the_output_of_a_run_can_be_the_input_of_the_next(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    bulk(source, "-o", tmp_path / "one")
    assert bulk(tmp_path / "one", "-o", tmp_path / "two").returncode == 0
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_a_dry_run_writes_nothing_and_says_what_it_would_save(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "y.jsonl": SMALL})
    before = tree(tmp_path)
    for out in (["-o", tmp_path / "out"], []):
        done = bulk(source, *out, "--dry-run", "--archive", tmp_path / "kept", "-v")
        assert done.returncode == 0
        assert f"{source}/x.jsonl: done, " in done.stderr
        assert "unchanged" in done.stderr
    assert tree(tmp_path) == before
    assert list(tmp_path.iterdir()) == [source]


def test_in_place_keeps_what_was_there(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "y.jsonl": SMALL, "z.jsonl.gz": BIG})
    expected = alone(source / "x.jsonl").stdout
    packed = (source / "z.jsonl.gz").read_bytes()
    (source / "x.jsonl").chmod(0o640)
    for _ in range(2):
        assert bulk(source, "--in-place").returncode == 0
        assert sorted(path.name for path in source.iterdir()) == [
            "x.jsonl",
            "x.jsonl.bak",
            "y.jsonl",
            "z.jsonl.gz",
            "z.jsonl.gz.bak",
        ]
    assert (source / "x.jsonl").read_bytes() == expected
    assert gzip.decompress((source / "z.jsonl.gz").read_bytes()) == expected
    assert (source / "x.jsonl.bak").read_bytes() == BIG
    assert (source / "z.jsonl.gz.bak").read_bytes() == packed
    assert stat.S_IMODE((source / "x.jsonl").stat().st_mode) == 0o640


def test_outputs_are_private(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "y.jsonl": BIG})
    (source / "x.jsonl").chmod(0o644)
    (source / "y.jsonl").chmod(0o400)
    bulk(source, "-o", tmp_path / "out")
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "out").iterdir()}
    assert modes == {"x.jsonl": 0o600, "y.jsonl": 0o400, "manifest.jsonl": 0o600}


def test_the_table_sums_up_and_quiet_leaves_only_what_failed(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "y.jsonl": SMALL, "z.jsonl": BROKEN})
    done = bulk(source, "-o", tmp_path / "out")
    rows = {row.split()[0]: row.split()[1] for row in done.stderr.splitlines()[-5:-1]}
    assert rows == {"done": "1", "unchanged": "1", "failed": "1", "total": "3"}
    before, after = len(BIG) + len(SMALL), len((tmp_path / "out/x.jsonl").read_bytes()) + len(SMALL)
    assert (
        f"[chars], {before:,} → {after:,} (−{(before - after) / before:.1%}) bytes" in done.stderr
    )
    done = bulk(source, "-o", tmp_path / "out", "-q")
    assert [line.split(":")[1].strip() for line in done.stderr.splitlines()] == [
        f"{source}/z.jsonl",
        "1 of 3 files failed; --resume tries them again",
    ]


def test_a_report_has_a_record_for_each_file(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "y.jsonl": SMALL, "z.jsonl": BROKEN})
    bulk(source, "-o", tmp_path / "out", "--report", tmp_path / "report.jsonl")
    records = list(map(json.loads, (tmp_path / "report.jsonl").read_text().splitlines()))
    assert {record["source"] for record in records} == {f"{source}/x.jsonl", f"{source}/y.jsonl"}
    assert {record["stage"] for record in records} == {"compact"}


def test_names_that_are_no_unicode_and_names_that_would_steer_the_terminal(tmp_path):
    source = tmp_path / "in"
    write(source, {os.fsdecode(b"\xff\x1b[2J.jsonl"): BROKEN, os.fsdecode(b"\xfe.jsonl"): BIG})
    done = bulk(source, "-o", tmp_path / "out")
    assert done.returncode == 6
    assert "\x1b" not in done.stderr
    assert (tmp_path / "out" / os.fsdecode(b"\xfe.jsonl")).exists()
    again = bulk(source, "-o", tmp_path / "out", "--resume")
    assert again.returncode == 6
    assert len((tmp_path / "out/manifest.jsonl").read_bytes().splitlines()) == 3


def test_a_terminal_shows_a_bar_with_the_tokens_saved_so_far(tmp_path):
    files = {"x.jsonl": BIG, "slow1.jsonl": SMALL, "slow2.jsonl": SMALL, "z.jsonl": BROKEN}
    source = write(tmp_path / "in", files)
    primary, secondary = pty.openpty()
    termios.tcsetwinsize(secondary, (40, 100))
    run = subprocess.Popen(
        compact_command(source, "-o", tmp_path / "out"),
        env=sabotaged(),
        stderr=secondary,
    )
    os.close(secondary)
    shown = b""
    with contextlib.suppress(OSError):  # how Linux says that the other end is closed
        while piece := os.read(primary, 1 << 16):
            shown += piece
    os.close(primary)
    assert run.wait() == 6
    assert re.search(rb"[34] of 4 files, 2,\d\d\d tokens saved", shown), shown
    assert f"compactctl: {source}/z.jsonl: line 2: PAIR-01".encode() in shown


def test_one_file_alone_imports_nothing_of_it(tmp_path):
    path = write(tmp_path, {"x.jsonl": BIG}) / "x.jsonl"
    script = (
        "import sys; from compactctl import cli;"
        f"cli.run(['compact', {str(path)!r}, '--tokenizer', 'chars', '-q']);"
        "print([n for n in sys.modules if n.partition('.')[0] in"
        " {'fsspec', 'distributed', 'dask', 'tqdm', 'concurrent', 'multiprocessing'}"
        " or n.startswith('compactctl.bulk.')], file=sys.stderr)"
    )
    arguments = [sys.executable, "-c", script]
    done = subprocess.run(arguments, env=environment(), capture_output=True, text=True, check=False)
    assert done.stderr.strip() in {"[]", "['compactctl.bulk.targets']"}
