"""What the ``events`` format reads and writes back."""

from __future__ import annotations

import json

import msgspec
import pytest
from helpers.builders import COUNTER, TIGHT, call, load, result, rewrite, text, thinking
from hypothesis import given
from hypothesis import strategies as st

from compactctl import pipeline
from compactctl.durable.resolver import SourcePointerResolver
from compactctl.formats import detect
from compactctl.formats.base import Link
from compactctl.formats.events import FORMAT as EVENTS
from compactctl.model import MADE, Block, Message, result_text
from compactctl.rules import findings
from compactctl.rules.check import problems
from compactctl.transcript.loading import session

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP8z8AARAwQ"
    "CgAf7gMBJVKv4gAAAABJRU5ErkJggg=="
)


def said(role, content, **members):
    return {"type": "message", "role": role, "content": content} | members


def reasoned(content):
    return {"type": "reasoning", "content": content}


def called(call_id, name="read_file", arguments='{"path":"a"}'):
    return {"type": "function_call", "name": name, "arguments": arguments, "callId": call_id}


def answered(call_id, output="ok"):
    return {"type": "function_call_result", "callId": call_id, "output": output}


def numbered(*payloads):
    """Put payloads into the envelope."""
    return [
        {
            "schema_version": 1,
            "sequence": number,
            "recorded_at": "2026-03-07T08:05:16Z",
            "session_id": "s-1",
            "event_id": f"transcript:s-1:{number}",
        }
        | payload
        for number, payload in enumerate(payloads, 1)
    ]


def raw(records):
    return [json.dumps(r, separators=(",", ":")).encode() + b"\n" for r in records]


def read(*payloads):
    return load(raw(numbered(*payloads)), "events")


def shape(transcript):
    return [(m.role, [b.kind for b in m.blocks]) for m in transcript.messages]


def told(messages):
    return [[result_text(b) if b.kind == "result" else b.text for b in m.blocks] for m in messages]


def written(payloads, view):
    """The records after a change of the view."""
    transcript = read(*payloads)
    return [json.loads(line) for line in rewrite(transcript, view(transcript.messages)).lines()]


def errors(transcript):
    found = problems(transcript.messages, "anthropic", transcript=transcript)
    return [p.rule for p in found if p.severity == "error"]


# --- reading


def test_each_message_is_as_it_is():
    transcript = read(said("system", "be kind"), said("user", "hi"), said("assistant", "yes?"))
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant"]
    assert told(transcript.messages) == [["be kind"], ["hi"], ["yes?"]]


def test_a_batch_of_calls_is_one_message_and_its_results_another():
    transcript = read(
        said("user", "go"),
        reasoned("hm"),
        said("assistant", "I look."),
        called("a"),
        reasoned("and"),
        called("b"),
        answered("b"),
        answered("a"),
        said("user", "well?"),
    )
    assert shape(transcript) == [
        ("user", ["text"]),
        ("assistant", ["thinking", "text", "call", "thinking", "call"]),
        ("user", ["result", "result", "text"]),
    ]
    assert errors(transcript) == []


def test_calls_that_were_answered_one_by_one_are_messages_of_their_own():
    transcript = read(said("user", "go"), called("a"), answered("a"), called("b"), answered("b"))
    assert "".join(m.role[0] for m in transcript.messages) == "uauau"


def test_events_outside_the_conversation_part_nothing():
    snapshot = {"type": "file-history-snapshot", "path": "a", "hash": "0"}
    transcript = read(
        said("user", "go"), called("a"), snapshot, called("b"), answered("a"), answered("b")
    )
    assert errors(transcript) == []
    assert len(transcript.messages) == 3


@pytest.mark.parametrize("kind", ["file-history-snapshot", "ai-title", "from-the-future"])
def test_events_of_other_types_stay_outside(kind):
    other = {"type": kind, "title": "t", "content": "x", "role": "user", "output": "x"}
    assert told(read(other, said("user", "hi")).messages) == [["hi"]]


