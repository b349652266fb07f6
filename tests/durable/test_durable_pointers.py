"""A text is a pointer by one grammar, the same for all that read or write it, or is refused."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compactctl import placeholders
from compactctl.durable.artifacts import session_name
from compactctl.pointers import (
    ArtifactPointer,
    PointerError,
    TranscriptPointer,
    parse_source_pointer,
)

DIGEST = "0123456789ab"


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("transcript:s:1", TranscriptPointer("s", 1)),
        ("transcript:a.b_c-D9:1234567890", TranscriptPointer("a.b_c-D9", 1234567890)),
        ("transcript:a..:1", TranscriptPointer("a..", 1)),
        (f"transcript:{'x' * 200}:7", TranscriptPointer("x" * 200, 7)),
        (f"artifact:s:f.txt:{DIGEST}", ArtifactPointer("s", "f.txt", DIGEST)),
        (f"artifact:s:f:{'aB' * 32}", ArtifactPointer("s", "f", "ab" * 32)),
    ],
)
def test_a_pointer_is_read(text, pointer):
    assert parse_source_pointer(text) == pointer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "transcript",
        "no-colon",
        "transcript:",
        "transcript:s",
        "transcript:s:",
        "transcript::1",
        "transcript:s:0",
        "transcript:s:01",
        "transcript:s:+1",
        "transcript:s:-1",
        "transcript:s:1.0",
        "transcript:s:1_0",
        "transcript:s:²",
        "transcript:s:1²",
        "transcript:s:١",
        "transcript:s:1:2",
        "transcript:s:" + "9" * 5000,
        "transcript:.:1",
        "transcript:..:1",
        "transcript:.hidden:1",
        "transcript:-x:1",
        "transcript:a/b:1",
        "transcript:../x:1",
        "transcript:a\\b:1",
        "transcript:é:1",
        "transcript:a\0:1",
        f"transcript:{'x' * 201}:1",
        "artifact:s:f",
        f"artifact:s::{DIGEST}",
        f"artifact:s:..:{DIGEST}",
        f"artifact:s:a/b:{DIGEST}",
        f"artifact:s:f:{DIGEST[:11]}",
        f"artifact:s:f:{DIGEST}0",
        f"artifact:s:f:{DIGEST[:11]}g",
        f"artifact:s:f:{DIGEST}:x",
        f"artifact:s:{'x' * 201}:{DIGEST}",
    ],
)
def test_a_text_outside_the_grammar_is_malformed(text):
    with pytest.raises(PointerError) as caught:
        parse_source_pointer(text)
    assert (caught.value.status, caught.value.reason) == ("corrupt", "malformed_pointer")


@pytest.mark.parametrize("text", ["https://x", "Transcript:s:1", "memory:m1", ":s:1", "ARTIFACT:s"])
def test_an_unknown_scheme_is_unsupported(text):
    with pytest.raises(PointerError) as caught:
        parse_source_pointer(text)
    assert (caught.value.status, caught.value.reason) == ("unsupported", "unsupported_scheme")


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\r", "\x0b", "\x1c", "\x85", "\xa0", "\u2028"])
@pytest.mark.parametrize("text", ["{}transcript:s:1", "transcript:s:1{}", "memory:{}m"])
def test_white_space_is_malformed_before_the_scheme_is_looked_at(text, space):
    with pytest.raises(PointerError) as caught:
        parse_source_pointer(text.format(space))
    assert caught.value.reason == "malformed_pointer"


def test_the_error_does_not_repeat_the_text():
    with pytest.raises(PointerError) as caught:
        parse_source_pointer("transcript:\x1b[2K:1")
    assert str(caught.value).isprintable()


PIECES = st.sampled_from(["transcript", "artifact", ":", "s", "1", "0", "..", "/", DIGEST, "\n"])


@given(st.one_of(st.text(), st.lists(PIECES, max_size=9).map("".join)))
@example("transcript:s:" + "1" * 641)
@example(":" * 1000)
def test_any_text_is_a_pointer_or_a_pointer_error(text):
    try:
        pointer = parse_source_pointer(text)
    except PointerError:
        return
    assert str(pointer).lower() == text.lower()
    assert parse_source_pointer(str(pointer)) == pointer


def is_pointer(text):
    try:
        return bool(parse_source_pointer(text))
    except PointerError:
        return False


NAMES = ["s", "a..", "A.b_c-9", ".", "..", ".hidden", "-x", "é", "a/b", "", "x" * 200, "x" * 201]
DIGESTS = [
    DIGEST,
    DIGEST.upper(),
    "ab" * 32,
    DIGEST[:11],
    f"{DIGEST}0",
    "a" * 63,
    f"{DIGEST[:11]}g",
]


@pytest.mark.parametrize("session", NAMES)
def test_a_placeholder_holds_just_what_can_be_resolved(session):
    for filename in NAMES:
        for digest in DIGESTS:
            pointer = f"artifact:{session}:{filename}:{digest}"
            cut = placeholders.Cut("head", "tail", 50, pointer)
            pruned = placeholders.Pruned(3, {placeholders.READ: ["a"]}, pointers=(pointer,))
            read = [
                placeholders.read_cleared(placeholders.cleared(9, pointer)),
                placeholders.read_cut(placeholders.cut(cut, 9)) == cut,
                placeholders.read_pruned(placeholders.pruned(pruned)) == pruned,
            ]
            assert read == [is_pointer(pointer)] * 3, pointer


@pytest.mark.parametrize("session", NAMES)
def test_a_session_keeps_its_name_where_a_pointer_can_hold_it(session):
    assert (session_name(session) == session) == is_pointer(f"transcript:{session}:1")
