"""Sources in an object store have the same five states, and no key leaves the prefix."""

import hashlib
import io
import json

import pytest
from helpers.object_store import s3_server

fsspec = pytest.importorskip("fsspec", reason="the extra s3 is not installed")

from compactctl.durable import roots  # noqa: E402 (needs fsspec)
from compactctl.durable.resolver import SourcePointerResolver  # noqa: E402 (the same)
from compactctl.durable.roots import Folder, ObjectStore, root_of  # noqa: E402 (the same)
from compactctl.errors import InputError, UsageError  # noqa: E402 (the same)

TEXT = b"stored result\n"
SHA = hashlib.sha256(TEXT).hexdigest()
ARTIFACT = f"artifact:s:f.txt:{SHA[:12]}"
EVENT = "transcript:s:1"
EVENTS = b"".join(
    json.dumps({"sequence": n, "session_id": "s", "text": "x" * 900}).encode() + b"\n"
    for n in range(1, 900)
)


def fill(system, prefix):
    """Put sources below a prefix, and some beside it that no pointer may reach."""
    system.pipe_file(f"{prefix}/s/tool-results/f.txt", TEXT)
    system.pipe_file(f"{prefix}/s/tool-results/bad.txt", b"\xff")
    system.pipe_file(f"{prefix}/s/tool-results/folder/f.txt", TEXT)
    system.pipe_file(f"{prefix}/s.jsonl", EVENTS)
    system.pipe_file(f"{prefix}/torn.jsonl", b'{"sequence":1}\n{"seq')
    system.pipe_file(f"{prefix}-beside/s/tool-results/f.txt", TEXT)
    system.pipe_file(f"{prefix}.jsonl", b"{}\n")


@pytest.fixture(scope="module")
def s3():
    """An S3 server, as the environment of a command that uses it."""
    with s3_server() as environment:
        yield environment


@pytest.fixture(params=["s3", "memory"])
def store(request, monkeypatch):
    """A prefix with sources below it: (file system, URL)."""
    if request.param == "memory":
        system = fsspec.filesystem("memory")
        url = "memory://bucket/root"
    else:
        for key, value in request.getfixturevalue("s3").items():
            monkeypatch.setenv(key, value)
        system = fsspec.filesystem("s3", use_listings_cache=False)
        url = "s3://sources/root"
        if not system.exists("sources"):
            system.mkdir("sources")
    fill(system, url)
    return system, url


def state(resolution):
    return resolution.status, resolution.reason


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        (EVENT, ("available", "verified_transcript_event")),
        ("transcript:s:899", ("available", "verified_transcript_event")),
        (ARTIFACT, ("available", "verified_artifact")),
        ("transcript:s:900", ("missing", "transcript_event_missing")),
        ("transcript:none:1", ("missing", "transcript_missing")),
        ("artifact:s:none:0123456789ab", ("missing", "artifact_missing")),
        ("artifact:none:f.txt:0123456789ab", ("missing", "artifact_missing")),
        ("transcript:torn:2", ("corrupt", "transcript_invalid_json")),
        ("transcript:torn:1", ("available", "verified_transcript_event")),
        ("artifact:s:bad.txt:0123456789ab", ("corrupt", "artifact_not_utf8")),
        ("artifact:s:f.txt:0123456789ab", ("corrupt", "artifact_digest_mismatch")),
        (f"artifact:s:folder:{SHA}", ("corrupt", "artifact_not_a_file")),
        ("memory:x", ("unsupported", "unsupported_scheme")),
        ("transcript:../root-beside:1", ("corrupt", "malformed_pointer")),
        (f"artifact:s:..:{SHA}", ("corrupt", "malformed_pointer")),
    ],
)
def test_every_state_is_told_of_an_object_as_of_a_file(store, pointer, expected):
    _, url = store
    found = SourcePointerResolver(url, url).resolve(pointer)
    assert state(found) == expected
    assert url not in repr(found)


def test_the_bytes_and_the_hash_are_those_of_the_object(store):
    _, url = store
    found, content = SourcePointerResolver(url, f"{url}/").read(ARTIFACT)
    assert (found.evidence_sha256, content) == (SHA, TEXT)
    found, content = SourcePointerResolver(url, url).read("transcript:s:300", 20)
    record = EVENTS.split(b"\n")[299]
    assert found.evidence_sha256 == hashlib.sha256(record).hexdigest()
    assert content == record[:20]


