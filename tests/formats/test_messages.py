"""What the ``messages`` format reads and writes back."""

from __future__ import annotations

import json

import msgspec
import pytest
from helpers.builders import COUNTER, TIGHT, call, load, result, rewrite, text, thinking

from compactctl import pipeline
from compactctl.formats import anthropic_parts, detect
from compactctl.formats.base import Link
from compactctl.formats.messages import FORMAT as MESSAGES
from compactctl.model import Block, Message

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP8z8AARAwQCgAf7gMBJVKv4gAAAABJRU5E"
    "rkJggg=="
)
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def words(said, **members):
    return {"type": "text", "text": said} | members


def asks(content, **members):
    return {"role": "user", "content": content} | members


def says(*parts):
    return {"role": "assistant", "content": list(parts)}


def use(call_id, name="Read", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def reply(call_id, content="ok", **members):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | members


def raw(records):
    return [json.dumps(r, separators=(",", ":")).encode() + b"\n" for r in records]


def read(*records):
    return load(raw(records), "messages")


def shape(transcript):
    return [(m.role[0], [b.kind for b in m.blocks]) for m in transcript.messages]


def written(records, view):
    """The records after a change of the view."""
    transcript = read(*records)
    return [json.loads(line) for line in rewrite(transcript, view(transcript.messages)).lines()]


def edited(view, at, position=0, **changes):
    blocks = list(view[at].blocks)
    blocks[position] = msgspec.structs.replace(blocks[position], **changes)
    return [*view[:at], Message(view[at].role, tuple(blocks)), *view[at + 1 :]]


# --- reading


def test_a_line_is_a_message():
    transcript = read(
        {"role": "system", "content": "be kind"},
        asks("hi"),
        says({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, words("so"), use("a")),
        asks([reply("a", [words("see"), IMAGE]), words("well?"), IMAGE]),
    )
    assert shape(transcript) == [
        ("s", ["text"]),
        ("u", ["text"]),
        ("a", ["thinking", "text", "call"]),
        ("u", ["result", "text", "image"]),
    ]
    assert transcript.messages[3].blocks[0].content[1].image.width == 2


def test_user_lines_side_by_side_are_one_message_and_answers_are_not():
    assert shape(read(asks("one"), asks([words("two")]), says(words("a")), says(words("b")))) == [
        ("u", ["text", "text"]),
        ("a", ["text"]),
        ("a", ["text"]),
    ]


def test_a_result_says_whether_it_failed_and_which_file_it_shows():
    transcript = read(says(use("a")), asks([reply("a", is_error=True, _read_path="/w/a.py")]))
    (block,) = transcript.messages[1].blocks
    assert (block.call_id, block.failed, block.path) == ("a", True, "/w/a.py")


@pytest.mark.parametrize(
    "arguments", ['{"a": 1.0,"b":[1e5]}', "{}", '{"big":10000000000000000000000}']
)
def test_arguments_are_the_text_that_stands_there(arguments):
    line = '{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":%s}]}\n'
    (message,) = load([(line % arguments).encode()], "messages").messages
    assert message.blocks[0].text == arguments


def test_parts_of_other_kinds_are_kept_by_their_type():
    hidden = {"type": "redacted_thinking", "data": "x"}
    (message,) = read(says(hidden, {"type": "hologram", "text": "x"}, words("so"))).messages
    assert [(b.kind, b.text, b.type) for b in message.blocks] == [
        ("thinking", "", ""),
        ("other", "x", "hologram"),
        ("text", "so", ""),
    ]


@pytest.mark.parametrize("odd", [None, 5, [], {}, "x", [[]], [5], [{"type": 5, "text": {}}]])
def test_members_of_any_type_are_survived(odd):
    for record in (
        asks(odd),
        {"role": odd, "content": odd},
        says(use(odd)),
        asks([reply(odd, odd)]),
    ):
        load(raw([record, asks("hi")]), "messages")


def test_a_list_of_messages_is_recognised_and_an_envelope_is_none_of_its_lines():
    assert detect.format_of(raw([asks("hi"), says(words("yes?"))])) is MESSAGES
    assert not MESSAGES.recognises(asks("hi", message={}))
    event = asks("hi", type="message", schema_version=1)
    assert detect.format_of(raw([event])) is not MESSAGES
    assert not MESSAGES.recognises({"role": "assistant", "content": None, "tool_calls": []})


# --- writing


def test_an_untouched_list_leaves_byte_for_byte():
    lines = [line.replace(b"{", b'{ "n":1e5, ', 1) for line in raw([asks("hi"), says(use("a"))])]
    transcript = load(lines, "messages")
    assert rewrite(transcript, list(transcript.messages)).chunks == lines


def test_a_text_can_be_replaced_in_a_string_and_in_a_list():
    part = words("long", cache_control={"type": "ephemeral"})
    new = written([asks("long"), says(part)], lambda v: edited(edited(v, 0, text="x"), 1, text="y"))
    assert new == [asks("x"), says(part | {"text": "y"})]


def test_a_result_is_cut_piece_by_piece_and_keeps_its_images():
    long = reply("a", [words("long", x=1), IMAGE, words("more")], cache_control={"type": "x"})

    def cut(view):
        first, image, more = view[1].blocks[0].content
        pieces = (msgspec.structs.replace(first, text="short"), image, more)
        return edited(view, 1, content=pieces)

    new = written([says(use("a")), asks([long])], cut)
    assert new[1] == asks([long | {"content": [words("short", x=1), IMAGE, words("more")]}])


def test_a_result_that_is_a_string_stays_one():
    def cut(view):
        return edited(
            view, 1, content=(msgspec.structs.replace(view[1].blocks[0].content[0], text="x"),)
        )

    assert written([says(use("a")), asks([reply("a", "long")])], cut)[1] == asks([reply("a", "x")])


def test_an_image_gives_way_to_a_text_in_its_place():
    new = written(
        [asks([words("see"), IMAGE])], lambda v: edited(v, 0, 1, kind="text", text="gone")
    )
    assert new == [asks([words("see"), words("gone")])]


def test_a_call_and_its_result_can_be_given_another_id():
    def rename(view):
        return edited(edited(view, 0, call_id="b"), 1, call_id="b")

    new = written([says(use("a", path="x")), asks([reply("a")])], rename)
    assert new == [says(use("b", path="x")), asks([reply("b")])]


def test_what_a_layer_adds_goes_into_its_neighbour():
    def note(view):
        return [Message("user", (*view[0].blocks, text("note"))), *view[1:]]

    assert written([asks("hi"), says(words("yes?"))], note)[0] == asks([words("hi"), words("note")])


def test_a_message_of_its_own_is_a_new_line():
    new = written([says(words("yes?"))], lambda view: [Message("user", (text("note"),)), *view])
    assert new == [asks("note"), says(words("yes?"))]


BLOCKS = [
    text("words"),
    result("a", "one"),
    result("a", "one", "two", failed=True),
    result("a", "one", path="/w/a.py"),
    Block("result", call_id="a"),
    Block("result", call_id="a", content=(text("see"), Block("image"))),
    Block("image"),
    Block("other", "x", type="hologram"),
]


@pytest.mark.parametrize("made", [*[[b] for b in BLOCKS], BLOCKS, BLOCKS[::-1]])
def test_user_blocks_of_any_kind_are_read_back_as_they_were_made(made):
    (view,) = read(*MESSAGES.create("user", made, {}, Link("", None))).messages
    assert [plain(b) for b in view.blocks] == [plain(b) for b in made]


def test_what_the_model_says_is_read_back_as_it_was_made():
    made = [thinking("hm"), text("so"), call("a", "Read", path="x"), call("b")]
    (view,) = read(*MESSAGES.create("assistant", made, {}, Link("", None))).messages
    assert [plain(b) for b in view.blocks] == [plain(b) for b in made]


def plain(block):
    said = json.loads(block.text) if block.kind == "call" else block.text
    pieces = [plain(piece) for piece in block.content]
    return block.kind, said, block.call_id, block.tool, block.type, pieces, block.failed, block.path


@pytest.mark.parametrize("content", ["x", "", [words("x")], [words("x"), IMAGE], []])
def test_parts_put_back_are_the_content_that_they_are_of(content):
    assert anthropic_parts.content(anthropic_parts.parts(content)) == content


@pytest.mark.parametrize("names", [*((name,) for name in TIGHT), tuple(TIGHT)], ids="-".join)
def test_layers_leave_a_list_that_is_read_back_the_same(names):
    records = [asks("mend it")]
    for number in range(6):
        records += [says(words("I look."), use(f"a{number}", file_path="a.py"), use(f"b{number}"))]
        records += [
            asks([reply(f"a{number}", "x = 1\n" * 90), reply(f"b{number}", [words("y " * 90)])])
        ]
    records += [says(words("done")), asks("and now?"), says(words("on it"))]
    once = pipeline.run(read(*records), names, TIGHT, COUNTER)
    again = load(once.written().lines(), "messages")
    assert [[plain(b) for b in m.blocks] for m in again.messages] == [
        [plain(b) for b in m.blocks] for m in once.messages
    ]


def test_what_is_no_part_keeps_its_place_when_another_goes():
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    thought = {"type": "thinking", "thinking": "x", "signature": "s"}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    said = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [thought, 0, use]},
        {"role": "user", "content": [answer]},
        {"role": "assistant", "content": "ok"},
    ]
    raw = [json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in said]
    found = load(raw, "messages")
    done = pipeline.run(found, ("truncate",), {}, COUNTER, mode="drop").written().lines()
    assert json.loads(done[1])["content"] == [0, use]
    assert [done[0], *done[2:]] == [raw[0], *raw[2:]]
