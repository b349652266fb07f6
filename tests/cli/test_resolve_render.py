"""resolve and render as commands: records travel untouched, resolutions match one to one."""

import json

import pytest
from helpers.shell import ANSWER, USER, fact, lines, refused, resolution, run, said

from compactctl import cli

TALK = lines(USER, ANSWER)
ODD = (
    b'{ "role":"user", "content" : "caf\\u00e9 \xe2\x80\xa8", "n":1e5 }\r\n'
    b"no JSON\n\n[1]\n"
    b'{"type":"compactctl.unheard_of","x":1}\n'
    b'{"role":"assistant","content":"ok"}{"role":"user","content":"\\ud83d"}\n'
)
TORN = b'{"role":"assistant","conte'


@pytest.fixture
def roots(tmp_path):
    """A transcript folder that holds the session s1 with one record."""
    folder = tmp_path / "transcripts"
    folder.mkdir()
    (folder / "s1.jsonl").write_bytes(lines(USER))
    return ("--transcripts", folder)


@pytest.fixture
def here(capfdbinary, tmp_path):
    """Run resolve or render in this process on ``stream``: (exit code, output, errors)."""

    def run_here(command, stream, *options, state=None):
        path = tmp_path / "stream.jsonl"
        path.write_bytes(stream)
        if state is not None:
            (tmp_path / "state.jsonl").write_bytes(state)
            options = ("--state", tmp_path / "state.jsonl", *options)
        code = cli.run([command, str(path), *map(str, options)])
        out, complaint = capfdbinary.readouterr()
        return code, out, complaint.decode()

    return run_here


def parsed(content):
    return [json.loads(line) for line in content.splitlines()]


def test_every_line_of_the_stream_stays_as_it_is(here, roots):
    code, out, complaint = here("resolve", ODD, *roots, state=lines(fact("f")))
    assert code == 0
    assert out.startswith(ODD)
    record, found = parsed(out[len(ODD) :])
    assert record == fact("f")
    assert (found["status"], found["reason"]) == ("available", "verified_transcript_event")
    assert complaint == "resolve: 1 source: 1 available, 2 lines unreadable\n"


def test_records_of_the_state_keep_their_bytes(here):
    state = lines(fact("f")).replace(b": ", b" :  ") + b"\n" + lines(fact("g")).rstrip()
    expected = TALK + state.replace(b"\n\n", b"\n") + b"\n"
    assert here("resolve", TALK, state=state)[1].startswith(expected)
    assert here("resolve", TALK, state=b"\xef\xbb\xbf" + state + b"\0")[1].startswith(expected)


def test_resolving_twice_is_resolving_once(here, roots):
    state = lines(fact("f"), fact("g", "transcript:s1:2"), fact("h", "x:1"))
    for stream in (TALK, TALK.rstrip(), TALK + TORN, TALK.replace(b"\n", b"\r\n"), ODD):
        once = here("resolve", stream, *roots, state=state)[1]
        assert here("resolve", once, *roots, state=state)[1] == once
        assert here("resolve", once, *roots)[1] == once


def test_a_torn_tail_stays_the_tail(here):
    out = here("resolve", TALK + TORN, state=lines(fact("f")))[1]
    assert out.startswith(TALK)
    assert out.endswith(b"}\n" + TORN)


def test_line_ends_follow_the_stream(here):
    out = here("resolve", TALK.replace(b"\n", b"\r\n"), state=lines(fact("f")))[1]
    assert out.count(b"\r\n") == out.count(b"\n") == 4


def test_a_resolution_that_no_longer_holds_is_replaced(here, roots):
    folder = roots[1]
    stream = lines(fact("f"), fact("g", "transcript:s2:1")) + TALK
    first = here("resolve", stream, *roots)[1]
    assert [r["status"] for r in parsed(first)[4:]] == ["available", "missing"]
    (folder / "s1.jsonl").unlink()
    (folder / "s2.jsonl").write_bytes(lines(USER))
    second = here("resolve", first, *roots)[1]
    assert second.startswith(stream)
    assert [r["status"] for r in parsed(second)[4:]] == ["missing", "available"]
    forged = stream + lines(resolution(status="available", reason="verified_transcript_event"))
    assert parsed(here("resolve", forged)[1])[4:] == [
        resolution(),
        resolution("transcript:s2:1"),
    ]


