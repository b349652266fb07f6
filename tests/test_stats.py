"""stats: the figures add up, and say what a layer could take out."""

import json

import pytest
from helpers.builders import (
    COUNTER,
    dedup,
    exchange,
    lines,
    load,
    read,
    reading,
    result,
    user,
    view,
)
from helpers.builders import assistant as says

from compactctl import cli, formats
from compactctl.stats import LARGEST, stats
from compactctl.tokens import count_view

TEXT = "\n".join(f"{number}\tvalue_{number} = compute({number})" for number in range(1, 60))
EDIT = {"tool": "Edit", "file_path": "/w/a.py", "old_string": "a", "new_string": "b"}

TALK = [
    user("Mend the build."),
    *reading("r1", TEXT),
    *exchange("s1", TEXT, command="cat /w/b.py"),
    *exchange("e1", "ok", **EDIT),
    *reading("r2", TEXT),
    *reading("r3", TEXT, path="/w/c.py"),
    *exchange("e2", "ok", **EDIT | {"file_path": "/w/c.py"}),
    *exchange("g1", "no", command="grep x", failed=True),
    says("Done."),
]


def measured(messages=TALK, format_name="messages"):
    return stats(load(lines(*messages, format_name=format_name), format_name), COUNTER)


def counts(shares):
    return {name: share.count for name, share in shares.items()}


def tokens(shares):
    return sum(share.tokens for share in shares.values())


@pytest.mark.parametrize("name", formats.names())
def test_the_figures_add_up(name):
    transcript = load(lines(*TALK, format_name=name), name)
    found = stats(transcript, COUNTER)
    assert found.tokens == tokens(found.roles) == tokens(found.kinds)
    assert found.tokens == count_view(COUNTER, transcript.messages)
    assert tokens(found.tools) == found.kinds["result"].tokens
    assert sum(counts(found.tools).values()) == found.kinds["result"].count == 7
    assert sum(large.tokens for large in found.largest) == tokens(found.tools)
    assert found.messages == len(transcript.messages)


def test_results_by_tool_and_by_file():
    found = measured()
    assert counts(found.tools) == {"Read": 3, "Bash": 2, "Edit": 2}
    assert counts(found.files) == {"/w/a.py": 2, "/w/b.py": 1, "/w/c.py": 1}


def test_tables_begin_with_the_largest():
    found = measured()
    for shares in (found.roles, found.kinds, found.tools, found.files):
        sizes = [share.tokens for share in shares.values()]
        assert sizes == sorted(sizes, reverse=True)
    sizes = [large.tokens for large in found.largest]
    assert sizes == sorted(sizes, reverse=True)


def test_the_largest_results_name_their_lines():
    talk = [user("Go."), *(m for n in range(15) for m in exchange(f"c{n}", "x " * (n + 1)))]
    found = measured(talk)
    assert len(found.largest) == LARGEST
    assert len(stats(load(lines(*talk), "messages"), COUNTER, 12).largest) == 12
    first = found.largest[0]
    assert (first.call_id, first.tool, first.line) == ("c14", "Bash", 31)


def test_duplicate_and_stale_reads():
    found = measured()
    assert found.superseded_reads.count == 1  # r1, by r2
    assert found.stale_reads.count == 0  # r3: its file changed, but nothing else shows it
    assert found.superseded_reads.tokens == COUNTER.count(TEXT)


def test_a_failed_edit_makes_nothing_stale():
    edit = exchange("e", "no", failed=True, **EDIT)
    found = measured([user("Go."), *reading("r1", TEXT), *edit, says("Done.")])
    assert found.stale_reads.count == 0


def test_duplicates_are_those_that_dedup_takes_out():
    talk = [
        user("Go."),
        *exchange("s1", TEXT, command="cat /w/a.py"),
        *exchange("m1", TEXT, tool="read_many_files", paths=["/w/a.py", "/w/b.py"]),
        *exchange("s2", TEXT, command="sed -n 1,9p /w/b.py"),
        *reading("r1", TEXT),
        *reading("r2", TEXT, path="/w/b.py"),
        says("Done."),
    ]
    found = measured(talk)
    change = dedup(view(*talk))
    assert found.superseded_reads.count == len(change.actions) == 3
    assert measured(change.messages).superseded_reads.count == 0


