"""The view is what resume sends: of a session that forks, the way back from its last entry."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from helpers.builders import COUNTER, TIGHT, assistant, exchange, lines, load, texts, user

from compactctl import pipeline
from compactctl.repair.engine import repair
from compactctl.rules import chain
from compactctl.rules.check import problems


def records(*messages, name="claude-code"):
    return [json.loads(line) for line in lines(*messages, format_name=name)]


def dumped(made):
    return [json.dumps(record).encode() + b"\n" for record in made]


def told(found):
    return [(fault.rule, fault.text) for fault in chain.find(found)]


def answered_twice():
    """A prompt with two answers: the second was tried again, and the session went on from it."""
    old = records(user("go"), *exchange("c1", "old"), assistant("nearly"))
    new = records(user("go"), *exchange("c2", "new"), assistant("done"))
    new[1]["parentUuid"] = old[0]["uuid"]
    for at, record in enumerate(new):
        record["uuid"] = f"n{at}"
        if at > 1:
            record["parentUuid"] = f"n{at - 1}"
    return [*old, *new[1:]]


def test_an_answer_that_was_tried_again_is_out_of_the_view():
    found = load(dumped(answered_twice()), "claude-code")
    assert texts(found.messages) == ["go", "done"]


def test_both_branches_are_named_with_their_sizes():
    made = answered_twice()
    ((rule, text),) = told(load(dumped(made), "claude-code"))
    assert rule == "FILE-14"
    assert text == f"line 2: 3 entries, --leaf {made[3]['uuid']}; line 5: 3 entries, in the view"


@pytest.mark.parametrize("stage", ["validate", "repair", "truncate", "stats"])
def test_the_other_branch_can_be_chosen(stage, tmp_path):
    made = answered_twice()
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(dumped(made)))
    command = [sys.executable, "-m", "compactctl", stage, str(path), "--leaf", made[3]["uuid"]]
    done = subprocess.run(command, capture_output=True, check=True)
    if stage != "stats":
        found = load(done.stdout.splitlines(keepends=True), "claude-code")
        assert texts(found.messages) == ["go", "nearly"]


def test_a_leaf_that_is_not_there_is_a_usage_error(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(dumped(answered_twice())))
    command = [sys.executable, "-m", "compactctl", "truncate", str(path), "--leaf", "x"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"has no entry with the id 'x'" in done.stderr


def slipped():
    """A prompt whose answer stands beside the chain, which went on from an error."""
    made = records(user("go"), assistant("the answer"), user("on"), assistant("done"))
    error = {"type": "system", "subtype": "api_error", "uuid": "e", "sessionId": "s"}
    error |= {"parentUuid": made[0]["uuid"]}
    made[2]["parentUuid"] = "e"
    return load(dumped([made[0], error, *made[1:]]), "claude-code")


def test_an_answer_that_slipped_off_the_chain_is_named_with_its_loss():
    found = slipped()
    assert "the answer" in texts(found.messages)
    (fault,) = [fault for fault in chain.find(found) if fault.raised]
    assert (fault.rule, fault.line) == ("FILE-20", 3)
    assert fault.text.endswith("resume would lose 1 message")


def test_repair_leads_the_chain_through_it():
    raw = [entry.raw for entry in slipped().entries]
    done = repair(raw, "s", "claude-code")
    assert [fix.rule for fix in done.fixes] == ["FILE-20"]
    assert told(load(done.lines, "claude-code")) == []
    assert "the answer" in texts(load(done.lines, "claude-code").messages)


@pytest.mark.parametrize("layer", TIGHT)
def test_no_layer_hides_an_answer_beside_the_chain(layer):
    result = pipeline.run(slipped(), (layer,), TIGHT, COUNTER)
    after = load(result.written().lines(), "claude-code")
    assert texts(after.messages) == texts(result.messages)


def test_parallel_results_are_no_branch():
    made = records(user("go"), *exchange("c1", "one"), assistant("done"))
    called = made[1]
    second = json.loads(json.dumps(made[1]).replace("c1", "c2")) | {"uuid": "k2"}
    second |= {"parentUuid": called["uuid"]}
    answer = json.loads(json.dumps(made[2]).replace("c1", "c2")) | {"uuid": "r2"}
    answer |= {"parentUuid": "k2"}
    found = load(dumped([*made[:2], second, answer, *made[2:]]), "claude-code")
    assert not [p for p in problems(found.messages, "anthropic") if p.severity == "error"]
    assert told(found) == []


def test_lines_of_one_answer_are_no_branch_whatever_they_hang_on():
    """Where calls run while the answer still comes, its next line follows a result."""
    made = records(user("go"), *exchange("c1", "one"), *exchange("c2", "two"), assistant("done"))
    made[3]["message"]["id"] = made[1]["message"]["id"]
    made[5]["parentUuid"] = made[2]["uuid"]
    found = load(dumped(made), "claude-code")
    assert [m.role[0] for m in found.messages] == ["u", "a", "u", "a"]
    assert len(found.messages[1].blocks) == 2
    assert told(found) == []


def test_history_that_a_resume_copied_is_in_the_view_once():
    old = records(user("go"), *exchange("c1", "one"), assistant("read"))
    new = json.loads(json.dumps(old).replace('"uuid": "', '"uuid": "n'))
    for record in new[1:]:
        record["parentUuid"] = f"n{record['parentUuid']}"
    went_on = {"uuid": "z", "parentUuid": new[-1]["uuid"]}
    found = load(dumped([*old, *new, records(user("go on"))[0] | went_on]), "claude-code")
    assert texts(found.messages) == ["go", "read", "go on"]
    assert not [p for p in problems(found.messages, "anthropic") if p.severity == "error"]


def test_two_roots_without_a_call_in_common_are_both_in_the_view():
    old, new = records(user("go"), assistant("a")), records(user("and"), assistant("b"))
    for at, record in enumerate(new):
        record |= {"uuid": f"n{at}", "parentUuid": f"n{at - 1}" if at else None}
    assert texts(load(dumped([*old, *new]), "claude-code").messages) == ["go", "a", "and", "b"]


def test_a_line_that_was_written_twice_is_in_the_view_once():
    made = dumped(records(user("go"), *exchange("c1", "word " * 300), assistant("done")))
    found = load([*made[:3], made[2], *made[3:]], "claude-code")
    assert not [p for p in problems(found.messages, "anthropic") if p.severity == "error"]
    new = pipeline.run(found, ("truncate",), TIGHT, COUNTER).written().lines()
    assert len(new) == len(made)  # no copy of what was cut stays behind


def test_lines_of_one_id_that_say_something_else_are_both_in_the_view():
    made = records(user("go"), assistant("a"), user("b"))
    made[2]["uuid"] = made[0]["uuid"]
    assert "b" in texts(load(dumped(made), "claude-code").messages)


def parted(*between):
    """An answer in two lines, and what stands between them."""
    made = records(user("go"), assistant("one"), *between, assistant("two"))
    made[-1]["message"]["id"] = made[1]["message"]["id"]
    return load(dumped(made), "claude-code").messages


def test_what_is_sent_between_the_lines_of_an_answer_parts_it():
    assert [m.role[0] for m in parted(user("wait"))] == ["u", "a", "u", "a"]
    assert [m.role[0] for m in parted()] == ["u", "a"]


def moved(mode):
    """A thought whose answer calls only behind the line of its result."""
    said = [user("go"), *exchange("c0", "word " * 900), *exchange("c1", "x"), assistant("done")]
    made = records(*said)
    thought = json.loads(json.dumps(made[3])) | {"uuid": "t"}
    part = {"type": "thinking", "thinking": "hm", "signature": "s"}
    thought["message"]["content"] = [part]
    made[3]["parentUuid"], made[4]["parentUuid"] = made[4]["uuid"], "t"
    made[5]["parentUuid"] = made[3]["uuid"]
    found = load(dumped([*made[:3], thought, made[4], made[3], made[5]]), "claude-code")
    return found, pipeline.run(found, ("truncate",), TIGHT, COUNTER, mode=mode)


@pytest.mark.parametrize("mode", ["auto", "drop"])
def test_an_answer_keeps_its_place_when_its_thought_goes(mode):
    found, result = moved(mode)
    assert not [p for p in problems(found.messages, "anthropic") if p.severity == "error"]
    after = load(result.written().lines(), "claude-code")
    assert not [p for p in problems(after.messages, "anthropic") if p.severity == "error"]
    assert [m.role for m in after.messages] == [m.role for m in found.messages]


def test_the_thought_that_goes_is_named():
    (step,) = moved("auto")[1].steps
    (action,) = [action for action in step.actions if action.rule == "thinking"]
    assert action.tokens_before > 0
    assert step.note.endswith("1 thinking block removed (1 token)")


def test_where_no_thought_goes_none_is_named():
    (step,) = moved("keep")[1].steps
    assert not [action for action in step.actions if action.rule == "thinking"]


def test_a_blank_line_goes_with_the_answer_around_it():
    said = [user("go"), *exchange("c1", "x" * 900), assistant("a"), user("b"), assistant("c")]
    made = records(*said, user("and now"), assistant("d"))
    blank = json.loads(json.dumps(made[3])) | {"uuid": "blank", "parentUuid": made[0]["uuid"]}
    blank["message"] |= {"id": "m", "content": [{"type": "text", "text": "\n"}]}
    made[1]["parentUuid"] = "blank"
    raw = dumped([made[0], blank, *made[1:]])
    new = pipeline.run(load(raw, "claude-code"), ("prune",), TIGHT, COUNTER).written().lines()
    assert not any(b'"blank"' in line for line in new)


def test_out_of_order_entries_of_pi_make_no_circle():
    said = [user("go"), *exchange("c1", "word " * 300), *exchange("c2", "word " * 300)]
    made = dumped(records(*said, assistant("done"), user("and now"), assistant("yes"), name="pi"))
    for order in ([0, 3, 1, 2, 4, 5, 6, 7], [2, 1, 0, 5, 4, 3, 6, 7], [6, 0, 2, 4, 5, 1, 3, 7]):
        found = load([made[at] for at in order], "pi")
        result = pipeline.run(found, ("summarize",), TIGHT, COUNTER)
        after = load(result.written().lines(), "pi")
        assert len(after.messages) == len(result.messages)
        assert not [fault for fault in chain.find(after) if fault.rule == "FILE-13"]


def test_many_rollbacks_take_linear_time():
    said = records(user("a"), assistant("b"), name="codex")
    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    start = time.process_time()
    found = load(dumped([*said, *said, back] * 5000), "codex")
    assert len(found.messages) == 2 * 5000
    assert time.process_time() - start < 10  # it took a minute when each went through the view
