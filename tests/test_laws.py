"""The laws that hold for every format and every layer."""

from __future__ import annotations

import hashlib
import io
import itertools
from collections import Counter as Multiset
from pathlib import Path

import pytest
from helpers.builders import COUNTER, changed, load, plain, rewrite, said, write
from helpers.strategies import chains, globs, options, transcripts
from hypothesis import given
from hypothesis import strategies as st

from compactctl import formats, layers, pipeline, report
from compactctl.errors import InputError, InvalidTranscriptError
from compactctl.jsonl.exact import NotJsonError, parse_many
from compactctl.model import MADE
from compactctl.rules.check import breaks_pairs, problems
from compactctl.transcript import usage
from compactctl.view import protected
from compactctl.view.index import View
from compactctl.view.pairs import block_at, open_loop


def law(test):
    """Try a law on transcripts of each format."""
    return pytest.mark.parametrize("name", formats.names())(given(data=st.data())(test))


def pointer(data):
    digest = hashlib.sha256(data).hexdigest()
    return f"artifact:s:{digest[:12]}.txt:{digest[:12]}"


STORE = pipeline.Keep(lambda text: pointer(text.encode("utf-8", "surrogatepass")), pointer)


def run(lines, name, names, given_options, **more):
    return pipeline.run(load(lines, name), names, given_options, COUNTER, **more)


def run_any(data, name, protect=()):
    """Run some layers over a transcript: (the case, its transcript, the result)."""
    case = data.draw(transcripts(name), label="case")
    names = data.draw(chains, label="layers")
    given_options = data.draw(options(names), label="options")
    result = run(case.lines, name, names, given_options, protect=protect)
    return case, result.transcript, result


def run_one(data, name, among=layers.ORDER):
    """Run one layer: (the layer, its options, the transcript, the result)."""
    case = data.draw(transcripts(name), label="case")
    layer = data.draw(st.sampled_from(among), label="layer")
    given_options = data.draw(options((layer,)), label="options")
    result = run(case.lines, name, (layer,), given_options)
    return layer, given_options, result.transcript, result


def written_by(result):
    """The lines that a stage writes, as the next one reads them."""
    return list(io.BytesIO(b"".join(result.written().chunks)))


def errors(transcript):
    found = problems(transcript.messages, transcript.format.profile)
    return [problem for problem in found if problem.severity == "error"]


def of_kind(messages, kind):
    return [block for message in messages for block in message.blocks if block.kind == kind]


@law
def test_what_the_strategies_draw_is_valid(name, data):
    case = data.draw(transcripts(name))
    assert not [p for p in errors(load(case.lines, name)) if breaks_pairs(p)]


@law
def test_no_layer_gives_the_same_bytes(name, data):
    case = data.draw(transcripts(name))
    found = load(case.lines, name)
    written = rewrite(found, list(found.messages))
    assert written.lines() == case.lines
    assert written.counts.kept == len(case.lines)
    assert written.counts.changed == written.counts.dropped == written.counts.added == 0


@law
def test_valid_in_gives_valid_out_for_any_layers_in_any_order(name, data):
    _, before, result = run_any(data, name)
    after = load(written_by(result), name)
    assert Multiset(p.rule for p in errors(after)) <= Multiset(p.rule for p in errors(before))


@law
def test_a_layer_run_twice_is_a_layer_run_once(name, data):
    case = data.draw(transcripts(name))
    layer, keep = (
        data.draw(st.sampled_from(layers.ORDER)),
        data.draw(st.sampled_from((None, STORE))),
    )
    given_options = data.draw(options((layer,), room=bool(keep)))
    more = {"keep": keep, "protect": data.draw(globs)}
    once = written_by(run(case.lines, name, (layer,), given_options, **more))
    twice = run(once, name, (layer,), given_options, **more)
    assert written_by(twice) == once
    assert not twice.steps[0].actions


@law
def test_a_chain_in_one_process_is_the_chain_of_its_stages(name, data):
    case = data.draw(transcripts(name))
    names, keep = data.draw(chains), data.draw(st.sampled_from((None, STORE)))
    given_options = data.draw(options(names, room=bool(keep)))
    more = {"keep": keep, "protect": data.draw(globs)}
    piped = case.lines
    for layer in names:
        piped = written_by(run(piped, name, (layer,), given_options, **more))
    assert written_by(run(case.lines, name, names, given_options, **more)) == piped


@law
def test_what_is_written_is_of_the_same_format(name, data):
    case, found, result = run_any(data, name)
    if load(case.lines).format is found.format:
        again = load(written_by(result)).format
        left = [record for line in written_by(result) for record in objects(line)]
        # What is left of one may fit another just as well: chat without a call or a rule.
        assert again is found.format or all(
            map(again.recognises, filter(found.format.recognises, left))
        )


@law
def test_tokens_never_grow_and_what_is_left_alone_is_the_same_bytes(name, data):
    layer, _, before, result = run_one(data, name)
    (step,) = result.steps
    assert step.tokens_after <= step.tokens_before or layers.load(layer).must_apply
    if step.first_changed is None:
        assert result.written().chunks == [entry.raw for entry in before.entries]


