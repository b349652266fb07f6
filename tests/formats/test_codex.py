"""What the ``codex`` format reads, and what it writes back."""

from __future__ import annotations

import json

import msgspec
import pytest
from helpers.builders import COUNTER, load, result, rewrite, texts, write

from compactctl import pipeline
from compactctl.errors import CompactctlError
from compactctl.formats import detect
from compactctl.formats.base import Link
from compactctl.formats.codex.rollout import FORMAT as CODEX
from compactctl.model import MADE, Block, Message, arguments, replace_blocks
from compactctl.rules import findings

SUMMARY = "Another language model started to solve this problem and produced a summary of …\nso far"


def line(kind, payload):
    return {"timestamp": "T", "type": kind, "payload": payload}


def item(kind, **members):
    return line("response_item", {"type": kind, **members})


def said(role, *words):
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": word} for word in words]
    return item("message", role=role, content=content)


def called(call_id, name="exec_command", **given):
    return item("function_call", name=name, arguments=json.dumps(given), call_id=call_id)


def answered(call_id, output, kind="function_call_output"):
    return item(kind, call_id=call_id, output=output)


def compacted(*items, message=""):
    history = [each["payload"] for each in items]
    return line("compacted", {"message": message, "replacement_history": history})


def raw(*records):
    return [json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records]


def read(*records):
    return load(raw(*records), "codex")


def shape(transcript):
    return [(m.role, [b.kind for b in m.blocks]) for m in transcript.messages]


def written(transcript, messages):
    return [json.loads(chunk) for chunk in rewrite(transcript, messages).lines()]


OLD = (
    {"id": "s", "timestamp": "T", "instructions": None, "git": {}},
    {"record_type": "state"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
    {
        "type": "function_call_output",
        "call_id": "c",
        "output": '{"output":"no such file","metadata":{"exit_code":2,"duration_seconds":0.1}}',
    },
)
PATCH = "*** Begin Patch\n*** Update File: a.py\n*** End Patch"
SESSION = (
    line("session_meta", {"id": "s", "cwd": "/w"}),
    said("developer", "rules"),
    said("user", "<environment_context>\n</environment_context>", "go"),
    line("event_msg", {"type": "user_message", "message": "go"}),
    item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="gA"),
    said("assistant", "I look"),
    called("c1", cmd="ls", workdir="/w"),
    item("custom_tool_call", call_id="c2", name="apply_patch", input=PATCH, status="completed"),
    item("web_search_call", status="completed", action={"type": "search", "query": "q"}),
    item("local_shell_call", call_id="c3", action={"type": "exec", "command": ["ls"]}),
    item("tool_search_call", call_id="c4", arguments={"query": "gh"}, execution="client"),
    answered("c1", "Chunk ID: 1\nProcess exited with code 0\nOutput:\na.py"),
    answered("c2", "Exit code: 1\nWall time: 0 seconds\nOutput:\nno", "custom_tool_call_output"),
    answered("c3", [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": ""}]),
    item("tool_search_output", call_id="c4", tools=[{"name": "gh"}], execution="client"),
    item("ghost_snapshot", ghost_commit={}),
    item("from_the_future", text="x"),
)


@pytest.mark.parametrize(
    "records",
    [
        SESSION,
        OLD,
        SESSION + OLD,
        (said("user", "old"), compacted(*SESSION[1:]), said("assistant", "ok")),
        (said("user", "old"), line("compacted", {"message": "sum"})),
        (line("response_item", 7), line("compacted", {"replacement_history": [7, {}, "x"]})),
        (item("message", role="user", content="text"), item("message", role=["user"], content=[])),
    ],
)
def test_what_is_not_touched_keeps_its_bytes_and_a_part_written_back_is_the_part(records):
    transcript = read(*records)
    assert b"".join(rewrite(transcript, transcript.messages).chunks) == b"".join(raw(*records))
    for message in transcript.messages:
        for block in message.blocks:
            record = json.loads(transcript.entries[block.entry].raw)
            parts = CODEX.parts(record)
            assert CODEX.edit(parts[block.at], block) == parts[block.at]
            assert CODEX.replace_parts(record, parts) == record


@pytest.mark.parametrize("records", [SESSION, OLD, OLD[:1], OLD[2:], (compacted(),)])
def test_content_tells_the_format(records):
    assert detect.format_of(raw(*records)) is CODEX


@pytest.mark.parametrize(
    "record",
    [
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}]},
        {"type": "message", "id": "e", "parentId": None, "message": {"role": "user"}},
        {"type": "function_call", "call_id": "c", "schema_version": 1},
        {"type": "user", "uuid": "u", "payload": {}},
    ],
)
def test_a_line_of_another_format_is_not_taken_for_a_bare_item(record):
    assert not CODEX.recognises(record)


