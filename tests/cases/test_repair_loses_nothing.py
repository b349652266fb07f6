"""Repair never takes a user's words out, never invents over what exists, says all it does, ends."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from helpers.builders import (
    assistant,
    call,
    exchange,
    lines,
    load,
    result,
    text,
    texts,
    thinking,
    user,
)
from helpers.scribe import PNG

from compactctl import formats
from compactctl.errors import InvalidTranscriptError
from compactctl.files.reading import read_lines
from compactctl.placeholders import GAP, IMAGE, NO_RESULT
from compactctl.repair import engine
from compactctl.repair.engine import repair
from compactctl.repair.lines import UNREADABLE
from compactctl.rules import findings, images

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"

every_format = pytest.mark.parametrize("name", formats.names())
every_linked_format = pytest.mark.parametrize(
    "name", [name for name in formats.names() if formats.load(name).links]
)


def case(name):
    path = CASES / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared cases are not there")
    return read_lines(str(path))


def repaired(raw, name=None):
    """Repair; nothing may be left, and a second run finds nothing to do."""
    done = repair(raw, "f", name)
    assert not done.left
    again = repair(done.lines, "f", done.after.format.name)
    assert not again.fixes
    assert b"".join(again.lines) == b"".join(done.lines)
    return done


def rules(done):
    return [each.rule for each in done.fixes]


def said(done):
    return texts(done.after.messages)


def dumped(*records):
    return [json.dumps(record).encode() + b"\n" for record in records]


# A record glued onto a torn one


def test_case_a_record_glued_onto_a_torn_one_is_read():
    raw = case("repair-glued-torn")
    assert "STOP: do it in the staging branch" in texts(load(raw).messages)
    done = repaired(raw)
    assert "STOP: do it in the staging branch" in said(done)
    assert b"let me lo" in b"".join(done.lines)


@every_format
def test_what_is_glued_onto_a_torn_record_is_read_and_kept(name):
    whole = lines(user("first"), user("torn here"), user("STOP"), assistant("ok"), format_name=name)
    cut = whole[1][: whole[1].index(b"torn") + 4]
    glued = [whole[0], cut + whole[2], *whole[3:]]
    found = load(glued, name)
    assert ("FILE-02", 2) in [(fault.rule, fault.line) for fault in found.faults]
    if not found.format.links:  # where there are, the way back is broken at the torn one
        assert texts(found.messages) == ["first", "STOP", "ok"]
    done = repaired(glued, name)
    assert [t for t in said(done) if t != GAP] == ["first", "STOP", "ok"]
    assert b"torn" in b"".join(done.lines)


@every_format
def test_records_glued_onto_two_torn_ones_are_all_read(name):
    whole = lines(user("a"), user("b"), user("c"), assistant("d"), format_name=name)
    torn = whole[0][: len(whole[0]) // 2]
    done = repaired([whole[0], torn + whole[1].rstrip() + torn + whole[2], *whole[3:]], name)
    assert [t for t in said(done) if t != GAP] == ["a", "b", "c", "d"]


@every_format
def test_a_part_at_the_end_of_a_torn_record_is_no_record(name):
    whole = lines(user("a"), assistant("b", call("1", path="x")), format_name=name)
    last = whole[-1].rstrip()
    for cut in range(1, 4):
        if last[:-cut].endswith(b"}"):
            found = load([*whole[:-1], last[:-cut] + b"\n"], name)
            assert [fault.rule for fault in found.faults] == ["FILE-01"]


# A record split by line ends inside its strings


def test_case_a_record_split_by_line_ends_is_put_together():
    done = repaired(case("repair-newline-in-string"))
    assert "next\nplease do it\nnow" in said(done)
    assert rules(done) == ["FILE-02"]


@every_format
@pytest.mark.parametrize(
    "middle", ["please", "# a heading", "// a note", "", "42", "{}", "[1]", "}"]
)
def test_line_ends_inside_a_string_are_words_whatever_stands_between_them(name, middle):
    words = f"next\n{middle}\nnow"
    raw = lines(user("a"), assistant("b"), user(words), assistant("c"), format_name=name)
    split = b"".join(raw).replace(b"\\n", b"\n")
    done = repaired(split.splitlines(keepends=True), name)
    assert said(done) == ["a", "b", words, "c"]


def test_lines_that_make_no_record_together_stay_apart():
    raw = [*lines(user("a")), b'{"role":"user","content":"b\n', *lines(user("c")), b'd"}\n']
    done = repaired(raw, "messages")
    assert said(done) == ["a", "c"]
    kept = [json.loads(line) for line in done.lines]
    assert [each["text"] for each in kept if each.get("type") == UNREADABLE] == [
        '{"role":"user","content":"b',
        'd"}',
    ]


# Other encodings


def test_case_letters_of_cp1252_come_back():
    done = repaired(case("c19d-cp1252"))
    assert any("größer >= 5 °C" in t and "—" in t for t in said(done))


@every_format
@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("größer — als “vorher”", "cp1252"),
        ("ein Maß", "cp1252"),
        ("Não", "cp1252"),
        ("größer — als vorher", "utf-16-le"),
        ("größer — als vorher", "utf-16-be"),
    ],
)
def test_letters_of_another_encoding_come_back(name, words, encoding):
    raw = lines(user("a"), assistant("b"), user(words), assistant("c"), format_name=name)
    odd = [line if words.encode() not in line else line.decode().encode(encoding) for line in raw]
    done = repaired(b"".join(odd).splitlines(keepends=True), name)
    assert said(done) == ["a", "b", words, "c"]


def test_in_utf_8_a_single_foreign_letter_comes_back_and_a_cut_one_is_marked():
    line = '{"role":"user","content":"größer — XX YY"}\n'.encode()
    odd = line.replace(b"XX", b"Ma\xdf").replace(b"YY", b"\xe2\x82")
    assert said(repaired([odd], "messages")) == ["größer — Maß \ufffd"]


@pytest.mark.parametrize("nuls", [b"\0" * 2000, b"\0"])
def test_a_run_of_nul_bytes_makes_no_line_utf_16(nuls):
    odd = nuls + '{"role":"user","content":"größer"}'.encode() + nuls + b"\n"
    assert said(repaired([odd], "messages")) == ["größer"]


def test_words_in_utf_8_stay_as_they_are():
    raw = lines(user("größer — als “vorher” ≥ 5"), assistant("é"))
    assert repaired(raw).lines is raw


# Nothing between what belongs together


def test_case_no_marker_stands_between_the_lines_of_one_message():
    done = repaired(case("repair-dangling_inside"))
    assert rules(done) == ["FILE-12"]
    assert GAP not in said(done)
    assert len(done.lines) == len(done.before.entries)


@every_linked_format
def test_no_marker_stands_between_a_call_and_its_result(name):
    written = lines(user("a"), *exchange("1", "r"), assistant("b"), format_name=name)
    links = formats.load(name).links
    lost = json.dumps(json.loads(written[2]) | {links.parent: "nowhere"}).encode() + b"\n"
    done = repaired([*written[:2], lost, *written[3:]], name)
    assert GAP not in said(done)
    assert said(done) == ["a", "b"]
    assert rules(done) == ["FILE-12"]


@every_linked_format
def test_a_marker_stands_where_a_message_is_missing(name):
    written = lines(user("a"), assistant("b"), user("c"), assistant("d"), format_name=name)
    assert GAP in said(repaired([*written[:2], *written[3:]], name))


def test_what_could_not_be_read_at_the_end_is_no_end_of_the_session_to_pi():
    written = lines(user("a"), assistant("b"), format_name="pi")
    done = repaired([*written, b'{"type":"message","id":"x","mess\n'], "pi")
    first, unreadable, last = (json.loads(line) for line in done.lines)
    assert unreadable["type"] == UNREADABLE
    assert unreadable["id"]
    assert last == json.loads(written[-1])
    assert last["parentId"] == first["id"]


# Nothing invented over what exists


def test_a_result_in_a_line_too_long_to_read_is_not_made_again(monkeypatch):
    written = lines(user("a"), *exchange("1", "r" * 5000), user("b"), *exchange("2"), user("c"))
    monkeypatch.setattr("compactctl.jsonl.lines.LONGEST", 4000)
    assert repaired(written, "messages").lines is written
    broken = [*written[:5], *written[6:]]
    done = repaired(broken, "messages")
    assert rules(done) == ["PAIR-01"]
    assert b"".join(done.lines).count(NO_RESULT.encode()) == 1
    assert written[2] in done.lines


def test_the_results_of_calls_in_a_line_too_long_to_read_stay(monkeypatch):
    calls = assistant("x" * 5000, call("1"), call("2"))
    written = lines(user("a"), calls, user(result("1"), result("2")), assistant("b"), user("c"))
    monkeypatch.setattr("compactctl.jsonl.lines.LONGEST", 4000)
    assert repaired(written, "messages").lines is written
    other = lines(user(result("3")))
    done = repaired([*written, *other], "messages")
    assert rules(done) == ["PAIR-02"]
    assert list(done.lines) == written


@pytest.mark.parametrize("name", ["03-history-copied-by-resume-two-roots", "duplicate-uuid-result"])
def test_case_what_stands_in_the_file_twice_is_neither_renamed_nor_answered_again(name):
    raw = case(name)
    assert repaired(raw).lines is raw


def copied(written):
    """A history, and behind it the same lines with new ids and no parent in front: a resume."""
    again = [json.loads(line) for line in written]
    for record in again:
        for member in ("uuid", "parentUuid"):
            record[member] = record[member] and f"copy of {record[member]}"
    return [*written, *dumped(*again)]


def test_a_history_that_a_resume_copied_is_left_alone():
    said_ = [user("a"), *exchange("1", "r"), assistant("b", call("2")), user(result("2"), "c")]
    raw = copied(lines(*said_, format_name="claude-code"))
    assert repaired(raw).lines is raw


def test_of_a_copied_history_only_the_copy_that_goes_on_is_closed():
    raw = copied(lines(user("a"), *exchange("1", "r"), format_name="claude-code"))
    last = json.loads(raw[-1])["uuid"]
    use = {"type": "tool_use", "id": "2", "name": "Bash", "input": {}}
    message = {"id": "m", "role": "assistant", "content": [use]}
    more = {"type": "assistant", "uuid": "z", "parentUuid": last, "message": message}
    done = repaired([*raw, *dumped(more | {"sessionId": "s"})])
    assert [(each.rule, each.call_id) for each in done.fixes] == [("TAIL-01", "2")]


def test_case_a_file_with_circles_and_bare_parts_is_repaired():
    done = repaired(case("pi-cyclic"))
    assert not [each for each in done.fixes if each.did == "result dropped"]


# Content


@pytest.mark.parametrize("name", ["strs2", "content-list-of-strings"])
def test_case_strings_among_blocks_become_texts(name):
    raw = case(name)
    before = load(raw)
    assert "PART-01" in [
        f.rule for f in findings.find(before, "anthropic") if f.severity == "error"
    ]
    done = repaired(raw)
    assert texts(done.after.messages) == texts(before.messages)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (["words"], ["words"]),
        ([{"type": "text", "text": "a"}, "b"], ["a", "b"]),
        ({"type": "text", "text": "words"}, ["words"]),
        ([{"text": "words"}], ["words"]),
        ([7, None, True, "b"], ["7", "true", "b"]),
        ([["nested"]], ['["nested"]']),
        ([{"type": "", "text": "words"}], ["words"]),
    ],
)
@pytest.mark.parametrize("name", ["messages", "claude-code", "pi"])
def test_what_is_no_content_block_keeps_its_words(name, odd, words):
    raw = lines(user("X"), assistant("b"), user("c"), format_name=name)
    line = json.loads(raw[0])
    holder = line if name == "messages" else line["message"]
    holder["content"] = odd
    done = repaired([*dumped(line), *raw[1:]], name)
    assert said(done) == [*words, "b", "c"]
    assert set(rules(done)) == {"PART-01"}


def test_what_is_no_content_block_inside_a_result_keeps_its_words():
    odd = {"type": "tool_result", "tool_use_id": "1", "content": ["told", {"x": 1}]}
    raw = [*lines(user("a"), assistant(call("1"))), *dumped({"role": "user", "content": [odd]})]
    done = repaired(raw, "messages")
    (block,) = done.after.messages[-1].blocks
    assert [piece.text for piece in block.content] == ["told", '{"x":1}']


CACHED = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("texts_of", "marked"), [(("a", ""), "a"), (("a", " \n", "b"), "a"), (("", "b"), "b")]
)
def test_the_mark_for_the_cache_of_an_empty_text_is_moved(texts_of, marked):
    blocks = [
        {"type": "text", "text": each} | ({} if each.strip() else CACHED) for each in texts_of
    ]
    done = repaired(dumped({"role": "user", "content": blocks}), "messages")
    left = json.loads(done.lines[0])["content"]
    assert [each["text"] for each in left if "cache_control" in each] == [marked]


def image(data=PNG):
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


def test_700_images_are_fixed_in_one_round_and_results_give_theirs_first():
    shown = [{"role": "user", "content": [image(), {"type": "text", "text": f"look {n}"}]}
             for n in range(350)]  # fmt: skip
    looked = [
        each
        for n in range(350)
        for each in (
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": f"t{n}", "content": [image()]}]},
        )
    ]  # fmt: skip
    started = time.monotonic()
    done = repaired(dumped(*shown, *looked), "messages")
    assert time.monotonic() - started < 10
    assert rules(done) == ["IMG-06"] * 100
    assert b"".join(done.lines).count(b'"image/png"') == images.MOST
    assert b"".join(done.lines[:350]).count(IMAGE.encode()) == 0
    assert [each.line for each in done.fixes] == [352 + 2 * n for n in range(100)]


def test_of_the_images_of_a_result_only_the_one_that_is_refused_goes():
    held = [image(), image("PGh0bWw+PC9odG1sPg=="), image()]
    told = {"type": "tool_result", "tool_use_id": "1", "content": held}
    raw = [*lines(user("a"), assistant(call("1"))), *dumped({"role": "user", "content": [told]})]
    done = repaired(raw, "messages")
    kinds = [each["type"] for each in json.loads(done.lines[-1])["content"][0]["content"]]
    assert kinds == ["image", "text", "image"]


# It says what it did, by the right rule


def test_thinking_that_goes_with_another_fix_is_printed():
    raw = lines(user("a", " "), assistant(thinking(), "b"), user("c"), assistant(thinking(), "d"))
    done = repaired([*raw, *lines(user("e"))], "messages")
    assert rules(done) == ["TEXT-02", "thinking", "thinking"]
    assert [each.line for each in done.fixes] == [1, 2, 4]
    assert "what precedes it changed" in str(done.fixes[1])


@pytest.mark.parametrize(
    ("name", "said_", "told"),
    [
        ("messages", [user("a"), assistant(call("1"))], {"TAIL-01": "was added"}),
        ("pi", [user("a"), assistant(call("1")), user("b")], {"PAIR-09": "was added"}),
        ("messages", [user("a"), *exchange("x:0")], {"ID-02": "given the id x_0"}),
        ("openai", [user("a"), *exchange("x" * 50)], {"ID-03": "given the id x"}),
        ("messages", [user("a"), assistant(call("1"), call("1")), user(result("1"))],
         {"PAIR-03": "copy dropped"}),
        ("messages", [user("a"), user(result(None)), assistant("b")], {"PAIR-02": "dropped"}),
        ("messages", [user("a"), user(result("1")), assistant(call("1")), user("b")],
         {"PAIR-05": "put behind its call"}),
        ("messages", [user("a"), assistant(call("1"), result("1")), user("b")],
         {"ROLE-02": "put behind its call"}),
    ],
)  # fmt: skip
def test_each_fix_names_the_rule_that_was_broken_and_what_was_done(name, said_, told):
    done = repaired(lines(*said_, format_name=name), name)
    assert set(rules(done)) == told.keys()
    assert all(told[each.rule] in str(each) for each in done.fixes)


# It ends


def test_case_an_entry_named_twice_is_in_the_view_once():
    raw = case("repair-explode-2-lines")
    assert texts(load(raw).messages) == ["a"]
    assert len(repaired(raw).lines) < 10


def test_a_line_that_a_boundary_keeps_twice_is_in_the_view_once():
    kept = {"uuids": ["u1", "u2", "u1"], "anchorUuid": "b"}
    mark = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    raw = dumped(
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"content": "a"}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": {"content": "b"}},
        mark | {"sessionId": "s", "compactMetadata": {"preservedMessages": kept}},
    )
    assert texts(load(raw, "claude-code").messages) == ["a", "b"]


@pytest.mark.parametrize(("growth", "rounds"), [(64, 100), (1, 5)])
def test_a_fix_that_never_holds_is_an_error_and_no_file_without_end(monkeypatch, growth, rounds):
    def step(transcript, deeds):
        raw = [(entry.raw, at) for at, entry in enumerate(transcript.entries)]
        deeds.append(engine.Deed("TEXT-01", 0, "tried"))
        return raw * growth if growth > 1 else raw

    monkeypatch.setattr(engine.entries, "STEPS", (step,))
    monkeypatch.setattr(engine, "_ROUNDS", rounds)
    with pytest.raises(InvalidTranscriptError, match=r"TEXT-01 .*again.*by hand"):
        repair(lines(user("a")), "f", "messages")


@every_format
def test_many_open_calls_are_answered_in_one_round(name):
    turns = [m for n in range(300) for m in (assistant(call(f"c{n}")), user(f"u{n}"))]
    started = time.monotonic()
    done = repaired(lines(user("a"), *turns, format_name=name), name)
    assert time.monotonic() - started < 10
    assert len(rules(done)) == 300


def test_a_view_that_is_right_stays_as_it_is():
    raw = lines(user("a"), *exchange("1", "r"), assistant("b", text("c")), user("d"))
    assert repaired(raw).lines is raw
