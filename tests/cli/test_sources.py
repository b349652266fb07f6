"""What commands may look at, and what they leave of it: buckets, manifests, traces, excerpts."""

import contextlib
import hashlib
import hmac
import http.server
import json
import os
import pty
import threading

import pytest
from helpers.object_store import s3_server
from helpers.shell import USER, fact, lines, records, refused, run, said

from compactctl.durable.artifacts import ArtifactStore

TEXT = "first line\nsecond é\n"
KEY = b"0123456789abcdef0123456789abcdef"


@pytest.fixture
def stored(tmp_path):
    """Artifacts of two sessions: their folder, and the pointer of each."""
    folder = tmp_path / "artifacts"
    pointers = [ArtifactStore(str(folder), name).put(TEXT) for name in ("s1", "s2")]
    (tmp_path / "key").write_bytes(KEY + b"\n")
    return folder, *pointers


def sign(tmp_path, folder, name="manifest"):
    done = run("manifest", folder, "--key", tmp_path / "key", "-o", tmp_path / name)
    assert done.returncode == 0, said(done)
    return tmp_path / name


# Manifests.


def test_a_signed_artifact_is_shown_and_another_denied(stored, tmp_path):
    folder, one, two = stored
    manifest = sign(tmp_path, folder)
    given = ("--artifacts", folder, "--manifest", manifest, "--key", tmp_path / "key")
    assert run("show", one, *given).stdout == TEXT.encode()
    later = ArtifactStore(str(folder), "s1").put("written after the signing")
    done = run("show", later, *given)
    assert (done.returncode, done.stdout) == (1, b"")
    assert "is denied (manifest_denied)" in said(done)
    other_owner = two.replace(":s2:", ":s3:")
    assert "manifest_denied" in said(run("show", other_owner, *given))
    assert run("show", later, "--artifacts", folder).returncode == 0


def test_the_whole_hash_of_the_manifest_is_what_counts(stored, tmp_path):
    folder, one, _ = stored
    entry = {"session": "s1", "filename": one.split(":")[2], "sha256": one[-12:] + "0" * 52}
    body = json.dumps(entry).encode() + b"\n"
    signature = hmac.new(KEY, body, "sha256").hexdigest()
    (tmp_path / "manifest").write_bytes(lines({"hmac_sha256": signature}) + body)
    given = ("--manifest", tmp_path / "manifest", "--key", tmp_path / "key")
    done = run("show", one, "--artifacts", folder, *given)
    assert "artifact_digest_mismatch" in said(done)


def test_the_signature_is_over_the_bytes_behind_the_first_line(stored, tmp_path):
    folder, one, two = stored
    head, *rest = sign(tmp_path, folder).read_bytes().splitlines(keepends=True)
    expected = hmac.new(KEY, b"".join(rest), hashlib.sha256).hexdigest()
    assert json.loads(head) == {"hmac_sha256": expected}
    listed = [json.loads(line) for line in rest]
    assert [row["session"] for row in listed] == ["s1", "s2"]
    assert {row["sha256"] for row in listed} == {hashlib.sha256(TEXT.encode()).hexdigest()}
    assert [two.startswith(f"artifact:s2:{listed[1]['filename']}:"), ":s1:" in one] == [True, True]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.replace(b'"s2"', b'"s9"'), "not signed with this key"),
        (lambda text: text + text.splitlines(keepends=True)[-1], "not signed with this key"),
        (lambda text: text.split(b"\n", 1)[1], "no manifest"),
        (lambda _: b"", "no manifest"),
        (lambda _: b'{"hmac_sha256":1}\n', "no manifest"),
    ],
)
def test_a_manifest_that_was_changed_is_refused(stored, tmp_path, change, why):
    folder, one, _ = stored
    manifest = sign(tmp_path, folder)
    manifest.write_bytes(change(manifest.read_bytes()))
    given = ("--manifest", manifest, "--key", tmp_path / "key")
    assert why in refused(run("show", one, "--artifacts", folder, *given), 3)


