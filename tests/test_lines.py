"""Lines as they are found: every byte is kept, every record is read, every oddity is named."""

from __future__ import annotations

import gc
import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compactctl.jsonl import exact, lenient, lines
from compactctl.transcript import loading


class Record(msgspec.Struct):
    type: Any = None
    text: str = ""
    parts: list[str] | None = None


def read(*raw_lines):
    """Read lines: (pieces of bytes, records, faults as (rule, line))."""
    entries, faults = [], []
    decode = msgspec.json.Decoder(Record).decode
    records = dict(lines.read(raw_lines, decode, entries, faults))
    assert b"".join(entry.raw for entry in entries) == b"".join(raw_lines)
    return entries, records, faults


def rules(*raw_lines):
    return [(fault.rule, fault.line) for fault in read(*raw_lines)[2]]


def texts(*raw_lines):
    return [record.text for record in read(*raw_lines)[1].values()]


GOOD = b'{"text":"a"}\n'
FINE = {
    "a plain line": (GOOD,),
    "no line end": (GOOD, b'{"text":"b"}'),
    "a Windows line end": (b'{"text":"a"}\r\n',),
    "blank lines": (b"\n", b"  \t\r\n", GOOD, b"\n"),
    "white space around": (b'  { "text" : "a" }  \n',),
    "characters beyond ASCII": ('{"text":"é\u2028👍"}\n'.encode(),),
    "a pair of surrogates": (b'{"text":"\\ud83d\\udc4d"}\n',),
    "a member twice": (b'{"text":"b","text":"a"}\n',),
    "numbers of any size": (b'{"x":1e999,"y":' + b"9" * 400 + b',"text":"a"}\n',),
    "members of other types that the view does not read": (b'{"z":[{}],"text":"a"}\n',),
}
ODD = {
    "glued": ((b'{"text":"a"}{"text":"b"}\n',), [("FILE-03", 1)], ["a", "b"]),
    "glued and apart": ((b'{"text":"a"} \t{"text":"b"}\n',), [("FILE-03", 1)], ["a", "b"]),
    "only NULs": ((GOOD, b"\0\0\0\n"), [("FILE-04", 2)], ["a"]),
    "NULs behind": ((b'{"text":"a"}\0\0\n', GOOD), [("FILE-04", 1)], ["a", "a"]),
    "NULs before": ((b'\0\0{"text":"a"}\n',), [("FILE-04", 1)], ["a"]),
    "NULs between": (
        (b'{"text":"a"}\0\0{"text":"b"}\n',),
        [("FILE-03", 1), ("FILE-04", 1)],
        ["a", "b"],
    ),
    "a tail of NULs": ((GOOD, b"\0" * 4096), [("FILE-04", 2)], ["a"]),
    "a byte order mark": ((exact.BOM + GOOD,), [("FILE-05", 1)], ["a"]),
    "only a byte order mark": ((exact.BOM + b"\n", GOOD), [("FILE-05", 1)], ["a"]),
    "a comment": ((b"// made by hand\n", GOOD), [("FILE-06", 1)], ["a"]),
    "another comment": ((b"  # made by hand\n", GOOD), [("FILE-06", 1)], ["a"]),
    "a comment behind a mark": ((exact.BOM + b"# x\n", GOOD), [("FILE-06", 1)], ["a"]),
    "Latin-1": ((b'{"text":"\xe9"}\n', GOOD), [("FILE-07", 1)], ["a"]),
    "Latin-1 where the view does not read": ((b'{"x":"\xe9"}\n', GOOD), [("FILE-07", 1)], ["a"]),
    "half of a character": ((b'{"text":"\xf0\x9f\x91', GOOD), [("FILE-07", 1)], ["a"]),
    "NaN": ((b'{"x":NaN}\n', GOOD), [("FILE-08", 1)], ["a"]),
    "Infinity": ((b'{"x":[-Infinity]}\n', GOOD), [("FILE-08", 1)], ["a"]),
    "a lone surrogate": ((b'{"text":"a\\ud83d"}\n',), [("FILE-09", 1)], ["a\ufffd"]),
    "a lone surrogate elsewhere": ((b'{"x":"\\uDC00","text":"a"}\n',), [("FILE-09", 1)], ["a"]),
    "an array": ((b"[1]\n", GOOD), [("FILE-10", 1)], ["a"]),
    "a string": ((b'"x"\n', GOOD), [("FILE-10", 1)], ["a"]),
    "null": ((b"null\n", GOOD), [("FILE-10", 1)], ["a"]),
    "a member of another type": ((b'{"text":5,"type":1}\n',), [("FILE-17", 1)], [""]),
    "a part of another type": ((b'{"text":"a","parts":[5]}\n',), [("FILE-17", 1)], ["a"]),
    "no JSON": ((b"hello\n", GOOD), [("FILE-02", 1)], ["a"]),
    "no JSON at the end": ((GOOD, b"hello"), [("FILE-02", 2)], ["a"]),
    "too much": ((b'{"text":"a"}}\n', GOOD), [("FILE-02", 1)], ["a", "a"]),
    "words behind": ((b'{"text":"a"} and so on', GOOD), [("FILE-02", 1)], ["a", "a"]),
    "too deep": ((b'{"x":' + b"[" * 10**5 + b"]" * 10**5 + b"}", GOOD), [("FILE-02", 1)], ["a"]),
    "too deep, and half of a character": (
        (b'{"y":"\\ud800","x":' + b"[" * 700 + b"]" * 700 + b"}", GOOD),
        [("FILE-02", 1)],
        ["a"],
    ),
    "a number too long for Python": (
        (b'{"text":' + b"9" * 5000 + b"}\n", GOOD),
        [("FILE-17", 1)],
        ["", "a"],
    ),
}
TORN = (
    b"{",
    b'{"',
    b'{"te',
    b'{"text"',
    b'{"text":',
    b'{"text":"',
    b'{"text":"a',
    b'{"text":"a\\',
    b'{"text":"a\\u',
    b'{"text":"a\\u00e',
    b'{"text":"a"',
    b'{"text":"a",',
    b'{"text":"a","x":t',
    b'{"text":"a","x":fals',
    b'{"text":"a","x":-',
    b'{"text":"a","x":1.',
    b'{"text":"a","x":1e',
    b'{"text":"a","x":[1,2',
    b'{"text":"a\0\0\0\0',
    '{"text":"é'.encode(),
)


