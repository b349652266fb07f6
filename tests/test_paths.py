"""One key for one file, by its letters alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactctl.view import paths


@pytest.mark.parametrize(
    ("one", "other", "cwd"),
    [
        ("a.py", "/w/a.py", "/w"),
        ("./a.py", "a.py", ""),
        ("/w/x/../a.py", "/w/a.py", ""),
        ("//w//a.py", "/w/a.py", ""),
        ("/w/a.py/", "/w/a.py", ""),
        ("../a.py", "/a.py", "/w"),
        ("C:\\w\\A.py", "c:/w/a.py", ""),
        ("a.py", "C:/w/A.PY", "c:\\w"),
        ("\\\\host\\share\\A", "\\\\HOST\\share\\a", ""),
        ("/w/é", "/w/e\u0301", ""),
    ],
)
def test_two_spellings_of_one_file_have_one_key(one, other, cwd):
    assert paths.key(one, cwd) == paths.key(other, cwd)


@pytest.mark.parametrize(
    ("one", "other", "cwd"),
    [
        ("/w/a", "/w/A", ""),
        ("/w/a\\b", "/w/a/b", ""),
        ("a.py", "/w/a.py", ""),
        ("~/a", "/w/~/a", "/w"),
        ("/a.py", "a.py", "c:\\w"),
        ("/w/a ", "/w/a", ""),
    ],
)
def test_two_files_have_two_keys(one, other, cwd):
    assert paths.key(one, cwd) != paths.key(other, cwd)


@given(st.text(), st.text())
def test_any_text_has_a_key_that_is_its_own_key(path, cwd):
    key = paths.key(path, cwd)
    assert paths.key(key) == key or not path


@pytest.mark.parametrize(
    ("path", "glob", "fits"),
    [
        ("/w/CLAUDE.md", "CLAUDE.md", True),
        ("CLAUDE.md", "CLAUDE.md", True),
        ("C:\\w\\CLAUDE.md", "CLAUDE.md", True),
        ("/w/claude.md", "CLAUDE.md", False),
        ("/w/CLAUDE.md.bak", "CLAUDE.md", False),
        ("/w/src/a.py", "/w/src/*", True),
        ("/w/src/a.py", "*.py", True),
    ],
)
def test_a_glob_is_held_against_the_path_and_its_last_part(path, glob, fits):
    assert paths.matches(path, (glob,)) == fits
