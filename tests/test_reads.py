"""Which shell commands are reads of files, and which only look like it."""

import pytest
from helpers.builders import call, result

from compactctl.view.reads import END, reads_of


def shown(command, answer="text", cwd="/w", tool="Bash", **more):
    found = reads_of(call("c", tool, cwd, command=command, **more), result("c", answer))
    return [(read.key, read.start, read.stop) for read in found]


FULL = [("/w/a.py", 1, END)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py", FULL),
        ("cat /w/a.py", FULL),
        ("  cat   'a.py' ", FULL),
        ("cat -n a.py", FULL),
        ("cat a.py b.py", [*FULL, ("/w/b.py", 1, END)]),
        ("nl a.py", FULL),
        ("nl -ba a.py", FULL),
        ("sed -n 5,9p a.py", [("/w/a.py", 5, 10)]),
        ("sed -n '5,9p' a.py", [("/w/a.py", 5, 10)]),
        ("sed -n 7p a.py", [("/w/a.py", 7, 8)]),
        ("sed -n 7,3p a.py", [("/w/a.py", 7, 8)]),
        ("head a.py", [("/w/a.py", 1, 11)]),
        ("head -n 30 a.py", [("/w/a.py", 1, 31)]),
        ("head -30 a.py", [("/w/a.py", 1, 31)]),
        ("head -n 3 a.py b.py", [("/w/a.py", 1, 4), ("/w/b.py", 1, 4)]),
        ("nl -ba a.py | sed -n 5,9p", [("/w/a.py", 5, 10)]),
        ("nl -ba a.py | sed -n '5,9p'", [("/w/a.py", 5, 10)]),
        ("nl a.py|sed -n 5,9p", [("/w/a.py", 5, 10)]),
        (["cat", "a.py"], FULL),
        (["cat", "a|b"], [("/w/a|b", 1, END)]),
        (["bash", "-lc", "cat a.py"], FULL),
        (["/bin/sh", "-c", "sed -n 5,9p a.py"], [("/w/a.py", 5, 10)]),
        (["bash", "-lc", "nl -ba a.py | sed -n 5,9p"], [("/w/a.py", 5, 10)]),
    ],
)
def test_a_plain_read_is_known(command, expected):
    assert shown(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        f"sed -n 1,{'9' * 5000}p a.py",
        f"head -n {'9' * 5000} a.py",
        f"head -{'9' * 5000} a.py",
        "cat a.py | grep x",
        "cat a.py | sed -n 5,9p",
        "cat *.py",
        "cat a?.py",
        "cat {a,b}.py",
        "cat $FILE",
        "cat `which a`",
        "cat ~/a.py",
        "cat a.py > b.py",
        "cat < a.py",
        "cat a.py && make",
        "cat a.py; make",
        "cat a.py &",
        "cat a.py\nmake",
        "cat <<EOF",
        "cd x && cat a.py",
        "cat",
        "cat -",
        "cat -A a.py",
        "cat 'a.py",
        "head -c 30 a.py",
        "head -n -5 a.py",
        "tail -n 5 a.py",
        "sed -i 5,9p a.py",
        "sed -n 5,9d a.py",
        "sed -n /x/p a.py",
        "sed -n 5,9p",
        "sed -n 5,9p a.py b.py",
        "sed 5,9p a.py",
        "nl -ba a.py b.py | sed -n 5,9p",
        "nl -ba a.py | sed -n 5,9p b.py",
        "nl -ba a.py | sed -n 5,9p | head",
        "nl -ba | sed -n 5,9p",
        "grep x a.py",
        "",
        None,
        7,
        [],
        ["cat", 7],
        ["cat"],
        ["bash", "-lc", "cat a.py | head"],
        ["bash", "-lc", 7],
        ["bash", "-lc", "cat a.py", "b.py"],
    ],
)
def test_anything_else_is_no_read(command):
    assert shown(command) == []


def test_a_command_starts_in_its_own_folder():
    assert shown("cat a.py", workdir="/x") == [("/x/a.py", 1, END)]
    assert shown("cat a.py", workdir="sub") == [("/w/sub/a.py", 1, END)]
    assert shown("cat a.py", workdir=7) == FULL
    assert shown("cat a.py", cwd="") == [("a.py", 1, END)]


def test_codex_says_cmd():
    found = reads_of(call("c", "exec_command", "/w", cmd="cat a.py"), result("c", "text"))
    assert [read.key for read in found] == ["/w/a.py"]


def test_only_a_shell_runs_commands():
    assert shown("cat a.py", tool="Agent") == []


def test_a_failed_command_read_nothing():
    assert not reads_of(call("c", command="cat a.py"), result("c", "no", failed=True))


def test_a_command_in_the_background_has_shown_nothing():
    assert shown("cat a.py", "Command running with ID b1", run_in_background=True) == []


@pytest.mark.parametrize("key", ["paths", "files", "file_paths"])
def test_one_call_may_read_many_files(key):
    given = call("c", "read_many_files", "/w", **{key: ["a.py", "b.py"]})
    assert [read.key for read in reads_of(given, result("c"))] == ["/w/a.py", "/w/b.py"]
    odd = call("c", "read_many_files", "/w", **{key: ["a.py", 7]})
    assert reads_of(odd, result("c")) == []
    assert reads_of(call("c", "lint_files", "/w", **{key: ["a.py"]}), result("c")) == []