@law
def test_durable_records_leave_byte_for_byte(name, data):
    _, before, result = run_any(data, name)
    assert durable(load(written_by(result), name)) == durable(before)


def durable(transcript):
    return [transcript.entries[index].raw.strip() for index in transcript.durable]


@law
def test_nothing_read_is_mutated(name, data):
    case, found, _ = run_any(data, name)
    untouched = load(case.lines, name)
    assert found.entries == untouched.entries
    assert found.messages == untouched.messages


@law
def test_every_line_is_accounted_for_once(name, data):
    case, _, result = run_any(data, name)
    written = result.written()
    assert written.counts.kept + written.counts.changed + written.counts.dropped == len(case.lines)
    lines = report.record("compact", result, written, COUNTER.name, 0)["lines"]
    added = lines.pop("added")
    assert sum(lines.values()) == len(case.lines)
    if not case.glued:
        assert len(written.lines()) == written.counts.kept + written.counts.changed + added


@law
def test_untouched_lines_keep_their_bytes_and_their_order(name, data):
    case, found, result = run_any(data, name)
    written = result.written()
    ours = durable_or_blank(found) if found.format.ours_stand_inside else set()
    origins = [at for at in written.origins if at != MADE and at not in ours]
    assert origins == sorted(set(origins))
    kept = [
        at
        for at, chunk in zip(written.origins, written.chunks, strict=True)
        if at != MADE and chunk.rstrip(b"\r\n") == found.entries[at].raw.rstrip(b"\r\n")
    ]
    assert len(kept) == written.counts.kept or case.glued


@law
def test_lines_outside_the_view_leave_byte_for_byte(name, data):
    _, found, result = run_any(data, name)
    view = {block.entry for message in found.messages for block in message.blocks}
    links = [f'"{key}"'.encode() for key in linking_members(found)]
    outside = [
        entry.raw.rstrip(b"\r\n")
        for index, entry in enumerate(found.entries)
        if index not in view | found.overreach.keys()
        and not recorded(found, entry)
        and not (found.format.ours_stand_inside and index in durable_or_blank(found))
        and not any(link in entry.raw for link in links)
    ]
    rest = iter([chunk.rstrip(b"\r\n") for chunk in result.written().chunks])
    assert all(raw in rest for raw in outside)


def durable_or_blank(found):
    """What goes inside where an agent would not read it at either end of a file."""
    blank = {at for at, entry in enumerate(found.entries) if not entry.raw.strip()}
    return blank | set(found.durable)


def recorded(found, entry):
    """The size that a line records of a call."""
    records = objects(entry.raw)
    return records and found.format.usage(records[0])


def linking_members(found):
    links = found.format.links
    return (links.own, links.parent, *links.also) if links else ()


@law
def test_what_is_written_reads_back_as_the_view(name, data):
    layer, given_options, found, _ = run_one(data, name)
    messages, mark = changed(found, layer, given_options[layer])
    _, again = write(found, messages, mark)
    assert said(again.messages) == said(messages)


@law
def test_the_newest_usage_never_grows_with_the_view(name, data):
    case = data.draw(transcripts(name))
    names = data.draw(chains)
    result = run(case.lines, name, names, data.draw(options(names)))
    after = load(written_by(result), name)
    now, was = (usage.newest(found, found.messages) for found in (after, result.transcript))
    if now is not None:
        assert was is None or now.size <= max(was.size, 1)


@law
def test_thinking_is_the_same_or_gone(name, data):
    case = data.draw(transcripts(name))
    mode = data.draw(st.sampled_from(("auto", "keep", "drop")))
    result = run(case.lines, name, data.draw(chains), data.draw(options()), mode=mode)
    left = of_kind(load(written_by(result), name).messages, "thinking")
    rest = iter([block.text for block in of_kind(result.transcript.messages, "thinking")])
    assert all(block.text in rest for block in left)
    assert mode != "drop" or not left


@law
def test_no_reasoning_loses_what_followed_it(name, data):
    _, _, before, result = run_one(data, name)
    assert lonely(load(written_by(result), name)) <= lonely(before)


def lonely(transcript):
    found = problems(transcript.messages, "openai-responses")
    at = [problem.place for problem in found if problem.rule == "THINK-03"]
    return Multiset(transcript.messages[p.message].blocks[p.block].text for p in at)


@law
def test_no_signed_thinking_is_left_behind_a_change(name, data):
    _, _, _, result = run_one(data, name)
    first, messages = result.steps[0].first_changed, load(written_by(result), name).messages
    if first is not None:
        left = of_kind(messages[first : open_loop(messages)], "thinking")
        assert all(block.bound for block in left)


@law
def test_what_must_stay_stays_under_every_layer(name, data):
    protect = data.draw(globs, label="protect")
    _, found, result = run_any(data, name, protect)
    stays = protected.Protected(View(found.messages), protect)
    wanted = [
        (found.messages[at.message].role, block_at(found.messages, at)) for at in stays.always
    ]
    left = said(load(written_by(result), name).messages)
    assert all((role, plain(b)) in left for role, b in wanted if b.kind != "image")


