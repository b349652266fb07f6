"""The laws that hold for every format and every layer (CONTRACT §2.7)."""

from __future__ import annotations

import io
import json
from collections import Counter as Multiset

import msgspec
import pytest
from builders import COUNTER, load
from hypothesis import given
from hypothesis import strategies as st
from strategies import chains, options, transcripts

from compactctl import formats, layers, pins, pipeline, report, thinking
from compactctl.assemble import merge_users
from compactctl.errors import UsageError
from compactctl.layer import View
from compactctl.jsonio import NotJsonError, parse_many
from compactctl.protocol.check import breaks_pairs, problems
from compactctl.protocol.pairs import open_loop
from compactctl.rewrite import rewrite
from compactctl.tokens import load_counter


def law(test):
    """Try a law on transcripts of each format."""
    return pytest.mark.parametrize("name", formats.names())(given(data=st.data())(test))


def run(lines, name, names, given_options, mode="auto"):
    return pipeline.run(load(lines, name), names, given_options, COUNTER, mode=mode)


def lines_of(result):
    """The lines that a stage writes, as the next one reads them."""
    return list(io.BytesIO(b"".join(result.written().chunks)))


def draw_one(data, name, among=layers.ORDER):
    """A transcript, and one layer with its options."""
    case = data.draw(transcripts(name), label="case")
    layer = data.draw(st.sampled_from(among), label="layer")
    return case, layer, data.draw(options((layer,)), label="options")


def errors(transcript):
    found = problems(transcript.messages, transcript.format.PROFILE)
    return [p for p in found if p.severity == "error"]


@law
def test_what_the_strategies_draw_is_valid(name, data):
    case = data.draw(transcripts(name))
    assert not [p for p in errors(load(case.lines, name)) if breaks_pairs(p)]


@law
def test_no_layer_gives_the_same_bytes(name, data):
    case = data.draw(transcripts(name))
    transcript = load(case.lines, name)
    written = rewrite(transcript, list(transcript.messages))
    assert b"".join(written.chunks) == b"".join(case.lines)
    assert (written.kept, written.changed, written.dropped, written.added) == (len(case.lines), 0, 0, 0)


@law
def test_valid_in_gives_valid_out_for_any_layers_in_any_order(name, data):
    case = data.draw(transcripts(name))
    before = Multiset(p.rule for p in errors(load(case.lines, name)))
    result = run(case.lines, name, data.draw(chains), data.draw(options()))
    after = Multiset(p.rule for p in errors(load(lines_of(result), name)))
    assert after <= before


@law
def test_a_layer_run_twice_is_a_layer_run_once(name, data):
    case, layer, given_options = draw_one(data, name)
    once = lines_of(run(case.lines, name, (layer,), given_options))
    twice = run(once, name, (layer,), given_options)
    assert lines_of(twice) == once
    assert not twice.steps[0].actions


@law
def test_a_chain_in_one_process_is_the_chain_of_its_stages(name, data):
    case = data.draw(transcripts(name))
    names, given_options = data.draw(chains), data.draw(options())
    # Content tells the next stage the format, as in a pipe, where it tells the first.
    known = None if load(case.lines).format is formats.load(name) else name
    piped = case.lines
    for layer in names:
        piped = lines_of(run(piped, known, (layer,), given_options))
    assert lines_of(run(case.lines, name, names, given_options)) == piped


@law
def test_tokens_never_grow(name, data):
    case, layer, given_options = draw_one(data, name)
    result = run(case.lines, name, (layer,), given_options)
    (step,) = result.steps
    assert step.tokens_after <= step.tokens_before
    if step.first_changed is None:
        assert lines_of(result) == case.lines


@law
def test_durable_records_leave_byte_for_byte(name, data):
    case = data.draw(transcripts(name))
    written = lines_of(run(case.lines, name, data.draw(chains), data.draw(options())))
    assert durable(load(written, name)) == durable(load(case.lines, name))


def durable(transcript):
    return [transcript.entries[index].raw.strip() for index in transcript.durable]


@law
def test_nothing_read_is_mutated(name, data):
    case = data.draw(transcripts(name))
    transcript, untouched = load(case.lines, name), load(case.lines, name)
    pipeline.run(transcript, data.draw(chains), data.draw(options()), COUNTER).written()
    assert transcript.entries == untouched.entries
    assert transcript.messages == untouched.messages


@law
def test_every_line_is_accounted_for_once(name, data):
    case = data.draw(transcripts(name))
    result = run(case.lines, name, data.draw(chains), data.draw(options()))
    written = result.written()
    assert written.kept + written.changed + written.dropped == len(case.lines)
    entry = report.record("compact", result, written, "o200k_base", 0)
    lines = entry["lines"]
    assert lines["kept"] + lines["changed"] + lines["dropped"] + lines["unreadable"] == len(case.lines)
    if not case.glued:
        assert len(lines_of(result)) == written.kept + written.changed + written.added


