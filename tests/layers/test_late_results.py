"""Results that come late, as the Responses API allows: no cut parts them from their calls."""

from __future__ import annotations

import pytest
from helpers.builders import assistant, call, exchange, ids, prune, result, summarize, user, view

from compactctl.view.index import View
from compactctl.view.pairs import pair

LONG = "The reason was found at last, and it is a long one to tell. " * 40
LATE = (
    user("Begin both.", LONG),
    *exchange("before"),
    assistant(call("late"), call("b")),
    user(result("b")),
    *exchange("c"),
    assistant("Still waiting."),
    user("Go on."),
    *exchange("d"),
    user(result("late")),
    assistant("Both are done."),
    user("Thanks."),
    assistant("With pleasure."),
)
PROMPT = (*LATE[:7], user("Go on."), *exchange("d"), user(result("late"), "And now?"), *LATE[-1:])


def positions(messages):
    return [turn.assistant for turn in View(messages).turns]


def test_no_turn_starts_between_a_call_and_its_late_result():
    messages = view(*LATE).messages
    assert positions(messages) == [1, 3, 12, 14]
    assert View(messages).last_results[3] == 2
    assert View(messages).last_results[4:12] == [11] * 8


def test_where_results_follow_at_once_every_answer_starts_a_turn():
    messages = view(user("go"), *exchange("a"), assistant("b"), *exchange("c")).messages
    assert positions(messages) == [1, 3, 4]


def test_a_call_without_a_result_keeps_no_turn_from_starting():
    messages = view(user("go"), assistant(call("open")), user("well?"), assistant("yes")).messages
    assert positions(messages) == [1, 3]


@pytest.mark.parametrize("said", [LATE, PROMPT], ids=["alone", "before a prompt"])
@pytest.mark.parametrize(
    ("layer", "options"),
    [
        *(
            (prune, {"keep_turns": keep, "no_marker": bare})
            for keep in (1, 2, 3)
            for bare in (0, 1)
        ),
        *((prune, {"keep_messages": keep}) for keep in (1, 2, 3, 4, 6, 8)),
        *((prune, {"keep_tokens": keep}) for keep in (1, 10, 20, 40)),
        *(
            (prune, {"mode": "snip", "head": head, "max_messages": head + more})
            for head in range(5)
            for more in (1, 3, 6)
        ),
        *((summarize, {"keep_messages": keep}) for keep in range(1, 12)),
    ],
)
def test_no_cut_parts_a_late_result_from_its_call(layer, options, said):
    messages = layer(view(*said), **options).messages
    found = pair(messages)
    assert not found.orphans
    assert all(interaction.result is not None for interaction in found.interactions)
    assert sorted(ids(messages)) == sorted(ids(messages, "result"))


def test_what_is_closed_before_it_still_goes():
    kept = prune(view(*LATE), keep_turns=3).messages
    assert ids(kept) == ["late", "b", "c", "d"]
    assert "before" not in ids(summarize(view(*LATE), keep_messages=9).messages)
