"""Arguments that name the wrong kind of thing: one line that says what it is and what to do."""

import os
from pathlib import Path

import pytest
from helpers.shell import CHARS, CUT, LONG, fact, lines, names, refused, run

from compactctl import layers


@pytest.fixture
def places(tmp_path):
    """Name a folder and things that are none, beside a transcript and a state file."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "s.jsonl").write_bytes(LONG)
    (tmp_path / "state.jsonl").write_bytes(lines(fact()))
    return tmp_path


@pytest.mark.parametrize("stage", [*layers.ORDER, "repair", "resolve", "render", "stats"])
def test_a_folder_in_the_place_of_a_file_gets_the_next_step(places, stage):
    said = refused(run(stage, places / "folder"), 3)
    assert "is a directory; name a file in it (validate takes folders, as does compact" in said


@pytest.mark.parametrize("option", ["--state", "--report", "--policy"])
def test_a_folder_in_the_place_of_another_file_gets_the_next_step(places, option):
    code = 2 if option == "--policy" else 3
    said = refused(run("resolve", places / "state.jsonl", option, places / "folder"), code)
    assert "name a file" in said


def test_restore_of_a_folder_gets_the_next_step(places):
    said = refused(run("restore", places / "folder", "--archive", places / "folder"), 3)
    assert "is a directory; name a file in it" in said


@pytest.mark.parametrize("kind", ["file", "dangling", "fifo"])
def test_what_is_no_folder_is_named_where_one_is_needed(places, kind):
    source, place = places / "s.jsonl", places / kind
    before = names(places)
    bulk = run("compact", *CHARS, source, places / "state.jsonl", "-o", place)
    assert f"-o {place} is a file; many files are written to a folder" in refused(bulk, 2)
    kept = run("compact", *CHARS, source, "-o", places / "out", "--archive", place)
    assert str(place) in refused(kept, 3)
    stored = run("truncate", "--max-tokens", "200", *CHARS, source, "--artifacts", place)
    assert str(place) in refused(stored, 3)
    assert names(places) == before


def test_a_name_of_nothing_is_no_name_of_this_folder(places):
    for command in (("truncate", ""), ("compact", "", "-o", f"{places}/out/")):
        assert "''" in refused(run(*command, cwd=places / "folder"), 3)
    refused(run(*CUT, "", "--in-place", cwd=places / "folder"), 2)
    refused(run("compact", places / "s.jsonl", places / "state.jsonl", "-o", ""), 2)
    assert names(places / "folder") == []


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_a_device_without_an_end_is_not_read(places):
    state, zero = places / "state.jsonl", "/dev/zero"
    assert "is a device" in refused(run("resolve", state, "--policy", zero), 2)
    assert "is a device" in refused(run("resolve", state, "--state", zero), 3)
    assert "is a device" in refused(run("validate", zero), 3)