def test_a_mark_of_this_tool_starts_the_view_anew():
    records = numbered(called("a"), said("user", "two"), called("a"), answered("a"))
    lines = raw([records[0], {"type": "compactctl.compaction"}, *records[1:]])
    assert told(load(lines, "events").messages) == [["two"], ['{"path":"a"}'], ["ok"]]


@pytest.mark.parametrize(
    ("arguments", "read_as"),
    [
        ('{"path": "a"}', '{"path": "a"}'),
        ({"path": "a"}, '{"path":"a"}'),
        ("not json", "not json"),
        ("", ""),
    ],
)
def test_arguments_are_json_text_or_the_object_itself(arguments, read_as):
    (message,) = read(called("a", arguments=arguments)).messages
    assert message.blocks[0].text == read_as


def test_a_content_can_be_a_list():
    parts = [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": PNG},
        {"type": "text", "text": "this"},
    ]
    (message,) = read(said("user", parts)).messages
    assert [(b.kind, b.text) for b in message.blocks] == [
        ("text", "see"),
        ("image", ""),
        ("text", "this"),
    ]
    assert message.blocks[1].image.width == 2


def replies(output):
    return read(said("user", "go"), called("a"), answered("a", output)).messages[2].blocks[0]


@pytest.mark.parametrize(
    ("output", "read_as"),
    [
        ("as it is", ["as it is"]),
        ({"exit_code": 0, "stdout": "x"}, ['{"exit_code":0,"stdout":"x"}']),
        ({"content": "x"}, ['{"content":"x"}']),
        (["a", "b"], ['["a","b"]']),
        (5, ["5"]),
        (None, []),
        ({"type": "text", "text": "x"}, ["x"]),
        ([{"type": "input_text", "text": "x"}, {"type": "text", "text": "y"}], ["x", "y"]),
        ({"content": "x", "is_error": False}, ["x"]),
    ],
)
def test_an_output_is_a_text_parts_or_read_as_json(output, read_as):
    assert [piece.text for piece in replies(output).content] == read_as


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ({"error": True}, True),
        ({"is_error": True, "message": "x"}, True),
        ({"error": "no such file"}, True),
        ({"error": False, "is_error": False}, False),
        ({"error": None, "errors": True}, False),
        ({"exit_code": 1}, False),
        ("Process exited with code 1\nOutput:\nboom", True),
        ("Chunk ID: ab\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nok", False),
        ("Chunk ID: ab\nWall time: 0.1 seconds\nProcess exited with code 127\nOutput:\n", True),
        ("Exit code: 2\nWall time: 0 seconds\nOutput:\n", True),
        ("Exit code: 0\nOutput:\nExit code: 2", False),
        ("the log says\nExit code: 2", False),
        ([{"type": "text", "text": "Exit code: 1\nOutput:\n"}], True),
        ({"content": "Exit code: 1", "is_error": False}, False),
        ({"content": "fine", "is_error": True}, True),
        ("boom", False),
        (None, False),
    ],
)
def test_an_output_tells_whether_its_call_failed(output, failed):
    assert replies(output).failed is failed


@pytest.mark.parametrize("odd", [None, 5, [], {}, "x", [[]], [5], {"type": 5}])
def test_members_of_any_type_are_survived(odd):
    read(
        said(odd, odd),
        said("user", odd),
        said("assistant", odd),
        {"type": odd},
        reasoned(odd),
        called(odd, odd, odd),
        answered(odd, odd),
    )


# --- what is told apart from the view


def test_a_session_is_recognised_by_its_envelope():
    lines = raw(numbered(said("user", "hi"), said("assistant", "yes?"), said("user", "go")))
    assert detect.format_of(lines) is EVENTS
    assert session(load(lines)) == "s-1"


def test_lines_that_a_layer_made_are_recognised_too():
    lines = raw(EVENTS.create("user", [text("hi")], {}, Link("", None)))
    assert detect.format_of(lines) is EVENTS


def test_a_gap_in_the_sequence_numbers_is_a_warning():
    lines = raw(numbered(said("user", "hi"), said("assistant", "yes?"), said("user", "go")))
    (found,) = findings.find(load([lines[0], lines[2]], "events"), "anthropic")
    assert (found.rule, found.severity, found.line) == ("FILE-16", "warning", 2)


