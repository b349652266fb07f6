"""A client takes the newest recorded usage for the size of its context: it has to stay true."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from helpers.builders import COUNTER, TIGHT, assistant, exchange, lines, load, text, user
from helpers.usages import anthropic, of_pi, token_count

from compactctl import layers, pipeline
from compactctl.tokens import count_view
from compactctl.transcript import usage

BIG = "word " * 3000
FORMATS = ("claude-code", "pi", "codex")
OLD = 190_000


def session(name, size=OLD):
    """A session of three turns in which each answer recorded its usage."""
    said = [user("fix it"), *exchange("c1", BIG), *exchange("c2", BIG), assistant("done")]
    said += [user("and now"), assistant("yes"), user("go on")]
    records = [json.loads(line) for line in lines(*said, format_name=name)]
    if name == "codex":
        at = [n for n, r in enumerate(records) if r["payload"].get("role") == "assistant"]
        for number in reversed(at):
            records.insert(number + 1, token_count(size))
    else:
        for record in records:
            if record["message"]["role"] == "assistant":
                record["message"]["usage"] = (anthropic if name == "claude-code" else of_pi)(size)
    return [json.dumps(record).encode() + b"\n" for record in records]


def run(raw, name, *names, given=TIGHT, **how):
    return pipeline.run(load(raw, name), names, given, COUNTER, **how)


def read(raw, name):
    found = load(raw, name)
    return found, usage.newest(found, found.messages)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("layer", ["truncate", "prune"])
def test_the_newest_usage_is_the_size_that_is_left(name, layer):
    before, old = read(session(name), name)
    after, new = read(run(session(name), name, layer).written().lines(), name)
    left = count_view(COUNTER, after.messages) / count_view(COUNTER, before.messages)
    assert old.size == OLD
    assert new.size == pytest.approx(OLD * left, rel=0.05, abs=150)


@pytest.mark.parametrize("name", FORMATS)
def test_no_other_usage_is_changed(name):
    raw = session(name)
    kept = run(raw, name, "truncate", keep_usage=True).written()
    made = run(raw, name, "truncate").written()
    differ = [n for n, (a, b) in enumerate(zip(kept.chunks, made.chunks, strict=True)) if a != b]
    assert len(differ) == 1
    assert made.counts.changed == kept.counts.changed + 1


@pytest.mark.parametrize("name", FORMATS)
def test_the_total_that_a_client_adds_up_is_the_size_and_the_answer(name):
    made = run(session(name), name, "truncate").written().lines()
    found, new = read(made, name)
    record = json.loads(found.entries[new.entry].raw)
    if name == "codex":
        last = record["payload"]["info"]["last_token_usage"]
        total = last["total_tokens"]
        assert record["payload"]["info"]["total_token_usage"] == {"total_tokens": 10**6}
    elif name == "pi":
        total = record["message"]["usage"]["totalTokens"]
    else:
        sizes = record["message"]["usage"]
        total = sum(value for value in sizes.values() if type(value) is int)
        assert sizes["cache_creation"] == {"ephemeral_5m_input_tokens": 0}
    assert total == new.size + 70


def test_the_last_iteration_of_a_usage_says_the_same():
    raw = [json.loads(line) for line in session("claude-code")]
    last = next(r for r in reversed(raw) if r["type"] == "assistant")
    last["message"]["usage"]["iterations"] = [{"input_tokens": 1}, {"input_tokens": OLD}]
    made = run([json.dumps(r).encode() + b"\n" for r in raw], "claude-code", "truncate").written()
    found, new = read(made.lines(), "claude-code")
    told = json.loads(found.entries[new.entry].raw)["message"]["usage"]["iterations"]
    assert told == [{"input_tokens": 1}, {"input_tokens": new.size}]


@pytest.mark.parametrize("name", FORMATS)
def test_a_line_of_usage_zero_is_none(name):
    raw = session(name, 0)
    assert run(raw, name, "truncate").written().chunks == (
        run(raw, name, "truncate", keep_usage=True).written().chunks
    )


@pytest.mark.parametrize("name", FORMATS)
def test_what_no_layer_changes_keeps_its_usage(name):
    raw = session(name)
    given = {"truncate": {"max_tokens": 100_000}}
    assert run(raw, name, "truncate", given=given).written().lines() == raw


@pytest.mark.parametrize("name", FORMATS)
def test_the_size_is_never_zero_which_clients_skip(name):
    made = run(session(name, 1), name, *layers.ORDER).written().lines()
    assert read(made, name)[1].size == 1


def test_where_the_newest_usage_goes_with_its_line_the_one_before_takes_its_place():
    raw = session("claude-code")
    raw.insert(-1, raw.pop(-2))
    made = run(
        raw,
        "claude-code",
        "summarize",
        given={
            "summarize": {"summarizer": "template", "keep_messages": 2, "max_summary_tokens": 300}
        },
    )
    _, new = read(made.written().lines(), "claude-code")
    assert new is not None
    assert new.size < OLD / 10


def test_side_chains_and_lines_in_front_of_a_boundary_are_no_clients_context():
    raw = [json.loads(line) for line in session("claude-code")]
    side = raw[1] | {"isSidechain": True, "uuid": "side", "parentUuid": None}
    lines_ = [json.dumps(r).encode() + b"\n" for r in [*raw, side]]
    made = run(lines_, "claude-code", "truncate").written().lines()
    assert made[-1] == lines_[-1]
    assert read(made, "claude-code")[1].size < OLD / 2


def test_a_compaction_behind_the_last_token_count_bounds_it_by_the_count():
    items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": BIG}]}]
    items.append({"type": "function_call", "name": "x", "arguments": "{}", "call_id": "c"})
    items.append({"type": "function_call_output", "call_id": "c", "output": BIG})
    payload = {"message": "", "replacement_history": items}
    compacted = {"timestamp": "", "type": "compacted", "payload": payload}
    raw = [json.dumps(r).encode() + b"\n" for r in (token_count(OLD), compacted)]
    made = run(raw, "codex", "truncate").written().lines()
    found, new = read(made, "codex")
    assert new.size == count_view(COUNTER, found.messages) < OLD


@pytest.mark.parametrize("stage", [*layers.ORDER, "compact"])
def test_every_lossy_stage_can_keep_the_usage(stage, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(session("claude-code")))
    given = {"truncate": ["--max-tokens", "60"], "prune": ["--keep-turns", "1"]}.get(stage, [])
    if stage == "compact":
        given = ["--soft-limit", "500"]
    if stage == "summarize":
        given = ["--summarizer", "template"]
    command = [sys.executable, "-m", "compactctl", stage, str(path), "--keep-usage", *given]
    done = subprocess.run(command, capture_output=True, check=True)
    _, new = read(done.stdout.splitlines(keepends=True), "claude-code")
    assert new is None or new.size == OLD


def test_a_format_without_usage_has_none():
    raw = lines(user("a"), assistant(text("b")), format_name="messages")
    assert read(raw, "messages")[1] is None
