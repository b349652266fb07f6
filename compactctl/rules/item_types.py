"""Calls of the Responses API come in several kinds, and an output has to be of its call's kind.

The kinds are those of Codex (``normalize.rs``): a local shell call is answered by the output of
a function, every other call by an output of its own kind.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compactctl.rules.rule import RESPONSES, Breach, Rule
from compactctl.view.pairs import block_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.model import Block
    from compactctl.rules.context import RuleContext

_OUTPUTS = {
    b"function_call": b"function_call_output",
    b"local_shell_call": b"function_call_output",
    b"custom_tool_call": b"custom_tool_call_output",
    b"tool_search_call": b"tool_search_output",
}
_KIND = re.compile(rb'"type" ?: ?"((?:function|local_shell|custom_tool|tool_search)_\w+)"')
_HEAD = 400
"""The type is one of the first members of an item; what a tool printed must not be searched."""

RULES = (
    Rule(
        id="PAIR-08",
        profiles=RESPONSES,
        severity="error",
        says="a result is of another type than its call",
        fix="give the output the type that belongs to its call",
        repaired=True,
        provider={"openai-responses": "No tool output found for custom tool call"},
    ),
)


def find(context: RuleContext) -> Iterator[Breach]:
    """Compare the types in the lines of a call and of its result, where both can be told."""
    for interaction in context.pairing.interactions:
        if interaction.result is None:
            continue
        call = block_at(context.messages, interaction.call)
        result = block_at(context.messages, interaction.result)
        wanted, answered = _OUTPUTS.get(_kind(context, call)), _kind(context, result)
        known = wanted is not None and answered in _OUTPUTS.values()
        if known and wanted != answered and call.entry != result.entry:
            yield Breach("PAIR-08", interaction.result, answered.decode())


def _kind(context: RuleContext, block: Block) -> bytes:
    found = _KIND.search(context.raw(block)[:_HEAD])
    return found[1] if found else b""