def test_nothing_is_asked_before_the_policy(store, monkeypatch):
    _, url = store
    monkeypatch.setattr(roots, "open_system", None)
    monkeypatch.setattr(roots, "open_beneath", None)
    resolver = SourcePointerResolver(url, url, lambda _: False)
    for pointer in (EVENT, ARTIFACT):
        assert state(resolver.resolve(pointer)) == ("denied", "policy_denied")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PermissionError, ("denied", "filesystem_denied")),
        (FileNotFoundError, ("missing", "source_disappeared")),
        (ValueError, ("corrupt", "source_read_failed")),
        (OSError, ("corrupt", "source_read_failed")),
    ],
)
def test_whatever_a_driver_raises_is_a_state(store, monkeypatch, error, expected):
    _, url = store

    def fail(*_arguments, **_more):
        raise error("a secret of the driver")

    root = root_of(url)
    resolver = SourcePointerResolver(root, root)
    monkeypatch.setattr(root._system, "info", fail)
    found = [resolver.resolve(EVENT), resolver.resolve(ARTIFACT)]
    if error is FileNotFoundError:
        expected_now = [("missing", f"{kind}_missing") for kind in ("transcript", "artifact")]
    else:
        expected_now = [expected] * 2
    assert [state(one) for one in found] == expected_now
    monkeypatch.undo()

    class Failing:
        def read(self, _size):
            fail()

        def close(self):
            pass

    monkeypatch.setattr(root._system, "info", lambda key: {"type": "file", "name": key})
    monkeypatch.setattr(root._system, "open", lambda *_, **__: Failing())
    found = [resolver.resolve(EVENT), resolver.resolve(ARTIFACT)]
    assert [state(one) for one in found] == [expected] * 2
    assert "secret" not in repr(found)


def test_an_answer_about_another_key_is_a_boundary(store, monkeypatch):
    _, url = store
    root = root_of(url)
    other = {"type": "file", "name": "elsewhere/s.jsonl"}
    monkeypatch.setattr(root._system, "info", lambda _: other)
    found = SourcePointerResolver(root, root).resolve(EVENT)
    assert state(found) == ("denied", "ownership_boundary")


def test_a_prefix_with_nothing_below_it_is_no_root(store):
    _, url = store
    assert root_of(url).exists()
    assert root_of(f"{url}/s/").exists()
    assert not root_of(f"{url}/none").exists()


@pytest.mark.parametrize("url", ["http://x/y", "https://x/y", "ftp://x/y", "github://x", "zip://x"])
def test_what_may_lead_elsewhere_is_no_root(url):
    with pytest.raises(UsageError, match="links or redirects"):
        root_of(url)


def test_a_file_url_is_a_folder_through_no_link(tmp_path):
    (tmp_path / "t.jsonl").write_bytes(b"{}\n")
    (tmp_path / "s.jsonl").symlink_to("t.jsonl")
    root = root_of(f"file://{tmp_path}")
    assert isinstance(root, Folder)
    assert not isinstance(root, ObjectStore)
    assert state(SourcePointerResolver(root).resolve("transcript:t:1"))[0] == "available"
    assert state(SourcePointerResolver(root).resolve(EVENT)) == ("denied", "ownership_boundary")


def test_another_place_is_another_class_with_these_methods():
    class Dictionary:
        def open(self, parts):
            return io.BytesIO({("s.jsonl",): b"{}\n"}[tuple(parts)])

        def exists(self):
            return True

    assert SourcePointerResolver(Dictionary()).resolve(EVENT).status == "available"


def test_a_store_that_cannot_be_reached_is_said_in_one_line(store, monkeypatch):
    _, url = store
    root = root_of(url)

    def fail(_path):
        raise ConnectionError("a secret of the driver")

    monkeypatch.setattr(root._system, "isdir", fail)
    with pytest.raises(InputError, match="the object store cannot be read") as caught:
        root.exists()
    assert "secret" not in str(caught.value)
