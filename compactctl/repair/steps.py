"""Fix a view: close calls, place results, drop what no provider takes; never a user's words.

A step fixes what breaks certain rules and leaves alone what is right. One step is done at a time
and the file read anew behind it, so that each judges what is really there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactctl.repair import content, ids, results
from compactctl.repair.case import Case
from compactctl.rules.check import problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.model import Message
    from compactctl.repair.case import Deed
    from compactctl.transcript.loading import Transcript

STEPS = (*ids.STEPS, *results.STEPS, *content.STEPS)
"""In this order: a call has its id before it has its result."""

OPEN = ("TAIL-01", "PAIR-09")
"""Only warnings, for a session can go on from them; but a request can not."""


def fix(transcript: Transcript, deeds: list[Deed]) -> Sequence[Message]:
    """Do the first step that has something to do; ``deeds`` tells what was done."""
    profile = transcript.format.profile
    found = [
        problem
        for problem in problems(transcript.messages, profile, transcript=transcript)
        if problem.severity == "error" or problem.rule in OPEN
    ]
    for step in STEPS:
        case = Case(transcript, [p for p in found if p.rule in step.rules], deeds)
        if case.problems:
            fixed = step.fix(case)
            if deeds:
                return content.without_bare_reasoning(case, fixed)
    return transcript.messages
