"""Rules about the file itself, found while it is read or by :mod:`compactctl.structure`.

They bind every profile and never stop a layer (CONTRACT §11).
"""

from __future__ import annotations

from compactctl.rules.rule import EVERY, LOSS, SENDABLE, Rule, Severity


def _rule(
    number: str,
    severity: Severity,
    says: str,
    mend: str,
    *,
    raised_when: str = "",
    provider: str = "",
) -> Rule:
    return Rule(
        id=f"FILE-{number}",
        profiles=EVERY,
        severity=severity,
        raised="error" if raised_when else None,
        when=raised_when or SENDABLE,
        says=says,
        mend=mend,
        provider={"anthropic": provider} if provider else {},
    )


RULES = (
    _rule(
        "01",
        "warning",
        "the last line is torn: it ends inside a JSON value",
        "nothing to do, every other line loads; delete the line to be rid of it",
    ),
    _rule(
        "02",
        "error",
        "a line is not JSON",
        "mend or delete the line; what it held is not in the view",
    ),
    _rule(
        "03",
        "warning",
        "several JSON values stand on one line",
        "nothing to do, all are read; break the line between them",
    ),
    _rule(
        "04",
        "warning",
        "a run of NUL bytes, as a power loss leaves it",
        "nothing to do, records beside it are read; delete the NUL bytes",
    ),
    _rule(
        "05",
        "warning",
        "a byte order mark",
        "nothing to do, what follows it is read; delete it to be rid of it",
    ),
    _rule("06", "warning", "a comment line, which JSONL does not know", "delete the line"),
    _rule(
        "07",
        "error",
        "a line is not UTF-8",
        "save it as UTF-8; what it holds is not in the view",
    ),
    _rule(
        "08",
        "error",
        "a line holds NaN or Infinity, which JSON does not know",
        "write null; what the line holds is not in the view",
    ),
    _rule(
        "09",
        "warning",
        "a lone surrogate: half of a character",
        "replace it by U+FFFD; a provider refuses it",
        raised_when=SENDABLE,
        provider="The request body is not valid JSON: no low surrogate in string",
    ),
    _rule(
        "10",
        "warning",
        "a line is JSON but not an object",
        "nothing to do, it passes through; delete it if it should not be there",
    ),
    _rule(
        "11",
        "warning",
        "two entries have one id",
        "give the later one an id of its own, or drop it if it is a copy",
    ),
    _rule(
        "12",
        "warning",
        "the parent of an entry is not in the file",
        "run `compactctl repair`, or set it to the id of the entry before",
        raised_when=LOSS,
    ),
    _rule(
        "13",
        "warning",
        "the parents of entries go round in a circle",
        "set the parent of the first of them to the id of the entry before",
        raised_when=LOSS,
    ),
    _rule(
        "14",
        "info",
        "several prompts follow one entry: the session was rewound, or two processes wrote it",
        "nothing to do, what was given up is not in the view",
    ),
    _rule(
        "15",
        "info",
        "entries of a type that is not known",
        "nothing to do, they pass through unchanged",
    ),
    _rule(
        "16",
        "warning",
        "the sequence numbers of events do not run on",
        "nothing to do if lines were dropped on purpose; else look for what is missing",
    ),
    _rule(
        "17",
        "warning",
        "a member of a record is not of the type that the format gives it",
        "mend the member; it is not in the view",
    ),
    _rule(
        "18",
        "warning",
        "the chain of parents from the last entry ends here, messages outside it have other roots",
        "set the parent of this entry to the id of the entry before",
    ),
    _rule(
        "19",
        "warning",
        "a line is too long to be read, it passes through unchanged",
        "part it, or take it out",
    ),
)