@pytest.mark.parametrize("name", FINE)
def test_what_is_fine_is_not_reported(name):
    _, records, faults = read(*FINE[name])
    assert not faults
    assert next(iter(records.values())).text[0] in "aé👍"


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_named_and_the_rest_is_read(name):
    raw_lines, expected, said = ODD[name]
    assert rules(*raw_lines) == expected
    assert texts(*raw_lines) == said


@pytest.mark.parametrize("torn", TORN)
def test_a_torn_line_is_a_tail_only_at_the_end(torn):
    assert rules(GOOD, torn) == [("FILE-01", 2)]
    assert rules(GOOD, torn + b"\n") == [("FILE-01", 2)]
    assert rules(GOOD, torn + b"\n", b"\n", b"\0\0") == [("FILE-01", 2), ("FILE-04", 4)]
    assert rules(GOOD, torn + b"\n", GOOD) == [("FILE-02", 2)]
    assert texts(GOOD, torn + b"\n", GOOD) == ["a", "a"]


@pytest.mark.parametrize("torn", TORN)
def test_what_stands_before_a_torn_record_is_read(torn):
    line = b'{"text":"b"}' + torn
    entries, records, faults = read(GOOD, line)
    assert [entry.raw for entry in entries] == [GOOD, b'{"text":"b"}', torn]
    assert [record.text for record in records.values()] == ["a", "b"]
    assert faults[0].rule == "FILE-01"
    assert faults[0].text.endswith("what stands before it is read")


def test_invalid_utf_8_tells_the_byte():
    (fault,) = read('{"x":"é'.encode() + b'\xff"}\n')[2]
    assert fault.text == "byte 9 of the line is not UTF-8"
    assert fault.at == 8


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b'{"text":"\\ud800"}', "$.text"),
        (b'{"a":[{"b":["x","\\ud800"]}]}', "$.a[0].b[1]"),
        (b'{"a":{"\\ud800":1}}', "$.a"),
        (b'{"\\ud800":1}', "$"),
        (b'{"a":"\\ud83d\\ude00","b":"\\ude00\\ud83d"}', "$.b"),
    ],
)
def test_a_lone_surrogate_tells_its_path(line, path):
    (fault,) = read(line)[2]
    assert fault.text == f"at {path}"


def test_a_complaint_about_a_type_tells_the_path_and_no_content():
    (fault,) = read(b'{"text":["secret"]}')[2]
    assert "$.text" in fault.text
    assert "secret" not in fault.text


class Part(msgspec.Struct):
    text: str = ""
    parts: str | list[Part] = ""


def leniently(value):
    return lenient.decode_leniently(value, msgspec.json.Decoder(Part).decode)


def test_what_does_not_fit_is_left_out_as_deep_inside_as_possible():
    odd = {"text": "a", "parts": [{"text": 5, "parts": "b"}, 5, {"text": "c", "parts": "d"}]}
    record, complaint = leniently(odd)
    assert complaint.startswith("Expected `str`, got `int`")
    assert record == Part("a", [Part("", "b"), Part(), Part("c", "d")])


@pytest.mark.parametrize("parts", [5, {}, {"text": "a"}, [[]], [5, [{}]]])
def test_where_nothing_fits_the_rest_is_read(parts):
    record, complaint = leniently({"text": "a", "parts": parts})
    assert complaint
    assert record in (Part("a"), Part("a", [Part()]), Part("a", [Part(), Part()]))


