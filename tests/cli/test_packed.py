"""Input packed by gzip or Zstandard, and input without an end."""

import gzip
import importlib.util
import io
import os
import subprocess
from pathlib import Path

import pytest
from helpers.shell import COMPACTCTL, CUT, ENVIRONMENT, LONG, refused, run

from compactctl.errors import InputError
from compactctl.files import compression, reading

GZIP = gzip.compress(LONG, mtime=0)
# The magic of a frame is enough to ask for the extra.
ZSTD = b"\x28\xb5\x2f\xfd\x00"
HAS_ZSTD = any(
    importlib.util.find_spec(package) and importlib.util.find_spec(f"{package}.zstd")
    for package in ("compression", "backports")
)


def test_gzip_is_told_by_content_not_by_name(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(GZIP)
    expected = run(*CUT, stdin=LONG).stdout
    assert run(*CUT, path).stdout == expected
    assert run(*CUT, stdin=GZIP).stdout == expected
    assert run(*CUT, stdin=GZIP + gzip.compress(b"", mtime=0)).stdout == expected


def test_packed_input_is_not_rewritten_in_place(tmp_path):
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(GZIP)
    assert "packed" in refused(run(*CUT, path, "--in-place"), 2)
    assert path.read_bytes() == GZIP


@pytest.mark.parametrize("damage", [GZIP[:-20], GZIP[:30] + b"\xff" * 30 + GZIP[60:], GZIP[:5]])
def test_damaged_gzip_is_one_line_and_exit_3(damage):
    assert "the gzip data is damaged" in refused(run(*CUT, stdin=damage), 3)


@pytest.mark.skipif(HAS_ZSTD, reason="the extra is installed")
def test_zstandard_without_its_extra_says_what_to_install():
    assert "pip install 'compactctl[zst]'" in refused(run(*CUT, stdin=ZSTD), 3)


@pytest.mark.skipif(not HAS_ZSTD, reason="the extra is not installed")
def test_zstandard_is_read(tmp_path):
    zstd = pytest.importorskip("compression.zstd" if _standard() else "backports.zstd")
    path = tmp_path / "s.jsonl"
    path.write_bytes(zstd.compress(LONG[:1000]) + zstd.compress(LONG[1000:]))
    assert reading.read_lines(str(path)) == LONG.splitlines(keepends=True)
    path.write_bytes(zstd.compress(LONG)[:-20])
    with pytest.raises(InputError, match="the Zstandard data is damaged"):
        reading.read_lines(str(path))


def _standard():
    return importlib.util.find_spec("compression") is not None


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(compression, "LARGEST", 1 << 22)


@pytest.mark.usefixtures("small_limit")
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    bomb = io.BytesIO()
    with gzip.GzipFile(fileobj=bomb, mode="wb") as file:
        for _ in range(1 << 6):
            file.write(bytes(1 << 20))
    path = tmp_path / "s.jsonl"
    path.write_bytes(bomb.getvalue())
    with pytest.raises(InputError, match="holds more than"):
        reading.read_lines(str(path))
    with pytest.raises(InputError, match="holds more than"):
        compression.lines_of(bomb.getvalue())


@pytest.mark.usefixtures("small_limit")
def test_a_stream_without_end_is_refused(monkeypatch):
    if not Path("/dev/zero").exists():
        pytest.skip("no /dev/zero here")
    with Path("/dev/zero").open() as endless:
        monkeypatch.setattr("sys.stdin", endless)
        with pytest.raises(InputError, match="-: holds more than"):
            reading.read_lines("-")


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "s.jsonl"
    path.write_bytes(LONG)
    look = os.fstat

    def look_then_append(handle):
        found = look(handle)
        with path.open("ab") as other:
            other.write(b"{}\n")
        return found

    monkeypatch.setattr(os, "fstat", look_then_append)
    with pytest.raises(InputError, match=r"s\.jsonl: changed while it was read"):
        reading.read_lines(str(path))


def bomb(piece, megabytes):
    """Pack lines that unpack to so much."""
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb") as file:
        for _ in range(megabytes):
            file.write(piece * ((1 << 20) // len(piece)))
    return data.getvalue()


@pytest.mark.parametrize("piece", [b"\0", b"\n", b'{"role":"user","content":"x"}\n'])
def test_a_bomb_is_refused_by_its_ratio_early_and_in_little_memory(tmp_path, piece):
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(bomb(piece, 100))
    limits = "ulimit -v 1000000; exec"
    script = f"{limits} {' '.join(COMPACTCTL)} {' '.join(CUT)} {path}"
    done = subprocess.run(
        ["bash", "-c", script], env=ENVIRONMENT, capture_output=True, timeout=60, check=False
    )
    assert "grows more than 200 times when it is unpacked" in refused(done, 3)


@pytest.mark.skipif(not HAS_ZSTD, reason="the extra is not installed")
def test_a_zstandard_bomb_is_refused_by_its_ratio():
    zstd = pytest.importorskip("compression.zstd" if _standard() else "backports.zstd")
    packed = zstd.compress(b"\n" * (64 << 20))
    with pytest.raises(InputError, match="grows more than 200 times"):
        compression.lines_of(packed)


def test_what_only_packs_well_is_read():
    lines = [
        b'{"n":%d,"text":"the same words in every line, over and over"}\n' % n
        for n in range(1 << 18)
    ]
    packed = gzip.compress(b"".join(lines), 9)
    assert len(b"".join(lines)) > compression._ALWAYS
    assert compression.lines_of(packed) == lines


def test_what_is_small_is_read_whatever_its_ratio():
    assert compression.lines_of(bomb(b"x", 4)) == [b"x" * (4 << 20)]


def test_lines_end_at_line_feeds_only(tmp_path):
    path = tmp_path / "s.jsonl"
    for content in (
        b"",
        b"a",
        b"\n",
        b"a\n\nb",
        "a\u2028b\x85\x0b\x0c\x1cc\rd\r\n".encode(),
        b"\0\n",
    ):
        path.write_bytes(content)
        expected = [line + b"\n" for line in content.split(b"\n")]
        expected[-1] = expected[-1].removesuffix(b"\n")
        assert reading.read_lines(str(path)) == [line for line in expected if line]


@pytest.mark.parametrize("stage", [("validate",), CUT, ("render",)], ids=lambda stage: stage[0])
def test_what_goes_to_a_gz_is_packed(tmp_path, stage):
    path = tmp_path / "out.jsonl.gz"
    assert run(*stage, "-o", path, stdin=LONG).returncode == 0
    assert gzip.decompress(path.read_bytes()) == run(*stage, "-o", "-", stdin=LONG).stdout
    again = path.read_bytes()
    assert run(*stage, "-o", path, stdin=LONG).returncode == 0
    assert path.read_bytes() == again


@pytest.mark.skipif(not HAS_ZSTD, reason="the extra is not installed")
def test_what_goes_to_a_zst_is_packed(tmp_path):
    path = tmp_path / "out.jsonl.zst"
    assert run("validate", "-o", path, stdin=LONG).returncode == 0
    assert path.read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    assert b"".join(reading.read_lines(str(path))) == LONG


@pytest.mark.skipif(HAS_ZSTD, reason="the extra is installed")
def test_a_zst_without_its_extra_is_not_written(tmp_path):
    complaint = refused(run("validate", "-o", tmp_path / "out.zst", stdin=LONG), 3)
    assert "pip install 'compactctl[zst]'" in complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [("--max-tokens", "100"), ()], ids=["changed", "unchanged"])
def test_the_original_of_what_was_packed_is_given_back(tmp_path, options):
    (tmp_path / "s.jsonl").write_bytes(LONG)
    run(
        *("compact", "--layers", "truncate", "--soft-limit", "0", *options, tmp_path / "s.jsonl"),
        *("-o", tmp_path / "out.jsonl.gz", "--archive", tmp_path / "kept"),
    )
    for name in ("back.jsonl", "back.jsonl.gz"):  # its very bytes, whatever the name
        back = tmp_path / name
        done = run("restore", tmp_path / "out.jsonl.gz", "--archive", tmp_path / "kept", "-o", back)
        assert done.returncode == 0, done.stderr
        assert back.read_bytes() == LONG
