"""Nothing outside a source's own place can be reached, and every trouble is a state."""

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compactctl.durable.records import (
    DurableContextState,
    DurableFact,
    PendingItem,
    RetrievalEvidence,
    to_json,
)
from compactctl.durable.resolver import SourcePointerResolver, resolve_durable_sources
from compactctl.files import beneath

TEXT = b"stored result\n"
SHA = hashlib.sha256(TEXT).hexdigest()
ARTIFACT = f"artifact:s:f.txt:{SHA[:12]}"
EVENT = "transcript:s:1"
DESCRIPTORS = Path("/proc/self/fd")


@pytest.fixture
def root(tmp_path):
    """Both kinds of sources below one root, with a sibling session and something outside."""
    root = tmp_path / "root"
    for session in ("s", "sibling"):
        (root / session / "tool-results").mkdir(parents=True)
        (root / session / "tool-results" / "f.txt").write_bytes(TEXT)
        (root / f"{session}.jsonl").write_bytes(b"{}\n")
    (tmp_path / "outside").mkdir()
    return root


@pytest.fixture
def resolver(root):
    return SourcePointerResolver(root, root)


def state(resolution):
    return resolution.status, resolution.reason


def replace_by_link(path, target):
    path.rename(path.with_name("moved-away"))
    path.symlink_to(target)


# What is there is verified.


@pytest.mark.parametrize("digest", [SHA, SHA[:12], SHA.upper(), SHA[:12].upper()])
def test_an_artifact_is_verified_by_its_digest_in_either_case(resolver, digest):
    found = resolver.resolve(f"artifact:s:f.txt:{digest}")
    assert state(found) == ("available", "verified_artifact")
    assert (found.evidence_sha256, found.source_type) == (SHA, "artifact")


def test_an_artifact_larger_than_a_chunk_is_hashed_whole(root, resolver):
    content = ("文" * 100_000).encode()  # no character ends where a chunk does
    (root / "s" / "tool-results" / "f.txt").write_bytes(content)
    sha = hashlib.sha256(content).hexdigest()
    assert resolver.resolve(f"artifact:s:f.txt:{sha}").evidence_sha256 == sha


