"""Content that once was lost: cut reads taken for whole ones, and what must stay but went."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.builders import (
    COUNTER,
    assistant,
    exchange,
    lines,
    load,
    prune,
    reading,
    result,
    user,
    view,
)

from compactctl import cli, formats, layers, pipeline
from compactctl.model import Block, Image
from compactctl.stats import stats

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
LONG = "\n".join(f"{n:>6}\tline {n} of a file that is long" for n in range(1, 200))
RULES = "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nnever push to main\n</INSTRUCTIONS>"
PLACE = "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"
TALK = [m for n in range(9) for m in (assistant(f"reply {n} " * 40), user(f"ask {n} " * 40))]
HARD = {
    "truncate": {"max_tokens": 60, "batch_tokens": 60},
    "dedup": {"stale": True},
    "prune": {"keep_turns": 1},
    "summarize": {"keep_messages": 1, "max_summary_tokens": 150},
}


def case(name):
    path = CASES / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared cases are not here")
    return path.read_bytes().splitlines(keepends=True)


def run(written, *names, options=HARD, protect=()):
    given = {name: options.get(name, {}) for name in names}
    return pipeline.run(load(written), names, given, COUNTER, protect=protect)


def said(result):
    return b"".join(result.written().chunks).decode()


def is_left(result, *call_ids):
    kept = {b.call_id for m in result.messages for b in m.blocks if b.kind == "call"}
    return kept.issuperset(call_ids)


@pytest.mark.parametrize(
    ("name", "stays"),
    [
        ("dedup-cut-read-pi", "r1"),
        ("dedup-cut-read-pi-bytes", "r1"),
        ("dedup-cut-read-editor", "r1"),
        ("dedup-cut-read-reminder", "r1"),
        ("dedup-cut-read-opencode", "r1"),
        ("dedup-failed-reread-openai", "r1"),
        ("c2340-partial-view-at-head", "toolu_p2"),
        ("c2301-bash-cat-persisted", "toolu_p1"),
    ],
)
def test_a_read_stays_that_the_later_one_does_not_show(name, stays):
    assert is_left(run(case(name), "dedup"), stays)
    assert is_left(run(case(name), "dedup", options={"dedup": {"mode": "stub"}}), stays)


def test_stats_promise_what_dedup_does():
    found = load(case("c2340-partial-view-at-head"))
    done = run(case("c2340-partial-view-at-head"), "dedup")
    assert stats(found, COUNTER).superseded_reads.count == len(done.steps[0].actions)


@pytest.mark.parametrize("name", ["openai", "events"])
def test_an_error_without_a_flag_supersedes_nothing(name):
    for known in ("x = 1", LONG):
        talk = [user("go"), *reading("a", known), *reading("b", "ENOENT: no such file, /w/a.py")]
        written = lines(*talk, assistant("so"), format_name=name)
        assert not run(written, "dedup").steps[0].actions
        written = lines(*talk[:-1], user(result("b", known)), assistant("so"), format_name=name)
        assert len(run(written, "dedup").steps[0].actions) == 1


@pytest.mark.parametrize(
    "name", ["summarize-loses-agents-md", "12-standing-rules-lost-by-summarize"]
)
def test_rules_and_environment_of_a_client_stay_in_every_layer(name):
    given = case(name)
    for names in (*((layer,) for layer in layers.ORDER), layers.ORDER):
        left = said(run(given, *names))
        for words in ("AGENTS.md instructions", "environment_context"):
            assert (words in left) == (words in b"".join(given).decode())


@pytest.mark.parametrize("name", formats.names())
@pytest.mark.parametrize("layer", layers.ORDER)
def test_what_a_client_told_once_and_what_is_protected_stays(name, layer):
    seen = [
        user(RULES, PLACE, "go"),
        *reading("a", LONG, path="/w/x.rules"),
        *TALK,
        assistant("so"),
    ]
    left = run(lines(*seen, format_name=name), layer, protect=["*.rules"]).messages
    texts = [b.text for m in left for b in m.blocks]
    results = [p.text for m in left for b in m.blocks for p in b.content]
    assert RULES in texts
    assert PLACE in texts
    assert LONG in results
    left = run(lines(*seen, format_name=name), layer).messages
    assert layer == "dedup" or LONG not in [
        p.text for m in left for b in m.blocks for p in b.content
    ]


def test_protected_files_stay_whole_in_every_mode_of_the_case():
    given = case("protect-not-enforced")
    every = [
        (("prune",), {"prune": {"keep_turns": 2}}),
        (("prune",), {"prune": {"mode": "clear", "keep_results": 0}}),
        (("prune",), {"prune": {"mode": "snip", "max_messages": 4, "head": 0}}),
        (layers.ORDER, HARD),
    ]
    for names, options in every:
        left = said(run(given, *names, options=options, protect=["*.py"]))
        assert "rule 79: never do 79" in left
        assert "/srv/a.py" in left


@pytest.mark.parametrize(
    "options", [{"keep_turns": 1}, {"mode": "snip", "max_messages": 4, "head": 1}]
)
def test_open_tasks_stay_with_what_was_said_of_them(options):
    tasks = [
        *exchange("t1", "Task #1 created successfully: a", tool="TaskCreate", subject="write it"),
        *exchange("t2", "Task #2 created successfully: b", tool="TaskCreate", subject="test it"),
        *exchange("u1", "Updated task #1", tool="TaskUpdate", taskId="1", status="completed"),
        *exchange("u2", "Updated task #2", tool="TaskUpdate", taskId="2", status="in_progress"),
    ]
    done = run(
        lines(user("go"), *tasks, *TALK, assistant("so")), "prune", options={"prune": options}
    )
    assert is_left(done, "t2", "u2")
    assert not is_left(done, "t1")
    assert not is_left(done, "u1")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("update_plan", {"plan": [{"step": "a", "status": "in_progress"}]}),
        ("update_todo_list", {"todos": "[x] write\n[ ] test"}),
        ("task_tracker", {"command": "plan", "task_list": [{"title": "a", "status": "todo"}]}),
    ],
)
def test_open_lists_of_other_agents_stay(tool, given):
    todo = exchange("t", "ok", tool=tool, **given)
    assert is_left(run(lines(user("go"), *todo, *TALK, assistant("so")), "prune"), "t")
    closed = json.loads(json.dumps(given).replace("[ ]", "[x]"))
    for key in ("plan", "task_list"):
        closed[key] = [{**item, "status": "completed"} for item in given.get(key, [])]
    gone = exchange("t", "ok", tool=tool, **closed)
    assert not is_left(run(lines(user("go"), *gone, *TALK, assistant("so")), "prune"), "t")


def test_the_case_of_tasks_keeps_the_open_ones():
    assert is_left(run(case("14-task-list"), "prune"), "toolu_e1", "toolu_e2", "toolu_f1")


CLEAR = {"prune": {"mode": "clear", "keep_results": 1}}


def test_old_screenshots_are_cleared_by_what_they_cost():
    (step,) = run(
        case("c25-cc-screenshots-clear"), "prune", options={"prune": {"mode": "clear"}}
    ).steps
    assert step.actions


@pytest.mark.parametrize("words", [(), ("taken",)])
def test_an_image_counts_for_clear_whatever_the_text_beside_it(words):
    image = Block("image", image=Image("image/png", 9, 1000, 1000))
    shots = [*exchange("a", *words, image, tool="shot"), *exchange("b", "ok")]
    once = prune(view(user("go"), *shots, assistant("so")), mode="clear", keep_results=1)
    assert [action.call_id for action in once.actions] == ["a"]
    (cleared,) = once.messages[2].blocks[0].content
    assert cleared.kind == "text"
    assert "image/png" in cleared.text
    assert not prune(view(*once.messages), mode="clear", keep_results=1).actions


def test_a_short_result_without_an_image_is_left_alone():
    short = [*exchange("a", "ok"), *exchange("b", "ok")]
    assert (
        not run(lines(user("go"), *short, assistant("so")), "prune", options=CLEAR).steps[0].actions
    )


@pytest.mark.parametrize("most", range(3, 12))
def test_a_second_snip_changes_nothing(most):
    options = {"prune": {"mode": "snip", "max_messages": most, "head": most % 3}}
    once = run(case("twice-prune"), "prune", options=options).written().lines()
    assert run(once, "prune", options=options).written().lines() == once


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--mode", "snip", "--keep-messages", "20"], "--keep-messages belongs to --mode drop"),
        (["--mode", "snip", "--keep-results", "2"], "--keep-results belongs to --mode clear"),
        (["--head", "2"], "--head belongs to --mode snip"),
        (["--max-messages", "9"], "--max-messages belongs to --mode snip"),
        (["--keep-results", "0"], "--keep-results belongs to --mode clear"),
        (["--mode", "clear", "--no-marker"], "--no-marker belongs to --mode drop and snip"),
        (["--mode", "clear", "--keep-turns", "2"], "--keep-turns belongs to --mode drop"),
        (["--artifacts", "x"], "--artifacts belongs to truncate and to prune --mode clear"),
    ],
)
def test_options_of_another_mode_are_usage_errors(options, what, tmp_path, capsys):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(lines(user("go"), assistant("so"))))
    assert cli.run(["prune", str(path), *options, "-o", "-"]) == 2
    told = capsys.readouterr()
    assert what in told.err
    assert told.out == ""
