"""What the ``openai`` format reads and writes back, and how a file's format is told."""

from __future__ import annotations

import json

import pytest
from helpers.builders import call, load, result, rewrite, text, texts, thinking

from compactctl import formats
from compactctl.errors import InputError
from compactctl.formats import detect
from compactctl.formats.base import Link
from compactctl.formats.openai import FORMAT as OPENAI
from compactctl.model import Block, Message, arguments, replace_blocks

DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP8z8AARAwQ"
    "CgAf7gMBJVKv4gAAAABJRU5ErkJggg=="
)


def says(role, content, **members):
    return {"role": role, "content": content, **members}


def calls(*ids, content=None, **members):
    made = [
        {
            "id": each,
            "type": "function",
            "function": {"name": "read_file", "arguments": '{"path": "a"}'},
        }
        for each in ids
    ]
    return says("assistant", content, tool_calls=made, **members)


def answer(call_id, content="ok", **members):
    return {
        "role": "tool",
        "tool_call_id": call_id,
        "name": "read_file",
        "content": content,
        **members,
    }


def raw(*records):
    return [json.dumps(record).encode() + b"\n" for record in records]


def read(*records):
    return load(raw(*records), "openai")


def kinds(*records):
    return [[b.kind for b in m.blocks] for m in read(*records).messages]


