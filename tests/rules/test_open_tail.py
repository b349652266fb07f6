"""The open tail and the open loop: what is reported is what no layer may take out or part."""

from __future__ import annotations

import pytest
from helpers.builders import assistant, call, exchange, result, system, text, user
from hypothesis import given
from hypothesis import strategies as st

from compactctl.rules.check import problems
from compactctl.rules.rule import PROFILES
from compactctl.view.index import View
from compactctl.view.pairs import open_loop

OPEN = assistant(call("open"))
DONE = assistant("done")
TAILS = {
    "at the end": (OPEN,),
    "with some answered": (assistant(call("a"), call("open")), user(result("a"))),
    "in front of a system message": (OPEN, system("be kind")),
    "in front of more words": (OPEN, assistant("waiting")),
    "in front of both": (OPEN, system("be kind"), assistant("waiting")),
    "in two messages": (OPEN, assistant(call("too"))),
}
NO_TAILS = {
    "nothing open": exchange("a"),
    "the user went on": (OPEN, user("go on")),
    "an answer to something else": (OPEN, user("go on"), DONE),
    "words behind the results": (assistant(call("a"), OPEN.blocks[0]), user(result("a")), DONE),
}


def tail(messages, profile="openai-responses"):
    """The messages that hold calls reported as the open tail."""
    found = problems(messages, profile)
    return [problem.place.message for problem in found if problem.rule == "TAIL-01"]


@pytest.mark.parametrize("said", TAILS.values(), ids=TAILS)
def test_the_open_loop_begins_with_the_first_call_of_the_open_tail(said):
    messages = [user("go"), *exchange("before"), *said]
    assert min(tail(messages)) == open_loop(messages) == 3


@pytest.mark.parametrize("said", NO_TAILS.values(), ids=NO_TAILS)
def test_calls_that_something_follows_are_no_open_tail(said):
    assert tail([user("go"), *said]) == []


def test_words_in_front_of_the_open_calls_are_no_part_of_the_loop():
    assert open_loop([user("go"), assistant("well"), OPEN, DONE]) == 2


def test_without_a_call_in_the_last_answer_there_is_no_loop():
    assert open_loop([]) == 0
    assert open_loop([user("go")]) == 1
    assert open_loop([user("go"), *exchange("a"), system("be kind"), DONE]) == 5


def test_no_turn_starts_inside_the_loop():
    messages = [user("go"), *exchange("a"), OPEN, system("be kind"), assistant("waiting")]
    assert [turn.assistant for turn in View(messages).turns] == [1, 3]


def test_where_every_answer_stands_alone_other_words_end_the_tail():
    assert tail([user("go"), OPEN, DONE], "openai-chat") == []
    assert tail([user("go"), OPEN, system("be kind")], "openai-chat") == []


MESSAGES = st.lists(
    st.one_of(
        st.lists(st.booleans(), max_size=2).map(lambda calls: ("assistant", calls)),
        st.lists(st.booleans(), max_size=2).map(lambda results: ("user", results)),
        st.just(("system", [False])),
    ),
    max_size=8,
)


def view(drawn):
    """Messages of calls or results where True is drawn, else of texts; some calls stay open."""
    messages, made, answered = [], 0, 0
    for role, kinds in drawn:
        blocks = []
        for special in kinds:
            if special and role == "assistant":
                made += 1
                blocks.append(call(f"c{made}"))
            elif special and role == "user" and answered < made:
                answered += 1
                blocks.append(result(f"c{answered}"))
            else:
                blocks.append(text("x"))
        messages.append({"assistant": assistant, "user": user}.get(role, _system)(*blocks))
    return messages


def _system(*_):
    return system("be kind")


@pytest.mark.parametrize("profile", PROFILES)
@given(drawn=MESSAGES)
def test_every_call_of_the_open_tail_is_in_the_open_loop(profile, drawn):
    messages = view(drawn)
    loop = open_loop(messages)
    assert all(position >= loop for position in tail(messages, profile))
    assert all(turn.assistant <= loop for turn in View(messages).turns)
