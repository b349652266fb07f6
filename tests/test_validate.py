"""``validate`` at the shell: what it prints, what it passes on, and how it ends."""

from __future__ import annotations

import contextlib
import gzip
import json
import os

import pytest

from compactctl import cli
from compactctl.rules import BY_ID, FILE_RULES, RULE_MODULES, RULES
from compactctl.rules.rule import PROFILES


def lines(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def call(call_id):
    block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {}}
    return {"role": "assistant", "content": [block]}


USER = {"role": "user", "content": "u"}
ANSWER = {"role": "assistant", "content": "a"}
VALID = lines(USER, ANSWER)
INVALID = lines(USER, call("toolu_1"), USER)
OPEN = lines(USER, call("toolu_1"))
ODD = b"\xef\xbb\xbf" + VALID


@pytest.fixture
def run(capfdbinary):
    """Run ``compactctl validate`` in this process: (exit code, standard output, standard error)."""

    def validate(*arguments):
        code = cli.run(["validate", *map(str, arguments)])
        shown = capfdbinary.readouterr()
        return code, shown.out, shown.err.decode()

    return validate


@pytest.fixture
def folder(tmp_path):
    """A folder with three transcripts that are read, and what is none."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "valid.jsonl").write_bytes(VALID)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(INVALID))
    (tmp_path / "c.jsonl").write_bytes(OPEN)
    (tmp_path / "notes.txt").write_text("no transcript")
    return tmp_path


@pytest.fixture
def file(tmp_path):
    """Write a transcript: its path."""

    def write(content, name="s.jsonl"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def test_a_valid_transcript_passes_unchanged(run, file):
    path = file(VALID)
    code, out, err = run(path)
    assert (code, out) == (0, VALID)
    assert (
        err == f"validate: {path}: valid by anthropic; messages, 2 entries, 2 messages, 0 calls\n"
    )


def test_an_invalid_transcript_does_not_pass(run, file):
    path = file(INVALID)
    code, out, err = run(path)
    assert (code, out) == (1, b"")
    verdict, finding = err.splitlines()
    assert verdict.startswith(f"validate: {path}: invalid by anthropic (1 error); ")
    assert finding == (
        f"{path}:2: error PAIR-01 toolu_1: a call has no result; "
        "run `compactctl repair`, or add a result for it"
    )


def test_a_torn_line_in_the_middle_fails_it(run, file):
    code, out, err = run(file(lines(USER) + b'{"role":"assis\n' + VALID))
    assert (code, out) == (1, b"")
    assert ":2: error FILE-02: " in err


def test_why_a_line_is_no_json_is_said_once(run, file):
    for damage in (b'{"a":"', b'{"a":"\x01"}'):
        _, _, err = run(file(VALID + damage + b"\n"))
        assert " at character " in err
        assert " at at " not in err


def test_a_warning_passes_but_not_under_strict(run, file):
    path = file(ODD)
    assert run(path)[:2] == (0, ODD)
    assert run(path, "--strict")[:2] == (1, b"")


def test_an_open_tail_passes_but_is_not_sendable(run, file):
    path = file(OPEN)
    assert run(path)[:2] == (0, OPEN)
    assert run(path, "--sendable")[:2] == (1, b"")
    assert run(path, "--profile", "core")[:2] == (1, b"")


def test_check_writes_no_transcript(run, file):
    code, out, err = run(file(VALID), "--check")
    assert (code, out) == (0, b"")
    assert "valid by anthropic" in err


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_can_be_asked_for(run, file, profile):
    code, _, err = run(file(VALID), "--check", "--profile", profile)
    assert code == 0
    assert f"valid by {profile}" in err


def test_the_profile_follows_the_format(run, file):
    said = lines(USER, {"role": "assistant", "content": None, "refusal": "no"}, {"role": "tool"})
    assert "by openai-chat" in run(file(said), "--check")[2]


def test_an_unknown_profile_is_a_usage_error(run, file):
    code, out, err = run(file(VALID), "--profile", "nonsense")
    assert (code, out) == (2, b"")
    assert "unknown profile 'nonsense'; choose one of core, anthropic" in err


def test_json_gives_findings_and_nothing_else(run, file):
    path = file(INVALID)
    code, out, _ = run(path, "--json", "-q")
    assert code == 1
    (finding,) = map(json.loads, out.splitlines())
    assert finding == {
        "file": str(path),
        "line": 2,
        "message": 1,
        "rule": "PAIR-01",
        "severity": "error",
        "call_id": "toolu_1",
        "text": "a call has no result",
        "mend": "run `compactctl repair`, or add a result for it",
    }
    assert run(file(VALID), "--json")[1] == b""


def test_json_findings_of_the_file_have_no_message(run, file):
    (finding,) = map(json.loads, run(file(ODD), "--json")[1].splitlines())
    assert (finding["rule"], finding["line"], finding["message"]) == ("FILE-05", 1, None)


def test_quiet_says_only_what_fails(run, file):
    assert run(file(VALID), "-q", "--check") == (0, b"", "")
    assert run(file(OPEN), "-q", "--check") == (0, b"", "")
    code, _, err = run(file(INVALID), "-q")
    assert code == 1
    assert err.count("\n") == 1
    assert "PAIR-01" in err
    assert run(file(OPEN), "-q", "--strict")[2].count("TAIL-01") == 1


def test_a_file_name_that_is_no_text_is_no_trouble(run, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.jsonl"
    with open(path, "wb") as file:  # noqa: PTH123 (bytes are no path object)
        file.write(INVALID)
    code, out, err = run(os.fsdecode(path), "--json")
    assert code == 1
    assert json.loads(out)["file"] == os.fsdecode(path)
    assert "\\udcff.jsonl" in err


def test_a_long_id_is_cut_for_people(run, file):
    path = file(lines(USER, call("x" * 5000), USER))
    assert len(run(path)[2]) < 1000
    assert json.loads(run(path, "--json")[1])["call_id"] == "x" * 5000


# --- many files


def test_a_folder_is_walked_in_order(run, folder):
    code, out, err = run(folder)
    assert (code, out) == (1, b"")
    said = [line.replace(str(folder), "") for line in err.splitlines()]
    assert [line.split(":")[1] for line in said if line.startswith("validate: /")] == [
        " /a.jsonl.gz",
        " /b/valid.jsonl",
        " /c.jsonl",
    ]
    assert said[1].startswith("/a.jsonl.gz:2: error PAIR-01 toolu_1: ")
    assert said[-2].startswith("/c.jsonl:2: warning TAIL-01 toolu_1: ")
    assert said[-1] == "validate: 3 files: 2 valid, 1 invalid (1 error, 1 warning)"


def test_several_files_are_only_checked(run, file):
    one, two = file(VALID, "one.jsonl"), file(VALID, "two.jsonl")
    code, out, err = run(one, two)
    assert (code, out) == (0, b"")
    assert err.splitlines()[-1] == "validate: 2 files: 2 valid"


def test_json_of_several_files_names_each(run, folder):
    code, out, err = run(folder, "--json", "-q")
    assert code == 1
    assert err == ""
    found = [json.loads(line) for line in out.splitlines()]
    assert [(os.path.basename(f["file"]), f["rule"]) for f in found] == [  # noqa: PTH119
        ("a.jsonl.gz", "PAIR-01"),
        ("c.jsonl", "TAIL-01"),
    ]


def test_a_file_that_cannot_be_read_is_told_and_the_rest_is_judged(run, folder):
    (folder / "b" / "none.jsonl").write_bytes(b"")
    code, _, err = run(folder / "b", folder / "missing.jsonl")
    assert code == 3
    assert "none.jsonl: the input is empty" in err
    assert "missing.jsonl: cannot be read: No such file" in err
    assert err.splitlines()[-1] == "validate: 3 files: 1 valid, 2 unreadable"
    assert run(folder, folder / "missing.jsonl")[0] == 1  # what is invalid weighs more


def test_a_file_that_goes_while_its_folder_is_walked_is_told(run, folder, monkeypatch):
    scan = os.scandir

    def scan_then_unlink(path):
        with scan(path) as entries:
            found = list(entries)
        (folder / "c.jsonl").unlink(missing_ok=True)
        return contextlib.nullcontext(found)

    monkeypatch.setattr(os, "scandir", scan_then_unlink)
    code, _, err = run(folder)
    assert code == 1
    assert f"compactctl: {folder}/c.jsonl: cannot be read: No such file" in err
    assert "3 files" in err.splitlines()[-1]


def test_a_pipe_in_a_folder_does_not_hold_it_up(run, folder):
    os.mkfifo(folder / "pipe.jsonl")
    code, _, err = run(folder)
    assert code == 1
    assert f"compactctl: {folder}/pipe.jsonl: is not a regular file\n" in err


def test_a_folder_without_a_transcript_is_told(run, tmp_path):
    (tmp_path / "empty").mkdir()
    code, out, err = run(tmp_path / "empty")
    assert (code, out) == (3, b"")
    assert "no transcript" in err


def test_links_in_a_folder_are_not_followed(run, folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.jsonl").write_bytes(INVALID)
    (folder / "b" / "link").symlink_to(outside)
    assert "secret" not in run(folder)[2]


def test_links_to_files_in_a_folder_are_not_followed_but_named(run, tmp_path):
    (tmp_path / "outside.jsonl").write_bytes(INVALID)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    (tmp_path / "in/loop.jsonl").symlink_to("loop.jsonl")
    assert run(tmp_path / "in")[0] == 3  # nothing in it was checked
    (tmp_path / "in/own.jsonl").write_bytes(VALID)
    code, _, err = run(tmp_path / "in")
    assert code == 0
    skipped = "skipped: is a symbolic link; name the file that it points to"
    assert [line for line in err.splitlines() if "skipped" in line] == [
        f"{tmp_path}/in/link.jsonl: {skipped}",
        f"{tmp_path}/in/loop.jsonl: {skipped}",
    ]
    assert "1 file: 1 valid" in err


def test_a_link_that_is_named_is_the_users_choice(run, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/own.jsonl").write_bytes(VALID)
    (tmp_path / "folder").symlink_to("in")
    (tmp_path / "link.jsonl").symlink_to("in/own.jsonl")
    assert run(tmp_path / "folder")[0] == run(tmp_path / "link.jsonl", "--check")[0] == 0


def test_one_file_alone_that_cannot_be_read_is_one_line(run, tmp_path):
    code, out, err = run(tmp_path / "missing.jsonl")
    assert (code, out) == (3, b"")
    assert err.startswith("compactctl: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("option", [["--check"], ["--json"], ["--rules"], ["-"]])
def test_o_goes_with_nothing_that_writes_no_transcript(run, file, tmp_path, option):
    code, out, err = run(file(VALID), *option, "-o", tmp_path / "out.jsonl")
    assert (code, out) == (2, b"")
    assert "-o" in err
    assert not (tmp_path / "out.jsonl").exists()


def test_o_writes_what_is_valid_and_nothing_else(run, file, tmp_path):
    out = tmp_path / "out.jsonl"
    assert run(file(INVALID), "-o", out)[0] == 1
    assert not out.exists()
    assert run(file(VALID), "-o", out)[0] == 0
    assert out.read_bytes() == VALID


# --- long lists


def test_of_one_rule_only_so_many_are_listed(run, file):
    path = file(lines(USER, *(call(f"toolu_{n}") for n in range(30)), USER) + b"[]\n")
    listed = run(path, "--check")[2].splitlines()
    assert sum("PAIR-01" in line for line in listed) == 21
    assert listed[-1] == f"{path}: … and 10 more PAIR-01 (-v lists all)"
    assert any("FILE-10" in line for line in listed)
    assert sum("PAIR-01" in line for line in run(path, "--check", "-v")[2].splitlines()) == 30
    assert len(run(path, "--json")[1].splitlines()) == 31


# --- the table of rules


def test_rules_prints_every_rule(run):
    code, out, err = run("--rules")
    assert (code, err) == (0, "")
    text = out.decode()
    for rule in BY_ID.values():
        assert text.count(f"{rule.id:10}") == 1
        assert " ".join(rule.says.split()) in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def test_rules_as_json(run):
    code, out, _ = run("--rules", "--json")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["id"] for row in rows] == [rule.id for rule in (*RULES, *FILE_RULES)]
    tail = next(row for row in rows if row["id"] == "TAIL-01")
    assert tail == {
        "id": "TAIL-01",
        "severity": "warning",
        "raised": "error",
        "when": "--sendable or core",
        "only_sendable": False,
        "profiles": list(PROFILES),
        "breaks_pairs": False,
        "says": "the transcript ends on calls without results (an open tail)",
        "mend": "run `compactctl repair`, or resume the session",
        "provider": tail["provider"],
    }


def test_ids_are_unique_and_in_the_module_that_finds_them():
    every = [rule.id for rule in (*RULES, *FILE_RULES)]
    assert len(every) == len(set(every)) == len(BY_ID)
    assert all(hasattr(module, "find") for module in RULE_MODULES)


@pytest.mark.parametrize("rule", BY_ID.values(), ids=lambda rule: rule.id)
def test_a_row_is_complete(rule):
    assert rule.says
    assert rule.fix
    assert rule.says[0].islower()
    assert not rule.says.endswith(".")
    assert set(rule.provider) <= set(PROFILES) >= rule.profiles
    assert rule.raised != rule.severity


def test_the_report_counts_findings_and_holds_no_content(run, file, tmp_path):
    report = tmp_path / "report.jsonl"
    run(file(OPEN), "--report", report, "--tokenizer", "chars")
    entry = json.loads(report.read_bytes())
    assert entry["stage"] == "validate"
    assert entry["warnings"] == ["TAIL-01 line 2"]
    assert entry["tokens_before"] == entry["tokens_after"] > 0
