"""slim: what a harness keeps for its own screen goes, the view stays as it was."""

import json

import pytest
from helpers.builders import COUNTER, exchange, lines, load, user
from helpers.builders import assistant as says

from compactctl import formats, pipeline
from compactctl.slim import slim

TALK = [user("Go."), *exchange("c1", "fine"), *exchange("c2", "fine too"), says("Done.")]


def dumped(records):
    return [json.dumps(record).encode() + b"\n" for record in records]


def session():
    """A Claude Code session with copies in its results and progress lines in its chain."""
    made = []
    parent = None
    for number, line in enumerate(lines(*TALK, format_name="claude-code")):
        record = json.loads(line) | {"parentUuid": parent}
        content = record["message"]["content"]
        if isinstance(content, list) and content[0]["type"] == "tool_result":
            record["toolUseResult"] = {"stdout": "fine " * 50}
        made.append(record)
        parent = record["uuid"]
        if record["type"] == "assistant":
            progress = {"type": "progress", "uuid": f"progress-{number}", "parentUuid": parent}
            made.append(progress | {"data": {"output": "x" * 90}})
            parent = progress["uuid"]
    return made


def slimmed(written, names=(), **options):
    result = pipeline.run(load(written), names, options, COUNTER)
    return slim(result)


def output(done):
    return b"".join(done.result.written().chunks).splitlines(keepends=True)


def shape(messages):
    """What the model is sent, without the lines that hold it."""
    return [
        (m.role, [(b.kind, b.text, b.call_id, [p.text for p in b.content]) for b in m.blocks])
        for m in messages
    ]


def test_copies_and_progress_go_and_the_view_stays():
    before = dumped(session())
    after = output(slimmed(before))
    assert shape(load(after).messages) == shape(load(before).messages)
    records = [json.loads(line) for line in after]
    assert not any(record["type"] == "progress" or "toolUseResult" in record for record in records)
    assert len(records) == len(TALK)


def test_what_hung_on_a_progress_line_hangs_on_its_parent():
    records = [json.loads(line) for line in output(slimmed(dumped(session())))]
    parents = [record["parentUuid"] for record in records]
    assert parents == [None, *(record["uuid"] for record in records[:-1])]


def test_nothing_else_in_a_line_changes():
    before = {r["uuid"]: r for r in session()}
    for line in output(slimmed(dumped(session()))):
        record = json.loads(line)
        old = before[record["uuid"]]
        for key in record.keys() - {"parentUuid"}:
            assert record[key] == old[key]
        assert set(old) - set(record) <= {"toolUseResult"}


def test_lines_without_copies_leave_byte_for_byte():
    before = dumped(session())
    after = set(output(slimmed(before)))
    assert before[0] in after
    assert before[1] in after


def test_a_second_run_does_nothing():
    once = output(slimmed(dumped(session())))
    done = slimmed(once)
    assert output(done) == once
    assert done.bytes_before == done.bytes_after
    assert "−" not in done.line()


def test_every_line_is_accounted_for():
    before = dumped(session())
    written = slimmed(before).result.written()
    assert written.counts.kept + written.counts.changed + written.counts.dropped == len(before)
    assert written.counts.added == 0
    assert written.counts.dropped == len(before) - len(TALK)


def test_the_bytes_saved_are_stated():
    before = dumped(session())
    done = slimmed(before)
    assert done.bytes_before == sum(map(len, before))
    assert done.bytes_after == sum(map(len, output(done)))
    assert done.line().startswith(f"slim: {done.bytes_before:,} → {done.bytes_after:,} bytes (−")


def test_slim_works_on_what_layers_left():
    done = slimmed(dumped(session()), ("prune",), prune={"keep_turns": 1})
    records = [json.loads(line) for line in output(done)]
    assert not any(record["type"] == "progress" or "toolUseResult" in record for record in records)
    assert shape(load(output(done)).messages) == shape(done.result.messages)


def test_words_that_look_like_copies_stay():
    talk = [user('What is "toolUseResult" or "progress"?'), says("Nothing of yours.")]
    before = lines(*talk, format_name="claude-code")
    assert output(slimmed(before)) == before


def test_lines_that_are_no_json_pass():
    before = dumped(session())
    before.insert(3, b'no JSON with "toolUseResult" and "progress"\n')
    after = output(slimmed(before))
    assert before[3] in after


@pytest.mark.parametrize("name", [n for n in formats.names() if not formats.load(n).slim_keys])
def test_other_formats_are_left_alone(name):
    before = lines(*TALK, format_name=name)
    done = slim(pipeline.run(load(before, name), (), {}, COUNTER))
    assert output(done) == before
    assert done.bytes_before == done.bytes_after
