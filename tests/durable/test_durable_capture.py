"""Evidence says why a memory was selected, word for word as the retrieval did, and no more."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactctl.durable.capture import capture_retrieval_evidence, decision
from compactctl.errors import InvalidTranscriptError

TIME = "2025-01-31T12:00:00Z"


def hit(name="m1", **more):
    return {
        "memory_id": name,
        "score": 0.5,
        "rank": 2,
        "provenance": {
            "source_id": "doc",
            "source_type": "note",
            "title": "Title",
            "captured_at": TIME,
        },
        "text": "SECRET",
    } | more


@dataclass(frozen=True)
class Provenance:
    source_id: str = "doc"
    source_type: str = "note"
    title: str = "Title"
    captured_at: str = TIME


@dataclass(frozen=True)
class Recalled:
    memory_id: str = "m1"
    score: float = 0.5
    rank: int = 2
    provenance: Provenance = Provenance()
    text: str = "SECRET"


@dataclass(frozen=True)
class Candidate:
    memory_id: str = "m1"
    score: float = 0.5
    source_rank: int = 2
    conflict_key: str | None = None
    provenance: Provenance = Provenance()


def test_hits_of_every_shape_give_the_same_evidence():
    shapes = [hit(), hit(rank=None, source_rank=2), hit(source_rank=2), Recalled(), Candidate()]
    captured = {capture_retrieval_evidence([shape]) for shape in shapes}
    assert len(captured) == 1
    ((found,),) = captured
    assert (found.memory_id, found.source_title, found.score) == ("m1", "Title", 0.5)
    assert (found.source_rank, found.conflict_key) == (2, None)
    assert "SECRET" not in repr(found)


@given(
    st.lists(
        st.tuples(
            st.text(min_size=1).filter(str.strip),
            st.floats(0, 1),
            st.integers(1, 2**62),
            st.none() | st.text(min_size=1).filter(str.strip),
        ),
        unique_by=lambda row: row[0],
    )
)
def test_order_and_values_are_kept(rows):
    hits = [hit(name, score=score, rank=rank, conflict_key=key) for name, score, rank, key in rows]
    found = capture_retrieval_evidence(hits)
    assert [(e.memory_id, e.score, e.source_rank, e.conflict_key) for e in found] == rows


def test_what_was_not_selected_does_not_come_back():
    hits = [hit("m1", conflict_key="k"), hit("m2", conflict_key="k", selected=False), hit("m3")]
    assert [e.memory_id for e in capture_retrieval_evidence(hits)] == ["m1", "m3"]
    assert decision(hits, "why?") == {
        "query": "why?",
        "taken": ["m1", "m3"],
        "left": ["m2"],
        "conflicts": {"k": {"won": ["m1"], "lost": ["m2"]}},
    }


def test_no_hits_are_no_evidence():
    assert capture_retrieval_evidence([]) == ()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"memory_id": None}, "memory_id is missing"),
        ({"score": 2}, "score"),
        ({"score": True}, "score"),
        ({"rank": None}, "source_rank is missing"),
        ({"rank": 0}, "source_rank"),
        ({"source_rank": 3}, "two ranks"),
        ({"conflict_key": " "}, "conflict_key"),
        ({"provenance": None}, "source_id is missing.*captured_at is missing"),
        ({"provenance": "doc"}, "source_id is missing"),
    ],
)
def test_a_hit_without_its_provenance_is_refused(change, why):
    with pytest.raises(InvalidTranscriptError, match=why):
        capture_retrieval_evidence([hit() | change])


def test_a_memory_is_captured_once():
    with pytest.raises(InvalidTranscriptError, match="repeated"):
        capture_retrieval_evidence([hit(), hit(rank=3)])
