"""Every reason code there is, met at the shell and in Python."""

import hashlib
import json
import os

import pytest
from helpers.shell import ROOT, fact, lines, run, said

from compactctl.durable.manifest import Manifest
from compactctl.durable.policy import load_policy
from compactctl.durable.reasons import STATUS_OF
from compactctl.durable.resolver import SourcePointerResolver

TEXT = b"stored\n"
SHA = hashlib.sha256(TEXT).hexdigest()
SHORT = SHA[:12]

SYSTEM = """
import errno, os

def _troubled(open_):
    def opened(path, *arguments, **more):
        name = os.path.basename(os.fsdecode(path)) if isinstance(path, (str, bytes)) else ""
        if name.startswith("vanishing"):
            raise FileNotFoundError(errno.ENOENT, "gone")
        if name.startswith("forbidden"):
            raise PermissionError(errno.EACCES, "no")
        if name.startswith("broken"):
            raise OSError(errno.EIO, "broken")
        return open_(path, *arguments, **more)
    return opened

os.open = _troubled(os.open)
"""
"""What the system does with files of these names; as root, nothing else makes it."""

TRANSCRIPTS = {
    "ok": lines({"role": "user"}),
    "long": lines({"text": "x" * 100_001}),
    "text": b"no JSON\n",
    "list": b"[]\n",
    "deep": b"[" * 100_000 + b"\n",
    "giant": b'{"n":' + b"9" * 5000 + b"}\n",
    "sequence": lines({"sequence": 2}),
    "truth": lines({"sequence": True}),
    "session": lines({"session_id": "other"}),
    "event": lines({"event_id": "transcript:event:2"}),
    "latin": b'{"a":"\xe9"}\n',
    "surrogates": b'{"a":"\xed\xa0\x80"}\n',
    "denied": lines({}),
    **dict.fromkeys(("vanishing", "forbidden", "broken"), lines({})),
}

