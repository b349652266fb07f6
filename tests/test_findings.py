"""Findings about whole files: each oddity by its rule, what is normal by none."""

from __future__ import annotations

import base64
import json

import pytest
from helpers.builders import user
from helpers.scribe import IMAGE, PNG, WAYS, Scribe, shape
from helpers.strategies import transcripts
from hypothesis import given
from hypothesis import strategies as st

from compactctl import formats
from compactctl.errors import InputError
from compactctl.formats.claude_code import FORMAT as CLAUDE_CODE
from compactctl.pipeline import refuse_broken
from compactctl.rules import BY_ID
from compactctl.rules.findings import find
from compactctl.rules.rule import PROFILES
from compactctl.transcript import loading


def dump(*records):
    return [r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in records]


def findings(raw_lines, profile=None, name=None, *, sendable=False):
    found = loading.load(raw_lines, "f", name)
    return find(found, profile or found.format.profile, sendable=sendable)


def told(raw_lines, profile=None, name=None, *, sendable=False):
    """What is found: (rule, line) each."""
    found = findings(raw_lines, profile, name, sendable=sendable)
    return [(finding.rule, finding.line) for finding in found]


class Session:
    """A session of Claude Code that is written line by line, each the child of the one before."""

    def __init__(self):
        self.records = []

    def add(self, kind, *, parent="last", uuid=None, **members):
        last = self.records[-1]["uuid"] if self.records else None
        own = uuid or f"u{len(self.records) + 1}"
        record = {"type": kind, "uuid": own, "parentUuid": last if parent == "last" else parent}
        self.records.append(record | {"sessionId": "s", "cwd": "/w"} | members)
        return own

    def user(self, content="Go on.", **members):
        return self.add("user", message={"role": "user", "content": content}, **members)

    def assistant(self, *content, message_id=None, **members):
        blocks = [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]
        own = message_id or f"msg_{len(self.records)}"
        message = {"id": own, "role": "assistant", "content": blocks}
        return self.add("assistant", message=message, **members)

    def call(self, call_id, **members):
        return self.assistant(use(call_id), **members)

    def result(self, call_id, content="ok", **members):
        return self.user([answer(call_id, content)], **members)

    def lines(self):
        return dump(*self.records)


def use(call_id):
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "make"}}


def answer(call_id, content="ok", **members):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | members


def session():
    """A small session: nothing in it is odd."""
    made = Session()
    made.user("Mend the build.")
    for turn in range(3):
        made.assistant("Let me see.", message_id=f"m{turn}")
        made.call(f"toolu_{turn}", message_id=f"m{turn}")
        made.result(f"toolu_{turn}")
    made.assistant("Done.")
    made.user("Thanks.")
    return made


def said(*content):
    """Lines of the plain format: user, assistant, user, …"""
    roles = ("user", "assistant")
    return dump(*({"role": roles[n % 2], "content": c} for n, c in enumerate(content)))


