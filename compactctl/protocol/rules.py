"""The rules, one row each: what it is called, whom it binds, how bad, what to do.

Sources are given as in the providers' own documentation and error texts, so that a user who got
the error can look it up.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Severity = Literal["error", "warning", "info"]

CORE = frozenset({"core"})
ANTHROPIC = frozenset({"anthropic"})
ALL = CORE | ANTHROPIC

PROFILES = ("core", "anthropic")


class Rule(msgspec.Struct, frozen=True):
    """One rule. ``provider`` is the start of the provider's error text, "" if it has none."""

    id: str
    profiles: frozenset[str]
    severity: Severity
    says: str
    mend: str
    provider: str = ""
    breaks_pairs: bool = False
    """A layer must not work on a view that breaks this rule."""


FILE_RULES = (
    Rule(
        "FILE-01",
        ALL,
        "warning",
        "the last line is torn: it ends inside a JSON value",
        "nothing to do, every other line loads; delete the line to be rid of it",
    ),
    Rule(
        "FILE-02",
        ALL,
        "error",
        "a line in the middle is not JSON",
        "mend or delete the line; what it held is not in the view",
    ),
    Rule(
        "FILE-03",
        ALL,
        "warning",
        "several JSON values stand on one line",
        "nothing to do, all are read; break the line between them",
    ),
    Rule(
        "FILE-04",
        ALL,
        "warning",
        "a run of NUL bytes, as a power loss leaves it",
        "nothing to do, records beside it are read; delete the NUL bytes",
    ),
    Rule("FILE-05", ALL, "warning", "a byte order mark", "delete the first three bytes"),
    Rule("FILE-06", ALL, "warning", "a comment line, which JSONL does not know", "delete the line"),
    Rule(
        "FILE-07",
        ALL,
        "error",
        "a line is not UTF-8",
        "save it as UTF-8; what it holds is not in the view",
    ),
    Rule(
        "FILE-08",
        ALL,
        "error",
        "a line holds NaN or Infinity, which JSON does not know",
        "write null; what the line holds is not in the view",
    ),
    Rule(
        "FILE-09",
        ALL,
        "warning",
        "a lone surrogate: half of a character",
        "replace it by U+FFFD; a provider refuses it",
        "no low surrogate in string",
    ),
    Rule(
        "FILE-10",
        ALL,
        "warning",
        "a line is JSON but not an object",
        "nothing to do, it passes through; delete it if it should not be there",
    ),
)

RULES = (
    Rule(
        "ID-01",
        ALL,
        "error",
        "a call or result has no id, or an id that is blank or not a string",
        "give the call and its result one id",
        "tool_use.id: String should match pattern",
        breaks_pairs=True,
    ),
    Rule(
        "ROLE-01",
        ALL,
        "error",
        "a call stands outside an assistant message",
        "move the call into an assistant message",
        "`tool_use` blocks can only be in `assistant` messages",
        breaks_pairs=True,
    ),
    Rule(
        "ROLE-02",
        ALL,
        "error",
        "a result stands outside a user message",
        "move the result into the user message behind its call",
        "`tool_result` blocks can only be in `user` messages",
        breaks_pairs=True,
    ),
    Rule(
        "PAIR-01",
        ALL,
        "error",
        "a call has no result",
        "run `compactctl repair`, or add a result for it",
        "`tool_use` ids were found without `tool_result` blocks immediately after",
        breaks_pairs=True,
    ),
    Rule(
        "PAIR-02",
        ALL,
        "error",
        "a result answers no call",
        "run `compactctl repair`, or drop the result",
        "unexpected `tool_use_id` found in `tool_result` blocks",
        breaks_pairs=True,
    ),
    Rule(
        "PAIR-03",
        ALL,
        "error",
        "a second call carries an id that is taken",
        "drop the copy, or give it and its result an id of their own",
        "`tool_use` ids must be unique",
        breaks_pairs=True,
    ),
    Rule(
        "PAIR-04",
        ALL,
        "error",
        "a second result answers one call",
        "keep the last of them",
        "each tool_use must have a single result",
        breaks_pairs=True,
    ),
    Rule(
        "PAIR-05",
        ALL,
        "error",
        "a result comes before its call",
        "move the result behind its call",
        "unexpected `tool_use_id` found in `tool_result` blocks",
        breaks_pairs=True,
    ),
    Rule(
        "PAIR-06",
        ANTHROPIC,
        "error",
        "a result does not follow its call at once: something stands between them",
        "put all results of a message first in the user message behind it",
        "`tool_use` ids were found without `tool_result` blocks immediately after",
        breaks_pairs=True,
    ),
    Rule(
        "TAIL-01",
        ALL,
        "error",
        "the transcript ends on calls without results (an open tail)",
        "resume the session, or run `compactctl repair` to close it",
        "`tool_use` ids were found without `tool_result` blocks immediately after",
    ),
)

BY_ID = {rule.id: rule for rule in (*FILE_RULES, *RULES)}
