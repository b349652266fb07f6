"""Originals are kept before anything takes their place, and come back byte for byte."""

import gzip
import json
import shutil

import pytest
from helpers.bulk_helpers import (
    SMALL,
    bulk,
    command,
    compact_command,
    environment,
    session,
    sha256,
    subprocess,
    tree,
    write,
)

from compactctl.bulk.archive import Archive, NotRestoredError
from compactctl.bulk.manifest import ManifestLine, encode

BIG = session()


def restore(*arguments, cwd=None):
    return subprocess.run(
        command("restore", *arguments), env=environment(), cwd=cwd, capture_output=True
    )


@pytest.fixture
def compacted(tmp_path):
    files = {"x.jsonl": BIG, "deep/y.jsonl.gz": session(9), "same.jsonl": SMALL}
    source = write(tmp_path / "in", files)
    assert bulk(source, "-o", tmp_path / "out", "--archive", tmp_path / "kept").returncode == 0
    return tmp_path


@pytest.mark.parametrize("name", ["x.jsonl", "deep/y.jsonl.gz", "same.jsonl"])
@pytest.mark.parametrize("by", ["manifest", "index"])
def test_restore_gives_back_the_original_byte_for_byte(compacted, name, by):
    if by == "index":
        (compacted / "out/manifest.jsonl").unlink()
    original = (compacted / "in" / name).read_bytes()
    shutil.rmtree(compacted / "in")
    done = restore(compacted / "out" / name, "--archive", compacted / "kept")
    assert done.returncode == 0, done.stderr
    assert done.stdout == original
    target = compacted / "back"
    assert (
        restore(compacted / "out" / name, "--archive", compacted / "kept", "-o", target).stdout
        == b""
    )
    assert target.read_bytes() == original


def test_what_is_kept_can_be_read_without_this_tool(compacted):
    digest = sha256(BIG)
    kept = compacted / "kept" / digest[:2] / f"{digest}.gz"
    assert gzip.decompress(kept.read_bytes()) == BIG
    assert kept.stat().st_mode & 0o077 == 0


def test_restore_in_place_keeps_what_was_compacted(compacted):
    path = compacted / "out/x.jsonl"
    small = path.read_bytes()
    assert restore(path, "--archive", compacted / "kept", "--in-place").returncode == 0
    assert path.read_bytes() == BIG
    assert path.with_name("x.jsonl.bak").read_bytes() == small


def test_a_compacted_file_that_went_on_growing_is_known_by_its_compaction_record(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    options = ("--archive", tmp_path / "kept", "--layers", "summarize", "--summarizer", "template")
    assert bulk(source, "-o", tmp_path / "out", *options).returncode == 0
    path = tmp_path / "out/x.jsonl"
    assert b'"input_sha256"' in path.read_bytes()
    with path.open("ab") as file:
        file.write(json.dumps({"role": "user", "content": "and now?"}).encode() + b"\n")
    assert restore(path, "--archive", tmp_path / "kept").stdout == BIG


def test_a_record_after_other_layers_leads_to_the_original_too(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": session(text="y" * 30_000)})
    options = ("--archive", tmp_path / "kept", "--layers", "truncate,summarize")
    assert bulk(source, "-o", tmp_path / "out", *options).returncode == 0
    path = tmp_path / "out/x.jsonl"
    path.write_bytes(path.read_bytes() + b"\n")
    assert restore(path, "--archive", tmp_path / "kept").stdout == session(text="y" * 30_000)


def test_words_in_a_conversation_lead_to_no_original(compacted):
    said = {"role": "user", "content": "hi", "input_sha256": sha256(BIG)}
    path = write(compacted, {"odd.jsonl": json.dumps(said).encode()}) / "odd.jsonl"
    assert restore(path, "--archive", compacted / "kept").returncode == 1


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (shutil.rmtree, "no original of it"),
        (lambda kept: kept.write_bytes(kept.read_bytes()[:-9]), "is damaged"),
        (lambda kept: kept.write_bytes(b"no gzip"), "is damaged"),
        (lambda kept: kept.write_bytes(gzip.compress(b"other")), "does not match its hash"),
        (lambda kept: kept.unlink(), "is not in"),
    ],
)
def test_what_is_not_there_or_does_not_match_is_refused(compacted, harm, said):
    digest = sha256(BIG)
    (compacted / "out/manifest.jsonl").unlink()
    whole = said == "no original of it"
    harm(compacted / "kept" if whole else compacted / "kept" / digest[:2] / f"{digest}.gz")
    done = restore(compacted / "out/x.jsonl", "--archive", compacted / "kept", "-o", "nowhere")
    assert done.returncode == 1
    assert done.stdout == b""
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_two_originals_of_the_same_bytes_are_told_apart_by_the_manifest_or_not_at_all(tmp_path):
    kept = Archive(str(tmp_path / "kept"))
    for raw in (b"one", b"two"):
        kept.put(raw, [sha256(b"small")])
    with pytest.raises(NotRestoredError, match="2 originals were compacted"):
        kept.original("x", b"small")
    line = ManifestLine("x", "out/a/x.jsonl", "done", sha256(b"two"), sha256(b"small"))
    out = write(tmp_path / "moved", {"manifest.jsonl": encode(line), "a/x.jsonl": b"small"})
    assert kept.original(str(out / "a/x.jsonl"), b"small") == b"two"
    # It only chooses among these: another original is not given back on its word.
    kept.put(b"three", [sha256(b"other")])
    line = ManifestLine("x", "out/a/x.jsonl", "done", sha256(b"three"), sha256(b"small"))
    write(out, {"manifest.jsonl": encode(line)})
    with pytest.raises(NotRestoredError, match="2 originals were compacted"):
        kept.original(str(out / "a/x.jsonl"), b"small")


def test_one_file_alone_has_its_original_kept_too(tmp_path):
    write(tmp_path, {"x.jsonl": BIG, "y.jsonl.gz": BIG})
    for name in ("x.jsonl", "y.jsonl.gz"):
        arguments = compact_command(name, "-o", "small.jsonl", "--archive", "kept")
        assert subprocess.run(arguments, env=environment(), cwd=tmp_path).returncode == 0
        back = restore("small.jsonl", "--archive", "kept", cwd=tmp_path)
        assert back.stdout in {BIG, (tmp_path / name).read_bytes()}
        shutil.rmtree(tmp_path / "kept")


def test_standard_input_has_its_bytes_kept(tmp_path):
    arguments = compact_command("-", "--archive", "kept")
    done = subprocess.run(
        arguments, env=environment(), cwd=tmp_path, input=BIG, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    write(tmp_path, {"small.jsonl": done.stdout})
    assert restore("small.jsonl", "--archive", "kept", cwd=tmp_path).stdout == BIG


def test_an_archive_that_cannot_be_written_stops_the_file_not_the_run(tmp_path):
    source = write(tmp_path / "in", {"x.jsonl": BIG, "same.jsonl": SMALL})
    write(tmp_path, {"kept": b"a file"})
    done = bulk(source, "-o", tmp_path / "out", "--archive", tmp_path / "kept")
    assert done.returncode == 6
    assert "its original could not be kept: it cannot be written" in done.stderr
    assert tree(tmp_path / "out") == {}
