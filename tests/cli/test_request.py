"""``render --as request``: a body that the provider's own SDK types accept, key by key."""

import base64
import json
import types
import typing

import pytest
from helpers.shell import OPEN, SAMPLES, USER, call, fact, lines, refused, result, run, said

from compactctl.request import BLOCK_KEYS

sdk = pytest.importorskip("anthropic.types")
typing_extensions = pytest.importorskip("typing_extensions")  # which the SDK needs
BODY = sdk.message_create_params.MessageCreateParamsNonStreaming


def members(hint):
    """Give the types of which a value may be one."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [one for arm in typing.get_args(hint) for one in members(arm)]
    if typing.get_origin(hint) in (typing.Required, typing.NotRequired, typing.Annotated):
        return members(typing.get_args(hint)[0])
    return [hint]


def accepts(hint, value):
    return any(accepts_one(one, value) for one in members(hint))


def accepts_one(hint, value):
    """Say whether a type of the SDK takes a value, with no key beside those it knows."""
    if typing_extensions.is_typeddict(hint):
        hints = typing_extensions.get_type_hints(hint, include_extras=False)
        return (
            isinstance(value, dict)
            and required(hint) <= value.keys() <= hints.keys()
            and all(accepts(hints[key], item) for key, item in value.items())
        )
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return value in inner
    if origin is dict:
        return isinstance(value, dict)
    if origin is not None:  # some sequence
        return isinstance(value, list) and all(accepts(inner[0], item) for item in value)
    if hint in (typing.Any, object):
        return True
    return isinstance(value, hint if isinstance(hint, type) else str)


def required(hint):
    """Give the keys that must be there; their annotations are text, which the class cannot see."""
    hints = typing_extensions.get_type_hints(hint, include_extras=True)
    wrapped = (typing.Required, typing_extensions.Required)
    return {key for key, kind in hints.items() if typing.get_origin(kind) in wrapped}


def body(*arguments, stdin=b""):
    given = ("--as", "request", "--model", "claude-x", "--max-tokens", 100)
    done = run("render", *given, *arguments, stdin=stdin)
    assert done.returncode == 0, said(done)
    return json.loads(done.stdout)


def check(found):
    for message in found["messages"]:
        assert accepts(typing_extensions.get_type_hints(BODY)["messages"], [message]), message
    assert accepts(BODY, found)


def test_the_checker_takes_what_the_sdk_takes_and_no_more():
    good = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    base = {"model": "m", "max_tokens": 1}
    assert accepts(BODY, base | {"messages": [good]})
    for bad in (
        good | {"uuid": "x"},
        {"role": "tool", "content": "x"},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "user", "content": [{"type": "text", "text": "hi", "_read_path": "x"}]},
        {"role": "user", "content": [{"type": "tool_result", "content": "x"}]},
    ):
        assert not accepts(BODY, base | {"messages": [bad]})


@pytest.mark.parametrize("kind", BLOCK_KEYS)
def test_every_key_that_is_passed_on_is_the_providers(kind):
    blocks = [*members(sdk.ContentBlockParam), sdk.ToolReferenceBlockParam]
    (found,) = [
        block
        for block in blocks
        if kind in typing.get_args(typing_extensions.get_type_hints(block)["type"])
    ]
    hints = typing_extensions.get_type_hints(found)
    assert {*BLOCK_KEYS[kind], "type"} <= hints.keys()
    assert required(found) <= {*BLOCK_KEYS[kind], "type"}


@pytest.mark.parametrize("name", ["claude-code", "messages", "events", "pi"])
def test_a_sample_is_a_request(name):
    state = (SAMPLES / "state.jsonl").read_bytes()
    found = body(stdin=(SAMPLES / f"{name}.jsonl").read_bytes() + state)
    check(found)
    assert found["system"][-1]["text"].startswith("Durable context")
    assert "compactctl." not in json.dumps(found["messages"])


def test_a_chat_is_a_request_of_chat_completions():
    chat = (SAMPLES / "openai.jsonl").read_bytes()
    found = body(stdin=chat + lines(fact()))
    assert found.keys() == {"model", "max_tokens", "messages"}
    roles = [message["role"] for message in found["messages"]]
    system = [m for m in found["messages"] if m["role"] == "system"]
    assert system[-1]["content"].startswith("Durable context")
    assert roles.index("user") == len(system)
    assert all(not key.startswith("_") for m in found["messages"] for key in m)


def test_a_rollout_is_a_request_of_the_responses_api():
    rollout = (SAMPLES / "codex.jsonl").read_bytes()
    found = body(stdin=rollout + lines(fact()))
    assert found.keys() == {"model", "max_output_tokens", "instructions", "input"}
    assert found["instructions"].startswith("Durable context")
    kinds = {item["type"] for item in found["input"]}
    assert {"message", "reasoning", "custom_tool_call"} <= kinds
    calls = [item["call_id"] for item in found["input"] if item["type"].endswith("_call")]
    answers = [item["call_id"] for item in found["input"] if item["type"].endswith("_output")]
    assert sorted(calls) == sorted(answers)
    assert all(piece["text"] for i in found["input"] for piece in i.get("content") or [])
    sent = [
        json.loads(line)["payload"] for line in rollout.splitlines() if b"response_item" in line
    ]
    texts = [p["text"] for item in sent if item["type"] == "message" for p in item["content"]]
    shown = [
        p["text"] for item in found["input"] if item["type"] == "message" for p in item["content"]
    ]
    assert shown == texts
    assert not any(key.startswith("_") for item in found["input"] for key in item)


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
ODD = [
    USER | {"id": "x", "cache_control": None},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "abc", "extra": 1},
            {"type": "thinking", "thinking": "Unsigned."},
            {"type": "redacted_thinking", "data": "AAAA"},
            {"type": "text", "text": "So.", "citations": None},
            {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"a": [1]}, "x": 1},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "_read_path": "/a",
                "content": [
                    {"type": "text", "text": "one", "more": 1},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                        "n": 1,
                    },
                    {"type": "text", "text": ""},
                ],
            },
            {"type": "unheard_of", "text": "kept as text"},
            {"type": "unheard_of"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png"}},
            {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        ],
    },
]


def test_only_keys_that_the_provider_takes_are_left():
    found = body(stdin=lines(*ODD))
    check(found)
    assert "system" not in found
    assistant, user = found["messages"][1:]
    assert [part["type"] for part in assistant["content"]] == [
        *("thinking", "redacted_thinking", "text", "tool_use")
    ]
    assert assistant["content"][-1]["input"] == {"a": [1]}
    answer, text, image = user["content"]
    assert [part["type"] for part in answer["content"]] == ["text", "image"]
    assert answer["content"][1]["source"]["data"] == PNG
    assert text == {"type": "text", "text": "kept as text"}
    assert image["source"] == {"type": "url", "url": "https://x/y.png"}


def test_a_failed_result_says_so_in_text_alone():
    failed = result("toolu_1", "no such file")
    failed["content"][0]["is_error"] = True
    found = body(stdin=lines(USER, call("toolu_1"), failed))
    check(found)
    (answer,) = found["messages"][-1]["content"]
    assert answer["is_error"] is True
    assert answer["content"] == [{"type": "text", "text": "no such file"}]


def test_a_call_that_waits_for_its_result_is_no_request():
    text = refused(run("render", "--as", "request", stdin=OPEN), 1)
    assert "-:2: a call has no result yet" in text


def test_a_broken_view_is_no_request():
    broken = lines(USER, call("toolu_1"), {"role": "assistant", "content": "ok"}, USER)
    assert "PAIR-01" in refused(run("render", "--as", "request", stdin=broken), 1)


def test_an_answer_at_the_end_is_warned_of():
    done = run(
        "render", "--as", "request", stdin=lines(USER, {"role": "assistant", "content": "a"})
    )
    assert "the last message is the assistant's" in said(done)
    assert said(run("render", "--as", "request", stdin=lines(USER))) == ""


def test_options_of_a_request_are_for_a_request():
    refused(run("render", "--model", "x", stdin=lines(USER)), 2)
    refused(run("render", "--as", "json", "--format", "pi", stdin=lines(USER)), 2)


def test_a_lying_summary_stands_below_what_was_confirmed():
    lie = {"role": "user", "content": "Summary: amounts are rounded twice."}
    truth = fact(content="Amounts are rounded once.")
    found = body(stdin=lines(lie, truth))
    (system,) = found["system"]
    assert "where a summary says otherwise, this holds" in system["text"]
    assert 'content="Amounts are rounded once."' in system["text"]
    assert found["messages"][0]["content"][0]["text"] == lie["content"]


# render --as json


def test_json_says_what_the_text_says():
    stream = lines(USER, fact("f", content='a"; b\n'))
    found = json.loads(run("render", "--as", "json", stdin=stream).stdout)
    assert found["facts"] == [
        {
            "fact_id": "f",
            "content": 'a"; b\n',
            "source": "transcript:s1:1",
            "last_confirmed_at": "2026-01-01T00:00:00Z",
        }
    ]
    assert found["pending_items"] == found["retrieval_evidence"] == []
    assert found["done_not_shown"] == 0
