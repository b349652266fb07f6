"""Check a view against the rules of a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl.rules import BY_ID, RULE_MODULES
from compactctl.rules.context import RuleContext

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from compactctl.model import Message
    from compactctl.rules.rule import Breach, Rule, Severity
    from compactctl.transcript.loading import Transcript
    from compactctl.view.pairs import Place


class Problem(msgspec.Struct, frozen=True):
    """A rule that does not hold, and where; ``detail`` is what only this place can tell."""

    rule: str
    severity: Severity
    place: Place
    call_id: str | None = None
    detail: str = ""


def problems(
    messages: Sequence[Message],
    profile: str,
    *,
    sendable: bool = False,
    transcript: Transcript | None = None,
) -> list[Problem]:
    """Return every breach of the profile's rules, in the order of the view.

    ``sendable`` judges the view as a request to be sent now: an open tail becomes an error, as it
    is under ``core``. With its ``transcript`` the view is also judged by what only
    the lines tell; what may be legal is not reported without it.
    """
    answers = transcript is not None and transcript.format.answers_open_calls
    context = RuleContext(
        messages, profile, sendable=sendable, transcript=transcript, calls_are_answered=answers
    )
    modules = [
        module
        for module in RULE_MODULES
        if any(binds(rule, profile, sendable=sendable) for rule in module.RULES)
    ]
    return _judged(context, modules)


def pair_problems(
    messages: Sequence[Message],
    profile: str,
    *,
    calls_are_answered: bool = False,
    unread: Sequence[bytes] = (),
) -> list[Problem]:
    """Return what may keep layers from a view, and little else: quicker than all problems.

    ``unread`` are the lines too long to be read, which may hold what a call is missing.
    """
    context = RuleContext(messages, profile, calls_are_answered=calls_are_answered, unread=unread)
    modules = [m for m in RULE_MODULES if any(rule.breaks_pairs for rule in m.RULES)]
    return _judged(context, modules)


def _judged(context: RuleContext, modules: Sequence[ModuleType]) -> list[Problem]:
    profile, sendable = context.profile, context.sendable
    strict = sendable or profile == "core"
    found = [
        _problem(context, breach, BY_ID[breach.rule], strict=strict)
        for module in modules
        for breach in module.find(context)
        if binds(BY_ID[breach.rule], profile, sendable=sendable)
    ]
    return sorted(found, key=lambda problem: problem.place)


def binds(rule: Rule, profile: str, *, sendable: bool) -> bool:
    """Return True if a rule is one of the profile's, for what the view is judged as."""
    return profile in rule.profiles and (sendable or not rule.only_sendable)


def breaks_pairs(problem: Problem) -> bool:
    """Return True if layers must refuse the view for this problem."""
    return problem.severity == "error" and BY_ID[problem.rule].breaks_pairs


def _problem(context: RuleContext, breach: Breach, rule: Rule, *, strict: bool) -> Problem:
    severity = rule.raised if strict and rule.raised else rule.severity
    blocks = context.messages[breach.place.message].blocks
    call_id = blocks[breach.place.block].call_id if blocks else None  # a message may be empty
    return Problem(rule.id, severity, breach.place, call_id, breach.detail)
