"""One row: a session, changed by compactctl, that an agent goes on with; and what must hold."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import said
import strict_request
from agent import Place
from changes import UNTOUCHED, FailedError, compactctl
from native import RULE
from streams import Reply

from compactctl.errors import CompactctlError

if TYPE_CHECKING:
    from agent import Agent, Outcome
    from changes import Change
    from loopback import Loopback
    from said import Said

LAST = (Reply("Done."),)
PROMPT = "Go on from here, and say where you are."


@dataclass(frozen=True)
class Session:
    """A session file."""

    name: str
    data: bytes
    native: bool = False
    """The agent made it here, in this version and this folder."""
    is_full: bool = False
    """It fills the window: untouched, the agent compacts it at once."""


@dataclass(frozen=True)
class Task:
    """Where an agent goes on, and what the model does there."""

    server: Loopback
    work: Path
    script: tuple[Reply, ...]


@dataclass
class Row:
    """What became of one session after one change."""

    agent: Agent
    session: Session
    change: Change
    reasons: list[str] = field(default_factory=list)
    """Why it failed; it passed if there are none."""
    idle: bool = False
    """compactctl changed nothing, so there was nothing to try."""


def run(agent: Agent, session: Session, change: Change, work: Path, server: Loopback) -> Row:
    """Change a session, let the agent go on with it, and judge what it sent; maybe again."""
    row = Row(agent, session, change)
    data = session.data
    try:
        for left in reversed(range(change.rounds)):
            given = change.prepared(data)
            data = compactctl(change.argv, given) if change.argv else given
            if change.acts and data == given:
                row.idle = True
                row.reasons += ["compactctl changed nothing"] if session.native else []
                break
            script = _more(agent, work) if left else LAST
            data = _go_on(row, data, Task(server, work, script))
            if row.reasons:
                break
    except (FailedError, CompactctlError) as error:
        row.reasons.append(str(error))
    return row


def _more(agent: Agent, work: Path) -> tuple[Reply, ...]:
    """Return what the model does between two rounds, for the second to have something to do."""
    calls = agent.read(work / "a.txt"), agent.shell("seq 1 900")
    return Reply("More of it.", calls, thought="Again."), Reply("That is more.")


def _go_on(row: Row, data: bytes, task: Task) -> bytes:
    """Let the agent go on; judge it in ``row``, and return the session file that it left."""
    agent = row.agent
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), task.work)
        path = agent.put(data, place)
        view = [agent.plain(piece) for piece in said.of_view(path.read_bytes())]
        done = agent.start(task.server, place, PROMPT, path, task.script)
        if row.session.is_full and row.change == UNTOUCHED:
            row.reasons += [] if done.summaries else ["the agent did not compact a full window"]
        else:
            row.reasons += _sent(row, view, done, len(task.script))
            row.reasons += _left(agent, view, path, place)
        return path.read_bytes()


def _sent(row: Row, view: list[Said], done: Outcome, requests: int) -> list[str]:
    """Return what is wrong with what was sent."""
    agent = row.agent
    if done.summaries:
        return ["the agent compacted again"]
    if done.code or len(done.bodies) != requests:
        tail = " ".join(done.said.split())[-200:]
        return [f"exit {done.code} after {len(done.bodies)} requests: {tail}"]
    body = done.bodies[0]
    reasons = [f"invalid: {problem}" for problem in strict_request.problems(body)]
    if apart := said.difference(view, _conversation(agent, body), agent.added):
        reasons.append(apart)
    reasons += [f"attachment not sent: {piece.text[:60]!r}" for piece in said.unsent(view, body)]
    if row.session.native and RULE not in str(body):
        reasons.append("the standing rules are not sent")
    return reasons


def _conversation(agent: Agent, body: dict[str, object]) -> list[Said]:
    """Return what a request says, without the prompt of this run and the agent's wrappers."""
    sent = said.of_request(body)
    if sent and sent[-1].text == PROMPT:
        sent.pop()
    return [agent.plain(piece) for piece in sent]


def _left(agent: Agent, view: list[Said], path: Path, place: Place) -> list[str]:
    """Return what is wrong with the session file that the agent left."""
    if agent.sessions(place) != [path]:
        return ["the agent began another session"]
    now = [agent.plain(piece) for piece in said.of_view(path.read_bytes())]
    return [] if now[: len(view)] == view else ["the session file lost what it held"]
