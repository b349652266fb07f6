"""Real sessions: what holds for made-up transcripts holds for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.builders import COUNTER, changed, rewrite, said, write

from compactctl import layers, pipeline
from compactctl.errors import InputError, InvalidTranscriptError
from compactctl.files.reading import read_lines
from compactctl.rules.check import breaks_pairs, problems
from compactctl.transcript import loading

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
FILES = sorted(CORPUS.glob("*/*.jsonl"))
CHAIN = layers.DEFAULT
SMALL = {
    "truncate": {"max_tokens": 500},
    "prune": {"keep_turns": 3},
    "summarize": {"summarizer": "template", "max_summary_tokens": 500},
}

pytestmark = pytest.mark.skipif(not FILES, reason="the corpus is not beside this checkout")


@pytest.fixture(params=FILES, ids=lambda path: f"{path.parent.name}-{path.stem[-40:]}")
def session(request):
    try:
        return loading.load(read_lines(str(request.param)), request.param.name)
    except InputError as error:
        pytest.skip(f"no transcript: {error.what}")


def broken(found):
    every = problems(found.messages, found.format.profile, transcript=found)
    return [problem for problem in every if breaks_pairs(problem)]


def test_a_session_of_a_known_format_has_a_view(session):
    assert session.messages


def test_an_untouched_session_leaves_byte_for_byte(session):
    written = rewrite(session, list(session.messages))
    assert written.chunks == [entry.raw for entry in session.entries]


@pytest.mark.parametrize("layer", layers.ORDER)
def test_what_a_layer_makes_of_a_session_reads_back(session, layer):
    if not broken(session):
        messages, mark = changed(session, layer, SMALL.get(layer, {}))
        assert said(write(session, messages, mark)[1].messages) == said(messages)


@pytest.mark.parametrize("names", [*((name,) for name in layers.ORDER), CHAIN], ids="-".join)
def test_layers_keep_a_session_valid_and_are_done_after_one_run(session, names):
    if broken(session):
        with pytest.raises(InvalidTranscriptError):
            pipeline.run(session, names, SMALL, COUNTER)
        return
    once = pipeline.run(session, names, SMALL, COUNTER)
    lines = once.written().lines()
    again = loading.load(lines, session.name)
    assert again.format is session.format
    assert [said([message]) for message in again.messages] == [
        said([message]) for message in once.messages
    ]
    assert not broken(again)
    assert sum(step.tokens_after - step.tokens_before for step in once.steps) <= 0
    twice = pipeline.run(again, names[-1:], SMALL, COUNTER)
    assert twice.written().lines() == lines
