"""Any JSON value in the place of any member of any line: a plain answer, never an exception."""

from __future__ import annotations

import json
from collections import Counter as Multiset
from pathlib import Path

import pytest
from helpers.builders import (
    COUNTER,
    TIGHT,
    assistant,
    call,
    lines,
    load,
    read,
    result,
    thinking,
    user,
)
from helpers.strategies import transcripts
from hypothesis import assume, given
from hypothesis import strategies as st

from compactctl import formats, layers, pipeline, slim, stats
from compactctl.errors import CompactctlError, InputError
from compactctl.repair.engine import repair
from compactctl.rules import findings
from compactctl.rules.check import breaks_pairs, problems
from compactctl.rules.rule import PROFILES

SAMPLES = Path(__file__).resolve().parents[1] / "sample_transcripts"
LONG = "word " * 300

WORDS = ("", " ", "a", "1", "toolu_0", "user", "assistant", "tool_result", "text", "message")
ODD = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from((0, -1, 1, 2**70, 0.5, 1e300)),
        st.sampled_from(WORDS),
        st.just("é\u2028\x00"),
        st.builds(list),
        st.builds(dict),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(("type", "text", "id", "content", "url", "x")), inner),
    ),
    max_leaves=4,
)


def conversation():
    """A bit of everything that a line can hold."""
    return [
        user("one", "two"),
        assistant(thinking(), "so", read("toolu_0"), call("toolu_1", command="make")),
        user(result("toolu_0", LONG), result("toolu_1", "no", failed=True), "three"),
        assistant("four", read("toolu_2")),
        user(result("toolu_2", LONG)),
        assistant("five"),
        user("six"),
    ]


def places(value, path=()):
    """Every path into a JSON value, its own first."""
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def replaced(value, path, new):
    """A copy of a JSON value with another one at a path."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@st.composite
def odd_files(draw, name):
    """The lines of a format with an odd value in a few places of them."""
    samples = (SAMPLES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    whole = draw(
        st.sampled_from(
            (lines(*conversation(), format_name=name), samples[:30], samples[-30:], EXTRA[name])
        )
    )
    whole = whole or draw(transcripts(name)).lines
    records = [json.loads(line) for line in whole if readable(line)]
    assume(records)  # two records on one line are none
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(records) - 1))
        path = draw(st.sampled_from([*places(records[at])]))
        records[at] = replaced(records[at], path, draw(ODD))
    return [json.dumps(record).encode() + b"\n" for record in records]


def readable(line):
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def dumped(*records):
    return [json.dumps(record).encode() + b"\n" for record in records]


CODEX_MARK = {
    "type": "compacted",
    "payload": {
        "message": "s",
        "replacement_history": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "done"},
            {"type": "compaction", "encrypted_content": "x"},
        ],
    },
}
EXTRA = {
    **dict.fromkeys(formats.names(), ()),
    "claude-code": dumped(
        {"type": "user", "uuid": "a", "parentUuid": None, "message": {"content": "x"}},
        {"type": "user", "uuid": "b", "parentUuid": "a", "message": {"content": "y"}},
        {"type": "user", "uuid": "c", "parentUuid": "a", "message": {"content": "z"}},
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "d",
            "parentUuid": None,
            "logicalParentUuid": "c",
            "microcompactMetadata": {"compactedToolIds": ["t"]},
            "compactMetadata": {
                "preservedMessages": {"anchorUuid": "e", "uuids": ["c", "c"]},
                "preservedSegment": {"anchorUuid": "e", "headUuid": "c", "tailUuid": "c"},
            },
        },
        {
            "type": "user",
            "uuid": "e",
            "parentUuid": "d",
            "isCompactSummary": True,
            "message": {"role": "user", "content": "so far"},
        },
        {"type": "progress", "uuid": "f", "parentUuid": "e"},
        {"type": "user", "uuid": "g", "parentUuid": "e", "message": {"content": ["v", {}]}},
        {"type": "user", "uuid": "h", "parentUuid": "e", "message": {"content": "w"}},
    ),
    "codex": dumped(
        {"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}},
        CODEX_MARK,
        {
            "type": "response_item",
            "payload": {"type": "local_shell_call", "call_id": "l", "action": {"command": ["a"]}},
        },
        {
            "type": "response_item",
            "payload": {"type": "function_call_output", "call_id": "l", "output": {"content": 1}},
        },
        {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
        {
            "type": "response_item",
            "payload": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}]},
        },
        {
            "type": "response_item",
            "payload": {"type": "tool_search_output", "call_id": "q", "tools": [{"name": "n"}]},
        },
    ),
    "openai": dumped(
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": '{"error": true}'},
        {
            "role": "assistant",
            "reasoning_content": "r",
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "n", "input": "i"}}],
        },
        {"role": "tool", "tool_call_ids": ["c"], "content": [{"type": "text", "text": "t"}]},
        {"role": "assistant", "refusal": "no"},
    ),
    "pi": dumped(
        {"type": "session", "id": "s", "timestamp": "", "cwd": "/w"},
        {"type": "message", "id": "a", "parentId": None, "timestamp": "", "message": {
            "role": "bashExecution", "command": "ls", "output": "a", "exitCode": 1}},
        {"type": "compaction", "id": "b", "parentId": "a", "timestamp": "", "summary": "s",
         "firstKeptEntryId": "a", "firstKeptEntryIndex": 1},
        {"type": "custom_message", "id": "c", "parentId": "b", "timestamp": "", "content": ["x"]},
        {"type": "message", "id": "d", "parentId": "c", "timestamp": "", "message": {
            "role": "assistant", "stopReason": "stop", "usage": {"input": 1}, "content": [
                {"type": "toolCall", "id": "t", "name": "read", "arguments": {"path": "a"}}]}},
        {"type": "message", "id": "e", "parentId": "d", "timestamp": "", "message": {
            "role": "toolResult", "toolCallId": "t", "content": [{"type": "text", "text": "r"}]}},
    ),
}  # fmt: skip


def errors(found):
    return Multiset(
        problem.rule
        for problem in problems(found.messages, found.format.profile, transcript=found)
        if problem.severity == "error"
    )


@pytest.mark.parametrize("name", formats.names())
@given(data=st.data())
def test_an_odd_member_is_found_or_mended_or_refused_in_plain_words(name, data):
    odd = data.draw(odd_files(name))
    for form in (name, None):
        try:
            found = load(odd, form)
        except InputError:
            continue
        for profile in PROFILES:
            findings.find(found, profile, sendable=True)
        done = repair(odd, "f", form)
        assert done.left or not repair(done.lines, "f", form).fixes
        stats.stats(found, COUNTER)


@pytest.mark.parametrize("layer", layers.ORDER)
@pytest.mark.parametrize("name", formats.names())
@given(data=st.data())
def test_a_layer_makes_no_odd_file_worse(name, layer, data):
    odd = data.draw(odd_files(name))
    try:
        found = load(odd, name)
        result = pipeline.run(found, (layer,), {layer: TIGHT[layer]}, COUNTER)
        done = result.written()
    except CompactctlError:
        return
    slim.slim(result)
    again = load(done.lines(), name)
    assert errors(again).total() <= errors(found).total()
    judged = problems(again.messages, again.format.profile, transcript=again)
    assert not [problem for problem in judged if breaks_pairs(problem)]
