"""What broke sessions in the field: content and media."""

from __future__ import annotations

import base64
import json

import pytest
from helpers.builders import COUNTER, load
from helpers.field import (
    Harness,
    answer,
    assistant,
    found,
    lines,
    mended,
    records_of,
    text,
    use,
    user,
)

from compactctl import pipeline
from compactctl.model import Message
from compactctl.repair.engine import repair
from compactctl.rules.check import problems
from compactctl.rules.findings import find
from compactctl.transcript import loading as transcript

PLAIN = {
    # row: (lines, what is found as (rule, line, call))
    "B37 a text cut to nothing": (
        [user("u"), assistant(text("")), user("v")],
        [("TEXT-01", 2, None)],
    ),
    "B37 an empty summary": ([user(""), assistant(text("a"))], [("TEXT-01", 1, None)]),
}


@pytest.mark.parametrize("row", PLAIN)
def test_a_plain_list(row):
    records, expected = PLAIN[row]
    assert found(records) == expected


def test_b44_an_entry_of_null_is_no_trouble():
    made = Harness()
    made.user("u")
    made.add("system", subtype="api_error", content=None)
    made.assistant("m1", text("a"))
    made.records[1]["message"] = None
    assert made.told() == []


def test_b45_a_text_in_place_of_a_tools_own_record_is_no_trouble():
    made = Harness()
    made.user("u")
    made.assistant("m1", use("1"))
    made.user([answer("1")], toolUseResult="Error: cut")
    assert made.told() == []


@pytest.mark.parametrize(
    ("damaged", "rule", "severity"),
    [
        (b"%s" + b"\0" * 512, "FILE-04", "warning"),  # B48
        (b"\0" * 512 + b"%s", "FILE-04", "warning"),  # B48
        (b'{"type":"user","uuid":"x","mess', "FILE-02", "error"),  # B49
        (b'{"type":"x","uuid":"x","text":"\\ud83d"}', "FILE-09", "warning"),  # B47
    ],
)
def test_b47_to_b49_damage_in_the_middle_hides_nothing_else(damaged, rule, severity):
    made = Harness()
    made.user("u")
    made.assistant("m1", text("a"))
    made.user("v")
    whole = lines(*made.records)
    kept = damaged.replace(b"%s", whole[1].rstrip())
    raw = [whole[0], *([] if b"%s" in damaged else [whole[1]]), kept + b"\n", whole[2]]
    found = transcript.load(raw, "f")
    assert [len(message.blocks) for message in found.messages] == [1, 1, 1]
    (told,) = [f for f in find(found, "anthropic") if f.rule != "FILE-15"]
    assert (told.rule, told.severity) == (rule, severity)


def test_b49_a_torn_tail_is_a_warning():
    made = Harness()
    made.user("u")
    made.assistant("m1", text("a"))
    raw = [*lines(*made.records), b'{"type":"user","uuid":"u3","parentUuid":"u2","mess']
    (told,) = find(transcript.load(raw, "f"), "anthropic")
    assert (told.rule, told.severity, told.line) == ("FILE-01", "warning", 3)


def test_an_empty_message_is_no_trouble():
    view = [Message("user", ()), Message("assistant", ()), Message("system", ())]
    for profile in ("core", "anthropic", "gateway", "openai-chat", "openai-responses"):
        problems(view, profile, sendable=True)


def png(edge):
    size = edge.to_bytes(4, "big") * 2
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\x08\x06\0\0\0"
    data = base64.b64encode(head).decode()
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": data},
    }


def test_b40_the_21st_image_makes_a_wide_one_too_wide():
    wide = user(png(2162))
    assert found([wide, *[user(png(90))] * 19]) == []
    many = [wide, *[user(png(90))] * 20]
    assert found(many) == [("IMG-04", 1, None)]
    assert b"2162" in mended(many).lines[0].replace("\u202f".encode(), b"").replace(b",", b"")
    assert records_of(mended(many))[1:] == many[1:]


def test_b39_b41_an_image_alone_is_content_and_a_page_is_no_image():
    page = png(9)
    page["source"]["data"] = base64.b64encode(b"<!doctype html>").decode()
    assert found([user(png(90))]) == []
    assert found([user(page)]) == [("IMG-02", 1, None)]
    assert records_of(mended([user(page)]))[0]["content"][0]["type"] == "text"


def test_b42_an_image_in_a_failed_result_goes_and_its_text_stays():
    failed = answer("1", [text("no"), png(90)], is_error=True)
    done = mended([user("u"), assistant(use("1")), user([failed])])
    kinds = [piece["type"] for piece in records_of(done)[2]["content"][0]["content"]]
    assert kinds == ["text", "text"]


@pytest.mark.parametrize("name", ["message", "uuid", "parentUuid", "content", "type", "sessionId"])
def test_b44_every_member_may_be_null(name):
    made = Harness()
    made.user("u")
    made.add("system", subtype="api_error", content=None, message=None)
    made.assistant("m1", text("a"))
    made.records[1][name] = None
    made.records[2]["parentUuid"] = "u1"
    assert [each for each in made.told() if each[0] != "FILE-15"] == []
    raw = lines(*made.records)
    assert repair(raw, "f", "claude-code").lines is raw


@pytest.mark.parametrize("own", ["<x>", {"stdout": "x " * 900}, None, [1]])
def test_b45_a_tools_own_record_stays_what_it_is(own):
    made = Harness()
    made.user("u")
    made.assistant("m1", use("1"))
    made.user([answer("1", "x " * 900)], toolUseResult=own)
    options = {"truncate": {"max_tokens": 60}}
    result = pipeline.run(load(lines(*made.records)), ("truncate",), options, COUNTER)
    record = json.loads(result.written().lines()[2])
    assert record["message"] != made.records[2]["message"]
    assert record["toolUseResult"] == own


HUGE = 25_000_000


def test_b52_a_line_of_25_megabytes_is_a_line():
    made = Harness()
    made.user("u")
    made.assistant("m1", use("1"))
    made.user([answer("1", "x" * HUGE)])
    made.assistant("m2", text("a"))
    raw = lines(*made.records)
    read = load(raw, "claude-code")
    assert len(read.messages[2].blocks[0].content[0].text) == HUGE
    assert made.told() == []
    assert repair(raw, "f", "claude-code").lines is raw


def test_b52_what_was_cut_off_a_huge_line_hides_nothing_else():
    made = Harness()
    made.user("u")
    made.assistant("m1", text("x" * HUGE), parent="u1")
    made.assistant("m2", text("a"), parent="u1")
    raw = lines(*made.records)
    raw[1] = raw[1][: HUGE // 2] + b"\n"
    done = mended(raw, "claude-code")
    assert [each.rule for each in done.fixes] == ["FILE-02"]
    assert len(done.after.messages) == len("ua")