FOUND_BY_DEDUP = {
    "standing rules": [*reading("r1", TEXT, path="/w/CLAUDE.md")] * 2,
    "in the open loop": [
        says(read("r1"), read("r2")),
        user(result("r1", TEXT), result("r2", TEXT)),
    ],
    "edited, then not read again": [*reading("r1", TEXT), *exchange("e", "ok", **EDIT)],
    "edited, then read in part": [
        *reading("r1", TEXT),
        *exchange("e", "ok", **EDIT),
        *reading("r2", TEXT[:300], offset=1, limit=9),
    ],
    "edited, then read but cut": [
        *reading("r1", TEXT),
        *exchange("e", "ok", **EDIT),
        *reading("r2", f"{TEXT[:600]}\n... (file truncated)"),
    ],
    "read again": [*reading("r1", TEXT), *reading("r2", TEXT)],
}


@pytest.mark.parametrize("name", FOUND_BY_DEDUP)
def test_what_could_go_is_what_dedup_takes_out(name):
    messages = [user("Go."), *FOUND_BY_DEDUP[name]]
    if name != "in the open loop":
        messages.append(says("Done."))
    found = measured(messages)
    dropped = dedup(view(*messages))
    replaced = dedup(view(*messages), mode="stub", stale=True)
    assert found.superseded_reads.count == len(dropped.actions)
    assert found.superseded_reads.count + found.stale_reads.count == len(replaced.actions)


def test_what_was_already_replaced_is_no_duplicate():
    change = dedup(view(*TALK), mode="stub")
    assert len(change.actions) == 1
    assert measured(change.messages).superseded_reads.count == 0


def test_a_view_without_tools():
    found = measured([user("Hello."), says("Good day.")])
    assert (found.tools, found.files, found.largest, found.usage) == ({}, {}, [], None)
    assert found.superseded_reads.count == found.stale_reads.count == 0
    assert counts(found.roles) == {"user": 1, "assistant": 1}


def recorded(*sizes):
    """A session in which the lines of message ``m`` say how large its call was."""
    written = lines(user("Go."), says("One."), user("On."), says("Two."), format_name="claude-code")
    records = [json.loads(line) for line in written]
    answers = [record for record in records if record["type"] == "assistant"]
    for record, (message, size) in zip(answers, sizes, strict=True):
        usage = {"input_tokens": 3, "cache_read_input_tokens": size - 3, "output_tokens": 9999}
        record["message"] |= {"id": message, "usage": usage}
    return [json.dumps(record).encode() + b"\n" for record in records]


def usage(*sizes):
    return stats(load(recorded(*sizes), "claude-code"), COUNTER).usage


def test_usage_of_messages_whose_ids_are_no_names_is_counted_line_by_line():
    found = usage(({"x": 1}, 1000), (["y"], 2000))
    assert (found.calls, found.first, found.last) == (2, 1000, 2000)


def test_the_recorded_usage_stands_beside_the_count():
    found = usage(("m1", 1000), ("m2", 2000))
    assert (found.calls, found.first, found.last) == (2, 1000, 2000)
    assert found.counted == stats(load(recorded(("a", 9), ("b", 9))), COUNTER).tokens


def test_a_message_is_counted_once_and_its_last_line_wins():
    found = usage(("m1", 1000), ("m1", 2000))
    assert (found.calls, found.first, found.last) == (1, 2000, 2000)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(lines(*TALK)))
    return str(path)


@pytest.fixture
def told(capfdbinary, source):
    """What ``stats`` prints of the session."""

    def run(*options):
        assert cli.run(["stats", "--tokenizer", "chars", source, *options]) == 0
        return capfdbinary.readouterr().out.decode()

    return run


def test_json_holds_all_figures(told):
    found = json.loads(told("--json"))
    assert set(found) == {
        "tokens", "messages", "roles", "kinds", "tools", "files",
        "largest", "superseded_reads", "stale_reads", "usage",
    }  # fmt: skip
    assert found["tokens"] == sum(share["tokens"] for share in found["kinds"].values())
    assert found["superseded_reads"]["count"] == 1
    assert found["largest"][0]["tokens"] >= found["largest"][-1]["tokens"]


def test_the_table_names_every_part(told):
    text = told()
    for title in ("by role", "by kind", "results by tool", "results by file read", "/w/c.py"):
        assert title in text
    assert "reads shown again later (1)" in text
    assert "reads of files changed later (0)" in text
    assert "[chars]" in text


def test_more_of_the_largest_results_than_ten_can_be_asked_for(capfdbinary, tmp_path):
    talk = [user("Go."), *(m for n in range(15) for m in exchange(f"c{n}", "x " * (n + 1)))]
    file = tmp_path / "many.jsonl"
    file.write_bytes(b"".join(lines(*talk)))
    assert cli.run(["stats", "--tokenizer", "chars", str(file), "--top", "12"]) == 0
    assert capfdbinary.readouterr().out.count(b"  line ") == 12


def test_rows_beyond_the_top_are_summed_up(told):
    assert "(2 more) (2)" in told("--top", "1")
    assert "(2 more)" not in told("--top", "3")