def test_items_of_one_answer_are_one_message_and_so_are_their_outputs():
    assert shape(read(*SESSION)) == [
        ("system", ["text"]),
        ("user", ["text", "text"]),
        ("assistant", ["thinking", "text", "call", "call", "other", "call", "call"]),
        ("user", ["result"] * 4),
    ]


def test_calls_know_their_arguments_and_their_folder():
    calls = [b for b in read(*SESSION).messages[2].blocks if b.kind == "call"]
    assert [call.cwd for call in calls] == ["/w"] * 4
    assert [arguments(call) for call in calls] == [
        {"cmd": "ls", "workdir": "/w"},
        {"input": PATCH},
        {"type": "exec", "command": ["ls"]},
        {"query": "gh"},
    ]


def test_what_the_harness_wrote_is_no_request():
    blocks = (
        read(said("user", "<skill>\nx\n</skill>", "<skill> what is it?", SUMMARY))
        .messages[0]
        .blocks
    )
    assert [(b.meta, b.is_summary) for b in blocks] == [(True, False), (False, False), (True, True)]


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n", False),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 127\nOutput:\n", True),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess running with session ID 7\n", False),
        ("Exit code: 0\nOutput:\nExit code: 1", False),
        ("Exit code: -1\nOutput:\n", True),
        (f"Exit code: {'0' * 5000}\nOutput:\n", False),
        (f"Exit code: {'9' * 5000}\nOutput:\n", True),
        ("the log says\nExit code: 1", False),
        ('{"output":"x","metadata":{"exit_code":0}}', False),
        ('{"output":"x","metadata":{"exit_code":1}}', True),
        ([{"type": "input_text", "text": "Exit code: 3\nOutput:\n"}], True),
        ([], False),
        (None, False),
    ],
)
def test_only_the_harness_says_that_a_call_failed(output, failed):
    assert read(called("c"), answered("c", output)).messages[1].blocks[0].failed is failed


def test_an_output_of_the_old_form_is_read_and_cut_inside_of_it():
    transcript = read(*OLD)
    old = transcript.messages[-1].blocks[0]
    assert (old.content[0].text, old.failed) == ("no such file", True)
    piece = Block("text", "no", entry=old.entry)
    new = Block("result", call_id="c", content=(piece,), entry=old.entry)
    messages = [*transcript.messages[:-1], Message("user", (new,))]
    assert json.loads(written(transcript, messages)[-1]["output"]) == {
        "output": "no",
        "metadata": {"exit_code": 2, "duration_seconds": 0.1},
    }


def test_a_compacted_line_stands_for_all_before_it():
    transcript = read(said("developer", "old"), said("user", "old"), compacted(said("user", "new")))
    assert [b.text for m in transcript.messages for b in m.blocks] == ["new"]


def test_an_old_compaction_keeps_what_the_user_said():
    transcript = read(*SESSION[1:3], said("assistant", "x"), line("compacted", {"message": "sum"}))
    assert texts(transcript.messages)[-2:] == ["go", "sum"]
    assert transcript.messages[-1].blocks[-1].is_summary


HISTORY = (
    said("user", "first"),
    item("ghost_snapshot", ghost_commit={}),
    said("assistant", "look"),
    called("c", cmd="cat"),
    answered("c", "word " * 400),
    said("user", "one", "two"),
    item("compaction", encrypted_content="gA"),
)


def history(records):
    return next(r for r in records if r["type"] == "compacted")["payload"]["replacement_history"]


