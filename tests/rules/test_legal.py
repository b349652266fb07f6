"""Shapes that providers were seen to take: none of them is reported."""

from __future__ import annotations

import pytest
from helpers.builders import assistant, call, result, system, text, thinking, user
from helpers.drawn import PNG, drafts, frozen, image, other
from hypothesis import given
from hypothesis import strategies as st

from compactctl.model import Block, Image, Message
from compactctl.rules.check import problems

BATCH = (call("a"), call("b"), call("c"))
LEGAL = {
    "user messages side by side": [user("one"), user("two"), user("three")],
    "answers side by side": [user("u"), assistant("one"), assistant("two"), user("v")],
    "an answer of nothing": [user("u"), Message("assistant", ()), user("v")],
    "a bare empty answer": [user("u"), assistant(""), user("v")],
    "a bare empty answer at the end": [user("u"), assistant("")],
    "thinking alone in the middle": [user("u"), assistant(thinking()), user("v")],
    "text and thinking in the middle": [user("u"), assistant("t", thinking()), user("v")],
    "results out of order": [
        user("u"),
        assistant(*BATCH),
        user(result("c"), result("a"), result("b"), "and now?"),
    ],
    "results split over messages": [
        user("u"),
        assistant(*BATCH),
        user(result("b")),
        user(result("c")),
        user(result("a"), "go on"),
        user("and on"),
    ],
    "user turns after the run": [
        user("u"),
        assistant(call("a")),
        user(result("a")),
        user("wait"),
        user("go on", PNG),
    ],
    "a call and words in answers side by side": [
        user("u"),
        assistant(call("a")),
        assistant("Let me see."),
        user(result("a"), "go on"),
    ],
    "a text behind a call": [
        user("u"),
        assistant(thinking(), call("a"), "Wait for it."),
        user(result("a")),
    ],
    "a system message first": [system("s"), system("t"), user("u"), assistant("a")],
    "a system message right behind the user's": [user("u"), system("s"), assistant("a")],
    "an empty result": [user("u"), assistant(call("a")), user(result("a", ""))],
    "a result without content": [
        user("u"),
        assistant(call("a")),
        user(Block("result", call_id="a")),
    ],
    "a blank result": [user("u"), assistant(call("a")), user(result("a", " \n"))],
    "a failed result of text": [
        user("u"),
        assistant(call("a")),
        user(result("a", "boom", "bang", failed=True)),
    ],
    "an image in a result": [user("u"), assistant(call("a")), user(result("a", "x", PNG))],
    "only an image": [user(PNG)],
    "20 wide images": [user(*[image(width=2162)] * 20)],
    "21 images that are not": [user(*[image(width=2000)] * 21)],
    "an image of 5 MB of base64": [user(image(size=5 * 1024 * 1024 * 3 // 4))],
    "600 images": [user(*[PNG] * 600)],
    "a JPEG whose frame stands far in": [user(image("image/jpeg", width=0, height=0))],
    "an image by its address": [user(Block("image", image=Image("", 0)), Block("image"))],
    "a redacted thought": [user("u"), assistant(Block("thinking"), "a"), user("v")],
    "a server tool and its result": [
        user("u"),
        assistant(other("server_tool_use", "s1"), other("web_search_tool_result", "s1"), "a"),
        user("v"),
    ],
    "a server tool whose result comes with the next answer": [
        user("u"),
        assistant(other("server_tool_use", "s1"), call("a")),
        user(result("a")),
        assistant(other("web_fetch_tool_result", "s1"), "done"),
        user("v"),
    ],
    "a paused turn": [user("u"), assistant("a", other("server_tool_use", "s1"))],
    "a block of a type from the future": [user("u", other("hologram")), assistant("a")],
    "thinking in some turns only": [
        user("u"),
        assistant(thinking(), "a"),
        user("v"),
        assistant("b"),
        user("w"),
        assistant(call("a")),
        user(result("a")),
    ],
    "a loop whose first answer alone has thinking": [
        user("u"),
        assistant(thinking(), "a"),
        user("v"),
        assistant(thinking(), call("a")),
        user(result("a")),
        assistant(call("b")),
        user(result("b")),
    ],
    "no thinking at all": [user("u"), assistant(call("a")), user(result("a"))],
    "no arguments": [
        user("u"),
        assistant(Block("call", "", "a"), Block("call", "{}", "b")),
        user(result("a"), result("b")),
    ],
}


@pytest.mark.parametrize("name", LEGAL)
def test_what_anthropic_takes_is_no_problem(name):
    assert problems(LEGAL[name], "anthropic") == []


CHAT = {
    "ids of 40 characters": [user("u"), assistant(call("c" * 40)), user(result("c" * 40))],
    "ids of odd characters": [user("u"), assistant(call("f.x:0")), user(result("f.x:0"))],
    "an answer first": [assistant("Hello."), user("u")],
    "an empty text": [user(""), assistant(""), user(" ")],
    "a system message anywhere": [user("u"), assistant("a"), system("s"), user("v")],
    "results in any order": [user("u"), assistant(*BATCH), user(*map(result, "cab"))],
    "a wide image among many": [user(*[image("image/bmp", width=9000)] * 30)],
    "a text behind a call": [user("u"), assistant(call("a"), "wait"), user(result("a"))],
}


@pytest.mark.parametrize("name", CHAT)
def test_what_openai_takes_is_no_problem(name):
    assert problems(CHAT[name], "openai-chat", sendable=True) == []


RESPONSES = {
    "ids of 64 characters": [user("u"), assistant(call("c" * 64)), user(result("c" * 64))],
    "a result after words": [user("u"), assistant(call("a")), user("wait", result("a"))],
    "a result after another answer": [
        user("u"),
        assistant(call("a")),
        assistant("wait"),
        user("go on", result("a")),
    ],
    "reasoning and its call": [user("u"), assistant(thinking(), call("a")), user(result("a"))],
    "reasoning and its call in items": [
        user("u"),
        assistant(thinking()),
        assistant(call("a")),
        user(result("a")),
    ],
}


@pytest.mark.parametrize("name", RESPONSES)
def test_what_responses_take_is_no_problem(name):
    assert problems(RESPONSES[name], "openai-responses", sendable=True) == []


@given(said=drafts(fewest=0), data=st.data())
def test_splitting_results_over_messages_is_no_problem(said, data):
    view = []
    for message in frozen(said):
        blocks = list(message.blocks)
        if message.role == "user":
            while len(blocks) > 1 and data.draw(st.booleans()):
                view.append(Message("user", (blocks.pop(0),)))
        view.append(Message(message.role, tuple(blocks)))
    assert problems(view, "anthropic", sendable=True) == []


@given(said=drafts(), data=st.data())
def test_parting_an_answer_in_two_is_no_problem(said, data):
    view = []
    for message in frozen(said):
        cut = data.draw(st.integers(1, len(message.blocks)))
        halves = (message.blocks[:cut], message.blocks[cut:])
        halves = halves if message.role == "assistant" else (message.blocks,)
        view += [Message(message.role, half) for half in halves if half]
    assert problems(view, "anthropic") == []


@given(said=drafts(), words=st.sampled_from(("go on", text("<system-reminder>x"), PNG)))
def test_words_behind_the_results_are_no_problem(said, words):
    for draft in said:
        if draft.role == "user":
            draft.blocks.append(text(words) if isinstance(words, str) else words)
    assert problems(frozen(said), "gateway", sendable=True) == []


@pytest.mark.parametrize("end", ["x", "x\u200b", "x."])
def test_a_last_answer_without_white_space_breaks_only_one_rule(end):
    found = problems([user("u"), assistant(end)], "anthropic", sendable=True)
    assert [p.rule for p in found] == ["END-02"]


@pytest.mark.parametrize("end", ["x ", "x\n", "x\u3000"])
def test_white_space_at_the_end_is_told_only_of_what_is_to_be_sent(end):
    view = [user("u"), assistant("a ", end)]
    assert problems(view, "anthropic") == []
    found = problems(view, "anthropic", sendable=True)
    assert [p.rule for p in found] == ["END-02", "END-01"]


def test_an_open_tail_is_not_told_twice():
    view = [user("u"), assistant(call("a"))]
    assert [p.severity for p in problems(view, "anthropic")] == ["warning"]
    assert [p.severity for p in problems(view, "core")] == ["error"]
    found = problems(view, "anthropic", sendable=True)
    assert [(p.rule, p.severity) for p in found] == [("TAIL-01", "error")]
