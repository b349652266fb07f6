"""What broke sessions in the field: calls and results."""

from __future__ import annotations

import pytest
from helpers.builders import COUNTER
from helpers.field import (
    THOUGHT,
    Harness,
    answer,
    asked,
    assistant,
    chat,
    chat_call,
    found,
    lines,
    mended,
    output,
    records_of,
    text,
    tool,
    use,
    user,
    view,
    words,
)

from compactctl import pipeline
from compactctl.errors import InvalidTranscriptError
from compactctl.rules.check import breaks_pairs, problems
from compactctl.rules.findings import find
from compactctl.transcript import loading

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
}


@pytest.mark.parametrize("row", PLAIN)
def test_a_plain_list(row):
    records, expected = PLAIN[row]
    assert found(records) == expected


def test_b02_what_can_be_resumed_is_valid():
    records, _ = PLAIN["B02 stopped in two calls"]
    read = loading.load(lines(*records), "f", "messages")
    assert not any(map(breaks_pairs, problems(read.messages, "anthropic")))
    assert {f.severity for f in find(read, "anthropic")} == {"warning"}
    assert {f.severity for f in find(read, "anthropic", sendable=True)} == {"error"}


def test_b19_gateways_mind_a_text_behind_a_call():
    records, _ = PLAIN["B19 a text behind a call"]
    assert [rule for rule, *_ in found(records, profile="gateway")] == ["GATE-03"]


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
    assert [each[:2] for each in found(records, "openai")] == expected


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
    "parallel calls": ([asked("1"), asked("2"), output("1"), output("2")], []),
}


@pytest.mark.parametrize("row", ROLLOUTS)
def test_a_rollout(row):
    records, expected = ROLLOUTS[row]
    every = found([words("user", "u"), *records], "codex")
    assert [each[:2] for each in every] == expected


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


BATCH = [
    user("u"),
    assistant(use("A"), use("B")),
    user([answer("A", "a " * 99)]),
    user([answer("B", "b " * 99)]),
    assistant(text("one")),
    user("v"),
    assistant(use("C"), use("D")),
    user(answer("D"), answer("C"), text("w")),
    assistant(text("two")),
]
CUTS = [
    *(("prune", {"keep_messages": many}) for many in range(1, 9)),
    *(("prune", {"keep_turns": many}) for many in range(1, 5)),
    *(("prune", {"mode": "snip", "head": head, "max_messages": 4}) for head in range(4)),
    *(("summarize", {"keep_messages": m, "summarizer": "template"}) for m in range(1, 9)),
]


@pytest.mark.parametrize(("layer", "options"), CUTS, ids=str)
def test_b04_b06_no_cut_parts_a_batch(layer, options):
    read = loading.load(lines(*BATCH), "f", "messages")
    result = pipeline.run(read, (layer,), {layer: options}, COUNTER)
    raw = result.written().lines()
    every = find(loading.load(raw, "f", "messages"), "anthropic")
    assert not [each for each in every if each.severity == "error"]


@pytest.mark.parametrize("layer", ["prune", "summarize", "dedup"])
def test_b08_an_open_turn_is_kept_word_for_word(layer):
    records = [*BATCH, user("x"), assistant(text("t"), use("E"), use("F")), user([answer("E")])]
    raw = lines(*records)
    options = {"prune": {"keep_turns": 1}, "summarize": {"keep_messages": 1}}
    given = options.get(layer, {}) | ({"summarizer": "template"} if layer == "summarize" else {})
    result = pipeline.run(loading.load(raw, "f"), (layer,), {layer: given}, COUNTER)
    assert [*result.written().lines()][-2:] == raw[-2:]


def test_b07_b08_a_broken_view_is_refused_not_made_smaller():
    read = loading.load(lines(*BATCH[:3], user("go on")), "f")
    with pytest.raises(InvalidTranscriptError, match="PAIR-01 B"):
        pipeline.run(read, ("prune",), {}, COUNTER)


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
HOISTED = [
    user("u"),
    chat(chat_call("1"), chat_call("2")),
    tool("1"),
    user(IMAGE),
    tool("2"),
    user("v"),
]


def test_b20_an_image_hoisted_into_a_run_of_results_goes_behind_it():
    assert [each[:2] for each in found(HOISTED, "openai")] == [("PAIR-06", 5)]
    done = mended(HOISTED, "openai")
    assert [r["role"] for r in records_of(done)] == [
        "user",
        "assistant",
        *["tool"] * 2,
        *["user"] * 2,
    ]
    assert view(done.after)[-1][:3] == ("u", "1", "2")


@pytest.mark.parametrize("keep", range(1, 8))
def test_b20_no_cut_takes_the_result_from_a_hoisted_image(keep):
    run = [chat(chat_call("1")), tool("1"), user(IMAGE)]
    rest = [{"role": "assistant", "content": "a"}, user("v"), {"role": "assistant", "content": "b"}]
    read = loading.load(lines(user("u"), *run, *rest, user("w")), "f", "openai")
    result = pipeline.run(read, ("prune",), {"prune": {"keep_messages": keep}}, COUNTER)
    assert not found(result.written().lines(), "openai")
