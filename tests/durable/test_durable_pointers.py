"""A text is a pointer by the grammar of CONTRACT §6 and §11, or it is refused by a code."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compactctl.durable.pointers import (
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
    if isinstance(pointer, TranscriptPointer):
        assert text == f"transcript:{pointer.session}:{pointer.sequence}"
    else:
        assert (
            text.lower()
            == f"artifact:{pointer.session}:{pointer.filename}:{pointer.digest}".lower()
        )
