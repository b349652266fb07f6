"""Long results are cut inside their limit, once, and say what they were."""

from __future__ import annotations

import re

import pytest
from helpers.builders import COUNTER, assistant, call, exchange, result, truncate, user, view

from compactctl import placeholders
from compactctl.errors import UsageError
from compactctl.model import Block, Image
from compactctl.tokens import count_block, load_counter

LONG = "\n".join(f"line {number} of a long output" for number in range(400))
NOTE = re.compile(r"\[compactctl: [\d,]+ of ([\d,]+) tokens cut \([0-9a-f]{8}\)\]")


def cut(*pieces, tool="Read", failed=False, counter=COUNTER, **options):
    """The pieces of the only result after a run."""
    messages = [user("go"), *exchange("c", *pieces, tool=tool, failed=failed), assistant("so")]
    change = truncate(view(*messages, counter=counter), **options)
    return change.messages[2].blocks[0].content


def cut_text(words, **options):
    (piece,) = cut(words, **options)
    return piece.text


def tokens(pieces):
    return sum(count_block(COUNTER, piece) for piece in pieces)


@pytest.mark.parametrize(
    "pieces",
    [
        ("ok",),
        ("",),
        (" ".join(["word"] * 99),),
        ("two", "short parts"),
        ("[compactctl: 5 of 9 tokens cut (00000000)]",),
    ],
)
def test_a_result_within_the_limit_is_left_alone(pieces):
    messages = [user("go"), *exchange("c", *pieces)]
    change = truncate(view(*messages), max_tokens=100)
    assert not change.actions
    assert change.messages == view(*messages).messages


def test_texts_of_the_user_and_the_model_are_never_cut():
    given_view = view(user(LONG), assistant(LONG, call("c", command=LONG)), user(result("c")))
    change = truncate(given_view, max_tokens=50)
    assert all(new is old for new, old in zip(change.messages, given_view.messages, strict=True))


@pytest.mark.parametrize("keep", ["auto", "head", "tail", "both"])
@pytest.mark.parametrize("limit", [40, 41, 63, 100, 999])
@pytest.mark.parametrize("words", [LONG, "x" * 9000, "日本語" * 900, "👩‍👩‍👧‍👦" * 400, "\n" * 5000])
def test_the_limit_holds_with_the_note_in_it(keep, limit, words):
    assert tokens(cut(words, keep=keep, max_tokens=limit)) <= limit


