"""A valid view with one thing broken in it breaks that one rule and no other."""

from __future__ import annotations

import msgspec
import pytest
from helpers.builders import call, result, text, thinking
from helpers.drawn import PNG, Draft, drafts, frozen, image, of_id, other, places, rename
from hypothesis import given, settings
from hypothesis import strategies as st

from compactctl.model import BARE, Block, Message
from compactctl.rules import RULES
from compactctl.rules.check import breaks_pairs, pair_problems, problems
from compactctl.rules.rule import PROFILES

ANTHROPIC = ("anthropic", "gateway")
OPENAI = ("openai-chat", "openai-responses")
ALL = PROFILES
PROVIDERS = (*ANTHROPIC, *OPENAI)
MUTATIONS = {}


def breaks(rule, *profiles, sendable=False):
    """Mark a function that breaks ``rule`` in drafts, for views of these profiles."""

    def register(mutate):
        MUTATIONS[mutate.__name__] = (rule, profiles, sendable, mutate)
        return mutate

    return register


def one_call(draw, said):
    """Draw a call: its id."""
    draft, at = draw(st.sampled_from(places(said, "call")))
    return draft.blocks[at].call_id


def early_call(draw, said):
    """Draw a call of a turn that another one follows."""
    draft, at = draw(st.sampled_from(places(said, "call", within=slice(0, -2))))
    return draft.blocks[at].call_id


def without_thinking(said):
    for draft in said:
        draft.blocks = [block for block in draft.blocks if block.kind != "thinking"]


def take(said, kind, call_id):
    draft, at = of_id(said, kind, call_id)
    return draft.blocks.pop(at)


@breaks("ID-01", *ALL)
def no_id(draw, said):
    rename(said, one_call(draw, said), draw(st.sampled_from((None, "", " ", "\t\n"))))


@breaks("ID-02", *ANTHROPIC)
def an_id_of_odd_characters(draw, said):
    odd = draw(st.sampled_from(("functions.x:0", "call_1|fc_2", "a b", "é", "id\n")))
    rename(said, one_call(draw, said), odd)


@breaks("ID-03", "openai-chat")
def an_id_of_41_characters(draw, said):
    rename(said, one_call(draw, said), "c" * 41)


@breaks("ID-04", "openai-responses")
def an_id_of_65_characters(draw, said):
    rename(said, one_call(draw, said), "c" * 65)


@breaks("ROLE-01", *ALL)
def a_call_of_the_user(draw, said):
    call_id = one_call(draw, said)
    draft, _ = of_id(said, "call", call_id)
    said[said.index(draft) - 1].blocks.append(take(said, "call", call_id))


@breaks("ROLE-02", *ALL)
def a_result_of_the_assistant(draw, said):
    call_id = one_call(draw, said)
    of_id(said, "call", call_id)[0].blocks.append(take(said, "result", call_id))


@breaks("ARGS-01", *PROVIDERS)
def arguments_that_are_no_object(draw, said):
    draft, at = draw(st.sampled_from(places(said, "call")))
    odd = draw(st.sampled_from(("{", "[1]", "5", '"text"', "null", "{'a': 1}", "[" * 5000)))
    draft.blocks[at] = msgspec.structs.replace(draft.blocks[at], text=odd)


@breaks("PAIR-01", *ALL)
def a_call_in_the_middle_without_a_result(draw, said):
    take(said, "result", early_call(draw, said))


@breaks("TAIL-01", *ALL)
def a_call_at_the_end_without_a_result(draw, said):
    without_thinking(said)
    del said[-1].blocks[draw(st.integers(0, len(said[-1].blocks) - 2)) :]


@breaks("PAIR-02", *ALL)
def a_result_of_no_call(draw, said):
    draft, at = draw(st.sampled_from(places(said, "result")))
    draft.blocks.insert(at, result("toolu_unknown"))


@breaks("PAIR-03", *ALL)
def a_call_twice_in_one_answer(draw, said):
    draft, at = draw(st.sampled_from(places(said, "call")))
    draft.blocks.insert(draw(st.integers(at, len(draft.blocks))), draft.blocks[at])


@breaks("PAIR-03", "core", "anthropic", "gateway", "openai-responses")
def the_id_of_an_earlier_turn_again(draw, said):
    later = said[-2].blocks[-1].call_id
    rename(said, later, early_call(draw, said))


