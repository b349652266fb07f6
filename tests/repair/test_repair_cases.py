"""The field cases that a repair is for, each as a small transcript."""

from __future__ import annotations

import json
import time

import pytest
from helpers.builders import (
    assistant,
    call,
    exchange,
    ids,
    lines,
    load,
    result,
    text,
    texts,
    thinking,
    user,
)

from compactctl import formats, placeholders
from compactctl.model import Block
from compactctl.placeholders import MISSING_START
from compactctl.repair.chain import GAP
from compactctl.repair.engine import repair
from compactctl.repair.lines import UNREADABLE
from compactctl.rules import findings

every_format = pytest.mark.parametrize("name", formats.names())
every_linked_format = pytest.mark.parametrize(
    "name", [name for name in formats.names() if formats.load(name).links]
)


def mended(written, name):
    """Mend, and hold that nothing is left, that it is a fix-point, and whose words it keeps."""
    done = repair(written, "test", name)
    assert not done.left
    again = repair(done.lines, "test", name)
    assert (b"".join(again.lines), again.fixes) == (b"".join(done.lines), [])
    profiles = {
        done.after.format.profile,
        "core" if done.after.format.profile == "anthropic" else "",
    }
    for profile in profiles - {""}:
        assert not [f for f in findings.find(done.after, profile) if f.severity == "error"]
    return done


def shape(done):
    return [
        (m.role[0], *(b.call_id if b.kind in {"call", "result"} else b.text for b in m.blocks))
        for m in done.after.messages
    ]


def rules(done):
    return [each.rule for each in done.fixes]


@every_format
def test_b01_a_call_in_the_middle_gets_an_error_result_before_the_users_words(name):
    done = mended(lines(user("a"), assistant(call("1")), user("go on"), format_name=name), name)
    assert shape(done)[1:] == [("a", "1"), ("u", "1", "go on")]
    answer = done.after.messages[2].blocks[0]
    assert answer.failed
    assert answer.content[0].text == placeholders.NO_RESULT
    assert rules(done) == ["PAIR-09" if name == "pi" else "PAIR-01"]  # pi answers it itself


@every_format
def test_b02_an_open_tail_is_closed_in_one_user_message(name):
    open_tail = lines(user("a"), assistant("b", call("1"), call("2")), format_name=name)
    assert shape(mended(open_tail, name))[-2:] == [("a", "b", "1", "2"), ("u", "1", "2")]


def test_b10_codex_answers_each_kind_of_call_by_its_own_kind():
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "x"},
        {"type": "function_call", "call_id": "f", "name": "shell", "arguments": "{}"},
        {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {}},
        {"type": "local_shell_call", "call_id": "l", "action": {"type": "exec", "command": []}},
    ]
    done = mended([json.dumps(item).encode() + b"\n" for item in items], "codex")
    made = [json.loads(line) for line in done.lines[len(items) :]]
    assert {each["call_id"]: each["type"] for each in made} == {
        "c": "custom_tool_call_output",
        "f": "function_call_output",
        "s": "tool_search_output",
        "l": "function_call_output",
    }


def test_codex_mends_an_output_of_the_wrong_kind():
    items = [
        {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "x"},
        {"type": "function_call_output", "call_id": "c", "output": "done"},
    ]
    done = mended([json.dumps(item).encode() + b"\n" for item in items], "codex")
    assert [json.loads(line)["type"] for line in done.lines][-1] == "custom_tool_call_output"
    assert b'"done"' in done.lines[-1]


@every_format
def test_b13_an_orphan_result_goes_and_nothing_raises(name):
    done = mended(lines(user("a"), user(result("9")), assistant("b"), format_name=name), name)
    assert shape(done) == [("u", "a"), ("a", "b")]
    assert rules(done) == ["PAIR-02"]


@every_format
def test_b13_a_file_of_nothing_but_an_orphan_says_what_is_left(name):
    alone = lines(user(result("9")), format_name=name)
    done = repair(alone, "test", name)
    assert [f.rule for f in done.left][:1] == ["PAIR-02"]
    assert list(done.lines) == alone


