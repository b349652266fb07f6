"""A cut result is never taken for a whole one, whatever words its harness has for that."""

from __future__ import annotations

import time

import pytest
from helpers.builders import assistant, exchange, read, reading, result, user, view
from hypothesis import given
from hypothesis import strategies as st

from compactctl import placeholders
from compactctl.layers.dedup import superseded
from compactctl.model import Block, Image
from compactctl.view.protected import Protected
from compactctl.view.reads import END, reads_of
from compactctl.view.shown import Shown

FILE = [f"def line_{number}(): return {number}" for number in range(1, 400)]
NUMBERINGS = ("{:>6}\t{}", "{:>6}→{}", "{:05d}| {}", "{}: {}", "L{}: {}", "{} | {}", "{}|{}")


def part(first, last, form="{1}"):
    """Lines of the file as a tool shows them."""
    return "\n".join(form.format(n, FILE[n - 1]) for n in range(first, last + 1))


def goes(*messages, flags_failures=True, **options):
    """The ids of the reads that later ones show again."""
    found = view(user("go"), *messages, assistant("done")).view
    every = superseded(found, Protected(found), flags_failures=flags_failures, **options)
    return [one.found.call.call_id for one in every]


NOTICES = [
    "\n\n[Showing lines 1-199 of 5000. Use offset=200 to continue.]",
    "\n\n[Showing lines 1-199 of 5000 (50.0KB limit). Use offset=200 to continue.]",
    "<response clipped><NOTE>To save on context only part of it has been shown to you.</NOTE>",
    "\n<system-reminder>\nThe file was truncated to the first 199 lines.\n</system-reminder>",
    "\n\n(File has more lines. Use 'offset' parameter to read beyond line 199)\n</file>",
    "\n... [200 lines truncated] ...",
    "\n…1534 tokens truncated…",
    "\n[compactctl: 9 of 99 tokens cut (deadbeef)]",
    "\n... (output limited to 10,000 characters)\n...",
    "\n<persisted-output>",
    "\nOutput exceeds the limit: the rest was trimmed",
    "\n[200 more lines in file]",
    "\n(200 lines remaining)",
    "\n... +200 lines (ctrl+r to expand)",
    "\nProcess running with session ID 4711",
    "\nCommand timed out after 30s",
]
HEADS = [
    "<system-reminder>[PARTIAL view — showing lines 1-199 of 3128]</system-reminder>",
    "<persisted-output>\nOutput too large (67.2KB), saved to: /x.txt\n\nPreview (first 2KB):",
    "Showing lines 1 to 199 of 399:",
    "Only the first 199 lines are shown.",
    "Lines 1-199 out of 399",
]


@pytest.mark.parametrize("notice", [*NOTICES, *(f"{head}\0" for head in HEADS)])
@pytest.mark.parametrize("tool", ["Read", "read_file", "Bash", "view_file"])
def test_a_read_that_says_it_was_cut_leaves_one_of_other_lines(notice, tool):
    text = part(1, 199)
    cut = f"{notice[:-1]}\n{text}" if notice.endswith("\0") else f"{text}{notice}"
    whole = {"command": "cat /w/a.py"} if tool == "Bash" else {"path": "/w/a.py"}
    later = exchange("b", cut, tool=tool, **whole)
    assert goes(*reading("a", part(201, 399), offset=201, limit=200), *later) == []
    assert goes(*reading("a", part(10, 20), offset=10, limit=11), *later) == ["a"]


@pytest.mark.parametrize("form", NUMBERINGS)
@pytest.mark.parametrize("note", ["", "\n\n[cut]", "\n<system-reminder>\nx\n</system-reminder>\n"])
def test_numbers_are_trusted(form, note):
    later = reading("b", part(1, 199, form) + note)
    assert goes(*reading("a", part(150, 250, form), offset=150, limit=101), *later) == []
    assert goes(*reading("a", part(150, 199, form), offset=150, limit=101), *later) == ["a"]
    assert goes(*reading("a", part(1, 199, form)), *later) == ["a"]
    assert goes(*reading("a", part(1, 201, form)), *later) == []


@pytest.mark.parametrize("form", NUMBERINGS)
def test_numbers_with_a_gap_show_nothing_for_sure(form):
    gap = f"{part(1, 50, form)}\n(here is more)\n{part(300, 399, form)}"
    assert goes(*reading("a", part(60, 70, form), offset=60, limit=11), *reading("b", gap)) == []
    assert goes(*reading("a", part(5, 9, form), offset=5, limit=5), *reading("b", gap)) == ["a"]


def test_the_last_of_numbered_lines_may_be_cut_itself():
    cut = part(1, 199, NUMBERINGS[0])[:-5] + "\n(truncated)"
    whole = reading("a", part(190, 199, NUMBERINGS[0]), offset=190, limit=10)
    assert goes(*whole, *reading("b", cut)) == []
    assert goes(
        *reading("a", part(190, 198, NUMBERINGS[0]), offset=190, limit=9), *reading("b", cut)
    ) == ["a"]