def test_one_resolution_for_each_pointer_in_first_seen_order(here):
    stream = lines(fact("a", "transcript:s1:2"), fact("b"), fact("c", "transcript:s1:2"))
    found = parsed(here("resolve", stream, "--json")[1])
    assert [r["source_pointer"] for r in found] == ["transcript:s1:2", "transcript:s1:1"]


def test_json_is_the_resolutions_only(here, tmp_path):
    expected = lines(resolution()).replace(b": ", b":").replace(b", ", b",")
    stream = TALK + lines(fact("f"))
    assert here("resolve", stream, "--json")[1] == expected
    assert here("resolve", stream, "--json", "-o", tmp_path / "out")[1] == b""
    assert (tmp_path / "out").read_bytes() == expected


def test_records_in_both_stream_and_state_count_once(here):
    stream = lines(fact("f")) + TALK
    respelled = lines(fact("f")).replace(b'": ', b'":')
    code, out, _ = here("resolve", stream, state=respelled + lines(fact("g")))
    assert code == 0
    assert [r.get("fact_id") for r in parsed(out)] == ["f", None, None, "g", None]


@pytest.mark.parametrize(
    ("stream", "state", "place"),
    [
        (lines(fact("f")) + TALK, lines(fact("g"), fact("f", content="Other.")), "state.jsonl:2"),
        (TALK + lines(fact("f"), fact("f")), None, "stream.jsonl:4"),
        (TALK, lines(fact("f"), fact("f")), "state.jsonl:2"),
        (lines(fact("f")) + TALK, lines(fact("f"), fact("f")), "state.jsonl:2"),
    ],
)
def test_a_repeated_id_is_refused_with_both_places(here, stream, state, place):
    code, out, complaint = here("resolve", stream, state=state)
    assert (code, out) == (1, b"")
    assert f'{place}: compactctl.fact "f": the id is repeated; see ' in complaint


def test_resolutions_in_the_state_say_nothing_of_now(here, roots):
    old = resolution(reason="transcript_event_missing")
    out = here("resolve", TALK, *roots, state=lines(fact("f"), old))[1]
    assert [r["status"] for r in parsed(out)[3:]] == ["available"]


@pytest.mark.parametrize(
    "line",
    [b"hello\n", b'{"type":"other"}\n', b"[]\n", lines(USER), lines(fact("f")).strip() + b"{}\n"],
)
def test_a_state_file_holds_records_only(here, line):
    code, out, complaint = here("resolve", TALK, state=lines(fact("a")) + b"\n" + line)
    assert (code, out) == (1, b"")
    assert "state.jsonl:3: not a durable record" in complaint


@pytest.mark.parametrize("command", ["resolve", "render"])
def test_a_refused_record_is_named_by_its_line(here, command):
    bad = fact("f") | {"last_confirmed_at": "2026-01-01T00:00:00"}
    code, out, complaint = here(command, TALK + lines(bad))
    assert (code, out) == (1, b"")
    assert 'stream.jsonl:3: compactctl.fact "f": last_confirmed_at must be ' in complaint


def test_glued_records_count_like_any_other(here):
    glued = TALK + lines(fact("f")).rstrip() + lines(resolution(), ANSWER)
    out = here("resolve", glued)[1]
    assert out == glued  # what it says still holds
    stale = (
        TALK + lines(fact("f")).rstrip() + lines(resolution(reason="source_disappeared"), ANSWER)
    )
    assert parsed(here("resolve", stale)[1]) == [USER, ANSWER, fact("f"), ANSWER, resolution()]


