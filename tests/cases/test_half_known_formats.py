"""A list of messages that a format knows by half is refused by name, or carried whole."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.builders import COUNTER, load

from compactctl import pipeline
from compactctl.errors import InputError
from compactctl.files.reading import read_lines
from compactctl.formats import detect
from compactctl.repair.engine import repair
from compactctl.rules import findings

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"


def case(name):
    path = CASES / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared cases are not there")
    return read_lines(str(path))


def dumped(*records):
    return [json.dumps(record).encode() + b"\n" for record in records]


def says(role, content, **members):
    return {"role": role, "content": content} | members


TEXT = {"type": "text", "text": "go on"}
AI_SDK = (
    says("user", [TEXT]),
    says("assistant", [{"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}}]),
    says("tool", [{"type": "tool-result", "toolCallId": "c", "output": {"value": "ok"}}]),
)
CONVERSE = (
    says("user", [{"text": "go"}]),
    says("assistant", [{"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}]),
    says("user", [{"toolResult": {"toolUseId": "c", "content": [{"text": "ok"}]}}]),
)
FOREIGN = {
    "AI SDK (ModelMessage)": AI_SDK,
    "Converse API": CONVERSE,
    "AI SDK (UIMessage)": ({"id": "1", "role": "user", "parts": [TEXT]},),
    "Gemini API": ({"role": "user", "parts": [{"text": "go"}]},),
    "LangChain": ({"type": "human", "data": {"content": "go"}},),
}


@pytest.mark.parametrize(("name", "records"), FOREIGN.items())
def test_messages_of_others_are_refused_by_name(name, records):
    with pytest.raises(InputError, match="not supported") as refused:
        detect.format_of(dumped(*records))
    assert name in str(refused.value)


@pytest.mark.parametrize("name", ["openai", "messages"])
@pytest.mark.parametrize("records", [AI_SDK, CONVERSE])
def test_so_they_are_when_the_format_is_given(name, records):
    for run in (load, lambda raw, name: repair(raw, "f", name)):
        with pytest.raises(InputError, match="not supported"):
            run(dumped(*records), name)


OPENAI = (
    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    {"type": "file", "file": {"file_id": "f"}},
    {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
)


@pytest.mark.parametrize("part", OPENAI)
def test_a_part_that_only_chat_completions_has_decides(part):
    raw = dumped(says("user", [TEXT, part]), says("assistant", "ok"))
    assert detect.format_of(raw).name == "openai"
    assert not [
        each for each in findings.find(load(raw), "openai-chat") if each.severity == "error"
    ]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "document", "source": {"type": "text", "data": "a"}},
        {"type": "image", "source": {"type": "url", "url": "x:"}},
        TEXT,
    ],
)
def test_other_lists_without_calls_are_anthropics(part):
    assert (
        detect.format_of(dumped(says("user", [part]), says("assistant", "ok"))).name == "messages"
    )


@pytest.mark.parametrize("name", ["openai", "messages"])
def test_a_part_of_an_unknown_kind_is_carried(name):
    odd = {"type": "hologram", "scene": "a"}
    raw = dumped(says("user", [TEXT, odd]), says("assistant", [odd, TEXT]), says("user", "on"))
    assert repair(raw, "f", name).lines == raw


# One call in two representations

USE = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "/a"}}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "Read", "arguments": '{"file_path": "/a"}'},
}
BODY = "\n".join(f"{n}\tline" for n in range(1, 60))


def twice(*, later=True):
    """A read that an answer holds as a part and as a call; ``later`` it is read again."""
    again = json.loads(json.dumps(CALL).replace("c1", "c2"))
    more = (
        says("assistant", None, tool_calls=[again]),
        says("tool", BODY, tool_call_id="c2"),
    )
    return dumped(
        says("user", "go"),
        says("assistant", [TEXT, USE], tool_calls=[CALL]),
        says("tool", BODY, tool_call_id="c1"),
        *(more if later else ()),
        says("assistant", "done"),
    )


def test_one_call_in_two_forms_is_one_call():
    (call,) = [b for m in load(twice(later=False)).messages for b in m.blocks if b.kind == "call"]
    assert call.call_id == "c1"
    assert not findings.find(load(twice(later=False)), "openai-chat")


def test_both_forms_of_a_call_go_together():
    written = pipeline.run(load(twice()), ("dedup",), {}, COUNTER).written().lines()
    assert b"c1" not in b"".join(written)
    assert json.loads(written[1]) == says("assistant", [TEXT])


def test_both_forms_of_a_call_stay_together():
    given = {"truncate": {"max_tokens": 60}}
    written = pipeline.run(load(twice()), ("truncate",), given, COUNTER).written().lines()
    assert written[1] == twice()[1]


def test_both_forms_of_a_call_are_renamed_together():
    raw = [line.replace(b"c1", b"c" * 41) for line in twice(later=False)]
    fixed = json.loads(repair(raw, "f", "openai").lines[1])
    assert fixed["content"][1]["id"] == fixed["tool_calls"][0]["id"]
    assert len(fixed["tool_calls"][0]["id"]) <= 40


# ShareGPT

SHARED = {
    "conversations": [
        {"from": "system", "value": "be brief"},
        {"from": "human", "value": "list it"},
        {"from": "function_call", "value": '{"name":"ls","arguments":{}}'},
        {"from": "observation", "value": "a b"},
        {"from": "gpt", "value": "two files"},
    ]
}


@pytest.mark.parametrize("whole", [[SHARED, SHARED], SHARED])
def test_the_command_for_sharegpt_makes_a_valid_session(whole, tmp_path):
    jq = shutil.which("jq")
    if jq is None:
        pytest.skip("jq is not installed")
    file = tmp_path / "FILE"
    file.write_text(
        json.dumps(whole) + "\n" + ("" if isinstance(whole, list) else json.dumps(SHARED))
    )
    with pytest.raises(InputError) as refused:
        detect.format_of(read_lines(str(file)))
    command = str(refused.value).partition("turn it into lines with: ")[2]
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, check=True
    ).stdout
    read = load(done.splitlines(keepends=True))
    assert read.format.name == "openai"
    assert not findings.find(read, "openai-chat", sendable=False)
    assert [block.kind for m in read.messages for block in m.blocks] == [
        *("text", "text", "call", "result", "text")
    ]


# The cases


def test_case_the_ai_sdk_is_refused_by_name():
    with pytest.raises(InputError, match="AI SDK"):
        detect.format_of(case("c12b-vercel-modelmessages"))


def test_case_both_representations_are_one_call():
    raw = case("c12d-both-representations")
    assert repair(raw, "f", None).lines == raw
    kinds = [block.kind for m in load(raw).messages for block in m.blocks]
    assert kinds == ["text", "text", "call", "result", "text", "text"]


def test_case_sharegpt_is_named():
    with pytest.raises(InputError, match=r"ShareGPT.*jq -c"):
        detect.format_of(case("c15b-sharegpt"))
