"""What ``validate`` says is true, and its advice works."""

from __future__ import annotations

import json
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

from compactctl import formats, pipeline
from compactctl.errors import InputError, InvalidTranscriptError
from compactctl.files.reading import read_lines
from compactctl.formats import detect
from compactctl.repair.engine import repair
from compactctl.rules import findings

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
linked_formats = pytest.mark.parametrize(
    "name", [name for name in formats.names() if formats.load(name).links]
)


def case(name):
    path = CASES / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared cases are not there")
    return read_lines(str(path))


def found(raw, name=None, profile=None, *, sendable=False):
    read = load(raw, name)
    return findings.find(read, profile or read.format.profile, sendable=sendable)


def told(raw, name=None, profile=None, *, sendable=False):
    return [
        (each.rule, each.severity, each.line)
        for each in found(raw, name, profile, sendable=sendable)
    ]


def dumped(*records):
    return [json.dumps(record).encode() + b"\n" for record in records]


# Advice works


def test_case_where_resume_loses_nothing_there_is_nothing_to_do():
    raw = case("repair-dangling_aside")
    (finding,) = found(raw)
    assert finding.severity == "warning"
    assert finding.mend.startswith("no action needed")
    assert not repair(raw, "f", None).fixes


@linked_formats
def test_a_parent_that_is_missing_sends_to_repair_only_where_resume_loses_something(name):
    written = lines(user("a"), assistant("b"), user("c"), assistant("d"), format_name=name)
    parent = formats.load(name).links.parent
    first = json.dumps(json.loads(written[0]) | {parent: "nowhere"}).encode() + b"\n"
    calm, grave = [first, *written[1:]], [*written[:2], *written[3:]]
    for raw, works in ((calm, False), (grave, True)):
        (finding,) = [each for each in found(raw, name) if each.rule == "FILE-12"]
        assert ("compactctl repair" in finding.mend) == works
        assert bool(repair(raw, "f", name).fixes) == works


@pytest.mark.parametrize("odd", [[], {}, 7, True, ["a"]])
def test_a_parent_that_is_no_string_is_a_parent_that_is_missing(odd):
    said = lines(user("a"), assistant("b"), user("c"), assistant("d"), format_name="claude-code")
    lost = json.dumps(json.loads(said[2]) | {"parentUuid": odd}).encode() + b"\n"
    raw = [*said[:2], lost, *said[3:]]
    assert ("FILE-12", "error", 3) in told(raw)
    assert not repair(raw, "f", None).left


def test_case_a_parent_that_is_a_list_is_found():
    assert ("FILE-12", "warning", 4) in told(case("exit70-parentuuid-list"))


@pytest.mark.parametrize("odd", [[], {}, 7])
@linked_formats
def test_an_id_that_is_no_string_is_found(name, odd):
    said = lines(user("a"), assistant("b"), format_name=name)
    own = formats.load(name).links.own
    raw = [*said[:-1], *dumped(json.loads(said[-1]) | {own: odd})]
    assert ("FILE-17", "warning", len(raw)) in told(raw, name)


@pytest.mark.parametrize("profile", ["core", "anthropic"])
def test_a_call_that_pi_answers_itself_stops_only_a_request(profile):
    raw = lines(user("a"), assistant(call("1")), user("b"), format_name="pi")
    severity = "error" if profile == "core" else "warning"
    rule = "PAIR-01" if profile == "core" else "PAIR-09"
    assert told(raw, "pi", profile) == [(rule, severity, 2)]
    assert {s for _, s, _ in told(raw, "pi", profile, sendable=True)} == {"error"}


# Content


@pytest.mark.parametrize(
    "content",
    [
        {"type": "tool_search_tool_search_result", "tool_references": [{"type": "tool_reference"}]},
        {"type": "advisor_result", "text": "so"},
        {"type": "web_search_tool_result_error", "error_code": "unavailable"},
        {"type": "code_execution_result", "stdout": "", "content": [{"type": "x", "file_id": "f"}]},
        [{"type": "web_search_result", "url": "https://example.org", "encrypted_content": "e"}],
    ],
)
def test_the_result_of_a_server_tool_may_be_an_object(content):
    served = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    answer = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": content}
    said = {"role": "assistant", "content": [served, answer, {"type": "text", "text": "b"}]}
    assert told([*lines(user("a")), *dumped(said), *lines(user("c"))]) == []


def test_case_the_result_of_a_tool_search_is_fine():
    assert told(case("c02b-tool-search-server")) == []


def test_a_result_that_is_an_object_is_no_content():
    odd = {"type": "tool_result", "tool_use_id": "1", "content": {"rows": 2}}
    raw = [*lines(user("a"), assistant(call("1"))), *dumped({"role": "user", "content": [odd]})]
    assert told(raw) == [("PART-01", "error", 3)]


def served(result_behind):
    """A call of a server tool and its result, with a line between the two."""
    use = {"type": "server_tool_use", "id": "s1", "name": "advisor", "input": {}}
    answer = {"type": "advisor_tool_result", "tool_use_id": "s1", "content": {"type": "x"}}
    first, last = ({"role": "assistant", "content": [part]} for part in (use, answer))
    return [*lines(user("a")), *dumped(first), *result_behind, *dumped(last), *lines(user("b"))]


def test_a_message_between_a_served_call_and_its_result_parts_them():
    raw = served(lines(user("a reminder")))
    assert told(raw) == [("SERVER-01", "error", 2), ("SERVER-02", "error", 4)]
    done = repair(raw, "f", None)
    assert not done.left
    assert texts(done.after.messages) == ["a", "a reminder", "b"]


