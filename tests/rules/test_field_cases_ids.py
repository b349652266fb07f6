"""What broke sessions in the field: duplicates and ids."""

from __future__ import annotations

import pytest
from helpers.builders import load
from helpers.field import (
    THOUGHT,
    Harness,
    answer,
    assistant,
    chat,
    chat_call,
    found,
    lines,
    text,
    tool,
    use,
    user,
)

from compactctl.transcript import loading as transcript

PLAIN = {
    # row: (lines, what is found as (rule, line, call))
    "B21 a call written twice": (
        [user("u"), assistant(use("1"), use("1")), user([answer("1")])],
        [("PAIR-03", 2, "1")],
    ),
    "B22 an empty id": (
        [user("u"), assistant(use("")), user([answer("")])],
        [("ID-01", 2, ""), ("ID-01", 3, "")],
    ),
    "B22 an id of another provider": (
        [user("u"), assistant(use("functions.x:0")), user([answer("functions.x:0")])],
        [("ID-02", 2, "functions.x:0")],
    ),
    "B23 two results of one call": (
        [user("u"), assistant(use("1")), user(answer("1", "old"), answer("1", "new"))],
        [("PAIR-04", 3, "1")],
    ),
    "B25 an id again in another turn": (
        [
            user("u"),
            *(assistant(use("call_0")), user([answer("call_0")])),
            *(assistant(use("call_0")), user([answer("call_0")])),
        ],
        [("PAIR-03", 4, "call_0")],
    ),
}


@pytest.mark.parametrize("row", PLAIN)
def test_a_plain_list(row):
    records, expected = PLAIN[row]
    assert found(records) == expected


def test_b25_openai_takes_an_id_again_in_another_turn():
    turn = [chat(chat_call("call_0")), tool("call_0")]
    assert [each[:2] for each in found([user("u"), *turn, *turn], "openai")] == [("PAIR-07", 4)]


def test_b27_lines_of_one_message_are_one_message():
    made = Harness()
    made.user("u")
    first = made.assistant("m1", THOUGHT)
    made.assistant("m1", text("t"))
    call = made.assistant("m1", use("1"))
    made.user([answer("1")])
    made.assistant("m1", use("2"), parent=call)
    made.user([answer("2")])
    assert made.told() == []
    assert first
    assert len(transcript.load(lines(*made.records), "f").messages) == 3


def test_b22_a_call_that_two_members_tell_is_taken_once():
    both = chat(chat_call("a")) | {"content": [use("a")]}
    records = [user("u"), both, tool("a")]
    assert found(records, "openai") == []
    assert sum(b.kind == "call" for b in load(lines(*records), "openai").messages[1].blocks) == 1


def test_b27_content_is_the_union_and_usage_the_last():
    made = Harness()
    made.user("u")
    for number, block in enumerate((THOUGHT, text("t"), use("1"))):
        made.assistant("m1", block)
        usage = {"input_tokens": 10, "output_tokens": number}
        made.records[-1]["message"]["usage"] = usage
    made.user([answer("1")])
    read = transcript.load(lines(*made.records), "f")
    assert [block.kind for block in read.messages[1].blocks] == ["thinking", "text", "call"]
    usages = [read.format.usage(record) for record in made.records]
    assert {usage for usage in usages if usage} == {("m1", 10)}
