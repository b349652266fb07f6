"""The chain of parents stays whole when lines go or come."""

from __future__ import annotations

import json
import time

import pytest
from helpers.builders import load, rewrite, text

from compactctl.model import Message


def said(own, parent, role, words="w", **members):
    record = {"parentUuid": parent, "sessionId": "s", "type": role, "uuid": own}
    message = {"role": role, "content": [{"type": "text", "text": words}]}
    return dump(record | {"message": message | {"id": own}} | members)


def note(own, parent, kind="progress", **members):
    return dump({"parentUuid": parent, "uuid": own, "sessionId": "s", "type": kind} | members)


def dump(record):
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def chunks(written, view):
    """The records after a change of the view, by id."""
    new = rewrite(load(written, "claude-code"), view(load(written, "claude-code").messages))
    return [json.loads(line) for line in new.lines()]


def parents(records):
    return {record.get("uuid"): record.get("parentUuid") for record in records}


def drop(*words):
    """Let go of messages by their text."""
    return lambda view: [m for m in view if m.blocks[0].text not in words]


def put(position, *words):
    new = [Message("user", (text(one),)) for one in words]
    return lambda view: [*view[:position], *new, *view[position:]]


CHAIN = [
    said("u1", None, "user", "one"),
    said("a1", "u1", "assistant", "two"),
    said("u2", "a1", "user", "three"),
    said("a2", "u2", "assistant", "four"),
]


def test_a_child_goes_to_the_nearest_ancestor_that_stays():
    assert parents(chunks(CHAIN, drop("two", "three"))) == {"u1": None, "a2": "u1"}


def test_a_child_of_nothing_that_stays_is_a_root():
    assert parents(chunks(CHAIN, drop("one", "two"))) == {"u2": None, "a2": "u2"}


def test_the_chain_runs_on_through_lines_that_the_model_never_sees():
    written = [*CHAIN[:2], note("p1", "a1"), note("p2", "p1"), said("u2", "p2", "user", "three")]
    assert parents(chunks(written, drop("two"))) == {"u1": None, "p1": "u1", "p2": "p1", "u2": "p2"}


def test_a_parent_later_in_the_file_is_found():
    written = [
        said("u1", "x", "user", "one"),
        said("a1", "u1", "assistant", "two"),
        note("x", None),
    ]
    assert parents(chunks(written, drop("one"))) == {"a1": "x", "x": None}


def test_a_new_line_stands_between_its_neighbours():
    new = chunks(CHAIN, put(2, "new"))
    assert [r["uuid"] for r in new if r["parentUuid"] == "a1"] == [new[2]["uuid"]]
    assert parents(new)["u2"] == new[2]["uuid"]


def test_new_lines_side_by_side_follow_one_another():
    records = chunks(CHAIN, lambda view: put(1, "x", "y")([*view[:1], *view[3:]]))
    x, y = (r for r in records if r["message"]["content"] in ("x", "y"))
    assert [x["parentUuid"], y["parentUuid"]] == ["u1", x["uuid"]]
    assert parents(records)["a2"] == y["uuid"]


def test_a_new_first_line_is_the_root():
    new = chunks(CHAIN, put(0, "new"))
    assert new[0]["parentUuid"] is None
    assert new[1]["parentUuid"] == new[0]["uuid"]


def test_a_new_last_line_follows_the_last():
    new = chunks(CHAIN, put(4, "new"))
    assert new[-1]["parentUuid"] == "a2"


def test_every_branch_that_passes_a_new_line_runs_through_it():
    fork = [note("p", "a1"), note("q", "p")]
    new = chunks([*CHAIN[:3], *fork], put(2, "new"))
    made = new[2]["uuid"]
    assert parents(new) == {"u1": None, "a1": "u1", made: "a1", "u2": made, "p": made, "q": "p"}


def test_roots_and_dangling_parents_behind_a_new_line_stay_as_they_are():
    found = parents(chunks([*CHAIN, note("root", None), note("lost", "before")], put(2, "new")))
    assert (found["root"], found["lost"]) == (None, "before")


def test_the_lines_that_need_no_new_parent_keep_their_bytes():
    found = load(CHAIN, "claude-code")
    new = rewrite(found, drop("two")(found.messages))
    assert (new.counts.kept, new.counts.changed, new.counts.dropped) == (2, 1, 1)
    assert [new.chunks[0], new.chunks[2]] == [CHAIN[0], CHAIN[3]]


def test_only_the_parent_of_an_adopted_line_changes():
    odd = b'{"parentUuid":"a1","n":1.0e5,"uuid":"u2","type":"x","e":"\\u00e9"}\n'
    found = load([*CHAIN[:2], odd, said("a2", "u2", "assistant")], "claude-code")
    new = rewrite(found, drop("two")(found.messages))
    assert new.chunks[1] == odd.replace(b'"a1"', b'"u1"')


@pytest.mark.parametrize("spaced", [b'"parentUuid": "a1"', b'"parentUuid" :"a1"'])
def test_a_record_inside_a_record_keeps_its_parent(spaced):
    inner = b'{"data":{"parentUuid":"a1","uuid":"x"},' + spaced + b',"uuid":"p","type":"x"}\n'
    _, p, _ = chunks([*CHAIN[:2], inner, said("a2", "p", "assistant")], drop("two"))
    assert (p["parentUuid"], p["data"]["parentUuid"]) == ("u1", "a1")


def test_a_cycle_of_parents_ends():
    cycle = [said("a", "b", "user", "one"), said("b", "a", "assistant", "two")]
    assert parents(chunks([*cycle, said("c", "b", "user")], drop("one", "two"))) == {"c": None}


def test_a_line_whose_id_occurs_twice_is_not_gone_with_one_of_them():
    written = [*CHAIN[:2], note("a1", "u1"), said("u2", "a1", "user")]
    assert parents(chunks(written, drop("two")))["u2"] == "a1"


def test_other_references_follow_too():
    leaf = dump({"type": "summary", "summary": "s", "leafUuid": "a1"})
    records = chunks([*CHAIN, leaf], drop("two"))
    assert [r["leafUuid"] for r in records if "leafUuid" in r] == ["u2"]
    records = chunks([*CHAIN, dump({"type": "summary", "leafUuid": "a2"})], drop("four"))
    assert [r["leafUuid"] for r in records if "leafUuid" in r] == ["u2"]


def test_a_reference_into_another_file_stays():
    leaf = dump({"type": "summary", "leafUuid": "elsewhere"})
    assert leaf in rewrite(load([*CHAIN, leaf], "claude-code"), []).chunks


def test_ids_are_made_from_content():
    once, twice = chunks(CHAIN, put(2, "new")), chunks(CHAIN, put(2, "new"))
    other = chunks(CHAIN, put(2, "newer"))
    assert once[2]["uuid"] == twice[2]["uuid"] != other[2]["uuid"]


def test_the_same_words_at_two_places_get_two_ids():
    new = chunks(CHAIN, lambda view: put(2, "new")(put(3, "new")(view)))
    assert len({record["uuid"] for record in new}) == 6


def test_a_long_chain_takes_no_time():
    many = 20_000
    chain = [said("0", None, "user", "keep")]
    for number in range(1, many):
        role, words = "assistant" if number % 2 else "user", "go" if number < many - 1 else "keep"
        chain.append(said(str(number), str(number - 1), role, words))
        if number % 10 == 0:
            chain.append(note(f"p{number}", str(number)))
    start = time.monotonic()
    records = chunks(chain, drop("go"))
    assert {record["parentUuid"] for record in records} == {None, "0"}
    assert time.monotonic() - start < 10