def test_an_output_inside_a_compacted_line_is_cut_in_its_place():
    result = pipeline.run(
        read(said("user", "old"), compacted(*HISTORY)),
        ["truncate"],
        {"truncate": {"max_tokens": 60}},
        COUNTER,
    )
    lines = [json.loads(each) for each in result.written().lines()]
    new, old = history(lines), history([compacted(*HISTORY)])
    assert lines[0] == said("user", "old")
    assert new[4]["output"] != old[4]["output"]
    assert new[:4] + new[5:] == old[:4] + old[5:]


def test_an_item_inside_a_compacted_line_goes_alone():
    transcript = read(compacted(*HISTORY))
    kept = [message for message in transcript.messages if message.role != "assistant"][:1]
    left = [each["type"] for each in history(written(transcript, kept))]
    assert left == ["message", "ghost_snapshot"]


def test_a_compacted_line_stays_without_items_since_it_hides_what_precedes_it():
    transcript = read(said("user", "old"), compacted(said("user", "new")), said("user", "then"))
    (message,) = transcript.messages
    lines = rewrite(transcript, [replace_blocks(message, message.blocks[1:])]).lines()
    assert texts(load(lines, "codex").messages) == ["then"]


@pytest.mark.parametrize("at", range(4))
def test_a_text_that_a_layer_adds_stands_where_it_was_put(at):
    transcript = read(
        said("user", "old"), compacted(said("user", "one", "two")), said("user", "three")
    )
    blocks = list(transcript.messages[0].blocks)
    blocks.insert(at, Block("text", "new", meta=True))
    lines = rewrite(transcript, [Message("user", tuple(blocks))]).lines()
    assert texts(load(lines, "codex").messages) == [b.text for b in blocks]


def test_a_summary_that_only_the_provider_can_read_is_kept_by_every_layer():
    records = [
        said("assistant", f"{n} " * 50) if n % 2 else said("user", "go on") for n in range(40)
    ]
    for names in (["prune"], ["summarize"], ["prune", "summarize"]):
        result = pipeline.run(read(compacted(*HISTORY), *records), names, {}, COUNTER)
        assert any(b.type == "compaction" for m in result.messages for b in m.blocks)


def test_what_a_compaction_keeps_may_be_anything():
    odd = [{"payload": each} for each in (5, None, {"type": {"x": 1}}, {"type": ["message"]})]
    transcript = read(compacted(*odd, *HISTORY), said("assistant", "so"))
    expected = read(compacted(*HISTORY), said("assistant", "so"))
    assert texts(transcript.messages) == texts(expected.messages)


def test_a_rollback_drops_the_last_prompts_with_what_follows():
    back = line("event_msg", {"type": "thread_rolled_back", "num_turns": 2})
    turns = [said("user", "1"), said("assistant", "a"), said("user", "2"), said("assistant", "b")]
    rest = [said("user", "<skill>x</skill>"), said("user", "3"), back, said("user", "4")]
    assert texts(read(*turns, *rest).messages) == ["1", "a", "4"]


def rolled_back(turns):
    return line("event_msg", {"type": "thread_rolled_back", "num_turns": turns})


LONG = (said("user", "first"), called("c", cmd="cat"), answered("c", "word " * 400))
WRONG = (said("user", "a wrong turn"), said("assistant", "so be it"))


@pytest.mark.parametrize(
    ("layer", "given"), [("truncate", {"max_tokens": 60}), ("prune", {"keep_turns": 1})]
)
def test_a_rolled_back_prompt_stays_in_its_compacted_line(layer, given):
    later = [said("assistant", "so"), said("user", "second"), said("assistant", "x " * 300)]
    before = read(compacted(*LONG, *WRONG), rolled_back(1), *later, said("user", "third"))
    result = pipeline.run(before, [layer], {layer: given}, COUNTER)
    assert result.steps[0].actions
    assert history([json.loads(each) for each in result.written().lines()])[-2:] == [
        each["payload"] for each in WRONG
    ]
    left = texts(load(result.written().lines(), "codex").messages)
    assert "first" in left
    assert "third" in left