def test_results_between_a_served_call_and_its_result_part_nothing():
    both = served([])
    use = json.loads(both[1])
    use["content"].append({"type": "tool_use", "id": "1", "name": "Bash", "input": {}})
    raw = [both[0], *dumped(use), *lines(user(result("1"))), *both[2:]]
    assert told(raw) == []


@pytest.mark.parametrize(
    "name", ["c01a-advisor-split-attach", "c01c-advisor-split-reminder-sameid"]
)
def test_case_what_is_sent_between_parts_a_served_call_from_its_result(name):
    rules = [rule for rule, *_ in told(case(name))]
    assert rules == ["SERVER-01", "SERVER-02"]


# What only the provider reads, and what it wants back


def item(**payload):
    return {"type": "response_item", "timestamp": "", "payload": payload}


@pytest.mark.parametrize("kind", ["compaction", "context_compaction"])
def test_a_summary_that_only_the_provider_reads_is_named_and_can_go(kind):
    raw = [
        *lines(user("a"), assistant("b"), format_name="codex"),
        *dumped(item(type=kind, encrypted_content="x")),
        *lines(user("c"), format_name="codex"),
    ]
    assert told(raw, "codex") == [("ITEM-01", "info", 3)]
    assert not repair(raw, "f", "codex").fixes
    dropped = repair(raw, "f", "codex", "drop")
    assert [each.rule for each in dropped.fixes] == ["ITEM-01"]
    assert texts(dropped.after.messages) == ["a", "b", "c"]
    assert b"encrypted_content" not in b"".join(dropped.lines)


def test_case_the_compaction_in_a_history_is_named_and_can_go():
    raw = case("c07-codex-encrypted")
    assert [rule for rule, *_ in told(raw)] == ["ITEM-01"]
    assert b'"cmp_7"' not in b"".join(repair(raw, "f", None, "drop").lines)


@pytest.mark.parametrize(
    ("action", "rules"), [("other", ["ITEM-02"]), ("search", []), ("open_page", [])]
)
def test_a_search_of_a_kind_without_a_name_is_named_where_it_is_sent(action, rules):
    search = item(type="web_search_call", id="w", action={"type": action})
    raw = [*lines(user("a"), format_name="codex"), *dumped(search)]
    raw += lines(assistant("b"), user("c"), format_name="codex")
    assert [rule for rule, *_ in told(raw, "codex", sendable=True)] == rules
    assert told(raw, "codex") == []


def test_case_a_search_of_another_kind_is_named():
    assert ("ITEM-02", "warning", 7) in told(case("c09-codex-web-search-other"), sendable=True)


def test_one_call_without_reasoning_among_many_with_it_is_named():
    turns = [[assistant(thinking(f"t{n}"), call(f"c{n}")), user(result(f"c{n}"))] for n in range(6)]
    turns[3] = exchange("c3")
    raw = lines(user("a"), *(m for turn in turns for m in turn), format_name="openai")
    assert [rule for rule, *_ in told(raw, "openai")] == ["THINK-04"]
    bare = lines(user("a"), *exchange("1"), *exchange("2"), format_name="openai")
    assert told(bare, "openai") == []


def test_case_a_call_without_reasoning_content_is_named():
    assert told(case("c10-reasoning-content")) == [("THINK-04", "info", 11)]


# A line too long to read


def test_calls_whose_results_stand_in_a_line_too_long_to_read_are_not_open(monkeypatch):
    raw = lines(user("a"), *exchange("1", "r" * 5000), assistant("b"), user("c"))
    monkeypatch.setattr("compactctl.jsonl.lines.LONGEST", 4000)
    assert told(raw, "messages", sendable=True) == [("FILE-19", "warning", 3)]
    pipeline.refuse_broken(load(raw, "messages"))
    other = [*lines(user("a"), assistant(call("2"))), *raw[1:]]
    assert ("PAIR-01", "error", 2) in told(other, "messages")
    with pytest.raises(InvalidTranscriptError):
        pipeline.refuse_broken(load(other, "messages"))


# Formats and encodings


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "file", "file": {"file_id": "f"}},
        {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
    ],
)
def test_parts_that_only_chat_messages_have_make_a_list_openai(part):
    said = {"role": "user", "content": [{"type": "text", "text": "look"}, part]}
    assert load([*dumped(said), *lines(assistant("b"))]).format.name == "openai"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
        {"type": "text", "text": '"image_url": "file":'},
    ],
)
def test_parts_of_anthropic_leave_a_list_what_it_is(part):
    raw = [*dumped({"role": "user", "content": [part]}), *lines(assistant("b"))]
    assert load(raw).format.name == "messages"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
def test_utf_16_gets_the_command_that_converts_it(encoding):
    odd = b"".join(lines(user("größer"), assistant("b"))).decode().encode(encoding)
    name = encoding.upper().replace("-LE", "LE").replace("-BE", "BE")
    with pytest.raises(InputError, match=f"iconv -f {name} -t UTF-8 FILE"):
        detect.format_of(odd.splitlines(keepends=True))


def test_case_utf_16_without_a_mark_gets_the_command():
    with pytest.raises(InputError, match="iconv -f UTF-16BE -t UTF-8 FILE"):
        detect.format_of(case("c19e-utf16be-nobom"))


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_wrapped_records_get_the_command_that_puts_them_together(end):
    whole = b"".join(lines(user("words " * 40), assistant("b", text("c" * 90))))
    wrapped = [whole[at : at + 40].replace(b"\n", b"") + end for at in range(0, len(whole), 40)]
    with pytest.raises(InputError, match=r"wrapped over several lines.*tr -d .* jq -c \."):
        detect.format_of(wrapped)


def test_words_that_are_no_json_are_not_called_wrapped():
    with pytest.raises(InputError, match="no line is a JSON object"):
        detect.format_of([b"one\n", b"two}\n", b"{three}\n"])
