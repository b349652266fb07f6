"""What a transcript holds decides: every record up to the target, and nothing after it."""

import hashlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compactctl.durable.reasons import STATUS_OF
from compactctl.durable.resolver import SourcePointerResolver


def envelope(sequence, **fields):
    base = {
        "schema_version": 1,
        "sequence": sequence,
        "session_id": "s",
        "event_id": f"transcript:s:{sequence}",
    }
    return json.dumps({**base, "type": "message", **fields}).encode()


def resolve(folder, content, sequence=1):
    (folder / "s.jsonl").write_bytes(content)
    return SourcePointerResolver(folder).resolve(f"transcript:s:{sequence}")


def state(resolution):
    return resolution.status, resolution.reason, resolution.evidence_sha256


def available(record):
    return "available", "verified_transcript_event", hashlib.sha256(record).hexdigest()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"", b"\r"])
@pytest.mark.parametrize("sequence", [1, 2])
def test_a_record_is_verified_by_the_hash_of_its_bytes_without_line_end(tmp_path, end, sequence):
    content = envelope(1) + b"\n" + envelope(2) + end
    found = resolve(tmp_path, content, sequence)
    assert state(found) == available(envelope(sequence))
    assert found.source_type == "transcript"
    assert found.source_pointer == f"transcript:s:{sequence}"


def test_a_file_without_envelope_can_be_pointed_into_by_line(tmp_path):
    content = b'{"role":"user"}\n{"role":"assistant"}\n'
    assert state(resolve(tmp_path, content, 2)) == available(b'{"role":"assistant"}')


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c"])
def test_only_a_line_feed_ends_a_record(tmp_path, mark):
    record = json.dumps({"t": f"a{mark}b"}, ensure_ascii=mark < " ").encode()
    assert state(resolve(tmp_path, record + b"\n{}\n", 1)) == available(record)
    assert state(resolve(tmp_path, record + b"\n{}\n", 2)) == available(b"{}")


@pytest.mark.parametrize("record", [rb'{"t":"\ud800"}', b'{"n":1e5}', b' {"a":1,"a":2} ', b"{}\r"])
def test_odd_but_valid_records_are_hashed_as_they_are(tmp_path, record):
    assert state(resolve(tmp_path, record + b"\r\n")) == available(record)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"", "transcript_invalid_json"),
        (b"   ", "transcript_invalid_json"),
        (b'{"a":', "transcript_invalid_json"),
        (b"{}{}", "transcript_invalid_json"),
        (b'{"a":NaN}', "transcript_invalid_json"),
        (b'{"a":-Infinity}', "transcript_invalid_json"),
        (b"\xef\xbb\xbf{}", "transcript_invalid_json"),
        (b"\0\0{}", "transcript_invalid_json"),
        (b'{"a":' + b"9" * 5000 + b"}", "transcript_invalid_json"),
        (b'{"a":' + b"[" * 40_000 + b"]" * 40_000 + b"}", "transcript_invalid_json"),
        (b'{"a":"\xff"}', "source_not_utf8"),
        (b'{"a":"\xed\xa0\x80"}', "source_not_utf8"),
        (b"[]", "transcript_record_not_object"),
        (b"null", "transcript_record_not_object"),
        (b'"text"', "transcript_record_not_object"),
        (b'{"sequence":2}', "transcript_sequence_mismatch"),
        (b'{"sequence":true}', "transcript_sequence_mismatch"),
        (b'{"sequence":1.0}', "transcript_sequence_mismatch"),
        (b'{"sequence":"1"}', "transcript_sequence_mismatch"),
        (b'{"sequence":null}', "transcript_sequence_mismatch"),
        (b'{"session_id":"t"}', "transcript_session_mismatch"),
        (b'{"session_id":null}', "transcript_session_mismatch"),
        (b'{"event_id":"transcript:s:2"}', "transcript_event_id_mismatch"),
        (b'{"event_id":["transcript:s:1"]}', "transcript_event_id_mismatch"),
        (b'{"event_id":"x","session_id":"x","sequence":9}', "transcript_sequence_mismatch"),
        (b'{"event_id":"x","session_id":"x"}', "transcript_session_mismatch"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value[:30]),
)
def test_damage_at_or_before_the_target_is_corruption(tmp_path, record, reason):
    for sequence in (1, 2):
        found = resolve(tmp_path, record + b"\n{}\n", sequence)
        assert state(found) == ("corrupt", reason, None)


@pytest.mark.parametrize("later", [b"\xff", b"{", b"", b'{"sequence":9}', b"x" * 500_000])
def test_later_damage_does_not_matter(tmp_path, later):
    assert state(resolve(tmp_path, b"{}\n" + later + b"\n")) == available(b"{}")


@pytest.mark.parametrize("content", [b"", b"{}\n", b"{}"])
def test_a_file_that_ends_before_is_missing_the_event(tmp_path, content):
    assert state(resolve(tmp_path, content, 2)) == ("missing", "transcript_event_missing", None)


@pytest.mark.parametrize("letter", ["a", "é", "文", "😀"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_record_may_have_100_000_characters_and_no_more(tmp_path, letter, end):
    fits = '{"t":"' + letter * (100_000 - 8) + '"}'
    assert len(fits) == 100_000
    assert state(resolve(tmp_path, fits.encode() + end)) == available(fits.encode())
    beyond = fits.replace(letter, letter * 2, 1).encode()
    reason = "transcript_record_too_large"
    assert state(resolve(tmp_path, beyond + end)) == ("corrupt", reason, None)


def test_size_is_told_before_encoding_and_an_endless_line_is_not_read_whole(tmp_path):
    (tmp_path / "s.jsonl").touch()
    with (tmp_path / "s.jsonl").open("r+b") as file:
        file.truncate(2**40)  # sparse; reading it whole would not end well
    found = SourcePointerResolver(tmp_path).resolve("transcript:s:1")
    assert state(found) == ("corrupt", "transcript_record_too_large", None)
    found = resolve(tmp_path, b"a" * 100_001 + b"\xff\n")
    assert found.reason == "transcript_record_too_large"


def test_many_pointers_get_what_each_would_get_alone(tmp_path):
    records = [envelope(1), envelope(2), b"{", envelope(4)]
    (tmp_path / "s.jsonl").write_bytes(b"\n".join(records))
    resolver = SourcePointerResolver(tmp_path)
    pointers = [f"transcript:s:{n}" for n in (4, 2, 3, 1, 9, 2)] + ["bad", "transcript:t:1"]
    together = resolver.resolve_many(pointers)
    assert together == tuple(resolver.resolve(pointer) for pointer in pointers)
    assert [found.status for found in together[:5]] == [
        "corrupt",
        "available",
        "corrupt",
        "available",
        "corrupt",
    ]


def test_a_number_of_many_digits_beyond_every_file_is_missing(tmp_path):
    found = resolve(tmp_path, b"{}\n", "9" * 100)
    assert state(found) == ("missing", "transcript_event_missing", None)


LINES = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.sampled_from([b"{}", b'{"sequence":1}', b'{"session_id":"s"}', b"[" * 3000, b"\xff"]),
    ),
    max_size=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, st.integers(1, 5))
def test_any_bytes_have_a_state(tmp_path, lines, sequence):
    found = resolve(tmp_path, b"\n".join(lines), sequence)
    assert STATUS_OF["transcript"][found.reason] == found.status
    assert (found.status == "available") == (found.evidence_sha256 is not None)
