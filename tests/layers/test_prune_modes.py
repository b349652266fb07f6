"""prune: snip and clear, what to keep, markers, the open todo list."""

import msgspec
import pytest
from helpers.builders import assistant as says
from helpers.builders import (
    call,
    exchange,
    ids,
    prune,
    read,
    reading,
    result,
    roles,
    text,
    texts,
    truncate,
    user,
    view,
)

from compactctl import placeholders
from compactctl.durable.artifacts import ArtifactStore
from compactctl.durable.resolver import SourcePointerResolver
from compactctl.errors import UsageError
from compactctl.model import Block, Image, result_text
from compactctl.rules.check import problems

LONG = "The build went through without a warning that anyone would read. " * 8


def talk(many, answer=LONG):
    """A request, and so many calls with their results."""
    found = [user("Mend the build.")]
    for number in range(many):
        found += exchange(f"c{number}", answer, command=f"make step{number}")
    return [*found, says("Done.")]


def with_store(given, root, session="s1"):
    store = ArtifactStore(str(root), session)
    return msgspec.structs.replace(
        given, store=store.put, archive=lambda: store.put_bytes(b"the whole transcript")
    )


def run(messages, root=None, **options):
    """Run twice: the second run has nothing to do, and the view stays one that may be sent."""

    def once(given):
        return prune(with_store(given, root) if root else given, **options)

    first = once(view(*messages))
    again = once(view(*first.messages))
    assert not again.actions
    assert again.messages == view(*first.messages).messages
    found = problems(first.messages, "anthropic")
    assert not [problem for problem in found if problem.severity == "error"]
    assert "uu" not in roles(first.messages)
    return first


def marker(messages):
    (mark,) = [m for t in texts(messages, "user") if (m := placeholders.read_pruned(t))]
    return mark


def answers(messages):
    return {b.call_id: result_text(b) for m in messages for b in m.blocks if b.kind == "result"}


def cleared(messages):
    return [name for name, text in answers(messages).items() if placeholders.read_cleared(text)]


def pointer_of(text):
    return text.rpartition("whole in ")[2].rstrip("]")


def state(root, pointer):
    return SourcePointerResolver(artifact_root=root).resolve(pointer).status


# snip


@pytest.mark.parametrize("many", [24, 25, 26, 27, 40, 100])
@pytest.mark.parametrize("most", [20, 49, 50])
def test_snip_never_leaves_more_messages_than_allowed(many, most):
    change = run(talk(many), mode="snip", max_messages=most)
    assert len(change.messages) <= most


@pytest.mark.parametrize("head", [0, 1, 2, 3, 4, 5])
def test_snip_keeps_pairs_whole_whatever_the_head(head):
    change = run(talk(40), mode="snip", head=head, max_messages=20)
    assert ids(change.messages) == ids(change.messages, "result")
    assert len(change.messages) <= 20


@pytest.mark.parametrize("head", [2, 3])
def test_snip_reaches_a_limit_right_above_its_head(head):
    assert len(run(talk(40), mode="snip", head=head, max_messages=4).messages) <= 4


def test_snip_leaves_a_view_within_the_limit_alone():
    given = view(*talk(10))
    change = prune(given, mode="snip", max_messages=50)
    assert change.messages is given.messages
    assert not change.actions


def test_the_marker_of_snip_stands_between_head_and_tail():
    change = run(talk(40), mode="snip", head=3, max_messages=20)
    at = next(
        position
        for position, message in enumerate(change.messages)
        if any(placeholders.read_pruned(b.text) for b in message.blocks if b.kind == "text")
    )
    assert at == 2
    assert ids(change.messages[:3]) == ["c0"]
    assert ids(change.messages)[-1] == "c39"
    gone = len(talk(40)) - len(change.messages)
    assert marker(change.messages).messages == gone


def test_a_second_snip_of_a_longer_session_takes_in_the_first_marker():
    once = run(talk(40), mode="snip", max_messages=20)
    more = [*once.messages[:-1], *talk(60)[81:]]
    again = run(more, mode="snip", max_messages=20)
    assert marker(again.messages).messages > marker(once.messages).messages


