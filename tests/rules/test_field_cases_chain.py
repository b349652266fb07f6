"""What broke sessions in the field: chains and boundaries."""

from __future__ import annotations

import json

import pytest
from helpers.builders import COUNTER, load, texts
from helpers.field import (
    Harness,
    answer,
    asked,
    found,
    lines,
    mended,
    records_of,
    text,
    use,
    view,
    words,
)

from compactctl import pipeline
from compactctl.repair.chain import GAP
from compactctl.rules.findings import find
from compactctl.transcript import loading as transcript


def test_b53_a_parent_that_points_nowhere_says_what_resume_loses():
    made = Harness()
    for turn in range(30):
        made.user(f"u{turn}", parent="missing" if turn == 25 else "last")
        made.assistant(f"m{turn}", text("a"))
    (told,) = find(transcript.load(lines(*made.records), "f"), "anthropic")
    assert (told.rule, told.severity, told.line) == ("FILE-12", "error", 51)
    assert "resume would lose 50 messages" in told.text


def test_b54_progress_and_side_chains_may_fork():
    made = Harness()
    made.user("u")
    call = made.assistant("m1", use("1"))
    made.add("progress", call, data={"type": "hook_progress"})
    made.add("progress", call, data={"type": "agent_progress"})
    made.user("look", isSidechain=True, parent=None)
    made.user([answer("1")], parent=call)
    assert made.told() == []


def test_b53_islands_are_bridged_with_a_marker_and_nothing_else_changes():
    made = Harness()
    for turn in range(9):
        made.user(f"u{turn}", parent=f"x{turn}" if turn in {3, 6} else "last")
        made.assistant(f"m{turn}", text("a"))
    done = mended(lines(*made.records), "claude-code")
    assert texts(done.after.messages).count(GAP) == len({3, 6})
    assert [b for b in done.lines if b in lines(*made.records)][:6] == lines(*made.records[:6])


def test_b54_a_fork_of_progress_does_not_lead_the_walk_astray():
    made = Harness()
    made.user("u")
    call = made.assistant("m1", use("1"))
    fork = made.add("progress", call, data={"type": "agent_progress"})
    made.add("progress", fork, data={"type": "agent_progress"})
    side = made.user("look there", isSidechain=True, parent=None)
    made.assistant("m9", text("there it is"), parent=side)
    made.records[-1]["isSidechain"] = True
    made.user([answer("1")], parent=call)
    made.assistant("m2", text("done"))
    made.add("progress", fork, data={"type": "hook_progress"})
    assert made.told() == []
    assert view(load(lines(*made.records))) == [("u", "u"), ("a", "1"), ("u", "1"), ("a", "done")]


def preserved(*kept):
    """A session whose boundary keeps lines from before it; the second of them lacks its result."""
    made = Harness()
    made.user("old")
    made.user("kept")
    made.assistant("m1", use("1"))
    anchor = "u5"
    listed = {"anchorUuid": anchor, "uuids": [*kept], "allUuids": [*kept]}
    segment = {"headUuid": kept[0], "tailUuid": kept[-1], "anchorUuid": anchor}
    metadata = {"preservedMessages": listed, "preservedSegment": segment}
    made.add("system", None, subtype="compact_boundary", compactMetadata=metadata)
    made.user("summary", isCompactSummary=True)
    made.user("go on")
    made.assistant("m2", text("a"))
    return made


def test_b56_what_a_boundary_keeps_is_read_and_mended_behind_it():
    made = preserved("u2", "u3")
    assert [each[0] for each in made.told()] == ["PAIR-01"]
    done = mended(lines(*made.records), "claude-code")
    assert view(done.after) == [
        ("u", "summary", "kept"),
        ("a", "1"),
        ("u", "1", "go on"),
        ("a", "a"),
    ]
    assert view(load(done.lines)) == view(done.after)


def test_b56_what_was_made_small_reads_back_the_same():
    made = preserved("u2")
    result = pipeline.run(load(lines(*made.records)), ("prune",), {}, COUNTER)
    assert view(load(result.written().lines())) == view(result)


@pytest.mark.parametrize("name", ["claude-code", "messages"])
def test_b57_a_summary_of_a_summary_holds_one(name):
    options = {"summarize": {"keep_messages": 1, "summarizer": "template"}}
    made = Harness()
    for number in range(8):
        made.user(f"request {number} " + "word " * 300)
        made.assistant(f"m{number}", text("answer " * 300))
    plain = [record["message"] for record in made.records]
    raw = lines(*(made.records if name == "claude-code" else plain))
    for _ in range(3):
        read = load(raw, name)
        raw = [*pipeline.run(read, ("summarize",), options, COUNTER).written().lines()]
        more = Harness()
        more.records = [json.loads(raw[-1])] if name == "claude-code" else []
        more.user("more " + "word " * 900)
        more.assistant("last", text("answer " * 900))
        added = more.records[1:] if name == "claude-code" else [r["message"] for r in more.records]
        raw += lines(*added)
    said = "\n".join(texts(load(raw, name).messages))
    assert said.count("<conversation_summary>") == 1


def compacted(*items):
    history = [each["payload"] for each in items]
    payload = {"message": "", "replacement_history": history}
    return {"timestamp": "T", "type": "compacted", "payload": payload}


def test_b58_a_replacement_history_is_the_active_context():
    records = [
        words("user", "old"),
        asked("0"),
        compacted(words("user", "real words"), asked("1")),
        words("user", "v"),
    ]
    assert view(load(lines(*records), "codex")) == [("u", "real words"), ("a", "1"), ("u", "v")]
    assert [each[:2] for each in found(records, "codex")] == [("PAIR-01", 3)]
    done = mended(records, "codex")
    assert view(done.after) == [("u", "real words"), ("a", "1"), ("u", "1", "v")]
    assert records_of(done)[:2] == records[:2]
    assert (
        records_of(done)[2]["payload"]["replacement_history"][0]
        == records[2]["payload"]["replacement_history"][0]
    )