def test_an_odd_member_that_is_too_deep_inside_hides_the_record_and_raises_nothing():
    odd = {"text": 5}
    for _ in range(500):
        odd = {"parts": [odd]}
    record, complaint = leniently({"text": "a", **odd})
    assert record == Part()
    assert complaint


def test_what_fits_is_read_as_it_is():
    assert leniently({"text": "a", "parts": [{}], "x": [5]}) == (Part("a", [Part()]), "")


def test_a_line_of_many_values_takes_time_in_proportion():
    line = '{"text":"é"}'.encode() * 50_000 + b"\n"
    entries, records, faults = read(line)
    assert len(entries) == len(records) == 50_000
    assert [fault.rule for fault in faults] == ["FILE-03"]


def test_objects_are_found_on_odd_lines_too():
    found = lines.objects([b"\0\0\n", b'{"a":1}{"a":2}\n', b"{", exact.BOM + b'{"a":3}'])
    assert list(found) == [{"a": 1}, {"a": 2}, {"a": 3}]


PIECES = st.sampled_from(
    (
        *(
            b'{"text":"a"}',
            b'{"text":5}',
            b"\0",
            b"\n",
            b"\r\n",
            b" ",
            exact.BOM,
            b"{",
            b"}",
            b"[",
        ),
        *(
            b"]",
            b'"',
            b"\\",
            b"\\ud800",
            b"\xff",
            b"NaN",
            b"-1e5",
            b"//",
            b"#",
            b"null",
            b",",
            b":",
        ),
        *('{"text":"é👍"}'.encode(), b'{"parts":[["x"]]}', b'{"a":{"b":["\\udc00"]}}'),
    )
)


@given(st.lists(PIECES, max_size=12).map(b"".join) | st.binary(max_size=200))
@example(b'{"a":1}{"b":')
@example(b"\xef\xbb\xbf\xef\xbb\xbf{}")
def test_no_bytes_are_lost_and_nothing_is_raised(data):
    raw_lines = data.splitlines(keepends=True)
    entries, records, faults = read(*raw_lines)
    assert all(0 <= index < len(entries) for index in records)
    assert all(1 <= fault.line <= len(raw_lines) for fault in faults)
    whole = {index for index, entry in enumerate(entries) if not exact.is_blank(entry.raw)}
    told = {fault.line for fault in faults}
    # What holds no record is either blank or told of.
    assert all(entries[index].line in told for index in whole - set(records))


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(), st.lists, max_leaves=9))
def test_parse_is_the_inverse_of_dump(value):
    assert exact.parse(exact.dump(value)) == value
    assert exact.object_or_none(exact.dump({"x": value})) == {"x": value}


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":"\\ud800","b":-' + b"9" * 5000 + b"}",
        b'{"a":"\\ud800","b":["number 0",12345678901234567890],"number 1":"number _0"}',
        b'{"a":[12345678901234567890,"\\u00e9\\udc00",-12345678901234567890]}',
    ],
)
def test_integers_of_any_length_stay_as_they_are_spelled(text):
    assert exact.dump(exact.parse(text)) == text


@pytest.mark.parametrize("text", [b"[1]", b"{", b"\xff", b"{}{}", b'{"a":NaN}', b""])
def test_what_is_no_single_object_is_none(text):
    assert exact.object_or_none(text) is None


@pytest.mark.parametrize("text", [b"{", b"{}x", b"\xff", b'{"a":NaN}'])
def test_parse_many_raises_on_damage(text):
    with pytest.raises(exact.NotJsonError):
        exact.parse_many(text)


def test_a_line_that_is_too_long_is_passed_over_with_its_size(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 200)
    said = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "x" * 200}]
    raw = [json.dumps(one).encode() + b"\n" for one in said]
    found = loading.load(raw, "t", "messages")
    assert [fault.rule for fault in found.faults] == ["FILE-19"]
    assert found.faults[0].text == f"{len(raw[1])} bytes"
    assert [entry.raw for entry in found.entries] == raw
    assert len(found.messages) == 1


def test_a_damaged_line_leaves_nothing_behind_for_the_collector():
    gc.collect()
    gc.disable()
    try:
        for damaged in (b"{\n", b'{"a":NaN}\n', b"\xff\n", b'{"a":"\n'):
            list(lines.objects([damaged] * 50))
            list(lines.read([damaged] * 50, msgspec.json.Decoder(Record).decode, [], []))
        assert gc.collect() < 50
    finally:
        gc.enable()


@pytest.mark.parametrize("end", [b"\r\n", b"\n", b""])
@pytest.mark.parametrize("text", [b"", b"{}", b"a\rb", b"{}\r{}"])
def test_a_line_is_a_text_and_its_end(text, end):
    assert lines.line_end(text + end) == end