def test_a_key_is_needed_and_long_enough(stored, tmp_path):
    folder, one, _ = stored
    manifest = sign(tmp_path, folder)
    given = ("show", one, "--artifacts", folder)
    refused(run(*given, "--manifest", manifest), 2)
    refused(run(*given, "--key", tmp_path / "key"), 2)
    (tmp_path / "other").write_bytes(KEY[::-1])
    refused(run(*given, "--manifest", manifest, "--key", tmp_path / "other"), 3)
    (tmp_path / "short").write_bytes(b"secret")
    text = refused(run(*given, "--manifest", manifest, "--key", tmp_path / "short"), 3)
    assert "secret" not in text
    refused(run(*given, "--manifest", manifest, "--key", tmp_path / "none"), 3)


def test_what_is_signed_but_no_artifact_is_refused(stored, tmp_path):
    folder, one, _ = stored
    body = b'{"session":"../s1","filename":"x","sha256":"' + b"0" * 64 + b'"}\n'
    signature = hmac.new(KEY, body, "sha256").hexdigest()
    (tmp_path / "manifest").write_bytes(lines({"hmac_sha256": signature}) + body)
    given = ("--manifest", tmp_path / "manifest", "--key", tmp_path / "key")
    assert ":2: not an artifact" in refused(run("show", one, "--artifacts", folder, *given), 3)


def test_no_link_is_signed(stored, tmp_path):
    folder, *_ = stored
    (tmp_path / "secret").write_text("secret")
    (folder / "s1" / "tool-results" / "link").symlink_to(tmp_path / "secret")
    assert b'"link"' not in sign(tmp_path, folder).read_bytes()


# Traces.


def test_every_source_that_was_looked_at_is_in_the_trace(stored, tmp_path):
    folder, one, _ = stored
    trace = tmp_path / "trace.jsonl"
    secret = "a text that is no pointer"
    state = lines(fact("a", one), fact("b", "transcript:s1:1"), fact("c", secret))
    given = ("--artifacts", folder, "--trace", trace)
    run("resolve", *given, stdin=lines(USER) + state)
    run("show", one, *given)
    found = records(trace)
    assert [(row["pointer"], row["decision"], row["reason"]) for row in found] == [
        (one, "available", "verified_artifact"),
        ("transcript:s1:1", "missing", "transcript_missing"),
        (None, "corrupt", "malformed_pointer"),
        (one, "available", "verified_artifact"),
    ]
    assert all(row["time"].endswith("+00:00") for row in found)
    assert {tuple(row) for row in found} == {("pointer", "decision", "reason", "time")}
    text = trace.read_text()
    assert "first line" not in text
    assert secret not in text


def test_the_trace_is_never_written_into_what_is_read(stored, tmp_path):
    folder, one, _ = stored
    state = tmp_path / "state.jsonl"
    state.write_bytes(lines(fact("a", one)))
    before = state.read_bytes()
    refused(run("resolve", state, "--artifacts", folder, "--trace", state), 2)
    assert state.read_bytes() == before


# Excerpts.


def test_an_excerpt_is_characters_of_verified_bytes(stored):
    folder, one, _ = stored
    for size in (1, 18, 19, 20, 99):
        done = run("show", one, "--artifacts", folder, "--excerpt", size)
        assert done.stdout.decode() == TEXT[:size]
    (file,) = (folder / "s1" / "tool-results").iterdir()
    file.chmod(0o600)
    file.write_text(TEXT + "changed at the end")
    done = run("show", one, "--artifacts", folder, "--excerpt", 1)
    assert (done.returncode, done.stdout) == (1, b"")


def test_excerpts_are_for_json_and_bounded_and_never_rendered(stored):
    folder, one, _ = stored
    stream = lines(USER, fact("a", one), fact("b", "transcript:s1:1"))
    given = ("--artifacts", folder, "--excerpts", 5)
    done = run("resolve", *given, "--json", stdin=stream)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row.get("excerpt") for row in rows] == ["first", None]
    plain = run("resolve", "--artifacts", folder, stdin=stream).stdout
    assert b"first" not in plain
    assert b"source_status=available" in run("render", stdin=plain).stdout
    assert b"first" not in run("render", stdin=stream + done.stdout).stdout
    refused(run("resolve", *given, stdin=stream), 2)
    refused(run("resolve", "--json", "--excerpts", 2001, stdin=stream), 2)


