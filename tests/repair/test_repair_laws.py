"""Whatever happened to the lines of a transcript, a repair makes it valid or says what is left."""

from __future__ import annotations

import io

import pytest
from helpers.builders import exchange, lines, load, user
from helpers.strategies import transcripts
from hypothesis import given
from hypothesis import strategies as st

from compactctl import formats
from compactctl.errors import InputError
from compactctl.jsonl import exact
from compactctl.repair import entries
from compactctl.repair.chain import BESIDE, BREAKS
from compactctl.repair.engine import repair
from compactctl.repair.lines import FIXABLE
from compactctl.repair.steps import STEPS
from compactctl.rules import BY_ID, findings

FORMATS = formats.names()
SPLICES = (b"\0", b"\xff", b'"', b"{}", b"NaN", b"\\ud83d", b"\n")

KINDS = ("delete", "repeat", "swap", "end", "shuffle", "cut", "splice")


@st.composite
def damage(draw, lines):
    """Delete, repeat, move and cut lines, and bytes of lines."""
    broken = list(lines)
    for _ in range(draw(st.integers(1, 4))):
        if not broken:
            break
        at, to = (draw(st.integers(0, len(broken) - 1)) for _ in range(2))
        kind = draw(
            st.sampled_from(("delete", "repeat", "swap", "end", "shuffle", "cut", "splice"))
        )
        if kind == "delete":
            del broken[at : at + draw(st.integers(1, 3))]
        elif kind == "repeat":
            broken.insert(to, broken[at])
        elif kind == "swap":
            broken[at], broken[to] = broken[to], broken[at]
        elif kind == "end":
            del broken[at + 1 :]
        elif kind == "shuffle":
            broken = list(draw(st.permutations(broken)))
        else:
            byte = draw(st.integers(0, len(broken[at])))
            rest = b"\n" if kind == "cut" else draw(st.sampled_from(SPLICES)) + broken[at][byte:]
            broken[at] = broken[at][:byte] + rest
    return list(io.BytesIO(b"".join(broken)))


@pytest.mark.parametrize("name", formats.names())
@given(data=st.data())
def test_a_broken_transcript_is_mended_once_and_for_all(name, data):
    broken = data.draw(damage(data.draw(transcripts(name)).lines))
    try:
        done = repair(broken, "test", name)
    except InputError:
        return
    assert words(done.before) <= told(done.after)
    if not done.left:
        again = repair(done.lines, "test", name)
        assert b"".join(again.lines) == b"".join(done.lines)
        assert not again.fixes


def words(transcript):
    """What users said, but for what no person did."""
    blocks = [b for m in transcript.messages if m.role == "user" for b in m.blocks]
    said = {b.text for b in blocks if b.kind == "text" and b.text.strip() and not b.meta}
    return said - {t for t in said if t.startswith("{")}  # an object, spelled as a text


def told(transcript):
    """Every string in every line."""
    found, waiting = set(), [exact.object_or_none(entry.raw) for entry in transcript.entries]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)
    return found


@pytest.mark.parametrize("name", formats.names())
@given(data=st.data())
def test_what_a_repair_gave_is_left_alone(name, data):
    done = repair(data.draw(transcripts(name)).lines, "test", name)
    again = repair(done.lines, "test", name)
    assert done.left or list(again.lines) == list(done.lines)


def test_a_rule_sends_to_repair_exactly_where_a_step_is():
    steps = {rule for step in STEPS for rule in step.rules}
    chain = BREAKS | {BESIDE}
    fixed = steps | entries.RULES | FIXABLE | chain
    sent = {rule.id for rule in BY_ID.values() if rule.repaired}
    assert steps | entries.RULES | chain <= sent <= fixed
    assert not [rule.id for rule in BY_ID.values() if "compactctl repair" in rule.fix + rule.calm]


def test_a_gateways_rule_sends_nobody_to_repair():
    assert "compactctl repair" not in BY_ID["GATE-02"].advice()


def test_advice_is_what_a_repair_can_do_for_the_format():
    rule = BY_ID["ID-02"]  # Anthropic's, so a repair of chat messages leaves such ids alone
    said = lines(user("a"), *exchange("functions.x:0", "r"), format_name="openai")
    (found,) = findings.find(load(said, "openai"), "anthropic")
    assert (found.rule, found.mend) == (rule.id, rule.fix)
    (found,) = findings.find(load(lines(user("a"), *exchange("x:0", "r"))), "anthropic")
    assert found.mend == rule.advice() != rule.fix
