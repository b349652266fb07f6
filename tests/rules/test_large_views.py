"""Checking takes time in proportion to the view: no step looks at all the others."""

from __future__ import annotations

import time

import pytest
from helpers.builders import assistant, call, result, text, thinking, user
from helpers.drawn import other

from compactctl.graph import EntryGraph
from compactctl.model import Message
from compactctl.rules.check import problems
from compactctl.rules.rule import PROFILES

MANY = 20_000
ENOUGH = 30  # seconds on a busy machine; what is quadratic takes many minutes


def views():
    numbers = range(MANY)
    calls, results = [call(f"t{n}") for n in numbers], [result(f"t{n}") for n in numbers]
    same = [call("t")] * MANY, [result("t")] * MANY
    turns = [m for c, r in zip(calls, results, strict=True) for m in (assistant(c), user(r))]
    yield "turns", [user("u"), *turns]
    yield "turns of one id", [user("u"), *[assistant(call("t")), user(result("t"))] * MANY]
    yield "one batch", [Message("assistant", tuple(calls)), Message("user", tuple(results))]
    yield "one batch of one id", [Message("assistant", tuple(same[0])), Message("user", same[1])]
    yield "calls without results", [assistant(c) for c in calls]
    yield "results without calls", [user(r) for r in results]
    yield (
        "results before calls",
        [Message("user", (*results, *same[1])), assistant(*calls, *same[0])],
    )
    yield "results after all", [Message("assistant", tuple(calls)), user("u"), *map(user, results)]
    yield "one message", [Message("user", (text("x"),) * MANY)]
    yield "thoughts", [user("u"), *[assistant(thinking())] * MANY]
    served = [other("server_tool_use", f"s{n}") for n in numbers]
    yield "server calls", [m for s in served for m in (assistant(s), user("u"))]
    yield "open server calls", [assistant(s) for s in served]


@pytest.fixture(scope="module")
def every_view():
    return [view for _, view in views()]


@pytest.mark.parametrize("profile", PROFILES)
def test_time_is_in_proportion_to_the_view(profile, every_view):
    start = time.process_time()
    for view in every_view:
        problems(view, profile, sendable=True)
    assert time.process_time() - start < ENOUGH


def test_time_is_in_proportion_to_the_chain():
    ids = [f"e{n}" for n in range(200_000)]
    start = time.process_time()
    for parents in (
        [None, *ids[:-1]],
        [*ids[1:], None],  # every child before its parent
        [*ids[1:], ids[0]],  # one circle
        [*ids[:2] * 100_000],
        ["missing"] * 200_000,
        [ids[-1]] * 200_000,
    ):
        graph = EntryGraph(ids, parents)
        assert len(graph.tops) == len(ids)
        assert not (graph.is_one and graph.circles)
    assert time.process_time() - start < ENOUGH
