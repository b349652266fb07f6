"""A file stays the client's: it resumes it, whatever stage wrote it."""

from __future__ import annotations

import json

import pytest
from helpers.builders import COUNTER, TIGHT, assistant, exchange, lines, load, said, user

from compactctl import layers, pipeline
from compactctl.durable import stream
from compactctl.formats.codex import FORMAT as CODEX
from compactctl.repair.engine import repair
from compactctl.transcript.placing import inside

FACT = (
    b'{"type":"compactctl.fact","fact_id":"f","content":"c","source_pointer":"transcript:s:1",'
    b'"last_confirmed_at":"2026-01-05T08:00:00Z"}\n'
)
HEADERS = {
    "pi": {"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/w"},
    "codex": {"timestamp": "t", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}},
}
TALK = (
    user("fix it"),
    *exchange("c1", "word " * 400),
    *exchange("c2", "word " * 400),
    assistant("done"),
    user("and now"),
    assistant("yes"),
)


def dumped(records):
    return [json.dumps(record).encode() + b"\n" for record in records]


def session(name):
    return [*dumped([HEADERS[name]]), *lines(*TALK, format_name=name)]


def run(raw, name, *names):
    return pipeline.run(load(raw, name), names, TIGHT, COUNTER).written().lines()


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("layer", layers.ORDER)
def test_facts_at_either_end_go_inside(name, layer):
    raw = session(name)
    made = run([FACT, *raw, FACT.replace(b'"f"', b'"g"')], name, layer)
    if made[1:-1] != raw:  # nothing changed, nothing is moved
        assert json.loads(made[0])["type"] in ("session", "session_meta")
        assert made[1] == FACT
        assert b"compactctl.fact" not in made[-1]
        assert sum(b"compactctl.fact" in line for line in made) == 2


@pytest.mark.parametrize("name", HEADERS)
def test_what_no_layer_changes_keeps_its_bytes_with_facts_anywhere(name):
    raw = [FACT, *session(name), FACT.replace(b'"f"', b'"g"')]
    found = load(raw, name)
    given = {"truncate": {"max_tokens": 10**6}}
    assert pipeline.run(found, ("truncate",), given, COUNTER).written().lines() == raw


def test_formats_that_bear_facts_anywhere_keep_them_there():
    raw = [FACT, *lines(*TALK, format_name="claude-code"), FACT.replace(b'"f"', b'"g"')]
    made = run(raw, "claude-code", "truncate")
    assert (made[0], made[-1]) == (raw[0], raw[-1])


@pytest.mark.parametrize("name", HEADERS)
def test_resolve_ends_no_session_with_a_line_of_ours(name):
    raw = session(name)
    here = stream.read(raw, "s")
    state = stream.read([FACT], "state", strict=True)
    woven = stream.weave(raw, here, state, [], load(raw, name).format).chunks
    assert woven == [*raw[:-1], FACT, raw[-1]]


def test_lines_of_no_session_get_their_records_at_the_end():
    woven = stream.weave([b'{"a":1}\n'], [], stream.read([FACT], "s"), [], None).chunks
    assert woven == [b'{"a":1}\n', FACT]


@pytest.mark.parametrize("name", HEADERS)
def test_a_torn_last_line_that_is_repaired_is_not_the_last(name):
    torn = [*session(name), b'{"type":"message","id":"x","mess']
    done = repair(torn, "s", name)
    assert b"compactctl.unreadable" in b"".join(done.lines)
    assert b"compactctl." not in done.lines[-1]
    assert [*repair(done.lines, "s", name).lines] == [*done.lines]


def test_a_line_without_a_line_end_gets_one_when_another_follows():
    chunks, origins = inside(CODEX, [b'{"a":1}\n', b'{"b":1}\n', FACT.rstrip()], [0, 1, 2])
    assert (chunks, origins) == ([b'{"a":1}\n', FACT, b'{"b":1}\n'], [0, 2, 1])


def numbered(raw):
    records = [json.loads(line) for line in raw]
    return dumped([{"timestamp": "t", "ordinal": at} | r for at, r in enumerate(records)])


def test_a_made_line_at_the_end_carries_the_next_ordinal():
    raw = numbered([*session("codex")[:3], *lines(user("stop"), format_name="codex")])
    made = [json.loads(line) for line in repair(raw, "s", "codex").lines]
    result = next(r for r in made if r["payload"].get("type") == "function_call_output")
    assert result["ordinal"] == 3
    assert all("ordinal" in record for record in made)


@pytest.mark.parametrize("layer", ["prune", "summarize"])
def test_made_lines_of_a_numbered_rollout_are_numbered(layer):
    made = [json.loads(line) for line in run(numbered(session("codex")), "codex", layer)]
    ours = [r for r in made if r["type"] == "response_item"]
    assert all(type(record["ordinal"]) is int for record in ours)


def test_a_rollout_without_numbers_gets_none():
    made = run(session("codex"), "codex", "prune")
    assert all("ordinal" not in json.loads(line) for line in made)


def compacted():
    """A rollout whose history a compaction replaced, with metadata of each item."""
    items = [json.loads(line)["payload"] for line in lines(*TALK, format_name="codex")]
    metadata = [{"n": at} for at in range(len(items))]
    payload = {"message": "", "replacement_history": items}
    payload |= {"replacement_history_metadata": metadata}
    tail = lines(assistant("on"), user("go on"), assistant("off"), format_name="codex")
    line = {"timestamp": "t", "type": "compacted", "payload": payload}
    return [*dumped([HEADERS["codex"], line]), *tail]


@pytest.mark.parametrize("layer", layers.ORDER)
def test_the_metadata_of_a_history_is_cut_with_it_or_goes(layer):
    made = [json.loads(line) for line in run(compacted(), "codex", layer)]
    payload = next(record["payload"] for record in made if record["type"] == "compacted")
    metadata, history = payload.get("replacement_history_metadata"), payload["replacement_history"]
    assert metadata is None or len(metadata) == len(history)


def test_the_metadata_that_is_left_is_that_of_the_items_left():
    raw = compacted()
    record = json.loads(raw[1])
    slots = CODEX.parts(record)
    new = CODEX.replace_parts(record, [slot for slot in slots if slot.item in (0, 5)])
    assert new["payload"]["replacement_history_metadata"] == [{"n": 0}, {"n": 5}]


def test_what_codex_sends_is_the_view():
    found = load(compacted(), "codex")
    once = pipeline.run(found, ("summarize",), TIGHT, COUNTER)
    assert said(load(once.written().lines(), "codex").messages) == said(once.messages)