# --- writing


def test_an_untouched_session_leaves_byte_for_byte():
    lines = [
        line.replace(b"{", b'{ "n":1e5,"u":"\\u00e9", ', 1)
        for line in raw(numbered(said("user", "hi"), called("a"), answered("a", {"x": 1.0})))
    ]
    transcript = load(lines, "events")
    assert rewrite(transcript, list(transcript.messages)).chunks == lines


def cut(view, words="short"):
    """Replace the first text of the result in the last message."""
    block = view[-1].blocks[0]
    first, *rest = block.content
    short = msgspec.structs.replace(first, kind="text", text=words)
    new = msgspec.structs.replace(block, content=(short, *rest))
    return [*view[:-1], Message("user", (new,))]


ASKED = (said("user", "go"), called("a"))


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("long", "short"),
        ({"stdout": "long"}, "short"),
        ({"type": "text", "text": "long", "x": 1}, {"type": "text", "text": "short", "x": 1}),
        (
            [{"type": "text", "text": "long"}, {"type": "input_image", "image_url": PNG}],
            [{"type": "text", "text": "short"}, {"type": "input_image", "image_url": PNG}],
        ),
        ({"error": True, "m": "long"}, {"content": "short", "is_error": True}),
        ("Exit code: 1\nOutput:\nlong", {"content": "short", "is_error": True}),
        ({"content": "long", "is_error": True}, {"content": "short", "is_error": True}),
    ],
)
def test_a_result_that_was_cut_still_tells_whether_its_call_failed(output, expected):
    before = replies(output)
    records = written([*ASKED, answered("a", output)], cut)
    assert records[2] == numbered(*ASKED, answered("a", expected))[2]
    after = load(raw(records), "events").messages[2].blocks[0]
    assert (after.failed, after.content[0].text) == (before.failed, "short")


def test_a_cut_that_looks_like_a_failure_is_told_not_to_be_one():
    records = written([*ASKED, answered("a", "long")], lambda v: cut(v, "Exit code: 1\nOutput:"))
    assert records[2]["output"] == {"content": "Exit code: 1\nOutput:", "is_error": False}


def test_lines_that_stay_keep_their_numbers():
    payloads = [*ASKED, answered("a"), said("assistant", "done"), said("user", "more")]
    records = written(payloads, lambda view: [view[0], *view[3:]])
    assert [record["sequence"] for record in records] == [1, 4, 5]


def test_a_call_and_its_result_can_be_given_another_id():
    def rename(view):
        return [
            Message(m.role, tuple(msgspec.structs.replace(b, call_id="b") for b in m.blocks))
            for m in view
        ]

    records = written([called("a"), answered("a")], rename)
    assert [record["callId"] for record in records] == ["b", "b"]


def test_a_text_of_a_message_can_go_or_be_replaced():
    parts = [{"type": "input_text", "text": "one", "x": 1}, {"type": "input_text", "text": "two"}]

    def second(view):
        return [Message("user", view[0].blocks[1:])]

    def louder(view):
        first, rest = view[0].blocks
        return [Message("user", (msgspec.structs.replace(first, text="ONE"), rest))]

    assert written([said("user", parts)], second)[0]["content"] == parts[1:]
    assert written([said("user", parts)], louder)[0]["content"] == [
        parts[0] | {"text": "ONE"},
        parts[1],
    ]
    assert written([said("user", "one")], lambda v: [_loud(v[0])])[0]["content"] == "ONE"


def _loud(message):
    return Message("user", (msgspec.structs.replace(message.blocks[0], text="ONE"),))


def test_new_events_forge_no_number_and_no_id():
    records = written(
        [said("user", "go"), said("assistant", "yes?")],
        lambda view: [view[0], Message("assistant", (thinking("hm"), text("so"), call("c")))],
    )
    assert [record["type"] for record in records] == [
        "message",
        "reasoning",
        "message",
        "function_call",
    ]
    for record in records[1:]:
        assert not {"sequence", "event_id"} & record.keys()
        assert (record["schema_version"], record["session_id"]) == (1, "s-1")


