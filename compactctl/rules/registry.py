"""The table of rules: every row, under its id. A row stands in the module of its family.

Sources are the providers' documentation and error texts, so that a user who got the error can
look it up; a rule that nobody has confirmed is not here.
"""

from __future__ import annotations

from compactctl.rules import (
    content,
    empty,
    ids,
    images,
    item_types,
    order,
    pairing,
    server_tools,
    thinking,
)
from compactctl.rules import lines as file_rules

FAMILIES = (ids, pairing, item_types, order, content, images, thinking, server_tools)
"""Modules with ``RULES`` (rows) and ``find(survey)`` (the breaches of those rows)."""

RULES = tuple(rule for family in FAMILIES for rule in family.RULES)
FILE_RULES = (*file_rules.RULES, *empty.RULES)

BY_ID = {rule.id: rule for rule in (*FILE_RULES, *RULES)}
