"""What stands in a gap is read back as it was written, and nothing else is taken for it."""

from __future__ import annotations

import pytest
from helpers.builders import COUNTER
from hypothesis import given
from hypothesis import strategies as st

from compactctl import placeholders
from compactctl.placeholders import Cut, Pruned

POINTER = "artifact:s1:abc.txt:0123456789ab"
sizes = st.integers(0, 10**9)


@given(st.text(), st.text(), sizes, st.sampled_from([None, POINTER]), st.booleans())
def test_a_note_of_a_cut_is_read_back(head, tail, original, pointer, failed):
    whole = Cut(head, tail, original, pointer, failed)
    text = placeholders.cut(whole, original // 2)
    assert placeholders.read_cut(text) == whole
    assert placeholders.tells_failure(text) == failed


@given(st.integers(0, 10**6), st.sampled_from([None, POINTER]), st.booleans())
def test_what_was_cleared_tells_whether_its_call_failed(original, pointer, failed):
    text = placeholders.cleared(original, pointer, failed=failed)
    assert placeholders.read_cleared(text)
    assert placeholders.tells_failure(text) == failed
    assert not placeholders.tells_failure(f"It said: {text}")


def test_a_failure_that_somebody_wrote_into_a_note_is_none():
    text = placeholders.cut(Cut("head", "tail", 50), 9)
    assert not placeholders.tells_failure(text.replace(")]", "), the call failed]"))


@given(st.text(), st.text(), sizes)
def test_a_note_whose_surroundings_changed_is_no_note(head, tail, original):
    text = placeholders.cut(Cut(head, tail, original), 0)
    assert placeholders.read_cut(f"{text}more") is None
    assert placeholders.read_cut(f"more\n{text}") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words",
        "[compactctl: 1 of 2 tokens cut (00000000)]",
        "[compactctl: 1 of 2 tokens cut]",
        "[compactctl: , of , tokens cut (00000000)]",
        f"[compactctl: 1 of {'9' * 5000} tokens cut (00000000)]",
        f"[compactctl: 1 of 2 tokens cut (00000000), whole in {POINTER}]",
        "[compactctl: " * 500,
    ],
)
def test_look_alikes_of_a_cut_are_not_trusted(text):
    assert placeholders.read_cut(text) is None


def test_a_look_alike_before_the_note_does_not_hide_it():
    head = "[compactctl: 1 of 2 tokens cut (00000000)]\nwords"
    assert placeholders.read_cut(placeholders.cut(Cut(head, "", 50), 9)).original == 50


names = st.sampled_from(
    [
        placeholders.READ,
        placeholders.MODIFIED,
        placeholders.ASKED,
        placeholders.ANSWERED,
        placeholders.RULES,
        placeholders.FAILED,
        placeholders.BRANCHES,
    ]
)
lists = st.dictionaries(names, st.lists(st.text(min_size=1), min_size=1, max_size=5))


@given(st.integers(1, 10**6), lists, st.dictionaries(names, st.integers(1, 99)))
def test_a_marker_is_read_back(many, said_lists, more):
    said = Pruned(many, said_lists, more, (POINTER,))
    assert placeholders.read_pruned(placeholders.pruned(said)) == said


@pytest.mark.parametrize(
    "path",
    [
        "a, b",
        'x". Files modified: y',
        "a.",
        "and 3 more",
        ". Files modified: z.]",
        "]",
        "\n",
        '"',
        "\ud83d x",
    ],
)
def test_no_path_can_forge_a_marker(path):
    said = Pruned(1, {placeholders.ASKED: [path, "b"]})
    assert placeholders.read_pruned(placeholders.pruned(said)) == said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[compactctl: some earlier messages removed.]",
        "[compactctl: 3 earlier messages removed.] and more",
        "see [compactctl: 3 earlier messages removed.]",
        '[compactctl: 3 earlier messages removed. Files read: "\\q".]',
        '[compactctl: 3 earlier messages removed. Files read: "open.]',
        "[compactctl: 3 earlier messages removed. Files read: a b.]",
        f"[compactctl: 3 earlier messages removed. Files read: {'a, ' * 9000}a.]",
        "[compactctl: 3 earlier messages removed.]",
        "[compactctl: 3 earlier messages removed (00000000).]",
        "[compactctl: , earlier messages removed (00000000).]",
        f"[compactctl: {'9' * 5000} earlier messages removed (00000000).]",
        "[compactctl: 3 earlier messages removed (00000000). Files read: a, and , more.]",
        placeholders.pruned(Pruned(3, {placeholders.READ: ["a"]})).replace("a.", "b."),
        placeholders.pruned(Pruned(3, {placeholders.READ: ["a"]})).replace("3", "4", 1),
    ],
)
def test_look_alikes_of_a_marker_are_not_trusted(text):
    assert placeholders.read_pruned(text) is None


@given(st.integers(1, 10**6), lists)
def test_a_shorter_marker_counts_what_it_leaves_out(many, said_lists):
    said = Pruned(many, said_lists)
    left = placeholders.shorter(said)
    for name, items in said_lists.items():
        assert len(left.items(name)) + left.more.get(name, 0) == len(items)
    assert sum(left.more.values()) == (1 if said_lists else 0)


def test_every_marker_can_be_made_short_enough():
    long = ["/" + "x" * 3000] * 9
    said = Pruned(
        10**6,
        {placeholders.READ: [f"/w/{'d' * 90}/{n}" for n in range(500)], placeholders.RULES: long},
    )
    while COUNTER.count(placeholders.pruned(said)) > 60:
        said = placeholders.shorter(said)
    read_back = placeholders.read_pruned(placeholders.pruned(said))
    assert placeholders.pruned(read_back) == placeholders.pruned(said)


def test_no_list_crowds_out_the_others():
    many = [f"/w/some/folder/{n}.py" for n in range(300)]
    said = Pruned(5, {placeholders.READ: many, placeholders.ASKED: ["mend the lexer, then stop"]})
    while COUNTER.count(placeholders.pruned(said)) > 300:
        said = placeholders.shorter(said)
    assert said.items(placeholders.ASKED)
    assert len(said.items(placeholders.READ)) > 10


@given(st.integers(0, 10**6), st.text(), st.lists(st.text(min_size=1)), st.booleans())
def test_what_was_cleared_is_recognised_with_all_that_stays(original, of, said, failed):
    text = placeholders.cleared(original, POINTER, of=of, said=said, failed=failed)
    assert placeholders.read_cleared(text)
    assert placeholders.tells_failure(text) == failed
    assert not placeholders.read_cleared(f"{text} and more")


@given(st.lists(st.text(), min_size=1, max_size=30))
def test_the_stub_of_a_read_is_recognised(read):
    assert placeholders.is_superseded(placeholders.superseded(read, []))
    assert placeholders.is_superseded(placeholders.superseded(read, ["c1", "c2"]))
    assert not placeholders.is_superseded(f"{placeholders.superseded(read, ['c1'])} and more")
