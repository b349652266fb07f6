"""What a stage says: one line for people, one record for machines, never content."""

import base64
import re

import pytest
from helpers.shell import (
    ANSWER,
    BROKEN,
    CHARS,
    CUT,
    LOG,
    LONG,
    OPEN,
    SAMPLES,
    USER,
    call,
    lines,
    records,
    refused,
    result,
    run,
    said,
)

from compactctl import cli, layers
from compactctl.jsonl import lines as jsonl_lines


def test_the_line_for_people(source):
    line = said(run(*CUT, source))
    number = r"\d{1,3}(,\d{3})*"
    assert re.fullmatch(
        rf"truncate: {number} → {number} tokens \(−\d+\.\d%\), 1 result cut, "
        r"first change at message 2 \[chars\]\n",
        line,
    ), line


def test_a_stage_with_nothing_to_do_shows_no_arrow():
    assert said(run("truncate", *CHARS, stdin=lines(USER, ANSWER))) == (
        "truncate: 11 tokens, 0 results cut [chars]\n"
    )


def test_quiet_says_nothing(source):
    for command in (CUT, ("compact", *CHARS), ("validate",), ("resolve",), ("render",)):
        assert said(run(*command, source, "--quiet")) == ""
    assert said(run(*CUT, "-q", stdin=OPEN)) == ""


def test_quiet_still_says_errors():
    assert "PAIR-01 toolu_1" in refused(run(*CUT, "-q", stdin=BROKEN), 1)


def test_verbose_lists_every_action(source):
    first, second = said(run(*CUT, source, "-v")).splitlines()
    assert first.startswith("truncate: ")
    assert re.fullmatch(r"  line 3: truncate toolu_1 \(Bash\): [\d,]+ → \d+ tokens", second)


def test_verbose_names_tool_paths_and_pointer(tmp_path):
    path = tmp_path / "s.jsonl"
    cat = "cat a.py b.py c.py d.py e.py"
    path.write_bytes(
        lines(
            USER,
            call("toolu_1", "Read", file_path="/w/long.py"),
            result("toolu_1", LOG),
            call("toolu_2", "Bash", command=cat),
            result("toolu_2", LOG),
            ANSWER,
        )
    )
    options = ("--max-tokens", "200", *CHARS, "-v", "--artifacts", tmp_path / "kept")
    shown = said(run("truncate", path, *options)).splitlines()[1:]
    artifact = r"artifact:[\w.-]+:[\w.-]+:[0-9a-f]{12}"
    assert re.fullmatch(
        rf"  line 3: truncate toolu_1 \(Read /w/long\.py\): [\d,]+ → \d+ tokens, {artifact}",
        shown[0],
    )
    assert re.fullmatch(
        rf"  line 5: truncate toolu_2 \(Bash a\.py b\.py c\.py and 2 more\): .+, {artifact}",
        shown[1],
    )


UNREADABLE = b"\xff\xfe\n" + b'{"role":\n' + b"\n  \n" + b"[1]\n"
"""Three lines that hold something that cannot be read, and two that hold nothing."""


