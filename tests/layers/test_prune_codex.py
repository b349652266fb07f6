"""prune on Codex rollouts: what a replacement history opens with, and the files of patches."""

from __future__ import annotations

import json

import pytest
from builders import COUNTER, load, texts

from compactctl import pipeline, placeholders

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
    lines = [{"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}]
    lines.append({"type": "compacted", "payload": history})
    lines += [{"type": "response_item", "payload": each} for each in items]
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
    assert (mark.read, mark.modified) == (["d.py"], ["a.py", "b.py", "c.py"])
