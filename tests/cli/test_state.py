"""``state``: records that a person can write, and files of them that can be checked."""

import json

import msgspec
import pytest
from helpers.shell import ANSWER, CHARS, LONG, SAMPLES, USER, fact, lines, refused, run, said

from compactctl.durable.records import DurableFact, PendingItem, RetrievalEvidence

TIME = "2026-01-02T03:04:05+01:00"
FACT = ("state", "add", "fact", "--content", "Rounded once.", "--source", "transcript:s1:2")
ITEM = ("state", "add", "pending", "--description", "Tell them.", "--source", "transcript:s1:2")
EVIDENCE = (
    *("state", "add", "evidence", "--source-id", "wiki/1", "--source-type", "note"),
    *("--title", "Rounding", "--captured-at", TIME, "--score", "0.5", "--rank", "2"),
)


@pytest.fixture
def sessions(tmp_path):
    """A folder with a session whose second record says when it was written."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "s1.jsonl").write_bytes(lines(USER, ANSWER | {"recorded_at": TIME}, ANSWER))
    return folder


def added(done):
    assert done.returncode == 0, said(done)
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def test_a_fact_takes_its_time_from_the_record_and_its_id_from_its_content(sessions):
    record = added(run(*FACT, "--transcripts", sessions))
    assert record.pop("fact_id").startswith("fact-")
    assert record == {
        "type": "compactctl.fact",
        "content": "Rounded once.",
        "source_pointer": "transcript:s1:2",
        "last_confirmed_at": TIME,
    }
    assert run(*FACT, "--transcripts", sessions).stdout == run(*FACT, "--confirmed-at", TIME).stdout
    other = ("state", "add", "fact", "--content", "Rounded twice.", *FACT[5:])
    assert (
        added(run(*other, "--confirmed-at", TIME))["fact_id"]
        != added(run(*FACT, "--confirmed-at", TIME))["fact_id"]
    )


def test_every_kind_is_written_and_makes_a_state(tmp_path):
    state = tmp_path / "state.jsonl"
    for arguments in (
        (*FACT, "--id", "rounding", "--confirmed-at", TIME),
        (*ITEM, "--confirmed-at", TIME),
        (*ITEM, "--id", "later", "--blocked", "no key", "--confirmed-at", TIME),
        EVIDENCE,
        (*EVIDENCE, "--id", "m2", "--conflict-key", "k"),
    ):
        with state.open("ab") as file:
            assert run(*arguments, stdout=file).returncode == 0
    kinds = [json.loads(line)["type"] for line in state.read_bytes().splitlines()]
    assert len(kinds) == 5
    assert said(run("state", "check", state)) == "state: 1 file, no faults\n"
    shown = run("state", "list", state).stdout.decode().splitlines()
    assert [line.split()[0] for line in shown] == [
        *("fact", "open", "blocked"),
        *("evidence", "evidence"),
    ]
    listed = run("state", "list", state, "--json").stdout
    assert listed == state.read_bytes()


def test_a_state_gets_the_record_as_one_line_more(tmp_path):
    state = tmp_path / "state.jsonl"
    before = lines(fact("a")).replace(b": ", b" : ")
    state.write_bytes(before)
    done = run(*FACT[:3], state, *FACT[3:], "--confirmed-at", TIME)
    assert done.stdout.startswith(before)
    assert state.read_bytes() == before
    run(*FACT[:3], state, *FACT[3:], "--confirmed-at", TIME, "--in-place", "-q")
    assert state.read_bytes() == done.stdout
    text = refused(run(*FACT[:3], state, *FACT[3:], "--confirmed-at", TIME, "--in-place"), 1)
    assert "the id is repeated; see" in text


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (FACT, 1, "give --confirmed-at"),
        ((*FACT[:5], "--confirmed-at", TIME), 2, "fact needs --source"),
        (FACT[:3], 2, "fact needs --content, --source"),
        ((*FACT, "--score", "1"), 2, "--score is not for fact"),
        ((*FACT, "--confirmed-at", "2026-01-02"), 1, "with a zone"),
        ((*FACT[:5], "--source", "a b", "--confirmed-at", TIME), 1, "malformed_pointer"),
        ((*FACT[:4], " ", *FACT[5:], "--confirmed-at", TIME), 1, "content must be text"),
        (EVIDENCE[:7], 2, "evidence needs --title, --captured-at, --score, --rank"),
        ((*EVIDENCE, "--score", "nan"), 1, "score must be"),
        ((*EVIDENCE, "--rank", "0"), 1, "source_rank must be"),
        (("state", "add", "rumour"), 2, "fact, pending or evidence"),
        (("state",), 2, "say add, list, check"),
        (("state", "check"), 2, "needs a STATE"),
        (("state", "list", "s.jsonl", "--content", "x"), 2, "list only reads"),
        (("state", "check", "s.jsonl", "--in-place"), 2, "check only reads"),
        ((*FACT, "--confirmed-at", TIME, "--in-place"), 2, "STATE"),
    ],
)
def test_what_makes_no_record_is_refused_in_one_line(arguments, code, why):
    assert why in refused(run(*arguments), code)


@pytest.mark.parametrize(
    ("pointer", "state"),
    [
        ("transcript:s1:9", "missing (transcript_event_missing)"),
        ("transcript:s2:1", "missing (transcript_missing)"),
        ("artifact:s1:x:0123456789ab", "missing (artifact_missing)"),
    ],
)
def test_a_source_that_is_looked_at_must_be_there(sessions, pointer, state):
    arguments = (*FACT[:6], pointer, "--confirmed-at", TIME)
    roots = ("--transcripts", sessions, "--artifacts", sessions)
    assert f"{pointer} is {state}" in refused(run(*arguments, *roots), 1)
    assert run(*arguments).returncode == 0  # nobody looks


def test_a_record_without_a_time_needs_one(sessions):
    arguments = (*FACT[:6], "transcript:s1:1", "--transcripts", sessions)
    assert "has no time with a zone" in refused(run(*arguments), 1)
    assert added(run(*arguments, "--confirmed-at", TIME))["last_confirmed_at"] == TIME


def test_check_names_every_fault_of_every_record(tmp_path):
    state = tmp_path / "state.jsonl"
    state.write_bytes(
        lines(
            fact("a"),
            {"type": "compactctl.fact", "fact_id": "b", "content": " ", "last_confirmed_at": "x"},
            fact("a", content="Other."),
            USER,
        )
        + b"no JSON\n\n"
        + lines({"type": "compactctl.pending_item"})
    )
    done = run("state", "check", state)
    assert done.returncode == 1
    found = said(done).splitlines()
    assert [line.split(":")[1] for line in found[:-1]] == ["2", "3", "4", "5", "7"]
    for word in ("source_pointer is missing", "content must", "last_confirmed_at must"):
        assert word in found[0]
    assert "the id is repeated; see" in found[1]
    assert found[-1] == "state: 1 file, 5 faults"
    rows = [json.loads(line) for line in run("state", "check", state, "--json").stdout.splitlines()]
    assert [row["line"] for row in rows] == [2, 3, 4, 5, 7]
    assert all(f"{row['file']}:{row['line']}: {row['text']}" in found for row in rows)


def test_check_of_good_files_finds_nothing(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(lines(fact(name)))
    (tmp_path / "c").write_bytes(b"")
    done = run("state", "check", *(tmp_path / name for name in "abc"))
    assert (done.returncode, done.stdout) == (0, b"")
    assert said(done) == "state: 3 files, no faults\n"


def test_the_schema_has_every_field_of_every_kind():
    schema = json.loads(run("state", "--schema").stdout)
    for kind in (DurableFact, PendingItem, RetrievalEvidence):
        properties = schema["$defs"][kind.__name__]["properties"]
        assert list(properties) == ["type", *kind.__struct_fields__]


@pytest.mark.parametrize("change", [{"content": " "}, {"fact_id": ""}, {"source_pointer": 1}])
def test_the_schema_refuses_what_the_records_refuse(change):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fact() | change, DurableFact)
    assert msgspec.convert(fact(), DurableFact)


# compact --state: the records beside the result.


def test_compact_carries_the_records_and_leaves_the_state(tmp_path):
    state, source = tmp_path / "state.jsonl", tmp_path / "s.jsonl"
    records = lines(fact("a")).replace(b": ", b" : ") + lines(fact("b"))
    state.write_bytes(records)
    source.write_bytes(LONG)
    for soft in (1, 10**6):
        arguments = ("compact", source, *CHARS, "--soft-limit", soft)
        plain = run(*arguments, "--hard-limit", 10**6)
        done = run(*arguments, "--hard-limit", 10**6, "--state", state)
        assert done.returncode == 0, said(done)
        assert said(done) == said(plain)
        kept = done.stdout.splitlines(keepends=True)
        assert [line for line in kept if b"compactctl.fact" in line] == records.splitlines(
            keepends=True
        )
        rest = b"".join(line for line in kept if b"compactctl.fact" not in line)
        assert rest == plain.stdout
        assert run("validate", "--check", stdin=done.stdout).returncode == 0
    assert state.read_bytes() == records


@pytest.mark.parametrize("name", ["pi", "codex", "claude-code", "events"])
@pytest.mark.parametrize("end", [b"\n", b"\n\n", b""])
def test_no_record_is_the_first_or_the_last_line_of_a_clients_file(tmp_path, name, end):
    state = tmp_path / "state.jsonl"
    state.write_bytes(lines(fact("a"), fact("b")))
    stream = (SAMPLES / f"{name}.jsonl").read_bytes().rstrip(b"\n") + end
    given = ("compact", *CHARS, "--soft-limit", "2000", "--hard-limit", 10**6)
    plain = run(*given, stdin=stream).stdout
    found = run(*given, "--state", state, stdin=stream).stdout
    assert found.split(b"\n")[0] == plain.split(b"\n")[0]
    assert found.rstrip(b"\n").split(b"\n")[-1] == plain.rstrip(b"\n").split(b"\n")[-1]
    assert found.replace(lines(fact("a"), fact("b")), b"") == plain


def test_compact_adds_records_to_a_single_line(tmp_path):
    state = tmp_path / "state.jsonl"
    state.write_bytes(lines(fact("a")))
    for stream in (lines(USER), lines(USER).rstrip()):
        done = run("compact", *CHARS, "--state", state, stdin=stream)
        assert done.stdout == lines(USER, fact("a"))


def test_compact_adds_a_record_once(tmp_path):
    state = tmp_path / "state.jsonl"
    state.write_bytes(lines(fact("a"), fact("b")))
    stream = lines(fact("a")) + LONG
    done = run("compact", *CHARS, "--state", state, stdin=stream)
    assert done.stdout.count(b"compactctl.fact") == 2
    again = run("compact", *CHARS, "--state", state, stdin=done.stdout)
    assert again.stdout == done.stdout


def test_compact_refuses_records_that_do_not_hold_together(tmp_path):
    state = tmp_path / "state.jsonl"
    state.write_bytes(lines(fact("a", content="Other.")))
    stream = lines(fact("a")) + LONG
    assert "the id is repeated" in refused(run("compact", "--state", state, stdin=stream), 1)
    state.write_bytes(lines(USER))
    assert "not a durable record" in refused(run("compact", "--state", state, stdin=LONG), 1)


def test_a_bulk_run_takes_no_state(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "s.jsonl").write_bytes(LONG)
    state = tmp_path / "state.jsonl"
    state.write_bytes(lines(fact()))
    done = run("compact", tmp_path / "in", "-o", tmp_path / "out", "--state", state)
    assert "--state is for one file" in refused(done, 2)
