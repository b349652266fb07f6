"""What broke sessions in the field, one row of field-cases.md each (B1 to B5)."""

from __future__ import annotations

import json

import pytest

from compactctl import transcript
from compactctl.findings import find
from compactctl.model import Message
from compactctl.protocol.check import breaks_pairs, problems


def lines(*records):
    return [json.dumps(record).encode() + b"\n" for record in records]


def user(*content):
    bare = isinstance(content[0], str | list)
    return {"role": "user", "content": content[0] if bare else list(content)}


def assistant(*content):
    return {"role": "assistant", "content": list(content)}


def text(words):
    return {"type": "text", "text": words}


def use(call_id):
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {}}


def answer(call_id, content="ok", **members):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | members


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}

PLAIN = {
    # row: (lines, what is found as (rule, line, call))
    "B01 a call that the user talked over": (
        [user("u"), assistant(use("1")), user(text("go on"))],
        [("PAIR-01", 2, "1")],
    ),
    "B02 stopped in two calls": (
        [user("u"), assistant(text("t"), use("1"), use("2"))],
        [("TAIL-01", 2, "1"), ("TAIL-01", 2, "2")],
    ),
    "B04 the head of a batch cut in two": (
        [user("u"), assistant(use("A"), use("B")), user(answer("A"), text("go on"))],
        [("PAIR-01", 2, "B")],
    ),
    "B04 the tail of a batch cut in two": (
        [user([answer("B")]), assistant(text("done")), user("v")],
        [("PAIR-02", 1, "B")],
    ),
    "B06 the last messages of a list": (
        [user([answer("A")]), assistant(use("B")), user([answer("B")]), user("v")],
        [("PAIR-02", 1, "A")],
    ),
    "B13 a result alone": ([user([answer("9")])], [("PAIR-02", 1, "9")]),
    "B15 a reminder before the result": (
        [user("u"), assistant(use("1")), user(text("<system-reminder>"), answer("1"))],
        [("PAIR-06", 3, "1")],
    ),
    "B17 a text between two results": (
        [
            user("u"),
            assistant(use("1"), use("2")),
            user(answer("1"), text("x")),
            user([answer("2")]),
        ],
        [("PAIR-06", 4, "2")],
    ),
    "B19 a text behind a call": (
        [user("u"), assistant(THOUGHT, use("1"), text("…")), user([answer("1")])],
        [],
    ),
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
    "B37 a text cut to nothing": (
        [user("u"), assistant(text("")), user("v")],
        [("TEXT-01", 2, None)],
    ),
    "B37 an empty summary": ([user(""), assistant(text("a"))], [("TEXT-01", 1, None)]),
}


@pytest.mark.parametrize("row", PLAIN)
def test_a_plain_list(row):
    records, expected = PLAIN[row]
    found = find(transcript.load(lines(*records), "f", "messages"), "anthropic")
    assert [(f.rule, f.line, f.call_id) for f in found] == expected


def test_b02_what_can_be_resumed_is_valid():
    records, _ = PLAIN["B02 stopped in two calls"]
    found = transcript.load(lines(*records), "f", "messages")
    assert not any(map(breaks_pairs, problems(found.messages, "anthropic")))
    assert {f.severity for f in find(found, "anthropic")} == {"warning"}
    assert {f.severity for f in find(found, "anthropic", sendable=True)} == {"error"}


def test_b19_gateways_mind_a_text_behind_a_call():
    records, _ = PLAIN["B19 a text behind a call"]
    found = find(transcript.load(lines(*records), "f", "messages"), "gateway")
    assert [(f.rule, f.severity) for f in found] == [("GATE-03", "error")]


def test_b25_openai_takes_an_id_again_in_another_turn():
    turn = [
        {"role": "assistant", "tool_calls": [chat_call("call_0")], "content": None},
        {"role": "tool", "tool_call_id": "call_0", "content": "ok"},
    ]
    found = find(transcript.load(lines(user("u"), *turn, *turn), "f"), "openai-chat")
    assert [(f.rule, f.severity, f.line) for f in found] == [("PAIR-07", "info", 4)]