LISTED = [
    {"type": "text", "text": "what is this?", "cache_control": {"type": "ephemeral"}},
    {"type": "image_url", "image_url": {"url": DOT}},
    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
]
CHAT = (
    says("system", "rules"),
    says("developer", [{"type": "text", "text": "more rules"}]),
    says("user", LISTED, name="ann"),
    calls("a", "b", content="I look", reasoning_content="hm"),
    answer("a", "1"),
    answer("b", [{"type": "text", "text": "2"}], from_the_future=1),
    calls("a"),
    answer("a", {"rows": [1]}),
    calls("c", content="", refusal=None),
    answer("c", ""),
    says("assistant", None, function_call={"name": "f", "arguments": "{}"}),
    {"role": "function", "name": "f", "content": "3"},
    says(
        "assistant",
        None,
        tool_calls=[{"id": "d", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
    ),
    {"role": "tool", "tool_call_ids": ["d"], "content": "4"},
    says("assistant", None, refusal="no"),
    says("assistant", ""),
    says("critic", "unknown"),
)


@pytest.mark.parametrize(
    "record", [*CHAT, says("user", None), says("user", []), {"role": ["user"]}]
)
def test_what_is_not_touched_keeps_its_bytes_and_a_part_written_back_is_the_part(record):
    transcript = read(record)
    assert b"".join(rewrite(transcript, transcript.messages).chunks) == b"".join(raw(record))
    for message in transcript.messages:
        parts = OPENAI.parts(record)
        assert [OPENAI.edit(parts[b.at], b) for b in message.blocks] == parts
        assert OPENAI.replace_parts(record, parts) == record


def test_messages_are_read_in_order_and_results_behind_them_are_one():
    assert kinds(*CHAT) == [
        ["text"],
        ["text"],
        ["text", "image", "image", "document"],
        ["thinking", "text", "call", "call"],
        ["result", "result"],
        ["call"],
        ["result"],
        ["call"],
        ["result"],
        ["call"],
        ["result"],
        ["call"],
        ["result"],
        ["other"],
        ["text"],
    ]


def test_an_image_is_known_by_its_data_and_another_address_is_left_alone():
    blocks = read(says("user", LISTED)).messages[0].blocks
    assert [b.image and (b.image.width, b.image.height) for b in blocks[1:3]] == [(2, 2), None]


def test_each_result_has_the_id_of_its_call():
    blocks = [b for m in read(*CHAT).messages for b in m.blocks]
    asked = [b.call_id for b in blocks if b.kind == "call"]
    assert asked == [b.call_id for b in blocks if b.kind == "result"] == [*"abacfd"]
    assert arguments(next(b for b in blocks if b.tool == "sh")) == {"input": "ls"}


@pytest.mark.parametrize(
    ("told", "failed"),
    [
        (answer("a", "Error: no such file"), False),
        (answer("a", '{"error": null, "rows": []}'), False),
        (answer("a", '{"error": false}'), False),
        (answer("a", '[{"error": true}]'), False),
        (answer("a", '{"error": "no such file"}'), True),
        (answer("a", {"error": True}), True),
        (answer("a", '{"is_error": true}'), True),
        (answer("a", '{"error": tru'), False),
        (answer("a", "no", is_error=True), True),
        (answer("a", "Exit code: 2\nOutput:\nno"), True),
        (answer("a", "Exit code: 0\nOutput:\nno"), False),
        (answer("a", [{"type": "text", "text": "Process exited with code 1\n"}]), True),
        (answer("a", None), False),
    ],
)
def test_a_result_failed_when_it_says_so_in_a_form_of_its_own(told, failed):
    assert read(calls("a"), told).messages[1].blocks[0].failed is failed


def left(record, *stay):
    """The line when only the blocks at these places stay."""
    transcript = read(record)
    message = transcript.messages[0]
    kept = replace_blocks(message, [message.blocks[at] for at in stay])
    return [json.loads(each) for each in rewrite(transcript, [kept]).lines()]


def test_a_call_goes_without_the_text_beside_it_and_the_text_without_the_call():
    whole = calls("a", "b", content="I look", reasoning_content="hm", x=1)
    assert left(whole, 0, 1, 3) == [calls("b", content="I look", reasoning_content="hm", x=1)]
    assert left(whole, 1) == [says("assistant", "I look", x=1)]
    assert left(whole, 2, 3) == [calls("a", "b", x=1)]


def test_a_line_whose_blocks_all_went_goes():
    transcript = read(says("user", "x"), calls("a", content=""), answer("a"))
    assert rewrite(transcript, transcript.messages[:1]).lines() == raw(says("user", "x"))


@pytest.mark.parametrize(
    ("told", "new"),
    [
        ("long", "short"),
        ([{"type": "text", "text": "long", "x": 1}], [{"type": "text", "text": "short", "x": 1}]),
        ({"rows": [1]}, "short"),
    ],
)
def test_a_result_keeps_its_form_when_it_is_cut(told, new):
    transcript = read(calls("a"), answer("a", told, x=1))
    old = transcript.messages[1].blocks[0]
    cut = Block("result", call_id="a", content=(Block("text", "short", entry=1),), entry=1)
    lines = rewrite(
        transcript, [transcript.messages[0], replace_blocks(transcript.messages[1], [cut])]
    ).lines()
    assert json.loads(lines[1]) == answer("a", new, x=1)
    assert old.content[0].text != "short"


def test_a_text_beside_results_gets_a_line_of_its_own():
    transcript = read(calls("a"), answer("a"), says("assistant", "done"))
    asked, told, done = transcript.messages
    lines = rewrite(transcript, [asked, Message("user", (*told.blocks, text("new"))), done]).lines()
    assert json.loads(lines.pop(2)) == says("user", "new")
    assert lines == raw(calls("a"), answer("a"), says("assistant", "done"))


def test_new_messages_read_back():
    made = [thinking("hm"), text("one"), text("two"), call("a", path="x")]
    lines = [
        *OPENAI.create("assistant", made, {}, Link("", None)),
        *OPENAI.create("user", [result("a", "1", path="/w/x"), text("go on")], {}, Link("", None)),
    ]
    asked, told = read(*lines).messages
    assert [(b.kind, b.call_id) for b in asked.blocks] == [(b.kind, b.call_id) for b in made]
    assert (told.blocks[0].path, texts([told])) == ("/w/x", ["go on"])


USER = says("user", "hi")


@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("openai", [USER, says("system", "s")]),
        ("openai", [*[USER, says("assistant", "x")] * 150, calls("a")]),
        ("openai", [says("developer", "s"), USER]),
        ("openai", [USER, calls("a"), answer("a")]),
        ("openai", [USER, says("assistant", "x", tool_calls=[])]),
        ("messages", [USER, says("assistant", "x")]),
        (
            "messages",
            [says("user", '{"role":"tool"}'), says("assistant", "x", meta={"role": "tool"})],
        ),
        ("messages", [says("user", [{"type": "tool_result", "tool_use_id": "a", "content": "x"}])]),
        ("messages", [says("system", "s"), says("assistant", [{"type": "tool_use", "id": "a"}])]),
    ],
)
def test_what_only_one_api_has_tells_the_format(name, records):
    assert detect.format_of(raw(*records)) is formats.load(name)


