"""A changed view goes back into its lines; what did not change keeps its bytes."""

from __future__ import annotations

import json

import msgspec
import pytest
from helpers.builders import (
    assistant,
    call,
    ids,
    lines,
    load,
    reading,
    result,
    rewrite,
    roles,
    text,
    texts,
    user,
    write,
)

from compactctl import formats
from compactctl.model import MADE, Block, Message
from compactctl.transcript.accounting import LineCounts

SAID = [user("go"), *reading("a", "one"), *reading("b", "two"), assistant("done"), user("thanks")]
ODD = b'{ "role" : "user", "content":"\\u00e9" , "n": 1.0e5, "n": 12345678901234567890123 }\r\n'


def without(found, *positions):
    return [m for at, m in enumerate(found.messages) if at not in positions]


def edited(found, position, words):
    """The view with another text in the first block of one message."""
    message = found.messages[position]
    new = msgspec.structs.replace(message.blocks[0], text=words)
    changed = Message(message.role, (new, *message.blocks[1:]))
    return [changed if at == position else m for at, m in enumerate(found.messages)]


def with_made(found, position, *blocks, role="user"):
    """The view with a new message in front of another."""
    new = Message(role, blocks or (text("made"),))
    return [*found.messages[:position], new, *found.messages[position:]]


@pytest.mark.parametrize("name", formats.names())
def test_an_untouched_view_is_the_same_bytes(name):
    written = lines(*SAID, format_name=name)
    found = load(written, name)
    assert rewrite(found, found.messages).chunks == written
    assert rewrite(found, list(found.messages)).counts.added == 0


@pytest.mark.parametrize("name", formats.names())
def test_dropped_messages_leave_no_line(name):
    found = load(lines(*SAID, format_name=name), name)
    again = load(rewrite(found, without(found, 1, 2)).lines(), name)
    assert roles(again.messages) == "uauau"
    assert ids(again.messages) == ids(again.messages, "result") == ["b"]


@pytest.mark.parametrize("name", formats.names())
def test_a_made_message_reads_back_where_it_was_put(name):
    found = load(lines(*SAID, format_name=name), name)
    new = with_made(found, 3)
    again = load(rewrite(found, new).lines(), name)
    blocks = [(b.kind, b.text) for m in again.messages for b in m.blocks if b.kind != "call"]
    assert blocks == [(b.kind, b.text) for m in new for b in m.blocks if b.kind != "call"]


def test_lines_beside_a_change_keep_their_bytes():
    written = [lines(user("go"))[0], lines(assistant("yes"))[0], ODD, lines(assistant("no"))[0]]
    found = load(written, "messages")
    new = rewrite(found, edited(found, 1, "no"))
    assert [new.chunks[0], *new.chunks[2:]] == [written[0], *written[2:]]


def test_a_changed_line_keeps_its_unknown_members_and_its_line_end():
    found = load([ODD], "messages")
    (line,) = rewrite(found, edited(found, 0, "é!")).chunks
    assert line.endswith(b"}\r\n")
    assert json.loads(line) == json.loads(ODD) | {"content": "é!"}


def test_a_changed_line_is_compact_utf8():
    found = load([ODD], "messages")
    (line,) = rewrite(found, edited(found, 0, "ö")).chunks
    assert line.startswith('{"role":"user","content":"ö","n":'.encode())