def test_the_pointer_of_a_snip_leads_to_the_archive(tmp_path):
    change = run(talk(40), tmp_path, mode="snip", max_messages=20)
    (pointer,) = marker(change.messages).pointers
    assert state(tmp_path, pointer) == "available"
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert path.read_bytes() == b"the whole transcript"


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "clear", "keep_results": 0},
        {"mode": "drop", "keep_turns": 1, "no_marker": True},
        {"mode": "snip", "head": 1, "max_messages": 3, "no_marker": True},
    ],
)
def test_what_is_archived_is_so_in_every_mode_and_without_a_placeholder(tmp_path, options):
    assert run(talk(4), tmp_path, **options).actions
    stored = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert "the whole transcript" in stored


def test_a_snip_that_has_nothing_to_do_archives_nothing(tmp_path):
    run(talk(10), tmp_path / "a", mode="snip")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_messages": 0}, "--max-messages must be at least 1"),
        ({"head": -1}, "--head must be at least 0"),
        ({"head": 5, "max_messages": 5}, "--max-messages must be greater than --head"),
    ],
)
def test_a_snip_that_can_not_be_is_a_usage_error(options, said):
    with pytest.raises(UsageError, match=said):
        prune(view(*talk(3)), mode="snip", **options)


EARLIER = text(
    placeholders.pruned(placeholders.Pruned(7, {placeholders.READ: ["/w/a.py"]})), meta=True
)


