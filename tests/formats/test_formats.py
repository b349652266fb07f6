"""What holds for every format: how it is found, and what it need not define."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from compactctl import formats
from compactctl.errors import UsageError
from compactctl.formats import detect
from compactctl.formats.messages import FORMAT as MESSAGES
from compactctl.model import Block
from compactctl.transcript import tags

ROOT = Path(__file__).resolve().parents[2]
every_format = pytest.mark.parametrize("name", formats.names())


def raw(*records):
    return [json.dumps(record).encode() + b"\n" for record in records]


@every_format
def test_a_format_bears_the_name_that_it_is_found_by(name):
    assert formats.load(name).name == name
    assert formats.choose(name) is formats.load(name)


def test_a_module_that_formats_share_is_no_format():
    with pytest.raises(UsageError, match="unknown format 'base'; choose one of claude-code, "):
        formats.choose("base")


@every_format
def test_the_record_has_every_member_by_which_lines_are_tied(name):
    form = formats.load(name)
    assert not any(tags.reader(form)(form.record()))


@every_format
def test_loading_a_format_loads_no_other(name):
    code = (
        f"from compactctl import formats; import sys; formats.load({name!r}); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    modules = {f"compactctl.formats.{each.replace('-', '_')}" for each in formats.names()}
    assert modules & loaded == {f"compactctl.formats.{name.replace('-', '_')}"}


def test_what_a_format_does_not_define_changes_and_tells_nothing():
    line = {"role": "user", "content": "hi"}
    assert MESSAGES.slim(line) is line
    assert MESSAGES.new_id("0f") == "0f"
    assert MESSAGES.unseen_parts(line, {0}) == []
    assert MESSAGES.answer_type(line, Block("call")) == ""
    told = (MESSAGES.session(line), MESSAGES.usage(line), MESSAGES.claims(*raw(line)))
    assert told == (None, None, False)


@pytest.mark.parametrize("bare", [0, 2])
def test_a_line_in_an_envelope_counts_for_no_format_without_one(bare):
    """An event may look like a chat message too: beside two of those, three events are more."""
    message = {"role": "user", "content": "hi"}
    event = {"schema_version": 1, "type": "message"} | message
    assert formats.load("openai").recognises(event)
    assert detect.format_of(raw(*[message] * bare, *[event] * 3)).name == "events"


def test_a_line_without_an_envelope_counts_for_those_without_one():
    message = {"role": "user", "content": "hi"}
    event = {"schema_version": 1, "type": "message"} | message
    assert detect.format_of(raw(event, message, message)).name == "messages"
