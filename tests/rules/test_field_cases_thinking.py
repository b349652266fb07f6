"""What broke sessions in the field: thinking."""

from __future__ import annotations

import itertools
import json

import pytest
from helpers.builders import COUNTER, load
from helpers.field import (
    THOUGHT,
    Harness,
    answer,
    asked,
    assistant,
    found,
    item,
    lines,
    mended,
    output,
    records_of,
    text,
    use,
    user,
    view,
    words,
)

from compactctl import pipeline
from compactctl.repair.engine import repair

PLAIN = {
    # row: (lines, what is found as (rule, line, call))
    "B34 an open loop without thinking": (
        [
            user("u"),
            assistant(THOUGHT, text("a")),
            user("v"),
            assistant(use("1")),
            user([answer("1")]),
        ],
        [("THINK-01", 4, "1")],
    ),
}


@pytest.mark.parametrize("row", PLAIN)
def test_a_plain_list(row):
    records, expected = PLAIN[row]
    assert found(records) == expected


ODD = b'{"type" :"thinking", "signature":"c2ln","thinking":"h\\u006d","x":1e5}'
SIGNED = (
    b'{"role":"assistant","content":[%b,{"type":"text","text":""},{"type":"text","text":"a"}]}\n'
)
LONG = "word " * 400


def thoughts(raw):
    return [
        block
        for line in raw
        for block in json.loads(line).get("content") or ()
        if isinstance(block, dict) and block["type"] == "thinking"
    ]


def test_b28_thinking_is_the_same_or_not_there():
    raw = [*lines(user("u")), SIGNED % ODD, *lines(user("v"), assistant(THOUGHT, text("b")))]
    done = repair(raw, "f", "messages")
    assert [each.rule for each in done.fixes] == ["TEXT-01", "thinking", "thinking"]
    assert thoughts(done.lines) == []
    kept = repair(raw, "f", "messages", "keep")
    assert thoughts(kept.lines) == [json.loads(ODD), THOUGHT]


def test_b28_a_line_that_is_right_keeps_its_thinking_byte_for_byte():
    signed = SIGNED.replace(b'{"type":"text","text":""},', b"") % ODD
    raw = [*lines(user("u")), signed, *lines(user("v"), assistant(text(""), text("b")), user("w"))]
    assert repair(raw, "f", "messages").lines[1] == signed


def loop(*names):
    return [each for n in names for each in (assistant(THOUGHT, use(n)), user([answer(n, LONG)]))]


def test_b29_thinking_behind_the_first_edit_goes_and_before_it_stays():
    raw = lines(user("S"), *loop("1", "2", "3"), assistant(THOUGHT, text("a")), user("v"))
    read = load(raw, "messages")
    options = {"truncate": {"max_tokens": 50, "skip_recent": 2, "tool": ["Bash=head"]}}
    lines_now = pipeline.run(read, ("truncate",), options, COUNTER).written().lines()
    assert lines_now != raw
    assert thoughts(lines_now) == [THOUGHT]  # of the first loop alone
    kept = pipeline.run(read, ("truncate",), options, COUNTER, mode="keep").written().lines()
    assert len(thoughts(kept)) == len(thoughts(raw))


def test_b29_without_an_edit_all_thinking_stays():
    raw = lines(user("S"), *loop("1", "2"), user("v"))
    assert repair(raw, "f", "messages").lines is raw


def test_b31_all_thinking_goes_when_that_is_asked_for():
    hidden = {"type": "redacted_thinking", "data": "x"}
    raw = lines(user("S"), *loop("1"), assistant(hidden, text("a")), user("v"), *loop("2"))
    done = repair(raw, "f", "messages", "drop")
    assert b"thinking" not in b"".join(done.lines)
    assert {each.rule for each in done.fixes} == {"thinking"}
    assert "thinking: dropped, as was asked for" in str(done.fixes[0])
    assert found(done.lines) == []


@pytest.mark.parametrize("layer", ["dedup", "prune"])
def test_b32_no_two_thoughts_come_to_stand_side_by_side(layer):
    read = {"type": "tool_use", "name": "Read", "input": {"file_path": "/a"}}
    turns = [
        each
        for n in ("1", "2", "3")
        for each in (assistant(THOUGHT, read | {"id": n}, THOUGHT), user([answer(n, LONG)]))
    ]
    raw = lines(user("u"), *turns, assistant(text("a")), user("v"), assistant(text("b")))
    options = {"prune": {"keep_turns": 1}, "dedup": {}}
    result = pipeline.run(load(raw, "messages"), (layer,), {layer: options[layer]}, COUNTER)
    assert result.steps[0].actions
    for message in result.messages:
        kinds = [block.kind for block in message.blocks]
        assert ("thinking", "thinking") not in itertools.pairwise(kinds)


def test_b32_answers_of_two_responses_are_not_made_one():
    made = Harness()
    made.user("u")
    made.assistant("m1", THOUGHT)
    made.assistant("m2", THOUGHT)
    made.assistant("m2", text("a"))
    roles = [(m.role, len(m.blocks)) for m in load(lines(*made.records)).messages]
    assert roles == [("user", 1), ("assistant", 2)]  # of nothing but thinking a harness drops it


def test_b34_no_thinking_is_invented():
    records, _ = PLAIN["B34 an open loop without thinking"]
    raw = lines(*records)
    assert repair(raw, "f", "messages").lines is raw


REASONING = item("reasoning", summary=[], encrypted_content="gAAA")


def test_b35_reasoning_and_its_item_are_one():
    start = words("user", "u")
    alone = [start, REASONING, words("user", "v")]
    assert [each[:2] for each in found(alone, "codex")] == [("THINK-03", 2)]
    assert found([start, REASONING, asked("1"), output("1")], "codex") == []


def test_b35_reasoning_goes_with_its_item():
    copied = [
        words("user", "u"),
        asked("1"),
        output("1"),
        REASONING,
        asked("1"),
        words("user", "v"),
    ]
    done = mended(copied, "codex")
    kinds = [record["payload"]["type"] for record in records_of(done)]
    assert kinds == ["message", "function_call", "function_call_output", "message"]


SERVED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}}
RAN = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
CALLER = {"caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}


def test_b36_what_the_code_of_a_call_called_is_tied_to_it():
    called = [assistant(SERVED, use("1") | CALLER), user([answer("1")]), assistant(RAN, text("a"))]
    assert found([user("u"), *called]) == []
    without = [assistant(text("t"), use("1") | CALLER), user([answer("1")]), assistant(text("a"))]
    assert found([user("u"), *without]) == [("SERVER-03", 2, "1")]
    direct = {"caller": {"type": "direct"}, "input": {"caller": {"tool_id": "x"}}}
    assert found([user("u"), assistant(use("1") | direct), user([answer("1")])]) == []


def test_b36_repair_closes_every_edge():
    broken = [
        user("u"),
        assistant(SERVED, use("1") | CALLER),
        user(answer("1"), text("and then?")),
        assistant(text("a")),
    ]
    done = mended(broken)
    assert [each.rule for each in done.fixes] == ["SERVER-01", "SERVER-03", "SERVER-03"]
    assert view(done.after) == [("u", "u", "and then?"), ("a", "a")]
