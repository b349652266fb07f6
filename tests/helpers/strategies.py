"""Hypothesis: whole transcripts of every format, with the odd lines that real files have."""

from __future__ import annotations

import json
from typing import NamedTuple

import orjson
from hypothesis import strategies as st

from compactctl import layers, summaries
from compactctl.model import Block
from helpers import pools
from helpers.builders import assistant, call, read, result, system, text, thinking, user
from helpers.rollbacks import rolled_back
from helpers.scribe import Abandoned, Mark, Scribe, ways
from helpers.usages import with_usages


class Case(NamedTuple):
    """The lines of one transcript; ``glued``: some line holds two objects."""

    format: str
    lines: list[bytes]
    glued: bool


@st.composite
def _call(draw, call_id):
    """A call and what came back for it."""
    kind = draw(
        st.sampled_from(("read", "read", "read", "shell", "edit", "patch", "todo", "task", "odd"))
    )
    path = draw(st.sampled_from(pools.PATHS)) if kind in {"read", "edit"} else ""
    if kind == "read":
        made = read(call_id, path, **draw(st.sampled_from(pools.WINDOWS)))
    elif kind == "edit":
        made = call(call_id, "Edit", file_path=path, old_string="a", new_string="bé" * 9)
    elif kind == "shell":
        made = call(call_id, "Bash", command="make test", timeout=10**19, ratio=1e-07)
    elif kind == "patch":
        made = call(call_id, "apply_patch", patch=pools.PATCH)
    elif kind == "todo":
        made = call(call_id, "TodoWrite", todos=draw(st.sampled_from(pools.TODOS)))
    elif kind == "task":
        tool, given = draw(st.sampled_from(pools.TASKS))
        made = call(call_id, tool, **given)
    else:
        made = call(call_id, "mcp__x__y", file_path={"not": "a string"}, s="é\u2028")
    failed = draw(st.integers(0, 5)) == 5
    named = path if kind == "read" and draw(st.integers(0, 4)) == 4 else None
    told = draw(st.sampled_from(pools.OUTPUTS[:9] if kind == "read" else pools.OUTPUTS))
    if not told:
        return made, Block("result", call_id=call_id, failed=failed)
    return made, result(call_id, *told, failed=failed, path=named or None)


@st.composite
def _turn(draw, number):
    """An answer of the model, with the user message that follows it ("" blocks: none does)."""
    calls = [draw(_call(f"toolu_{number}_{at}")) for at in range(draw(st.integers(0, 3)))]
    answer = [thinking(f"thought {number}")] if draw(st.booleans()) else []
    if not calls or draw(st.booleans()):
        answer.append(text(draw(st.sampled_from(pools.WORDS[:6]))))
    answer += [made for made, _ in calls]
    answers = [answer for _, answer in calls]
    if len(answers) > 1 and draw(st.booleans()):
        answers.reverse()
    prompts = draw(st.lists(st.sampled_from(pools.PROMPTS), max_size=2))
    if not calls and not prompts and draw(st.integers(0, 3)):
        prompts = [text("go on")]
    return assistant(*answer), answers, prompts


ROLLBACK = Mark(
    {
        "type": "event_msg",
        "payload": {"type": "thread_rolled_back", "num_turns": 1},
        "timestamp": "",
    }
)
"""What Codex writes when the user goes back: the last prompt is out of the view."""
MARK = Mark({"type": "compactctl.compaction", "summary": "s"})
LATE_PROMPT = (
    assistant(read("r1", "/w/CLAUDE.md")),
    user(result("r1", "use tabs")),
    assistant(pools.LONG, read("r2", "/w/AGENTS.md")),
    user(
        result("r2", "use spaces"), "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"
    ),
    assistant(pools.LONG, read("r3", "/w/sub/AGENTS.md")),
    user(result("r3", "use both")),
)
"""The first user message follows an answer, and is the harness's; reads of rules part it off."""
BEHIND_CALLS = (
    *[()] * 4,
    (system("Be brief."),),
    (system("Be brief."), assistant("Still at it.")),
    (user("a wrong turn"), ROLLBACK, assistant("Still at it.")),
)
"""What may stand between the last calls and their results, if there are any."""
SUMMARY = text(summaries.fence(summaries.write({"Goal": ["mend it"]})))


