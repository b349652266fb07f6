"""The newer options of compact: window, emergency form, floor, slim, stores."""

import json
import re
import subprocess

import pytest
from helpers.shell import ANSWER, CHARS, LOG, USER, call, lines, refused, result, said

from compactctl import cli
from compactctl.durable.resolver import SourcePointerResolver
from compactctl.rules.check import problems
from compactctl.transcript import loading


def session(many):
    """A request and so many long commands."""
    talk = [USER]
    for number in range(many):
        talk += [call(f"toolu_{number}", command=f"make step{number}")]
        talk += [result(f"toolu_{number}", LOG)]
    return lines(*talk, ANSWER)


LONG = session(10)


@pytest.fixture
def here(capfdbinary, tmp_path_factory):
    """Run a stage in this process: what ``run`` gives, many times as fast."""
    path = tmp_path_factory.mktemp("in") / "s.jsonl"

    def run_here(*arguments, stdin):
        path.write_bytes(stdin)
        capfdbinary.readouterr()
        code = cli.run([arguments[0], str(path), *map(str, arguments[1:])])
        return subprocess.CompletedProcess(arguments, code, *capfdbinary.readouterr())

    return run_here


@pytest.fixture
def compact(here):
    """Run compact on ``stdin``."""
    return lambda *options, stdin=LONG: here("compact", *CHARS, *options, stdin=stdin)


def tokens(done):
    total = said(done).splitlines()[-1]
    return int(
        re.search(r"(?:→ )?([\d,]+) tokens", total.partition("→")[2] or total)[1].replace(",", "")
    )


def records(done):
    assert done.returncode == 0, said(done)
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_sendable(written):
    found = loading.load(written.splitlines(keepends=True), "test", None)
    return not [p for p in problems(found.messages, "anthropic") if p.severity == "error"]


def test_a_window_leaves_its_reserve(compact):
    done = compact("--window", "40000", "--reserve", "20000")
    assert done.returncode == 0
    assert tokens(done) <= 20_000
    assert is_sendable(done.stdout)


def test_a_window_that_is_wide_enough_changes_nothing(compact):
    done = compact("--window", "200000")
    assert done.stdout == LONG
    assert "already below the soft limit" in said(done)


def test_a_view_as_large_as_what_is_usable_fits(compact):
    size = tokens(compact("--window", "200000"))
    assert compact("--window", str(size + 9), "--reserve", "9").stdout == LONG
    assert compact("--window", str(size + 8), "--reserve", "9").stdout != LONG


def test_a_window_is_the_hard_limit(compact):
    text = refused(compact("--window", "60", "--reserve", "10", "--layers", "dedup"), 4)
    assert "the hard limit is 60" in text


