"""The strict check refuses each thing that a provider refuses, and takes all else."""

import copy

import pytest
import strict_request


def text(said):
    return {"type": "text", "text": said}


def use(name):
    return {"type": "tool_use", "id": name, "name": "Read", "input": {}}


def result(name, content="x"):
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def call(name):
    return {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}


def output(name):
    return {"type": "function_call_output", "call_id": name, "output": "x"}


def said(role, words):
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": words}]}


THOUGHT = {"type": "thinking", "thinking": "t", "signature": "s"}
GOOD = [
    {"role": "user", "content": "look"},
    {"role": "assistant", "content": [THOUGHT, text("both"), use("a"), use("b")]},
    {"role": "user", "content": [result("b"), result("a", [text("x")]), text("and then?")]},
    {"role": "assistant", "content": "done"},
    {"role": "user", "content": "go on"},
]
REASONING = {"type": "reasoning", "summary": [], "encrypted_content": "e"}
ITEMS = [
    said("developer", "rules"),
    said("user", "look"),
    REASONING,
    said("assistant", "both"),
    call("a"),
    call("b"),
    output("b"),
    output("a"),
    said("user", "go on"),
]


def messages(*changes):
    new = copy.deepcopy(GOOD)
    for at, content in changes:
        new[at]["content"] = content
    return strict_request.problems({"messages": new})


def items(without=(), **more):
    kept = [item for at, item in enumerate(ITEMS) if at not in without]
    for name, item in more.items():
        kept.insert(int(name.removeprefix("at")), item)
    return strict_request.problems({"input": kept})


def test_a_good_request_of_either_api_is_taken():
    assert messages() == []
    assert items() == []


def test_neighbours_of_one_role_are_one_message():
    parted = [
        GOOD[0],
        {"role": "assistant", "content": [use("a")]},
        {"role": "assistant", "content": [text("and"), use("b")]},
        {"role": "user", "content": [result("a")]},
        {"role": "system", "content": "by the way"},
        {"role": "user", "content": [result("b"), text("go on")]},
    ]
    assert strict_request.problems({"messages": parted}) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ((2, [result("a")]), "nothing answers b"),
        ((2, [result("a"), result("b"), result("b")]), "2 results answer b"),
        (
            (2, [result("a"), result("b"), result("c")]),
            "the result c answers no call of the message before it",
        ),
        ((2, [text("hm"), result("a"), result("b")]), "a result stands behind other blocks"),
        ((3, [use("a")]), "2 calls have the id a"),
        ((4, [use("c")]), "the user calls c"),
        ((3, " "), "a text is blank"),
        ((2, [result("a", [text("")]), result("b")]), "a text is blank"),
        ((3, [text("x"), THOUGHT]), "a message of the assistant ends with thinking"),
        ((3, [THOUGHT | {"signature": ""}, text("x")]), "a thinking block has no signature"),
        ((3, [result("a"), text("x")]), "a result stands in a message of the assistant"),
        ((3, [use("a b")]), "the id 'a b' is not one that the provider takes"),
    ],
)
def test_each_fault_of_messages_is_found(change, found):
    assert found in messages(change)


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        (slice(1, None), "the first message is not the user's"),
        (slice(0, 4), "the last message is not the user's"),
        (slice(0, 2), "nothing answers a"),
    ],
)
def test_each_fault_of_their_order_is_found(kept, found):
    assert found in strict_request.problems({"messages": GOOD[kept]})


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"without": (7,)}, "nothing answers a"),
        ({"without": (4,)}, "the output a answers no call in front of it"),
        ({"at8": output("a")}, "the output a answers no call in front of it"),
        ({"at4": output("b")}, "the output b answers no call in front of it"),
        ({"at8": call("a"), "at9": output("a")}, "2 calls have the id a"),
        ({"at8": REASONING}, "nothing of the assistant follows a reasoning item"),
        ({"without": (8,), "at8": said("assistant", "no")}, "the last item is not the user's"),
        ({"at1": said("user", "")}, "a text is blank"),
        ({"at1": said("user", "") | {"content": []}}, "a message is empty"),
        (
            {"without": (7,), "at7": output("a") | {"type": "custom_tool_call_output"}},
            "the output a answers no call in front of it",
        ),
    ],
)
def test_each_fault_of_items_is_found(change, found):
    assert found in items(**change)


def test_an_empty_request_is_refused():
    assert strict_request.problems({"messages": []})
    assert strict_request.problems({"input": []})