@pytest.mark.parametrize(
    "command",
    [(stage, *CHARS) for stage in (*layers.ORDER, "compact", "stats")]
    + [("validate",), ("resolve",), ("render",)],
    ids=lambda command: command[0],
)
def test_lines_that_cannot_be_read_are_in_the_line_of_every_stage(command, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(LONG + UNREADABLE + LONG[:0])
    told = [line for line in said(run(*command, path)).splitlines() if "unreadable" in line]
    assert len(told) == 1
    assert "3 lines unreadable" in told[0]
    path.write_bytes(LONG + b"\n  \n")
    assert "unreadable" not in said(run(*command, path))


@pytest.mark.parametrize(
    ("command", "gone"),
    [
        (("truncate", "--images", "drop"), 3),
        (("truncate", "--images", "placeholder"), 3),
        (("truncate",), 0),
        (("prune", "--keep-turns", "1"), 2),
        (("compact", "--layers", "truncate,prune", "--images", "drop", "--soft-limit", "1"), 3),
    ],
    ids=["dropped", "described", "kept", "with their turns", "by several layers"],
)
def test_images_that_go_are_counted_by_one_not_by_result(command, gone):
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    texts = {"type": "text", "text": LOG}
    session = lines(
        USER,
        call("toolu_1"),
        result("toolu_1", [texts, image, image]),
        ANSWER,
        {"role": "user", "content": [{"type": "text", "text": "And this?"}, image]},
        ANSWER,
    )
    told = said(run(*command, *CHARS, stdin=session))
    assert told.count("taken out") == bool(gone)
    assert (f", {gone} images taken out" in told) == bool(gone)


def test_a_call_whose_result_may_be_in_a_line_too_long_to_read_is_not_called_open(
    monkeypatch, capfd, tmp_path
):
    path, report = tmp_path / "s.jsonl", tmp_path / "report.jsonl"
    path.write_bytes(lines(USER, call("toolu_1"), result("toolu_1", "x" * 9000)))
    out = ("-o", str(tmp_path / "out.jsonl"), "--report", str(report))
    for longest, told in ((8000, ", 1 line unreadable"), (1 << 20, None)):
        monkeypatch.setattr(jsonl_lines, "LONGEST", longest)
        for stage in ("truncate", "dedup", "compact"):
            assert cli.run([stage, *CHARS, str(path), *out]) == 0
        shown = capfd.readouterr().err
        assert shown.count("unreadable") == (3 if told else 0)
        assert "TAIL-01" not in shown
    assert [entry["warnings"] for entry in records(report)[:3]] == [[], [], []]


def test_an_open_tail_is_a_warning(tmp_path):
    report = tmp_path / "report.jsonl"
    done = run(*CUT, "--report", report, stdin=OPEN)
    assert (done.returncode, done.stdout) == (0, OPEN)
    assert said(done).startswith("-:2: warning TAIL-01: ")
    assert records(report)[0]["warnings"] == ["TAIL-01 line 2"]


def test_a_broken_transcript_is_refused_by_line_rule_and_id(tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_bytes(BROKEN)
    for stage in (*layers.ORDER, "compact"):
        line = refused(run(stage, *CHARS, path), 1)
        assert line.startswith(f"compactctl: {path}:2: PAIR-01 toolu_1: ")


def test_above_the_hard_limit_is_exit_4_and_no_content(source, tmp_path):
    output, report = tmp_path / "out.jsonl", tmp_path / "report.jsonl"
    limits = ("--soft-limit", "10", "--hard-limit", "20")
    for more in ((), ("-o", output, "--report", report)):
        line = refused(run("compact", *CHARS, *limits, source, *more), 4)
        assert re.search(r"still \d+ tokens \(from [\d,]+\)", line)
        assert "truncate, dedup, prune, summarize" in line
        assert "the hard limit is 20" in line
        assert "step 1" not in line
        assert "build" not in line
    assert not output.exists()


def test_compact_sums_up_its_layers(source, tmp_path):
    report = tmp_path / "report.jsonl"
    options = ("--soft-limit", "100", "--max-tokens", "60", "--report", report)
    *layers, total = said(run("compact", *CHARS, *options, source)).splitlines()
    ran = [line.partition(":")[0] for line in layers]
    assert f", after {', '.join(ran)}, first change at message " in total
    (entry,) = records(report)
    assert entry["stage"] == "compact"
    assert total.startswith(
        f"compact: {entry['tokens_before']:,} → {entry['tokens_after']:,} tokens (−"
    )


def test_compact_below_the_limit_says_so(source, tmp_path):
    report = tmp_path / "report.jsonl"
    done = run("compact", *CHARS, source, "--report", report)
    assert done.stdout == LONG
    assert re.fullmatch(
        r"compact: [\d,]+ tokens, already below the soft limit \[chars\]\n", said(done)
    )
    (entry,) = records(report)
    assert entry["tokens_before"] == entry["tokens_after"] > 1000
    assert entry["tokens_saved"] == 0


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")
def test_the_default_counter_is_named():
    line = said(run("truncate", SAMPLES / "messages.jsonl"))
    assert line.startswith("truncate: ")
    assert line.endswith(" [o200k_base]\n")