@pytest.mark.parametrize(
    "options",
    [
        ("--window", "100", "--reserve", "100"),
        ("--window", "0", "--reserve", "0"),
        ("--window", "-5"),
        ("--window", "100", "--reserve", "-1"),
        ("--window", "10000"),
        ("--layers", "truncate,shrink"),
        ("--layers", ""),
        ("--tool", "Bash=middle", "--soft-limit", "10"),
        ("--tool", "Bash", "--soft-limit", "10"),
        ("--read-tool", "fetch", "--soft-limit", "10"),
        ("--window", "20000", "--soft-limit", "1000"),
        ("--window", "20000", "--hard-limit", "5"),
        ("--reserve", "2000"),
        # A layer refuses these although the session never comes to it.
        ("--tool", "Bash"),
        ("--read-tool", "fetch"),
        ("--max-tokens", "1"),
        ("--max-summary-tokens", "1"),
        ("--keep-turns", "0"),
        ("--keep-turns", "2", "--prune-keep-messages", "3"),
        ("--prune-mode", "snip", "--head", "60"),
        # What only a run over many files does.
        ("--resume",),
        ("--engine", "dask", "--scheduler", "tcp://127.0.0.1:1"),
        ("--file-timeout", "1"),
        ("--max-memory", "500"),
    ],
)
def test_options_that_can_not_be_are_usage_errors(compact, options):
    refused(compact(*options), 2)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--soft-limit", "200", "--hard-limit", "100"), "--soft-limit (200) must not be above"),
        (
            ("--hard-limit", "70000", "--soft-limit", "80000"),
            "--soft-limit (80,000) must not be above --hard-limit (70,000)",
        ),
        (("--soft-limit", "-1"), "must be at least 0"),
        (("--hard-limit", "-1", "--reactive"), "must be at least 0"),
        (("--reactive", "--layers", "prune"), "give it or --layers"),
        (("--reactive", "--layers", "truncate,dedup,prune,summarize"), "give it or --layers"),
        (("--keep-turns", "3", "--prune-keep-messages", "9"), "give only one of --keep-turns"),
        (("--keep-turns", "6", "--keep-tokens", "9"), "give only one of --keep-turns"),
        (("--layers", "dedup", "--keep-turns", "3"), "--keep-turns belongs to prune, which"),
        (("--layers", "dedup", "--max-tokens", "90"), "--max-tokens belongs to truncate, which"),
        (("--layers", "dedup", "--artifacts", "x"), "--artifacts belongs to truncate and"),
        (("--layers", "prune", "--artifacts", "x"), "--artifacts belongs to truncate and"),
        (("--reactive", "--stale"), "--stale belongs to dedup, which --reactive does not run"),
        (("--reactive", "--soft-limit", "9"), "--soft-limit does not belong to --reactive"),
        (("--reactive", "--summarize-keep-messages", "9"), "does not belong to --reactive"),
        (("--prune-mode", "snip", "--keep-turns", "3"), "--keep-turns belongs to --mode drop"),
        (("--prune-mode", "clear", "--head", "3"), "--head belongs to --mode snip"),
    ],
)
def test_options_that_contradict_each_other_are_usage_errors(compact, options, what):
    assert what in refused(compact(*options), 2)
    assert what in refused(compact(*options, stdin=b""), 2)  # before anything is read


@pytest.mark.parametrize(
    "options",
    [
        ("--soft-limit", "90000", "--hard-limit", "90000"),
        ("--reactive", "--hard-limit", "70000"),
        ("--keep-turns", "3"),
        ("--layers", "dedup,prune", "--keep-turns", "3", "--stale"),
        ("--layers", "prune", "--prune-mode", "snip", "--head", "0"),
        ("--reactive", "--max-summary-tokens", "300"),
    ],
)
def test_options_that_agree_are_none(compact, options):
    assert compact(*options).returncode == 0


def test_the_floor_is_stated(compact):
    done = compact("--soft-limit", "200", "--layers", "truncate,prune")
    assert done.returncode == 0
    floor = tokens(done)
    assert floor >= 200
    assert f"cannot reach 200: the floor is {floor:,}" in said(done)


def test_no_floor_is_stated_when_the_limit_is_reached(compact):
    done = compact("--soft-limit", "20000")
    assert done.returncode == 0
    assert "floor" not in said(done)


def test_exit_4_names_tokens_limit_and_layers_and_no_content(compact):
    options = ("--soft-limit", "100", "--hard-limit", "150", "--layers", "truncate,prune")
    text = refused(compact(*options), 4)
    assert re.search(r"still [\d,]+ tokens \(from [\d,]+\) after truncate, prune;", text)
    assert "the hard limit is 150" in text
    assert "step" not in text


def test_the_emergency_form_keeps_the_newest_messages_word_for_word(compact):
    done = compact("--reactive")
    kept = records(done)
    given = [json.loads(line) for line in LONG.splitlines()]
    assert kept[-5:] == given[-5:]
    assert "summarize" in said(done)
    assert tokens(done) < tokens(compact("--window", "200000"))
    assert is_sendable(done.stdout)


def test_the_emergency_form_of_a_short_view_keeps_all_of_it(compact):
    short = lines(USER, call("toolu_1"), result("toolu_1", LOG), ANSWER)
    done = compact("--reactive", stdin=short)
    assert (done.returncode, done.stdout) == (0, short)


def test_the_emergency_form_ends_at_the_hard_limit_too(compact):
    refused(compact("--reactive", "--hard-limit", "100"), 4)


