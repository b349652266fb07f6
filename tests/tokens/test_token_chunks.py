from itertools import pairwise

import pytest
from helpers.token_samples import ORDINARY, PATHOLOGICAL, sound_texts, texts
from hypothesis import given

from compactctl.tokens import chunks


@given(text=texts)
def test_chunks_join_to_the_text(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "SHORTEST", 4)
        patch.setattr(chunks, "LONGEST", 16)
        pieces = list(chunks.chunks(text))
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= 16 for piece in pieces) or text == ""


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_no_chunk_is_longer_than_the_longest(name):
    sizes = [len(chunk) for chunk in chunks.chunks(PATHOLOGICAL[name])]
    assert max(sizes) <= chunks.LONGEST
    assert len(sizes) <= len(PATHOLOGICAL[name]) // chunks.SHORTEST


def test_a_text_of_the_longest_length_is_one_chunk():
    lines = "line\n" * chunks.LONGEST
    assert len(list(chunks.chunks(lines[: chunks.LONGEST]))) == 1
    assert len(list(chunks.chunks(lines[: chunks.LONGEST + 1]))) > 1


def test_a_cut_is_made_at_the_first_line_start_past_the_shortest_length():
    lines = "12345678\n" * chunks.LONGEST
    first = next(chunks.chunks(lines))
    assert first.endswith("\n")
    assert chunks.SHORTEST <= len(first) < chunks.SHORTEST + 10


@pytest.mark.parametrize("start", ["/", "\u00a0", "\r", " /"])
def test_no_cut_is_made_before_a_character_that_joins_the_newline(start):
    text = ("x" * 99 + "\n" + start) * 2000
    assert {len(chunk) for chunk in list(chunks.chunks(text))[:-1]} == {chunks.LONGEST}


@given(text=sound_texts)
def test_cuts_at_line_starts_leave_the_count_as_it_is(tiktoken_engine, text):
    seams = [0, *(match.end() for match in chunks._SEAM.finditer(text)), len(text)]
    pieces = [text[start:end] for start, end in pairwise(seams)]
    assert sum(map(tiktoken_engine, pieces)) == tiktoken_engine(text)


def test_lone_surrogates_become_replacement_characters_and_pairs_join():
    assert chunks.without_lone_surrogates("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert chunks.without_lone_surrogates("\ud83d\ude00\ud83d") == "😀\ufffd"


@pytest.mark.parametrize("text", ORDINARY[:11])
def test_text_without_lone_surrogates_stays_the_same_object(text):
    assert chunks.without_lone_surrogates(text) is text