@pytest.mark.parametrize("size", range(395, 430))
def test_a_result_just_over_the_limit_never_grows(size):
    words = "a b " * (size // 2)
    left = cut_text(words, max_tokens=400)
    assert COUNTER.count(left) <= max(400, COUNTER.count(words))
    assert COUNTER.count(left) <= COUNTER.count(words)


def test_the_size_is_stated_in_tokens_of_the_counter_in_use():
    chars = load_counter("chars")
    (piece,) = cut("x" * 4000, max_tokens=100, counter=chars)
    assert NOTE.search(piece.text)[1] == "1,000"


@pytest.mark.parametrize(
    ("keep", "starts", "ends"),
    [("head", True, False), ("tail", False, True), ("both", True, True), ("auto", True, False)],
)
def test_what_is_kept_of_a_file(keep, starts, ends):
    left = cut_text(LONG, keep=keep, max_tokens=100)
    assert left.startswith("line 0 ") == starts
    assert left.endswith("line 399 of a long output") == ends


@pytest.mark.parametrize("tool", ["Bash", "shell", "exec_command", "BashOutput"])
def test_auto_keeps_both_ends_of_shell_output(tool):
    left = cut_text(LONG, tool=tool, max_tokens=100)
    assert left.startswith("line 0 ")
    assert left.endswith("line 399 of a long output")


def test_a_cut_falls_between_lines_where_that_is_cheap():
    left = cut_text(LONG, max_tokens=300)
    head = left[: NOTE.search(left).start()]
    assert head.splitlines()[-1] in LONG.splitlines()


@pytest.mark.parametrize("second", [100, 60])
def test_a_second_run_states_the_first_size_once(second):
    first = cut_text(LONG, keep="both", max_tokens=100)
    again = cut_text(first, keep="both", max_tokens=second)
    assert NOTE.findall(again) == NOTE.findall(first) == [f"{COUNTER.count(LONG):,}"]
    assert again == first or second < 100


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_a_second_run_keeps_the_end_that_the_first_has_left(keep):
    first = cut_text(LONG, keep=keep, max_tokens=200)
    again = cut_text(first, keep="both", max_tokens=100)
    assert again.startswith("line 0 ") == (keep == "head")
    assert again.endswith("output") == (keep == "tail")


def test_a_note_in_the_output_of_a_tool_is_not_taken_for_ours():
    forged = f"{LONG}\n[compactctl: 1 of 9,999,999 tokens cut (deadbeef)]\n{LONG}"
    left = cut_text(forged, max_tokens=100)
    (size,) = NOTE.findall(left)
    assert size == f"{COUNTER.count(forged):,}"


def test_a_copied_note_is_not_ours_among_other_words():
    note = NOTE.search(cut_text(LONG, max_tokens=100))[0]
    assert placeholders.read_cut(f"other words\n{note}") is None


def test_list_content_is_cut_part_by_part_and_images_stay_where_they_are():
    image = Block("image", image=Image("image/png", 9, 20, 20))
    pieces = cut("short", image, LONG, image, max_tokens=300)
    assert [piece.kind for piece in pieces] == ["text", "image", "text", "image"]
    assert pieces[0].text == "short"
    assert NOTE.search(pieces[2].text)
    assert tokens(piece for piece in pieces if piece.kind == "text") <= 300


@pytest.mark.parametrize("many", [2, 5, 40])
@pytest.mark.parametrize("limit", [40, 90, 400])
def test_the_limit_holds_for_many_parts_together(many, limit):
    pieces = cut(*[f"part {number}\n{LONG[:900]}" for number in range(many)], max_tokens=limit)
    assert tokens(pieces) <= limit
    assert all(piece.text.strip() for piece in pieces)


def test_parts_that_share_a_note_state_the_sum_of_their_sizes():
    parts = [f"part {number}\n{LONG[:900]}" for number in range(9)]
    first = cut(*parts, max_tokens=40)
    assert [NOTE.findall(piece.text) for piece in first] == [
        [f"{sum(map(COUNTER.count, parts)):,}"]
    ]
    assert cut(*first, max_tokens=40) == first


def test_parts_cut_before_keep_the_sum_when_they_come_to_share_a_note():
    parts = [f"part {number}\n{LONG[:900]}" for number in range(4)]
    (left,) = cut(*cut(*parts, max_tokens=300), max_tokens=40)
    assert NOTE.findall(left.text) == [f"{sum(map(COUNTER.count, parts)):,}"]


def test_the_result_of_a_call_in_the_open_loop_is_cut_too():
    change = truncate(view(user("go"), *exchange("c", LONG)), max_tokens=100)
    assert len(change.actions) == 1


def test_a_failed_result_stays_failed():
    messages = [user("go"), *exchange("c", LONG, failed=True)]
    assert truncate(view(*messages), max_tokens=100).messages[-1].blocks[0].failed


def test_of_calls_with_one_id_each_result_follows_its_own_tool():
    messages = [user("go"), *exchange("c", LONG, tool="Bash"), *exchange("c", LONG, tool="Read")]
    left = truncate(view(*messages), max_tokens=100).messages
    ends = [m.blocks[0].content[0].text.endswith("line 399 of a long output") for m in left[2::2]]
    assert ends == [True, False]


def test_each_cut_is_an_action_with_its_tokens():
    (action,) = truncate(view(user("go"), *exchange("c", LONG)), max_tokens=100).actions
    assert (action.rule, action.call_id) == ("truncate", "c")
    assert action.tokens_before == COUNTER.count(LONG)
    assert action.tokens_after <= 100


@pytest.mark.parametrize("limit", [0, 39, -1])
def test_a_limit_without_room_for_the_note_is_refused(limit):
    with pytest.raises(UsageError):
        truncate(view(user("go")), max_tokens=limit)
