"""``capture`` writes evidence that makes a state, and what was decided into a trace."""

import json

import pytest
from helpers.shell import USER, lines, records, refused, run, said

TIME = "2026-01-01T00:00:00Z"


def hit(name, rank=1, **more):
    provenance = {
        "source_id": "doc",
        "source_type": "note",
        "title": "Title",
        "captured_at": TIME,
    }
    return {
        "memory_id": name,
        "score": 0.25,
        "rank": rank,
        "provenance": provenance,
        "text": "SECRET",
    } | more


def test_hits_become_evidence_in_their_order(tmp_path):
    state = tmp_path / "state.jsonl"
    trace = tmp_path / "trace.jsonl"
    hits = lines(hit("b", 2), hit("lost", 3, conflict_key="k", selected=False)) + lines(
        hit("a", 1, conflict_key="k")
    )
    done = run("capture", "--query", "why?", "--trace", trace, stdin=b"\n" + hits)
    assert said(done) == "capture: 2 hits of 3 taken\n"
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["memory_id"] for record in found] == ["b", "a"]
    assert [record["source_rank"] for record in found] == [2, 1]
    assert b"SECRET" not in done.stdout
    assert records(trace) == [
        {
            "query": "why?",
            "taken": ["b", "a"],
            "left": ["lost"],
            "conflicts": {"k": {"won": ["a"], "lost": ["lost"]}},
        }
    ]
    state.write_bytes(done.stdout)
    assert run("state", "check", state).returncode == 0
    assert b'memory_id="b"' in run("render", state).stdout


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (b"no JSON\n", "-:3: not a hit"),
        (lines(hit("c", rank=0)), "-:3: compactctl.retrieval_evidence "),
        (lines(USER), "the key memory_id is missing; the key source_id is missing"),
        (lines(hit("a")), "the id is repeated"),
    ],
)
def test_a_hit_that_is_refused_leaves_nothing(tmp_path, more, why):
    trace = tmp_path / "trace.jsonl"
    done = run("capture", "--trace", trace, stdin=lines(hit("a"), hit("b")) + more)
    assert why in refused(done, 1)
    assert not trace.exists()


def test_no_hits_at_all_are_an_error_as_of_any_stage():
    refused(run("capture", stdin=b""), 3)


def test_the_trace_is_never_written_over_the_hits(tmp_path):
    path = tmp_path / "hits.jsonl"
    path.write_bytes(lines(hit("a")))
    refused(run("capture", path, "--trace", path), 2)
    assert path.read_bytes() == lines(hit("a"))
