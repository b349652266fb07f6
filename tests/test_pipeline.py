"""How layers are run: what must apply, what would grow, what --thinking asks for."""

import sys
from types import ModuleType

import msgspec
import pytest
from helpers.builders import COUNTER, assistant, exchange, lines, load, text, thinking, user

from compactctl import pipeline
from compactctl.layers.base import Action, Change, Context, Layer
from compactctl.model import result_text
from compactctl.view.edits import key

LONGER = "a secret was here, and a sentence that is longer than it stands in its place"
TALK = [user("Go."), *exchange("a", "the key is 1234"), assistant("So.")]


def longer(context: Context) -> Change:
    """Put more words into every result."""
    edits, actions = {}, []
    for found in context.view.answered:
        if LONGER not in result_text(found.result):
            new = msgspec.structs.replace(found.result, content=(text(LONGER),))
            edits[key(found.result)] = new
            actions.append(Action("longer", found.result.entry))
    return Change(edits, None, actions, "made longer")


@pytest.fixture
def layer(monkeypatch):
    """A layer of a name of its own, as a module that was added would be."""

    def add(name, **traits):
        module = ModuleType(f"compactctl.layers.{name}")
        module.LAYER = Layer(longer, "compactctl longer", **traits)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return name

    return add


def run(names, messages=TALK, **how):
    return pipeline.run(load(lines(*messages)), names, {}, COUNTER, **how)


def test_a_change_that_makes_the_view_larger_is_not_taken(layer):
    result = run([layer("longer")])
    assert (result.steps[0].actions, result.steps[0].first_changed) == ((), None)
    assert result.steps[0].note == "skipped: the result would be larger"
    assert result.written().lines() == lines(*TALK)


def test_a_change_that_must_apply_is_taken_though_the_view_grows(layer):
    result = run([layer("redacts", must_apply=True)])
    (step,) = result.steps
    assert step.tokens_after > step.tokens_before
    assert LONGER.encode() in b"".join(result.written().chunks)
    assert b"1234" not in b"".join(result.written().chunks)


def test_a_layer_that_must_apply_runs_below_the_limit_where_others_stop(layer):
    names = [layer("longer"), layer("redacts", must_apply=True)]
    result = run(names, until=10**6)
    assert [step.layer for step in result.steps] == ["redacts"]


def test_dropping_thinking_holds_where_the_change_itself_is_not_taken(layer):
    talk = [*TALK[:-1], assistant(thinking("so it is"), "So."), user("On."), assistant("Yes.")]
    result = run([layer("longer")], talk, mode="drop")
    assert not any(b.kind == "thinking" for m in result.messages for b in m.blocks)
    assert b"the key is 1234" in b"".join(result.written().chunks)
