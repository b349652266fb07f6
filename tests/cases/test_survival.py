"""What an agent needs to go on survives summarize and prune: requests, rules, failures, todos."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.builders import (
    COUNTER,
    assistant,
    call,
    exchange,
    load,
    prune,
    reading,
    result,
    summarize,
    text,
    texts,
    user,
    view,
)

from compactctl import pipeline, placeholders, summaries
from compactctl.layers.clear_results import FAILURE_TOKENS
from compactctl.view import sentences
from compactctl.view.facts import Facts
from compactctl.view.index import View
from compactctl.view.requests import own_words, says_something

SHARED = Path(__file__).parents[3] / "shared" / "cases"
LONG = "output line\n" * 200
TEMPLATE = {"summarize": {"summarizer": "template"}}


def work(many=8):
    """Calls that take room, so that a summary is smaller."""
    return [m for n in range(many) for m in exchange(f"w{n}", LONG, command=f"make step{n}")]


def shared(start):
    """The lines of a shared case; without it the test is skipped."""
    found = next(iter(SHARED.glob(f"{start}*")), None)
    if found is None:
        pytest.skip("no shared cases beside the project")
    return found.read_bytes().splitlines(keepends=True)


def run(raw, *names, options=None):
    found = load(raw)
    done = pipeline.run(found, names, TEMPLATE | (options or {}), COUNTER)
    return list(load(done.written().lines(), found.format.name).messages)


def sections(messages):
    (said,) = [s for words in texts(messages, "user") if (s := summaries.unfence(words))]
    return summaries.read(said)


def summary_of(*messages, **options):
    return sections(summarize(view(*messages), **options).messages)


def mark_of(messages):
    (mark,) = [m for words in texts(messages) if (m := placeholders.read_pruned(words))]
    return mark


# requests

COMMAND = (
    "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n"
    "<command-args>14 only the backend, no migrations</command-args>"
)
SKILL = '<skill name="design" location="/s/SKILL.md">\nAlways hide information.\n</skill>'
WRAPPED = [
    (COMMAND, "/plan 14 only the backend, no migrations"),
    ("<command-name>/review</command-name>", "/review"),
    (f"{SKILL}\n\nReview the payments, change no file.", "Review the payments, change no file."),
    ("# Files mentioned by the user:\n\n## a.png: /a\n\n## My request for Codex:\nmake room",
     "make room"),
    ("# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nmend it",
     "mend it"),
    ("<ide_opened_file>The user opened a.py</ide_opened_file>\nwhy is it slow", "why is it slow"),
    ("mend it\n<system-reminder>\nBe brief.\n</system-reminder>", "mend it"),
    ("<user_query>\nadd a test\n</user_query>", "add a test"),
    ("<uploaded_files>\n/w\n</uploaded_files>\nImplement the change.", "Implement the change."),
    ("<file path='a'>x = 1</file>", "<file path='a'>x = 1</file>"),
    ("compare a < b and b > c", "compare a < b and b > c"),
    ("# Plan\nBuild it.", "# Plan\nBuild it."),
]  # fmt: skip


@pytest.mark.parametrize(("said", "words"), WRAPPED)
def test_the_users_own_words_are_what_is_left_without_wrappers(said, words):
    assert own_words(said).strip() == words


@pytest.mark.parametrize(
    "said",
    [
        '<image name=[Image #1] path="/tmp/a.png">',
        "</image>",
        SKILL,
        "<command-name>/clear</command-name>\n<command-args></command-args>",
        "<command-name>/model</command-name>\n<command-args>opus</command-args>",
        "# Files mentioned by the user:\n\n## a.png: /a\n",
        "<system-reminder>never closed",
        "This session is being continued from a previous conversation that ran out of context.",
    ],
)
def test_what_only_the_harness_says_is_no_request(said):
    assert own_words(said).strip() == ""


@pytest.mark.parametrize(("said", "words"), WRAPPED)
def test_a_wrapped_request_is_the_goal_by_the_users_own_words(said, words):
    goal = summary_of(user(said), *work(), user("push it"), assistant("done"))["Goal"]
    assert goal == [" ".join(words.split())]


@pytest.mark.parametrize("said", ["y", "1", "commit", "go on", "yes please", "ok", "継続"])
def test_a_word_that_only_agrees_says_next_to_nothing(said):
    assert not says_something(said)


@pytest.mark.parametrize(
    "said", ["rename a.py", "write the tests for it", "テストを追加してください", "see #12"]
)
def test_a_few_words_may_say_what_is_to_be_done(said):
    assert says_something(said)


def test_what_a_short_reply_answers_is_kept():
    plan = "Shall I (1) drop the table or (2) migrate the rows?"
    said = [user("move the users over to the new schema"), assistant(plan), user("2"), *work()]
    status = summary_of(*said)["Current status"]
    assert f"The last request answers: {plan}" in status
    left = prune(view(*said), keep_turns=1).messages
    assert mark_of(left).items(placeholders.ANSWERED) == [plan]


def test_what_a_reply_answers_is_not_repeated_where_it_stays():
    said = [user("move the users over to the new schema"), *work(), assistant("1 or 2?")]
    status = summary_of(*said, user("2"), assistant("so be it"), keep_messages=3)["Current status"]
    assert not any("answers" in item for item in status)


def test_requests_in_the_middle_survive_prune_and_then_summarize():
    asked = ["use semicolons, not commas", "write the header only once", "name it export.csv"]
    said = [user("build the exporter"), *work(2)]
    said += [m for words in asked for m in (assistant("so"), user(words), *work(3))]
    pruned = prune(view(*said, user("go on"), assistant("yes")), keep_turns=2).messages
    assert mark_of(pruned).items(placeholders.ASKED)[0] == asked[-1]
    whole = " ".join(texts(summarize(view(*pruned, *work()), keep_messages=2).messages, "user"))
    assert all(words in whole for words in asked)


def test_a_pasted_log_is_cut_in_its_middle():
    log = "start of the log\n" + "INFO nothing new\n" * 500 + "the last line"
    said = [user("mend the build"), assistant("so"), user(f"look at this: {log}"), *work()]
    said += [user("and the docs as well, please"), assistant("yes")]
    (item,) = [i for i in summary_of(*said)["Current status"] if "look at this" in i]
    assert item.endswith("the last line")
    assert " … " in item
    assert COUNTER.count(item) < 300


def test_words_with_which_a_call_was_turned_down_are_a_request():
    refused = "The user doesn't want to proceed with this tool use. the user said:\nuse uv instead"
    turned = exchange("t", refused, failed=True, command="pip install x")
    said = summary_of(
        user("set it up, then run the tests"), *turned, *work(), user("on"), assistant("k")
    )
    assert any("use uv instead" in item for item in said["Current status"])
    assert said["Open tool results"] == []


# rules


@pytest.mark.parametrize(
    "rule",
    [
        "Never touch db.sql.",
        "Please make sure that the tests stay green.",
        "Use semicolons, not commas.",
        "不要修改测试目录",
        "テストは変更しないでください。",
        "Die Tests dürfen niemals geändert werden.",
        "Ne touche jamais à la base.",
        "Никогда не трогай базу.",
        "반드시 테스트를 먼저 돌려라.",
    ],
)
def test_a_sentence_that_lays_down_a_rule_is_one_in_any_of_several_languages(rule):
    assert sentences.rules_in(f"Build it.\n{rule}\nThanks a lot.") == [rule]


@pytest.mark.parametrize(
    "line",
    [
        "why was my score no longer on the board?",
        "| `security` | No env vars, only a very minimal repo |",
        "1539:     self.only = self.value_field.only",
        "   12→    return must_be_only(x)",
        "assert x  # should not happen",
        "```\nnever do this\n```",
        "~~~sh\nmust run\n~~~",
        "2026-01-01T10:00:00 ERROR must not be empty",
        "const only = require('only')",
        "if (never) { return; }",
        "> You must not do that.",
        "I don't know what it does.",
        "(and should I keep it?)",
    ],
)
def test_code_tables_listings_logs_and_questions_are_no_rules(line):
    assert sentences.rules_in(f"Build it.\n{line}\nThanks.") == []


def test_a_rule_that_is_wrapped_over_two_lines_is_one_sentence():
    words = "Keep the public interface of the report module as it is and never change\nits names."
    assert sentences.rules_in(words) == [" ".join(words.split())]


@pytest.mark.parametrize("sign", ["- ", "* ", "3. ", "[ ] "])
def test_the_sign_of_a_list_is_no_part_of_a_rule(sign):
    assert sentences.rules_in(f"{sign}Never push to main.") == ["Never push to main."]


def test_a_number_at_the_end_of_a_sentence_stays():
    said = "My id is omar_3817. Never give it away."
    assert sentences.rules_in(said) == ["Never give it away."]
    assert sentences.rules_in("Never use port 3817. Thanks.") == ["Never use port 3817."]


# failures

COMMIT = 'git add a.md && git commit -m "{}"'
ERROR = "Exit code 1\nrunning\nTypeError: x is undefined\n" + "at frame\n" * 40 + "npm ERR! done"


def test_a_failure_is_named_by_the_line_that_names_the_error():
    said = [user("go"), *exchange("f", ERROR, failed=True, command="npm test"), *work()]
    (item,) = summary_of(*said)["Open tool results"]
    assert item == "Bash npm test failed: Exit code 1; TypeError: x is undefined"


@pytest.mark.parametrize(
    ("failed", "mended"),
    [
        ({"command": COMMIT.format("docs: add it")}, {"command": COMMIT.format("docs: add this")}),
        ({"command": "cd /w && make test 2>&1 | tail -5"}, {"command": "make test"}),
        ({"command": "pytest -x tests"}, {"command": "pytest -q tests"}),
        ({"command": "pytest -x tests/test_a.py"}, {"command": "pytest -q"}),
        ({"command": "go test ./a"}, {"command": "go test"}),
        ({"command": "pytest tests/a.py"}, {"command": "pytest tests"}),
        ({"command": "pytest tests/a.py"}, {"command": "pytest tests/b.py tests/a.py"}),
    ],
)
def test_a_command_that_worked_later_is_no_open_failure(failed, mended):
    broken, works = exchange("f", ERROR, failed=True, **failed), exchange("m", "ok", **mended)
    assert Facts(View([user("go"), *broken, *works])).failures == []
    assert len(Facts(View([user("go"), *works, *broken])).failures) == 1


@pytest.mark.parametrize(
    ("failed", "other"),
    [
        ("pytest tests/a.py", "pytest tests/b.py"),
        ("pytest a.py b.py", "pytest a.py"),
        ("ls missing", "ls"),
        ("pytest", "pytest a.py"),
    ],
)
def test_another_command_mends_nothing(failed, other):
    broken, works = (
        exchange("f", ERROR, failed=True, command=failed),
        exchange("m", "ok", command=other),
    )
    assert len(Facts(View([*broken, *works])).failures) == 1


def test_a_file_that_was_edited_later_is_no_open_failure():
    at = {"file_path": "/w/a.py"}
    broken = exchange("f", "String to replace not found", tool="Edit", failed=True, **at)
    works = exchange("m", "updated", tool="Write", **at)
    other = exchange("o", "updated", tool="Edit", file_path="/w/b.py")
    assert Facts(View([*broken, *works])).failures == []
    assert len(Facts(View([*broken, *other])).failures) == 1


def test_what_stays_may_mend_what_goes():
    broken = exchange("f", ERROR, failed=True, command="make test")
    works = exchange("m", "3 passed", command="make test")
    said = [user("go"), *broken, *work(), *works, assistant("done")]
    assert summary_of(*said)["Open tool results"] == []


def test_a_search_that_found_nothing_is_no_failure():
    quiet = exchange("f", "Exit code 1", failed=True, command="grep -r nothing src")
    assert Facts(View(quiet)).failures == []


def test_a_failure_goes_from_the_placeholder_into_the_summary_until_it_is_mended():
    said = [user("go"), *exchange("f", ERROR, failed=True, command="npm test"), *work()]
    pruned = prune(view(*said), keep_turns=2).messages
    assert "TypeError" in mark_of(pruned).items(placeholders.FAILED)[0]
    (item,) = summary_of(*pruned, *work())["Open tool results"]
    assert "TypeError" in item
    works = exchange("m", "3 passed", command="npm test")
    assert summary_of(*pruned, *works, *work())["Open tool results"] == []


def test_a_cleared_failure_keeps_its_exit_its_error_and_its_last_lines():
    broken = exchange("f", ERROR, failed=True, command="npm test")
    left = prune(view(user("go"), *broken, *work()), mode="clear").messages
    kept = left[2].blocks[0].content[0].text
    assert kept.startswith('[compactctl: "Bash npm test", ')
    assert kept.splitlines()[1:] == [
        "Exit code 1",
        "TypeError: x is undefined",
        "at frame",
        "npm ERR! done",
    ]
    assert COUNTER.count("\n".join(kept.splitlines()[1:])) <= FAILURE_TOKENS
    assert placeholders.tells_failure(kept)
    (item,) = summary_of(*left, *work())["Open tool results"]
    assert "TypeError" in item


def test_the_lines_of_a_cleared_failure_have_room_for_no_more_than_they_may():
    wide = "\n".join(f"Error: {'word ' * 200}{n}" for n in range(9))
    left = prune(view(user("go"), *exchange("f", wide, failed=True), *work()), mode="clear")
    kept = left.messages[2].blocks[0].content[0].text.split("\n", 1)[1]
    assert COUNTER.count(kept) <= FAILURE_TOKENS
    assert not prune(view(*left.messages), mode="clear").actions


def test_a_cleared_result_names_tool_and_target():
    found = exchange("r", LONG, tool="Grep", pattern="def x", path="/w/src")
    left = prune(view(user("go"), *found, *work()), mode="clear").messages
    assert left[2].blocks[0].content[0].text.startswith('[compactctl: "Grep def x in /w/src", ')


# todos


def task(number, name):
    made = call(f"e{number}", "TaskCreate", subject=name, description=name)
    return [
        assistant(made),
        user(result(f"e{number}", f"Task #{number} created successfully: {name}")),
    ]


def change(number, **members):
    made = call(f"f{number}{len(members)}", "TaskUpdate", taskId=str(number), **members)
    return [assistant(made), user(result(f"f{number}{len(members)}", f"Updated task #{number}"))]


def test_open_tasks_are_the_next_steps():
    said = [user("export it in steps"), *task(1, "parse"), *task(2, "write"), *task(3, "test")]
    said += [*change(1, status="completed"), *change(2, status="in_progress"), *work()]
    assert summary_of(*said)["Next step"] == ["write", "test"]


def test_a_task_that_is_done_in_what_stays_is_not_open():
    said = [user("export it"), *task(1, "parse"), *task(2, "write"), *work()]
    said += [*change(1, status="completed"), assistant("done")]
    assert summary_of(*said)["Next step"] == ["write"]


@pytest.mark.parametrize(
    ("tool", "items"),
    [
        ("update_plan", {"plan": [{"step": "a", "status": "completed"}, {"step": "b"}]}),
        ("write_todos", {"todos": [{"description": "b", "status": "pending"}]}),
    ],
)
def test_lists_of_other_agents_are_next_steps_too(tool, items):
    assert summary_of(user("go"), *exchange("t", "ok", tool=tool, **items), *work())[
        "Next step"
    ] == ["b"]


# earlier summaries

NUMBERED = """This session is being continued from a previous conversation. The summary is below.