@pytest.mark.parametrize("name", ["messages", "openai", "events", "pi"])
def test_b15_results_come_first(name):
    said = [user("a"), assistant(call("1")), user("reminder", result("1", "r"))]
    done = mended(lines(*said, format_name=name), name)
    assert shape(done)[-1] == ("u", "1", "reminder")
    assert done.after.messages[-1].blocks[0].content[0].text == "r"


def test_a_result_that_moves_keeps_the_name_of_its_tool():
    written = Block("result", call_id="1", tool="Bash", content=(text("r"),))
    said = [user("a"), assistant(call("1")), user("in between"), user(written)]
    done = mended(lines(*said, format_name="pi"), "pi")
    assert shape(done) == [("u", "a"), ("a", "1"), ("u", "1", "in between")]
    assert done.after.messages[-1].blocks[0].tool == "Bash"


def test_b17_text_between_split_results_goes_behind_them():
    said = [user("a"), assistant(call("1"), call("2")), user(result("1"), "x"), user(result("2"))]
    assert shape(mended(lines(*said), "messages"))[-1] == ("u", "1", "2", "x")


def test_b19_the_order_inside_an_answer_stays():
    said = [user("a"), assistant(thinking(), call("1"), "after"), user(result("1"))]
    assert not mended(lines(*said), "messages").fixes


def test_thinking_that_is_to_go_is_told_beside_other_mends():
    said = [user("a"), assistant(thinking(), call("1")), user("b")]
    done = repair(lines(*said), "test", "messages", "drop")
    assert sorted(each.rule for each in done.fixes) == ["PAIR-01", "thinking"]
    assert all(block.kind != "thinking" for m in done.after.messages for block in m.blocks)


def test_b21_a_call_streamed_twice_is_there_once():
    said = [user("a"), assistant(call("1"), call("1")), user(result("1"))]
    assert shape(mended(lines(*said), "messages"))[1:] == [("a", "1"), ("u", "1")]


def test_b21_another_call_of_the_same_id_gets_its_own():
    said = [user("a"), assistant(call("1", x=1), call("1", x=2)), user(result("1"))]
    done = mended(lines(*said), "messages")
    assert ids(done.after.messages) == ["1", "1_2"]
    assert sorted(ids(done.after.messages, "result")) == ["1", "1_2"]


@pytest.mark.parametrize("bad", ["", "functions.x:0", "é"])
def test_b22_ids_that_no_provider_takes_are_renamed_on_both_sides(bad):
    done = mended(lines(user("a"), *exchange(bad, "r")), "messages")
    (new,) = ids(done.after.messages)
    assert ids(done.after.messages, "result") == [new]
    assert new.isascii()
    assert 0 < len(new) <= len("functions_x_0")


def test_b22_long_ids_are_shortened_for_chat():
    done = mended(lines(user("a"), *exchange("x" * 99, "r"), format_name="openai"), "openai")
    (new,) = ids(done.after.messages)
    assert len(new) == len("x" * 40)


@every_format
def test_b23_of_two_results_the_last_stays(name):
    said = [
        user("a"),
        assistant(call("1")),
        user(result("1", "old"), result("1", "new")),
        assistant("b"),
    ]
    done = mended(lines(*said, format_name=name), name)
    assert ids(done.after.messages, "result") == ["1"]
    assert done.after.messages[2].blocks[0].content[0].text == "new"
    assert rules(done) == ["PAIR-04"]


@pytest.mark.parametrize("name", ["messages", "openai"])
def test_b25_ids_used_again_in_closed_turns(name):
    said = [user("a"), *exchange("0", "r"), *exchange("0", "s")]
    done = mended(lines(*said, format_name=name), name)
    assert bool(done.fixes) == (name == "messages")  # chat completions take them
    assert ids(done.after.messages) == ids(done.after.messages, "result")


