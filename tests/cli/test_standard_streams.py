"""Standard streams that are a terminal, closed or full."""

import json
import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from helpers.shell import (
    ANSWER,
    CHARS,
    COMPACTCTL,
    CUT,
    ENVIRONMENT,
    LONG,
    USER,
    call,
    fact,
    lines,
    refused,
    result,
    run,
    said,
)

NOTHING_TO_DO = lines(USER, ANSWER)
FULL = Path("/dev/full")

needs_full_disk = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")


def on_terminal(*arguments, stdin):
    """Run a command with its standard output on a terminal: (what it shows, the process)."""
    ours, its = pty.openpty()
    try:
        done = run(*arguments, stdin=stdin, stdout=its)
    finally:
        os.close(its)
    shown = b""
    try:
        while piece := os.read(ours, 1 << 16):
            shown += piece
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(ours)
    return shown, done


@pytest.mark.parametrize("command", [CUT, ("compact", *CHARS), ("resolve",)])
def test_a_terminal_gets_a_report_and_a_hint_but_no_transcript(command):
    shown, done = on_terminal(*command, stdin=NOTHING_TO_DO)
    assert done.returncode == 0
    assert not shown
    assert said(done).endswith("nothing written (a dry run); -o FILE writes it, -o - prints it\n")


def test_a_terminal_gets_the_transcript_when_forced():
    shown, done = on_terminal(*CUT, "-o", "-", stdin=NOTHING_TO_DO)
    assert shown.replace(b"\r\n", b"\n") == NOTHING_TO_DO
    assert "dry run" not in said(done)


def test_what_is_no_transcript_is_shown_on_a_terminal():
    assert b"fact_id" in on_terminal("render", stdin=lines(fact()))[0]
    assert b"transcript_missing" in on_terminal("resolve", "--json", stdin=lines(fact()))[0]


HOSTILE = "\x9b2J\u202etxt.exe\u2066\u200b\U000e0041\x7f"


def hostile_session():
    """A session whose tool, call id, path and file of a fact would act on a terminal."""
    answered, open_ = f"toolu_1{HOSTILE}", f"toolu_2{HOSTILE}"
    return lines(
        USER,
        call(answered, f"Read{HOSTILE}"),
        result(answered),
        call(open_, f"Read{HOSTILE}"),
        USER,
        fact(pointer=f"artifact:{HOSTILE}:x"),
    )


@pytest.mark.parametrize(
    "command",
    [("validate", "--json"), ("stats", "--json", *CHARS), ("resolve", "--json")],
    ids=lambda command: command[0],
)
def test_json_on_a_terminal_says_the_same_and_cannot_act_on_it(command):
    shown, done = on_terminal(*command, stdin=hostile_session())
    shown = shown.replace(b"\r\n", b"\n")
    piped = run(*command, stdin=hostile_session())
    assert done.returncode == piped.returncode
    assert "\u202e".encode() in piped.stdout  # a program gets the text itself
    assert not [char for char in HOSTILE if char.encode() in shown if not char.isascii()]
    assert b"\\u202e" in shown
    assert b"\\u009b" in shown
    both = [list(map(json.loads, text.splitlines())) for text in (shown, piped.stdout)]
    assert both[0] == both[1]


def test_json_that_is_harmless_is_on_a_terminal_what_it_is_in_a_pipe():
    shown, _ = on_terminal("formats", "--json", stdin=b"")
    assert shown.replace(b"\r\n", b"\n") == run("formats", "--json").stdout


def test_reading_from_a_terminal_says_so():
    ours, its = pty.openpty()
    os.write(ours, b"\x04")  # end of input
    done = run(*CUT, stdin=its)
    os.close(ours)
    os.close(its)
    assert done.returncode == 3
    assert said(done).startswith("compactctl: reading from the terminal")


@needs_full_disk
def test_a_full_disk_is_one_line_and_exit_3():
    with FULL.open("wb") as full:
        for command in (CUT, ("resolve",), ("--version",), ("--help",)):
            done = run(*command, stdin=LONG, stdout=full)
            assert done.returncode == 3
            assert re.fullmatch(r"compactctl: standard output cannot be written: .+\n", said(done))


def closed(number, *arguments, stdin):
    """Run a command that starts with one of its standard streams closed."""
    script = f"exec {' '.join(map(shlex.quote, [*COMPACTCTL, *arguments]))} {number}>&-"
    return subprocess.run(
        ["bash", "-c", script],
        input=stdin,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_closed_standard_output_is_one_line_and_exit_3():
    assert "standard output is closed" in refused(closed(1, *CUT, stdin=LONG), 3)


def test_closed_standard_input_is_one_line_and_exit_3():
    assert "standard input is closed" in refused(closed(0, *CUT, stdin=b""), 3)


def test_closed_standard_error_loses_the_report_and_nothing_else(tmp_path):
    expected = run(*CUT, stdin=LONG).stdout
    done = closed(2, *CUT, stdin=LONG)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")
    output = tmp_path / "out.jsonl"
    assert closed(2, *CUT, "-o", str(output), stdin=LONG).returncode == 0
    assert output.read_bytes() == expected
    assert closed(2, *CUT, stdin=b"").returncode == 3


@needs_full_disk
def test_a_standard_error_that_cannot_be_written_loses_the_report_and_nothing_else():
    with FULL.open("wb") as full:
        done = run(*CUT, stdin=LONG, stderr=full)
    assert (done.returncode, done.stdout) == (0, run(*CUT, stdin=LONG).stdout)
