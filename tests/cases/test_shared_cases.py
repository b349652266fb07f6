"""Small files that broke an earlier version: what a stage makes of them is valid and stays so."""

from pathlib import Path

import pytest
from helpers.builders import COUNTER

from compactctl import pipeline
from compactctl.errors import CompactctlError, UsageError
from compactctl.repair.engine import repair
from compactctl.rules import findings
from compactctl.rules.check import problems
from compactctl.transcript import loading

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not beside this checkout")

CHAIN = ("truncate", "dedup", "prune", "summarize")
STAGES = {
    "thinking-auto-order": ("truncate", {"max_tokens": 100}, "auto"),
    "thinking-drop-order": ("truncate", {}, "drop"),
    "twice-prune": ("prune", {"mode": "snip", "max_messages": 4, "head": 0}, "auto"),
    "vio-pi": ("summarize", {"keep_messages": 1}, "auto"),
    "pi-cyclic": ("summarize", {"keep_messages": 1}, "auto"),
    "pi-duplicate-id-summarize": ("summarize", {"keep_messages": 2}, "auto"),
    "lost-openai": ("prune", {"keep_turns": 1}, "auto"),
    "05-blank-line-of-a-dropped-message-stays": ("prune", {"keep_turns": 2}, "auto"),
    "fork-at-answer": ("prune", {"keep_turns": 1}, "auto"),
    "c04-api-error-fork": ("prune", {"keep_turns": 1}, "auto"),
}


def lines(name):
    return (CASES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


def load(name):
    return loading.load(lines(name), name)


def errors(transcript):
    return {each.rule for each in findings.find(transcript, transcript.format.profile)
            if each.severity == "error"}  # fmt: skip


def run(written, name):
    layer, options, mode = STAGES[name]
    found = loading.load(written, name)
    return pipeline.run(found, (layer,), {layer: options}, COUNTER, mode=mode).written().lines()


@pytest.mark.parametrize("name", STAGES)
def test_what_a_stage_makes_of_it_is_as_valid_and_a_second_run_changes_nothing(name):
    before = errors(load(name))
    once = run(lines(name), name)
    assert errors(loading.load(once, name)) <= before
    assert run(once, name) == once


def test_a_warning_about_parents_does_not_become_an_error_vio_compact_1():
    found = load("vio-compact-1")
    result = pipeline.run(found, CHAIN, {}, COUNTER)
    assert errors(loading.load(result.written().lines(), "x")) <= errors(found)


@pytest.mark.parametrize("name", ["fork-at-answer", "c05-stale-branch"])
def test_a_fork_is_named(name):
    found = load(name)
    assert "FILE-14" in {each.rule for each in findings.find(found, found.format.profile)}


def test_an_answer_off_the_chain_is_named_and_led_back_c04():
    found = load("c04-api-error-fork")
    assert "FILE-20" in {each.rule for each in findings.find(found, found.format.profile)}
    done = repair(lines("c04-api-error-fork"), "x", None)
    again = loading.load(done.lines, "x")
    assert "FILE-20" not in {each.rule for each in findings.find(again, again.format.profile)}


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "snip", "keep_messages": 20},
        {"mode": "clear", "keep_turns": 3},
        {"mode": "drop", "max_messages": 20},
    ],
    ids=str,
)
def test_options_of_another_mode_are_refused_prune_options_ignored(options):
    with pytest.raises(UsageError):
        pipeline.run(load("prune-options-ignored"), ("prune",), {"prune": options}, COUNTER)


def test_a_call_in_a_case_keeps_its_result():
    for path in sorted(CASES.glob("*.jsonl")):
        try:
            found = loading.load(path.read_bytes().splitlines(keepends=True), path.name)
            result = pipeline.run(found, ("truncate", "dedup", "prune"), {}, COUNTER)
        except CompactctlError:  # refused, and nothing else may be raised
            continue
        left = loading.load(result.written().lines(), path.name, found.format.name)
        rules = {p.rule for p in problems(left.messages, "core") if p.rule != "TAIL-01"}
        assert rules <= {p.rule for p in problems(found.messages, "core")}, path.name
