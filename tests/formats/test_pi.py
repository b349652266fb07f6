"""What the ``pi`` format reads, as pi itself would send it, and what it writes back."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from helpers.builders import COUNTER, TIGHT, call, load, result, rewrite, text, texts, thinking
from hypothesis import given
from hypothesis import strategies as st

from compactctl import pipeline
from compactctl.formats import detect
from compactctl.formats.base import Link
from compactctl.formats.pi import FORMAT as PI
from compactctl.model import Block, Message, result_text
from compactctl.rules import findings
from compactctl.transcript.loading import session

HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": "T", "cwd": "/w"}
OLD_HEADER = {"type": "session", "id": "s-1", "timestamp": "T", "cwd": "/w"}
DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP8z8AARAwQCgAf7gMBJVKv4gAAAABJRU5E"
    "rkJggg=="
)


def words(said):
    return {"type": "text", "text": said}


def asks(said, **members):
    return {"role": "user", "content": [words(said)]} | members


def says(*parts, stop="stop", **members):
    content = [words(part) if isinstance(part, str) else part for part in parts]
    return {"role": "assistant", "content": content, "stopReason": stop} | members


def calls(call_id, name="read", **arguments):
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def answers(call_id, said="ok", **members):
    content = said if isinstance(said, list) else [words(said)]
    message = {"role": "toolResult", "toolCallId": call_id, "toolName": "read"}
    return message | {"content": content, "isError": False} | members


def message(said, **members):
    return {"type": "message", "message": said} | members


def compaction(first, summary="so far", **members):
    return {"type": "compaction", "summary": summary, "firstKeptEntryId": first} | members


def tree(*entries, header=HEADER):
    """Give entries ids (1, 2, …) and the one before for a parent, where they have none."""
    records, last = [header], None
    for number, entry in enumerate(entries, 1):
        whole = entry if "type" in entry else message(entry)
        record = {"type": whole["type"], "id": str(number), "parentId": last, "timestamp": "T"}
        records.append(record | whole)
        last = records[-1]["id"]
    return records


def old(*entries):
    """The first form: a list without ids."""
    made = [entry if "type" in entry else message(entry) for entry in entries]
    return [OLD_HEADER, *(entry | {"timestamp": "T"} for entry in made)]


def raw(records):
    return [json.dumps(r, separators=(",", ":")).encode() + b"\n" for r in records]


def read(records):
    return load(raw(records), "pi")


def told(transcript):
    return [
        [result_text(b) if b.kind == "result" else b.text for b in m.blocks]
        for m in transcript.messages
    ]


def written(records, view):
    """The records after a change of the view."""
    transcript = read(records)
    return [json.loads(line) for line in rewrite(transcript, view(transcript.messages)).lines()]


# --- which entries are in force


def test_the_last_entry_and_its_ancestors_are_the_view():
    records = tree(
        asks("one"),
        says("two"),
        message(asks("a wrong turn"), id="x", parentId="2"),
        message(says("so be it"), id="y", parentId="x"),
        message(asks("three"), id="3", parentId="2"),
    )
    assert told(read(records)) == [["one"], ["two"], ["three"]]


def test_an_entry_that_says_nothing_can_be_the_last():
    records = tree(asks("one"), {"type": "session_info", "name": "n"})
    assert told(read(records)) == [["one"]]


def test_what_stands_above_a_missing_parent_is_not_sent():
    records = tree(asks("one"), says("two"), message(asks("three"), parentId="gone"))
    assert told(read(records)) == [["three"]]


def test_parents_in_a_circle_end_somewhere():
    records = tree(message(asks("one"), parentId="2"), says("two"))
    assert told(read(records)) == [["one"], ["two"]]


def test_a_compaction_puts_its_summary_in_front_of_what_it_kept():
    records = tree(
        asks("one"), says("two"), asks("three"), says("four"), compaction("3"), asks("five")
    )
    assert told(read(records)) == [["so far", "three"], ["four"], ["five"]]


def test_the_last_compaction_counts():
    records = tree(
        asks("one"),
        says("two"),
        compaction("2", "first"),
        says("three"),
        asks("four"),
        compaction("5", "second"),
    )
    assert told(read(records)) == [["second", "four"]]


def test_a_compaction_of_another_branch_does_not_count():
    records = tree(
        asks("one"), compaction("1", parentId="1"), message(says("two"), id="9", parentId="1")
    )
    assert told(read(records)) == [["one"], ["two"]]


@pytest.mark.parametrize("first", ["gone", None, 3, "4"])
def test_a_compaction_that_names_nothing_before_it_keeps_nothing(first):
    records = tree(asks("one"), says("two"), asks("three"), compaction(first), says("four"))
    assert told(read(records)) == [["so far"], ["four"]]


def test_what_a_compaction_keeps_can_begin_with_an_entry_that_says_nothing():
    change = {"type": "model_change", "provider": "p", "modelId": "m"}
    records = tree(asks("one"), change, asks("two"), compaction("2"))
    assert told(read(records)) == [["so far", "two"]]


def test_the_first_form_is_a_list_and_counts_records_from_the_header():
    mark = {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 3}
    records = old(asks("one"), says("two"), asks("three"), says("four"), mark, asks("five"))
    assert told(read(records)) == [["so far", "three"], ["four"], ["five"]]


def test_lines_that_are_none_of_pi_s_do_not_count_in_the_first_form():
    mark = {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 3}
    lines = raw(old(asks("one"), says("two"), asks("three"), mark))
    fact = b'{"type":"compactctl.fact","fact_id":"f"}\n'
    assert told(load([fact, lines[0], b"not json\n", *lines[1:]], "pi")) == [["so far", "three"]]


def test_the_view_starts_behind_the_last_mark_of_this_tool():
    records = tree(asks("one"), says("two"), compaction("1"), asks("three"), says("four"))
    mark = {"type": "compactctl.compaction"}
    assert told(read([*records[:4], mark, *records[4:]])) == [["three"], ["four"]]


@st.composite
def trees(draw):
    """Entries with parents among those before them; some are compactions."""
    records = [HEADER]
    for number in range(1, draw(st.integers(1, 12)) + 1):
        own, parent = str(number), draw(st.integers(max(0, number - 2), number - 1))
        said = asks(own) if draw(st.booleans()) else says(own)
        entry = (
            message(said) if draw(st.integers(0, 3)) else compaction(str(draw(st.integers(1, 9))))
        )
        ids = {"id": own, "parentId": str(parent) if parent else None, "timestamp": "T"}
        records.append(entry | ids | ({"summary": own} if entry["type"] == "compaction" else {}))
    return records


@given(trees())
def test_the_view_is_what_pi_builds(records):
    by_id = {record["id"]: record for record in records[1:]}
    path, step = [], records[-1]
    while step is not None:
        path.insert(0, step)
        step = by_id.get(step["parentId"])
    marks = [at for at, entry in enumerate(path) if entry["type"] == "compaction"]
    sent = path
    if marks:
        before = path[: marks[-1]]
        first = path[marks[-1]]["firstKeptEntryId"]
        at = next((n for n, entry in enumerate(before) if entry["id"] == first), len(before))
        sent = [path[marks[-1]], *before[at:], *path[marks[-1] + 1 :]]
    said = [r for r in sent if r["type"] == "message" or r is (path[marks[-1]] if marks else None)]
    assert [w for m in told(read(records)) for w in m] == [r["id"] for r in said]


# --- what an entry says


def test_results_of_one_answer_are_one_user_message():
    records = tree(
        asks("go"), says(calls("a"), calls("b"), stop="toolUse"), answers("a"), answers("b", "two")
    )
    view = read(records).messages
    assert [m.role for m in view] == ["user", "assistant", "user"]
    assert [(b.call_id, b.tool, b.failed) for b in view[2].blocks] == [
        ("a", "read", False),
        ("b", "read", False),
    ]


@pytest.mark.parametrize("stop", ["aborted", "error"])
def test_an_answer_that_was_not_finished_is_not_sent_and_leaves_no_orphan(stop):
    records = tree(asks("one"), says("hm", calls("a"), stop=stop), answers("a"), asks("two"))
    assert told(read(records)) == [["one", "two"]]


def test_an_id_that_comes_back_in_a_finished_answer_has_its_result():
    records = tree(
        asks("go"), says(calls("a"), stop="aborted"), says(calls("a"), stop="toolUse"), answers("a")
    )
    assert told(read(records))[1:] == [["{}"], ["ok"]]


def test_a_result_that_failed_says_so():
    (_, _, replies) = read(tree(asks("go"), says(calls("a")), answers("a", isError=True))).messages
    assert replies.blocks[0].failed


def test_calls_are_read_with_their_arguments_and_the_folder_of_the_session():
    block = read(tree(asks("go"), says(calls("a", path="x.py")))).messages[1].blocks[0]
    assert (block.text, block.tool, block.cwd) == ('{"path":"x.py"}', "read", "/w")


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"output": "a\nb", "exitCode": 0}, "Ran `ls`\n```\na\nb\n```"),
        ({"output": ""}, "Ran `ls`\n(no output)"),
        ({"output": "a", "exitCode": 2}, "Ran `ls`\n```\na\n```\n\nCommand exited with code 2"),
        (
            {"output": "a", "exitCode": 2, "cancelled": True},
            "Ran `ls`\n```\na\n```\n\n(command cancelled)",
        ),
        (
            {"output": "a", "truncated": True, "fullOutputPath": "/t/x"},
            "Ran `ls`\n```\na\n```\n\n[Output truncated. Full output: /t/x]",
        ),
    ],
)
def test_a_command_that_the_user_ran_is_told_as_pi_tells_it(members, said):
    records = tree(asks("one"), {"role": "bashExecution", "command": "ls"} | members)
    (view,) = read(records).messages
    assert [b.text for b in view.blocks] == ["one", said]
    assert view.blocks[1].meta


def test_a_command_that_the_user_kept_to_himself_is_not_sent():
    hidden = {"role": "bashExecution", "command": "ls", "output": "", "excludeFromContext": True}
    assert told(read(tree(asks("one"), hidden))) == [["one"]]


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "custom_message", "customType": "x", "content": "note", "display": False},
        {"type": "custom_message", "customType": "x", "content": [words("note")], "display": True},
        message({"role": "hookMessage", "customType": "x", "content": "note"}),
        message({"role": "custom", "customType": "x", "content": [words("note")]}),
    ],
    ids=["string", "parts", "hook", "custom"],
)
def test_what_an_extension_says_is_user_text_that_no_person_wrote(entry):
    (view,) = read(tree(asks("one"), entry)).messages
    assert [(b.text, b.meta) for b in view.blocks] == [("one", False), ("note", True)]


def test_a_branch_summary_and_a_compaction_are_summaries():
    branch = {"type": "branch_summary", "fromId": "9", "summary": "over there"}
    (view,) = read(tree(asks("one"), branch, compaction("1"))).messages
    assert [(b.text, b.is_summary) for b in view.blocks] == [
        ("so far", True),
        ("one", False),
        ("over there", True),
    ]


@pytest.mark.parametrize(
    "kind", ["custom", "label", "session_info", "model_change", "thinking_level_change", "new"]
)
def test_other_entries_say_nothing(kind):
    entry = {"type": kind, "content": "x", "summary": "x", "message": asks("x"), "data": {"n": 1}}
    assert told(read(tree(asks("one"), entry, says("two")))) == [["one"], ["two"]]


def test_texts_of_white_space_are_not_sent():
    records = tree(asks(" \n"), asks("one"), says("", " ", "two"), says(" "), asks("three"))
    assert told(read(records)) == [["one"], ["two"], ["three"]]


def test_thinking_images_and_parts_of_the_future_are_read():
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln"}
    hidden = {"type": "thinking", "thinking": "[redacted]", "redacted": True}
    image = {"type": "image", "data": DOT, "mimeType": "image/png"}
    records = tree(
        {"role": "user", "content": [words("see"), image]},
        says(thought, hidden, {"type": "hologram", "text": "x"}),
    )
    seen, answer = read(records).messages
    assert (seen.blocks[1].image.media_type, seen.blocks[1].image.width) == ("image/png", 2)
    assert [(b.kind, b.text, b.type) for b in answer.blocks] == [
        ("thinking", "hm", ""),
        ("thinking", "", ""),
        ("other", "x", "hologram"),
    ]


def test_a_result_can_hold_images():
    image = {"type": "image", "data": DOT, "mimeType": "image/png"}
    view = read(tree(asks("go"), says(calls("a")), answers("a", [words("see"), image]))).messages
    assert [piece.kind for piece in view[2].blocks[0].content] == ["text", "image"]


@pytest.mark.parametrize("odd", [None, 5, [], {}, "x", [[]]])
def test_members_of_any_type_are_survived(odd):
    records = [
        {"type": "message", "id": odd, "parentId": odd, "timestamp": "T", "message": odd},
        message({"role": odd, "content": odd, "stopReason": odd}, timestamp="T"),
        message(answers(odd, isError=odd, toolName=odd), timestamp="T"),
        message({"role": "bashExecution", "command": odd, "exitCode": odd}, timestamp="T"),
        {"type": "compaction", "summary": odd, "firstKeptEntryId": odd, "timestamp": "T"},
        {"type": "custom_message", "content": odd, "timestamp": "T"},
    ]
    for record in records:
        load(raw([HEADER, record, *tree(asks("one"))[1:]]), "pi")


# --- what is told apart from the view


@pytest.mark.parametrize("header", [HEADER, OLD_HEADER])
def test_a_session_is_recognised(header):
    assert detect.format_of(raw([header, *tree(asks("one"), says("two"))[1:]])) is PI


def test_the_session_and_the_recorded_sizes_are_found():
    usage = {"input": 5, "output": 900, "cacheRead": 70, "cacheWrite": 8}
    records = tree(asks("one"), says("two", usage=usage))
    assert session(read(records)) == "s-1"
    assert PI.usage(records[2]) == ("2", 83)
    assert PI.usage(tree(says("x", usage={"input": 0}))[1]) is None
    assert PI.usage(HEADER) is None


def test_prompts_are_what_a_person_asked():
    decode = msgspec.json.Decoder(PI.record).decode
    found = [PI.is_prompt(decode(r)) for r in raw(tree(asks("one"), says("two"), answers("a")))]
    assert found == [False, True, False, False]


# --- writing


def test_an_untouched_session_leaves_byte_for_byte():
    lines = [line.replace(b"{", b'{"cost":0.00001,"n":1e5, ', 1) for line in raw(tree(asks("one")))]
    transcript = load(lines, "pi")
    assert rewrite(transcript, list(transcript.messages)).chunks == lines


def edited(view, at, change):
    """Replace the first block of one message."""
    block, *rest = view[at].blocks
    return [*view[:at], Message(view[at].role, (change(block), *rest)), *view[at + 1 :]]


def test_a_result_that_was_cut_keeps_what_stands_beside_it():
    image = {"type": "image", "data": DOT, "mimeType": "image/png"}
    long = answers("a", [words("long " * 9) | {"x": 1}, image], details={"diff": "+"}, timestamp=7)
    records = tree(asks("go"), says(calls("a")), message(long, x=1.5))

    def cut(block):
        short = msgspec.structs.replace(block.content[0], text="short")
        return msgspec.structs.replace(block, content=(short, *block.content[1:]))

    new = written(records, lambda view: edited(view, 2, cut))
    content = [words("short") | {"x": 1}, image]
    assert new == [*records[:3], records[3] | {"message": long | {"content": content}}]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (message(asks("long")), message(asks("short"))),
        (message(says("long")), message(says("short"))),
        (compaction("gone", "long"), compaction("gone", "short")),
        (
            {"type": "custom_message", "customType": "x", "content": "long"},
            {"type": "custom_message", "customType": "x", "content": "short"},
        ),
        (
            message({"role": "bashExecution", "command": "ls", "output": "", "timestamp": 7}),
            message({"role": "user", "timestamp": 7, "content": [words("short")]}),
        ),
    ],
    ids=["user", "assistant", "compaction", "custom", "command"],
)
def test_a_text_can_be_replaced_in_every_entry_that_holds_one(entry, expected):
    records = tree(entry)

    def shorten(block):
        return msgspec.structs.replace(block, text="short")

    (_, new) = written(records, lambda view: edited(view, 0, shorten))
    assert new == records[1] | expected


def test_an_image_gives_way_to_a_text_in_its_place():
    image = {"type": "image", "data": DOT, "mimeType": "image/png"}
    records = tree({"role": "user", "content": [words("see"), image]})

    def hide(view):
        first, second = view[0].blocks
        return [Message("user", (first, msgspec.structs.replace(second, kind="text", text="gone")))]

    assert written(records, hide)[1]["message"]["content"] == [words("see"), words("gone")]


def test_a_call_and_its_result_can_be_given_another_id():
    def rename(view):
        change = dict.fromkeys(["call_id"], "b")
        named = edited(view, 1, lambda b: msgspec.structs.replace(b, **change))
        return edited(named, 2, lambda b: msgspec.structs.replace(b, **change))

    new = written(tree(asks("go"), says(calls("a")), answers("a")), rename)
    assert new[2]["message"]["content"] == [calls("b")]
    assert new[3]["message"]["toolCallId"] == "b"


def put(position, *blocks):
    return lambda view: [*view[:position], Message("user", blocks), *view[position:]]


def test_new_entries_are_pi_s_own_and_part_of_the_chain():
    new = written(tree(says("one"), says("two")), put(1, text("note", meta=True), text("go")))
    note, go = new[2:4]
    assert note == {
        "type": "custom_message",
        "id": note["id"],
        "parentId": "1",
        "timestamp": "T",
        "customType": "compactctl",
        "content": [words("note")],
        "display": True,
    }
    assert go == {
        "type": "message",
        "id": go["id"],
        "parentId": note["id"],
        "timestamp": "T",
        "message": asks("go"),
    }
    assert new[4]["parentId"] == go["id"]
    assert all(re.fullmatch("[0-9a-f]{8}", entry["id"]) for entry in (note, go))
    assert list(go)[:4] == ["type", "id", "parentId", "timestamp"]


def test_new_results_are_entries_of_their_own():
    records = tree(asks("go"), says(calls("a"), calls("b")), asks("and?"))
    new = written(records, put(2, result("a", "one", failed=True), result("b", "two")))
    first, second = new[3:5]
    assert (first["message"]["toolCallId"], first["message"]["isError"]) == ("a", True)
    assert first["message"]["role"] == second["message"]["role"] == "toolResult"
    assert [entry["parentId"] for entry in new[3:]] == ["2", first["id"], second["id"]]


def test_the_first_form_gets_no_ids():
    records = old(asks("one"), says("two"), asks("three"))
    new = written(records, put(2, text("note", meta=True), text("go")))
    assert not any(entry.keys() & {"id", "parentId"} for entry in new[3:5])
    assert told(read(new)) == [["one"], ["two"], ["note", "go", "three"]]


def test_an_answer_takes_its_model_from_its_neighbour():
    near = says("two", api="a", provider="p", model="m", usage={"input": 1})
    (entry,) = PI.create("assistant", [text("x"), call("c")], tree(near)[1], Link("ab", None))
    members = {"api": "a", "provider": "p", "model": "m", "stopReason": "toolUse"}
    assert members.items() <= entry["message"].items()
    assert entry["message"]["usage"]["totalTokens"] == 0


BLOCKS = [
    text("words"),
    text("words", meta=True),
    result("a", "one"),
    result("a", "one", text("two"), failed=True),
    Block("result", call_id="a", tool="bash", content=(Block("image", image=None),)),
    Block("image", image=None),
    Block("other", "x", type="hologram"),
]


@pytest.mark.parametrize("made", [*[[b] for b in BLOCKS], BLOCKS[:4], BLOCKS[::-1]])
@pytest.mark.parametrize("like", [HEADER, OLD_HEADER, {}, *tree(asks("one")), *old(asks("one"))])
def test_user_blocks_of_any_kind_are_read_back_as_they_were_made(made, like):
    new = PI.create("user", made, like, Link("ab", None))
    view = read([HEADER, *new]).messages
    assert [plain(b) for b in view[0].blocks] == [plain(b) for b in made]


def test_what_the_model_says_is_read_back_as_it_was_made():
    made = [thinking("hm"), text("so"), call("a", "read", path="x"), call("b")]
    (view,) = read([HEADER, *PI.create("assistant", made, {}, Link("ab", None))]).messages
    assert [plain(b) for b in view.blocks] == [plain(b) for b in made]


def plain(block):
    words = json.loads(block.text) if block.kind == "call" else block.text
    pieces = [plain(piece) for piece in block.content]
    named = block.call_id, block.tool, block.type
    return block.kind, words, named, pieces, block.failed, block.meta


# --- compactions and what came and went around them


KEPT = tree(asks("one"), says("two"), asks("three"), says("four"), asks("five"), compaction("4"))
KEPT += [record | {"id": "7", "parentId": "6"} for record in tree(says("six"))[1:]]


def with_mark(view, *blocks):
    return [Message("user", (*view[0].blocks, *blocks)), *view[1:]]


@pytest.mark.parametrize(
    "change",
    [
        lambda view: [view[0], *view[3:]],
        lambda view: with_mark([view[0], *view[3:]], text("note", meta=True)),
        lambda view: [Message("user", view[0].blocks + view[2].blocks), *view[3:]],
        lambda view: [*view[:3], Message("assistant", (text("made"),))],
        lambda view: view[1:],
        lambda view: with_mark(view, text("n", meta=True)),
        lambda view: with_mark(view, text("n", meta=True), text("m")),
        lambda view: [
            Message("user", (*view[0].blocks, text("n", meta=True), text("m"))),
            *view[3:],
        ],
    ],
)
def test_the_view_behind_a_compaction_is_read_back_as_it_was_written(change):
    transcript = read(KEPT)
    view = change(transcript.messages)
    again = load(rewrite(transcript, view).lines(), "pi")
    assert told(again) == [[b.text for b in message.blocks] for message in view]


def test_a_compaction_that_lost_its_summary_still_cuts_off_what_was():
    new = written(KEPT, lambda view: view[1:])
    assert (new[6]["type"], new[6]["summary"]) == ("compaction", "")


def test_the_first_form_gets_no_parents():
    mark = {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 3}
    records = old(asks("one"), says("two"), asks("three"), mark, says("four"), asks("five"))
    new = written(records, put(2, text("note")))
    assert not any("parentId" in entry for entry in new)


def test_a_label_moves_with_what_it_labels():
    label = {"type": "label", "targetId": "2", "label": "here"}
    new = written(tree(asks("one"), says("two"), label, asks("three")), lambda v: [v[0], v[2]])
    assert new[2]["targetId"] != "2"


@pytest.mark.parametrize("form", [tree, old])
@pytest.mark.parametrize("names", [*((name,) for name in TIGHT), tuple(TIGHT)], ids="-".join)
def test_layers_leave_a_session_that_is_read_back_the_same(form, names):
    entries = [asks("mend it")]
    for number in range(6):
        entries += [says("I look.", calls(f"c{number}", path="a.py"), stop="toolUse")]
        entries += [answers(f"c{number}", "words of the file\n" * 60)]
    entries += [says("done"), asks("and now?"), says("on it")]
    transcript = read(form(*entries))
    once = pipeline.run(transcript, names, TIGHT, COUNTER)
    again = load(once.written().lines(), "pi")
    assert [plain(b) for m in again.messages for b in m.blocks if b.kind != "text"] == [
        plain(b) for m in once.messages for b in m.blocks if b.kind != "text"
    ]
    assert texts(again.messages) == texts(once.messages)


def test_a_call_without_a_result_is_answered_by_pi_itself():
    records = tree(
        asks("go"), says(calls("1")), asks("on"), says(calls("2")), answers("2"), says("ok")
    )
    found = read(records)
    (finding,) = findings.find(found, "anthropic")
    assert (finding.rule, finding.severity, finding.call_id) == ("PAIR-09", "warning", "1")
    (strict,) = findings.find(found, "anthropic", sendable=True)[:1]
    assert strict.severity == "error"
    assert "PAIR-01" in {each.rule for each in findings.find(found, "core")}
    pipeline.refuse_broken(found)


def test_with_all_results_there_is_nothing_to_say():
    records = tree(asks("go"), says(calls("1")), answers("1"), says("ok"), asks("on"))
    assert findings.find(read(records), "anthropic") == []