@st.composite
def conversations(draw, *, is_codex=False):
    """A conversation as a provider would take it; it may stop in the middle of a batch.

    In Codex an answer may open it, and its last calls may be open in front of other words.
    """
    said = [system("Be kind.")] if draw(st.integers(0, 3)) == 3 else []
    if is_codex and draw(st.integers(0, 4)) == 4:
        said += LATE_PROMPT
    else:
        said.append(user(*draw(st.lists(st.sampled_from(pools.PROMPTS), min_size=1, max_size=3))))
    many = draw(st.sampled_from((0, 1, 2, 3, 5, 6, 8, 10)))
    for number in range(many):
        answer, answers, prompts = draw(_turn(number))
        said.append(answer)
        if number == many - 1 and answers:
            open_calls = draw(st.integers(0, len(answers)))
            answers = answers[open_calls:]
            prompts = [] if open_calls else prompts
        event = draw(st.integers(0, 19))
        if event == 19 and prompts and not answers:
            said += [MARK, user(SUMMARY)]
        elif event == 18 and prompts and not answers:
            said.append(Abandoned((user("a wrong turn"), assistant("so be it"))))
        if number == many - 1 and not prompts and is_codex:
            said += draw(st.sampled_from(BEHIND_CALLS))
        if answers or prompts:
            said.append(user(*answers, *prompts))
    return said


def _spell(record, style):
    """Write a record as JSON in one of the ways that are found."""
    if style == 1:
        return json.dumps(record, ensure_ascii=False).encode()
    if style == 2:
        return json.dumps(record, separators=(",", ":")).encode()
    plain = orjson.dumps(record) if style < 5 else json.dumps(record).encode()
    return plain[:-1] + pools.EXTRA[style % 2] if style > 2 else plain


@st.composite
def transcripts(draw, format_name):
    """A conversation in the lines of a format, with odd lines between them."""
    scribe = Scribe(format_name)
    every = ways(format_name)
    way = st.sampled_from(every)
    lines, objects = [], []
    records = scribe.write(draw(conversations(is_codex=format_name == "codex")), lambda: draw(way))
    if scribe.format.profile == "openai-responses":
        records = _delayed(draw, list(records))
    if format_name == "codex":
        records = rolled_back(draw, records)
    for record, own in with_usages(draw, format_name, records):
        style = draw(st.integers(-8, 6))
        lines.append(_spell(record, max(style, 0)))
        objects.append(len(lines) - 1)
        if style == -8:
            lines.append(draw(st.sampled_from(pools.ODD_LINES)))
        elif style == -7:
            lines.append(draw(st.sampled_from(pools.DURABLE)))
        elif style == -6 and own is not None and scribe.format.links:
            lines.append(orjson.dumps(scribe.odd({"type": "from-the-future"})))
        elif style == -5 and own is not None and scribe.format.links:
            note = dict.fromkeys(scribe.format.links.also, own)
            lines.append(orjson.dumps({"type": "note"} | note))
    return _as_file(draw, format_name, lines, objects)


def _delayed(draw, records):
    """Let a result come behind a later one: the API only asks for a call in front of it."""
    outputs = [at for at, (record, _) in enumerate(records) if _is_output(record)]
    if outputs and draw(st.integers(0, 3)) == 3:
        at, behind = sorted(draw(st.tuples(*[st.sampled_from(outputs)] * 2)))
        if not any("compact" in str(record.get("type")) for record, _ in records[at:behind]):
            records.insert(behind, records.pop(at))
    return records


def _is_output(record):
    kinds = (record.get("type"), (record.get("payload") or {}).get("type"))
    return any(str(kind).endswith(("_output", "_result")) for kind in kinds)


def _as_file(draw, format_name, lines, objects):
    """Put line ends to the lines, and the damage that whole files come with."""
    glued = False
    damage = draw(st.integers(0, 9))
    at = draw(st.sampled_from(objects))
    if damage == 1 and at + 1 in objects:
        lines[at : at + 2] = [lines[at] + lines[at + 1]]
        glued = True
    elif damage == 2:
        lines[at] = b"\0\0" + lines[at] + b"\0"
    elif damage == 3:
        lines[0] = b"\xef\xbb\xbf" + lines[0]
    elif damage == 4:
        lines.insert(0, draw(st.sampled_from(pools.DURABLE)))
    ends = draw(st.sampled_from((b"\n", b"\n", b"\r\n")))
    whole = [line + ends for line in lines]
    if draw(st.booleans()) and lines[-1]:
        whole[-1] = lines[-1]
    return Case(format_name, whole, glued)


chains = st.permutations(layers.ORDER).flatmap(
    lambda order: st.integers(1, len(order)).map(lambda many: tuple(order[:many]))
)


globs = st.sampled_from(pools.GLOBS)


@st.composite
def options(draw, names=layers.ORDER, *, room=False):
    """Options of each layer; ``room`` leaves some for a pointer in the note of a cut."""
    given = {
        name: {
            key: draw(st.sampled_from(values))
            for key, values in pools.SMALL.get(name, {}).items()
            if key in layers.options(name)
        }
        for name in names
    }
    if "prune" in given:
        measure = draw(st.sampled_from(pools.MEASURES))
        given["prune"] |= dict.fromkeys(set(pools.MEASURES) - {measure})
        belong = pools.OF_MODE[given["prune"]["mode"]]
        given["prune"] = {key: value for key, value in given["prune"].items() if key in belong}
    if room and "truncate" in given:
        given["truncate"] |= {"max_tokens": 170, "batch_tokens": None}
    return given
