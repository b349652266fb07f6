"""One row: a session, changed by compactctl, that an agent goes on with; and what must hold."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import said
import strict_request
from agent import Place
from changes import FailedError, compactctl
from native import RULE

from compactctl.errors import CompactctlError

if TYPE_CHECKING:
    from agent import Agent, Outcome
    from changes import Change
    from loopback import Loopback
    from said import Said

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
    """Change a session, let the agent go on with it, and judge what it sent."""
    row = Row(agent, session, change)
    try:
        given = change.prepared(session.data)
        data = compactctl(change.argv, given) if change.argv else given
        row.idle = bool(change.argv) and data == given
        if row.idle and session.native:
            row.reasons.append("compactctl changed nothing")
        elif not row.idle:
            row.reasons += _go_on(agent, session, change, data, work, server)
    except (FailedError, CompactctlError) as error:
        row.reasons.append(str(error))
    return row


def _go_on(
    agent: Agent, session: Session, change: Change, data: bytes, work: Path, server: Loopback
) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), work)
        path = agent.put(data, place)
        view = [agent.plain(piece) for piece in said.of_view(path.read_bytes())]
        done = agent.start(server, place, PROMPT, path)
        if session.is_full and not change.argv:
            return [] if done.summaries else ["the agent did not compact a full window"]
        return [*_sent(agent, view, done, session), *_left(agent, view, path, place)]


def _sent(agent: Agent, view: list[Said], done: Outcome, session: Session) -> list[str]:
    """Return what is wrong with what was sent."""
    if done.summaries:
        return ["the agent compacted again"]
    if done.code or len(done.bodies) != 1:
        tail = " ".join(done.said.split())[-200:]
        return [f"exit {done.code} after {len(done.bodies)} requests: {tail}"]
    body = done.bodies[0]
    reasons = [f"invalid: {problem}" for problem in strict_request.problems(body)]
    if apart := said.difference(view, _conversation(agent, body), agent.added):
        reasons.append(apart)
    if session.native and RULE not in str(body):
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
