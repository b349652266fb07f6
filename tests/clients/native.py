"""Sessions that an agent made here, by doing what a script told it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopback import CHARACTERS_A_TOKEN
from streams import Reply

if TYPE_CHECKING:
    from pathlib import Path

    from agent import Agent, Place
    from loopback import Loopback

RULE = "RULE-MARKER: never touch the file b.txt."
"""Stands in the folder's standing rules, which every request must hold."""
RULE_FILES = ("CLAUDE.md", "AGENTS.md")
WORDS = "word " * 4000
"""The step over the limit is the user's: where the results take it, Codex compacts at once."""
BIG_FILES = 14
LINE = "{name} line {number}: word word word word word word word word word word word word\n"


@dataclass(frozen=True)
class Step:
    """A prompt of the user, and what the model does then."""

    prompt: str
    replies: tuple[Reply, ...]
    compacts: bool = False
    """The agent may compact by itself."""


def small(agent: Agent, work: Path) -> list[Step]:
    """Return a session of every kind of block, with a file that is read again after a change."""
    read, shell = agent.read, agent.shell
    both = (read(work / "a.txt"), shell("ls"))
    failing = shell("cat missing.txt")
    return [
        Step(
            "Find out what is in a.txt and b.txt.",
            (
                Reply("Both at once.", both, thought="The list first."),
                Reply("Now b.", (read(work / "b.txt"),), thought="Then the other."),
                Reply("Two lists of words."),
            ),
        ),
        Step(
            "a.txt has changed: look again, and count.",
            (
                Reply(calls=(read(work / "a.txt"),)),
                Reply("Counting.", (shell("seq 1 2000"), failing), thought="A failure to come."),
                Reply("It has 2000 lines."),
            ),
        ),
        Step("Say it in one word.", (Reply("Many."),)),
    ]


def full(agent: Agent, work: Path) -> list[Step]:
    """Return a session that fills the model's window with files, each of them read twice."""
    names = [f"big{number}.txt" for number in range(BIG_FILES)]
    pairs = [names[at : at + 2] for at in range(0, BIG_FILES, 2)]
    replies = [
        Reply(f"Reading {pair}.", tuple(agent.read(work / n) for n in pair)) for pair in pairs
    ]
    return [
        Step("Read all that is here.", (*replies, Reply("A lot of words."))),
        Step("All of it has changed: again.", (*replies, Reply("As many words as before."))),
        Step(f"Which of these is missing? {WORDS}", (Reply("None of them."),)),
    ]


def compacted(agent: Agent, work: Path) -> list[Step]:
    """Return a session that the agent compacted by itself, and went on with."""
    again = Reply("Once more.", (agent.read(work / "a.txt"), agent.shell("seq 1 900")))
    third = Reply(calls=(agent.read(work / "a.txt"), agent.read(work / "b.txt")), thought="Both.")
    return [
        *full(agent, work),
        Step("Look at a.txt again.", (again, Reply("The same.")), compacts=True),
        Step("And once more, with b.txt.", (third, Reply("That too."))),
        Step("Thank you.", (Reply("You are welcome."),)),
    ]


def write_files(agent: Agent, work: Path, edition: int) -> None:
    """Write the files that the sessions read; each edition of them differs."""
    big = agent.fill * CHARACTERS_A_TOKEN // (2 * BIG_FILES * len(LINE))
    work.mkdir(parents=True, exist_ok=True)
    for name in RULE_FILES:
        (work / name).write_text(f"{RULE}\n")
    sizes = {"a.txt": 60, "b.txt": 30}
    sizes |= {f"big{number}.txt": big for number in range(BIG_FILES)}
    for name, lines in sizes.items():
        text = "".join(LINE.format(name=name, number=number) for number in range(lines))
        (work / name).write_text(f"edition {edition}\n{text}")


def make(agent: Agent, server: Loopback, steps: list[Step], place: Place) -> bytes:
    """Let an agent do the steps, each in a start of its own; return its session file."""
    session: Path | None = None
    for edition, step in enumerate(steps):
        write_files(agent, place.work, edition)
        place.home.mkdir(parents=True, exist_ok=True)
        done = agent.start(
            server, place, step.prompt, session, step.replies, compacts=step.compacts
        )
        found = agent.sessions(place)
        went = done.code == 0 and len(done.bodies) == len(step.replies)
        if not went or len(found) != 1 or bool(done.summaries) != step.compacts:
            raise RuntimeError(f"{agent.title} made no session: {done.said[-400:]}")
        session = found[0]
    return session.read_bytes() if session else b""
