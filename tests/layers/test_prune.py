"""Old turns go; the first and the last request, the rules and the newest turns stay."""

from __future__ import annotations

import pytest
from helpers.builders import (
    COUNTER,
    assistant,
    call,
    exchange,
    ids,
    prune,
    read,
    reading,
    result,
    roles,
    system,
    text,
    texts,
    thinking,
    user,
    view,
)

from compactctl import placeholders
from compactctl.model import Block, Image, Message
from compactctl.placeholders import MODIFIED, READ
from compactctl.rules.check import problems
from compactctl.view.pairs import open_loop

RULE = "<system-reminder>\nUse tabs.\n</system-reminder>"


def talk(*names):
    """A turn with a prompt of its own for each name."""
    return [m for name in names for m in (user(f"ask {name}"), assistant(f"say {name}"))]


def pruned(*messages, **options):
    change = prune(view(*messages), **options)
    assert not problems(change.messages, "anthropic")
    return change.messages


def marks(messages):
    return [mark for words in texts(messages) if (mark := placeholders.read_pruned(words))]


@pytest.mark.parametrize(
    ("messages", "keep"),
    [
        ([user("go")], 1),
        ([user("go"), assistant("done")], 1),
        (talk("a", "b"), 2),
        (talk("a", "b"), 6),
        ([user("go"), *reading("c", "x", path="/w/CLAUDE.md"), *talk("b")], 1),
    ],
    ids=["a prompt", "one turn", "as many", "fewer", "only rules"],
)
def test_what_has_no_old_turns_is_left_alone(messages, keep):
    found = view(*messages)
    change = prune(found, keep_turns=keep)
    assert not change.actions
    assert all(new is old for new, old in zip(change.messages, found.messages, strict=True))


def test_the_newest_turns_stay_word_for_word():
    found = view(user("go"), *talk("a", "b", "c"), *exchange("x", "out"))
    left = prune(found, keep_turns=2).messages
    assert [m is old for m, old in zip(left[-3:], found.messages[-3:], strict=True)] == [True] * 3


def test_the_first_request_stays():
    assert texts(pruned(*talk("first", *"abcd"), keep_turns=1))[0] == "ask first"


def test_every_block_of_the_first_request_stays():
    image = Block("image", image=Image("image/png", 9, 20, 20))
    odd = Block("other", type="document")
    left = pruned(user("one", image, odd, "two"), assistant("x"), *talk(*"abc"), keep_turns=1)
    assert [b.kind for b in left[0].blocks][:4] == ["text", "image", "other", "text"]


def test_the_first_request_stays_where_only_a_reminder_comes_before_it():
    left = pruned(user(RULE), assistant("hello"), *talk("first", *"abcd"), keep_turns=1)
    assert "ask first" in texts(left)


def test_a_summary_that_opens_the_view_is_the_first_request():
    summary = Block("text", "what was before", is_summary=True, meta=True)
    left = pruned(user(summary), assistant("x"), *talk("first", *"abcd"), keep_turns=1)
    assert left[0].blocks[0].text == "what was before"
    assert "ask first" not in texts(left)


def test_the_last_request_stays_with_all_its_blocks():
    image = Block("image", image=Image("image/png", 9, 20, 20))
    tools = [m for name in "abcdefgh" for m in exchange(name, "out")]
    left = pruned(*talk("x", "y"), user("look at", image, "this"), *tools, keep_turns=2)
    kept = [b for m in left if m.role == "user" for b in m.blocks]
    assert [b.kind for b in kept if b.text in {"look at", "this"} or b.kind == "image"] == [
        "text",
        "image",
        "text",
    ]


def test_words_of_the_harness_are_no_request():
    harness = [text("a note", meta=True), text("<command-name>/clear</command-name>"), text(RULE)]
    tools = [m for name in "abcd" for m in exchange(name, "out")]
    before = [user("go"), assistant("x"), user("asked"), *tools]
    left = pruned(*before, user(*harness), assistant("y"), *talk_of_tools(3), keep_turns=1)
    assert "asked" in texts(left)


def talk_of_tools(many):
    return [m for number in range(many) for m in exchange(f"t{number}", "out")]


def test_rules_stay_once_in_their_latest_copy():
    turns = [user("go", RULE), assistant("x"), user("on", RULE), assistant("y"), *talk(*"abc")]
    left = pruned(user("first"), assistant("z"), *turns, keep_turns=1)
    assert texts(left).count(RULE) == 1


