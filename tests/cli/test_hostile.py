"""Input that nobody would want: passed through untouched or refused in one line, no traceback."""

import gzip
import os
import random
import re
from pathlib import Path

import pytest
from helpers.shell import ANSWER, CHARS, USER, call, lines, refused, result, run, said

from compactctl import cli, layers

PASSING = (*layers.ORDER, "compact", "resolve")
EVERY = (*PASSING, "validate", "render")
START, END = lines(USER), lines(ANSWER)
NOISE = random.Random(1).randbytes(3000)


def with_call(arguments):
    """A whole interaction whose call has these arguments, as they are."""
    head, tail = lines(call("toolu_1", marked=1)).split(b'{"marked": 1}')
    return START + head + arguments + tail + lines(result("toolu_1")) + END


READABLE = {
    "torn tail": START + END + b'{"role":"user","cont',
    "torn middle": START + b'{"role":"user","cont\n' + END,
    "two objects on a line": START.strip() + END,
    "array": START + END + b"[1, 2]\n",
    "scalars": START + b'1\n"x"\nnull\ntrue\n' + END,
    "invalid UTF-8": START + b'{"role":"assistant","content":"\xff\xfe"}\n' + END,
    "lone surrogate": START + b'{"role":"assistant","content":"a\\ud83d"}\n',
    "raw surrogate": START + b'{"role":"assistant","content":"\xed\xa0\xbd"}\n' + END,
    "line separators": START + '{"role":"assistant","content":"a\u2028b\u0085c"}\n'.encode(),
    "deep nesting": START + END + b'{"role":"user","content":' + b"[" * 100_000 + b"\n",
    "closed deep nesting": START + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n" + END,
    "deep arguments": with_call(b'{"a":' * 500 + b"1" + b"}" * 500),
    "huge integer": START + b'{"role":"assistant","content":"","n":' + b"9" * 5000 + b"}\n" + END,
    "huge integer in a call": with_call(b'{"n":' + b"9" * 5000 + b"}"),
    "NaN": START + b'{"role":"assistant","content":"x","n":NaN}\n' + END,
    "infinite float": START + b'{"role":"assistant","content":"x","n":1e999}\n' + END,
    "NUL bytes": START + b"\0" * 999 + b"\n" + END + b"\0" * 9,
    "noise": START + END + NOISE,
    "CRLF": (START + END).replace(b"\n", b"\r\n"),
    "BOM": b"\xef\xbb\xbf" + START + END,
    "bare CR": START.replace(b"\n", b"\r") + END,
    "blank lines": b"\n\n" + START + b"  \n" + END + b"\n",
    "no line end": (START + END).rstrip(),
    "duplicate keys": b'{"role":"assistant","role":"user","content":"x"}\n' + END,
    "unknown record": START + END + b'{"type":"compactctl.unheard_of","x":1}\n',
    "odd types": START
    + b'{"role":"assistant","content":[1,null,"x",{"type":1},{"type":"text","text":[]}]}\n'
    + b'{"role":"user","content":{"a":1}}\n{"role":null,"content":null}\n',
}

UNREADABLE = {
    "empty": b"",
    "blank": b"\n \r\n\t\n",
    "no JSON": b"hello\nworld\n",
    "one array": b"[" + START.strip() + b"]\n",
    "pretty-printed": b'{\n  "role": "user"\n}\n',
    "only NUL bytes": b"\0" * 500,
    "only noise": NOISE,
    "only scalars": b"1\nnull\n",
    "only deep nesting": b"[" * 100_000,
    "damaged gzip": gzip.compress(START * 9, mtime=0)[:-9],
    "no gzip after all": b"\x1f\x8b" + NOISE,
}


@pytest.fixture
def here(capfdbinary):
    """Run a command in this process, which is a hundred times cheaper; a bug is a failed test."""

    def run_here(*arguments):
        code = cli.run([str(argument) for argument in arguments])
        return (code, *capfdbinary.readouterr())

    return run_here


