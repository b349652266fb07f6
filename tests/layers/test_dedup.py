"""A read goes when a later one shows all of it, and never otherwise."""

from __future__ import annotations

import pytest
from helpers.builders import (
    COUNTER,
    assistant,
    call,
    dedup,
    exchange,
    ids,
    read,
    reading,
    result,
    roles,
    text,
    texts,
    thinking,
    truncate,
    user,
    view,
)

END = [assistant("done")]
NUMBERED = "\n".join(f"{number:>6}→line {number}" for number in range(1, 2001))
UNCHANGED = "File unchanged since last read. What the earlier result shows is still current."


def left(*messages, **options):
    """The calls that are left; pairs stay whole."""
    change = dedup(view(user("go"), *messages, *END), **options)
    assert ids(change.messages) == ids(change.messages, "result")
    return ids(change.messages)


def edit(call_id, path="/w/a.py", failed=False):
    return exchange(call_id, "ok", tool="Edit", file_path=path, failed=failed)


@pytest.mark.parametrize(
    "messages",
    [
        [*reading("a", "x")],
        [*reading("a", "x"), *reading("b", "x", path="/w/b.py")],
        [*exchange("a", "x", command="date"), *exchange("b", "x", command="date")],
        [*reading("a", "x"), *edit("e")],
        [*reading("a", "x"), *exchange("b", "x", tool="Grep", path="/w/a.py")],
        [*reading("a", "x", path=""), *reading("b", "x", path="")],
        [*exchange("a", "x", tool="Read", path=7), *exchange("b", "x", tool="Read", path=7)],
        [*exchange("a", "x", tool="Read"), *exchange("b", "x", tool="Read")],
    ],
    ids=["once", "two files", "no reads", "an edit", "a search", "no path", "odd path", "no input"],
)
def test_what_no_later_read_shows_stays(messages):
    found = view(user("go"), *messages, *END)
    change = dedup(found)
    assert not change.actions
    assert all(new is old for new, old in zip(change.messages, found.messages, strict=True))


def test_a_read_goes_with_its_result_when_the_file_is_read_again():
    assert left(*reading("a", "old"), *reading("b", "new")) == ["b"]


def test_the_latest_of_many_stays():
    assert left(*[m for name in "abcd" for m in reading(name, "x")]) == ["d"]


def test_a_failed_read_again_leaves_the_good_one():
    assert left(*reading("a", "x"), *reading("b", "no such file", failed=True)) == ["a", "b"]


def test_a_failed_read_does_not_go():
    assert left(*reading("a", "no such file", failed=True), *reading("b", "x")) == ["a", "b"]


def test_a_read_that_only_says_unchanged_leaves_the_one_that_shows():
    assert left(*reading("a", "x"), *reading("b", UNCHANGED)) == ["a", "b"]
    assert left(*reading("a", "x"), *reading("b", UNCHANGED), *reading("c", "x")) == ["c"]


@pytest.mark.parametrize(
    ("first", "second", "stays"),
    [
        ({}, {"offset": 1, "limit": 50}, "ab"),
        ({"offset": 1, "limit": 50}, {}, "b"),
        ({"offset": 10, "limit": 5}, {"offset": 1, "limit": 50}, "b"),
        ({"offset": 10, "limit": 50}, {"offset": 1, "limit": 50}, "ab"),
        ({"offset": 10, "limit": 5}, {"offset": 10, "limit": 5}, "b"),
        ({"offset": 5}, {"offset": 5}, "b"),
        ({"offset": 5}, {"offset": 6}, "ab"),
        ({"view_range": [5, 9]}, {"view_range": [1, -1]}, "b"),
        ({"view_range": [1, -1]}, {"view_range": [1, 99]}, "ab"),
        ({"start_line": 5, "end_line": 9}, {"offset": 5, "limit": 5}, "b"),
        ({"offset": "x", "limit": None}, {"offset": True}, "b"),
    ],
)
def test_the_later_range_has_to_cover_the_earlier(first, second, stays):
    messages = [*reading("a", "x", **first), *reading("b", "x", **second)]
    assert "".join(left(*messages)) == stays


def test_a_result_that_names_its_file_is_a_read():
    shown = [assistant(call("a", "fetch", q=1)), user(result("a", "x", path="/w/a.py"))]
    assert left(*shown, *reading("b", "x")) == ["b"]


def test_a_read_that_ends_at_the_limit_of_the_tool_is_no_full_one():
    assert left(*reading("a", "x"), *reading("b", NUMBERED)) == ["a", "b"]
    reminder = f"{NUMBERED}\n\n<system-reminder>\n{'Take care. ' * 60}\n</system-reminder>\n"
    assert left(*reading("a", "x"), *reading("b", reminder)) == ["a", "b"]


def test_a_read_that_was_cut_leaves_one_that_shows_more():
    small = "\n".join(NUMBERED.split("\n")[:400])
    cut = truncate(view(user("go"), *reading("b", small)), max_tokens=200).messages[1:]
    assert left(*reading("a", small), *cut) == ["a", "b"]
    assert left(*cut, *reading("c", small)) == ["c"]