@breaks("PAIR-07", "openai-chat")
def the_id_of_a_closed_turn_again(draw, said):
    the_id_of_an_earlier_turn_again(draw, said)


@breaks("PAIR-04", *ALL)
def a_second_result(draw, said):
    draft, at = draw(st.sampled_from(places(said, "result")))
    draft.blocks.insert(at, result(draft.blocks[at].call_id, "another"))


@breaks("PAIR-05", *ALL)
def a_result_before_its_call(draw, said):
    call_id = one_call(draw, said)
    before = said[said.index(of_id(said, "call", call_id)[0]) - 1]
    first = len(places([before], "result"))
    before.blocks.insert(first, take(said, "result", call_id))


@breaks("PAIR-06", *ANTHROPIC, "openai-chat")
def a_text_before_a_result(draw, said):
    draft, at = draw(st.sampled_from(places(said, "result")))
    draft.blocks.insert(0, draft.blocks.pop(at))
    last = len(places([draft], "result")) - 1
    draft.blocks.insert(last, text("By the way:"))


@breaks("PAIR-06", *ANTHROPIC, "openai-chat")
def a_result_in_a_later_turn(draw, said):
    moved = take(said, "result", early_call(draw, said))
    said[-1].blocks.insert(0, moved)


@breaks("PAIR-06", "openai-chat")
def an_answer_between_a_call_and_its_result(draw, said):
    at = draw(st.sampled_from([at for at, d in enumerate(said) if d.role == "assistant"]))
    said.insert(at + 1, Draft("assistant", "Still at it."))


@breaks("ORDER-01", *ANTHROPIC)
def an_answer_first(draw, said):
    if draw(st.booleans()):
        said[0] = Draft("system", "Be kind.")
    else:
        del said[0]


@breaks("ORDER-02", *ANTHROPIC)
def a_system_message_behind_an_answer(draw, said):
    at = draw(st.sampled_from([at for at, d in enumerate(said) if d.role == "assistant"]))
    said.insert(at + 1, Draft("system", "Be kind."))


@breaks("TEXT-01", *ANTHROPIC)
def an_empty_text(draw, said):
    draft = draw(st.sampled_from(said))
    at = len(draft.blocks) if draft.role == "user" else 0
    draft.blocks.insert(at, text(""))


@breaks("TEXT-01", *ANTHROPIC)
def an_empty_text_among_the_parts_of_a_result(draw, said):
    draft, at = draw(st.sampled_from(places(said, "result")))
    old = draft.blocks[at]
    draft.blocks[at] = msgspec.structs.replace(old, content=(text("x"), text("")))


@breaks("TEXT-02", *ANTHROPIC)
def a_blank_text(draw, said):
    draft = draw(st.sampled_from(said))
    at = len(draft.blocks) if draft.role == "user" else 0
    draft.blocks.insert(at, text(draw(st.sampled_from((" ", "\n\n", "\t \r\n")))))


@breaks("PART-01", *ANTHROPIC)
def a_bare_string_among_the_blocks(draw, said):
    draft = draw(st.sampled_from(said))
    at = len(draft.blocks) if draft.role == "user" else 0
    draft.blocks.insert(at, text("words", type=BARE))


@breaks("PART-01", *ANTHROPIC)
def a_bare_string_among_the_parts_of_a_result(draw, said):
    draft, at = draw(st.sampled_from(places(said, "result")))
    pieces = (text("x"), text("words", type=BARE))
    draft.blocks[at] = msgspec.structs.replace(draft.blocks[at], content=pieces)


@breaks("RESULT-01", *ANTHROPIC)
def an_image_in_a_failed_result(draw, said):
    draft, at = draw(st.sampled_from(places(said, "result")))
    pieces = (text("Error"), draw(st.sampled_from((PNG, other("tool_reference")))))
    old = draft.blocks[at]
    draft.blocks[at] = msgspec.structs.replace(old, content=pieces, failed=True)


def show(draw, said, shown):
    """Put an image behind the user's words, or into a result."""
    if draw(st.booleans()):
        draw(st.sampled_from([d for d in said if d.role == "user"])).blocks.append(shown)
        return
    draft, at = draw(st.sampled_from(places(said, "result")))
    old = draft.blocks[at]
    draft.blocks[at] = msgspec.structs.replace(old, content=(text("seen"), shown))