CASES = [
    ("transcript:ok:1", "verified_transcript_event"),
    ("transcript:none:1", "transcript_missing"),
    ("transcript:ok:2", "transcript_event_missing"),
    ("transcript:folder:1", "transcript_not_a_file"),
    ("transcript:fifo:1", "transcript_not_a_file"),
    ("transcript:long:1", "transcript_record_too_large"),
    ("transcript:text:1", "transcript_invalid_json"),
    ("transcript:deep:1", "transcript_invalid_json"),
    ("transcript:giant:1", "transcript_invalid_json"),
    ("transcript:list:1", "transcript_record_not_object"),
    ("transcript:sequence:1", "transcript_sequence_mismatch"),
    ("transcript:truth:1", "transcript_sequence_mismatch"),
    ("transcript:session:1", "transcript_session_mismatch"),
    ("transcript:event:1", "transcript_event_id_mismatch"),
    ("transcript:latin:1", "source_not_utf8"),
    ("transcript:surrogates:1", "source_not_utf8"),
    ("transcript:denied:1", "policy_denied"),
    ("transcript:link:1", "ownership_boundary"),
    ("transcript:loop:1", "ownership_boundary"),
    ("transcript:forbidden:1", "filesystem_denied"),
    ("transcript:vanishing:1", "source_disappeared"),
    ("transcript:broken:1", "source_read_failed"),
    (f"artifact:ok:f.txt:{SHORT}", "verified_artifact"),
    (f"artifact:ok:f.txt:{SHA.upper()}", "verified_artifact"),
    (f"artifact:ok:none:{SHORT}", "artifact_missing"),
    (f"artifact:ok:folder:{SHORT}", "artifact_not_a_file"),
    (f"artifact:ok:latin:{SHORT}", "artifact_not_utf8"),
    ("artifact:ok:f.txt:0123456789ab", "artifact_digest_mismatch"),
    (f"artifact:denied:f.txt:{SHORT}", "policy_denied"),
    (f"artifact:ok:link:{SHORT}", "ownership_boundary"),
    (f"artifact:sibling:f.txt:{SHORT}", "ownership_boundary"),
    (f"artifact:ok:forbidden:{SHORT}", "filesystem_denied"),
    (f"artifact:ok:vanishing:{SHORT}", "source_disappeared"),
    (f"artifact:ok:broken:{SHORT}", "source_read_failed"),
    (f"artifact:ok:unsigned:{SHORT}", "manifest_denied"),
    ("", "malformed_pointer"),
    ("transcript:ok:\u00b2", "malformed_pointer"),
    ("transcript:../ok:1", "malformed_pointer"),
    ("transcript:ok:1\n", "malformed_pointer"),
    ("ticket:1", "unsupported_scheme"),
    ("TRANSCRIPT:ok:1", "unsupported_scheme"),
]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Sources with all that can be wrong with them."""
    folder = tmp_path_factory.mktemp("reasons")
    told, stored = folder / "told", folder / "stored"
    told.mkdir()
    for name, content in TRANSCRIPTS.items():
        (told / f"{name}.jsonl").write_bytes(content)
    (told / "folder.jsonl").mkdir()
    os.mkfifo(told / "fifo.jsonl")
    (told / "link.jsonl").symlink_to("ok.jsonl")
    (told / "loop.jsonl").symlink_to("loop.jsonl")
    results = stored / "ok" / "tool-results"
    results.mkdir(parents=True)
    for name in ("f.txt", "forbidden", "vanishing", "broken", "unsigned"):
        (results / name).write_bytes(TEXT)
    (results / "latin").write_bytes(b"\xe9")
    (results / "folder").mkdir()
    (results / "link").symlink_to("f.txt")
    (stored / "sibling").symlink_to("ok")
    (folder / "policy.toml").write_text('deny = ["denied"]\n')
    (folder / "sitecustomize.py").write_text(SYSTEM)
    return folder


def expected(pointer, reason):
    for kind, statuses in STATUS_OF.items():
        if pointer.startswith(kind) and reason in statuses:
            return statuses[reason]
    return {"malformed_pointer": "corrupt", "unsupported_scheme": "unsupported"}[reason]


def test_every_reason_is_among_the_cases():
    known = {(kind, reason) for kind, statuses in STATUS_OF.items() for reason in statuses}
    met = {(pointer.partition(":")[0], reason) for pointer, reason in CASES}
    assert known <= met


def arguments(places):
    return (
        *("--transcripts", places / "told", "--artifacts", places / "stored"),
        *("--policy", places / "policy.toml"),
    )


def signed(places):
    """Write a manifest by hand, in which ``unsigned`` is missing."""
    import hmac  # noqa: PLC0415

    names = {pointer.split(":")[2] for pointer, _ in CASES if pointer.startswith("artifact:")}
    rows = [
        {"session": session, "filename": name, "sha256": sha}
        for session in ("ok", "denied", "sibling")
        for name in sorted(names - {"unsigned"})
        for sha in (SHA, "0123456789ab" + "0" * 52)
    ]
    body = lines(*rows)
    key = b"k" * 32
    (places / "key").write_bytes(key)
    head = lines({"hmac_sha256": hmac.new(key, body, "sha256").hexdigest()})
    (places / "manifest").write_bytes(head + body)
    return ("--manifest", places / "manifest", "--key", places / "key")


def test_each_at_the_shell(places):
    facts = [fact(str(at), pointer or "\u200b") for at, (pointer, _) in enumerate(CASES)]
    environment = {"PYTHONPATH": f"{places}{os.pathsep}{ROOT}"}
    done = run(
        *("resolve", "--json", *arguments(places), *signed(places)),
        stdin=lines(*facts),
        env=environment,
    )
    assert done.returncode == 0, said(done)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["status"], row["reason"]) for row in rows] == [
        (expected(pointer, reason), reason) for pointer, reason in CASES
    ]
    assert [row["evidence_sha256"] is not None for row in rows] == [
        reason.startswith("verified") for _, reason in CASES
    ]
    assert str(places).encode() not in done.stdout


@pytest.mark.parametrize(("pointer", "reason"), CASES)
def test_each_in_python(places, monkeypatch, pointer, reason):
    namespace = {}
    real = os.open
    exec(SYSTEM, namespace)
    troubled, os.open = os.open, real
    monkeypatch.setattr(os, "open", troubled)
    policy = load_policy(places / "policy.toml")
    manifest = Manifest([]) if reason == "manifest_denied" else None
    resolver = SourcePointerResolver(places / "told", places / "stored", policy, manifest)
    found = resolver.resolve(pointer)
    assert (found.status, found.reason) == (expected(pointer, reason), reason)
    assert (found.evidence_sha256 is not None) == reason.startswith("verified")
    assert str(places) not in repr(found)
