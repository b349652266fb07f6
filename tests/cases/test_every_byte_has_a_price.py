"""What is sent is counted, shown by its kind, and cut as far as its kind allows."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from helpers.builders import COUNTER, assistant, lines, load, text, user

from compactctl import formats, opaque, pipeline
from compactctl.errors import HardLimitError
from compactctl.files.reading import read_lines
from compactctl.model import Block
from compactctl.rules import findings
from compactctl.stats import stats
from compactctl.tokens import count_block, count_view

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
WORDS = " ".join(f"word{n} of the kiln" for n in range(2000))
MORE = " and some more words that are sent"
OF_ANTHROPIC = ("claude-code", "messages", "pi")
ROOM = {"truncate": {"max_tokens": 100}, "prune": {"mode": "clear", "keep_results": 0}}

PARTS = {
    "a document of text": {"type": "document", "source": {"type": "text", "data": WORDS}},
    "a document of parts": {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "text", "text": WORDS}]},
    },
    "its title": {"type": "document", "title": WORDS, "source": {"type": "url", "url": "x:"}},
    "a search result": {
        "type": "search_result",
        "source": "https://example.com",
        "title": "t",
        "content": [{"type": "text", "text": WORDS}],
    },
    "a call of a server": {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": WORDS},
    },
    "what a server fetched": {
        "type": "web_fetch_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"content": {"type": "document", "source": {"type": "text", "data": WORDS}}},
    },
    "what code printed": {
        "type": "bash_code_execution_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "bash_code_execution_result", "stdout": WORDS, "stderr": ""},
    },
    "what an MCP server said": {
        "type": "mcp_tool_result",
        "tool_use_id": "mcptoolu_1",
        "content": [{"type": "text", "text": WORDS}],
    },
    "a list of tools": {"type": "tool_reference", "tool_name": WORDS},
    "a kind from the future": {"type": "hologram", "scene": {"of": [WORDS]}},
}
CUTTABLE = [name for name in PARTS if name.startswith(("a document", "a search", "what"))]


def case(name):
    path = CASES / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared cases are not there")
    return read_lines(str(path))


def holder(record):
    """The object of a line that holds a content."""
    return record.get("message") or record.get("payload") or record


def asked(part, name, role="user"):
    """A session in which a message of the user, or an answer, holds one part."""
    said = [user("one"), assistant("two"), user("three")]
    records = [json.loads(line) for line in lines(*said, format_name=name)]
    at = next(n for n, r in enumerate(records) if holder(r).get("role") == role)
    holder(records[at])["content"] = [part]
    return [json.dumps(record).encode() + b"\n" for record in records]


def tokens(raw, name):
    return count_view(COUNTER, load(raw, name).messages)


def truncated(raw, name=None):
    return pipeline.run(load(raw, name), ("truncate",), ROOM, COUNTER).written().lines()


def pieces(raw, name):
    """The texts inside blocks of a view."""
    view = load(raw, name).messages
    return [piece for message in view for block in message.blocks for piece in block.content]


def grown(part):
    """The part with more of the text in it."""
    return json.loads(json.dumps(part).replace(json.dumps(WORDS)[1:-1], WORDS + MORE))


@pytest.mark.parametrize("name", formats.names())
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_more_text_costs_more(name, part):
    before, after = tokens(asked(part, name), name), tokens(asked(grown(part), name), name)
    assert before > COUNTER.count(WORDS) * 0.99
    assert before < after < before + 2 * COUNTER.count(MORE) + 5


@pytest.mark.parametrize("name", formats.names())
def test_a_view_costs_what_its_blocks_cost(name):
    for part in PARTS.values():
        view = load(asked(part, name), name).messages
        assert count_view(COUNTER, view) == sum(
            count_block(COUNTER, block) for message in view for block in message.blocks
        )


def test_stats_shows_it_by_its_kind():
    raw = asked(PARTS["what an MCP server said"], "messages", "assistant")
    kinds = stats(load(raw, "messages"), COUNTER).kinds
    assert kinds["mcp_tool_result"].tokens > COUNTER.count(WORDS)
    document = stats(load(asked(PARTS["a document of text"], "pi"), "pi"), COUNTER)
    assert document.kinds["document"].count == 1
    assert stats(load(attached("file", **FILE)), COUNTER).kinds["attachment"].count == 1


@pytest.mark.parametrize("name", OF_ANTHROPIC)
@pytest.mark.parametrize("part", CUTTABLE)
def test_truncate_cuts_its_text_and_nothing_else(name, part):
    raw = asked(PARTS[part], name, "assistant" if part.startswith("what") else "user")
    written = truncated(raw, name)
    (left,) = {piece.text for piece in pieces(written, name)}
    assert COUNTER.count(left) <= 100
    assert [json.loads(line) for line in written] == [
        json.loads(line.replace(json.dumps(WORDS).encode(), json.dumps(left).encode()))
        for line in raw
    ]
    assert truncated(written, name) == written


@pytest.mark.parametrize("part", sorted(PARTS.keys() - set(CUTTABLE)))
def test_what_may_not_be_cut_is_left_alone(part):
    raw = asked(PARTS[part], "messages", "assistant" if "call" in part else "user")
    assert truncated(raw) == raw


def test_what_the_user_asks_about_now_is_not_cut():
    raw = asked(PARTS["a document of text"], "messages")[:1]
    assert (
        pipeline.run(load(raw, "messages"), ("truncate",), ROOM, COUNTER).written().lines() == raw
    )


@pytest.mark.parametrize("name", ["claude-code", "messages"])
def test_old_answers_of_servers_are_cleared(name):
    raw = asked(PARTS["what an MCP server said"], name, "assistant")
    written = pipeline.run(load(raw, name), ("prune",), ROOM, COUNTER).written().lines()
    assert tokens(written, name) < 60
    assert b"tokens cleared" in b"".join(written)


def in_result(*parts):
    """A session with a result that holds parts, and some more turns."""
    said = [
        *(user("look"), assistant(Block("call", "{}", "c1", "Fetch"))),
        user(Block("result", call_id="c1", content=(text("x"),))),
        *(assistant("seen"), user("go on")),
    ]
    raw = lines(*said)
    record = json.loads(raw[2])
    record["content"][0]["content"] = list(parts)
    return [*raw[:2], json.dumps(record).encode() + b"\n", *raw[3:]]


@pytest.mark.parametrize("layer", ["truncate", "prune"])
def test_a_document_in_a_result_is_cut_and_cleared_as_one_with_it(layer):
    raw = in_result({"type": "text", "text": "found:"}, PARTS["a document of text"])
    written = pipeline.run(load(raw), (layer,), ROOM, COUNTER).written().lines()
    assert tokens(raw, None) > 8000
    assert tokens(written, None) < 200
    assert not findings.find(load(written), "anthropic")


def test_a_result_of_a_document_alone_becomes_a_text_when_it_is_cleared():
    raw = in_result(PARTS["a document of text"])
    written = pipeline.run(load(raw), ("prune",), ROOM, COUNTER).written().lines()
    content = json.loads(written[2])["content"][0]["content"]
    assert "tokens cleared" in json.dumps(content)
    assert "document" not in json.dumps(content)


# What only the provider reads


def pdf(pages):
    raw = b"%PDF-1.4\n" + b"".join(
        b"%d 0 obj << /Type /Page /Parent 1 0 R >> endobj\n%%%099d\n" % (n, n) for n in range(pages)
    )
    return base64.b64encode(raw + b"<< /Type /Pages /Count 3 >>").decode()


@pytest.mark.parametrize("pages", [1, 7])
def test_a_pdf_costs_by_its_pages(pages):
    source = {"type": "base64", "media_type": "application/pdf", "data": pdf(pages)}
    costs = tokens(asked({"type": "document", "source": source}, "messages"), "messages")
    assert pages * opaque.PAGE_TOKENS < costs < pages * opaque.PAGE_TOKENS + 60
    uri = f"data:application/pdf;base64,{pdf(pages)}"
    chat = {"type": "file", "file": {"filename": "a.pdf", "file_data": uri}}
    costs = tokens(asked(chat, "openai"), "openai")
    assert pages * opaque.PAGE_TOKENS < costs < pages * opaque.PAGE_TOKENS + 60


def test_a_file_that_claims_more_pages_than_it_can_hold_is_not_believed():
    raw = base64.b64encode(b"%PDF-1.5 << /Count 999999 >>" + b" " * 300).decode()
    assert opaque.document("application/pdf", raw) <= 3 * opaque.PAGE_TOKENS


def test_damaged_base64_has_a_price_too():
    assert opaque.document("application/pdf", "?" * 400_000) > opaque.PAGE_TOKENS


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("messages", {"type": "redacted_thinking", "data": "A" * 8000}),
        ("messages", {"type": "thinking", "thinking": "", "signature": "A" * 8000}),
        (
            "messages",
            {
                "type": "web_search_tool_result",
                "content": [{"type": "web_search_result", "encrypted_content": "A" * 8000}],
            },
        ),
        ("codex", {"type": "encrypted_content", "encrypted_content": "A" * 8000}),
    ],
)
def test_what_is_encrypted_costs_by_its_size(name, part):
    role = "user" if name == "codex" else "assistant"
    costs = tokens(asked(part, name, role), name)
    assert opaque.encrypted(8000) <= costs < opaque.encrypted(8000) + 60


def test_a_signature_beside_its_thinking_costs_nothing():
    signed = {"type": "thinking", "thinking": WORDS, "signature": "A" * 8000}
    bare = signed | {"signature": "A"}
    assert tokens(asked(signed, "messages", "assistant"), None) == tokens(
        asked(bare, "messages", "assistant"), None
    )


def test_an_image_inside_another_part_costs_as_an_image():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    served = {"type": "mcp_tool_result", "tool_use_id": "m", "content": [image]}
    assert 1500 < tokens(asked(served, "messages", "assistant"), "messages") < 1700


# What Claude Code attaches


def attached(kind, *, rendered=True, **members):
    """A session with an attachment behind its first prompt."""
    raw = [json.loads(line) for line in lines(*TALK, format_name="claude-code")]
    line = {key: raw[0][key] for key in raw[0].keys() - {"message", "type"}}
    line |= {"uuid": "f" * 8, "parentUuid": raw[0]["uuid"], "type": "attachment"}
    line["attachment"] = {"type": kind} | members
    if rendered:
        line |= {"rendered": [{"content": f"<system-reminder>\n{WORDS}"}], "renderedRole": "user"}
    raw[1]["parentUuid"] = line["uuid"]
    return [json.dumps(record).encode() + b"\n" for record in (raw[0], line, *raw[1:])]


TALK = [user("one"), assistant("two"), user("three"), assistant("four"), user("five")]
FILE = {"content": {"type": "text", "file": {"filePath": "/w/a.py", "content": WORDS}}}


@pytest.mark.parametrize("rendered", [True, False])
def test_an_attached_file_is_counted_and_cut(rendered):
    raw = attached("file", rendered=rendered, **FILE)
    assert tokens(raw, None) > COUNTER.count(WORDS)
    written = truncated(raw)
    assert tokens(written, None) < 250
    held = json.loads(written[1])
    cut = (
        held["rendered"][0]["content"]
        if rendered
        else held["attachment"]["content"]["file"]["content"]
    )
    assert "tokens cut" in cut
    assert held["uuid"] == "f" * 8


@pytest.mark.parametrize("kind", ["instructions", "nested_memory", "skill_listing"])
def test_what_is_attached_once_stays(kind):
    raw = attached(kind)
    for layer in ({"truncate": {"max_tokens": 60}}, {"prune": {"keep_turns": 1}}):
        result = pipeline.run(load(raw), tuple(layer), layer, COUNTER)
        assert raw[1] in result.written().lines()


def test_an_attachment_that_is_not_sent_costs_nothing():
    raw = attached("prompt_snapshot", rendered=False, content=WORDS)
    assert tokens(raw, None) == tokens([raw[0], *raw[2:]], None)


def test_an_attachment_behind_a_result_is_no_prompt():
    said = [user("go"), *TALK[1:3], assistant(Block("call", "{}", "c", "Bash"))]
    raw = lines(
        *said, user(Block("result", call_id="c", content=(text("ok"),))), format_name="claude-code"
    )
    line = json.loads(attached("task_reminder")[1]) | {"parentUuid": json.loads(raw[-1])["uuid"]}
    found = load([*raw, json.dumps(line).encode() + b"\n"])
    assert [block.kind for block in found.messages[-1].blocks] == ["result", "document"]
    result = pipeline.run(found, ("prune",), {"prune": {"keep_turns": 1}}, COUNTER)
    assert raw[-1] in result.written().lines()


# The cases


@pytest.mark.parametrize("name", ["k01-doc-text", "k09-mcp"])
def test_case_a_hundred_thousand_tokens_are_seen_and_cut(name):
    raw = case(name)
    assert tokens(raw, None) > 99_000
    cut = pipeline.run(load(raw), ("truncate",), {"truncate": {"max_tokens": 500}}, COUNTER)
    assert tokens(cut.written().lines(), None) < 600


def test_case_what_cannot_be_cut_is_seen_by_the_hard_limit():
    found = load(case("k05-web-search"))
    with pytest.raises(HardLimitError):
        pipeline.compact(found, ("truncate",), {}, COUNTER, soft_limit=1000, hard_limit=2000)