@law
def test_untouched_lines_keep_their_bytes_and_their_order(name, data):
    case = data.draw(transcripts(name))
    result = run(case.lines, name, data.draw(chains), data.draw(options()))
    before = [line.rstrip(b"\r\n") for line in case.lines]
    after = [line.rstrip(b"\r\n") for line in lines_of(result)]
    kept = [line for line in after if line in set(before)]
    rest = iter(before)
    assert all(line in rest for line in kept)
    if not case.glued:
        assert len(kept) == result.written().kept


@law
def test_what_is_written_reads_back_as_the_view(name, data):
    case, layer, given_options = draw_one(data, name)
    found = load(case.lines, name)
    view = View(found.messages, COUNTER, found.format.SIGNED)
    change = layers.load(layer)(view, **given_options[layer])
    settled = thinking.settle(view.messages, change.messages, "auto", signed=view.signed)
    messages = merge_users(settled)
    again = load(rewrite(found, messages, change.mark).lines(), name)
    assert said(again.messages) == said(messages)


def said(messages):
    """What is said, in order; where one message ends and the next begins, some formats do not say."""
    return [(m.role, _plain(block)) for m in messages for block in m.blocks]


def plain(message):
    """A message without what says where it stands, its JSON in one spelling."""
    return message.role, [_plain(block) for block in message.blocks]


def _plain(block):
    words = json.loads(block.text) if block.kind == "call" else block.text
    pieces = [_plain(piece) for piece in block.content]
    return block.kind, words, block.call_id, block.name, pieces, block.failed, block.image


@law
def test_thinking_is_the_same_or_gone(name, data):
    case = data.draw(transcripts(name))
    before, mode = load(case.lines, name), data.draw(st.sampled_from(("auto", "keep", "drop")))
    result = run(case.lines, name, data.draw(chains), data.draw(options()), mode)
    after = [b.text for m in load(lines_of(result), name).messages for b in m.blocks if b.kind == "thinking"]
    rest = iter(b.text for m in before.messages for b in m.blocks if b.kind == "thinking")
    assert all(words in rest for words in after)
    if mode == "drop" and result.steps:
        assert not after


@law
def test_no_signed_thinking_is_left_behind_a_change(name, data):
    case, layer, given_options = draw_one(data, name)
    result = run(case.lines, name, (layer,), given_options)
    first, messages = result.steps[0].first_changed, load(lines_of(result), name).messages
    if first is not None and formats.load(name).SIGNED:
        behind = [b for m in messages[first:open_loop(messages)] for b in m.blocks]
        assert not [b for b in behind if b.kind == "thinking"]


def blocks(messages):
    return Multiset(json.dumps(_plain(b), default=repr) for m in messages for b in m.blocks)


@law
def test_first_and_last_request_survive_prune(name, data):
    case, layer, given_options = draw_one(data, name, ("prune",))
    before = load(case.lines, name).messages
    asked = [m for m in before if m.role == "user" and any(pins.is_request(b) for b in m.blocks)]
    # A summary that opens the view stands for the first request.
    opening = [m for m in before if m.role == "user" and any(pins.is_summary(b) for b in m.blocks)]
    first = min((*asked[:1], *opening[:1]), key=before.index, default=None)
    after = blocks(run(case.lines, name, (layer,), given_options).messages)
    for message in filter(None, (first, *asked[-1:])):
        wanted = tuple(b for b in message.blocks if pins.is_request(b))
        assert blocks([msgspec.structs.replace(message, blocks=wanted)]) <= after


@law
def test_the_open_loop_is_not_touched(name, data):
    case, layer, given_options = draw_one(data, name, layers.ORDER[1:])
    before = load(case.lines, name).messages
    after = run(case.lines, name, (layer,), given_options).messages
    many = len(before) - open_loop(before)
    assert [plain(m) for m in after[len(after) - many :]] == [plain(m) for m in before[open_loop(before) :]]


@law
def test_prune_keeps_the_alternation_of_roles(name, data):
    case, layer, given_options = draw_one(data, name, ("prune",))
    if alternates(load(case.lines, name).messages):
        assert alternates(run(case.lines, name, (layer,), given_options).messages)


def alternates(messages):
    said = [m.role for m in messages if m.role != "system"]
    return all(a != b for a, b in zip(said, said[1:]))


@law
def test_the_chain_of_parents_reaches_what_it_reached(name, data):
    if formats.load(name).LINK is None:
        return
    case = data.draw(transcripts(name))
    result = run(case.lines, name, data.draw(chains), data.draw(options()))
    after = lines_of(result)
    was, known = walk(case.lines, name)
    now, still = walk(after, name)
    assert (was & still) | (still - known) <= now




def walk(lines, name):
    """Follow the parents up from the last conversation line: (ids met, all ids)."""
    own, parent = formats.load(name).LINK
    transcript = load(lines, name)
    last = max((b.entry for m in transcript.messages for b in m.blocks), default=0)
    parents, step = {}, None
    for index, entry in enumerate(transcript.entries):
        for value in _objects(entry.raw):
            if isinstance(value.get(own), str):
                parents[value[own]] = value.get(parent)
                step = value[own] if index <= last else step
    met = set()
    while step in parents and step not in met:
        met.add(step)
        step = parents[step]
    return met, set(parents)


def _objects(raw):
    try:
        return [value for _, _, value in parse_many(raw) if isinstance(value, dict)]
    except NotJsonError:
        return []
