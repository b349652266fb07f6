"""Codex: let turns be taken back, also such as a ``compacted`` line holds, and too many."""

from __future__ import annotations

from hypothesis import strategies as st

from compactctl.formats.codex.edit import said
from compactctl.jsonl import exact
from compactctl.rules.check import breaks_pairs, problems
from helpers.builders import load

WRONG_TURN = [
    said("user", [{"type": "input_text", "text": "a wrong turn"}]),
    said("assistant", [{"type": "output_text", "text": "so be it"}]),
]


def rolled_back(draw, records):
    """Take back a turn inside a line that holds many, or what a rollback anywhere finds."""
    kind = draw(st.sampled_from(("none", "folded", "folded", "turn", "any", "any")))
    if kind == "folded":
        at = draw(st.integers(1, len(records)))
        records = _if_whole([*_folded(records[:at]), _rollback(1), *records[at:]], records)
    elif kind == "turn":
        at = draw(st.integers(0, len(records)))
        turn = [(_line("response_item", item), None) for item in WRONG_TURN]
        records = _if_whole([*records[:at], *turn, _rollback(1), *records[at:]], records)
    if kind != "none":
        for turns in draw(st.lists(st.sampled_from((1, 1, 2, 99)), max_size=2)):
            at = draw(st.integers(0, len(records)))
            records = _if_whole([*records[:at], _rollback(turns), *records[at:]], records)
    return records


def _line(kind, payload):
    return {"timestamp": "T", "type": kind, "payload": payload}


def _rollback(turns):
    return _line("event_msg", {"type": "thread_rolled_back", "num_turns": turns}), None


def _folded(records):
    """Give a line that holds these items, and a turn more."""
    items = [record["payload"] for record, _ in records if record.get("type") == "response_item"]
    history = {"message": "", "replacement_history": [*items, *WRONG_TURN]}
    return [(_line("compacted", history), None)]


def _if_whole(more, records):
    """Give the first records, or the others if a call or a result would be alone in the first."""
    found = load([exact.dump(record) + b"\n" for record, _ in more], "codex")
    every = problems(found.messages, found.format.profile)
    return more if found.messages and not any(map(breaks_pairs, every)) else records