@pytest.mark.parametrize("head", [0, 1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("at", [0, 2, 4])
def test_a_message_of_nothing_but_an_earlier_marker_leaves_no_gap(head, at):
    turns = [m for n in range(20) for m in (user(f"ask {n}"), says(f"say {n}"))]
    turns[at] = user(EARLIER)
    change = run(turns, mode="snip", head=head, max_messages=12)
    assert roles(change.messages) == "ua" * (len(change.messages) // 2)
    assert len(change.messages) <= 12
    assert marker(change.messages).items(placeholders.READ) == ["/w/a.py"]
    assert marker(change.messages).messages > 7


def test_two_messages_of_nothing_but_markers_leave_no_gap():
    turns = [m for n in range(20) for m in (user(f"ask {n}"), says(f"say {n}"))]
    turns[0] = turns[2] = user(EARLIER)
    left = prune(view(*turns), mode="snip", max_messages=12).messages
    assert roles(left).startswith("uauaua")


# clear


def test_clear_keeps_the_newest_results():
    change = run(talk(6), mode="clear")
    assert cleared(change.messages) == ["c0", "c1", "c2"]
    assert [c for c, t in answers(change.messages).items() if t == LONG] == ["c3", "c4", "c5"]
    assert ids(change.messages) == [f"c{number}" for number in range(6)]
    assert cleared(run(talk(6), mode="clear", keep_results=0).messages) == [
        f"c{number}" for number in range(6)
    ]


def test_clear_with_few_results_does_nothing():
    assert not run(talk(3), mode="clear").actions


def test_clear_never_touches_what_the_model_has_not_seen():
    open_loop = [
        says(*(call(f"n{n}") for n in range(4))),
        user(*(result(f"n{n}", LONG) for n in range(4))),
    ]
    change = run([*talk(2), user("Go on."), *open_loop], mode="clear", keep_results=0)
    assert cleared(change.messages) == ["c0", "c1"]


@pytest.mark.parametrize(("length", "gone"), [(120, []), (300, ["c0"])])
def test_clear_leaves_short_results_alone(length, gone):
    words = ("a b c " * 100)[:length]
    assert cleared(run(talk(1, words), mode="clear", keep_results=0).messages) == gone


def test_clear_leaves_what_holds_no_text_alone():
    other = user(result("p", Block("other", LONG, type="document")))
    change = run([user("Go."), says(call("p")), other, says("Done.")], mode="clear", keep_results=0)
    assert not change.actions


def test_clear_keeps_the_rules():
    rules = reading("r", LONG, path="/w/CLAUDE.md")
    change = run([user("Go."), *rules, *talk(4)[1:]], mode="clear", keep_results=0)
    assert cleared(change.messages) == ["c0", "c1", "c2", "c3"]


def test_clear_keeps_the_pointer_of_what_was_stored(tmp_path):
    stored = truncate(with_store(view(*talk(2, LONG * 20)), tmp_path), max_tokens=300)
    before = [placeholders.read_cut(t) for t in answers(stored.messages).values()]
    change = run(list(stored.messages), mode="clear", keep_results=0)
    for left, cut in zip(answers(change.messages).values(), before, strict=True):
        assert pointer_of(left) == cut.pointer
        assert f"{cut.original:,} tokens" in left
        assert state(tmp_path, pointer_of(left)) == "available"


def in_parts(tmp_path):
    parts = user(result("p", LONG * 20, LONG.upper() * 20))
    given = view(user("Go."), says(call("p")), parts, says("Done."))
    stored = truncate(with_store(given, tmp_path), max_tokens=700)
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == 2
    return list(stored.messages)


def test_clear_loses_no_pointer_of_a_result_in_parts(tmp_path):
    stored = in_parts(tmp_path)
    change = run(stored, mode="clear", keep_results=0)
    assert answers(change.messages) == answers(stored)


def test_clear_stores_the_pointers_of_a_result_in_parts(tmp_path):
    stored = in_parts(tmp_path)
    change = run(stored, tmp_path, mode="clear", keep_results=0)
    pointer = pointer_of(answers(change.messages)["p"])
    assert state(tmp_path, pointer) == "available"
    name = pointer.split(":")[2]
    (path,) = tmp_path.rglob(name)
    assert path.read_text() == answers(stored)["p"]
    assert path.read_text().count("whole in artifact:") == 2


def test_clear_stores_what_it_takes_out(tmp_path):
    change = run(talk(2), tmp_path, mode="clear", keep_results=0)
    for left in answers(change.messages).values():
        assert state(tmp_path, pointer_of(left)) == "available"
    stored = {path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert stored == {LONG, "the whole transcript"}


@pytest.mark.parametrize("tool", ["AskUserQuestion", "request_user_input", "mcp__memory__search"])
def test_clear_keeps_what_no_tool_gives_again_unless_it_is_stored(tmp_path, tool):
    asked = [user("Go."), *exchange("q", LONG, tool=tool), says("Done.")]
    assert not run(asked, mode="clear", keep_results=0).actions
    assert cleared(run(asked, tmp_path, mode="clear", keep_results=0).messages) == ["q"]


def test_clear_knows_the_tool_of_a_result_whose_id_repeats():
    asked = exchange("q", LONG, tool="AskUserQuestion")
    given = view(user("Go."), *exchange("q", LONG), *asked, says("Done."))
    change = prune(given, mode="clear", keep_results=0)
    told = [result_text(b) for m in change.messages for b in m.blocks if b.kind == "result"]
    assert [placeholders.read_cleared(words) for words in told] == [True, False]


PICTURE = Block("image", image=Image("image/png", 9999, 640, 480))


def test_clear_takes_images_out_with_the_text_and_names_them():
    asked = [user("Go."), *exchange("q", LONG, PICTURE), says("Done.")]
    change = run(asked, mode="clear", keep_results=0)
    assert cleared(change.messages) == ["q"]
    assert [p.kind for p in change.messages[2].blocks[0].content] == ["text"]
    said = answers(change.messages)["q"]
    assert said.endswith(" tokens cleared, removed with it: image/png, 640×480, 9,999 bytes]")


def test_clear_says_whole_only_of_what_is_stored_whole(tmp_path):
    asked = [user("Go."), *exchange("p", LONG, PICTURE, PICTURE), *exchange("q", LONG)]
    change = run([*asked, says("Done.")], tmp_path, mode="clear", keep_results=0)
    with_images, without = answers(change.messages).values()
    assert ", whole in artifact:" in without
    assert ", text in artifact:" in with_images
    assert with_images.count("image/png, 640×480, 9,999 bytes") == 2
    pointer = with_images.partition(" in ")[2].partition(",")[0]
    assert state(tmp_path, pointer) == "available"


def test_clear_leaves_what_is_neither_text_nor_image():
    odd = Block("other", type="document")
    asked = [user("Go."), *exchange("q", odd, LONG, odd, PICTURE, LONG), says("Done.")]
    content = run(asked, mode="clear", keep_results=0).messages[2].blocks[0].content
    assert [piece.kind for piece in content] == ["other", "text", "other"]
    assert placeholders.read_cleared(content[1].text)


def test_a_negative_number_of_results_is_a_usage_error():
    with pytest.raises(UsageError, match="--keep-results must be at least 0"):
        prune(view(*talk(3)), mode="clear", keep_results=-1)


# drop


@pytest.mark.parametrize("keep", [1, 2, 3, 4, 5, 8])
def test_keep_messages_is_widened_to_whole_turns(keep):
    change = run(talk(10), keep_messages=keep)
    tail = [m for m in change.messages[1:] if m.role == "assistant" or ids([m], "result")]
    assert keep <= len(tail) <= keep + 1
    assert ids(change.messages) == ids(change.messages, "result")


def test_keep_messages_beyond_the_view_does_nothing():
    assert not run(talk(3), keep_messages=100).actions


def test_keep_tokens_keeps_the_newest_turns_that_fit():
    given = view(*talk(10))
    one = sum(map(given.count, (b for m in given.messages[1:3] for b in m.blocks)))
    change = run(talk(10), keep_tokens=3 * one + 20)
    assert ids(change.messages) == ["c7", "c8", "c9"]
    assert not run(talk(10), keep_tokens=1_000_000).actions


def test_keep_tokens_keeps_the_newest_turn_in_any_case():
    change = run(talk(10), keep_tokens=1)
    assert texts(change.messages, "assistant") == ["Done."]
    assert texts(change.messages, "user")[0] == "Mend the build."


@pytest.mark.parametrize("option", ["keep_turns", "keep_messages", "keep_tokens"])
def test_to_keep_nothing_is_a_usage_error(option):
    with pytest.raises(UsageError, match="must be at least 1"):
        prune(view(*talk(10)), **{option: 0})


@pytest.mark.parametrize(
    "options",
    [
        {"keep_turns": 6, "keep_messages": 4},
        {"keep_turns": 6, "keep_tokens": 4},
    ],
)
def test_two_measures_of_what_is_kept_are_a_usage_error(options):
    with pytest.raises(UsageError, match="give only one of"):
        prune(view(*talk(10)), **options)


def test_without_a_measure_six_turns_stay():
    assert len(run(talk(10)).messages) == len(run(talk(10), keep_turns=6).messages) == 12


def test_no_marker_leaves_none():
    change = run(talk(10), keep_turns=2, no_marker=True)
    assert texts(change.messages, "user") == ["Mend the build."]
    assert marker(run(talk(10), keep_turns=2).messages).messages == 18


def test_no_marker_leaves_none_between_head_and_tail():
    change = run(talk(40), mode="snip", max_messages=20, no_marker=True)
    assert texts(change.messages, "user") == ["Mend the build."]
    assert len(change.messages) <= 20


def todo(call_id, *states):
    items = [{"content": f"item {at}", "status": state} for at, state in enumerate(states)]
    return exchange(call_id, "ok", tool="TodoWrite", todos=items)


def test_the_open_todo_list_stays():
    given = [
        user("Go."),
        *todo("t0", "pending"),
        *todo("t1", "completed", "pending"),
        *talk(9)[1:],
    ]
    for options in ({"keep_turns": 2}, {"mode": "snip", "max_messages": 10, "head": 1}):
        kept = ids(run(given, **options).messages)
        assert "t1" in kept
        assert "t0" not in kept


def test_a_todo_list_that_is_done_goes():
    given = [user("Go."), *todo("t0", "pending"), *todo("t1", "completed"), *talk(9)[1:]]
    kept = ids(run(given, keep_turns=2).messages)
    assert "t0" not in kept
    assert "t1" not in kept


def test_the_marker_names_the_files_of_what_went():
    edit = exchange("e", "ok", tool="Edit", file_path="/w/b.py", old_string="a", new_string="b")
    failed = exchange("f", "no", tool="Edit", failed=True, file_path="/w/c.py")
    given = [user("Go."), *reading("r", LONG), *edit, *failed, *talk(9)[1:]]
    mark = marker(run(given, keep_turns=2).messages)
    assert mark.items(placeholders.READ) == ["/w/a.py"]
    assert mark.items(placeholders.MODIFIED) == ["/w/b.py"]


def test_first_and_last_request_stay_where_they_are():
    given = [*talk(5), user("Now the tests."), *talk(9)[1:]]
    change = run(given, keep_turns=2)
    said = [t for t in texts(change.messages, "user") if not placeholders.read_pruned(t)]
    assert said == ["Mend the build.", "Now the tests."]


def test_other_blocks_of_a_message_with_a_pinned_one_go():
    given = [
        user("Go."),
        says(read("r0", "/w/CLAUDE.md"), read("r1", "/w/a.py")),
        user(result("r0", LONG), result("r1", LONG), text("Now go on.")),
        *talk(9)[1:],
    ]
    kept = ids(run(given, keep_turns=2).messages)
    assert "r0" in kept
    assert "r1" not in kept
