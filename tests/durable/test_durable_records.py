"""Durable records are immutable, and none with a field that is refused can ever be made."""

import math

import msgspec
import pytest

from compactctl.durable.records import (
    DurableContextState,
    DurableFact,
    PendingItem,
    SourceResolution,
    build_state,
    parse_record,
    source_pointers,
    to_json,
)
from compactctl.errors import InvalidTranscriptError

TIME = "2025-01-31T12:00:00Z"
FACT = {
    "type": "compactctl.fact",
    "fact_id": "f1",
    "content": "SQLite in WAL mode",
    "source_pointer": "transcript:s:1",
    "last_confirmed_at": TIME,
}
ITEM = {
    "type": "compactctl.pending_item",
    "item_id": "p1",
    "description": "migrate",
    "source_pointer": "transcript:s:2",
    "last_confirmed_at": TIME,
    "status": "open",
    "reason": None,
}
EVIDENCE = {
    "type": "compactctl.retrieval_evidence",
    "memory_id": "m1",
    "source_id": "doc-1",
    "source_type": "note",
    "source_title": "Storage",
    "captured_at": TIME,
    "score": 0.5,
    "source_rank": 1,
    "conflict_key": None,
}
RESOLUTION = {
    "type": "compactctl.source_resolution",
    "source_pointer": "transcript:s:1",
    "status": "missing",
    "reason": "transcript_missing",
    "source_type": "transcript",
    "evidence_sha256": None,
}
ALL = [FACT, ITEM, EVIDENCE, RESOLUTION]


def kind(data):
    return data["type"].removeprefix("compactctl.")


@pytest.mark.parametrize("data", ALL, ids=kind)
def test_a_record_comes_back_as_it_was_in_the_order_of_the_contract(data):
    written = to_json(parse_record(data))
    assert written == data
    assert list(written) == list(data)


@pytest.mark.parametrize("data", ALL, ids=kind)
def test_unknown_keys_are_left_aside(data):
    assert parse_record({**data, "note": "x"}) == parse_record(data)


@pytest.mark.parametrize(
    "data",
    [{}, {"type": "user"}, {"type": "compactctl.compaction"}, {"type": None}, {"type": ["x"]}],
)
def test_other_lines_are_no_records(data):
    assert parse_record(data) is None


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (data, key)
        for data in ALL
        for key in data
        if key not in ("type", "status", "reason", "conflict_key", "evidence_sha256")
        or (data is RESOLUTION and key in ("status", "reason"))
    ],
)
def test_a_missing_key_is_named_with_the_record(data, key):
    short = {name: value for name, value in data.items() if name != key}
    with pytest.raises(InvalidTranscriptError, match=key) as caught:
        parse_record(short)
    identity = list(data)[1]
    assert data["type"] in str(caught.value)
    assert key == identity or data[identity] in str(caught.value)


def test_keys_with_a_default_may_be_absent():
    short = {name: value for name, value in ITEM.items() if name not in ("status", "reason")}
    assert parse_record(short) == parse_record(ITEM)


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (data, key)
        for data in (FACT, ITEM, EVIDENCE)
        for key, value in data.items()
        if isinstance(value, str) and key not in ("type", "status")
    ],
)
@pytest.mark.parametrize("value", ["", " \t\n", None, 5, True, ["x"], b"x"])
def test_blank_texts_and_wrong_types_are_refused(data, key, value):
    with pytest.raises(InvalidTranscriptError, match=key):
        parse_record({**data, key: value})


@pytest.mark.parametrize(("data", "key"), [(FACT, "last_confirmed_at"), (EVIDENCE, "captured_at")])
@pytest.mark.parametrize(
    "value",
    ["2025-01-31", "2025-01-31T12:00:00", "yesterday", "2025-13-01T00:00:00Z", "1738324800"],
)
def test_a_time_without_zone_or_no_time_at_all_is_refused(data, key, value):
    with pytest.raises(InvalidTranscriptError, match="zone"):
        parse_record({**data, key: value})


@pytest.mark.parametrize("value", ["2025-01-31T12:00:00+05:30", "2025-01-31 12:00:00.5-08:00"])
def test_any_zone_is_taken_and_kept_as_written(value):
    assert to_json(parse_record({**FACT, "last_confirmed_at": value}))["last_confirmed_at"] == value


@pytest.mark.parametrize(
    "score", [-0.1, 1.1, 2, 10**400, math.nan, math.inf, -math.inf, True, False, "0.5", None, 1j]
)
def test_a_score_outside_0_to_1_is_refused(score):
    with pytest.raises(InvalidTranscriptError, match="score"):
        parse_record({**EVIDENCE, "score": score})


