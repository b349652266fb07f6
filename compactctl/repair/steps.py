"""Mend a view: close calls, place results, drop what no provider takes; never a user's words.

A step mends what breaks certain rules and leaves alone what is right. One step is done at a time
and the file read anew behind it, so that each judges what is really there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from compactctl.model import Message
from compactctl.repair import content, ids, results
from compactctl.repair.case import Case
from compactctl.rules.check import problems

if TYPE_CHECKING:
    from compactctl.layers.base import Action
    from compactctl.transcript.loading import Transcript

Step = Callable[[Case], Sequence[Message]]

_STEPS: tuple[tuple[tuple[str, ...], Step], ...] = (
    (("ROLE-01",), ids.drop_misplaced_calls),
    (("ID-01",), ids.name_the_nameless),
    (("PAIR-03",), ids.drop_copies),
    (("PAIR-03", "ID-02", "ID-03", "ID-04"), ids.rename),
    ((*results.MISPLACED, *results.UNPAIRED), results.place),
    (("TEXT-01", "TEXT-02"), content.drop_empty),
    (("RESULT-01",), content.leave_only_text),
    (content.IMAGES, content.drop_bad_images),
    (("SERVER-01", "SERVER-02", "SERVER-03"), content.drop_half_servers),
    (("ORDER-01",), content.open_with_user),
)
"""In this order: a call has its id before it has its result."""

OPEN = ("TAIL-01", "PAIR-09")
"""Only warnings, for a session can go on from them; but a request can not."""


def mend(transcript: Transcript, actions: list[Action]) -> Sequence[Message]:
    """Do the first step that has something to do; ``actions`` tells what was done."""
    profile = transcript.format.profile
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
                return content.without_bare_reasoning(case, mended)
    return transcript.messages
