"""URLs in and out, against a real S3 server on loopback and in memory."""

import subprocess

import pytest
from helpers.bulk_helpers import (
    BROKEN,
    PATIENCE,
    SMALL,
    bulk,
    command,
    environment,
    free_port,
    session,
    sha256,
    tree,
    write,
)
from helpers.object_store import s3_server

fsspec = pytest.importorskip("fsspec", reason="the extra cluster or s3 is not installed")

from compactctl.bulk import discover  # noqa: E402 (needs fsspec)
from compactctl.bulk.storage import RemoteStorage, storage_of  # noqa: E402 (the same)
from compactctl.errors import InputError, UsageError  # noqa: E402 (the same)

BIG = session()


@pytest.fixture(scope="module")
def s3():
    """An S3 server, as the environment of a command that uses it."""
    with s3_server() as given:
        yield given


@pytest.fixture
def bucket(s3, monkeypatch, request):
    """A bucket of its own for each test; gives (file system, its URL)."""
    for key, value in s3.items():
        monkeypatch.setenv(key, value)
    system = fsspec.filesystem("s3", use_listings_cache=False)
    name = f"b{abs(hash(request.node.name)) % 10**9}"
    system.mkdir(name)
    return system, f"s3://{name}"


def remote_bulk(*arguments):
    """Run in a process of its own: workers must find the server in their environment."""
    return bulk(*arguments, "--jobs", 1, env=environment())


def objects(system, url):
    return {
        name.partition("/")[2]: sha256(system.cat_file(name))
        for name in system.find(url)
        if not name.endswith("manifest.jsonl")
    }


def test_a_bucket_is_compacted_into_another_folder_of_it_as_a_disk_is(bucket, tmp_path):
    system, url = bucket
    files = {"a/x.jsonl": BIG, "a/y.jsonl.gz": session(9), "z.jsonl": SMALL, "bad.jsonl": BROKEN}
    local = write(tmp_path / "in", files)
    for path in local.rglob("*.jsonl*"):
        system.pipe_file(f"{url}/in/{path.relative_to(local)}", path.read_bytes())
    before = objects(system, f"{url}/in")
    assert bulk(local, "-o", tmp_path / "out").returncode == 6
    done = remote_bulk(f"{url}/in", "-o", f"{url}/out", "--archive", f"{url}/kept")
    assert done.returncode == 6, done.stderr
    assert f"{url}/in/bad.jsonl: line 2: PAIR-01" in done.stderr
    made = {
        name.removeprefix("out/"): value for name, value in objects(system, f"{url}/out").items()
    }
    assert made == tree(tmp_path / "out")
    assert objects(system, f"{url}/in") == before

    lines = system.cat_file(f"{url}/out/manifest.jsonl").splitlines()
    assert len(lines) == 4
    again = remote_bulk(f"{url}/in", "-o", f"{url}/out", "--resume")
    assert again.returncode == 6
    assert "done before" in again.stderr
    assert len(system.cat_file(f"{url}/out/manifest.jsonl").splitlines()) == 5

    compacted = write(tmp_path, {"x.jsonl": system.cat_file(f"{url}/out/a/x.jsonl")}) / "x.jsonl"
    restored = subprocess.run(
        command("restore", compacted, "--archive", f"{url}/kept"),
        env=environment(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert restored.stdout == BIG, restored.stderr


def test_patterns_and_single_objects_and_a_local_output(bucket, tmp_path):
    system, url = bucket
    for name in ("p/1.jsonl", "p/q/2.jsonl", "p/q/3.txt", "4.jsonl"):
        system.pipe_file(f"{url}/{name}", BIG)
    done = remote_bulk(f"{url}/p/**/*.jsonl", f"{url}/4.jsonl", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert list(tree(tmp_path / "out")) == ["1.jsonl", "4.jsonl", "q/2.jsonl"]


def test_a_local_input_and_a_remote_output(bucket, tmp_path):
    system, url = bucket
    source = write(tmp_path / "in", {"a/x.jsonl": BIG})
    assert remote_bulk(source, "-o", f"{url}/out").returncode == 0
    assert list(objects(system, f"{url}/out")) == ["out/a/x.jsonl"]


def test_what_is_not_there_fails_in_one_line(bucket):
    _, url = bucket
    done = remote_bulk(f"{url}/nothing.jsonl", "-o", f"{url}/out")
    assert done.returncode == 6
    assert "nothing.jsonl: cannot be read: No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr
    done = remote_bulk(f"{url}/*.jsonl", "-o", f"{url}/out")
    assert done.returncode == 3
    assert "nothing matches this pattern" in done.stderr


def test_a_server_that_is_gone_is_said_in_one_line(tmp_path, s3, monkeypatch):
    for key, value in (s3 | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"}).items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    source = write(tmp_path / "in", {"x.jsonl": BIG})
    done = remote_bulk(source, "-o", "s3://b/out")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert "testing" not in done.stderr


def test_an_object_is_written_whole_or_not_at_all(bucket, monkeypatch):
    system, url = bucket
    storage = storage_of(url)
    assert storage.sha256(f"{url}/x", url) is None
    storage.put(f"{url}/x", b"whole")
    assert storage.read(f"{url}/x").raw == b"whole"

    async def cut_short(*_arguments, **_more):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(type(system), "_call_s3", cut_short)
    with pytest.raises(InputError, match="cannot be written: Input/output error"):
        storage.put(f"{url}/y", b"half")
    monkeypatch.undo()
    assert not system.exists(f"{url}/y")


def test_an_object_that_changes_is_seen(bucket):
    system, url = bucket
    system.pipe_file(f"{url}/x", b"one")
    storage = storage_of(url)
    source = storage.read(f"{url}/x")
    assert storage.is_as_read(f"{url}/x", source)
    system.pipe_file(f"{url}/x", b"two")
    assert not storage.is_as_read(f"{url}/x", source)


def test_storage_without_whole_puts_gets_a_transaction(tmp_path, monkeypatch):
    storage = RemoteStorage()
    url = f"file://{tmp_path}/deep/x"
    storage.put(url, b"whole")
    assert (tmp_path / "deep/x").read_bytes() == b"whole"
    monkeypatch.setattr(
        fsspec.implementations.local.LocalFileOpener,
        "write",
        lambda _self, _data: (_ for _ in ()).throw(OSError(28, "No space left on device")),
        raising=False,
    )
    with pytest.raises(InputError, match="No space left on device"):
        storage.put(f"file://{tmp_path}/deep/y", b"half")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["x"]


def test_folders_in_memory_are_listed_as_on_a_disk():
    system = fsspec.filesystem("memory")
    for name in ("/m/b.jsonl", "/m/a/c.jsonl.gz", "/m/.hidden.jsonl", "/m/notes.txt"):
        system.pipe_file(name, b"x")
    found = [(f.relative, f.size) for f in discover.find("memory://m", lambda _: False)]
    assert found == [("a/c.jsonl.gz", 1), ("b.jsonl", 1)]


def test_a_kind_of_url_that_nobody_knows():
    with pytest.raises(UsageError, match="no storage that fsspec knows"):
        storage_of("nonsense://x").read("nonsense://x")
