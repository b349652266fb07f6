"""What all agents under test have in common: how one is started, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopback import Run
from streams import Reply

if TYPE_CHECKING:
    from loopback import Loopback
    from said import Said
    from streams import Call

MODULES = Path(__file__).resolve().parents[2] / ".venv" / "clients" / "node_modules"
SECONDS = 120
"""How long one start of an agent may take."""
SUMMARY = Reply("<summary>The agent summed up by itself what compactctl had left.</summary>")


@dataclass(frozen=True)
class Place:
    """The folders of an agent: a home that is its own, and where it works."""

    home: Path
    work: Path


@dataclass(frozen=True)
class Outcome:
    """What came of one start of an agent."""

    code: int
    said: str
    """Its output, for a row that failed."""
    bodies: list[dict[str, Any]]
    """The requests that it sent, without those for a summary."""
    summaries: int
    """How many requests asked for a summary: the agent compacted by itself."""


class Agent(ABC):
    """An agent in one version."""

    title: str
    package: str
    """Its folder below ``node_modules``."""
    model: str
    """The model that it works with."""
    fill: int
    """Tokens of files that leave its window so full that it would compact when it goes on."""
    added = "(?!)"
    """A pattern of what it puts in by itself: texts, and results behind their ids."""

    @property
    def version(self) -> str:
        return str(json.loads((MODULES / self.package / "package.json").read_text())["version"])

    @property
    def installed(self) -> bool:
        return (MODULES / self.package / "package.json").is_file()

    @abstractmethod
    def read(self, path: Path) -> Call:
        """Return the call of its tool that reads a file."""

    @abstractmethod
    def shell(self, command: str) -> Call:
        """Return the call of its tool that runs a command."""

    @abstractmethod
    def asks_for_summary(self, body: dict[str, Any]) -> bool:
        """Return True if a request is a compaction that the agent does by itself."""

    @abstractmethod
    def path(self, data: bytes, place: Place) -> Path:
        """Return where the agent looks for a session."""

    @abstractmethod
    def sessions(self, place: Place) -> list[Path]:
        """Return the sessions in its home."""

    @abstractmethod
    def command(self, prompt: str, place: Place, session: Path | None) -> list[str]:
        """Return the command line that goes on with a session, or starts one."""

    def plain(self, piece: Said) -> Said:
        """Return a piece of a view or a request without what the agent makes of it on its way."""
        return piece

    def fit(self, data: bytes, place: Place) -> bytes:
        """Return a session with what ties it to another machine or provider set to this one."""
        return data

    def settle(self, place: Place, url: str, *, compacts: bool) -> dict[str, str]:
        """Write its settings and return its environment; ``compacts``: by itself, when full."""
        raise NotImplementedError

    def put(self, data: bytes, place: Place) -> Path:
        """Put a session where the agent looks for it."""
        path = self.path(data, place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.fit(data, place))
        return path

    def start(
        self,
        server: Loopback,
        place: Place,
        prompt: str,
        session: Path | None = None,
        script: tuple[Reply, ...] = (),
        *,
        compacts: bool = True,
    ) -> Outcome:
        """Run the agent on one prompt, and return what it sent."""
        summaries: list[Any] = []

        def aside(body: dict[str, Any]) -> Reply | None:
            if not self.asks_for_summary(body):
                return None
            summaries.append(body)
            return SUMMARY

        run = Run(list(script), aside=aside)
        with server.serving(run) as url:
            code, said = _wait(
                self.command(prompt, place, session),
                place.work,
                {"PATH": os.environ["PATH"], "HOME": str(place.home)}
                | self.settle(place, url, compacts=compacts),
            )
        said = said.replace(str(place.home), "~")
        return Outcome(code, said, [b for b in run.bodies if b not in summaries], len(summaries))


def _wait(argv: list[str], work: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run a command to its end, or to that of its time; return its exit code and its output."""
    try:
        done = subprocess.run(
            argv,
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"not done after {SECONDS} seconds"
    return done.returncode, done.stdout.decode(errors="replace")


def first(data: bytes, key: str) -> dict[str, Any]:
    """Return the first record of a session that has a member."""
    for line in data.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and key in record:
            return record
    return {}