def test_a_second_run_does_nothing(compact):
    once = compact("--soft-limit", "4000")
    again = compact("--soft-limit", "4000", stdin=once.stdout)
    assert again.stdout == once.stdout
    assert is_sendable(once.stdout)


def entry(uuid, parent, kind, **more):
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "cwd": "/w"} | more


CODE = lines(
    entry("u1", None, "user", message={"role": "user", "content": "Go."}),
    entry(
        "a1",
        "u1",
        "assistant",
        message={
            "id": "m1",
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}],
        },
    ),
    entry("p1", "a1", "progress", data={"output": "x" * 500}),
    entry(
        "u2",
        "p1",
        "user",
        message={
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "fine"}],
        },
        toolUseResult={"stdout": "fine"},
    ),
    entry(
        "a2",
        "u2",
        "assistant",
        message={"id": "m2", "role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ),
)


def test_slim_drops_copies_and_re_parents(compact):
    done = compact("--slim", stdin=CODE)
    made = records(done)
    assert [record["uuid"] for record in made] == ["u1", "a1", "u2", "a2"]
    assert [record["parentUuid"] for record in made] == [None, "u1", "a1", "u2"]
    assert not any("toolUseResult" in record for record in made)
    assert re.search(r"slim: [\d,]+ → [\d,]+ bytes \(−", said(done))
    assert is_sendable(done.stdout)


def test_slim_leaves_the_tokens_as_they_were(compact):
    plain, slim = compact(stdin=CODE), compact("--slim", stdin=CODE)
    assert plain.stdout == CODE
    assert said(slim).splitlines()[0] == said(plain).splitlines()[0]


def test_slim_twice_is_slim_once(compact):
    once = compact("--slim", stdin=CODE).stdout
    assert compact("--slim", stdin=once).stdout == once


def test_slim_is_not_the_default(compact):
    assert compact(stdin=CODE).stdout == CODE


def test_artifacts_are_kept_for_what_truncate_cuts(compact, tmp_path):
    done = compact(
        "--layers", "truncate", "--soft-limit", "1", "--max-tokens", "300", "--artifacts", tmp_path
    )
    assert done.returncode == 0
    found = re.findall(r"artifact:[^\s\]\"\\]+", done.stdout.decode())
    assert len(found) == 10
    (pointer,) = set(found)
    assert SourcePointerResolver(artifact_root=tmp_path).resolve(pointer).status == "available"
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert path.read_text() == LOG


def test_a_symlinked_session_folder_is_refused_and_nothing_is_written(tmp_path, here):
    first = tmp_path / "first"
    options = ("truncate", *CHARS, "--max-tokens", "300", "--artifacts")
    assert here(*options, first, stdin=LONG).returncode == 0
    (folder,) = first.iterdir()
    second = tmp_path / "second"
    second.mkdir()
    (second / folder.name).symlink_to(tmp_path)
    refused(here(*options, second, stdin=LONG), 3)


def test_snip_points_to_the_archive(tmp_path, here):
    options = ("prune", *CHARS, "--mode", "snip", "--max-messages", "10", "--archive", tmp_path)
    done = here(*options, stdin=LONG)
    (pointer,) = set(re.findall(r"artifact:[^\s\]\"\\]+", done.stdout.decode().replace(".]", "]")))
    assert SourcePointerResolver(artifact_root=tmp_path).resolve(pointer).status == "available"
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert path.read_bytes() == LONG
    again = here(*options, stdin=done.stdout)
    assert again.stdout == done.stdout
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [path]


def test_options_of_one_layer_do_not_reach_another(compact):
    done = compact("--layers", "prune", "--soft-limit", "1", "--prune-mode", "clear")
    assert len(records(done)) == len(LONG.splitlines())
    assert done.stdout.count(b"tokens cleared") == 7
    stub = compact("--layers", "dedup", "--soft-limit", "1", "--dedup-mode", "stub")
    assert stub.stdout == LONG


def test_a_hard_limit_alone_brings_the_soft_one_down(compact):
    assert compact("--hard-limit", "70000").returncode == 0