def test_the_view_goes_on_opening_with_the_user():
    rules = reading("r", "Use tabs.", path="/w/CLAUDE.md")
    for options in ({}, {"no_marker": True}):
        left = pruned(
            user(RULE),
            *rules,
            user("go", RULE),
            *talk_of_tools(3),
            assistant("so"),
            keep_turns=1,
            **options,
        )
        assert left[0].role == "user"


def test_different_rules_all_stay():
    other = RULE.replace("tabs", "spaces")
    turns = [user("on", RULE), assistant("x"), user("on", other), assistant("y"), *talk(*"abc")]
    assert {RULE, other} <= set(texts(pruned(user("go"), assistant("z"), *turns, keep_turns=1)))


def test_a_read_of_standing_rules_stays_as_a_pair():
    rules = reading("r", "Use tabs.", path="/w/CLAUDE.md")
    left = pruned(user("go"), *rules, *talk_of_tools(5), assistant("done"), keep_turns=2)
    assert ids(left) == ids(left, "result") == ["r", "t4"]


def test_a_shell_read_of_standing_rules_stays_and_the_marker_names_shell_reads():
    rules = exchange("r", "Use tabs.", command="cat CLAUDE.md")
    other = exchange("s", "x = 1", command="sed -n 1,80p src/a.py")
    left = pruned(user("go"), *rules, *other, *talk_of_tools(3), assistant("done"), keep_turns=1)
    assert ids(left) == ids(left, "result") == ["r"]
    (mark,) = marks(left)
    assert mark.items(READ) == ["src/a.py"]


def test_of_a_batch_with_rules_only_their_read_stays():
    batch = [
        assistant("look", read("r", "/w/CLAUDE.md"), call("s")),
        user(result("s", "out"), result("r", "Use tabs.")),
    ]
    left = pruned(user("go"), *batch, *talk_of_tools(3), assistant("done"), keep_turns=1)
    assert ids(left) == ids(left, "result") == ["r"]


def test_no_reasoning_stays_without_what_followed_it():
    rules = assistant(thinking("one"), read("r", "/w/CLAUDE.md"), thinking("two"), call("s"))
    batch = [rules, user(result("r", "Use tabs."), result("s", "out"))]
    left = pruned(user("go"), *batch, *talk_of_tools(3), assistant(thinking(), "so"), keep_turns=1)
    kinds = ["".join(block.kind[0] for block in m.blocks) for m in left if m.role == "assistant"]
    assert kinds == ["c", "tt"]


def test_system_messages_stay():
    left = prune(view(system("Be kind."), *talk(*"abcd")), keep_turns=1).messages
    assert left[0].role == "system"


def test_a_prompt_stays_with_the_turn_that_it_opens():
    assert texts(pruned(*talk(*"abcd"), keep_turns=2))[2:] == ["ask c", "say c", "ask d", "say d"]


@pytest.mark.parametrize("keep", range(1, 8))
@pytest.mark.parametrize("tail", [[], [assistant(call("z"))], exchange("z", "out")])
def test_roles_go_on_alternating(keep, tail):
    talks = [*talk("a"), user("b"), *talk_of_tools(2), assistant("so"), *talk("c", "d"), user("e")]
    rules = reading("r", "rule", path="AGENTS.md")
    found = view(*talks, *rules, *talk_of_tools(2)[2:], assistant("f"), user("g"), *tail)
    left = prune(found, keep_turns=keep).messages
    assert "uu" not in roles(left)
    assert "aa" not in roles(left)


def test_the_open_loop_and_the_open_tail_stay():
    open_end = [assistant(thinking(), call("x"), call("y")), user(result("y", "out"))]
    found = view(*talk(*"abcd"), user("go"), *open_end)
    left = prune(found, keep_turns=1).messages
    assert left[open_loop(left) :] == list(found.messages[open_loop(found.messages) :])


def test_what_went_is_said_once_behind_the_first_request():
    left = pruned(*talk(*"abcd"), keep_turns=1)
    (mark,) = marks(left)
    assert placeholders.read_pruned(left[0].blocks[1].text) == mark
    assert mark.messages == 5


def test_the_files_that_went_are_named_from_the_calls_that_succeeded():
    work = [
        *reading("a", "x"),
        *reading("b", "x", path="/w/b.py", failed=True),
        *exchange("c", "ok", tool="Edit", file_path="/w/c.py"),
        *exchange("d", "no", tool="Write", file_path="/w/d.py", failed=True),
        *exchange("e", "ok", tool="apply_patch", patch="*** Begin Patch\n*** Add File: e.py\n"),
        *reading("f", "x", path="./a.py"),
    ]
    (mark,) = marks(pruned(user("go"), *work, *talk("z"), keep_turns=1))
    assert mark.items(READ) == ["a.py", "/w/a.py"]
    assert mark.items(MODIFIED) == ["e.py", "/w/c.py"]