@pytest.mark.parametrize("name", READABLE)
def test_odd_lines_pass_untouched(name, here, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(READABLE[name])
    for command in PASSING:
        code, out, complaint = here(command, path, *(CHARS if command != "resolve" else ()))
        assert code == 0, complaint
        assert out == READABLE[name], command
    code, out, complaint = here("render", path)
    assert (code, out) == (0, b"")
    code, out, complaint = here("validate", path)
    assert out == (b"" if code else READABLE[name])
    assert (b" error " in complaint) == (code == 1)


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_transcript_is_refused(name, here, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(UNREADABLE[name])
    for command in EVERY:
        code, out, complaint = here(command, path)
        assert (code, out) == (3, b""), command
        assert re.fullmatch(rb"compactctl: .*/s\.jsonl: [^\n]+\n", complaint), complaint


ESCAPES = "\x1b[31m\x1b]0;title\x07\u202e\x9b2J\r\u2028"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]")


@pytest.mark.parametrize("command", EVERY)
def test_no_escape_of_a_transcript_reaches_the_terminal(command, here, tmp_path):
    path = tmp_path / f"s{ESCAPES}.jsonl"
    evil = f"id{ESCAPES}"
    asked = call(evil, f"Read{ESCAPES}", file_path=f"/a{ESCAPES}")
    fact = {"type": "compactctl.fact", "fact_id": evil}
    for content in (
        lines(USER, asked, ANSWER, USER),  # no result
        lines(USER, asked, result(evil, f"line{ESCAPES}\n" * 999), ANSWER),
        lines(USER, asked),  # an open tail
        lines(USER, fact),  # a refused record
        lines({ESCAPES: ESCAPES}),
    ):
        path.write_bytes(content)
        verbose = () if command in {"validate", "render"} else ("-v",)
        complaint = here(command, path, *verbose)[2].decode()
        assert not RAW.search(complaint), complaint
        assert "Traceback" not in complaint


@pytest.mark.parametrize("option", ["--format", "--tokenizer", "--layers", "--report", "-o"])
def test_no_escape_of_an_option_reaches_the_terminal(option, here, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(START + END)
    code, out, complaint = here("compact", path, option, f"{tmp_path}/{ESCAPES}/x")
    assert code in {2, 3}
    assert not out
    assert not RAW.search(complaint.decode())


def test_a_line_of_20_megabytes_is_a_line_like_any_other():
    long = START + b'{"role":"assistant","content":"' + b"word " * 4_000_000 + b'"}\n'
    assert run("truncate", *CHARS, stdin=long).stdout == long
    assert run("validate", stdin=long).stdout == long


@pytest.mark.parametrize("name", ["deep nesting", "noise", "huge integer in a call", "odd types"])
def test_a_process_of_its_own_ends_well_too(name):
    done = run("compact", *CHARS, stdin=READABLE[name])
    assert (done.returncode, done.stdout) == (0, READABLE[name]), said(done)


def test_places_that_are_no_files(tmp_path):
    assert "is empty" in refused(run("truncate", os.devnull), 3)
    assert "directory" in refused(run("truncate", tmp_path), 3)
    assert "No such file" in refused(run("resolve", tmp_path / "none.jsonl"), 3)
    assert "No such file" in refused(run("render", tmp_path / "none.jsonl"), 3)
    assert "File name too long" in refused(run("prune", "n" * 300), 3)
    if Path("/dev/zero").exists():
        assert "is a device" in refused(run("dedup", "/dev/zero"), 3)
    if Path("/proc/self/mem").exists():
        refused(run("summarize", "/proc/self/mem"), 3)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read_is_one_line(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(START)
    path.chmod(0)
    assert "Permission denied" in refused(run("truncate", path), 3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Missing command"),
        (("truncat",), "No such command"),
        (("truncate", "--no-such-option"), "No such option"),
        (("truncate", "--max-tokens", "many"), "not a valid int"),
        (("truncate", "--max-tokens"), "requires an argument"),
        (("truncate", "--max-tokens", "1"), "--max-tokens must be at least"),
        (("truncate", "--keep", "middle"), "middle"),
        (("truncate", "one.jsonl", "two.jsonl"), "unexpected extra argument"),
        (("truncate", "--tokenizer", "none"), "unknown tokenizer"),
        (("prune", "--keep-turns", "0"), "--keep-turns must be at least 1"),
        (("compact", "--layers", "squeeze"), "unknown layer squeeze"),
        (("compact", "--layers", ","), "none given"),
        (("resolve", "--state", "-"), "cannot both be standard input"),
        (("resolve", "--policy", "none.toml"), "the policy cannot be read"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_2(arguments, says, here, tmp_path, monkeypatch):
    (tmp_path / "s.jsonl").write_bytes(START + END)
    monkeypatch.chdir(tmp_path)
    with Path("s.jsonl").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        code, out, complaint = here(*arguments)
    assert (code, out) == (2, b"")
    assert says in complaint.decode()
    assert re.fullmatch(rb"compactctl: [^\n]+\n", complaint)


def test_a_bug_is_one_line_without_content(here, tmp_path, monkeypatch):
    path = tmp_path / "s.jsonl"
    path.write_bytes(START + END)

    def fail(*_, **__):
        raise ValueError("the secret of the transcript")

    monkeypatch.setattr("compactctl.pipeline.run", fail)
    code, out, complaint = here("truncate", *CHARS, path)
    assert (code, out) == (70, b"")
    assert re.fullmatch(
        rb"compactctl: internal error: ValueError in test_hostile.py, line \d+; please report it\n",
        complaint,
    )


@pytest.mark.parametrize("names", [(), ("gone",)])
def test_what_the_system_refuses_is_not_taken_for_standard_output(
    here, tmp_path, monkeypatch, names
):
    path = tmp_path / "s.jsonl"
    path.write_bytes(START + END)

    def fail(*_, **__):
        raise FileNotFoundError(2, "No such file or directory", *names)

    monkeypatch.setattr("compactctl.pipeline.run", fail)
    code, out, complaint = here("truncate", *CHARS, path)
    assert (code, out) == (3, b"")
    where = "".join(f"{name}: " for name in names)
    assert complaint.decode() == f"compactctl: {where}No such file or directory\n"


@pytest.mark.parametrize("stage", ["validate", "truncate"])
def test_a_format_that_no_line_has_is_told(tmp_path, stage):
    (tmp_path / "s.jsonl").write_bytes(lines(USER, ANSWER))
    done = run(stage, tmp_path / "s.jsonl", "--format", "codex", "-o", "-")
    assert (done.returncode, done.stdout) == (0, lines(USER, ANSWER))
    assert b"s.jsonl: warning: no message in it, read as codex\n" in done.stderr
    assert b"warning" not in run(stage, tmp_path / "s.jsonl", "-o", "-").stderr