@pytest.mark.parametrize("score", [0, 1, 0.0, 1.0, 5e-324])
def test_the_ends_of_the_score_are_within(score):
    assert parse_record({**EVIDENCE, "score": score}).score == score


@pytest.mark.parametrize("rank", [0, -1, 1.0, True, "1", None, 2**63])
def test_a_rank_that_is_no_integer_from_1_is_refused(rank):
    with pytest.raises(InvalidTranscriptError, match="source_rank"):
        parse_record({**EVIDENCE, "source_rank": rank})


@pytest.mark.parametrize("key", ["", " ", 1, True])
def test_a_conflict_key_is_text_or_none(key):
    with pytest.raises(InvalidTranscriptError, match="conflict_key"):
        parse_record({**EVIDENCE, "conflict_key": key})


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("blocked", None),
        ("blocked", " "),
        ("blocked", 1),
        ("open", "why"),
        ("done", "why"),
        ("open", ""),
        ("closed", None),
        ("Open", None),
        (None, None),
        (["open"], None),
    ],
)
def test_status_and_reason_belong_together(status, reason):
    with pytest.raises(InvalidTranscriptError, match=r"status|reason"):
        parse_record({**ITEM, "status": status, "reason": reason})


def test_a_blocked_item_keeps_its_reason():
    assert parse_record({**ITEM, "status": "blocked", "reason": "no key"}).reason == "no key"


@pytest.mark.parametrize(
    "change",
    [
        {"status": "verified"},
        {"status": None},
        {"reason": ""},
        {"source_pointer": 1},
        {"source_type": 1},
        {"evidence_sha256": 1},
    ],
)
def test_a_resolution_with_a_field_of_the_wrong_kind_is_refused(change):
    with pytest.raises(InvalidTranscriptError):
        parse_record({**RESOLUTION, **change})


def test_records_are_checked_when_python_makes_or_changes_them():
    with pytest.raises(InvalidTranscriptError):
        DurableFact("f1", " ", "transcript:s:1", TIME)
    with pytest.raises(InvalidTranscriptError):
        PendingItem("p1", "d", "transcript:s:1", "2025-01-31")
    with pytest.raises(InvalidTranscriptError):
        msgspec.structs.replace(parse_record(FACT), content="")


def test_records_and_state_cannot_be_changed():
    fact = parse_record(FACT)
    with pytest.raises(AttributeError):
        fact.content = "other"
    with pytest.raises(AttributeError):
        build_state([fact]).facts = ()


@pytest.mark.parametrize("data", [FACT, ITEM, EVIDENCE], ids=kind)
def test_an_id_is_refused_the_second_time_even_when_the_records_are_identical(data):
    with pytest.raises(InvalidTranscriptError, match="repeated"):
        build_state([parse_record(data), parse_record(data)])


def test_the_same_id_may_occur_in_different_kinds():
    state = build_state(
        [parse_record({**FACT, "fact_id": "x"}), parse_record({**ITEM, "item_id": "x"})]
    )
    assert (len(state.facts), len(state.pending_items)) == (1, 1)


def test_state_keeps_the_order_of_each_kind_and_no_resolutions():
    facts = [parse_record({**FACT, "fact_id": name}) for name in ("b", "a", "c")]
    state = build_state(
        [facts[0], parse_record(RESOLUTION), facts[1], parse_record(ITEM), facts[2]]
    )
    assert state == DurableContextState(tuple(facts), (parse_record(ITEM),), ())


def test_nothing_makes_the_empty_state():
    assert build_state([]) == DurableContextState()


@pytest.mark.parametrize(
    "fields",
    [
        {"facts": [parse_record(FACT)]},
        {"facts": (parse_record(ITEM),)},
        {"pending_items": None},
        {"retrieval_evidence": (EVIDENCE,)},
    ],
)
def test_state_takes_only_tuples_of_its_records(fields):
    with pytest.raises(InvalidTranscriptError, match="tuple"):
        DurableContextState(**fields)


def test_pointers_are_distinct_and_in_first_seen_order():
    item = parse_record({**ITEM, "source_pointer": "b"})
    facts = [
        parse_record({**FACT, "fact_id": name, "source_pointer": pointer})
        for name, pointer in (("1", "c"), ("2", "a"), ("3", "c"))
    ]
    assert source_pointers(build_state([item, *facts])) == ("c", "a", "b")


def test_an_error_is_one_short_line_whatever_the_id():
    with pytest.raises(InvalidTranscriptError) as caught:
        parse_record({"type": "compactctl.fact", "fact_id": "\x1b[2K\n" * 1000})
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def test_a_resolution_may_be_about_a_blank_pointer():
    assert SourceResolution("", "corrupt", "malformed_pointer", None).source_pointer == ""
