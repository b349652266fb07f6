"""A file that is only checked is read again where it is asked for, and told the same of."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from helpers.strategies import transcripts
from hypothesis import given
from hypothesis import strategies as st

from compactctl import formats
from compactctl.errors import InputError
from compactctl.files.reading import open_lines, read_lines
from compactctl.jsonl.lines import Entry
from compactctl.rules.findings import find
from compactctl.transcript import loading

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
ODD = (b"\n", b"\0\0\n", b"\xef\xbb\xbf{}{}\n", b'{"type":"user"}[1] \n', b"// no\n", b"\xff\n")
TURN = b'{"role":"user","content":"u"}\n{"role":"assistant","content":"a"}\n'


def told(path, name=None, *, hold):
    """What a file holds and what is found in it, its lines held or not."""
    with open_lines(str(path), hold=hold) as (lines, make_entry):
        found = loading.load(lines, path.name, name, make_entry)
        every = find(found, found.format.profile, sendable=True)
        entries = [(entry.raw, entry.line) for entry in found.entries]
    return every, entries, found.messages


def told_or_refused(path, *, hold):
    try:
        return told(path, hold=hold)
    except InputError as refusal:
        return str(refusal)


@pytest.mark.parametrize("name", formats.names())
@given(data=st.data())
def test_lines_that_are_not_held_tell_the_same(name, data):
    lines = list(data.draw(transcripts(name)).lines)
    for at in data.draw(st.lists(st.integers(0, len(lines)), max_size=3)):
        lines.insert(at, data.draw(st.sampled_from((*ODD, *lines, lines[0][:9]))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(b"".join(lines))
        assert told(path, name, hold=False) == told(path, name, hold=True)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*.jsonl")), ids=lambda path: path.stem[-40:])
def test_real_sessions_tell_the_same(path):
    assert told_or_refused(path, hold=False) == told_or_refused(path, hold=True)


def test_what_is_only_checked_is_not_held(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(TURN)
    with open_lines(str(path), hold=False) as (lines, make_entry):
        found = loading.load(lines, "s", None, make_entry)
        assert not any(isinstance(entry, Entry) for entry in found.entries)
        assert [entry.raw for entry in found.entries] == read_lines(str(path))


@pytest.mark.parametrize("now", [TURN * 2, TURN[:40], TURN[:-2] + b"\n\n"])
def test_a_file_that_changes_while_it_is_checked_is_refused(tmp_path, now):
    path = tmp_path / "s.jsonl"
    path.write_bytes(TURN)

    def check():
        with open_lines(str(path), hold=False) as (lines, _):
            assert list(lines) == read_lines(str(path))
            path.write_bytes(now)

    with pytest.raises(InputError, match=r"s\.jsonl: changed while it was read"):
        check()


def test_standard_input_is_read_from_where_it_stands(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"not of it\n" + TURN)
    command = [sys.executable, "-m", "compactctl", "validate", "--check", "--strict"]
    with path.open("rb", buffering=0) as file:
        file.seek(10)
        done = subprocess.run(command, stdin=file, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"2 entries" in done.stderr


def test_what_is_found_in_a_file_that_was_emptied_meanwhile_is_no_verdict(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(TURN)

    def check():
        with open_lines(str(path), hold=False) as (lines, make_entry):
            path.write_bytes(b"")
            loading.load(lines, "s", None, make_entry)

    with pytest.raises(InputError, match=r"s\.jsonl: changed while it was read"):
        check()
    assert loading.parse([], "s", formats.load("messages")).messages == []
