import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactctl.model import Block, Image, Message
from compactctl.tokens import count_block, count_message, count_view, load_counter
from compactctl.tokens.cost import UNKNOWN_TOKENS, image_tokens

PHOTO = Image("image/png", 2_500_000, 1920, 1080)
TEXT, THINKING = Block("text", "some words"), Block("thinking", "some thoughts, hidden")
CALL = Block("call", '{"path":"a.py"}', call_id="c1", tool="Read")
OTHER = Block("other", '{"type":"document"}')


def tokens(text):
    return load_counter().count(text)


def count(block):
    return count_block(load_counter(), block)


@pytest.mark.parametrize("block", [TEXT, THINKING, OTHER, Block("text")])
def test_text_thinking_and_other_blocks_cost_their_text(block):
    assert count(block) == tokens(block.text)


def test_a_call_costs_its_name_and_its_arguments_and_not_its_id():
    assert count(CALL) == tokens("Read") + tokens('{"path":"a.py"}')


@pytest.mark.parametrize(
    "spelling",
    [
        '{"path": "é/a.py", "n": [1, 2]}',
        '{"path":"\\u00e9\\/a.py","n":[1,2]}',
        ' {\n  "path" : "é/a.py",\n  "n" : [ 1, 2 ]\n}\n',
    ],
)
def test_the_spelling_of_arguments_does_not_matter(spelling):
    plain = Block("call", '{"path":"é/a.py","n":[1,2]}', tool="Read")
    assert count(Block("call", spelling, tool="Read")) == count(plain)


@pytest.mark.parametrize(
    "text",
    ["", "*** Begin Patch", '{"a":', '{"a":NaN}', '{"a":"\\ud800"}', '"\ud800"', "[" * 9999],
)
def test_arguments_that_are_not_json_cost_their_text(text):
    assert count(Block("call", text)) == tokens(text)


@given(value=st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none()))
def test_arguments_cost_the_same_however_json_writes_them(value):
    written = {
        count(Block("call", json.dumps(value, indent=indent, ensure_ascii=ascii_only)))
        for indent in (None, 2)
        for ascii_only in (True, False)
    }
    assert len(written) == 1


def test_an_image_costs_by_its_dimensions_and_not_by_its_bytes():
    assert count(Block("image", image=PHOTO)) == image_tokens(PHOTO) < 5000
    assert count(Block("image")) == UNKNOWN_TOKENS


def test_a_result_costs_the_sum_of_its_parts():
    parts = (TEXT, Block("image", image=PHOTO), OTHER)
    assert count(Block("result", call_id="c1", content=parts)) == sum(map(count, parts))
    assert count(Block("result", call_id="c1")) == 0


def test_messages_and_views_cost_the_sum_without_a_frame():
    messages = [
        Message("user", (TEXT,)),
        Message("assistant", (THINKING, CALL)),
        Message("user", ()),
    ]
    counter = load_counter()
    assert count_message(counter, messages[1]) == count(THINKING) + count(CALL)
    assert count_message(counter, messages[2]) == 0
    assert count_view(counter, messages) == sum(count(block) for block in (TEXT, THINKING, CALL))
    assert count_view(counter, []) == 0