def test_b37_empty_texts_go_also_inside_results():
    said = [user("a", " "), assistant("", "b"), user("", text("c"))]
    assert shape(mended(lines(*said), "messages")) == [("u", "a"), ("a", "b"), ("u", "c")]
    nested = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": ""}]}
    odd = [
        *lines(user("a"), assistant(call("1"))),
        json.dumps({"role": "user", "content": [nested]}).encode(),
    ]
    assert b'"content":[]' in mended(odd, "messages").lines[-1]


def test_a_user_message_that_holds_nothing_goes():
    done = mended(
        [*lines(user("a"), assistant("b")), b'{"role":"user","content":[]}\n'], "messages"
    )
    assert rules(done) == ["TEXT-03"]


def test_an_assistant_message_without_content_gets_one():
    silent = b'{"role":"assistant","content":null}\n'
    done = mended([*lines(user("a")), silent], "openai")
    assert json.loads(done.lines[-1])["content"] == ""


def test_marks_for_the_cache_beyond_the_last_four_go():
    block = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    written = [json.dumps({"role": "user", "content": [block] * 6}).encode() + b"\n"]
    assert b"".join(mended(written, "messages").lines).count(b"cache_control") == len("four")


def test_b41_b42_images_that_are_refused_become_texts():
    fake = {"type": "base64", "media_type": "image/png", "data": "PGh0bWw+PC9odG1sPg=="}
    image = {"type": "image", "source": fake}
    failed = {"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": [image]}
    said = [{"role": "user", "content": [image]}, {"role": "user", "content": [failed]}]
    first, second = (json.dumps(each).encode() + b"\n" for each in said)
    done = mended([first, *lines(assistant(call("1"))), second], "messages")
    assert b'"image"' not in b"".join(done.lines)
    assert b"image removed" in done.lines[0]


def test_b39_an_image_alone_is_content():
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    assert not mended([json.dumps({"role": "user", "content": [image]}).encode()], "messages").fixes


def test_b47_half_a_character_is_replaced():
    done = mended([b'{"role":"user","content":"a\\ud83d"}\n'], "messages")
    assert texts(done.after.messages) == ["a\ufffd"]


def test_b48_nul_bytes_go_and_the_record_stays_as_it_is():
    odd = b'{"role" : "user","content":"a","n":1e5}'
    done = mended([b"\0\0" + odd + b"\0\n", *lines(assistant("b"))], "messages")
    assert done.lines[0] == odd + b"\n"


@pytest.mark.parametrize("torn", [b'{"role":"user","cont', b"\x81\x8d words", b"not json"])
def test_b49_what_can_not_be_read_keeps_its_text(torn):
    done = mended([*lines(user("a")), torn + b"\n", *lines(assistant("b"))], "messages")
    record = json.loads(done.lines[1])
    assert record == {"type": UNREADABLE, "text": torn.decode("utf-8", "replace")}


def test_what_stands_before_the_damage_is_read():
    glued = b'{"role":"user","content":"a"}\xef\xbb\xbf{"role":"assistant","content":NaN}{"x\n'
    done = mended([glued], "messages")
    assert [json.loads(line).get("role") for line in done.lines] == ["user", "assistant", None]


def test_a_view_that_opens_with_an_answer_gets_an_opening():
    done = mended(lines(assistant("b"), user("c")), "messages")
    assert shape(done) == [("u", MISSING_START), ("a", "b"), ("u", "c")]


@every_linked_format
def test_b53_a_parent_that_is_missing_is_bridged_with_a_marker(name):
    written = lines(
        user("a"), assistant("b"), user("c"), assistant("d"), user("e"), format_name=name
    )
    done = mended([*written[:2], *written[3:]], name)
    assert texts(done.after.messages) == ["a", "b", GAP, "d", "e"]
    assert rules(done) == ["FILE-12"]


