"""dedup: the placeholder mode, stale reads, tools of one's own, protected files."""

import pytest
from helpers.builders import assistant as says
from helpers.builders import call, dedup, exchange, ids, reading, result, user, view

from compactctl import placeholders
from compactctl.errors import UsageError
from compactctl.model import result_text
from compactctl.placeholders import Cut
from compactctl.rules.check import problems

TEXT = "\n".join(f"{number}\tvalue_{number} = compute({number})" for number in range(1, 80))


def lines(first, last):
    """Some lines of it, numbered as they are in the file."""
    return "\n".join(TEXT.split("\n")[first - 1 : last])


EDIT = {"tool": "Edit", "file_path": "/w/a.py", "old_string": "a", "new_string": "b"}


def run(*messages, **options):
    """Run twice: the second run has nothing to do, and the view stays one that may be sent."""
    talk = (user("Go."), *messages, says("Done."))
    once = dedup(view(*talk), **options)
    assert not dedup(view(*once.messages), **options).actions
    found = problems(once.messages, "anthropic")
    assert not [problem for problem in found if problem.severity == "error"]
    return once


def gone(*messages, **options):
    return [action.call_id for action in run(*messages, **options).actions]


def answer(change, call_id):
    return next(
        result_text(b)
        for m in change.messages
        for b in m.blocks
        if b.kind == "result" and b.call_id == call_id
    )


def shell(call_id, command, answer=TEXT, **more):
    return exchange(call_id, answer, command=command, **more)


def test_a_stub_names_the_surviving_call():
    change = run(*reading("r1", TEXT), *reading("r2", TEXT), *reading("r3", TEXT), mode="stub")
    assert ids(change.messages) == ["r1", "r2", "r3"]
    for call_id in ("r1", "r2"):
        assert placeholders.is_superseded(answer(change, call_id))
        assert "/w/a.py" in answer(change, call_id)
        assert "r3" in answer(change, call_id)
    assert answer(change, "r3") == TEXT


def test_a_stub_of_a_read_of_many_files_names_all_of_them():
    many = exchange("m", TEXT, tool="read_many_files", paths=["/w/a.py", "/w/b.py", "/w/a.py"])
    one, two = reading("r1", TEXT), reading("r2", TEXT, path="/w/b.py")
    stub = answer(run(*many, *one, *two, mode="stub"), "m")
    assert stub == '[compactctl: "/w/a.py", "/w/b.py" were read again by r1, r2, see there]'


def test_a_stub_names_no_more_files_than_there_is_room_for():
    paths = [f"/w/{number}.py" for number in range(40)]
    many = [exchange(c, TEXT * 9, tool="read_many_files", paths=paths) for c in ("m1", "m2")]
    stub = answer(run(*many[0], *many[1], mode="stub"), "m1")
    assert stub.count(".py") == 10
    assert "and 30 more were read again by m2," in stub


def test_a_stub_that_would_not_be_shorter_is_not_made():
    change = run(*reading("r1", "x = 1"), *reading("r2", "x = 1"), mode="stub")
    assert not change.actions
    assert answer(change, "r1") == "x = 1"


def test_a_stub_is_no_read_that_shows_anything():
    change = run(*reading("r1", TEXT), *reading("r2", TEXT), mode="stub")
    stub = answer(change, "r1")
    assert gone(*reading("r0", TEXT), *reading("r1", stub)) == []


def test_stubs_are_left_by_a_drop_that_follows():
    change = run(*reading("r1", TEXT), *reading("r2", TEXT), mode="stub")
    assert not dedup(view(*change.messages)).actions


@pytest.mark.parametrize("mode", ["drop", "stub"])
def test_nothing_is_done_to_reads_of_different_files(mode):
    assert gone(*reading("r1", TEXT), *reading("r2", TEXT, path="/w/b.py"), mode=mode) == []


@pytest.mark.parametrize("mode", ["drop", "stub"])
def test_nothing_is_done_when_the_later_read_failed(mode):
    assert gone(*reading("r1", TEXT), *reading("r2", "no", failed=True), mode=mode) == []