@pytest.mark.parametrize(
    "stub",
    [
        "File unchanged since last read.",
        "[Old tool result content cleared]",
        placeholders.cleared(900, None),
        "",
        "   \n",
    ],
)
@pytest.mark.parametrize("known", ["x = 1", part(1, 30)])
def test_what_stands_for_a_result_shows_nothing(stub, known):
    assert goes(*reading("a", known), *reading("b", stub)) == []


def test_a_shorter_read_leaves_a_longer_one_where_nothing_else_tells():
    assert goes(*reading("a", part(1, 300)), *reading("b", part(1, 200))) == []
    assert goes(*reading("a", part(1, 300)), *reading("b", part(100, 399))) == ["a"]
    assert goes(*reading("a", part(201, 399), offset=201), *reading("b", part(1, 100))) == []
    one_line = "a" * 500
    assert goes(*reading("a", one_line), *reading("b", one_line[:400])) == []


def test_a_file_that_an_edit_made_shorter_is_shown_by_all_that_is_left():
    longer, shorter = part(1, 300, NUMBERINGS[0]), part(1, 200, NUMBERINGS[0])
    edit = exchange("e", "ok", tool="Edit", file_path="/w/a.py")
    assert goes(*reading("a", longer), *edit, *reading("b", shorter)) == ["a"]
    assert goes(*reading("a", longer), *reading("b", shorter)) == []
    assert goes(*edit, *reading("a", longer), *reading("b", shorter)) == []
    assert goes(*reading("a", longer), *edit, *reading("b", f"{shorter}\n(no more here)")) == []
    more = reading("a", part(150, 300, NUMBERINGS[0]), offset=150)
    assert goes(*more, *edit, *reading("b", shorter)) == []


@pytest.mark.parametrize("known", ["x = 1", part(1, 30), part(1, 30, NUMBERINGS[0])])
@pytest.mark.parametrize(
    "error", ["Error: ENOENT: no such file: /w/a.py", "Traceback:\n" + "at x = 1 here\n" * 99, "{}"]
)
def test_where_no_flag_tells_a_failure_only_what_shows_the_file_counts(known, error):
    assert goes(*reading("a", known), *reading("b", error), flags_failures=False) == []
    edit = exchange("e", "ok", tool="Edit", file_path="/w/a.py")
    stale = {"stale": True, "flags_failures": False}
    assert goes(*reading("a", known), *edit, *reading("b", error), **stale) == []
    assert goes(*reading("a", known), *reading("b", known), flags_failures=False) == ["a"]


def test_an_image_is_shown_again_by_an_image_alone():
    image = Block("image", image=Image("image/png", 9, 20, 20))
    assert goes(*reading("a", image), *reading("b", image)) == ["a"]
    assert goes(*reading("a", image), *reading("b", "some text")) == []


@pytest.mark.parametrize("given", [{"offset": -50}, {"pages": "1-3"}])
def test_lines_that_are_not_counted_from_the_start_are_shown_by_all_of_them(given):
    assert goes(*reading("a", part(350, 399), **given), *reading("b", part(1, 399))) == ["a"]
    assert goes(*reading("a", part(1, 50)), *reading("b", part(350, 399), **given)) == []


def shown(answer, **given):
    answered = result("c", answer)
    found = Shown(reads_of(read("c", **given), answered)[0], answered)
    return found.start, found.stop, found.sure


def test_numbers_tell_where_a_read_begins_and_ends():
    assert shown(part(3, 9, NUMBERINGS[1])) == (3, 10, 10)
    assert shown(part(3, 9)) == (1, END, 1)
    assert shown("5: not\nnumbered\n" * 80) == (1, END, 1)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 30)), min_size=2, max_size=14))
def test_no_line_is_lost_of_overlapping_reads(ranges):
    messages = []
    for number, (start, many) in enumerate(ranges):
        text = part(start, start + many - 1, NUMBERINGS[0])
        messages += reading(f"r{number}", text, offset=start, limit=many)
    gone = set(goes(*messages))
    before = {n for start, many in ranges for n in range(start, start + many)}
    left = [one for number, one in enumerate(ranges) if f"r{number}" not in gone]
    assert {n for start, many in left for n in range(start, start + many)} == before
    for number, (start, many) in enumerate(ranges):
        covered = any(s <= start and start + many <= s + m for s, m in ranges[number + 1 :])
        assert (f"r{number}" in gone) == covered


def test_overlapping_reads_of_one_file_take_no_time_of_squares():
    def seconds(many):
        messages = []
        for number in range(many):
            messages += reading(f"r{number}", "a\nb", offset=number * 3 + 1, limit=2)
        found = view(user("go"), *messages, assistant("done")).view
        start = time.process_time()
        assert not superseded(found, Protected(found))
        return time.process_time() - start

    seconds(200)
    assert seconds(8000) < 30 * max(seconds(1000), 0.01)
