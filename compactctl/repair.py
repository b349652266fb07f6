"""Mend a view: close calls, place results, drop what no provider takes; never a user's words.

A step mends what breaks certain rules and leaves alone what is right. One step is done at a time
and the file read anew behind it, so that each judges what is really there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from compactctl import repair_content, repair_ids, repair_results
from compactctl.model import Message
from compactctl.protocol.check import problems
from compactctl.repair_case import Case

if TYPE_CHECKING:
    from compactctl.layer import Action
    from compactctl.transcript import Transcript

Step = Callable[[Case], Sequence[Message]]

_STEPS: tuple[tuple[tuple[str, ...], Step], ...] = (
    (("ROLE-01",), repair_ids.drop_misplaced_calls),
    (("ID-01",), repair_ids.name_the_nameless),
    (("PAIR-03",), repair_ids.drop_copies),
    (("PAIR-03", "ID-02", "ID-03", "ID-04"), repair_ids.rename),
    ((*repair_results.MISPLACED, *repair_results.UNPAIRED), repair_results.place),
    (("TEXT-01", "TEXT-02"), repair_content.drop_empty),
    (("RESULT-01",), repair_content.leave_only_text),
    (repair_content.IMAGES, repair_content.drop_bad_images),
    (("SERVER-01", "SERVER-02", "SERVER-03"), repair_content.drop_half_servers),
    (("ORDER-01",), repair_content.open_with_user),
)
"""In this order: a call has its id before it has its result."""

OPEN = ("TAIL-01", "PAIR-09")
"""Only warnings, for a session can go on from them; but a request can not."""


def mend(transcript: Transcript, actions: list[Action]) -> Sequence[Message]:
    """Do the first step that has something to do; ``actions`` tells what was done."""
    profile = transcript.format.PROFILE
    found = [
        problem
        for problem in problems(transcript.messages, profile, transcript=transcript)
        if problem.severity == "error" or problem.rule in OPEN
    ]
    case = Case(transcript, found, actions)
    broken = {problem.rule for problem in found}
    for rules, step in _STEPS:
        if broken.intersection(rules):
            mended = step(case)
            if actions:
                return repair_content.without_bare_reasoning(case, mended)
    return transcript.messages
