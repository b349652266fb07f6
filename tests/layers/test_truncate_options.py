"""The options of truncate: batches, recent results, tools, images, lists."""

import msgspec
import pytest
from helpers.builders import COUNTER, call, exchange, result, text, truncate, user, view
from helpers.builders import assistant as says

from compactctl import placeholders
from compactctl.errors import UsageError
from compactctl.model import Block, Image, result_text
from compactctl.rules.check import problems


def log(lines, word="step"):
    return "\n".join(f"{word} {number}: compiled module_{number}.c" for number in range(lines))


PICTURE = Block("image", image=Image("image/png", 12_345, 640, 480))


def batch(*results):
    calls = [call(f"b{at}") for at in range(len(results))]
    answers = [result(f"b{at}", text) for at, text in enumerate(results)]
    return [says(*calls), user(*answers)]


def sizes(messages):
    """Tokens of the texts of each result, by call id."""
    return {
        b.call_id: COUNTER.count(result_text(b))
        for m in messages
        for b in m.blocks
        if b.kind == "result"
    }


def cut(change):
    return [action.call_id for action in change.actions if action.rule == "truncate"]


def run(*messages, **options):
    """Run twice: the second run has nothing to do, and the view stays one that may be sent."""
    once = truncate(view(*messages), **options)
    again = truncate(view(*once.messages), **options)
    assert not again.actions
    assert again.messages == view(*once.messages).messages
    found = problems(once.messages, "anthropic")
    assert not [problem for problem in found if problem.severity == "error"]
    return once


def test_a_batch_budget_takes_from_the_largest_first():
    change = run(user("Go."), *batch(log(300), log(60), log(150)), batch_tokens=3200)
    assert cut(change) == ["b0"]
    assert sum(sizes(change.messages).values()) <= 3200


def test_a_batch_budget_takes_from_more_when_one_is_not_enough():
    change = run(user("Go."), *batch(log(300), log(30), log(200)), batch_tokens=2000)
    assert cut(change) == ["b0", "b2"]
    assert sum(sizes(change.messages).values()) <= 2000


def test_a_batch_within_its_budget_is_left_alone():
    change = run(user("Go."), *batch(log(100), log(90)), batch_tokens=4000)
    assert not change.actions


def test_a_batch_budget_is_for_the_last_batch_only():
    change = run(
        user("Go."), *exchange("old", log(400)), *batch(log(300), log(60)), batch_tokens=2000
    )
    assert cut(change) == ["b0"]


def test_a_batch_budget_never_loosens_the_limit_of_one():
    change = run(user("Go."), *batch(log(300), log(60)), batch_tokens=90_000, max_tokens=1000)
    assert cut(change) == ["b0"]
    assert sizes(change.messages)["b0"] <= 1000


def test_a_batch_budget_takes_nothing_from_a_tool_that_is_kept():
    calls = [call("k", "Grep"), call("b")]
    talk = [user("Go."), says(*calls), user(result("k", log(300)), result("b", log(250)))]
    change = run(*talk, batch_tokens=3000, tool=["Grep=keep"], max_tokens=9000)
    assert cut(change) == ["b"]


def test_a_batch_budget_is_measured_behind_the_images():
    looks = [call("i", "Read"), call("b")]
    answers = user(result("i", "x", *[PICTURE] * 9), result("b", log(300)))
    change = run(user("Go."), says(*looks), answers, batch_tokens=2000, images="drop")
    assert 1800 <= sizes(change.messages)["b"] <= 2000


def test_a_batch_budget_without_results_does_nothing():
    assert not run(user("Go."), says("Done."), batch_tokens=100).actions


def test_a_batch_budget_without_room_for_a_note_is_refused():
    with pytest.raises(UsageError, match="--batch-tokens must be at least"):
        truncate(view(user("Go.")), batch_tokens=5)


def test_recent_results_are_left_as_they_are():
    talk = [user("Go."), *exchange("a", log(200)), *exchange("b", log(200)), says("Done.")]
    assert cut(run(*talk, max_tokens=500)) == ["a", "b"]
    assert cut(run(*talk, max_tokens=500, skip_recent=1)) == ["a"]
    assert cut(run(*talk, max_tokens=500, skip_recent=2)) == []


def test_skipping_more_results_than_there_are_cuts_none():
    talk = [user("Go."), *exchange("a", log(200)), *exchange("b", log(200)), says("Done.")]
    assert cut(run(*talk, max_tokens=500, skip_recent=3)) == []