def test_an_edited_part_keeps_its_other_members():
    part = {"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}
    found = load([json.dumps({"role": "user", "content": [part]}).encode()], "messages")
    (line,) = rewrite(found, edited(found, 0, "went")).chunks
    assert json.loads(line)["content"] == [part | {"text": "went"}]


def test_a_missing_final_newline_stays_missing():
    written = lines(user("go"), assistant("yes"))
    written[-1] = written[-1].rstrip()
    found = load(written, "messages")
    assert not rewrite(found, edited(found, 0, "no")).chunks[-1].endswith(b"\n")
    assert not rewrite(found, edited(found, 1, "no")).chunks[-1].endswith(b"\n")


def test_what_follows_a_missing_final_newline_starts_a_line():
    written = lines(user("go"), assistant("yes"))
    written[-1] = written[-1].rstrip()
    found = load(written, "messages")
    new = rewrite(found, with_made(found, 2)).lines()
    assert [json.loads(line)["role"] for line in new] == ["user", "assistant", "user"]


def test_a_made_line_ends_as_the_lines_of_the_file_do():
    written = [line.replace(b"\n", b"\r\n") for line in lines(user("go"), assistant("yes"))]
    found = load(written, "messages")
    assert all(line.endswith(b"\r\n") for line in rewrite(found, with_made(found, 2)).chunks)


@pytest.mark.parametrize("gone", [1, 2])
def test_of_two_objects_on_one_line_one_can_go(gone):
    one, two, three = lines(user("go"), assistant("yes"), user("on"))
    found = load([one, two.rstrip() + three], "messages")
    new = rewrite(found, without(found, gone))
    assert b"".join(new.chunks) == one + (three if gone == 1 else two)
    assert new.counts == LineCounts(1, 1)


def test_a_line_between_two_objects_on_one_line_parts_them():
    one, two = lines(assistant("yes"), assistant("no"))
    found = load([one.rstrip() + two], "messages")
    new = rewrite(found, with_made(found, 1)).lines()
    assert len(new) == 3
    assert [new[0], new[2]] == [one, two]


def test_lines_that_hold_no_record_stay_where_they_are():
    go, yes, on = lines(user("go"), assistant("yes"), user("on"))
    found = load([b"\n", go, b"// note\n", yes, b"\xff\n", on, b"[1]\n"], "messages")
    written = rewrite(found, without(found, 1))
    assert b"".join(written.chunks).split(b"\n")[0] == b""
    assert b"// note\n" in written.chunks
    assert written.chunks[-1] == b"[1]\n"


def test_what_is_added_to_a_message_goes_into_its_line_where_a_line_is_a_message():
    found = load(lines(user("go"), assistant("yes")), "messages")
    first = found.messages[0]
    new = rewrite(found, [Message("user", (*first.blocks, text("more"))), found.messages[1]])
    assert [part["text"] for part in json.loads(new.chunks[0])["content"]] == ["go", "more"]
    assert (new.counts.changed, new.counts.added) == (1, 0)


def test_messages_that_became_one_are_one_line_in_the_order_of_the_view():
    written = lines(user("a"), user("b"), assistant("gone"), user("c"))
    found = load(written, "messages")
    merged = Message("user", (*found.messages[0].blocks, text("new"), *found.messages[2].blocks))
    again = load(rewrite(found, [merged]).lines(), "messages")
    assert texts(again.messages) == ["a", "b", "new", "c"]


def test_the_mark_stands_right_before_what_was_made():
    mark = {"type": "compactctl.compaction", "summary": "s"}
    found = load(lines(*SAID), "messages")
    new = [Message("user", (text("made"),)), *found.messages[-2:]]
    written = rewrite(found, new, mark).lines()
    assert json.loads(written[0])["type"] == mark["type"]
    assert json.loads(written[1]) == {"role": "user", "content": "made"}
    assert texts(load(written, "messages").messages) == ["made", "done", "thanks"]


def test_the_mark_stands_before_the_line_that_took_in_what_was_made():
    mark = {"type": "compactctl.compaction"}
    found = load(lines(*SAID), "messages")
    first = Message("user", (text("made"), *found.messages[0].blocks))
    written = rewrite(found, [first, *found.messages[-2:]], mark).lines()
    assert [json.loads(line).get("type") for line in written] == [mark["type"], None, None, None]
    assert texts(load(written, "messages").messages) == ["made", "go", "done", "thanks"]


def test_every_old_line_is_counted_once_and_new_ones_apart():
    found = load([*lines(*SAID), b"not json\n", b"\n"], "messages")
    view = with_made(found, 3, role="assistant")
    new = rewrite(found, [edited(found, 0, "no")[0], *view[3:]])
    assert (new.counts.kept, new.counts.changed, new.counts.dropped, new.counts.added) == (
        6,
        1,
        2,
        1,
    )


def test_origins_tell_where_each_chunk_is_from():
    found = load(lines(*SAID), "messages")
    new = rewrite(found, with_made(found, 5)[3:])
    assert new.origins == [3, 4, MADE, 5, 6]


def test_made_results_are_written_too():
    found = load(lines(user("go"), assistant(call("a"))), "messages")
    new = [*found.messages, Message("user", (result("a", "stopped", failed=True),))]
    again = load(rewrite(found, new).lines(), "messages")
    (block,) = again.messages[-1].blocks
    assert (block.call_id, block.failed, block.content[0].text) == ("a", True, "stopped")


def compacted(*items):
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}
        for words in items
    ]
    payload = {"message": "", "replacement_history": history}
    return json.dumps({"timestamp": "T", "type": "compacted", "payload": payload}).encode() + b"\n"


def test_in_codex_what_goes_in_front_of_a_compacted_line_goes_into_it():
    rest = lines(assistant("yes"), format_name="codex")
    found = load([compacted("go", "summary"), *rest], "codex")
    first = found.messages[0]
    for blocks in ((text("made"), *first.blocks), (first.blocks[0], text("made"), first.blocks[1])):
        again = load(rewrite(found, [Message("user", blocks), found.messages[1]]).lines(), "codex")
        assert texts(again.messages) == [*(block.text for block in blocks), "yes"]


