"""A view and the request that was made of it say the same, in either API, and else not."""

import json

import pytest
import said

CLAUDE = [
    {"role": "user", "content": "look"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "yes"},
            {"type": "tool_use", "id": "a", "name": "Read", "input": {"path": "x", "n": 1}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
            },
            {"type": "text", "text": "go on"},
        ],
    },
]
CODEX = [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "be"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "call_id": "a", "name": "sh", "arguments": '{"n": 1, "cmd": "ls"}'},
    {"type": "custom_tool_call", "call_id": "b", "name": "apply_patch", "input": "*** Begin"},
    {"type": "function_call_output", "call_id": "a", "output": "x"},
    {"type": "custom_tool_call_output", "call_id": "b", "output": "done"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
]


def lines(records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (lines(CLAUDE), {"messages": CLAUDE}),
        (
            lines({"timestamp": "T", "type": "response_item", "payload": item} for item in CODEX),
            {"input": CODEX},
        ),
    ],
)
def test_a_request_with_the_same_content_is_the_view(data, body):
    view = said.of_view(data)
    assert len(view) == (6 if "messages" in body else 7)
    assert said.of_request(body) == view
    assert said.difference(view, said.of_request(body)) == ""


NOTE = {"type": "skill_listing", "content": "by heart"}
ATTACHED = [
    {"type": "user", "uuid": "u1", "parentUuid": None, "message": CLAUDE[0]},
    {"type": "attachment", "uuid": "u2", "parentUuid": "u1", "attachment": NOTE},
]
ATTACHED[1]["rendered"] = [{"content": "<system-reminder>\nby heart\n</system-reminder>"}]


@pytest.mark.parametrize(
    "held",
    [
        {"role": "user", "content": "look\n\n<system-reminder>\nby heart\n</system-reminder>"},
        {"role": "system", "content": [{"type": "text", "text": "by heart"}]},
    ],
)
def test_an_attachment_may_be_sent_anywhere(held):
    view = said.of_view(lines(ATTACHED))
    assert said.difference(view, [view[0]]) == ""
    assert said.unsent(view, {"messages": [*CLAUDE, held]}) == []


def test_an_attachment_that_is_not_sent_is_named():
    view = said.of_view(lines(ATTACHED))
    assert said.unsent(view, {"messages": CLAUDE}) == view[1:]


VIEW = said.of_view(lines(CLAUDE))
OWN = r"\s*<note>.*?</note>\s*"


def user(text):
    return said.Said("user", "text", text)


@pytest.mark.parametrize("at", range(6))
def test_what_is_not_sent_is_named(at):
    assert said.difference(VIEW, VIEW[:at] + VIEW[at + 1 :])


@pytest.mark.parametrize("at", range(7))
def test_what_is_sent_beside_the_view_is_named(at):
    assert "more" in said.difference(VIEW, [*VIEW[:at], user("more"), *VIEW[at:]])


@pytest.mark.parametrize("at", range(6))
def test_what_is_sent_otherwise_is_named(at):
    other = VIEW[at]._replace(text=VIEW[at].text + "!")
    assert said.difference(VIEW, [*VIEW[:at], other, *VIEW[at + 1 :]], OWN)


@pytest.mark.parametrize("at", range(7))
def test_what_the_agent_adds_is_no_difference(at):
    assert said.difference(VIEW, [*VIEW[:at], user("<note>n</note>"), *VIEW[at:]], OWN) == ""


@pytest.mark.parametrize("at", [0, 4, 5])
def test_what_the_agent_adds_behind_the_users_words_is_no_difference(at):
    longer = VIEW[at]._replace(text=f"{VIEW[at].text}\n\n<note>n</note>")
    assert said.difference(VIEW, [*VIEW[:at], longer, *VIEW[at + 1 :]], OWN) == ""


def test_the_order_counts():
    assert said.difference(VIEW, VIEW[::-1])


def test_the_order_of_results_side_by_side_does_not_count():
    first, second = (said.Said("user", "result", f"{name} x") for name in "ab")
    assert said.difference([first, second, user("u")], [second, first, user("u")]) == ""
    assert said.difference([first, user("u"), second], [second, user("u"), first])


def test_a_difference_is_shown_where_it_begins():
    view, sent = [user("w " * 500 + "old")], [user("w " * 500 + "new")]
    shown = said.difference(view, sent)
    assert "new'" in shown
    assert "old'" in shown
    assert len(shown) < 400