def test_a_new_line_can_not_be_pointed_at_as_another(tmp_path):
    records = written([*ASKED, answered("a"), said("user", "more")], lambda v: [*_put(v)])
    (tmp_path / "s-1.jsonl").write_bytes(b"".join(raw(records)))
    resolver = SourcePointerResolver(tmp_path)
    found = [resolver.resolve(f"transcript:s-1:{n}").status for n in (1, 2, 3)]
    assert found == ["available", "available", "corrupt"]


def _put(view):
    yield view[0]
    yield Message("user", (text("note"),))
    yield from view[1:]


BLOCKS = [
    text("words"),
    result("a", "one"),
    result("a", "one", "two"),
    result("a", "boom", failed=True),
    result("a", "Exit code: 1\nOutput:"),
    result("a", "Exit code: 1\nOutput:", failed=True),
    result("a", "[]"),
    Block("result", call_id="a"),
    Block("result", call_id="a", failed=True),
    Block("result", call_id="a", content=(text("see"), Block("image"))),
    Block("image"),
    Block("other", "x", type="hologram"),
]


@pytest.mark.parametrize("made", [*[[b] for b in BLOCKS], BLOCKS, BLOCKS[::-1]])
def test_user_blocks_of_any_kind_are_read_back_as_they_were_made(made):
    new = EVENTS.create("user", made, {"session_id": "s"}, Link("", None))
    (view,) = load(raw(new), "events").messages
    assert [plain(b) for b in view.blocks] == [plain(b) for b in made]


def test_what_the_model_says_is_read_back_as_it_was_made():
    made = [thinking("hm"), text("so"), text("well"), call("a", path="x"), call("b"), text("!")]
    (view,) = load(raw(EVENTS.create("assistant", made, {}, Link("", None))), "events").messages
    assert [plain(b) for b in view.blocks] == [plain(b) for b in made]


def plain(block):
    pieces = [plain(piece) for piece in block.content]
    return block.kind, block.text, block.call_id, block.tool, block.type, pieces, block.failed


TEXTS = st.sampled_from(["", "x", "Exit code: 1\nOutput:", '{"error":true}', "[1]", "5", "é\u2028"])
OUTPUTS = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "is_error", "error", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@given(output=OUTPUTS, words=TEXTS, failed=st.booleans())
def test_any_output_that_is_changed_is_read_back_as_it_was_written(output, words, failed):
    transcript = read(called("a"), answered("a", output))
    block = transcript.messages[1].blocks[0]
    pieces = [
        msgspec.structs.replace(b, kind="text", text=words, type="") if b.kind == "text" else b
        for b in block.content
    ]
    for content in (pieces, [Block("text", words)], pieces[:1], []):
        new = msgspec.structs.replace(block, content=tuple(content), failed=failed)
        view = [transcript.messages[0], Message("user", (new,))]
        again = load(rewrite(transcript, view).lines(), "events").messages[1].blocks[0]
        assert plain(again) == plain(new)


LAYERS = TIGHT | {"prune": {"keep_turns": 2}}


@pytest.mark.parametrize("names", [*((name,) for name in LAYERS), tuple(LAYERS)], ids="-".join)
def test_layers_leave_a_session_that_is_read_back_the_same(names):
    payloads = [said("user", "mend it")]
    for number in range(6):
        payloads += [said("assistant", f"I look, {number}."), called(f"c{number}")]
        payloads += [answered(f"c{number}", {"stdout": "words " * 90, "error": number == 3})]
    payloads += [said("assistant", "done"), said("user", "and now?"), said("assistant", "on it")]
    once = pipeline.run(read(*payloads), names, LAYERS, COUNTER)
    again = load(once.written().lines(), "events")
    assert [[plain(b) for b in m.blocks] for m in again.messages] == [
        [plain(b) for b in m.blocks] for m in once.messages
    ]
    assert errors(again) == []
    assert all(b.entry != MADE for m in again.messages for b in m.blocks)
