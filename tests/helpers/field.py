"""Short ways to write what broke sessions in the field, as lines of each format."""

from __future__ import annotations

import json

from compactctl.jsonl import exact
from compactctl.repair.engine import repair
from compactctl.rules.findings import find
from compactctl.transcript import loading


def lines(*records):
    return [json.dumps(record).encode() + b"\n" for record in records]


def user(*content):
    bare = isinstance(content[0], str | list)
    return {"role": "user", "content": content[0] if bare else list(content)}


def assistant(*content):
    return {"role": "assistant", "content": list(content)}


def text(words):
    return {"type": "text", "text": words}


def use(call_id):
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {}}


def answer(call_id, content="ok", **members):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | members


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def found(records, name="messages", profile=None, **given):
    """What is found in records, or in lines: (rule, line, call)."""
    raw = lines(*records) if isinstance(records[0], dict) else records
    read = loading.load(raw, "f", name)
    every = find(read, profile or read.format.profile, **given)
    return [(each.rule, each.line, each.call_id) for each in every]


def mended(records, name="messages"):
    """Mend, and hold that nothing is left and that a second time changes nothing."""
    raw = lines(*records) if isinstance(records[0], dict) else records
    done = repair(raw, "f", name)
    assert not done.left
    again = repair(done.lines, "f", name)
    assert (again.fixes, list(again.lines)) == ([], list(done.lines))
    return done


def records_of(done):
    return [exact.parse(line) for line in done.lines]


def view(read):
    """A view as roles and texts, or ids of calls and results."""
    return [
        (m.role[0], *(b.call_id if b.kind in {"call", "result"} else b.text for b in m.blocks))
        for m in read.messages
    ]


def chat_call(call_id, arguments="{}"):
    function = {"name": "f", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def tool(call_id):
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def chat(*calls):
    return {"role": "assistant", "content": None, "tool_calls": [*calls]}


def item(kind, **members):
    return {"timestamp": "T", "type": "response_item", "payload": {"type": kind} | members}


def words(role, said):
    return item("message", role=role, content=[{"type": "input_text", "text": said}])


def asked(call_id):
    return item("function_call", call_id=call_id, name="exec_command", arguments='{"cmd":"ls"}')


def output(call_id):
    return item("function_call_output", call_id=call_id, output="ok")


class Harness:
    """A session of Claude Code."""

    def __init__(self):
        self.records = []

    def add(self, kind, parent="last", **members):
        own = f"u{len(self.records) + 1}"
        last = self.records[-1]["uuid"] if self.records else None
        parent = last if parent == "last" else parent
        envelope = {"type": kind, "uuid": own, "parentUuid": parent, "sessionId": "s"}
        self.records.append(envelope | members)
        return own

    def user(self, *content, parent="last", **members):
        return self.add("user", parent, message=user(*content), **members)

    def assistant(self, message_id, *content, parent="last"):
        return self.add("assistant", parent, message=assistant(*content) | {"id": message_id})

    def told(self):
        found = find(loading.load(lines(*self.records), "f"), "anthropic")
        return [(f.rule, f.severity, f.line) for f in found]