def ends(tool, policy, name="Bash", keep="auto"):
    talk = [user("Go."), *exchange("a", log(200), tool=name), says("Done.")]
    options = {"tool": [f"{tool}={policy}"]} if tool else {}
    change = run(*talk, max_tokens=500, keep=keep, **options)
    (block,) = change.messages[2].blocks
    text = result_text(block)
    return text.startswith("step 0:"), text.endswith("module_199.c"), bool(change.actions)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("head", (True, False, True)),
        ("tail", (False, True, True)),
        ("both", (True, True, True)),
        ("auto", (True, True, True)),
        ("keep", (True, True, False)),
    ],
)
def test_a_tool_has_a_policy_of_its_own(policy, expected):
    assert ends("Bash", policy) == expected


def test_the_policy_of_another_tool_does_not_count():
    assert ends("Grep", "keep") == (True, True, True)


def test_auto_keeps_both_ends_of_a_shell_and_the_head_of_the_rest():
    assert ends(None, "") == (True, True, True)
    assert ends(None, "", name="Grep") == (True, False, True)
    assert ends(None, "", name="Grep", keep="tail") == (False, True, True)


def test_a_tool_name_may_hold_an_equals_sign():
    assert ends("a=b", "keep", name="a=b") == (True, True, False)


@pytest.mark.parametrize("bad", ["Bash", "Bash=", "=keep", "Bash=middle", ""])
def test_a_bad_policy_is_a_usage_error(bad):
    with pytest.raises(UsageError, match="expected NAME=POLICY"):
        truncate(view(user("Go.")), tool=[bad])


def pictures(*pieces, images):
    talk = [user("Look."), *exchange("a", *pieces, tool="Read"), says("Seen.")]
    change = run(*talk, images=images)
    return change, change.messages[2].blocks[0].content


def test_images_are_kept_by_default():
    change = run(user("Look."), *exchange("a", "shot", PICTURE, tool="Read"), says("Seen."))
    assert not change.actions
    assert change.messages[2].blocks[0].content[1].image == PICTURE.image


def test_a_placeholder_says_type_size_and_dimensions_of_an_image():
    change, (first, second) = pictures("shot", PICTURE, images="placeholder")
    assert first.text == "shot"
    assert second.kind == "text"
    assert second.image is None
    for said in ("image/png", "640×480", "12,345 bytes"):
        assert said in second.text
    assert [action.rule for action in change.actions] == ["image"]


def test_a_placeholder_says_no_more_than_is_known():
    bare = msgspec.structs.replace(PICTURE, image=Image("", 0))
    assert placeholders.of_image(bare).text == "[compactctl: image removed: image]"


def test_dropped_images_leave_the_other_pieces():
    _, pieces = pictures("before", PICTURE, "after", images="drop")
    assert [piece.text for piece in pieces] == ["before", "after"]


@pytest.mark.parametrize("many", [1, 2])
def test_a_result_of_nothing_but_images_is_not_left_empty(many):
    _, pieces = pictures(*[PICTURE] * many, images="drop")
    assert pieces
    assert all(piece.kind == "text" for piece in pieces)


def test_an_image_of_the_user_is_replaced_as_well():
    change = run(user("Look.", PICTURE), says("Seen."), images="placeholder")
    assert "640×480" in change.messages[0].blocks[1].text
    assert [
        b.kind for b in run(user("Look.", PICTURE), says("Seen."), images="drop").messages[0].blocks
    ] == ["text"]


def test_a_message_of_nothing_but_images_stays_and_is_not_told_as_done():
    talk = [user("Look."), says("Where?"), user(PICTURE), says("Seen.")]
    change = run(*talk, images="drop")
    assert change.messages == view(*talk).messages
    assert not change.actions


def test_a_list_is_cut_text_by_text_and_images_stay_in_place():
    talk = [user("Go."), *exchange("a", log(200), PICTURE, "short", log(200, "link")), says("!")]
    change = run(*talk, max_tokens=1000)
    pieces = change.messages[2].blocks[0].content
    assert [piece.kind for piece in pieces] == ["text", "image", "text", "text"]
    assert pieces[1].image == PICTURE.image
    assert pieces[2].text == "short"
    assert placeholders.read_cut(pieces[0].text)
    assert placeholders.read_cut(pieces[3].text)
    assert sum(COUNTER.count(piece.text) for piece in pieces if piece.kind == "text") <= 1000


def test_many_texts_share_one_note_when_there_is_no_room_for_more():
    talk = [user("Go."), *exchange("a", *[log(5)] * 40), says("Done.")]
    change = run(*talk, max_tokens=400)
    pieces = change.messages[2].blocks[0].content
    assert sum(bool(placeholders.read_cut(piece.text)) for piece in pieces) == 1
    assert sizes(change.messages)["a"] <= 400


def test_a_list_within_the_limit_stays_the_same_object():
    given = view(user("Go."), *exchange("a", log(5), PICTURE, log(5)), says(text("Done.")))
    change = truncate(given)
    assert all(new is old for new, old in zip(change.messages, given.messages, strict=True))