WHOLE = {
    "a session": session().lines(),
    "plain messages": said("u", [use("a")], [answer("a")], "done", "v"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_file_has_no_finding(name):
    assert told(WHOLE[name], sendable=True) == []


DAMAGE = {
    "torn tail": ("FILE-01", lambda w: [*w[:-1], w[-1][: len(w[-1]) // 2]]),
    "torn line": ("FILE-02", lambda w: [w[0], w[1][: len(w[1]) // 2] + b"\n", *w[1:]]),
    "glued lines": ("FILE-03", lambda w: [w[0], w[1].rstrip() + w[2], *w[3:]]),
    "NULs beside": ("FILE-04", lambda w: [*w[:-1], b"\0" * 9 + w[-1]]),
    "NULs between": ("FILE-04", lambda w: [*w[:2], b"\0" * 9 + b"\n", *w[2:]]),
    "byte order mark": ("FILE-05", lambda w: [b"\xef\xbb\xbf" + w[0], *w[1:]]),
    "comment": ("FILE-06", lambda w: [b"// made by hand\n", *w]),
    "Latin-1": ("FILE-07", lambda w: [*w, b'{"type":"x","cost":"5 \xa3"}\n']),
    "NaN": ("FILE-08", lambda w: [*w, b'{"type":"x","cost":NaN}\n']),
    "surrogate": ("FILE-09", lambda w: [w[0], w[1].replace(b'"', b'"x":"\\ud83d","', 1), *w[2:]]),
    "array": ("FILE-10", lambda w: [*w, b"[1]\n"]),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", WHOLE)
def test_damage_is_found_by_its_rule_and_nothing_else_is(name, damage, monkeypatch):
    monkeypatch.setattr(CLAUDE_CODE, "known_types", frozenset())  # "x" is none of them
    rule, do = DAMAGE[damage]
    found = findings(do(list(WHOLE[name])))
    assert [f.rule for f in found] == [rule]
    assert found[0].severity == BY_ID[rule].severity
    assert found[0].message is None


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_never_stops_a_layer(damage):
    _, do = DAMAGE[damage]
    refuse_broken(loading.load(do(list(WHOLE["a session"])), "f"))


def test_severities_are_those_of_the_contract():
    severity = {rule.id: rule.severity for rule in BY_ID.values()}
    assert [severity[f"FILE-{n:02}"] for n in (1, 2, 7, 8)] == ["warning", *["error"] * 3]
    assert {severity[f"FILE-{n:02}"] for n in (3, 4, 5, 6, 9, 10, 11, 12, 13)} == {"warning"}
    assert severity["FILE-15"] == "info"


def test_a_lone_surrogate_is_an_error_only_in_what_is_to_be_sent():
    lines = [line.replace(b"half", b"half \\ud83d") for line in said("half")]
    (found,) = findings(lines)
    assert (found.severity, found.text) == (
        "warning",
        "a lone surrogate: half of a character (at $.content)",
    )
    (found,) = findings(lines, sendable=True)
    assert found.severity == "error"


def test_invalid_utf_8_tells_the_byte_in_the_line_and_in_the_file():
    lines = [*said("u", "a"), b'{"x":"\xff"}\n', *said("u")]
    (found,) = [f for f in findings(lines, name="messages") if f.rule == "FILE-07"]
    at = b"".join(lines).index(b"\xff") + 1
    assert (
        found.text
        == f"a line is not UTF-8 (byte 7 of the line is not UTF-8; byte {at} of the file)"
    )


def test_findings_come_in_the_order_of_lines():
    lines = [*said("u", [use("a b")]), b"[]\n", *said([answer("a b")])]
    assert [line for _, line in told(lines, sendable=True)] == [2, 3]


# --- the chain of parents


def test_a_second_entry_of_one_id_is_told_from_a_copy():
    made = session()
    made.records.append(made.records[-1])
    again = made.records[-2] | {"cwd": "/elsewhere"}
    made.records.append(dict(reversed(again.items())))
    made.records.append(dict(reversed(made.records[-3].items())))
    found = findings(made.lines())
    assert [(f.rule, f.severity, f.line) for f in found] == [
        ("FILE-11", "warning", n) for n in (13, 14, 15)
    ]
    assert [f.text.partition("(")[2] for f in found] == [
        "a copy of line 12)",
        "not the same as line 12)",
        "a copy of line 12)",
    ]


def test_entries_of_one_id_may_be_nested_deeply():
    made = session()
    deep = b"[" * 800 + b"]" * 800
    last = made.lines()[-1]
    again = [last.replace(b'"cwd"', b'"x":%s,"%s":1,"cwd"' % (deep, key)) for key in (b"a", b"b")]
    assert told([*made.lines()[:-1], *again]) == [("FILE-11", 13)]


@given(at=st.integers(1, 11))
def test_a_parent_that_is_not_there_loses_what_stands_before(at):
    made = session()
    made.records[at]["parentUuid"] = "gone"
    (found,) = findings(made.lines())
    view = loading.load(made.lines(), "f").messages
    # A result is found by its call, and a call by the other lines of its message.
    lost = sum(all(b.entry < at for b in m.blocks) for m in view)
    assert (found.rule, found.severity, found.line) == ("FILE-12", "error", at + 1)
    assert f"(resume would lose {lost} message" in found.text


def test_a_parent_that_is_not_there_and_nothing_before_it_is_a_warning():
    made = session()
    made.records[0]["parentUuid"] = "cut off"
    (found,) = findings(made.lines())
    assert (found.rule, found.severity, found.line) == ("FILE-12", "warning", 1)
    assert "lose" not in found.text


def test_a_missing_parent_of_what_the_model_never_sees_is_a_warning():
    made = session()
    made.add("progress", parent="gone")
    (found,) = findings(made.lines())
    assert (found.rule, found.severity, found.line) == ("FILE-12", "warning", 13)


def test_a_missing_parent_before_the_last_boundary_is_a_warning():
    made = session()
    made.records[5]["parentUuid"] = "gone"
    made.add("system", parent=None, subtype="compact_boundary", logicalParentUuid="elsewhere")
    made.user("This session is being continued.", isCompactSummary=True)
    made.user("Go on.")
    (found,) = findings(made.lines())
    assert (found.rule, found.severity, found.line) == ("FILE-12", "warning", 6)


@pytest.mark.parametrize(("at", "parent", "first"), [(0, "u1", 1), (4, "u7", 5), (9, "u10", 10)])
def test_parents_in_a_circle_lose_what_stands_before(at, parent, first):
    made = session()
    made.records[at]["parentUuid"] = parent
    (found,) = findings(made.lines())
    assert (found.rule, found.line) == ("FILE-13", first)
    assert (found.severity == "error") == (at > 0) == ("lose" in found.text)


def test_messages_under_another_root_are_told():
    made = session()
    made.user("And now for something else.", parent=None)
    (found,) = findings(made.lines())
    assert (found.rule, found.severity, found.line) == ("FILE-18", "warning", 13)
    # The view joins what the user said last to this; that message is lost in part.
    assert "(resume would lose 9 messages)" in found.text


def test_a_boundary_is_a_root_as_it_should_be():
    made = session()
    made.add("system", parent=None, subtype="compact_boundary", logicalParentUuid="u12")
    made.user("This session is being continued.", isCompactSummary=True)
    made.assistant("Well then.")
    assert told(made.lines()) == []


@pytest.mark.parametrize("key", ["preservedSegment", "preservedMessages"])
@pytest.mark.parametrize("parent", ["u12", "u14"])
def test_what_a_boundary_keeps_is_not_lost(key, parent):
    made = session()
    kept = {
        "preservedSegment": {"headUuid": "u8", "tailUuid": "u12", "anchorUuid": "u14"},
        "preservedMessages": {"uuids": [f"u{n}" for n in range(8, 13)], "anchorUuid": "u14"},
    }
    made.add("system", parent=None, subtype="compact_boundary", compactMetadata={key: kept[key]})
    made.user("This session is being continued.", isCompactSummary=True)
    made.assistant("Well then.", parent=parent)
    assert told(made.lines()) == []


def test_forks_that_are_technical_are_normal():
    made = session()
    asked = made.call("toolu_a", message_id="m9")
    made.result("toolu_a", parent=asked)
    made.add("progress", parent=asked)
    both = made.call("toolu_b", parent=asked, message_id="m9")
    made.add("progress", parent=both)
    last = made.result("toolu_b", parent=both)
    made.add("system", parent=last, subtype="stop_hook_summary")
    made.assistant("Done.")
    made.user("Thanks.", isMeta=True, parent=last)
    assert told(made.lines()) == []


def test_side_chains_in_the_main_file_are_normal():
    made = session()
    made.user("look into it", isSidechain=True, parent=None)
    made.assistant("I will.", isSidechain=True)
    made.user("Thanks again.", parent="u12")
    assert told(made.lines()) == []


def test_children_before_their_parents_are_normal():
    made = session()
    made.records[3], made.records[4] = made.records[4], made.records[3]
    assert told(made.lines()) == []


def rewound(monkeypatch):
    def is_prompt(record):
        content = record.message.content if record.message else None
        return record.type == "user" and record.is_meta is not True and isinstance(content, str)

    monkeypatch.setattr(CLAUDE_CODE, "is_prompt", is_prompt)
    made = session()
    made.user("No, do it in C.", parent="u11")
    made.assistant("As you wish.")
    return made


def test_a_rewind_is_told(monkeypatch):
    (found,) = findings(rewound(monkeypatch).lines())
    assert (found.rule, found.severity, found.line) == ("FILE-14", "info", 13)
    assert found.text.endswith("(line 12: 1 entry, --leaf u12; line 13: 2 entries, in the view)")


def test_many_rewinds_to_one_place_are_one_finding(monkeypatch):
    made = rewound(monkeypatch)
    for _ in range(20):
        made.user("Or in D.", parent="u11")
    (found,) = findings(made.lines())
    assert found.text.endswith("line 20: 1 entry, --leaf u20 …)")


def test_entries_of_unknown_types_are_counted(monkeypatch):
    known = frozenset({"user", "assistant", "system"})
    monkeypatch.setattr(CLAUDE_CODE, "known_types", known)
    made = session()
    made.add("hologram")
    made.add("relocated")
    made.add("hologram")
    fact = {"type": "compactctl.fact"}
    found = findings([*made.lines(), *dump(fact, {"uuid": "x"}), b"hello\n"])
    assert [(f.rule, f.severity, f.line) for f in found[:2]] == [
        ("FILE-15", "info", 13),
        ("FILE-15", "info", 14),
    ]
    assert "(2 of type 'hologram')" in found[0].text
    assert [f.rule for f in found[2:]] == ["FILE-02"]


def test_gaps_in_sequence_numbers_are_told():
    said = [
        {"schema_version": 1, "sequence": n, "type": "message", "role": "user", "content": "u"}
        for n in (3, 4, 6, 7, 7, 8)
    ]
    found = findings(dump(*said, said[0] | {"sequence": True}), name="events")
    assert [(f.rule, f.severity, f.line) for f in found] == [
        ("FILE-16", "warning", 3),
        ("FILE-16", "warning", 5),
    ]
    assert found[0].text.endswith("(4 is followed by 6)")


def test_odd_links_are_read_as_none():
    made = session()
    for record, odd in zip(made.records, (5, None, [], {"a": 1}), strict=False):
        record["uuid"] = odd
    found = {f.rule for f in findings([*made.lines(), b"{\n", b"[]\n", b'{"uuid":"\\ud800"}\n'])}
    assert found <= {"FILE-09", "FILE-10", "FILE-12", "FILE-02", "FILE-17"}


# --- what only lines tell


def item(kind, **members):
    return {"type": "response_item", "payload": {"type": kind} | members, "timestamp": "T"}


def png(edge):
    raw = base64.b64decode(PNG)
    return base64.b64encode(raw[:16] + edge.to_bytes(4, "big") * 2 + raw[24:]).decode()


def shown(data, media_type="image/png"):
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


def cached(words):
    return {"type": "text", "text": words, "cache_control": {"type": "ephemeral"}}


LINES = {
    # name: (lines, what anthropic finds, what gateway finds beside it)
    "a bare empty answer": (said("u", "", "v"), [], [("GATE-05", 2)]),
    "an empty answer": (said("u", [], "v"), [], [("GATE-05", 2), ("GATE-01", 3)]),
    "an empty answer at the end": (said("u", []), [], []),
    "an empty text block as answer": (
        said("u", [{"type": "text", "text": ""}], "v"),
        [("TEXT-01", 2)],
        [],
    ),
    "a bare empty user message": (said(""), [("TEXT-01", 1)], []),
    "an empty user message": (said("u", "a", []), [("TEXT-03", 3)], []),
    "a user message of null": (said("u", "a", None), [("TEXT-03", 3)], []),
    "an empty result": (said("u", [use("a")], [answer("a", "")]), [], []),
    "an empty text block as result": (
        said("u", [use("a")], [answer("a", [{"type": "text", "text": ""}])]),
        [("TEXT-01", 3)],
        [],
    ),
    "user messages side by side": (
        dump(*({"role": "user", "content": "u"},) * 2),
        [],
        [("GATE-01", 2)],
    ),
    "results in lines of their own": (
        [*said("u", [use("a"), use("b")]), *said([answer("b")]), *said([answer("a")])],
        [],
        [("GATE-02", 4)],
    ),
    "4 blocks to be cached": (
        said([cached("a"), cached("b")], [cached("c")], [cached("d")]),
        [],
        [],
    ),
    "5 blocks to be cached": (
        said([cached("a"), cached("b")], [cached("c")], [cached("d")], [cached("e")]),
        [("CACHE-01", 4)],
        [],
    ),
    "a result to be cached": (
        said([cached("a")] * 4, [use("a")], [answer("a", [cached("x")])]),
        [("CACHE-01", 3)],
        [],
    ),
    "words about caching": (said('"cache_control": {}' * 9), [], []),
    "a wide image among 21": (said([shown(png(2162)), *[shown(PNG)] * 20]), [("IMG-04", 1)], []),
    "a wide image alone": (said([shown(png(2162))]), [], []),
    "a page that calls itself an image": (
        said([shown(base64.b64encode(b"<!doctype html>").decode())]),
        [("IMG-02", 1)],
        [],
    ),
    "a document as image": (
        said([shown(base64.b64encode(b"%PDF-1.7").decode(), "application/pdf")]),
        [("IMG-01", 1)],
        [],
    ),
    "an image in a failed result": (
        said("u", [use("a")], [answer("a", [shown(PNG)], is_error=True)]),
        [("RESULT-01", 3)],
        [],
    ),
    "an image by its address": (
        said([{"type": "image", "source": {"type": "url", "url": "https://x.org/a.bmp"}}]),
        [],
        [],
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_what_only_lines_tell(name):
    lines, expected, more = LINES[name]
    assert told(lines, "anthropic", "messages") == expected
    assert sorted(told(lines, "gateway", "messages")) == sorted(expected + more)


JPEG = "/9j/4AAQSkZJRgABAQ=="
HTML = "PCFkb2N0eXBlIGh0bWw+"


@pytest.mark.parametrize(
    ("data", "media_type", "fits"),
    [
        (PNG, "image/png", True),
        (PNG, "image/jpeg", False),
        (PNG, "image/webp", False),
        (JPEG, "image/jpeg", True),
        (JPEG, "image/png", False),
        ("R0lGODlhAQABAAAAACw=", "image/gif", True),
        ("UklGRgAAAABXRUJQVlA4", "image/webp", True),
        (HTML, "image/jpeg", False),
        ("REDACTED", "image/png", False),
    ],
)
def test_the_bytes_of_an_image_are_of_its_type(data, media_type, fits):
    image = shown(data, media_type)
    expected = [] if fits else ["IMG-02"]
    lines = said([image])
    assert [rule for rule, _ in told(lines, name="messages")] == expected
    lines = said("u", [use("a")], [answer("a", [shown(PNG), {"type": "text", "text": "x"}, image])])
    assert [rule for rule, _ in told(lines, name="messages")] == expected


@pytest.mark.parametrize("name", [name for name in formats.names() if shape(name, IMAGE)])
def test_images_of_every_format_are_looked_at(name):
    written = Scribe(name).write([user("u", IMAGE)], lambda: WAYS[0])
    lines = [json.dumps(record).replace(PNG, HTML).encode() for record, _ in written]
    assert [rule for rule, _ in told(lines, "anthropic", name)] == ["IMG-02"]


SERVED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([SERVED, FOUND], []),
        ([SERVED], [("SERVER-01", 2)]),
        ([FOUND], [("SERVER-02", 2)]),
        ([SERVED, FOUND | {"tool_use_id": "srvtoolu_2"}], [("SERVER-01", 2), ("SERVER-02", 2)]),
    ],
)
def test_server_tools_pair_by_id(answer, expected):
    assert told(said("u", answer, "v"), name="messages") == expected


def test_what_stands_before_a_compaction_is_not_judged():
    mark = {"type": "compactctl.compaction"}
    lines = dump(
        {"role": "user", "content": []},
        {"role": "user", "content": [cached("x")] * 9},
        mark,
        {"role": "user", "content": "u"},
    )
    assert told(lines, "anthropic", "messages") == []


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ({"content": None}, "TEXT-04"),
        ({}, "TEXT-04"),
        ({"content": None, "tool_calls": []}, "TEXT-04"),
        ({"content": ""}, None),
        ({"content": None, "refusal": "no"}, None),
        ({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, None),
    ],
)
def test_an_answer_of_null(message, rule):
    lines = dump(
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant"} | message,
        {"role": "user", "content": "v"},
    )
    found = [f for f in told(lines, "openai-chat", "openai") if f[0] == "TEXT-04"]
    assert found == ([(rule, 3)] if rule else [])


@pytest.mark.parametrize(
    ("call", "output", "fits"),
    [
        ("function_call", "function_call_output", True),
        ("custom_tool_call", "custom_tool_call_output", True),
        ("local_shell_call", "function_call_output", True),
        ("function_call", "custom_tool_call_output", False),
        ("custom_tool_call", "function_call_output", False),
    ],
)
def test_an_output_is_of_its_calls_type(call, output, fits):
    lines = dump(
        item("message", role="user", content=[{"type": "input_text", "text": "u"}]),
        item(call, call_id="c1", name="f", arguments="{}", input="x", action={"command": ["ls"]}),
        item(output, call_id="c1", output="ok"),
    )
    assert told(lines, name="codex") == ([] if fits else [("PAIR-08", 3)])


# --- any bytes at all


def survives(raw_lines, name=None):
    """Whatever the lines hold, they load, or are refused in one sentence."""
    try:
        found = loading.load(raw_lines, "f", name)
    except InputError:
        return
    for profile in PROFILES:
        for finding in find(found, profile, sendable=True):
            assert finding.rule in BY_ID
            assert finding.line is None or 1 <= finding.line <= len(raw_lines)


@given(st.lists(st.binary(max_size=60), max_size=6), st.sampled_from([None, *formats.names()]))
def test_any_bytes_are_survived(pieces, name):
    survives(b"\n".join(pieces).splitlines(keepends=True), name)


KEYS = st.sampled_from(
    (
        *("type", "role", "content", "message", "uuid", "parentUuid", "id", "parentId", "text"),
        *("tool_use_id", "tool_call_id", "tool_calls", "function", "name", "input", "arguments"),
        *("payload", "call_id", "output", "summary", "source", "data", "media_type", "is_error"),
        *("sequence", "schema_version", "sessionId", "timestamp", "isSidechain", "cache_control"),
    )
)
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 10**20)
    | st.sampled_from(
        ("user", "assistant", "tool", "tool_use", "tool_result", "text", "image", "a", "", "\ud800")
    ),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(KEYS, values, max_size=5),
    max_leaves=12,
)


OBJECT = st.dictionaries(KEYS, VALUE, max_size=6)


@given(
    st.lists(OBJECT, min_size=1, max_size=6),
    st.sampled_from(formats.names()),
)
def test_any_objects_are_survived(objects, name):
    survives(dump(*objects), name)


@pytest.mark.parametrize("name", formats.names())
@pytest.mark.parametrize("odd", [[], {}, [[]]])
def test_types_and_roles_of_any_type_are_survived(name, odd):
    for record in (
        {"type": odd},
        {"type": odd, "uuid": "u", "message": {"role": odd}},
        {"type": "message", "timestamp": "T", "role": odd},
        {"type": "message", "timestamp": "T", "message": {"role": odd, "content": [{"type": odd}]}},
        {"type": "response_item", "payload": {"type": odd, "role": odd}},
        {"role": odd, "content": [{"type": odd}]},
    ):
        survives(dump(record), name)


@pytest.mark.parametrize("name", formats.names())
@given(data=st.data())
def test_lines_lost_doubled_moved_and_cut_are_survived(name, data):
    lines = list(data.draw(transcripts(name)).lines)
    for _ in range(data.draw(st.integers(1, 4))):
        if not lines:
            return
        at = data.draw(st.integers(0, len(lines) - 1))
        what = data.draw(st.sampled_from(("drop", "double", "move", "cut", "glue", "flip")))
        line = lines[at]
        if what == "drop":
            del lines[at]
        elif what == "double":
            lines.insert(data.draw(st.integers(0, len(lines))), line)
        elif what == "move":
            lines.insert(data.draw(st.integers(0, len(lines) - 1)), lines.pop(at))
        elif what == "cut":
            lines[at] = line[: data.draw(st.integers(0, len(line)))] + b"\n"
        elif what == "glue":
            lines[at] = line.rstrip(b"\r\n")
        else:
            spot = data.draw(st.integers(0, max(len(line) - 1, 0)))
            lines[at] = (
                line[:spot] + data.draw(st.binary(min_size=1, max_size=2)) + line[spot + 1 :]
            )
    survives(b"".join(lines).splitlines(keepends=True), name)