def chat_call(call_id, arguments="{}"):
    function = {"name": "f", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def tool(call_id):
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def chat(*calls):
    return {"role": "assistant", "content": None, "tool_calls": [*calls]}


CHAT = {
    "a call without its message": (
        [user("u"), chat(chat_call("a"), chat_call("b")), tool("a"), user("v")],
        [("PAIR-01", 2)],
    ),
    "words before the answer": (
        [user("u"), chat(chat_call("a")), user("wait"), tool("a")],
        [("PAIR-06", 4)],
    ),
    "an answer to nothing": ([user("u"), tool("a"), user("v")], [("PAIR-02", 2)]),
    "an answer first": ([user("u"), tool("a"), chat(chat_call("a"))], [("PAIR-05", 2)]),
    "an id too long": (
        [user("u"), chat(chat_call("a" * 41)), tool("a" * 41)],
        [("ID-03", 2)],
    ),
    "arguments cut in the middle": (
        [user("u"), chat(chat_call("a", '{"path": "/w')), tool("a")],
        [("ARGS-01", 2)],
    ),
    "one id twice in a batch": (
        [user("u"), chat(chat_call("a"), chat_call("a")), tool("a"), tool("a")],
        [("PAIR-03", 2)],
    ),
    "nothing odd": ([user("u"), chat(chat_call("a"), chat_call("b")), tool("b"), tool("a")], []),
}


@pytest.mark.parametrize("row", CHAT)
def test_a_chat(row):
    records, expected = CHAT[row]
    found = find(transcript.load(lines(*records), "f", "openai"), "openai-chat")
    assert [(f.rule, f.line) for f in found] == expected


def item(kind, **members):
    return {"timestamp": "T", "type": "response_item", "payload": {"type": kind} | members}


def words(role, said):
    return item("message", role=role, content=[{"type": "input_text", "text": said}])


def asked(call_id):
    return item("function_call", call_id=call_id, name="exec_command", arguments='{"cmd":"ls"}')


def output(call_id):
    return item("function_call_output", call_id=call_id, output="ok")


REASONING = item("reasoning", summary=[], encrypted_content="gAAA")

ROLLOUTS = {
    "B10 a call without output": ([asked("1"), words("user", "v")], [("PAIR-01", 2)]),
    "an output without call": ([output("1"), words("user", "v")], [("PAIR-02", 2)]),
    "an output before its call": ([output("1"), asked("1")], [("PAIR-05", 2)]),
    "two outputs": ([asked("1"), output("1"), output("1")], [("PAIR-04", 4)]),
    "an id twice": (
        [asked("1"), output("1"), words("user", "v"), asked("1"), output("1")],
        [("PAIR-03", 5)],
    ),
    "an id too long": ([asked("1" * 65), output("1" * 65)], [("ID-04", 2)]),
    "stopped in two calls": (
        [asked("1"), asked("2"), asked("3"), output("2")],
        [("TAIL-01", 2), ("TAIL-01", 4)],
    ),
    "B35 reasoning alone": ([REASONING, words("user", "v")], [("THINK-03", 2)]),
    "B35 reasoning and its item": ([REASONING, asked("1"), output("1")], []),
    "parallel calls": ([asked("1"), asked("2"), output("1"), output("2")], []),
}


@pytest.mark.parametrize("row", ROLLOUTS)
def test_a_rollout(row):
    records, expected = ROLLOUTS[row]
    raw = lines(words("user", "u"), *records)
    found = find(transcript.load(raw, "f", "codex"), "openai-responses")
    assert [(f.rule, f.line) for f in found] == expected


class Harness:
    """A session of Claude Code."""

    def __init__(self):
        self.records = []

    def add(self, kind, parent="last", **members):
        own = f"u{len(self.records) + 1}"
        last = self.records[-1]["uuid"] if self.records else None
        parent = last if parent == "last" else parent
        envelope = {"type": kind, "uuid": own, "parentUuid": parent, "sessionId": "s"}
        self.records.append(envelope | members)
        return own

    def user(self, *content, parent="last", **members):
        return self.add("user", parent, message=user(*content), **members)

    def assistant(self, message_id, *content, parent="last"):
        return self.add("assistant", parent, message=assistant(*content) | {"id": message_id})

    def told(self):
        found = find(transcript.load(lines(*self.records), "f"), "anthropic")
        return [(f.rule, f.severity, f.line) for f in found]


def test_b07_a_result_whose_call_a_second_boundary_took_away():
    made = Harness()
    made.user("u")
    made.assistant("m1", use("x"))
    made.add("system", None, subtype="compact_boundary")
    made.user("first summary", isCompactSummary=True)
    made.user([answer("x")])
    made.assistant("m2", text("a"))
    assert made.told() == [("PAIR-02", "error", 5)]
    made.add("system", None, subtype="compact_boundary")
    made.user("second summary", isCompactSummary=True)
    made.assistant("m3", text("b"))
    assert made.told() == []  # what counts is the view behind the last one


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


def test_b44_an_entry_of_null_is_no_trouble():
    made = Harness()
    made.user("u")
    made.add("system", subtype="api_error", content=None)
    made.assistant("m1", text("a"))
    made.records[1]["message"] = None
    assert made.told() == []


def test_b45_a_text_in_place_of_a_tools_own_record_is_no_trouble():
    made = Harness()
    made.user("u")
    made.assistant("m1", use("1"))
    made.user([answer("1")], toolUseResult="Error: cut")
    assert made.told() == []


@pytest.mark.parametrize(
    ("damaged", "rule", "severity"),
    [
        (b"%s" + b"\0" * 512, "FILE-04", "warning"),  # B48
        (b"\0" * 512 + b"%s", "FILE-04", "warning"),  # B48
        (b'{"type":"user","uuid":"x","mess', "FILE-02", "error"),  # B49
        (b'{"type":"x","uuid":"x","text":"\\ud83d"}', "FILE-09", "warning"),  # B47
    ],
)
def test_b47_to_b49_damage_in_the_middle_hides_nothing_else(damaged, rule, severity):
    made = Harness()
    made.user("u")
    made.assistant("m1", text("a"))
    made.user("v")
    whole = lines(*made.records)
    kept = damaged.replace(b"%s", whole[1].rstrip())
    raw = [whole[0], *([] if b"%s" in damaged else [whole[1]]), kept + b"\n", whole[2]]
    found = transcript.load(raw, "f")
    assert [len(message.blocks) for message in found.messages] == [1, 1, 1]
    (told,) = [f for f in find(found, "anthropic") if f.rule != "FILE-15"]
    assert (told.rule, told.severity) == (rule, severity)


def test_b49_a_torn_tail_is_a_warning():
    made = Harness()
    made.user("u")
    made.assistant("m1", text("a"))
    raw = [*lines(*made.records), b'{"type":"user","uuid":"u3","parentUuid":"u2","mess']
    (told,) = find(transcript.load(raw, "f"), "anthropic")
    assert (told.rule, told.severity, told.line) == ("FILE-01", "warning", 3)


def test_b53_a_parent_that_points_nowhere_says_what_resume_loses():
    made = Harness()
    for turn in range(30):
        made.user(f"u{turn}", parent="missing" if turn == 25 else "last")
        made.assistant(f"m{turn}", text("a"))
    (told,) = find(transcript.load(lines(*made.records), "f"), "anthropic")
    assert (told.rule, told.severity, told.line) == ("FILE-12", "error", 51)
    assert "resume would lose 50 messages" in told.text


def test_b54_progress_and_side_chains_may_fork():
    made = Harness()
    made.user("u")
    call = made.assistant("m1", use("1"))
    made.add("progress", call, data={"type": "hook_progress"})
    made.add("progress", call, data={"type": "agent_progress"})
    made.user("look", isSidechain=True, parent=None)
    made.user([answer("1")], parent=call)
    assert made.told() == []


def test_an_empty_message_is_no_trouble():
    view = [Message("user", ()), Message("assistant", ()), Message("system", ())]
    for profile in ("core", "anthropic", "gateway", "openai-chat", "openai-responses"):
        problems(view, profile, sendable=True)