@breaks("IMG-01", *ANTHROPIC)
def an_image_of_another_type(draw, said):
    odd = draw(st.sampled_from(("image/svg+xml", "image/jpg", "application/pdf", "")))
    show(draw, said, image(odd))


@breaks("IMG-03", *ANTHROPIC)
def an_image_over_5_megabytes_of_base64(draw, said):
    show(draw, said, image(size=5 * 1024 * 1024 * 3 // 4 + draw(st.integers(1, 10**7))))


@breaks("IMG-04", *ANTHROPIC)
def a_wide_image_among_more_than_20(draw, said):
    show(draw, said, image(width=draw(st.integers(2001, 8000))))
    said[0].blocks += [PNG] * 20


@breaks("IMG-05", *ANTHROPIC)
def an_image_of_more_than_8000_pixels(draw, said):
    show(draw, said, image(height=draw(st.integers(8001, 10**6))))


@breaks("IMG-06", *ANTHROPIC)
def more_than_600_images(_draw, said):
    said[0].blocks += [PNG] * 601


@breaks("SIZE-01", *ANTHROPIC, sendable=True)
def more_than_32_megabytes(_draw, said):
    said[0].blocks += [image(size=3_000_000)] * 9


@breaks("THINK-01", *ANTHROPIC)
def an_open_loop_without_thinking(_draw, said):
    without_thinking(said)
    for draft in said:
        if draft.role == "assistant" and draft is not said[-2]:
            draft.blocks.insert(0, thinking())
    del said[-1].blocks[-1:]


@breaks("THINK-02", *ANTHROPIC)
def thinking_at_the_end(_draw, said):
    said.append(Draft("assistant", "Well.", thinking()))


@breaks("THINK-03", "openai-responses")
def reasoning_without_its_item(draw, said):
    draft = draw(st.sampled_from([d for d in said if d.role == "assistant"]))
    draft.blocks.append(thinking())


@breaks("THINK-04", "openai-chat")
def one_call_without_reasoning(draw, said):
    without_thinking(said)
    for turn in range(6):
        said.append(Draft("assistant", "Well.", call(f"more_{turn}")))
        said.append(Draft("user", result(f"more_{turn}"), "Go on."))
    answers = [draft for draft in said if draft.role == "assistant"]
    bare = draw(st.sampled_from(answers))
    for draft in answers:
        draft.blocks[:0] = [thinking()] * (draft is not bare)


@breaks("ITEM-01", "openai-responses")
def a_summary_that_only_the_provider_can_read(_draw, said):
    said.insert(0, Draft("system", Block("other", type="compaction", bound=True)))


SERVED = ("server_tool_use", "web_search_tool_result"), ("mcp_tool_use", "mcp_tool_result")


@breaks("SERVER-01", *ANTHROPIC)
def a_server_call_that_the_user_cut_short(draw, said):
    draft = draw(st.sampled_from([d for d in said if d.role == "assistant"]))
    draft.blocks.insert(1, other(draw(st.sampled_from(SERVED))[0], "srvtoolu_1"))


@breaks("SERVER-02", *ANTHROPIC)
def a_server_result_without_a_call(draw, said):
    draft = draw(st.sampled_from([d for d in said if d.role == "assistant"]))
    asked, answered = draw(st.sampled_from(SERVED))
    draft.blocks.insert(1, other(answered, "srvtoolu_1"))
    if draw(st.booleans()):  # too late
        draft.blocks.insert(2, other(asked, "srvtoolu_1"))
        draft.blocks.insert(3, other(answered, "srvtoolu_1"))


@breaks("END-02", *ANTHROPIC, sendable=True)
def an_answer_at_the_end(_draw, said):
    said.append(Draft("assistant", "The answer is"))


@breaks("GATE-01", "gateway")
def two_answers_side_by_side(_draw, said):
    said += [Draft("assistant", "One."), Draft("assistant", "Two."), Draft("user", "Thanks.")]


@breaks("GATE-03", "gateway")
def a_text_behind_a_call(draw, said):
    draft = draw(st.sampled_from([d for d in said if d.role == "assistant"]))
    draft.blocks.append(text("Wait for it."))


@breaks("GATE-04", "gateway")
def an_answer_that_ends_on_thinking(_draw, said):
    said += [Draft("assistant", "Well.", thinking()), Draft("user", "Well?")]


@breaks("GATE-05", "gateway")
def an_answer_without_a_word(_draw, said):
    said += [Draft("assistant", ""), Draft("user", "Well?")]


def rules_of(said, profile, *, sendable=False):
    return {problem.rule for problem in problems(frozen(said), profile, sendable=sendable)}


@pytest.mark.parametrize(
    ("name", "profile"),
    [(name, profile) for name, (_, bound, *_) in MUTATIONS.items() for profile in bound],
)
@given(data=st.data())
def test_a_broken_view_breaks_one_rule(name, profile, data):
    rule, _, sendable, mutate = MUTATIONS[name]
    said = data.draw(drafts())
    mutate(data.draw, said)
    assert rules_of(said, profile, sendable=sendable) == {rule}


@pytest.mark.parametrize("profile", PROFILES)
@given(said=drafts(fewest=0))
def test_what_is_broken_was_whole(profile, said):
    assert rules_of(said, profile, sendable=True) == set()


@pytest.mark.parametrize("name", MUTATIONS)
@settings(max_examples=10)
@given(data=st.data())
def test_core_knows_no_rule_but_its_own(name, data):
    said = data.draw(drafts())
    MUTATIONS[name][3](data.draw, said)
    core = {rule.id for rule in RULES if "core" in rule.profiles}
    assert rules_of(said, "core", sendable=True) <= core


def test_every_rule_of_a_view_has_a_mutation():
    tried = {rule for rule, *_ in MUTATIONS.values()}
    # Some show in lines alone (test_findings.py); END-01 comes with END-02.
    assert tried == {rule.id for rule in RULES} - {
        "PAIR-08",
        "PAIR-09",
        "ITEM-02",
        "GATE-02",
        "IMG-02",
        "END-01",
        "SERVER-03",
    }


def test_core_is_exactly_its_six_sentences():
    assert {rule.id for rule in RULES if "core" in rule.profiles} == {
        *("ID-01", "ROLE-01", "ROLE-02"),
        *("PAIR-01", "PAIR-02", "PAIR-03", "PAIR-04", "PAIR-05", "TAIL-01"),
    }


@pytest.mark.parametrize("name", MUTATIONS)
@settings(max_examples=10)
@given(data=st.data())
def test_what_layers_refuse_is_found_by_the_quick_look_too(name, data):
    said = data.draw(drafts())
    MUTATIONS[name][3](data.draw, said)
    for profile in PROFILES:
        every = filter(breaks_pairs, problems(frozen(said), profile))
        assert list(filter(breaks_pairs, pair_problems(frozen(said), profile))) == list(every)


def test_a_problem_tells_its_place_and_call():
    said = [Draft("user", "u"), Draft("assistant", "a", call("toolu_1")), Draft("user", "stop")]
    (problem,) = problems(frozen(said), "anthropic")
    assert (problem.rule, problem.call_id) == ("PAIR-01", "toolu_1")
    assert (problem.place.message, problem.place.block) == (1, 1)


def test_problems_come_in_the_order_of_the_view():
    said = [
        Draft("user", "u", text("")),
        Draft("assistant", call("a.b"), text(" ")),
        Draft("user", result("a.b", PNG, failed=True), text("")),
    ]
    found = problems(frozen(said), "anthropic")
    assert [p.rule for p in found] == ["TEXT-01", "ID-02", "TEXT-02", "RESULT-01", "TEXT-01"]


@pytest.mark.parametrize("profile", PROFILES)
def test_an_empty_view_breaks_no_rule(profile):
    assert problems([], profile, sendable=True) == []
    empty = [Message("user", ()), Message("assistant", ())]
    assert problems(empty, profile) == []


def test_a_block_that_says_nothing_is_judged_all_the_same():
    bare = [Message("user", (Block("call"), Block("result"), Block("image"), Block("other")))]
    for profile in PROFILES:
        assert "ID-01" in {found.rule for found in problems(bare, profile, sendable=True)}