def test_in_codex_a_compacted_line_that_lost_its_blocks_still_cuts_off_what_precedes_it():
    before, after = (lines(m, format_name="codex")[0] for m in (user("old"), user("new")))
    found = load([before, compacted("summary"), after], "codex")
    view = [Message("user", found.messages[0].blocks[1:])]
    assert texts(load(rewrite(found, view).lines(), "codex").messages) == ["new"]


def pi_entry(own, parent, **members):
    entry = {"type": "message", "id": own, "parentId": parent, "timestamp": "T"} | members
    return json.dumps(entry).encode() + b"\n"


def pi_said(own, parent, role, words):
    content = [{"type": "text", "text": words}]
    return pi_entry(own, parent, message={"role": role, "content": content})


PI = [
    pi_said("e1", None, "user", "forgotten"),
    pi_said("e2", "e1", "assistant", "kept one"),
    pi_said("e3", "e2", "user", "kept two"),
    pi_said("e4", "e3", "assistant", "kept three"),
    pi_entry("e5", "e4", type="compaction", summary="sum", firstKeptEntryId="e2"),
    pi_said("e6", "e5", "user", "later"),
]


def test_in_pi_the_first_kept_entry_moves_on_when_it_goes():
    found = load(PI, "pi")
    assert texts(found.messages) == ["sum", "kept one", "kept two", "kept three", "later"]
    left = [m for m in found.messages if "kept one" not in texts([m])]
    again = load(rewrite(found, left).lines(), "pi")
    assert texts(again.messages) == ["sum", "kept two", "kept three", "later"]


def test_in_pi_what_is_made_behind_the_summary_stays_behind_it():
    found = load(PI, "pi")
    first, kept = found.messages[0], found.messages[2:]
    view = [Message("user", (*first.blocks, text("made"), *kept[0].blocks)), *kept[1:]]
    again = load(rewrite(found, view).lines(), "pi")
    assert texts(again.messages) == ["sum", "made", "kept two", "kept three", "later"]


def test_a_made_block_with_a_lone_surrogate_can_be_written():
    found = load(lines(user("go")), "messages")
    new = rewrite(found, [*found.messages, Message("assistant", (Block("text", "\ud83d"),))])
    assert json.loads(new.chunks[-1])["content"] == "\ud83d"


def test_in_pi_an_entry_written_twice_goes_twice():
    found = load([*PI[:2], PI[1], PI[2], PI[3]], "pi")
    left = [m for m in found.messages if "kept one" not in texts([m])]
    written, again = write(found, left)
    assert texts(again.messages) == ["forgotten", "kept two", "kept three"]
    assert written.counts.dropped == 2


def rewound(own, parent, role, words):
    message = {"role": role, "content": words, "id": own}
    record = {"parentUuid": parent, "uuid": own, "sessionId": "s", "type": role}
    return json.dumps(record | {"message": message}).encode() + b"\n"


def test_a_branch_that_was_given_up_does_not_come_back_when_the_other_goes():
    said = [
        rewound("u1", None, "user", "go"),
        rewound("a1", "u1", "assistant", "yes"),
        rewound("u2", "a1", "user", "wrong"),
        rewound("a2", "u2", "assistant", "wrong too"),
        rewound("u3", "a1", "user", "right"),
        rewound("a3", "u3", "assistant", "right too"),
    ]
    found = load(said, "claude-code")
    assert texts(found.messages) == ["go", "yes", "right", "right too"]
    left = [m for m in found.messages if texts([m]) != ["right"]]
    assert texts(write(found, left)[1].messages) == ["go", "yes", "right too"]


def test_the_other_members_of_an_edited_line_leave_as_they_came():
    copy = b'"toolUseResult": {"stdout":"caf\\u00e9",  "n": 1e5, "n": 1.0}'
    result = b'[{"type":"tool_result","tool_use_id":"t","content":"long words"}]'
    line = (
        b'{"type": "user", "uuid":"u", "parentUuid":"p", "sessionId":"s", '
        b'"message":{"role": "user", "content":' + result + b"}, " + copy + b"}\n"
    )
    call = b'{"type":"tool_use","id":"t","name":"Bash","input":{}}'
    before = (
        b'{"type":"assistant","uuid":"p","parentUuid":null,"sessionId":"s",'
        b'"message":{"id":"m","role":"assistant","content":[' + call + b"]}}\n"
    )
    found = load([before, line], "claude-code")
    said, answer = found.messages
    (old,) = answer.blocks
    short = msgspec.structs.replace(old.content[0], text="short")
    new = msgspec.structs.replace(old, content=(short,))
    _, written = rewrite(found, [said, Message("user", (new,))]).lines()
    assert b'{"stdout":"caf\\u00e9",  "n": 1e5, "n": 1.0}' in written
    assert b'"content":"short"' in written
