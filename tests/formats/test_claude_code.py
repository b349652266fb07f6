"""What the ``claude-code`` format reads, as the harness resumes it, and what it writes back."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from helpers.builders import COUNTER, TIGHT, call, load, result, rewrite, text, thinking

from compactctl import pipeline
from compactctl.files.reading import read_lines
from compactctl.formats import detect
from compactctl.formats.base import Link
from compactctl.formats.claude_code.session import FORMAT as CLAUDE_CODE
from compactctl.model import Block, Message, result_text
from compactctl.transcript import loading as transcript

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "claude-code"
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP8z8AARAwQCgAf7gMBJVKv4gAAAABJRU5E"
    "rkJggg=="
)
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


class Session:
    """Writes lines that follow one another; ``parent`` and ``uuid`` can be given."""

    def __init__(self):
        self.records = []

    def add(self, kind, *, parent="last", uuid=None, **members):
        own = uuid or f"u{len(self.records) + 1}"
        last = self.records[-1]["uuid"] if self.records else None
        record = {"parentUuid": last if parent == "last" else parent, "isSidechain": False}
        record |= {"cwd": "/w", "sessionId": "s", "type": kind, "uuid": own, "timestamp": "T"}
        self.records.append(record | members)
        return own

    def user(self, content, **members):
        return self.add("user", message={"role": "user", "content": content}, **members)

    def result(self, call_id, content="ok", **members):
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return self.user([block], **members)

    def assistant(self, *parts, of=None, **members):
        content = [words(part) if isinstance(part, str) else part for part in parts]
        message = {"id": of or f"m{len(self.records)}", "role": "assistant", "content": content}
        return self.add("assistant", message=message, **members)

    def boundary(self, **metadata):
        return self.add("system", subtype="compact_boundary", parent=None, compactMetadata=metadata)

    def summary(self, said="so far", **members):
        return self.user(said, isCompactSummary=True, isVisibleInTranscriptOnly=True, **members)

    def lines(self):
        return raw(self.records)

    def read(self):
        return load(self.lines(), "claude-code")

    def told(self):
        return told(self.read())


def words(said):
    return {"type": "text", "text": said}


def use(call_id, name="Read", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def thought(said):
    return {"type": "thinking", "thinking": said, "signature": "c2ln"}


def raw(records):
    return [json.dumps(r, separators=(",", ":")).encode() + b"\n" for r in records]


def told(transcript):
    return [
        [
            result_text(b) if b.kind == "result" else b.call_id if b.kind == "call" else b.text
            for b in m.blocks
        ]
        for m in transcript.messages
    ]


def written(session, view):
    """The records after a change of the view."""
    read = session.read()
    return [json.loads(line) for line in rewrite(read, view(read.messages)).lines()]


# --- messages from lines


def test_lines_of_one_message_id_are_one_message_wherever_they_stand():
    made = Session()
    made.user("go")
    first = made.assistant(thought("hm"), of="m")
    made.assistant(use("a"), of="m")
    made.result("a", "one")
    made.assistant(use("b"), of="m", parent=first)
    made.result("b", "two")
    made.assistant("done")
    assert made.told() == [["go"], ["hm", "a", "b"], ["one", "two"], ["done"]]


def test_lines_side_by_side_of_other_ids_are_messages_of_their_own():
    made = Session()
    made.user("go")
    made.assistant("one", of="m1")
    made.assistant("two", of="m2")
    assert made.told() == [["go"], ["one"], ["two"]]


def test_lines_without_an_id_are_messages_of_their_own():
    made = Session()
    for said in ("one", "two"):
        made.add("assistant", message={"role": "assistant", "content": [words(said)]})
    assert made.told() == [["one"], ["two"]]


def test_results_stand_behind_their_calls_in_the_order_in_which_they_came():
    made = Session()
    made.assistant(use("a"), use("b"))
    made.result("b", "two")
    made.user("meanwhile")
    made.result("a", "one")
    made.assistant("done")
    assert made.told() == [["a", "b"], ["two", "one", "meanwhile"], ["done"]]


def test_an_id_that_comes_back_is_answered_by_the_newest_open_call():
    made = Session()
    for said in ("one", "two"):
        made.assistant(use("a"))
        made.result("a", said)
    assert made.told() == [["a"], ["one"], ["a"], ["two"]]


def test_a_result_of_no_call_stays_where_it_stands():
    made = Session()
    made.user("go")
    made.result("gone", "lost")
    assert made.told() == [["go", "lost"]]


def test_a_line_can_hold_results_and_text():
    made = Session()
    made.assistant(use("a"))
    made.user([words("look"), {"type": "tool_result", "tool_use_id": "a", "content": [IMAGE]}])
    (_, reply) = made.read().messages
    assert [b.kind for b in reply.blocks] == ["result", "text"]
    assert reply.blocks[0].content[0].image.width == 2


def test_what_the_model_never_sees_stays_outside():
    made = Session()
    made.user("go")
    made.add("progress", data={"message": "x"})
    made.add("attachment", attachment={"type": "todo"})
    made.add("system", subtype="turn_duration", content="x")
    made.user("only on the screen", isVisibleInTranscriptOnly=True)
    made.assistant("API Error: 529", isApiErrorMessage=True, of="e")
    made.assistant("done")
    made.records.append({"type": "summary", "summary": "x", "leafUuid": "u9"})
    assert made.told() == [["go"], ["done"]]


def test_texts_of_white_space_and_bare_thoughts_are_not_sent():
    made = Session()
    made.user(" ")
    made.user("go")
    made.assistant("\n\n", of="m")
    made.assistant(thought("hm"), of="other")
    made.assistant("done", of="m")
    assert made.told() == [["go"], ["done"]]


def test_what_the_harness_said_is_told_from_what_a_person_said():
    made = Session()
    made.summary()
    made.user("a caveat", isMeta=True)
    made.user("go")
    (view,) = made.read().messages
    assert [b.is_summary for b in view.blocks] == [True, False, False]
    assert [b.meta for b in view.blocks] == [True, True, False]


def test_calls_know_the_folder_that_their_paths_start_from():
    made = Session()
    made.assistant("I look.", use("a", file_path="x"), cwd="/elsewhere")
    assert [b.cwd for b in made.read().messages[0].blocks] == ["", "/elsewhere"]


# --- compactions


def test_the_view_starts_behind_the_last_boundary():
    made = Session()
    made.user("old")
    made.assistant(use("in flight"))
    made.boundary(trigger="auto")
    made.summary("first")
    made.assistant("two")
    made.boundary(trigger="auto")
    made.summary("second")
    made.assistant("three")
    assert made.told() == [["second"], ["three"]]


def test_results_that_a_microcompaction_cleared_are_sent_in_full_on_resume():
    made = Session()
    made.user("go")
    for call_id in "ab":
        made.assistant(use(call_id))
        made.result(call_id, "long")
    ids = {"compactedToolIds": ["a", 5]}
    made.add("system", subtype="microcompact_boundary", microcompactMetadata=ids)
    made.assistant("done")
    assert made.told() == [["go"], ["a"], ["long"], ["b"], ["long"], ["done"]]


def kept(form="both", anchor="S", uuids=("u3", "u4", "u5")):
    """A session whose boundary keeps three lines from before it."""
    segment = {"headUuid": uuids[0], "anchorUuid": anchor, "tailUuid": uuids[-1]}
    listed = {"anchorUuid": anchor, "uuids": list(uuids), "allUuids": list(uuids)}
    metadata = {"preservedSegment": segment, "preservedMessages": listed}
    if form != "both":
        metadata = {form: metadata[form]}
    made = Session()
    made.user("old")
    made.assistant("older")
    made.user("kept")
    made.assistant("I look.", use("a"))
    made.result("a", "one")
    made.add("progress")
    made.boundary(trigger="auto", **metadata)
    made.summary(uuid="S")
    made.assistant("two")
    made.user("go on")
    made.assistant("three")
    return made


FORMS = ("both", "preservedMessages", "preservedSegment")


@pytest.mark.parametrize("form", FORMS)
def test_what_a_boundary_keeps_stands_behind_its_summary(form):
    made = kept(form)
    start = [["so far", "kept"], ["I look.", "a"], ["one"], ["two"]]
    assert made.told() == [*start, ["go on"], ["three"]]


@pytest.mark.parametrize("form", FORMS)
def test_what_a_boundary_keeps_can_stand_in_front_of_the_summary(form):
    made = kept(form, anchor="u7")
    assert made.told()[:3] == [["kept"], ["I look.", "a"], ["one", "so far"]]


@pytest.mark.parametrize("form", FORMS)
def test_a_boundary_that_keeps_what_is_not_there_keeps_nothing(form):
    assert kept(form, uuids=("x", "y")).told() == [["so far"], ["two"], ["go on"], ["three"]]
    assert kept(form, anchor="x").told() == [["so far"], ["two"], ["go on"], ["three"]]


def test_a_later_boundary_can_keep_what_an_earlier_one_kept():
    made = kept()
    listed = {"anchorUuid": "S2", "uuids": ["u3", "u10"]}
    made.boundary(preservedMessages=listed)
    made.summary("second", uuid="S2")
    assert made.told() == [["second", "kept", "go on"]]


def loaded(records):
    """The texts that a harness would send: it sets the parents of what was kept, then walks.

    Written from public descriptions of the loader, not from the code under test.
    """
    by_uuid = {r["uuid"]: dict(r) for r in records if "uuid" in r}
    order = [r["uuid"] for r in records if "uuid" in r]
    last = [u for u in order if by_uuid[u].get("subtype") == "compact_boundary"][-1]
    metadata = by_uuid[last].get("compactMetadata", {})
    listed, segment = metadata.get("preservedMessages"), metadata.get("preservedSegment")
    if listed or segment:
        uuids = listed["uuids"] if listed else [segment["tailUuid"]]
        while not listed and uuids[0] != segment["headUuid"]:
            uuids.insert(0, by_uuid[uuids[0]]["parentUuid"])
        anchor = (listed or segment)["anchorUuid"]
        for record in by_uuid.values():
            if record["parentUuid"] == anchor and record["uuid"] not in uuids:
                record["parentUuid"] = uuids[-1]
        assert anchor in by_uuid
        for uuid in uuids:
            by_uuid[uuid]["parentUuid"], anchor = anchor, uuid
    path, step = [], order[-1]
    while step is not None:
        path.insert(0, by_uuid[step])
        step = by_uuid[step]["parentUuid"]
    return [said for r in path if "message" in r for said in _said(r["message"]["content"])]


def _said(content):
    if isinstance(content, str):
        return [content]
    return [b.get("text") or b.get("content") or b["id"] for b in content]


def note(view, at):
    message = view[at]
    new = Message(message.role, (*message.blocks, text("note", meta=True)))
    return [*view[:at], new, *view[at + 1 :]]


NEW = Message("user", (text("new summary"),))
CHANGES = {
    "a note behind the summary": lambda v: [
        Message("user", (v[0].blocks[0], text("note", meta=True), v[0].blocks[1])),
        *v[1:],
    ],
    "a note in what is kept": lambda v: note(v, 0),
    "a note behind what is kept": lambda v: note(v, 2),
    "the first kept line gone": lambda v: [Message("user", v[0].blocks[:1]), *v[1:]],
    "the last kept line gone": lambda v: [v[0], Message("assistant", v[1].blocks[:1]), *v[3:]],
    "all kept lines gone": lambda v: [Message("user", v[0].blocks[:1]), *v[3:]],
    "summarized": lambda v: [NEW, *v[3:]],
    "summarized but for kept lines": lambda v: [NEW, *v[1:]],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("form", FORMS)
def test_what_a_boundary_keeps_follows_what_a_layer_did(form, change):
    mark = {"type": "compactctl.compaction"} if change.startswith("summarized") else None
    session = kept(form).read()
    view = CHANGES[change](session.messages)
    lines = rewrite(session, view, mark).lines()
    again = load(lines, "claude-code")
    expected = [m for m in told(msgspec.structs.replace(session, messages=view)) if m]
    assert told(again) == expected
    assert loaded([json.loads(line) for line in lines]) == [w for m in expected for w in m]


def test_a_boundary_that_keeps_nothing_any_more_does_not_say_so():
    new = written(kept(), lambda view: [Message("user", view[0].blocks[:1]), *view[3:]])
    (boundary,) = [r for r in new if r.get("subtype") == "compact_boundary"]
    assert boundary["compactMetadata"] == {"trigger": "auto"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"preservedMessages": {"anchorUuid": "S", "uuids": [{"x": 1}, "u3"]}},
        {"preservedMessages": {"anchorUuid": {"x": 1}, "uuids": ["u3"]}},
        {"preservedMessages": {"anchorUuid": "S", "uuids": 5}},
        {"preservedSegment": {"anchorUuid": ["S"], "headUuid": "u3", "tailUuid": "u4"}},
        {"preservedSegment": {"anchorUuid": "S", "headUuid": {"x": 1}, "tailUuid": "u4"}},
    ],
)
def test_a_boundary_with_names_that_are_no_text_is_survived_by_a_change(metadata):
    made = Session()
    made.user("old")
    made.assistant("older")
    made.user("kept")
    made.assistant("I look.")
    made.boundary(**metadata)
    made.summary(uuid="S")
    made.assistant("two")
    made.user("go on")
    made.assistant("three")
    before = made.told()
    lines = raw(written(made, lambda view: view[:-1]))
    assert told(load(lines, "claude-code")) == before[:-1]


# --- forks


def test_a_rewind_gives_up_what_hangs_on_the_other_prompt():
    made = Session()
    made.user("go")
    at = made.assistant("which way?")
    made.user("left")
    made.assistant(use("a"))
    made.result("a", "a wall")
    made.user("right", parent=at)
    made.assistant("here we are")
    assert made.told() == [["go"], ["which way?"], ["right"], ["here we are"]]


def test_a_prompt_of_a_second_process_that_the_end_does_not_hang_on_is_given_up():
    made = Session()
    made.user("go")
    at = made.add("system", subtype="turn_duration")
    made.user("a caveat", isMeta=True)
    made.user("well?")
    last = made.assistant("done")
    made.user("are you there?", parent=at)
    made.user("[Request interrupted by user]")
    made.assistant("indeed", parent=last)
    assert made.told() == [["go", "a caveat", "well?"], ["done"], ["indeed"]]


def test_forks_of_parallel_results_and_progress_are_none():
    made = Session()
    made.user("go")
    first = made.assistant(use("a"), of="m")
    made.add("progress", parent=first)
    made.add("progress", parent=first)
    second = made.assistant(use("b"), of="m", parent=first)
    made.result("a", "one", parent=first)
    made.result("b", "two", parent=second)
    made.assistant("done")
    assert made.told() == [["go"], ["a", "b"], ["one", "two"], ["done"]]


def test_lines_without_parents_are_all_in_the_view():
    made = Session()
    for said in ("one", "two"):
        made.user(said, parent=None)
        made.assistant(said.upper(), parent=None)
    assert made.told() == [["one"], ["ONE"], ["two"], ["TWO"]]


@pytest.mark.parametrize("mixed", [True, False])
def test_side_chains_count_only_in_a_file_of_nothing_else(mixed):
    made = Session()
    if mixed:
        made.user("go")
    made.user("look into it", isSidechain=True, parent=None)
    made.assistant("I will.", isSidechain=True)
    assert made.told() == ([["go"]] if mixed else [["look into it"], ["I will."]])


# --- writing


def test_an_untouched_session_leaves_byte_for_byte():
    lines = [line.replace(b"{", b'{ "n":1e5, ', 1) for line in kept().lines()]
    lines[-1] = lines[-1].rstrip()
    session = load(lines, "claude-code")
    assert rewrite(session, list(session.messages)).chunks == lines


def edited(view, at, **changes):
    block, *rest = view[at].blocks
    new = msgspec.structs.replace(block, **changes)
    return [*view[:at], Message(view[at].role, (new, *rest)), *view[at + 1 :]]


def test_a_result_that_was_cut_keeps_what_stands_beside_it():
    made = Session()
    made.assistant(use("a"))
    made.result("a", [words("long") | {"x": 1}, IMAGE], toolUseResult={"stdout": "long"})
    made.assistant("done")

    def cut(view):
        first, image = view[1].blocks[0].content
        return edited(view, 1, content=(msgspec.structs.replace(first, text="short"), image))

    new = written(made, cut)
    expected = {"type": "tool_result", "tool_use_id": "a"}
    expected["content"] = [words("short") | {"x": 1}, IMAGE]
    message = made.records[1]["message"] | {"content": [expected]}
    assert new == [made.records[0], made.records[1] | {"message": message}, made.records[2]]


def test_a_content_that_is_a_string_stays_one():
    made = Session()
    made.user("long")
    made.assistant(use("a"))
    made.result("a", "long")
    new = written(made, lambda view: edited(view, 0, text="short"))
    assert new[0]["message"]["content"] == "short"
    new = written(made, lambda view: edited(view, 2, content=(text("short"),)))
    assert new[2]["message"]["content"][0]["content"] == "short"


def test_children_of_a_line_that_went_follow_its_parent_through_any_kind_of_line():
    made = Session()
    made.user("go")
    made.assistant("one")
    made.add("attachment", attachment={"type": "todo"})
    made.add("progress")
    made.user("two")
    new = written(made, lambda view: [view[0], view[2]])
    assert [r["parentUuid"] for r in new] == [None, "u1", "u3", "u4"]


def test_a_new_line_has_the_envelope_of_its_neighbour():
    made = Session()
    made.user("go", version="2.1", gitBranch="main", userType="external")
    made.assistant("done")
    (_, new, last) = written(made, lambda v: [*v[:1], Message("user", (text("note"),)), *v[1:]])
    members = {"sessionId": "s", "cwd": "/w", "isSidechain": False, "type": "user"}
    assert members.items() <= new.items()
    assert (new["parentUuid"], last["parentUuid"]) == ("u1", new["uuid"])
    assert new["message"] == {"role": "user", "content": "note"}


def test_a_new_line_of_a_side_chain_is_one_too():
    made = Session()
    made.user("go", isSidechain=True, agentId="x")
    made.assistant("done", isSidechain=True, agentId="x")
    new = written(made, lambda v: [*v, Message("user", (text("note"),))])
    assert (new[2]["isSidechain"], new[2]["agentId"]) == (True, "x")


BLOCKS = [
    text("words"),
    result("a", "one"),
    result("a", "one", "two", failed=True),
    result("a", "one", path="/w/a.py"),
    Block("result", call_id="a"),
    Block("result", call_id="a", content=(text("see"), Block("image"))),
    Block("image"),
    Block("other", "x", type="hologram"),
]


@pytest.mark.parametrize("made", [*[[b] for b in BLOCKS], [text("a"), text("b", meta=True)]])
def test_user_blocks_of_any_kind_are_read_back_as_they_were_made(made):
    records = CLAUDE_CODE.create("user", made, {}, Link("u", None))
    (view,) = load(raw(records), "claude-code").messages
    assert [plain(b) for b in view.blocks] == [plain(b) for b in made]


def test_what_the_model_says_is_read_back_as_it_was_made():
    made = [thinking("hm"), text("so"), call("a", "Read", file_path="x"), call("b")]
    (view,) = load(raw(CLAUDE_CODE.create("assistant", made, {}, Link("u", None)))).messages
    assert [plain(b) for b in view.blocks] == [plain(b) for b in made]


def test_what_the_harness_would_say_is_marked():
    (line,) = CLAUDE_CODE.create("user", [text("x", meta=True)], {}, Link("u", None))
    assert line["isMeta"] is True


def plain(block):
    said = json.loads(block.text) if block.kind == "call" else block.text
    pieces = [plain(piece) for piece in block.content]
    return block.kind, said, block.call_id, block.tool, block.type, pieces, block.failed, block.path


def test_ids_are_uuids_made_from_content():
    one, two = (CLAUDE_CODE.new_id(digit * 64) for digit in "ab")
    assert one == "aaaaaaaa-aaaa-8aaa-8aaa-aaaaaaaaaaaa"
    assert two != one


# --- real sessions against a walk of another make


def reference(records):
    """The lines in force: ancestors of the last, lines of their messages, results of their calls.

    Written without the code under test.
    """
    by_uuid = {r["uuid"]: at for at, r in records if isinstance(r.get("uuid"), str)}
    whole = dict(records)
    said = [at for at, r in records if _is_said(r) and not r.get("isSidechain")]
    said = said or [at for at, r in records if _is_said(r)]
    path, step = set(), said[-1]
    while step is not None and step not in path:
        path.add(step)
        step = by_uuid.get(whole[step].get("parentUuid"))
    found = {at for at in said if at in path}
    ids = {whole[at]["message"].get("id") for at in found} - {None}
    found |= {at for at in said if whole[at]["message"].get("id") in ids}
    used = {b.get("id") for at in found for b in _blocks(whole[at]) if b.get("type") == "tool_use"}
    return path, found | {
        at for at in said if any(b.get("tool_use_id") in used for b in _blocks(whole[at]))
    }


def _is_said(record):
    return record.get("type") in ("user", "assistant") and isinstance(record.get("message"), dict)


def _blocks(record):
    content = record["message"].get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _is_sent(record):
    """Say whether a line has anything that a provider would take."""
    if record.get("isApiErrorMessage") or not record["message"].get("content"):
        return False
    content = record["message"]["content"]
    texts = [content] if isinstance(content, str) else [b.get("text") for b in _blocks(record)]
    kinds = {b.get("type") for b in _blocks(record)} - {"text", "thinking"}
    return bool(kinds) or any(isinstance(said, str) and said.strip() for said in texts)


def sessions():
    return sorted(CORPUS.glob("*.jsonl")) if CORPUS.is_dir() else []


@pytest.mark.parametrize("path", sessions(), ids=lambda path: path.stem[-40:])
def test_real_sessions_are_read_as_a_walk_along_the_parents_reads_them(path):
    session = transcript.load(read_lines(str(path)), path.name)
    records = []
    for at, entry in enumerate(session.entries):
        try:
            record = json.loads(entry.raw)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append((at, record))
    walked, expected = reference(records)
    view = {block.entry for message in session.messages for block in message.blocks}
    ids = {r["uuid"] for _, r in records if isinstance(r.get("uuid"), str)}
    whole = dict(records)
    if len(ids) < len([r for _, r in records if "uuid" in r]) / 2:
        pytest.skip("a fixture whose ids were cut out")
    # Of a line that was written twice the agent takes one.
    shown = {whole[at].get("uuid") for at in view}
    assert all(not _is_sent(whole[at]) or whole[at]["uuid"] in shown for at in expected - view)
    # A line that no walk reaches stays in the view where the chain is broken: ``validate`` says
    # what resume would lose, and a layer loses nothing.
    assert whole[min(walked)].get("parentUuid") not in ids
    said = {at for at in view if whole[at]["type"] != "attachment"}  # the agent renders those
    assert all(at < min(walked) for at in said - expected)


def test_a_session_is_recognised_by_content():
    assert detect.format_of(kept().lines()) is CLAUDE_CODE
    assert CLAUDE_CODE.session(kept().records[0]) == "s"


@pytest.mark.parametrize("names", [*((name,) for name in TIGHT), tuple(TIGHT)], ids="-".join)
def test_layers_leave_a_session_that_is_read_back_the_same(names):
    made = Session()
    made.user("mend it")
    for number in range(6):
        made.assistant(thought("hm"), of=f"x{number}")
        at = made.assistant(use(f"a{number}", file_path="a.py"), of=f"x{number}")
        made.assistant(use(f"b{number}", "Bash", command="ls"), of=f"x{number}")
        made.result(f"b{number}", "words " * 90)
        made.result(f"a{number}", "x = 1\n" * 90, parent=at)
        made.add("progress")
    made.assistant("done")
    made.user("and now?")
    made.assistant("on it")
    once = pipeline.run(made.read(), names, TIGHT, COUNTER)
    again = load(once.written().lines(), "claude-code")
    assert [[plain(b) for b in m.blocks] for m in again.messages] == [
        [plain(b) for b in m.blocks] for m in once.messages
    ]
