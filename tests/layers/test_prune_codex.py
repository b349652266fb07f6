"""prune on Codex rollouts: what a replacement history opens with, and the files of patches."""

from __future__ import annotations

import json

import pytest
from helpers.builders import COUNTER, ids, load, texts

from compactctl import pipeline, placeholders, report

RULES = "# AGENTS.md instructions for /w\n<INSTRUCTIONS>\nuse tabs\n</INSTRUCTIONS>"
SUMMARY = (
    "Another language model started to solve this problem and produced a summary of it: so far"
)
PATCH = "*** Begin Patch\n*** Update File: {}\n*** End Patch"


def item(kind, **members):
    return {"type": kind, **members}


def said(role, words):
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": words}])


def ran(call_id, **given):
    return [
        item("function_call", name="shell", arguments=json.dumps(given), call_id=call_id),
        item("function_call_output", call_id=call_id, output="out " * 60),
    ]


def rollout(opening, *items):
    history = {"message": "", "replacement_history": opening}
    return session(*items, first=[{"type": "compacted", "payload": history}])


def session(*items, first=()):
    lines = [{"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}, *first]
    kinds = {"thread_rolled_back": "event_msg"}
    lines += [{"type": kinds.get(i["type"], "response_item"), "payload": i} for i in items]
    return load([json.dumps(line).encode() + b"\n" for line in lines], "codex")


def pruned(found, **options):
    return pipeline.run(found, ("prune",), {"prune": options}, COUNTER).messages


OPENING = [said("user", "go"), said("developer", "be kind"), said("user", RULES)]
WORK = [each for n in range(20) for each in ran(f"c{n}", command=["ls", str(n)])]
REST = [said("assistant", "done"), said("user", "next"), said("assistant", "ok")]


@pytest.mark.parametrize(
    "options",
    [
        {"keep_turns": 1},
        {"keep_turns": 2},
        {"keep_messages": 2, "no_marker": True},
        {"keep_tokens": 1},
        {"mode": "snip", "head": 0, "max_messages": 8},
        {"mode": "clear"},
    ],
    ids=str,
)
def test_what_was_asked_first_and_the_summary_stay(options):
    found = rollout([*OPENING, said("user", SUMMARY)], *WORK, *REST)
    left = texts(pruned(found, **options))
    assert {"go", "be kind", RULES, SUMMARY, "next", "ok"} <= set(left)


def test_without_a_summary_only_what_was_asked_first_stays():
    left = texts(pruned(rollout(OPENING, *WORK, *REST), keep_turns=1), "user")
    assert [words for words in left if not placeholders.read_pruned(words)] == ["go", RULES, "next"]


def test_the_marker_names_the_files_of_patches_and_of_shell_reads():
    custom = [
        item("custom_tool_call", call_id="p", name="apply_patch", input=PATCH.format("a.py")),
        item("custom_tool_call_output", call_id="p", output="Success"),
    ]
    heredoc = f"apply_patch <<'EOF'\n{PATCH.format('b.py')}\nEOF"
    work = [*custom, *ran("h", workdir="/w/sub", command=["bash", "-lc", heredoc])]
    work += [*ran("l", workdir="/w", command=["apply_patch", PATCH.format("c.py")])]
    work += ran("r", command=["bash", "-lc", "sed -n 1,80p d.py"])
    left = texts(pruned(rollout(OPENING, *work, *REST), keep_turns=1))
    (mark,) = [mark for words in left if (mark := placeholders.read_pruned(words))]
    assert mark.items(placeholders.READ) == ["d.py"]
    assert mark.items(placeholders.MODIFIED) == ["c.py", "sub/b.py", "a.py"]


OPEN = ran("open", command=["make"])[0]
BEHIND = {
    "a rule": [said("developer", "be brief")],
    "a rule and words": [said("developer", "be brief"), said("assistant", "waiting")],
    "words after going back": [
        said("user", "a wrong turn"),
        item("thread_rolled_back", num_turns=1),
        said("assistant", "never mind"),
    ],
}
ENVIRONMENT = said("user", "<environment_context>\n<cwd>/w</cwd>\n</environment_context>")
LAYERS = [
    ("prune", {"keep_turns": 1}),
    ("prune", {"keep_messages": 1}),
    ("prune", {"keep_tokens": 1}),
    ("prune", {"mode": "snip", "head": 0, "max_messages": 4}),
    ("prune", {"mode": "snip", "head": 1, "max_messages": 2}),
    ("summarize", {"keep_messages": 1, "max_summary_tokens": 150}),
]


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize(("layer", "options"), LAYERS, ids=str)
def test_the_open_tail_stays_whatever_stands_behind_it(layer, options, behind):
    found = session(said("user", "go"), *WORK, *REST, said("user", "make it"), OPEN, *behind)
    left = pipeline.run(found, (layer,), {layer: options}, COUNTER).messages
    assert len(left) < len(found.messages)
    assert "open" in ids(left)
    assert texts(left)[-1] == texts(found.messages)[-1]


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
def test_where_there_is_nothing_but_the_open_tail_nothing_goes(behind):
    found = session(said("user", "go"), OPEN, *behind)
    assert (
        not pipeline.run(found, ("prune",), {"prune": {"keep_turns": 1}}, COUNTER).steps[0].actions
    )


@pytest.mark.parametrize("options", [given for layer, given in LAYERS if layer == "prune"], ids=str)
def test_what_opens_a_view_behind_an_answer_stays_in_a_second_run(options):
    rules = [ran(f"r{n}", command=["cat", f"/w/{n}/AGENTS.md"]) for n in range(3)]
    filler = said("assistant", "word " * 90)
    opening = [*rules[0], filler, *rules[1], ENVIRONMENT, filler, *rules[2]]
    found = session(*opening, said("user", "go"), *WORK, said("assistant", "done"))
    once = pipeline.run(found, ("prune",), {"prune": options}, COUNTER)
    again = load(once.written().chunks, "codex")
    twice = pipeline.run(again, ("prune",), {"prune": options}, COUNTER)
    assert once.steps[0].actions
    assert not twice.steps[0].actions
    assert twice.messages == again.messages
    assert any(words.startswith("<environment_context>") for words in texts(twice.messages))


@pytest.mark.parametrize("behind", [(), *BEHIND.values()], ids=["nothing", *BEHIND])
def test_the_open_tail_is_warned_of_wherever_it_is_kept(behind):
    found = session(said("user", "go"), OPEN, *behind)
    assert report.open_tail(found) == 3


def test_a_call_that_the_user_talked_over_is_no_open_tail():
    assert report.open_tail(session(said("user", "go"), OPEN, said("user", "well?"))) is None
