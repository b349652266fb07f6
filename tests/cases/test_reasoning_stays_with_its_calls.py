"""Reasoning that a provider wants back is one with the calls of its step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.builders import COUNTER, assistant, call, lines, load, read, result, thinking, user

from compactctl import pipeline
from compactctl.files.reading import read_lines
from compactctl.repair.engine import repair
from compactctl.tokens import count_view

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
LONG = "\n".join(f"{n:>6}\tline {n}" for n in range(1, 200))
SIGNED = {"google": {"thought_signature": "A" * 80}}
CUT = {"truncate": {"max_tokens": 100}}


def case(name):
    path = CASES / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared cases are not there")
    return read_lines(str(path))


def ran(raw, *names, given=CUT, **how):
    return pipeline.run(load(raw), names, given, COUNTER, **how).written().lines()


def dumped(*records):
    return [json.dumps(record).encode() + b"\n" for record in records]


def thoughts(raw):
    return [b.text for m in load(raw).messages for b in m.blocks if b.kind == "thinking"]


def calls(raw):
    return [b.call_id for m in load(raw).messages for b in m.blocks if b.kind == "call"]


# pi keeps sessions of every provider


def of_pi(*apis, model="m"):
    """A session of pi with one long result for each API that an answer came from."""
    said = [user("go")]
    for number, _ in enumerate(apis):
        said += [
            assistant(thinking(f"t{number}"), call(f"c{number}")),
            user(result(f"c{number}", LONG)),
        ]
    said += [assistant("done"), user("and now")]
    records = [json.loads(line) for line in lines(*said, format_name="pi")]
    answers = [r for r in records if r["message"]["role"] == "assistant"]
    for record, api in zip(answers, apis, strict=False):
        record["message"] |= {"api": api, "model": model}
        record["message"]["content"][0]["thinkingSignature"] = "reasoning_content"
    return dumped(*records)


BOUND = (
    "openai-completions",
    "openai-responses",
    "openai-codex-responses",
    "google-generative-ai",
    "mistral-conversations",
)


@pytest.mark.parametrize("api", BOUND)
def test_reasoning_of_other_providers_stays_behind_a_change(api):
    raw = of_pi(api, api, api)
    written = ran(raw, "truncate")
    assert written != raw
    assert thoughts(written) == ["t0", "t1", "t2"]


@pytest.mark.parametrize("api", ["anthropic-messages", "bedrock-converse-stream", ""])
def test_thinking_of_anthropic_goes_behind_a_change(api):
    assert thoughts(ran(of_pi(api, api, api), "truncate")) == ["t0"]


def test_a_claude_model_is_anthropics_on_whatever_api():
    raw = of_pi("google-vertex", "google-vertex", model="claude-sonnet-4-5")
    assert thoughts(ran(raw, "truncate")) == ["t0"]


def test_each_answer_of_a_mixed_session_is_treated_by_its_own_provider():
    raw = of_pi("openai-completions", "anthropic-messages", "openai-completions")
    assert thoughts(ran(raw, "truncate")) == ["t0", "t2"]


def test_drop_drops_every_kind():
    raw = of_pi("openai-completions", "anthropic-messages")
    assert thoughts(ran(raw, "truncate", mode="drop")) == []


def test_no_change_takes_out_nothing():
    raw = of_pi("anthropic-messages", "openai-completions")
    assert ran(raw, "truncate", given={"truncate": {"max_tokens": 9000}}) == raw


# A signature on one of several calls


def parallel(*signed, paths=("/a", "/b"), extra=None):
    """Two reads in one answer, of which some are signed, and later reads of ``paths``."""
    ids = ("s1", "s2")
    said = [
        user("go"),
        assistant(*(read(i, p) for i, p in zip(ids, ("/a", "/b"), strict=True))),
        user(*(result(i, LONG) for i in ids)),
    ]
    for number, path in enumerate(paths):
        said += [assistant(read(f"l{number}", path)), user(result(f"l{number}", LONG))]
    said += [assistant("done"), user("and now")]
    records = [json.loads(line) for line in lines(*said, format_name="openai")]
    for each in records[1]["tool_calls"]:
        if each["id"] in signed:
            each.update(extra or {"extra_content": SIGNED})
    return dumped(*records)


PLACES = (
    {"extra_content": SIGNED},
    {"provider_specific_fields": {"thought_signature": "A" * 80}},
    {"function": {"name": "Read", "arguments": '{"file_path":"/a"}', "thought_signature": "A"}},
)


@pytest.mark.parametrize("extra", PLACES)
def test_a_signed_call_is_not_parted_from_its_step(extra):
    raw = parallel("s1", paths=("/a",), extra=extra)
    assert calls(ran(raw, "dedup", given={})) == ["s1", "s2", "l0"]


def test_a_call_beside_the_signed_one_may_go():
    assert calls(ran(parallel("s1", paths=("/b",)), "dedup", given={})) == ["s1", "l0"]


def test_a_signed_step_goes_as_a_whole():
    assert calls(ran(parallel("s1"), "dedup", given={})) == ["l0", "l1"]


def test_a_call_without_a_signature_may_go_alone():
    assert calls(ran(parallel(paths=("/a",)), "dedup", given={})) == ["s2", "l0"]


def test_a_stub_leaves_the_signed_call():
    written = ran(parallel("s1"), "dedup", given={"dedup": {"mode": "stub"}})
    assert calls(written) == ["s1", "s2", "l0", "l1"]
    assert b"read again" in b"".join(written)


def test_what_a_protected_call_of_pi_needs_stays_with_it():
    said = [
        user("go"),
        assistant(thinking("t"), read("a", "/w/a.py"), read("r", "/w/AGENTS.md")),
        user(result("a", LONG), result("r", "use tabs")),
    ]
    for number in range(8):
        said += [assistant(call(f"c{number}")), user(result(f"c{number}"))]
    records = [json.loads(line) for line in lines(*said, format_name="pi")]
    records[1]["message"] |= {"api": "google-generative-ai"}
    records[1]["message"]["content"][1]["thoughtSignature"] = "A" * 80
    written = ran(dumped(*records), "prune", given={"prune": {"keep_turns": 1}})
    assert calls(written) == ["a", "r", "c7"]
    assert thoughts(written) == ["t"]


# Chat completions

FIELDS = {
    "reasoning_content": "hm, hm",
    "reasoning": "hm, hm",
    "reasoning_details": [{"type": "reasoning.text", "text": "hm, hm", "signature": "A" * 40}],
}


def chat(**members):
    answer = {"role": "assistant", "content": "", **members}
    answer["tool_calls"] = [
        {"id": "c", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
    ]
    told = {"role": "tool", "tool_call_id": "c", "content": LONG}
    return dumped(
        {"role": "user", "content": "go"}, answer, told, {"role": "assistant", "content": "done"}
    )


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_reasoning_is_counted_and_stays(name):
    raw = chat(**{name: FIELDS[name]})
    assert thoughts(raw) == ["hm, hm"]
    written = ran(raw, "truncate")
    assert json.loads(written[1]) == json.loads(raw[1])
    dropped = json.loads(ran(raw, "truncate", mode="drop")[1])
    assert name not in dropped
    assert dropped["tool_calls"]


def test_reasoning_that_two_members_tell_costs_once():
    both = chat(reasoning=FIELDS["reasoning"], reasoning_details=FIELDS["reasoning_details"])
    one = chat(reasoning_details=FIELDS["reasoning_details"])
    costs = [count_view(COUNTER, load(raw).messages) for raw in (both, one)]
    assert costs[0] == costs[1]


# Codex


def sealed(kind="compaction"):
    """A rollout whose history begins with a summary that nobody else can read."""
    item = {"type": kind, "encrypted_content": "A" * 4000}
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "B" * 400}
    history = [json.loads(line)["payload"] for line in lines(user("go"), format_name="codex")]
    payload = {"message": "", "replacement_history": [*history, item]}
    rest = [json.loads(line) for line in lines(assistant("done"), user("on"), format_name="codex")]
    envelope = {"timestamp": "", "type": "response_item"}
    mark = envelope | {"type": "compacted", "payload": payload}
    return dumped(mark, envelope | {"payload": thought}, *rest)


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary", "context_compaction"])
def test_a_sealed_summary_is_counted_and_goes_on_demand_alone(kind):
    raw = sealed(kind)
    assert count_view(COUNTER, load(raw).messages) > 4000 * 3 // 16
    assert ran(raw, "truncate", "dedup") == raw
    for written in (ran(raw, "truncate", mode="drop"), repair(raw, "f", None, "drop").lines):
        assert b"AAAA" not in b"".join(written)
        assert b"BBBB" not in b"".join(written)
        assert b'"go"' in b"".join(written)


# The cases


@pytest.mark.parametrize(
    ("name", "many"), [("c14b-pi-deepseek-thinking", 5), ("c14c-pi-codex-reasoning", 6)]
)
def test_case_reasoning_stays_with_each_call(name, many):
    raw = case(name)
    assert len(thoughts(ran(raw, "truncate"))) == many == len(thoughts(raw))


def test_case_a_signed_step_of_the_current_turn_stays_whole():
    raw = case("c11b-gemini-current-turn")
    written = ran(raw, "dedup", given={})
    assert b"".join(written).count(b"thought_signature") == b"".join(raw).count(
        b"thought_signature"
    )