Analysis:
1. I looked at file 1.
2. I looked at file 2.

Summary:
1. Primary Request and Intent:
   Build a CSV exporter; NEVER change report.py.

6. All user messages:
   - "use semicolons, not commas"

7. Pending Tasks:
   - test the empty table

8. Current Work:
   Half of export.py is written.

If you need specific details from before compaction, read the full transcript at: /t.jsonl
"""
OF_PI = """## Goal
Refactor the agent into one session class.

## Constraints & Preferences
- Keep the old code working

## Progress
### Done
- [x] session class

## Next Steps
1. Move the files

<read-files>
src/a.ts
</read-files>

<modified-files>
src/b.ts
</modified-files>"""
OF_CODEX = """Another language model started to solve this problem and produced a summary.

**Objective**
Ship the exporter.

**Remaining work**
- document it
"""


def summed(words, **members):
    return user(text(words, meta=True, is_summary=True, **members))


@pytest.mark.parametrize(
    ("words", "goal", "step"),
    [
        (NUMBERED, "Build a CSV exporter; NEVER change report.py.", "test the empty table"),
        (OF_PI, "Refactor the agent into one session class.", "Move the files"),
        (OF_CODEX, "Ship the exporter.", "document it"),
    ],
    ids=["claude-code", "pi", "codex"],
)
def test_an_earlier_summary_is_kept_by_its_sections(words, goal, step):
    said = summary_of(summed(words), *work())
    assert said["Goal"] == [goal]
    assert step in said["Next step"]
    assert not any("I looked at" in item for items in said.values() for item in items)
    assert not any("specific details" in item for items in said.values() for item in items)


def test_of_a_summary_without_sections_rules_pending_steps_and_the_end_survive():
    middle = "\n".join(f"Module {n} was changed, decision {n} taken." for n in range(400))
    words = f"{middle}\nNever touch vendor/.\n{middle}\nPending: fix totals_7."
    said = summary_of(summed(words), *work())
    assert "Never touch vendor/." in said["Important constraints"]
    assert "Pending: fix totals_7." in said["Next step"]
    assert any("decision 399" in item for item in said["Current status"])


def test_a_summary_that_no_flag_tells_is_known_by_its_words():
    said = summary_of(user(NUMBERED), *work())
    assert said["Goal"] == ["Build a CSV exporter; NEVER change report.py."]


def test_the_lists_in_the_text_and_in_the_record_of_a_summary_are_merged():
    beside = (("src/old.ts", "src/a.ts"), ("src/done.ts",))
    said = summary_of(summed(OF_PI, files=beside), *reading("r", LONG, path="src/new.ts"), *work())
    assert said["Files observed"] == ["src/new.ts", "src/a.ts", "src/old.ts"]
    assert sorted(said["Files modified"]) == ["src/b.ts", "src/done.ts"]


def test_the_details_of_pi_are_read_beside_its_summary():
    lines = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/w"},
        {"type": "message", "id": "a", "parentId": None, "timestamp": "t",
         "message": {"role": "user", "content": "go"}},
        {"type": "compaction", "id": "b", "parentId": "a", "timestamp": "t", "summary": "S",
         "firstKeptEntryId": "b", "tokensBefore": 9,
         "details": {"readFiles": ["a.ts", 7], "modifiedFiles": ["b.ts"]}},
    ]  # fmt: skip
    found = load([json.dumps(line).encode() + b"\n" for line in lines], "pi")
    assert found.messages[0].blocks[0].files == (("a.ts",), ("b.ts",))


def test_three_summaries_in_a_row_say_it_once_and_count_the_truth():
    said = [
        user("build the exporter, never touch main"),
        *work(),
        user("add a header line"),
        *work(),
    ]
    once = summarize(view(*said)).messages
    twice = summarize(view(*once, user("now write the docs"), *work())).messages
    found = sections(twice)
    assert found["Goal"] == ["build the exporter, never touch main"]
    status = found["Current status"]
    assert status.count("The user asked: add a header line") == 1
    calls = sum(b.kind == "call" for m in [*said, *work()] for b in m.blocks)
    stay = sum(b.kind == "call" for m in twice for b in m.blocks)
    assert f"with {calls - stay} tool calls;" in status[0]


def test_messages_that_had_gone_before_are_counted_apart():
    said = [user("build the exporter"), *work(), user("go on"), *work()]
    pruned = prune(view(*said), keep_turns=5).messages
    gone = mark_of(pruned).messages
    status = summary_of(*pruned)["Current status"]
    assert f"and {gone} messages removed before" in status[0]


# files


def test_paths_are_relative_to_the_folder_of_the_session_and_the_newest_come_first():
    reads = [
        m
        for n in range(3)
        for m in (
            assistant(call(f"r{n}", "Read", "/w/app", file_path=f"/w/app/src/{n}.py")),
            user(result(f"r{n}", LONG)),
        )
    ]
    again = [
        assistant(call("again", "Read", "/w/app", file_path="src/0.py")),
        user(result("again", LONG)),
    ]
    outside = [
        assistant(call("o", "Read", "/w/app", file_path="/etc/hosts")),
        user(result("o", LONG)),
    ]
    said = [user("go"), *reads, *again, *outside]
    expected = ["/etc/hosts", "src/0.py", "src/2.py", "src/1.py"]
    assert (
        mark_of(prune(view(*said, *work(2)), keep_turns=1).messages).items(placeholders.READ)
        == expected
    )
    assert summary_of(*said, *work(2))["Files observed"] == expected


def test_the_record_of_a_summary_has_whole_paths():
    read = [assistant(call("r", "Read", "/w", file_path="/w/src/a.py")), user(result("r", LONG))]
    mark = summarize(view(user("go"), *read, *work())).mark
    assert mark["files_read"] == ["/w/src/a.py"]


def test_branches_and_commits_are_named():
    made = exchange("c", "[topic 1b3df75] docs: add it\n 1 file changed", command="git commit -m x")
    said = [user("go"), *made, *work()]
    assert "Branch or commit: topic 1b3df75 docs: add it" in summary_of(*said)["Current status"]
    pruned = prune(view(*said), keep_turns=1).messages
    assert mark_of(pruned).items(placeholders.BRANCHES) == ["topic 1b3df75 docs: add it"]


def test_nothing_stands_twice():
    rule = "Never touch the public interface of report.py."
    said = [
        user(rule),
        *work(),
        user("add a header line now"),
        assistant("so"),
        user(rule),
        *work(),
    ]
    found = summary_of(*said)
    every = [item for items in found.values() for item in items]
    assert len(every) == len(set(every))
    assert sum(rule in item for item in every) == 1


def test_the_smallest_summary_still_has_its_sections_and_its_size():
    said = [user(f"必须 {LONG}"), *work(40), user("and the docs, in full"), *work(40)]
    for limit in (150, 300, 1000, 3000):
        left = summarize(view(*said), max_summary_tokens=limit).messages
        (words,) = [s for w in texts(left, "user") if (s := summaries.unfence(w))]
        assert COUNTER.count(words) <= limit
        assert list(summaries.read(words)) == list(summaries.SECTIONS)


# the shared cases


def test_case_01_the_slash_command_is_the_goal_word_for_word():
    asked = "/plan-phase 14 only the backend, no migrations"
    assert sections(run(shared("01-"), "summarize"))["Goal"] == [asked]
    left = run(shared("01-"), "prune")
    assert any("14 only the backend, no migrations" in words for words in texts(left, "user"))


def test_case_02_the_numbered_sections_survive_and_the_analysis_goes():
    said = sections(run(shared("02-"), "summarize"))
    whole = json.dumps(said)
    assert "NEVER change the public API of report.py" in whole
    assert "write the test for the empty table" in said["Next step"]
    assert "Finish write_rows() in src/export.py." in said["Next step"]
    assert "I looked at file" not in whole


def test_case_04_wrappers_of_images_and_files_are_no_requests():
    said = sections(run(shared("04-"), "summarize"))
    assert said["Goal"] == ["the leaderboard is too crowded, give it more spacing"]
    assert "image" not in json.dumps(said)


def test_case_07_a_mended_failure_is_not_open():
    assert sections(run(shared("07-"), "summarize"))["Open tool results"] == []


def test_case_09_the_words_behind_a_skill_are_the_request_and_its_rules_are_not_the_users():
    said = sections(run(shared("09-"), "summarize"))
    assert said["Goal"] == ["Review the payment module, but do not change any file yet."]
    assert "Avoid vague names" not in json.dumps(said)


def test_case_11_no_code_table_listing_or_question_is_a_constraint():
    said = sections(run(shared("11-"), "summarize"))
    assert said["Important constraints"] == ["Never touch db.sql."]


@pytest.mark.parametrize("name", ["12-", "summarize-loses-agents-md"])
def test_case_12_standing_rules_stay(name):
    raw = shared(name)
    before = [w for w in texts(load(raw).messages, "user") if "AGENTS.md" in w or "CLAUDE.md" in w]
    left = texts(run(raw, "summarize"), "user")
    assert all(words in left for words in before)


def test_case_13_all_requests_survive_the_default_chain():
    raw = shared("13-")
    asked = [w for m in load(raw).messages if m.role == "user" for w in texts([m])]
    left = " ".join(texts(run(raw, "truncate", "dedup", "prune", "summarize"), "user"))
    assert asked
    assert all(words in left for words in asked)


def test_case_14_open_tasks_are_next_steps():
    assert sections(run(shared("14-"), "summarize"))["Next step"] == [
        "write the writer",
        "write the tests",
    ]


def test_case_16_the_placeholder_names_files_from_the_folder_on_the_newest_first():
    mark = mark_of(run(shared("16-"), "prune"))
    modified = mark.items(placeholders.MODIFIED)
    assert modified[0].startswith(
        "packages/core/src/evaluation/validation/module_with_a_long_name_"
    )
    assert modified == sorted(modified, reverse=True)
    assert mark.items(placeholders.READ)
    assert not any(path.startswith("/srv") for path in modified)


def test_case_c24_what_was_typed_while_the_agent_worked_is_a_request():
    said = sections(run(shared("c24-"), "summarize"))
    rule = "IMPORTANT: never touch the safety interlock tests, they are signed off."
    assert rule in said["Important constraints"]
    left = " ".join(texts(run(shared("c24-"), "summarize"), "user"))
    assert "name every new test test_k_*." in left


def test_case_summary_cut_keeps_the_rule_in_the_middle_and_the_pending_item_at_the_end():
    said = json.dumps(sections(run(shared("summarize-native-summary-cut"), "summarize")))
    assert "never touch vendor/" in said
    assert "Pending: fix totals_7." in said
