"""Codex: let turns be taken back, also such as a ``compacted`` line holds, and too many."""

from __future__ import annotations

from builders import load
from hypothesis import strategies as st

from compactctl import jsonio
from compactctl.protocol.check import breaks_pairs, problems


def rolled_back(draw, records):
    """Fold what came first into one line at times, and roll back wherever that breaks no pair."""
    if draw(st.integers(0, 2)):
        return records
    if draw(st.booleans()):
        records = _folded(draw, records)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(records)))
        line = (_rollback(draw(st.sampled_from((1, 1, 2, 3, 99)))), None)
        more = [*records[:at], line, *records[at:]]
        records = more if _is_whole(more) else records
    return records


def _rollback(turns):
    payload = {"type": "thread_rolled_back", "num_turns": turns}
    return {"timestamp": "T", "type": "event_msg", "payload": payload}


def _folded(draw, records):
    at = draw(st.integers(1, len(records)))
    old = [record for record, _ in records[:at]]
    if any(record.get("type") != "response_item" for record in old):
        return records
    payload = {"message": "", "replacement_history": [record["payload"] for record in old]}
    folded = [({"timestamp": "T", "type": "compacted", "payload": payload}, None), *records[at:]]
    return folded if draw(st.booleans()) else [*records[:at], *folded]


def _is_whole(records):
    found = load([jsonio.dump(record) + b"\n" for record, _ in records], "codex")
    every = problems(found.messages, found.format.PROFILE)
    return bool(found.messages) and not any(map(breaks_pairs, every))