def test_a_second_run_does_nothing_and_a_later_one_takes_the_marker_in():
    first = pruned(user("go"), *reading("a", "x"), *talk(*"bcd"), keep_turns=2)
    assert not prune(view(*first), keep_turns=2).actions
    later = pruned(*first, *reading("e", "x", path="/w/e.py"), *talk("f"), keep_turns=1)
    (mark,) = marks(later)
    assert mark.items(READ) == ["/w/e.py", "/w/a.py"]
    assert mark.messages > marks(first)[0].messages


@pytest.mark.parametrize("many", [10, 300])
def test_the_marker_says_no_more_than_300_tokens(many):
    paths = [f"/w/some/folder/file_{number}.py" for number in range(many)]
    reads = [m for path in paths for m in reading(path, "x", path=path)]
    left = pruned(user("go"), *reads, *talk("z"), keep_turns=1)
    (words,) = [words for words in texts(left) if placeholders.read_pruned(words)]
    mark = placeholders.read_pruned(words)
    assert COUNTER.count(words) <= 300
    assert len(mark.items(READ)) + mark.more.get(READ, 0) == many
    assert mark.items(READ)[0] == paths[-1]


def test_odd_paths_can_not_forge_the_marker():
    odd = ["/w/a, b.py", '/w/". Files modified: x.', "/w/n\nl", "/w/dot.", "and 3 more", "]"]
    reads = [m for n, path in enumerate(odd) for m in reading(f"c{n}", "x", path=path)]
    (mark,) = marks(pruned(user("go"), *reads, *talk("z"), keep_turns=1))
    assert (mark.lists, mark.more) == ({READ: odd[::-1]}, {})


def test_words_of_the_model_that_look_like_a_marker_are_its_words():
    words = placeholders.pruned(placeholders.Pruned(9, {READ: ["/x"]}))
    left = pruned(*talk(*"ab"), user("go"), Message("assistant", (text(words),)), keep_turns=1)
    assert texts(left, "assistant") == [words]


@pytest.mark.parametrize("meta", [False, True])
def test_words_of_a_person_that_look_like_a_marker_stay(meta):
    typed = "[compactctl: 3 earlier messages removed.]"
    ours = text(placeholders.pruned(placeholders.Pruned(9, {READ: ["/x"]})), meta=meta)
    said = [user("go", ours, typed), assistant("x"), *talk(*"ab"), user(typed, "why?")]
    left = pruned(*said, assistant("so"), keep_turns=1)
    assert texts(left).count(typed) == 2
    (mark,) = marks(left)
    assert mark.items(READ) == ["/x"]
    assert mark.messages > 9


def test_a_copy_of_a_marker_that_a_person_sent_stays_where_a_flag_tells():
    words = placeholders.pruned(placeholders.Pruned(9, {READ: ["/x"]}))
    for meta, copies in ((True, 1), (False, 0)):
        said = [user("go", text(words, meta=meta)), *talk("a"), user(words, "why?"), assistant("x")]
        left = pruned(*said, *talk(*"bc"), keep_turns=1)
        assert texts(left).count(words) == copies
        assert max(mark.messages for mark in marks(left)) > 9


def test_a_last_request_of_nothing_but_a_look_alike_stays():
    typed = "[compactctl: 3 earlier messages removed.]"
    left = pruned(*talk(*"ab"), user(typed), *talk_of_tools(5), assistant("so"), keep_turns=1)
    assert typed in texts(left)


def test_a_part_that_went_is_said_too():
    mixed = [assistant("words", read("r", "/w/CLAUDE.md")), user(result("r", "Use tabs."))]
    (mark,) = marks(pruned(user("go"), *mixed, *talk("z"), keep_turns=1))
    assert mark.messages == 1


@pytest.mark.parametrize("head", range(6))
def test_roles_go_on_alternating_where_the_middle_goes_without_a_marker(head):
    found = view(*talk(*"abcdef"), user("g"), *talk_of_tools(4))
    left = prune(found, mode="snip", head=head, max_messages=8, no_marker=True).messages
    assert "uu" not in roles(left)
    assert "aa" not in roles(left)