def test_an_empty_state_and_no_records_are_fine(here):
    assert here("resolve", TALK, state=b"")[:2] == (0, TALK)
    assert here("resolve", TALK)[2] == "resolve: no sources to resolve\n"
    assert here("render", TALK)[:2] == (0, b"")


@pytest.mark.parametrize("option", ["--transcripts", "--artifacts"])
@pytest.mark.parametrize("command", ["resolve", "show", "pending", "state"])
def test_a_root_that_is_no_folder_is_an_error_without_its_path(tmp_path, command, option):
    (tmp_path / "state.jsonl").write_bytes(lines(fact("f")))
    arguments = {
        "resolve": (tmp_path / "state.jsonl",),
        "show": ("transcript:s1:1",),
        "pending": (tmp_path / "state.jsonl", "reopen", "f", "--confirmed-at", "x"),
        "state": ("add", "fact", "--content", "x", "--source", "transcript:s1:1"),
    }[command]
    if command == "pending":
        record = fact("f") | {"type": "compactctl.pending_item", "item_id": "f", "description": "d"}
        (tmp_path / "state.jsonl").write_bytes(lines(record))
    for root in (tmp_path / "secret", tmp_path / "state.jsonl"):
        text = refused(run(command, *arguments, option, root), 2)
        assert f"{option} is not a folder" in text
        assert str(root) not in text


def test_verbose_names_every_source(here):
    complaint = here("resolve", lines(fact("f")), "-v")[2]
    assert complaint.endswith("  transcript:s1:1: missing (transcript_missing)\n")


def test_the_policy_is_asked_first(here, tmp_path, roots):
    (tmp_path / "policy.toml").write_text('deny = ["s*"]\n')
    out = here("resolve", lines(fact("f")), *roots, "--policy", tmp_path / "policy.toml", "--json")[
        1
    ]
    assert parsed(out)[0]["reason"] == "policy_denied"


def test_render_shows_what_resolve_found(roots):
    resolved = run("resolve", *roots, stdin=TALK + lines(fact("f"))).stdout
    done = run("render", stdin=resolved)
    assert done.returncode == 0
    assert b'fact_id="f"' in done.stdout
    assert b"source_status=available" in done.stdout
    assert said(done) == ""


def test_render_without_resolutions_warns(here):
    code, out, complaint = here("render", TALK + lines(fact("f")))
    assert code == 0
    assert b"source_status" not in out
    assert complaint.startswith("render: sources were not resolved")


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([fact("f"), fact("g", "transcript:s1:2"), resolution()], "is missing"),
        ([fact("f"), resolution(), resolution()], "is repeated"),
        ([fact("f"), resolution(), resolution("transcript:s1:9")], "belongs to no durable record"),
        ([resolution()], "belongs to no durable record"),
        ([fact("f"), resolution(status="available")], "contradicts itself"),
        ([fact("f"), resolution(evidence_sha256="a" * 64)], "contradicts itself"),
    ],
)
def test_render_refuses_resolutions_that_do_not_match(here, records, why):
    code, out, complaint = here("render", TALK + lines(*records))
    assert (code, out) == (1, b"")
    assert "stream.jsonl: the source resolution of " in complaint
    assert why in complaint


def test_render_writes_a_file_whole(tmp_path):
    output = tmp_path / "context.txt"
    done = run("render", "-q", "-o", output, stdin=lines(fact("f")))
    assert (done.returncode, done.stdout) == (0, b"")
    assert output.read_text().startswith("Durable context")


def test_an_empty_stream_is_refused_even_with_a_state(tmp_path):
    state = tmp_path / "state.jsonl"
    state.write_bytes(lines(fact("f")))
    refused(run("resolve", "--state", state, stdin=b""), 3)
    assert run("resolve", state).returncode == 0
    with state.open("rb") as file:
        done = run("resolve", state, "--state", "-", stdin=file)
    assert parsed(done.stdout) == [fact("f"), resolution()]
