"""The table of rules, for people and for machines."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import msgspec

from compactctl.rules import FILE_RULES, RULES
from compactctl.rules.rule import PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.rules.rule import Rule

_WIDTH = 100


def as_json() -> Iterator[bytes]:
    """Return each rule as a line of JSON."""
    for rule in (*RULES, *FILE_RULES):
        row = {
            "id": rule.id,
            "severity": rule.severity,
            "raised": rule.raised,
            "when": rule.when if rule.raised else None,
            "only_sendable": rule.only_sendable,
            "profiles": _profiles(rule),
            "breaks_pairs": rule.breaks_pairs,
            "says": rule.says,
            "mend": rule.advice(),
            "provider": dict(rule.provider),
        }
        yield msgspec.json.encode(row) + b"\n"


def as_text() -> str:
    """Return all rules as text: id, severity and profiles, then what it says and what to do."""
    return "\n".join("\n".join(_paragraph(rule)) for rule in (*RULES, *FILE_RULES))


def _paragraph(rule: Rule) -> Iterator[str]:
    yield f"{rule.id:10}{_severity(rule)}; {_bound(rule)}"
    yield from _wrapped("", rule.says)
    yield from _wrapped("mend: ", rule.advice())
    for text in dict.fromkeys(rule.provider.values()):
        yield from _wrapped("provider: ", text)
    yield ""


def _severity(rule: Rule) -> str:
    raised = f", {rule.raised} when {rule.when}" if rule.raised else ""
    return f"{rule.severity}{raised}{' (only --sendable)' if rule.only_sendable else ''}"


def _bound(rule: Rule) -> str:
    bound = _profiles(rule)
    return "every profile" if len(bound) == len(PROFILES) else ", ".join(bound)


def _profiles(rule: Rule) -> list[str]:
    return [name for name in PROFILES if name in rule.profiles]


def _wrapped(label: str, text: str) -> list[str]:
    indent = " " * 10
    return textwrap.wrap(
        label + text, _WIDTH, initial_indent=indent, subsequent_indent=indent + " " * len(label)
    )
