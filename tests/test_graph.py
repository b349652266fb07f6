"""The graph of entries: where walks end, and what stands where after deletions and insertions."""

from __future__ import annotations

import pytest

from compactctl.graph import NOWHERE, EntryGraph

CHAIN = (["a", "b", "c"], [None, "a", "b"])


def test_a_chain_has_one_top_and_nothing_odd():
    graph = EntryGraph(*CHAIN)
    assert (graph.up, graph.tops) == ([NOWHERE, 0, 1], [0, 0, 0])
    assert graph.is_one
    assert (graph.missing, graph.circles) == ([], [])


def test_a_parent_that_is_not_in_the_file_is_missing_and_ends_the_walk():
    graph = EntryGraph(["a", "b", "c"], [None, "lost", "b"])
    assert (graph.missing, graph.circles, graph.tops) == ([1], [], [0, 1, 1])
    assert not graph.is_one


@pytest.mark.parametrize("parents", [["b", "a", "b"], ["a", "a", "b"]])
def test_a_circle_ends_at_its_first_entry(parents):
    graph = EntryGraph(["a", "b", "c"], parents)
    assert (graph.circles, graph.tops) == ([0], [0, 0, 0])
    assert graph.missing == []
    assert not graph.is_one


def test_two_roots_and_a_child_before_its_parent_are_not_one_chain_and_break_nothing():
    for graph in (EntryGraph(["a", "b"], [None, None]), EntryGraph(["b", "a"], ["a", None])):
        assert not graph.is_one
        assert (graph.missing, graph.circles) == ([], [])


def test_entries_without_an_id_are_no_part_of_it():
    assert EntryGraph(["a", None, "b"], [None, None, "a"]).is_one


def test_of_one_id_the_last_entry_counts_and_the_first_can_be_told():
    graph = EntryGraph(["a", "a", "b"], [None, None, "a"])
    assert graph.up[2] == graph.places["a"] == 1
    assert graph.first_places["a"] == 0


def test_a_walk_ends_at_a_root_at_a_stop_or_where_it_has_been():
    graph = EntryGraph(["a", "b", "c", "x", "y"], [None, "a", "b", "y", "x"])
    assert graph.walk(2) == ({2: None, 1: None, 0: None}, NOWHERE)
    assert graph.walk(2, {0}) == ({2: None, 1: None}, 0)
    assert graph.walk(2, {2}) == ({}, 2)
    assert graph.walk(3) == ({3: None, 4: None}, 3)


def test_nothing_moves_where_nothing_went_or_came():
    graph = EntryGraph(*CHAIN)
    assert not [*graph.uncertain()]
    assert graph.now("b") == ["b"]
    assert graph.between("a", "b") == ["a", "b"]
    assert (graph.first("b"), graph.surviving("b")) == ("b", "b")


def test_children_of_a_deleted_entry_go_to_its_parent_and_references_to_the_child():
    graph = EntryGraph(*CHAIN, deleted={1})
    assert [*graph.uncertain()] == [2]
    assert graph.parent_at(2) == "a"
    graph.inherit(2)
    assert (graph.heir("b"), graph.first("b")) == ("c", "c")
    assert graph.between("a", "c") == ["a", "c"]


def test_a_deleted_entry_that_nothing_follows_is_followed_by_its_ancestor():
    assert EntryGraph(*CHAIN, deleted={1, 2}).heir("c") == "a"


def test_a_new_entry_stands_between_an_entry_and_its_parent():
    graph = EntryGraph(*CHAIN)
    assert graph.parent_for(2, 1) == "b"
    graph.insert(2, "new")
    assert (graph.parent_at(2), graph.parent_at(1)) == ("new", "a")
    assert graph.now("c") == ["new", "c"]


def test_a_circle_that_went_leads_nowhere():
    graph = EntryGraph(["a", "b", "c"], ["b", "a", "b"], deleted={0, 1})
    assert graph.surviving("b") is None


def test_a_deleted_leaf_is_followed_by_what_follows_its_deleted_ancestor():
    graph = EntryGraph(["a", "b", "leaf", "c"], [None, "a", "b", "b"], deleted={1, 2})
    graph.inherit(3)
    assert graph.heir("leaf") == graph.heir("b") == "c"