def test_the_root_itself_may_be_a_link(root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    resolver = SourcePointerResolver(tmp_path / "link", str(tmp_path / "link"))
    assert resolver.resolve(EVENT).status == "available"
    assert resolver.resolve(ARTIFACT).status == "available"


# What is not right with an artifact.


@pytest.mark.parametrize("content", [b"\xff", b"ok" * 40_000 + b"\xff", "é".encode()[:1]])
def test_an_artifact_that_is_not_utf8_is_corrupt_whatever_its_digest(root, resolver, content):
    (root / "s" / "tool-results" / "f.txt").write_bytes(content)
    assert state(resolver.resolve(ARTIFACT)) == ("corrupt", "artifact_not_utf8")
    right = hashlib.sha256(content).hexdigest()
    assert resolver.resolve(f"artifact:s:f.txt:{right}").reason == "artifact_not_utf8"


@pytest.mark.parametrize("content", [b"", b"other", TEXT + b" "])
def test_an_artifact_with_another_digest_is_corrupt(root, resolver, content):
    (root / "s" / "tool-results" / "f.txt").write_bytes(content)
    found = resolver.resolve(ARTIFACT)
    assert state(found) == ("corrupt", "artifact_digest_mismatch")
    assert found.evidence_sha256 is None


# What is not there.


@pytest.mark.parametrize(
    ("pointer", "reason"),
    [
        ("transcript:none:1", "transcript_missing"),
        (f"artifact:none:f.txt:{SHA}", "artifact_missing"),
        (f"artifact:s:none:{SHA}", "artifact_missing"),
    ],
)
def test_what_is_not_there_is_missing(resolver, pointer, reason):
    assert state(resolver.resolve(pointer)) == ("missing", reason)


def test_a_file_where_a_folder_should_be_hides_nothing(root, resolver):
    (root / "t").write_text("x")
    assert state(resolver.resolve(f"artifact:t:f.txt:{SHA}")) == ("missing", "artifact_missing")


@pytest.mark.parametrize("name", [None, "nowhere", "s.jsonl"])
def test_without_a_root_everything_is_missing(root, name):
    place = root / name if name else None
    resolver = SourcePointerResolver(place, place)
    assert state(resolver.resolve(EVENT)) == ("missing", "transcript_missing")
    assert state(resolver.resolve(ARTIFACT)) == ("missing", "artifact_missing")


@pytest.mark.parametrize("name", ["s.jsonl", "s/tool-results/f.txt"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "folder"])
def test_what_is_no_regular_file_is_corrupt_and_does_not_hang(root, resolver, name, make):
    (root / name).unlink()
    make(root / name)
    pointer, kind = (EVENT, "transcript") if name == "s.jsonl" else (ARTIFACT, "artifact")
    assert state(resolver.resolve(pointer)) == ("corrupt", f"{kind}_not_a_file")


# Who leaves the place is denied.

COMPONENTS = [
    ("s.jsonl", EVENT),
    ("s/tool-results/f.txt", ARTIFACT),
    ("s/tool-results", ARTIFACT),
    ("s", ARTIFACT),
]


@pytest.mark.parametrize(("name", "pointer"), COMPONENTS)
def test_a_link_to_a_sibling_session_is_denied(root, resolver, name, pointer):
    replace_by_link(root / name, root / name.replace("s", "sibling", 1))
    assert state(resolver.resolve(pointer)) == ("denied", "ownership_boundary")


@pytest.mark.parametrize(("name", "pointer"), COMPONENTS)
@pytest.mark.parametrize("target", ["/", "nowhere", "/proc/self/environ"])
def test_a_link_out_of_the_root_or_to_nothing_is_denied(root, resolver, name, pointer, target):
    replace_by_link(root / name, target)
    assert state(resolver.resolve(pointer)) == ("denied", "ownership_boundary")


@pytest.mark.parametrize(("name", "pointer"), COMPONENTS)
def test_a_link_to_itself_is_denied(root, resolver, name, pointer):
    replace_by_link(root / name, (root / name).name)
    assert state(resolver.resolve(pointer)) == ("denied", "ownership_boundary")


@pytest.mark.parametrize(("name", "pointer"), COMPONENTS)
def test_a_link_swapped_in_between_look_and_opening_is_denied(
    root, resolver, monkeypatch, name, pointer
):
    real = os.stat

    def stat_then_swap(path, **options):
        seen = real(path, **options)
        if path == (root / name).name:
            replace_by_link(root / name, root / name.replace("s", "sibling", 1))
        return seen

    monkeypatch.setattr(beneath.os, "stat", stat_then_swap)
    assert state(resolver.resolve(pointer)) == ("denied", "ownership_boundary")


def test_a_fifo_swapped_in_between_look_and_opening_does_not_hang(root, resolver, monkeypatch):
    real = os.stat

    def stat_then_swap(path, **options):
        seen = real(path, **options)
        (root / "s.jsonl").unlink()
        os.mkfifo(root / "s.jsonl")
        return seen

    monkeypatch.setattr(beneath.os, "stat", stat_then_swap)
    assert state(resolver.resolve(EVENT)) == ("corrupt", "transcript_not_a_file")


def test_what_vanishes_between_look_and_opening_has_disappeared(root, resolver, monkeypatch):
    real = os.stat

    def stat_then_remove(path, **options):
        seen = real(path, **options)
        (root / "s.jsonl").unlink()
        return seen

    monkeypatch.setattr(beneath.os, "stat", stat_then_remove)
    assert state(resolver.resolve(EVENT)) == ("missing", "source_disappeared")


# What the system refuses.


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize(("name", "pointer"), COMPONENTS)
def test_a_file_without_permission_is_denied(root, resolver, name, pointer):
    (root / name).chmod(0)
    try:
        assert state(resolver.resolve(pointer)) == ("denied", "filesystem_denied")
    finally:
        (root / name).chmod(0o700)


@pytest.mark.parametrize(
    "failure",
    [
        (errno.EACCES, ("denied", "filesystem_denied")),
        (errno.EPERM, ("denied", "filesystem_denied")),
        (errno.EIO, ("corrupt", "source_read_failed")),
        (errno.EMFILE, ("corrupt", "source_read_failed")),
    ],
)
@pytest.mark.parametrize("call", ["stat", "open"])
@pytest.mark.parametrize("pointer", [EVENT, ARTIFACT])
def test_an_error_of_the_system_is_a_state(resolver, monkeypatch, call, failure, pointer):
    code, expected = failure

    def fail(*_args, **_options):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(beneath.os, call, fail)
    assert state(resolver.resolve(pointer)) == expected


@pytest.mark.parametrize("pointer", [EVENT, ARTIFACT])
def test_an_error_while_reading_is_a_state(resolver, monkeypatch, pointer):
    class Failing:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def read(self, _size):
            raise OSError(errno.EIO, "broken")

        readline = read

    def open_failing(descriptor, _mode):
        os.close(descriptor)
        return Failing()

    monkeypatch.setattr(beneath.os, "fdopen", open_failing)
    assert state(resolver.resolve(pointer)) == ("corrupt", "source_read_failed")


@pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="counts descriptors in /proc")
def test_no_descriptor_is_left_open(root, resolver):
    (root / "t").symlink_to(root / "s")
    before = len(list(DESCRIPTORS.iterdir()))
    for session in ("s", "t", "none"):
        resolver.resolve(f"artifact:{session}:f.txt:{SHA}")
        resolver.resolve(f"artifact:{session}:none:{SHA}")
        resolver.resolve(f"transcript:{session}:1")
    assert len(list(DESCRIPTORS.iterdir())) == before