def test_a_compacted_line_that_lost_all_it_showed_keeps_what_was_rolled_back():
    before = read(compacted(*LONG, *WRONG), rolled_back(1), said("user", "then"))
    (*_, last) = before.messages
    kept = [Message("user", last.blocks[-1:])]
    assert len(history(written(before, kept))) == len(WRONG)
    assert texts(load(rewrite(before, kept).lines(), "codex").messages) == ["then"]


@pytest.mark.parametrize(("turns", "stays"), [(1, 1), (99, 1)])
def test_a_rollback_of_more_turns_than_there_are_never_takes_what_a_layer_made(turns, stays):
    start = [said("assistant", "hello"), *WRONG, rolled_back(turns), said("user", "then")]
    before = read(*start)
    made = Message("user", (Block("text", "made"),))
    lines, after = write(before, [made, *before.messages])
    assert texts(after.messages) == ["made", "hello", "then"]
    assert json.loads(lines.lines()[-2])["payload"]["num_turns"] == stays
    assert lines.counts.changed == (turns != stays)


def test_a_rollback_that_found_nothing_goes_on_finding_nothing():
    before = read(said("assistant", "hello"), rolled_back(1), said("user", "then"))
    made = Message("user", (Block("text", "made"),))
    lines, after = write(before, [made, *before.messages])
    assert texts(after.messages) == ["made", "hello", "then"]
    assert json.loads(lines.lines()[2])["payload"]["num_turns"] == 0


def test_a_rollback_of_too_much_stays_as_it_is_while_nothing_stands_in_front_of_it():
    before = read(said("assistant", "hello"), rolled_back(1), *LONG, said("assistant", "so"))
    result = pipeline.run(before, ["truncate"], {"truncate": {"max_tokens": 60}}, COUNTER)
    assert result.steps[0].actions
    assert result.written().lines()[1] == raw(rolled_back(1))[0]


def test_answers_before_and_behind_what_was_rolled_back_are_one_message():
    after = read(*LONG, said("assistant", "so"), *WRONG, rolled_back(1), said("assistant", "on"))
    assert shape(after)[-1] == ("assistant", ["text", "text"])


def test_what_would_not_read_back_as_it_was_meant_is_not_written(monkeypatch):
    before = read(compacted(*LONG, *WRONG), rolled_back(1), said("user", "then"))
    edited = msgspec.structs.replace(before.messages[0].blocks[0], text="1st")
    monkeypatch.setattr(CODEX, "unseen_parts", lambda *_: [])
    with pytest.raises(CompactctlError, match="nothing was written"):
        write(before, [Message("user", (edited,)), *before.messages[1:]])


def test_a_tool_search_of_the_provider_needs_no_output():
    transcript = read(item("tool_search_call", execution="server", call_id=None, arguments={}))
    assert shape(transcript) == [("assistant", ["other"])]


def test_found_tools_are_counted_but_never_cut():
    (_, message) = read(
        item("tool_search_call", call_id="c", arguments={}),
        item("tool_search_output", call_id="c", tools=[{"name": "x"}]),
    ).messages
    assert [(p.kind, p.text) for p in message.blocks[0].content] == [("other", '[{"name":"x"}]')]


@pytest.mark.parametrize("like", [SESSION[0], OLD[2], {}])
def test_new_lines_take_the_form_of_their_neighbour_and_read_back(like):
    made = [
        Block("thinking", "hm"),
        Block("text", "a"),
        Block("text", "b"),
        Block("call", '{"a":1}', "c", "x"),
    ]
    lines = CODEX.create("assistant", made, like, Link("", None))
    lines += CODEX.create("user", [result("c", "no", failed=True)], like, Link("", None))
    assert all(("payload" in record) == (like is not OLD[2]) for record in lines)
    read_back = read(*lines).messages
    assert [b.kind for b in read_back[0].blocks] == ["thinking", "text", "text", "call"]
    assert read_back[1].blocks[0].failed
    assert all(b.entry != MADE for m in read_back for b in m.blocks)


def test_entries_of_types_that_no_version_writes_are_counted():
    known = [line("world_state", {}), item("ghost_snapshot"), {"type": "web_search_call"}]
    assert not findings.find(read(*SESSION, *known), "openai-responses")
    (found,) = findings.find(read(*SESSION, line("hologram", {})), "openai-responses")
    assert (found.rule, found.severity) == ("FILE-15", "info")
