"""What no lossy layer may drop: requests, summaries that open the view, standing rules."""

from __future__ import annotations

import pytest
from helpers.builders import assistant, exchange, reading, result, system, text, user, view

from compactctl import placeholders, summaries
from compactctl.model import Block, Image
from compactctl.view import protected
from compactctl.view.index import View

RULE = "<system-reminder>\nuse tabs\n</system-reminder>"
IMAGE = Block("image", image=Image("image/png", 9, 20, 20))


def rules(view):
    return protected.Protected(view).rules


def at(messages, places):
    """The blocks at some places, in order, as their texts or kinds."""
    found = [messages[place.message].blocks[place.block] for place in sorted(places)]
    return [block.text or block.kind for block in found]


@pytest.mark.parametrize(
    "block",
    [
        text("mend it"),
        text(""),
        text("[compactctl: 3 earlier messages removed.]"),
        text("[compactctl: 3 earlier messages removed (00000000).]"),
        text("[compactctl: what does that mean?"),
        placeholders.of_image(IMAGE),
        text("/help me"),
        IMAGE,
        Block("other", type="document"),
    ],
    ids=lambda block: block.text or block.kind,
)
def test_what_a_person_sends_is_a_request(block):
    assert protected.is_request(block)


@pytest.mark.parametrize(
    "block",
    [
        result("c", "out"),
        text(RULE),
        text(f"\n  {RULE}"),
        text("<environment_context>\n</environment_context>"),
        text("<command-name>/clear</command-name>"),
        text("<local-command-stdout>x</local-command-stdout>"),
        text("<bash-input>ls</bash-input>"),
        text("# AGENTS.md instructions for /w"),
        text("Caveat: The messages below were generated"),
        text("[Request interrupted by user]"),
        text(placeholders.pruned(placeholders.Pruned(3, {placeholders.READ: ["a.py"]}))),
        text(placeholders.MISSING_START),
        text(placeholders.GAP),
        text(summaries.fence("sum")),
        text("mend it", meta=True),
    ],
    ids=lambda block: block.text[:30] or block.kind,
)
def test_what_a_harness_sends_is_none(block):
    assert not protected.is_request(block)


def test_the_first_request_is_the_first_message_with_one_and_the_one_that_opens_the_view():
    messages = [system("s"), user(RULE), assistant("x"), user("again", RULE, IMAGE), user("on")]
    assert at(messages, protected.first_request(messages)) == [RULE, "again", RULE, "image"]
    assert at(messages[3:], protected.first_request(messages[3:])) == ["again", RULE, "image"]


def test_without_a_request_the_first_words_of_the_user_count():
    messages = [user(RULE), assistant("x"), user(RULE)]
    assert at(messages, protected.first_request(messages)) == [RULE]


def test_results_are_no_part_of_the_first_request():
    messages = [assistant("x"), user(result("c", "out"), "go")]
    assert at(messages, protected.first_request(messages)) == ["go"]


@pytest.mark.parametrize("note", [placeholders.pruned(placeholders.Pruned(3)), placeholders.GAP])
def test_a_note_of_ours_in_front_of_it_does_not_take_its_place(note):
    opening = "<environment_context>\n</environment_context>"
    said = [assistant("x"), user(opening), assistant("y"), user("go")]
    alone = [user(note), *said]
    beside = [assistant("w"), user(result("c", "out"), note), *said]
    for messages in (said, alone, beside):
        first = at(messages, protected.first_request(messages))
        assert [words for words in first if words != note] == [opening, "go"]


@pytest.mark.parametrize(
    "summary", [text("sum", is_summary=True, meta=True), text(summaries.fence("sum"))]
)
def test_a_summary_that_opens_the_view_counts_as_the_first_request(summary):
    messages = [user(summary), assistant("x"), user("go")]
    assert at(messages, protected.first_request(messages)) == [summary.text]


def test_a_summary_that_stands_behind_the_first_request_stays_too():
    summary = text("sum", is_summary=True, meta=True)
    messages = [user("go"), system("s"), user(RULE, summary), assistant("x"), user("on", summary)]
    assert at(messages, protected.first_request(messages)) == ["go", "sum"]


def test_the_last_request_has_all_its_parts_and_nothing_of_the_harness():
    messages = [user("go"), assistant("x"), user("look", RULE, IMAGE), *exchange("c", "out")]
    assert at(messages, protected.last_request(messages)) == ["look", "image"]


def test_where_nobody_asked_there_is_no_last_request():
    assert protected.last_request([user(RULE), assistant("x"), user(result("c", "y"))]) == set()
    assert protected.last_request([]) == protected.first_request([]) == set()


def test_of_identical_rules_the_latest_counts():
    messages = [user(RULE), assistant("x"), user(RULE)]
    assert {place.message for place in rules(View(messages))} == {2}


def test_rules_that_differ_all_count():
    messages = [user(RULE), assistant("x"), user(RULE.replace("tabs", "spaces"))]
    assert {place.message for place in rules(View(messages))} == {0, 2}


def test_words_of_the_model_are_no_rules():
    assert rules(View([assistant(RULE)])) == set()


def test_a_read_of_rules_counts_with_its_call_and_only_the_latest_of_identical_ones():
    again = [*reading("a", "tabs", path="/w/AGENTS.md"), *reading("b", "tabs", path="/w/AGENTS.md")]
    assert {place.message for place in rules(view(*again).view)} == {2, 3}


def test_a_failed_read_of_rules_does_not_count():
    assert rules(View(reading("a", "no", path="/w/AGENTS.md", failed=True))) == set()


@pytest.mark.parametrize(
    "command", ["cat CLAUDE.md", "sed -n 1,80p /w/AGENTS.md", "cat x GEMINI.md"]
)
def test_rules_read_through_a_shell_count_with_their_call(command):
    messages = [user("go"), *exchange("a", "Use tabs.", command=command), assistant("x")]
    assert {place.message for place in rules(View(messages))} == {1, 2}


@pytest.mark.parametrize(
    "command",
    ["cat README.md", "grep tabs CLAUDE.md", "cat CLAUDE.md | head", "cat CLAUDE.md.orig", "ls"],
)
def test_other_commands_read_no_rules(command):
    assert rules(View([*exchange("a", "Use tabs.", command=command), assistant("x")])) == set()


def test_of_identical_rules_that_codex_read_the_latest_counts():
    head = "Chunk ID: {}\nWall time: 0.0{} seconds\nProcess exited with code 0\nOutput:\nUse tabs."
    reads = [
        message
        for number in (1, 2)
        for message in exchange(
            f"c{number}", head.format(number, number), tool="exec_command", cmd="cat AGENTS.md"
        )
    ]
    assert {place.message for place in rules(View(reads))} == {2, 3}
