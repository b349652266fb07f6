"""What a call read and changed, from its name, its input and its result."""

from __future__ import annotations

import pytest
from helpers.builders import assistant, call, exchange, read, reading, result, user

from compactctl.view import tools
from compactctl.view.index import View
from compactctl.view.reads import END, reads_of
from compactctl.view.tools import files, keys_modified_by


def shown(made, answer):
    (found,) = reads_of(made, answer)
    return (found.key, found.start, found.stop)


@pytest.mark.parametrize("tool", ["Read", "read_file", "read", "view_file", "NotebookRead"])
@pytest.mark.parametrize("key", ["file_path", "path", "filename", "absolute_path"])
def test_the_well_known_reads_are_known(tool, key):
    assert shown(call("c", tool, **{key: "/w/a"}), result("c", "x")) == ("/w/a", 1, END)


def test_an_editor_reads_when_it_views():
    view = call("c", "str_replace_editor", command="view", path="/w/a", view_range=[3, 9])
    assert shown(view, result("c", "x")) == ("/w/a", 3, 10)
    create = call("c", "str_replace_editor", command="create", path="/w/a")
    assert reads_of(create, result("c")) == []


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (read("c"), result("c", "no", failed=True)),
        (call("c", "Bash", path="/w/a"), result("c", "x")),
        (call("c", "Read"), result("c", "x")),
        (call("c", "Read", file_path=["/w/a"]), result("c", "x")),
        (call("c", "Read", file_path=""), result("c", "x")),
    ],
    ids=["failed", "another tool", "no path", "odd path", "empty path"],
)
def test_what_shows_no_file_is_no_read(made, answer):
    assert reads_of(made, answer) == []


def test_a_result_that_names_its_file_is_a_full_read():
    assert shown(call("c", "fetch"), result("c", "x", path="/w/a")) == ("/w/a", 1, END)


@pytest.mark.parametrize(
    ("made", "paths"),
    [
        (call("c", "Edit", file_path="/w/a"), ["/w/a"]),
        (call("c", "write_file", path="/w/a"), ["/w/a"]),
        (call("c", "apply_patch", patch="*** Begin Patch\n*** Update File: a b.py \n"), ["a b.py"]),
        (call("c", "exec", x="*** Begin Patch\n*** Add File: a\n*** Delete File: b\n"), ["a", "b"]),
        (call("c", "str_replace_editor", command="view", path="/w/a"), []),
        (call("c", "Edit", file_path=5), []),
        (call("c", "Bash", command="rm a"), []),
    ],
)
def test_what_a_call_changes(made, paths):
    assert keys_modified_by(made) == paths


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
HEREDOC = f"apply_patch <<'EOF'\n{PATCH}EOF"


@pytest.mark.parametrize(
    "command",
    [
        ["apply_patch", PATCH],
        ["bash", "-lc", HEREDOC],
        HEREDOC,
        f"git status && apply_patch <<EOF\n{PATCH}EOF\nmake",
        f'apply_patch "{PATCH}"',
    ],
    ids=["list", "list of a shell", "heredoc", "among others", "quoted"],
)
@pytest.mark.parametrize("more", [{}, {"workdir": "/w"}, {"justification": "to mend it"}])
def test_a_patch_in_a_command_changes_its_files(command, more):
    made = call("c", "shell", **more, command=command)
    assert keys_modified_by(made) == ["/w/a.py" if "workdir" in more else "a.py"]


@pytest.mark.parametrize(
    "command",
    [
        ["cat", "notes about *** Begin Patch"],
        f"cat > patch.txt <<'EOF'\n{PATCH}EOF",
        f"echo apply_patch; cat <<'EOF'\n{PATCH}EOF",
        "grep -rn '*** Begin Patch' .",
        "apply_patch --help",
        [7],
        None,
    ],
)
def test_a_command_that_only_carries_a_patch_changes_nothing(command):
    assert keys_modified_by(call("c", "shell", command=command)) == []


def test_an_edit_whose_text_holds_a_patch_changes_its_own_file():
    assert keys_modified_by(call("c", "Write", file_path="/w/doc.md", content=PATCH)) == [
        "/w/doc.md"
    ]


def test_a_moved_file_changes_under_both_names():
    words = PATCH.replace("@@", "*** Move to: b.py\n@@")
    assert keys_modified_by(call("c", "apply_patch", input=words)) == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"command": HEREDOC}, "/w/a.py"),
        ({"command": HEREDOC, "workdir": "sub"}, "/w/sub/a.py"),
        ({"command": HEREDOC, "workdir": "/x"}, "/x/a.py"),
        ({"command": f"cd sub && {HEREDOC}"}, "/w/sub/a.py"),
        ({"command": ["bash", "-lc", f"cd '/y' && {HEREDOC}"], "workdir": "/x"}, "/y/a.py"),
    ],
)
def test_a_patch_starts_from_the_folder_of_its_command(given, key):
    assert tools.keys_modified_by(call("c", "shell", "/w", **given)) == [key]


def test_files_are_named_once_in_order_and_only_of_calls_that_succeeded():
    messages = [
        *reading("a", "x"),
        *reading("b", "x", path="./b.py"),
        *reading("c", "x"),
        *reading("d", "no", path="/w/d.py", failed=True),
        *exchange("e", "ok", tool="Edit", file_path="/w/a.py"),
        assistant(call("f", "Write", file_path="/w/f.py")),
    ]
    assert files(View(messages)) == tools.Files(["/w/a.py", "./b.py"], ["/w/a.py"])


def test_files_read_through_a_shell_are_named_too():
    messages = [
        *exchange("a", "x", command="cat /w/a.py 'b c.py'"),
        *exchange("b", "x", command=["bash", "-lc", "sed -n 1,80p d.py"], tool="local_shell"),
        *exchange("c", "x", command="cat e.py | grep x"),
        *exchange("d", "no", command="cat f.py", failed=True),
        *exchange("e", "x", tool="read_many_files", paths=["g.py", "h.py"]),
    ]
    assert files(View(messages)).read == ["/w/a.py", "b c.py", "d.py", "g.py", "h.py"]


def test_each_result_is_of_the_tool_that_it_answers():
    messages = [*exchange("a", "x", tool="One"), assistant(call("a", "Two")), user(result("a"))]
    assert list(View(messages).tools.values()) == ["One", "Two"]


@pytest.mark.parametrize("status", ["pending", None, 5, {"x": 1}, ["done"]])
def test_an_item_is_open_unless_its_status_says_that_it_is_not(status):
    made = call("c", "TodoWrite", todos=[{"content": "a", "status": status}])
    assert tools.open_items(made) == ["a"]
    assert tools.open_items(call("c", "TodoWrite", todos=[{"status": "done"}])) == []
