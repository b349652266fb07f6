"""``pending``: a state file of which every line stays, and what is added is a lawful step."""

import json

import pytest
from helpers.shell import fact, lines, refused, run, said

TIME = "2026-01-01T00:00:00Z"
LATER = "2026-01-02T00:00:00Z"
NEW = ("--source", "transcript:s1:2")


def item(name="p1", **more):
    return {
        "type": "compactctl.pending_item",
        "item_id": name,
        "description": "Migrate the table.",
        "source_pointer": "transcript:s1:1",
        "last_confirmed_at": TIME,
        "status": "open",
        "reason": None,
    } | more


BLOCKED = item("p2", status="blocked", reason="no key")


@pytest.fixture
def state(tmp_path):
    path = tmp_path / "state.jsonl"
    path.write_bytes(lines(fact()).replace(b": ", b" :  ") + lines(item(), BLOCKED).rstrip())
    return path


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        (("done", "p1", *NEW), {"status": "done"}),
        (("block", "p1", "--reason", "no key", *NEW), {"status": "blocked", "reason": "no key"}),
        (("done", "p2", *NEW), {"status": "done", "reason": None}),
        (("reopen", "p2", *NEW), {"status": "open", "reason": None}),
    ],
)
def test_a_step_is_one_line_more(state, arguments, changes):
    done = run("pending", state, *arguments, "--confirmed-at", LATER)
    assert done.returncode == 0, said(done)
    before = state.read_bytes()
    assert done.stdout.startswith(before + b"\n")
    after = json.loads(done.stdout[len(before) + 1 :])
    old = item() if arguments[1] == "p1" else BLOCKED
    new = {"last_confirmed_at": LATER, "source_pointer": "transcript:s1:2"}
    assert after == old | new | changes


def test_reopening_needs_no_source(state):
    done = run("pending", state, "reopen", "p2", "--confirmed-at", LATER)
    assert json.loads(done.stdout.splitlines()[-1])["source_pointer"] == "transcript:s1:1"


def test_the_file_itself_changes_only_in_place_and_the_old_one_stays(state):
    before = state.read_bytes()
    arguments = ("pending", state, "done", "p1", *NEW, "--confirmed-at", LATER)
    shown = run(*arguments).stdout
    assert state.read_bytes() == before
    done = run(*arguments, "--in-place")
    assert (done.returncode, done.stdout) == (0, b"")
    assert state.read_bytes() == shown
    assert state.with_name("state.jsonl.bak").read_bytes() == before
    assert said(done) == "pending: p1: open → done\n"


def test_it_goes_to_another_file(state, tmp_path):
    output = tmp_path / "new.jsonl"
    run("pending", state, "done", "p1", *NEW, "--confirmed-at", LATER, "-o", output)
    assert output.read_bytes().startswith(state.read_bytes())
    refused(run("pending", state, "done", "p1", *NEW, "--confirmed-at", LATER, "-o", state), 2)


def test_line_ends_follow_the_file(state):
    state.write_bytes(lines(item()).replace(b"\n", b"\r\n"))
    done = run("pending", state, "done", "p1", *NEW, "--confirmed-at", LATER)
    assert done.stdout.count(b"\r\n") == done.stdout.count(b"\n") == 2


def test_a_whole_life_is_kept_and_the_last_record_counts(state):
    steps = [
        ("block", "p1", "--reason", "no key", "--source", "transcript:s1:2"),
        ("reopen", "p1"),
        ("done", "p1", "--source", "transcript:s1:4"),
    ]
    for day, arguments in enumerate(steps, 2):
        time = f"2026-01-0{day}T00:00:00Z"
        done = run("pending", state, *arguments, "--confirmed-at", time, "--in-place")
        assert done.returncode == 0, said(done)
    assert state.read_bytes().count(b'"p1"') == 4
    shown = run("pending", state, "list").stdout.decode()
    assert [line.split()[:2] for line in shown.splitlines()] == [["done", "p1"], ["blocked", "p2"]]
    assert run("state", "check", state).returncode == 0
    rendered = run("render", state).stdout.decode()
    assert 'item_id="p1"; description="Migrate the table."; status=done' in rendered
    assert rendered.count('item_id="p1"') == 1


def test_the_time_is_taken_from_the_record_that_is_pointed_to(state, tmp_path):
    record = {"type": "message", "recorded_at": LATER, "role": "user", "content": "done"}
    (tmp_path / "s1.jsonl").write_bytes(lines(record, record))
    done = run("pending", state, "done", "p1", *NEW, "--transcripts", tmp_path)
    assert json.loads(done.stdout.splitlines()[-1])["last_confirmed_at"] == LATER


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("done", "p1", "--confirmed-at", LATER), 2, "done needs --source"),
        (("block", "p1", *NEW, "--confirmed-at", LATER), 2, "block needs --reason"),
        (("reopen", "p2"), 2, "reopen needs --confirmed-at"),
        (("done",), 2, "needs the ID"),
        (("list", "p1"), 2, "leave out ID"),
        (("done", "p1", *NEW), 1, "give --confirmed-at"),
        (("done", "p9", *NEW, "--confirmed-at", LATER), 1, "no pending item p9"),
        (("done", "p1", *NEW, "--confirmed-at", TIME), 1, "later than"),
        (("done", "p1", *NEW, "--confirmed-at", "2026-01-02"), 1, "with a zone"),
        (("done", "p1", "--source", "x y", "--confirmed-at", LATER), 1, "malformed_pointer"),
        (("reopen", "p1", "--confirmed-at", LATER), 1, "it is open already"),
        (("block", "p1", "--reason", " ", *NEW, "--confirmed-at", LATER), 1, "reason must be"),
    ],
)
def test_what_is_no_step_is_refused_in_one_line(state, arguments, code, why):
    before = state.read_bytes()
    assert why in refused(run("pending", state, *arguments, "--in-place"), code)
    assert state.read_bytes() == before


def test_a_source_that_is_looked_at_must_be_there(state, tmp_path):
    arguments = ("pending", state, "done", "p1", *NEW, "--confirmed-at", LATER)
    text = refused(run(*arguments, "--transcripts", tmp_path), 1)
    assert "transcript:s1:2 is missing (transcript_missing)" in text


def test_the_list_is_one_line_an_item_whatever_it_says(state):
    state.write_bytes(lines(item("p\x1b[2K", description="a\nopen  forged \x1b]8;;x\x07")))
    shown = run("pending", state).stdout
    assert shown.count(b"\n") == 1
    assert b"\x1b" not in shown
    listed = json.loads(run("pending", state, "list", "--json").stdout)
    assert listed["item_id"] == "p\x1b[2K"


def test_a_step_goes_through_a_stream_that_was_resolved_before_it(state):
    talk = lines({"role": "user", "content": "Go on."})
    first = run("resolve", "--state", state, stdin=talk).stdout
    run("pending", state, "done", "p1", *NEW, "--confirmed-at", LATER, "--in-place")
    assert b"belongs to no" not in run("render", stdin=first).stderr
    second = run("resolve", "--state", state, stdin=first)
    assert second.returncode == 0, said(second)
    rendered = run("render", stdin=second.stdout)
    assert rendered.returncode == 0, said(rendered)
    assert b'status=done; source="transcript:s1:2"; source_status=missing' in rendered.stdout
    assert run("resolve", "--state", state, stdin=second.stdout).stdout == second.stdout
