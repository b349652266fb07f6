"""``show`` prints what a pointer names, and ``restore`` takes the pointer of an archive."""

import pytest
from helpers.shell import USER, lines, run

from compactctl.durable.artifacts import ArtifactStore

TEXT = "first line\nsecond é\n"


@pytest.fixture
def stored(tmp_path):
    """An artifact as a layer stores it: its folder and its pointer."""
    return tmp_path, ArtifactStore(str(tmp_path), "s1").put(TEXT)


@pytest.fixture
def told(tmp_path):
    (tmp_path / "s1.jsonl").write_bytes(lines(USER, USER))
    return tmp_path


def test_an_artifact_is_shown_byte_for_byte(stored):
    folder, pointer = stored
    done = run("show", pointer, "--artifacts", folder)
    assert (done.returncode, done.stdout) == (0, TEXT.encode())


def test_a_record_is_shown_without_its_line_end(told):
    done = run("show", "transcript:s1:2", "--transcripts", told)
    assert (done.returncode, done.stdout) == (0, lines(USER).rstrip(b"\n"))


def test_it_goes_to_a_file(stored, tmp_path):
    folder, pointer = stored
    assert run("show", pointer, "--artifacts", folder, "-o", tmp_path / "out").returncode == 0
    assert (tmp_path / "out").read_bytes() == TEXT.encode()


@pytest.mark.parametrize(
    ("pointer", "state"),
    [
        ("transcript:s1:3", "is missing (transcript_event_missing)"),
        ("transcript:s2:1", "is missing (transcript_missing)"),
        ("transcript:s1:0", "the pointer is corrupt (malformed_pointer)"),
        ("file:///etc/passwd", "the pointer is unsupported (unsupported_scheme)"),
        ("artifact:s1:x.txt:0123456789ab", "is missing (artifact_missing)"),
    ],
)
def test_what_is_not_available_exits_1_and_says_why(told, pointer, state):
    done = run("show", pointer, "--transcripts", told)
    assert (done.returncode, done.stdout) == (1, b"")
    assert state in done.stderr.decode()


def test_an_artifact_that_was_changed_is_not_shown(stored):
    folder, pointer = stored
    (file,) = (folder / "s1" / "tool-results").iterdir()
    file.chmod(0o600)
    file.write_text("other")
    done = run("show", pointer, "--artifacts", folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert "artifact_digest_mismatch" in done.stderr.decode()


def test_a_denied_session_is_not_looked_at(told):
    (told / "policy.toml").write_text('deny = ["s1"]\n')
    done = run("show", "transcript:s1:1", "--transcripts", told, "--policy", told / "policy.toml")
    assert done.returncode == 1
    assert "policy_denied" in done.stderr.decode()


def test_restore_takes_the_pointer_of_an_archive(stored, tmp_path):
    folder, pointer = stored
    done = run("restore", pointer, "--archive", folder, "-o", tmp_path / "out")
    assert done.returncode == 0
    assert (tmp_path / "out").read_bytes() == TEXT.encode()


def test_restore_of_a_pointer_that_leads_nowhere_exits_1(tmp_path):
    done = run("restore", "artifact:s1:x.txt:0123456789ab", "--archive", tmp_path, "-o", "-")
    assert (done.returncode, done.stdout) == (1, b"")
    assert "artifact_missing" in done.stderr.decode()