@every_linked_format
def test_parents_in_a_circle_are_led_out_of_it(name):
    written = lines(user("a"), assistant("b"), user("c"), assistant("d"), format_name=name)
    links = load(written, name).format.links
    third, last = json.loads(written[2]), json.loads(written[3])
    circle = json.dumps(third | {links.parent: last[links.own]}).encode() + b"\n"
    done = mended([*written[:2], circle, written[3]], name)
    assert texts(done.after.messages) == ["a", "b", GAP, "c", "d"]


def test_entries_of_one_id_that_lead_nowhere_get_their_own():
    written = lines(user("a"), assistant("b"), user("c"), assistant("d"), format_name="claude-code")
    same = [json.loads(line) | {"uuid": "x", "parentUuid": "x"} for line in written[1:]]
    done = mended(
        [written[0], *(json.dumps(each).encode() + b"\n" for each in same)], "claude-code"
    )
    assert [t for t in texts(done.after.messages) if t != GAP] == ["a", "b", "c", "d"]


@every_format
def test_a_valid_transcript_leaves_byte_for_byte(name):
    said = [
        user("a"),
        *exchange("1", "r"),
        *exchange("2", "s", failed=True),
        assistant("b"),
        user("c"),
    ]
    written = lines(*said, format_name=name)
    done = repair(written, "test", name)
    assert done.lines is written
    assert not done.fixes


@every_linked_format
def test_lines_out_of_order_are_sorted_by_their_parents(name):
    said = [user("a"), *exchange("1", "r"), assistant("b"), user("c"), *exchange("2", "s")]
    written = lines(*said, format_name=name)
    last = len(written) - 1
    torn = [written[last], b"not json\n", *written[:last]]
    done = mended(torn, name)
    assert "order" in rules(done)
    assert shape(done) == shape(mended(written, name))


@every_linked_format
def test_a_valid_transcript_keeps_its_order(name):
    written = lines(user("a"), assistant("b"), user("c"), assistant("d"), format_name=name)
    follows = formats.load(name).links.follows
    swapped = [written[1], written[0], *written[2:]] if follows else [*written]
    assert not mended(swapped, name).fixes


def test_a_break_is_bridged_at_its_own_entry_on_a_line_of_two():
    written = lines(user("a"), assistant("b"), user("c"), assistant("d"), format_name="claude-code")
    glued = [written[0], written[2].rstrip() + written[3]]
    done = mended(glued, "claude-code")
    assert texts(done.after.messages) == ["a", GAP, "c", "d"]
    assert rules(done) == ["FILE-12"]


@every_linked_format
def test_thousands_of_breaks_are_mended_in_no_time(name):
    many = 1500
    said = [m for n in range(many) for m in (user(f"u{n}"), assistant(f"a{n}"))]
    written = lines(*said, format_name=name)
    parent = formats.load(name).links.parent
    lost = [
        json.dumps(json.loads(line) | {parent: f"x{n}"}).encode() + b"\n"
        for n, line in enumerate(written)
    ]
    started = time.monotonic()
    assert len(rules(mended(lost, name))) == len(written) - 1
    assert time.monotonic() - started < 20


def test_an_opening_is_seen_also_where_all_ids_are_one():
    note = b'{"type":"attachment","uuid":"x","parentUuid":"x","attachment":{}}\n'
    said = [assistant("a"), user("b"), assistant("c"), user("d")]
    written = [note, *lines(*said, format_name="claude-code")]
    same = [json.loads(line) | {"uuid": "x", "parentUuid": "x"} for line in written]
    done = mended([json.dumps(each).encode() + b"\n" for each in same], "claude-code")
    assert texts(done.after.messages)[0] == MISSING_START


def test_of_three_calls_of_one_id_the_one_without_a_result_goes():
    said = [user("a"), *exchange("1", "r"), assistant(call("1")), user("b"), user(result("1"))]
    done = mended(lines(*said, assistant(call("1")), user("c"), format_name="codex"), "codex")
    assert ids(done.after.messages) == ids(done.after.messages, "result") == ["1", "1_2"]