@pytest.mark.parametrize(("few", "name"), [(20, "messages"), (19, "openai")])
def test_twenty_of_the_first_records_settle_the_format(few, name):
    asked = says("user", [{"type": "tool_result", "tool_use_id": "a", "content": "x"}])
    others = [{"n": n} for n in range(30 - few)]
    later = [says("assistant", None, tool_calls=[]) for _ in range(40)]
    records = [*others, *[asked] * few, *others, *later]
    assert detect.format_of(raw(*records)) is formats.load(name)


@pytest.mark.parametrize("kind", ["compactctl.fact", "summary"])
def test_any_number_of_records_that_prove_nothing_may_come_first(kind):
    records = [*[{"type": kind}] * 500, USER, says("assistant", "x")]
    assert detect.format_of(raw(*records)) is formats.load("messages")


def pretty(value):
    return json.dumps(value, indent=1).encode().splitlines(keepends=True)


@pytest.mark.parametrize("spell", [pretty, raw])
@pytest.mark.parametrize(
    ("document", "advice"),
    [
        ([USER, USER], "jq -c '.[]' FILE"),
        ([], "jq -c '.[]' FILE"),
        ([{"task_id": 0, "traj": [USER]}], "jq -c '.[0].traj[]' FILE"),
        ({"model": "m", "messages": [USER]}, "jq -c '.messages[]' FILE"),
        ({"loglines": [{"type": "user"}]}, "jq -c '.loglines[]' FILE"),
        ({"trajectory": [], "history": [USER]}, "jq -c '.history[]' FILE"),
        (
            {"sessionId": "s", "projectHash": "p", "messages": []},
            "Gemini CLI, which is not supported",
        ),
        ({"messages": [{"type": "user", "content": "hi"}]}, "Gemini CLI, which is not supported"),
        ({"messages": [{"info": {}, "parts": []}]}, "OpenCode, which is not supported"),
    ],
)
def test_a_document_is_refused_with_the_command_that_makes_lines_of_it(spell, document, advice):
    with pytest.raises(InputError, match=r"FILE|not supported") as refused:
        detect.format_of(spell(document))
    assert str(refused.value).endswith(advice)


def test_a_message_over_several_lines_is_refused_and_on_one_line_is_a_message():
    assert detect.format_of(raw(says("system", "s"))) is OPENAI
    with pytest.raises(InputError, match=r"jq -c \. FILE$"):
        detect.format_of(pretty(says("system", "s")))


def test_many_sessions_in_one_file_are_taken_one_by_one():
    with pytest.raises(InputError, match=r"sed -n 1p FILE \| jq -c '\.messages\[\]'$"):
        detect.format_of(raw({"messages": [USER]}, {"messages": [USER]}))


@pytest.mark.parametrize("odd", [b"[1, 2]\n", b'{"torn": \n', b"[1,\n", b"\0\0\n"])
def test_an_odd_first_line_makes_no_document_of_a_file(odd):
    assert detect.format_of([odd, *raw(USER)]) is formats.load("messages")
