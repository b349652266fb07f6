"""Signed thinking leaves as it came or not at all."""

from __future__ import annotations

import pytest
from helpers.builders import (
    assistant,
    call,
    exchange,
    result,
    roles,
    settle,
    text,
    thinking,
    user,
    view,
)
from msgspec.structs import replace

from compactctl.layers.thinking import left_of
from compactctl.model import Message
from compactctl.view.compare import first_change

SAID = view(
    user("go"),
    assistant(thinking("one"), "a"),
    user("on"),
    assistant(thinking("two"), "b"),
    user("on"),
    assistant(thinking("three"), call("c")),
    user(result("c")),
).messages


def thoughts(messages):
    return [b.text for m in messages for b in m.blocks if b.kind == "thinking"]


def touched(position):
    """The view with one message that is no longer the same object."""
    old = SAID[position]
    return [*SAID[:position], Message(old.role, old.blocks), *SAID[position + 1 :]]


def settled(new, mode="auto"):
    return thoughts(settle(SAID, new, mode))


@pytest.mark.parametrize("mode", ["auto", "keep"])
def test_an_unchanged_view_is_left_alone(mode):
    assert settle(SAID, SAID, mode) is SAID


@pytest.mark.parametrize(
    ("position", "left"),
    [
        (0, ["three"]),
        (1, ["three"]),
        (2, ["one", "three"]),
        (3, ["one", "three"]),
        (4, ["one", "two", "three"]),
        (5, ["one", "two", "three"]),
        (6, ["one", "two", "three"]),
    ],
)
def test_auto_drops_what_stands_behind_a_change_but_for_the_open_loop(position, left):
    assert settled(touched(position)) == left


def test_a_change_inside_the_open_loop_leaves_every_message_once():
    new = settle(SAID, touched(6), "auto")
    assert roles(new) == roles(SAID)


def bound(messages):
    return [
        Message(
            m.role,
            tuple(replace(b, bound=True) if b.kind == "thinking" else b for b in m.blocks),
        )
        for m in messages
    ]


def test_auto_leaves_reasoning_that_its_provider_wants_back():
    assert thoughts(settle(SAID, bound(touched(0)), "auto")) == ["one", "two", "three"]


def test_of_two_providers_in_one_session_each_is_treated_as_its_own():
    new = [*bound(touched(0))[:2], *SAID[2:]]
    assert thoughts(settle(SAID, new, "auto")) == ["one", "three"]


def test_keep_keeps_and_drop_drops_everywhere():
    assert settled(touched(0), "keep") == ["one", "two", "three"]
    assert settled(SAID, "drop") == settled(bound(SAID), "drop") == []


def test_a_message_of_nothing_but_thinking_goes_with_it():
    old = view(user("go"), assistant(thinking()), user("on"), assistant("a")).messages
    new = [Message("user", old[0].blocks), *old[1:]]
    assert roles(settle(old, new, "auto")) == "ua"


def test_what_stands_before_the_change_stays_the_same_object():
    new = settle(SAID, touched(4), "auto")
    assert all(a is b for a, b in zip(new[:4], SAID[:4], strict=True))


def test_the_first_change_is_found_by_identity():
    assert first_change(SAID, SAID) is None
    assert first_change(SAID, list(SAID)) is None
    assert first_change(SAID, touched(3)) == 3
    assert first_change(SAID, SAID[:4]) == 4
    assert first_change(SAID, [*SAID, *exchange("x", "y")]) == 7


THOUGHTS = {
    # blocks (T thinking, others anything): which go by themselves, what is left of all
    "Ta": ("a", ""),
    "Tab": ("a", "Tb"),
    "TaTb": ("a", "Tb"),
    "TTaTb": ("a", "Tb"),
    "aTb": ("b", "a"),
    "aTbcT": ("b", "aTcT"),
    "TaT": ("", "TaT"),
    "T": ("", "T"),
    "TaTbTc": ("ac", "Tb"),
}


@pytest.mark.parametrize(("given", "gone", "left"), [(k, *v) for k, v in THOUGHTS.items()])
def test_thinking_goes_with_the_last_of_what_it_led_to(given, gone, left):
    blocks = [thinking(f"{at}") if name == "T" else text(name) for at, name in enumerate(given)]
    kept = left_of(blocks, [name not in gone for name in given])
    assert "".join("T" if block.kind == "thinking" else block.text for block in kept) == left
