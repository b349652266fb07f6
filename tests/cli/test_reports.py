"""What a stage says: one line for people, one record for machines, never content."""

import re

import pytest
from shell import (
    ANSWER,
    BROKEN,
    CHARS,
    CUT,
    LONG,
    OPEN,
    SAMPLES,
    USER,
    lines,
    records,
    refused,
    run,
    said,
)

from compactctl import layers


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
    assert re.fullmatch(r"  line 3: truncate toolu_1: [\d,]+ → \d+ tokens", second)


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