@pytest.mark.parametrize("keep", ["both", "tail"])
def test_a_read_with_a_gap_shows_nothing_for_sure(keep):
    cut = truncate(view(user("go"), *reading("b", NUMBERED[:9000])), max_tokens=200, keep=keep)
    gapped = cut.messages[1:]
    assert left(*reading("a", "x", offset=1, limit=5), *gapped) == ["a", "b"]
    assert left(*gapped, *reading("c", "x", offset=1, limit=5)) == ["b", "c"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a.py", "/w/a.py"),
        ("./a.py", "/w/x/../a.py"),
        ("//w//a.py", "/w/a.py"),
        ("C:\\w\\a.py", "c:/W/A.py"),
        ("/w/é.py", "/w/e\u0301.py"),
    ],
)
def test_one_file_by_two_names_is_one_file(first, second):
    messages = [
        assistant(read("a", first, cwd="/w")),
        user(result("a", "x")),
        assistant(read("b", second, cwd="/w")),
        user(result("b", "x")),
    ]
    assert left(*messages) == ["b"]


@pytest.mark.parametrize(
    ("first", "second"), [("/w/a.py", "/w/A.py"), ("/w/a\\b", "/w/a/b"), ("/w/a.py", "/x/a.py")]
)
def test_two_files_of_similar_names_are_two_files(first, second):
    assert left(*reading("a", "x", path=first), *reading("b", "x", path=second)) == ["a", "b"]


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", "GEMINI.md", "SKILL.md"])
def test_files_of_standing_rules_are_protected(name):
    path = f"/w/deep/{name}"
    assert left(*reading("a", "x", path=path), *reading("b", "x", path=path)) == ["a", "b"]


def test_a_glob_protects_files():
    twice = [*reading("a", "x"), *reading("b", "x")]
    assert left(*twice, protect=["*.py"]) == ["a", "b"]
    assert left(*twice, protect=["*.rs"]) == ["b"]


def test_of_a_parallel_batch_only_the_superseded_read_goes():
    batch = [
        assistant("look", read("a"), call("s"), read("b", "/w/b.py")),
        user(result("b", "x"), result("a", "x"), result("s", "x"), "and now?"),
    ]
    change = dedup(view(user("go"), *batch, *reading("c", "x"), *END))
    assert ids(change.messages) == ["s", "b", "c"]
    assert ids(change.messages, "result") == ["b", "s", "c"]
    assert texts(change.messages) == ["go", "look", "and now?", "done"]


def test_two_reads_in_one_batch_are_one_too_many():
    batch = [assistant(read("a"), read("b")), user(result("a", "x"), result("b", "x"))]
    assert left(*batch) == ["b"]


def test_the_open_loop_is_not_touched():
    loop = [assistant(read("a"), read("b")), user(result("a", "x"), result("b", "x"))]
    change = dedup(view(user("go"), *loop))
    assert ids(change.messages) == ["a", "b"]


def test_a_read_in_the_open_loop_supersedes_one_before_it():
    change = dedup(view(user("go"), *reading("a", "x"), *reading("b", "x")))
    assert ids(change.messages) == ["b"]


def test_an_open_call_supersedes_nothing():
    change = dedup(view(user("go"), *reading("a", "x"), assistant(read("b"))))
    assert ids(change.messages) == ["a", "b"]


def test_a_message_left_with_nothing_but_thinking_goes():
    lonely = [assistant(thinking(), read("a")), user(result("a", "x"))]
    change = dedup(view(user("go"), *lonely, *reading("b", "x"), *END))
    assert roles(change.messages) == "uaua"


def test_reasoning_goes_with_the_call_that_it_led_to():
    answer = [assistant(thinking("one"), "look", thinking("two"), read("a"), thinking(), call("s"))]
    batch = [*answer, user(result("a", "x"), result("s", "x"))]
    change = dedup(view(user("go"), *batch, *reading("b", "x"), *END))
    said = [(block.kind, block.text or block.call_id) for block in change.messages[1].blocks]
    assert said[:3] == [("thinking", "one"), ("text", "look"), ("thinking", "hm")]
    assert ids(change.messages) == ["s", "b"]


def test_user_messages_that_meet_become_one():
    lonely = [assistant(read("a")), user(result("a", "x"), "next")]
    change = dedup(view(user("go"), *lonely, *reading("b", "x"), *END))
    assert roles(change.messages) == "uaua"
    assert [b.text for b in change.messages[0].blocks] == ["go", "next"]


def test_an_id_used_again_in_a_later_turn_is_another_call():
    assert left(*reading("a", "x"), *reading("a", "x", path="/w/b.py"), *reading("b", "x")) == [
        "a",
        "b",
    ]


def test_each_dropped_read_is_an_action_with_its_tokens():
    found = view(user("go"), *reading("a", "some words"), *reading("b", "some words"), *END)
    (action,) = dedup(found).actions
    (made,), (answer,) = found.messages[1].blocks, found.messages[2].blocks
    assert (action.call_id, action.tokens_before) == ("a", found.count(made) + found.count(answer))
    assert action.tokens_before > COUNTER.count("some words")


def test_a_text_beside_the_read_stays():
    said = [assistant(text("I look."), read("a")), user(result("a", "x"))]
    change = dedup(view(user("go"), *said, *reading("b", "x"), *END))
    assert "I look." in texts(change.messages)