@law
def test_first_and_last_request_survive_prune(name, data):
    _, _, found, result = run_one(data, name, ("prune",))
    users = [message for message in found.messages if message.role == "user"]
    asked = [m for m in users if any(protected.is_request(b) for b in m.blocks)]
    # A summary that opens the view stands for the first request.
    opens = [
        m
        for m in users
        if any(protected.is_request(b) or protected.is_summary(b) for b in m.blocks)
    ]
    wanted = [b for m in (*opens[:1], *asked[-1:]) for b in m.blocks if protected.is_request(b)]
    left = said(result.messages)
    assert all(("user", plain(block)) in left for block in wanted)


@law
def test_the_open_loop_is_touched_by_truncate_alone(name, data):
    others = [one for one in layers.ORDER if one != "truncate" and not layers.load(one).must_apply]
    _, _, found, result = run_one(data, name, others)
    loop = said(found.messages[open_loop(found.messages) :])
    assert said(result.messages)[-len(loop) :] == loop or not loop


@law
def test_a_call_that_is_reported_as_the_open_tail_stays_so(name, data):
    _, before, result = run_any(data, name)
    assert open_tail(load(written_by(result), name)) == open_tail(before)


def open_tail(transcript):
    found = problems(transcript.messages, transcript.format.profile)
    return [problem.call_id for problem in found if problem.rule == "TAIL-01"]


@law
def test_prune_keeps_the_alternation_of_roles(name, data):
    _, _, found, result = run_one(data, name, ("prune",))
    assert alternates(result.messages) or not alternates(found.messages)


@law
def test_a_view_goes_on_opening_with_the_user(name, data):
    _, before, result = run_any(data, name)
    assert opening(result.messages) == "user" or opening(before.messages) != "user"


def opening(messages):
    return next((message.role for message in messages if message.role != "system"), "user")


def alternates(messages):
    roles = [message.role for message in messages if message.role != "system"]
    return all(role != after for role, after in itertools.pairwise(roles))


@law
def test_the_chain_of_parents_reaches_what_it_reached(name, data):
    case, found, result = run_any(data, name)
    if found.format.links is None:
        return
    was, before, _ = walk(case.lines, name)
    now, after, view = walk(written_by(result), name)
    assert (was & view) | (after - before) <= now


def walk(lines, name):
    """Follow the parents up from the last conversation line: ids met, all, and of the view."""
    found = load(lines, name)
    own, parent = found.format.links.own, found.format.links.parent
    entries = {block.entry for message in found.messages for block in message.blocks}
    parents, view, step = {}, set(), None
    for index, entry in enumerate(found.entries):
        for record in objects(entry.raw):
            if isinstance(record.get(own), str):
                parents[record[own]] = record.get(parent)
                if index in entries:
                    step = record[own]
                    view.add(step)
    met = set()
    while step in parents and step not in met:
        met.add(step)
        step = parents[step]
    return met, set(parents), view


def objects(raw):
    try:
        return [value for _, _, value in parse_many(raw) if isinstance(value, dict)]
    except NotJsonError:
        return []


SAMPLES = Path(__file__).resolve().parents[1] / "sample_transcripts"


@st.composite
def damaged(draw):
    """A sample with lines lost, doubled, moved, cut short or glued together."""
    path = draw(st.sampled_from(sorted(SAMPLES.glob("*.jsonl"))))
    lines = path.read_bytes().splitlines(keepends=True)[: draw(st.integers(1, 40))]
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        line = lines.pop(at)
        damage = draw(st.sampled_from(("lost", "doubled", "moved", "torn", "glued", "noise")))
        if damage == "doubled":
            lines[at:at] = [line, line]
        elif damage == "moved":
            lines.insert(draw(st.integers(0, len(lines))), line)
        elif damage == "torn":
            lines.insert(at, line[: draw(st.integers(0, len(line)))] + b"\n")
        elif damage == "glued":
            lines.insert(at, line.rstrip())
        elif damage == "noise":
            place = draw(st.integers(0, len(line) - 1))
            lines.insert(at, line[:place] + draw(st.binary(max_size=3)) + line[place + 1 :])
        lines = list(io.BytesIO(b"".join(lines))) or [b"\n"]
    return lines


@given(damaged(), chains, options())
def test_a_damaged_file_is_refused_or_worked_on(lines, names, given_options):
    try:
        found = load(lines)
    except InputError:
        return
    if any(breaks_pairs(problem) for problem in errors(found)):
        with pytest.raises(InvalidTranscriptError):
            pipeline.run(found, names, given_options, COUNTER)
        return
    written = pipeline.run(found, names, given_options, COUNTER).written()
    assert not [p for p in errors(load(written.lines(), None)) if breaks_pairs(p)]
    assert written.counts.kept + written.counts.changed + written.counts.dropped == len(lines)
