"""Durable records that cannot be read are refused in a stream as in a state file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compactctl import cli
from compactctl.durable import stream
from compactctl.errors import InvalidTranscriptError

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
SAID = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}]
FACT = (
    b'{"type":"compactctl.fact","fact_id":"f","content":"It is red.",'
    b'"source_pointer":"transcript:s:1","last_confirmed_at":"2026-01-01T00:00:00Z"}'
)
EVIDENCE = (
    b'{"type":"compactctl.retrieval_evidence","memory_id":"m","source_id":"s","source_type":"t",'
    b'"source_title":"T","captured_at":"2026-01-01T00:00:00Z","score":0.5,"source_rank":1}'
)


def jsonl(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


DAMAGED = {
    "NaN": EVIDENCE.replace(b"0.5", b"NaN"),
    "Infinity": EVIDENCE.replace(b"0.5", b"-Infinity"),
    "torn": FACT[:-9],
    "torn after the type": FACT[:26],
    "no UTF-8": FACT.replace(b"red", b"r\xffd"),
    "a raw tab": FACT.replace(b"is red", b"is\tred"),
    "glued behind a torn line": b'{"role":"user","cont' + FACT,
    "glued with what is damaged": FACT + EVIDENCE.replace(b"0.5", b"NaN"),
    "type last": b'{"fact_id":NaN,"type" : "compactctl.pending_item"}',
    "deep": FACT[:-1] + b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "kept by repair": json.dumps(
        {"type": "compactctl.unreadable", "text": FACT[:-9].decode()}
    ).encode(),
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_damaged_record_is_refused_with_line_and_reason(name, end):
    lines = [*jsonl(*SAID).splitlines(keepends=True), DAMAGED[name] + end]
    with pytest.raises(InvalidTranscriptError) as refused:
        stream.read(lines, "s.jsonl")
    assert (refused.value.file, refused.value.line) == ("s.jsonl", 3)
    assert "a durable record cannot be read: " in refused.value.what


@pytest.mark.parametrize("command", ["resolve", "render"])
def test_stream_and_state_are_refused_alike_and_nothing_is_written(command, tmp_path, capfd):
    damaged = DAMAGED["NaN"] + b"\n"
    (tmp_path / "s.jsonl").write_bytes(jsonl(*SAID) + damaged)
    (tmp_path / "ok.jsonl").write_bytes(jsonl(*SAID))
    (tmp_path / "state.jsonl").write_bytes(damaged)
    out = ("-o", str(tmp_path / "out"))
    assert cli.run([command, str(tmp_path / "s.jsonl"), *out]) == 1
    told = capfd.readouterr().err
    assert f"{tmp_path}/s.jsonl:3: a durable record cannot be read: NaN is not JSON" in told
    if command == "resolve":
        state = ("--state", str(tmp_path / "state.jsonl"))
        assert cli.run([command, str(tmp_path / "ok.jsonl"), *state, *out]) == 1
        assert "state.jsonl:1: a durable record cannot be read: NaN" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


HARMLESS = {
    "torn": b'{"role":"user","content":"a tor',
    "torn, and speaks of records": json.dumps({"role": "user", "content": FACT.decode()}).encode()[
        :-4
    ],
    "no UTF-8, and speaks of records": b'{"role":"user","content":"compactctl.fact \xff"}',
    "NaN beside the word": b'{"role":"user","content":"compactctl.","x":NaN}',
    "kept by repair": json.dumps(
        {"type": "compactctl.unreadable", "text": '{"role":"user","content":"compactctl.f'}
    ).encode(),
    "of another kind": b'{"type":"compactctl.compaction","summary":NaN}',
}


@pytest.mark.parametrize("name", HARMLESS)
def test_any_other_damaged_line_is_passed_over(name):
    lines = [HARMLESS[name] + b"\n", FACT + b"\n"]
    assert [line.number for line in stream.read(lines, "s.jsonl")] == [2]


@pytest.mark.parametrize("command", ["resolve", "render"])
def test_case_durable_nan_in_stream(command, tmp_path, capfd):
    case = CASES / "durable-nan-in-stream.jsonl"
    if not case.exists():
        pytest.skip("the cases are not here")
    assert cli.run([command, str(case), "-o", str(tmp_path / "out")]) == 1
    assert "durable-nan-in-stream.jsonl:1: a durable record cannot be read: NaN" in (
        capfd.readouterr().err
    )


def test_case_c19c_unreadable_lines_are_said(tmp_path, capfd):
    case = CASES / "c19c-utf8-then-utf16.jsonl"
    if not case.exists():
        pytest.skip("the cases are not here")
    assert cli.run(["compact", str(case), "-o", str(tmp_path / "out")]) == 0
    assert "4 lines unreadable" in capfd.readouterr().err