def test_the_open_loop_is_not_touched():
    talk = [user("Go."), says(call("r1", "Read", file_path="/w/a.py"))]
    talk += [user(result("r1", TEXT)), says(call("r2", "Read", file_path="/w/a.py"))]
    talk += [user(result("r2", TEXT))]
    assert [action.call_id for action in dedup(view(*talk)).actions] == ["r1"]
    both = [user("Go."), says(*(call(i, "Read", file_path="/w/a.py") for i in ("r1", "r2")))]
    both += [user(result("r1", TEXT), result("r2", TEXT))]
    assert not dedup(view(*both)).actions


def test_a_range_does_not_supersede_a_full_read():
    assert gone(*reading("r1", TEXT), *reading("r2", lines(1, 20), offset=1, limit=20)) == []
    assert gone(*reading("r1", lines(1, 20), offset=1, limit=20), *reading("r2", TEXT)) == ["r1"]


def test_a_range_supersedes_one_inside_it():
    inner = lines(20, 29), {"offset": 20, "limit": 10}
    outer = lines(10, 49), {"offset": 10, "limit": 40}

    def part(call_id, some):
        return reading(call_id, some[0], **some[1])

    assert gone(*part("r1", inner), *part("r2", outer)) == ["r1"]
    assert gone(*part("r1", outer), *part("r2", inner)) == []


def test_stale_needs_a_later_full_read():
    edit = exchange("e", "ok", **EDIT)
    assert gone(*reading("r1", TEXT), *edit, stale=True) == []
    part = reading("r2", lines(5, 9), offset=5, limit=5)
    assert gone(*reading("r1", TEXT), *edit, *part, stale=True) == []
    assert gone(*reading("r1", TEXT), *edit, *reading("r2", TEXT), stale=True) == ["r1"]
    assert gone(*reading("r1", TEXT), *reading("r2", TEXT), *edit, stale=True) == ["r1"]


@pytest.mark.parametrize("stale", [True, False])
def test_a_failed_edit_makes_nothing_stale(stale):
    edit = exchange("e", "no", failed=True, **EDIT)
    part = reading("r2", lines(5, 9), offset=5, limit=5)
    assert gone(*reading("r1", TEXT), *edit, *part, stale=stale) == []


def test_stale_does_not_reach_other_files():
    edit = exchange("e", "ok", **EDIT)
    other = reading("r1", TEXT, path="/w/b.py")
    assert gone(*other, *edit, *reading("r2", TEXT), stale=True) == []


SED = "sed -n 1,20p /w/a.py"


def test_shell_reads_count_like_any_other():
    assert gone(*shell("s1", "cat /w/a.py"), *reading("r1", TEXT)) == ["s1"]
    assert gone(*reading("r1", TEXT), *shell("s1", "cat /w/a.py")) == ["r1"]
    assert gone(*shell("s1", SED, lines(1, 20)), *shell("s2", "cat /w/a.py")) == ["s1"]
    assert gone(*shell("s1", "cat /w/a.py"), *shell("s2", SED, lines(1, 20))) == []


def test_a_pipe_is_no_read():
    assert gone(*reading("r1", TEXT), *shell("s1", "cat /w/a.py | grep x")) == []


def test_a_shell_read_that_was_cut_supersedes_nothing():
    head, tail = TEXT[:400], TEXT[-400:]
    short = placeholders.cut(Cut(head, tail, 5000), 300)
    part = shell("s1", "sed -n 30,40p /w/a.py", "the lines that the cut took out " * 8)
    assert gone(*part, *shell("s2", "cat /w/a.py", short)) == []
    assert gone(*part, *shell("s2", "cat /w/a.py", placeholders.cleared(900, None))) == []


def test_a_read_of_many_files_goes_when_all_of_them_are_shown_again():
    many = exchange("m", TEXT, tool="read_many_files", paths=["/w/a.py", "/w/b.py"])
    one, two = reading("r1", TEXT), reading("r2", TEXT, path="/w/b.py")
    assert gone(*many, *one) == []
    assert gone(*many, *one, *two) == ["m"]
    assert gone(*one, *two, *many) == ["r1", "r2"]


