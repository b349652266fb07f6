"""What a rule is: one row of the table that ``compactctl validate --rules`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compactctl.view.pairs import Place

Severity = Literal["error", "warning", "info"]

PROFILES = ("core", "anthropic", "openai-chat", "openai-responses", "gateway")
"""Whom a view is judged for; ``gateway`` is ``anthropic`` for those that are less tolerant."""

GATEWAY = frozenset({"gateway"})
ANTHROPIC = GATEWAY | {"anthropic"}
CHAT = frozenset({"openai-chat"})
RESPONSES = frozenset({"openai-responses"})
EVERY = frozenset(PROFILES)

SENDABLE = "--sendable"
LOSS = "resume would lose messages"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. The row stands beside the function that finds where it does not hold."""

    id: str
    profiles: frozenset[str]
    severity: Severity
    raised: Severity | None = None
    """A graver severity, and what makes it so; ``core`` is always as strict as ``--sendable``."""
    when: str = SENDABLE
    only_sendable: bool = False
    """Does not concern a session that can go on: judged under ``--sendable`` alone."""
    says: str
    fix: str
    """What to do by hand."""
    repaired: bool = False
    """``compactctl repair`` fixes it, for what is its error in the format's own profile."""
    calm: str = ""
    """What to do while the graver severity does not apply, where that is another thing."""
    provider: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The provider's error text by profile, to look it up; where there is one."""
    breaks_pairs: bool = False
    """A layer must not work on a view that breaks this rule."""

    def advice(self, *, raised: bool = True, repairs: bool = True) -> str:
        """Return what to do; ``repairs``: a repair judges the file by this rule too."""
        if self.calm and not raised:
            return self.calm
        return f"run `compactctl repair`, or {self.fix}" if self.repaired and repairs else self.fix


def file_rule(
    number: str,
    severity: Severity,
    says: str,
    fix: str,
    *,
    raised_when: str = "",
    provider: str = "",
    repaired: bool = False,
    calm: str = "",
) -> Rule:
    """Return a rule about the file itself, which binds every profile and stops no layer."""
    return Rule(
        id=f"FILE-{number}",
        profiles=EVERY,
        severity=severity,
        raised="error" if raised_when else None,
        when=raised_when or SENDABLE,
        says=says,
        fix=fix,
        repaired=repaired,
        calm=calm,
        provider={"anthropic": provider} if provider else {},
    )


class Breach(NamedTuple):
    """A rule that does not hold at a place; ``detail`` is what only this place can tell."""

    rule: str
    place: Place
    detail: str = ""
