"""What a provider accepts: the table of rules, every row under its id.

A row stands in the module that finds where it does not hold. Sources are the providers'
documentation and error texts, so that a user who got the error can look it up; a rule that
nobody has confirmed is not here.
"""

from __future__ import annotations

from compactctl.rules import (
    chain,
    content,
    ids,
    images,
    item_types,
    lines,
    order,
    pairing,
    server_tools,
    thinking,
)

RULE_MODULES = (ids, pairing, item_types, order, content, images, thinking, server_tools)
"""Modules with ``RULES`` (rows) and ``find(context)`` (the breaches of those rows)."""

RULES = tuple(rule for module in RULE_MODULES for rule in module.RULES)
FILE_RULES = (
    *sorted((*lines.DAMAGE, *chain.RULES), key=lambda rule: rule.id),
    *lines.RULES,
)

BY_ID = {rule.id: rule for rule in (*FILE_RULES, *RULES)}
