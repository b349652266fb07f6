"""Text of a transcript is made safe, visibly so; counts agree with their nouns."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactctl.text import escape_field, escape_terminal, plural

ANY_TEXT = st.text(st.characters(exclude_categories=()))
HOSTILE = [
    *map(chr, [*range(0x20), *range(0x7F, 0xA0)]),
    *map(chr, [*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x206A), 0xFEFF]),
    *map(chr, [0x61C, 0xAD, *range(0xE0000, 0xE0080), 0xE0100, 0xD800, 0xDFFF]),
]


@pytest.mark.parametrize("text", ["", "plain", "naïve 文 😀", "a=b, c: d", "<tag> 'q'"])
def test_harmless_text_stays_as_it_is(text):
    assert escape_field(text) == f'"{text}"'
    assert escape_terminal(text) == text


@pytest.mark.parametrize("escape", [escape_field, escape_terminal])
def test_what_acts_or_hides_becomes_visible_ascii(escape):
    for char in HOSTILE:
        escaped = escape(f"a{char}b")
        assert "a\\" in escaped, ascii(char)
        assert escaped.isascii(), ascii(char)
        assert escaped.isprintable(), ascii(char)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\r\t", r"a\nb\r\t"),
        ("\x1b[2K", r"\x1b[2K"),
        ("\x9b", r"\x9b"),
        ("\u202e", r"\u202e"),
        ("\U000e0041", r"\U000e0041"),
        ("C:\\dir", "C:\\dir"),
    ],
)
def test_terminal_escapes_are_the_familiar_ones(text, expected):
    assert escape_terminal(text) == expected


def test_a_field_cannot_end_before_its_end():
    forged = escape_field('x"; source_status="available\\')
    assert forged == r'"x\"\u003b source_status=\"available\\"'


@given(ANY_TEXT)
def test_a_field_is_a_json_string_on_one_line_and_loses_nothing(text):
    escaped = escape_field(text)
    assert len(escaped.splitlines()) == 1
    assert ";" not in escaped
    escaped.encode()  # no lone surrogate is left to fail later
    # JSON joins two surrogates that stand beside each other; so does this comparison.
    assert _joined(json.loads(escaped)) == _joined(text)


@given(ANY_TEXT)
def test_the_terminal_gets_one_line_without_controls_and_twice_is_once(text):
    escaped = escape_terminal(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in escaped)
    assert escape_terminal(escaped) == escaped


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (plural(0, "result"), "0 results"),
        (plural(1, "result"), "1 result"),
        (plural(1204, "result"), "1,204 results"),
        (plural(1, "entry", "entries"), "1 entry"),
        (plural(2, "entry", "entries"), "2 entries"),
    ],
)
def test_a_count_agrees_with_its_noun(written, expected):
    assert written == expected


def _joined(text):
    return text.encode("utf-16-le", "surrogatepass")
