"""``--report``: one JSON record a stage, always of the same keys, never content."""

from pathlib import Path

from helpers.shell import CHARS, CUT, LOG, LONG, fact, lines, records, refused, run, said

from compactctl._version import __version__

KEYS = [
    "stage",
    "version",
    "source",
    "format",
    "tokenizer",
    "tokens_before",
    "tokens_after",
    "tokens_saved",
    "messages_before",
    "messages_after",
    "lines",
    "actions",
    "first_changed_message",
    "warnings",
    "seconds",
]
LINE_KEYS = ["kept", "changed", "dropped", "added", "unreadable"]
ACTION_KEYS = ["rule", "line", "call_id", "tokens_before", "tokens_after", "pointer"]


def test_the_record_has_exactly_the_keys_of_the_contract(source, tmp_path):
    report = tmp_path / "report.jsonl"
    assert run(*CUT, source, "--report", report).returncode == 0
    assert report.stat().st_mode & 0o777 == 0o600
    (entry,) = records(report)
    assert list(entry) == KEYS
    assert list(entry["lines"]) == LINE_KEYS
    (action,) = entry["actions"]
    assert list(action) == ACTION_KEYS
    assert action == {
        "rule": "truncate",
        "line": 3,
        "call_id": "toolu_1",
        "tokens_before": -(-len(LOG) // 4),
        "tokens_after": action["tokens_after"],
        "pointer": None,
    }
    assert 0 < action["tokens_after"] <= 100
    saved = entry["tokens_before"] - entry["tokens_after"]
    seconds = entry.pop("seconds")
    assert 0 <= seconds < 60
    assert entry | {"actions": []} == {
        "stage": "truncate",
        "version": __version__,
        "source": str(source),
        "format": "messages",
        "tokenizer": "chars",
        "tokens_before": entry["tokens_before"],
        "tokens_after": entry["tokens_after"],
        "tokens_saved": saved,
        "messages_before": 8,
        "messages_after": 8,
        "lines": {"kept": 7, "changed": 1, "dropped": 0, "added": 0, "unreadable": 0},
        "actions": [],
        "first_changed_message": 2,
        "warnings": [],
    }


def test_every_stage_appends_a_record_of_the_same_keys(tmp_path):
    report, stream = tmp_path / "report.jsonl", lines(fact()) + LONG
    commands = (
        ("validate", *CHARS),
        CUT,
        ("dedup", *CHARS),
        ("prune", "--keep-turns", "1", *CHARS),
        ("summarize", "--keep-messages", "1", *CHARS),
        ("resolve",),
        ("compact", *CHARS),
        ("render",),
    )
    for command in commands:
        done = run(*command, stdin=stream, env={"COMPACTCTL_REPORT": str(report)})
        assert done.returncode == 0, said(done)
        before = stream.count(b"\n")
        stream = done.stdout
        entry = records(report)[-1]
        assert list(entry) == KEYS, command
        assert entry["stage"] == command[0]
        counts = entry["lines"]
        assert list(counts) == LINE_KEYS
        assert sum(counts.values()) - counts["added"] == before
        if command[0] != "render":
            assert sum(counts.values()) - counts["dropped"] == stream.count(b"\n")
        if command[0] in {"resolve", "render"}:
            counted = [value for key, value in entry.items() if key.startswith("tokens_")]
            assert counted == [None] * 3
    assert len(records(report)) == len(commands)


def test_no_report_holds_content(tmp_path):
    report = tmp_path / "report.jsonl"
    secret = "sk-live-0123456789"
    stream = LONG.replace(b"step 1:", secret.encode()).replace(b"typo", secret.encode())
    stream = lines(fact() | {"content": secret, "source_pointer": f"{secret} {secret}"}) + stream
    said_all = ""
    for command in (CUT, ("compact", *CHARS, "--soft-limit", "9"), ("resolve",), ("render", "-q")):
        verbose = () if command[0] == "render" else ("-v",)
        done = run(*command, *verbose, "--report", report, stdin=stream)
        assert done.returncode == 0
        said_all += "" if command[0] == "resolve" else said(done)
    assert secret not in said_all
    assert secret not in report.read_text()


def test_the_record_of_resolve_names_each_source(tmp_path):
    report = tmp_path / "report.jsonl"
    run("resolve", "--report", report, stdin=lines(fact()))
    (entry,) = records(report)
    assert entry["lines"] == {"kept": 1, "changed": 0, "dropped": 0, "added": 1, "unreadable": 0}
    (action,) = entry["actions"]
    assert (action["rule"], action["pointer"]) == ("transcript_missing", "transcript:s1:1")


def test_a_report_that_cannot_be_written_leaves_nothing_half_done(source, tmp_path):
    output = tmp_path / "out.jsonl"
    missing = tmp_path / "missing" / "report.jsonl"
    places = [missing, tmp_path, *(["/dev/full"] if Path("/dev/full").exists() else [])]
    for place in places:
        for command in (CUT, ("resolve",), ("render",)):
            refused(run(*command, source, "--report", place), 3)
    refused(run(*CUT, source, "-o", output, "--report", missing), 3)
    assert not output.exists()


def test_a_report_is_never_appended_to_a_transcript(source, tmp_path):
    output, hard = tmp_path / "out.jsonl", tmp_path / "hard.jsonl"
    hard.hardlink_to(source)
    refused(run(*CUT, source, "--report", hard), 2)
    refused(run(*CUT, source, "-o", output, "--report", output), 2)
    refused(run("resolve", source, "--report", source), 2)
    refused(run("render", source, "--report", source), 2)
    with source.open("rb") as file:
        refused(run(*CUT, "--report", source, stdin=file), 2)
    assert source.read_bytes() == LONG
    assert not output.exists()


def test_a_report_that_is_standard_output_is_refused(source, tmp_path):
    report = tmp_path / "out.jsonl"
    with report.open("wb") as file:
        assert "is read or written already" in refused(
            run(*CUT, source, "--report", report, stdout=file), 2
        )
    assert report.read_bytes() == b""
    with Path("/dev/null").open("wb") as file:
        assert run(*CUT, source, "--report", "/dev/null", stdout=file).returncode == 0
