"""Where only its text tells that a call failed, what stands in its place goes on telling it."""

from __future__ import annotations

import json

import pytest
from helpers.builders import COUNTER, load

from compactctl import pipeline

LOG = "\n".join(f"line {number} of a long output" for number in range(200))
FAILED = f"Chunk ID: 1a2b\nWall time: 1.0 seconds\nProcess exited with code 1\nOutput:\n{LOG}"
ERROR = json.dumps({"error": "no such table", "detail": LOG})
CUTS = {
    "clear": ("prune", {"mode": "clear", "keep_results": 0}),
    "head": ("truncate", {"max_tokens": 60, "keep": "head"}),
    "tail": ("truncate", {"max_tokens": 60, "keep": "tail"}),
    "both": ("truncate", {"max_tokens": 60, "keep": "both"}),
}


def codex(output):
    patch = {"input": "*** Begin Patch\n*** Update File: a.py\n*** End Patch"}
    call = {"type": "function_call", "name": "apply_patch", "arguments": json.dumps(patch)}
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        call | {"call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": output},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Well."}],
        },
    ]
    return [{"timestamp": "T", "type": "response_item", "payload": item} for item in items]


def openai(output):
    function = {"name": "apply_patch", "arguments": "{}"}
    return [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": output},
        {"role": "assistant", "content": "Well."},
    ]


def failures(messages):
    return [b.failed for message in messages for b in message.blocks if b.kind == "result"]


def once(lines, name, layer, options):
    read = load(lines, name)
    done = pipeline.run(read, (layer,), {layer: options}, COUNTER)
    assert done.steps[0].actions
    return done.written().lines()


@pytest.mark.parametrize("way", CUTS)
@pytest.mark.parametrize("output", [FAILED, ERROR, LOG], ids=["status", "error", "none"])
@pytest.mark.parametrize("write", [codex, openai])
def test_a_cut_result_tells_its_failure_and_no_other(write, output, way):
    lines = [json.dumps(record).encode() + b"\n" for record in write(output)]
    name = write.__name__
    assert failures(load(lines, name).messages) == [output != LOG]
    assert failures(load(once(lines, name, *CUTS[way]), name).messages) == [output != LOG]


@pytest.mark.parametrize("write", [codex, openai])
def test_a_failure_is_told_through_every_further_cut(write):
    lines = [json.dumps(record).encode() + b"\n" for record in write(FAILED)]
    name = write.__name__
    for limit in (300, 200, 100, 60):
        lines = once(lines, name, "truncate", {"max_tokens": limit, "keep": "tail"})
        assert failures(load(lines, name).messages) == [True]
    assert failures(load(once(lines, name, *CUTS["clear"]), name).messages) == [True]