def test_what_is_shown_does_not_steer_a_terminal(tmp_path):
    pointer = ArtifactStore(str(tmp_path), "s1").put("a\tb\x1b[2K\r\x9b1m\nend\n")
    here, there = pty.openpty()
    done = run("show", pointer, "--artifacts", tmp_path, stdout=there)
    os.close(there)
    shown = os.read(here, 1000)
    os.close(here)
    assert done.returncode == 0
    assert shown.replace(b"\r\n", b"\n") == b"a\tb\\x1b[2K\\r\\x9b1m\nend\n"


# A bucket.


def test_the_commands_take_a_bucket(monkeypatch):
    fsspec = pytest.importorskip("fsspec", reason="the extra s3 is not installed")
    with s3_server() as s3:
        for key, value in s3.items():
            monkeypatch.setenv(key, value)
        system = fsspec.filesystem("s3", use_listings_cache=False, skip_instance_cache=True)
        system.mkdir("shell")
        url = "s3://shell/root"
        sha = hashlib.sha256(TEXT.encode()).hexdigest()
        system.pipe_file(f"{url}/s1/tool-results/f.txt", TEXT.encode())
        system.pipe_file(f"{url}/s1.jsonl", lines(USER, USER))
        places = ("--transcripts", url, "--artifacts", url)
        pointer = f"artifact:s1:f.txt:{sha}"
        shown = run("show", pointer, *places, env=s3)
        assert (shown.returncode, shown.stdout) == (0, TEXT.encode()), said(shown)
        stream = lines(USER, fact("f", "transcript:s1:2"))
        done = run("resolve", "--json", *places, env=s3, stdin=stream)
        assert json.loads(done.stdout)["status"] == "available"
        given = ("--content", "c", "--source", pointer, "--confirmed-at", "2026-01-01T00:00:00Z")
        assert run("state", "add", "fact", *given, *places, env=s3).returncode == 0
        text = refused(run("show", pointer, "--transcripts", f"{url}/none", env=s3), 2)
        assert text == "compactctl: --transcripts is not a folder\n"
        gone = s3 | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
        text = refused(run("show", pointer, *places, env=gone), 3)
        assert "testing" not in text


LISTING = """<ListBucketResult><Name>bucket</Name><KeyCount>1</KeyCount>
<IsTruncated>false</IsTruncated><Contents><Key>a/s1.jsonl</Key><Size>3</Size><ETag>"x"</ETag>
<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents></ListBucketResult>"""


class Store(http.server.BaseHTTPRequestHandler):
    """Lists a folder, and has any object, or sends whoever asks for one to another server."""

    elsewhere = ""

    def do_GET(self):
        self.server.asked.append(self.path)
        is_listing = "list-type" in self.path
        body = LISTING.encode() if is_listing else b"{}\n"
        moved = self.elsewhere and not is_listing
        self.send_response(307 if moved else 200)
        if moved:
            self.send_header("Location", f"{self.elsewhere}/other/key")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"x"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 (the names that the base class calls)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(handler):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_no_redirect_is_followed_to_another_place():
    pytest.importorskip("s3fs", reason="the extra s3 is not installed")
    given = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
        "NO_PROXY": "127.0.0.1",
    }
    stream = lines(USER, fact("f", "transcript:s1:1"))
    arguments = ("resolve", "--json", "--transcripts", "s3://bucket/a")
    with serving(Store) as (there, url):
        done = run(*arguments, stdin=stream, env=given | {"AWS_ENDPOINT_URL": url})
        assert b'"available"' in done.stdout, said(done)
        there.asked.clear()
        with serving(type("Sender", (Store,), {"elsewhere": url})) as (here, first):
            done = run(*arguments, stdin=stream, env=given | {"AWS_ENDPOINT_URL": first})
    assert [path for path in here.asked if "list-type" not in path]
    assert not there.asked
    assert json.loads(done.stdout)["evidence_sha256"] is None
    assert json.loads(done.stdout)["status"] in ("corrupt", "denied", "missing")
