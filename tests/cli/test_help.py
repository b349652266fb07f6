"""Help: an example for every command, a text for every option, and quickly."""

import contextlib
import io
import re
import shlex

import pytest
from helpers.shell import run

from compactctl import cli
from compactctl._version import __version__
from compactctl.cli import registry


@pytest.fixture(scope="module")
def helped():
    """Give the help of each command, from this process."""
    found = {}
    for name in registry.NAMES:
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            assert cli.run([name, "--help"]) == 0
        found[name] = shown.getvalue()
    return found


def options(text):
    """Give option to help text, out of the table that help shows."""
    table = text.partition("\nOptions:\n")[2]
    rows = re.split(r"\n(?=  -)", "\n" + table)[1:]
    return dict(
        re.fullmatch(r"  (-\S+(?:, --\S+)?(?: \S+)?)(?:  +|\n +|$)(.*)", row, re.DOTALL).groups()
        for row in rows
    )


@pytest.mark.parametrize("name", registry.NAMES)
def test_every_command_has_an_example_that_parses(name, helped):
    text = re.sub(
        r"\n {6}(?=\S)", " ", helped[name].partition("Example:")[2].partition("\n\n\n")[0]
    )
    example = text.strip().partition("\n\n")[0].replace("\n", " ")
    words = shlex.split(example)
    assert words[0] == "compactctl"
    assert name in words
    known = " ".join(options(helped[name]))
    at = words.index(name)
    own = words[at : words.index("|", at) if "|" in words[at:] else None]
    assert all(word in known for word in own if word.startswith("--"))


def test_help_is_the_same_the_second_time(helped, capsys):
    for name in registry.NAMES:
        assert cli.run([name, "-h"]) == 0
        assert capsys.readouterr().out == helped[name]


@pytest.mark.parametrize("name", registry.NAMES)
def test_every_option_has_a_help_text(name, helped):
    found = options(helped[name])
    assert "-h, --help" in found
    assert all(re.search(r"[a-z]{2}", text) for text in found.values()), found


@pytest.mark.parametrize("name", registry.NAMES)
def test_every_command_says_what_it_does(name, helped):
    assert re.search(r"\n\n  [A-Z][^\n]+", helped[name])


def test_the_overview_lists_every_command():
    shown = run("--help").stdout.decode()
    assert re.findall(r"^  ([a-z]+) {2,}\S", shown.partition("Commands:")[2], re.MULTILINE) == list(
        registry.NAMES
    )
    assert shown == run("-h").stdout.decode()


def test_the_version():
    assert run("--version").stdout.decode() == f"compactctl {__version__}\n"
    assert run("-V").stdout.decode() == f"compactctl {__version__}\n"


def test_help_is_plain_text_on_standard_output():
    done = run("truncate", "--help", env={"TERM": "xterm-256color", "FORCE_COLOR": "1"})
    assert done.returncode == 0
    assert not done.stderr
    assert b"\x1b" not in done.stdout