# The policy comes first.


def raise_permission_error(_pointer):
    raise PermissionError


@pytest.mark.parametrize("policy", [lambda _: False, lambda _: None, raise_permission_error])
@pytest.mark.parametrize("pointer", [EVENT, ARTIFACT, "transcript:none:1"])
def test_a_refused_pointer_is_denied_before_any_file_is_looked_at(
    root, monkeypatch, policy, pointer
):
    monkeypatch.setattr("compactctl.durable.roots.open_beneath", None)
    resolver = SourcePointerResolver(root, root, policy)
    assert state(resolver.resolve(pointer)) == ("denied", "policy_denied")


def test_the_policy_sees_the_parsed_pointer_and_no_malformed_one(root):
    seen = []

    def policy(pointer):
        seen.append((pointer.source_type, pointer.session))
        return True

    resolver = SourcePointerResolver(root, root, policy)
    found = resolver.resolve_many(["bad", EVENT, "x:y", ARTIFACT])
    assert seen == [("transcript", "s"), ("artifact", "s")]
    assert [one.status for one in found] == ["corrupt", "available", "unsupported", "available"]


# Results.


@pytest.mark.parametrize("pointer", ["", " ", "no-colon", "x:y", "transcript:../../etc/passwd:1"])
def test_a_text_that_is_no_pointer_has_a_state_and_no_source_type(resolver, pointer):
    found = resolver.resolve(pointer)
    assert found.status in ("corrupt", "unsupported")
    assert (found.source_pointer, found.source_type) == (pointer, None)


def test_no_result_holds_a_path(root, resolver):
    (root / "t.jsonl").symlink_to("s.jsonl")
    pointers = [EVENT, ARTIFACT, "transcript:t:1", "transcript:none:1", "bad"]
    written = json.dumps([to_json(found) for found in resolver.resolve_many(pointers)])
    assert "/" not in written


def test_each_distinct_pointer_is_resolved_once_in_first_seen_order(resolver):
    time = "2025-01-31T12:00:00Z"
    facts = [DurableFact(str(n), "c", p, time) for n, p in enumerate([ARTIFACT, "bad", ARTIFACT])]
    items = [PendingItem(str(n), "d", p, time) for n, p in enumerate([EVENT, "bad"])]
    evidence = RetrievalEvidence("m", "transcript:s:2", "note", "t", time, 0.5, 1)
    state_ = DurableContextState(tuple(facts), tuple(items), (evidence,))
    found = resolve_durable_sources(state_, resolver)
    assert [one.source_pointer for one in found] == [ARTIFACT, "bad", EVENT]


def test_an_empty_state_has_nothing_to_resolve(resolver):
    assert resolve_durable_sources(DurableContextState(), resolver) == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(), st.from_regex(r"(transcript|artifact)(:[ -~]{1,5}){1,3}")))
def test_any_text_has_a_state(resolver, text):
    assert resolver.resolve(text).source_pointer == text