def test_a_read_of_many_files_that_was_cut_supersedes_nothing():
    short = placeholders.cut(Cut(TEXT[:400], "", 5000), 300)
    many = exchange("m", short, tool="read_many_files", paths=["/w/a.py", "/w/b.py"])
    assert gone(*reading("r1", TEXT), *many) == []


def fetch(call_id, answer=TEXT, path="/w/a.py", **window):
    return exchange(call_id, answer, tool="fetch", where=path, **window)


def test_a_read_tool_of_ones_own():
    assert gone(*fetch("f1"), *fetch("f2")) == []
    assert gone(*fetch("f1"), *fetch("f2"), read_tool=["fetch:where"]) == ["f1"]
    assert gone(*fetch("f1"), *reading("r1", TEXT), read_tool=["fetch:where"]) == ["f1"]


def test_a_read_tool_of_ones_own_with_a_range():
    tools = ["fetch:where:from:many"]
    part = {"from": 10, "many": 5}
    assert gone(*fetch("f1"), *fetch("f2", lines(10, 14), **part), read_tool=tools) == []
    assert gone(*fetch("f1", lines(10, 14), **part), *fetch("f2"), read_tool=tools) == ["f1"]


def test_a_read_tool_whose_result_was_taken_out_supersedes_nothing():
    tools = ["fetch:where"]
    for left in (placeholders.cleared(900, None), placeholders.cut(Cut(TEXT[:300], "", 900), 100)):
        assert gone(*fetch("f1"), *fetch("f2", left), read_tool=tools) == []


@pytest.mark.parametrize("path", [None, 7, ["/w/a.py"], {}])
def test_a_path_that_is_no_string_is_no_read(path):
    assert gone(*reading("r1", TEXT, path=path), *reading("r2", TEXT, path=path)) == []
    both = (*fetch("f1", path=path), *fetch("f2", path=path))
    assert gone(*both, read_tool=["fetch:where"]) == []


@pytest.mark.parametrize("bad", ["fetch", "fetch:", ":where", "fetch:where:from", "a:b:c:d:e", ""])
def test_a_bad_read_tool_is_a_usage_error(bad):
    with pytest.raises(UsageError, match="expected NAME:KEY"):
        dedup(view(user("Go.")), read_tool=[bad])


def test_rules_and_protected_files_stay():
    for path in ("/w/CLAUDE.md", "/w/sub/AGENTS.md", "/s/SKILL.md"):
        assert gone(*reading("r1", TEXT, path=path), *reading("r2", TEXT, path=path)) == []
    pair = (*reading("r1", TEXT, path="/w/x.rules"), *reading("r2", TEXT, path="/w/x.rules"))
    assert gone(*pair) == ["r1"]
    assert gone(*pair, protect=["*.rules"]) == []
    assert gone(*pair, protect=["/w/*"]) == []
    assert gone(*shell("s1", "cat /w/CLAUDE.md"), *shell("s2", "cat /w/CLAUDE.md")) == []


@pytest.mark.parametrize(
    ("first", "second", "cwd"),
    [
        ("./a.py", "/w/a.py", "/w"),
        ("a.py", "/w/sub/../a.py", "/w"),
        ("/w//a.py", "/w/./a.py", ""),
        ("C:\\w\\A.py", "c:/w/a.py", ""),
        ("sub\\a.py", "C:\\w\\sub\\a.py", "C:\\w"),
        ("/w/e\u0301.py", "/w/\u00e9.py", ""),
    ],
)
def test_two_spellings_of_one_path_are_one_file(first, second, cwd):
    assert same_file(first, second, cwd)


@pytest.mark.parametrize(
    ("first", "second", "cwd"),
    [
        ("a.py", "/w/a.py", ""),
        ("a.py", "/w/a.py", "/other"),
        ("/w/A.py", "/w/a.py", ""),
        ("/w/a\\b.py", "/w/a/b.py", ""),
    ],
)
def test_paths_of_two_files_are_not_taken_for_one(first, second, cwd):
    assert not same_file(first, second, cwd)


def same_file(first, second, cwd):
    talk = [
        says(call("r1", "Read", cwd, file_path=first)),
        user(result("r1", TEXT)),
        says(call("r2", "Read", cwd, file_path=second)),
        user(result("r2", TEXT)),
    ]
    return gone(*talk) == ["r1"]
