"""Let real agents go on with sessions that compactctl changed; print what holds, as Markdown.

    python tests/clients/run_clients.py
    python tests/clients/run_clients.py --only "pi small repair"

The agents come from npm (`make clients` installs them below .venv) and are started without a
terminal, each in an empty home, with a provider on this machine that answers from a script and
records what it was sent. A row holds if the agent goes on, sends exactly the view that compactctl
reads, in a request that the provider would take, with the standing rules in it; if it does not
compact by itself, and if its session file keeps all that it held. Exit code 1 if any does not.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import changes
import matrix
import native
from agent import Agent, Place
from agent_claude import ClaudeCode
from agent_codex import Codex
from agent_pi import Pi
from loopback import Loopback
from matrix import Row, Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from changes import Change

AGENTS = {
    "claude-code": ClaudeCode("@anthropic-ai/claude-code", fill=138_000),
    "claude-code-js": ClaudeCode("claude-code-js", fill=138_000),
    "codex": Codex(),
    "pi": Pi(),
}
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
REAL = {
    "claude-code": ("488c5296", "2cfdacb8", "0cd9edf7", "130d7b7e"),
    "codex": ("019ed836", "019ed917", "019ed893"),
    "pi": ("large-session", "before-compaction"),
}
"""Sessions of the corpus, by a part of their names, for the agent of their folder."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="only rows that have all of these words")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="rows at a time")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="folder of real sessions")
    options = parser.parse_args()
    if absent := [agent.title for agent in AGENTS.values() if not agent.installed]:
        print(f"not installed: {', '.join(absent)}; run `make clients`", file=sys.stderr)
        return 1
    with Loopback() as server, tempfile.TemporaryDirectory() as folder:
        rows = list(_rows(server, Path(folder), options))
    print("\n".join(table(rows)))
    return int(any(row.reasons for row in rows))


def _rows(server: Loopback, folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Run all rows that have every word of ``only``; say on standard error how each ended."""
    only = options.only.split()
    for name, agent in AGENTS.items():
        if not _wanted(only, [name], whole=False):
            continue
        work = folder / name / "work"
        tasks = [
            (session, change)
            for session in _sessions(name, agent, folder / name, server, options.corpus)
            for change in _changes(session)
            if _wanted(only, [name, session.name, change.name])
        ]
        with ThreadPoolExecutor(options.jobs) as pool:
            run = partial(_run, agent, work, server)
            yield from pool.map(run, *zip(*tasks, strict=True)) if tasks else ()


def _run(agent: Agent, work: Path, server: Loopback, session: Session, change: Change) -> Row:
    row = matrix.run(agent, session, change, work, server)
    said = "; ".join(row.reasons) or ("nothing to change" if row.idle else "ok")
    print(f"{agent.title} {agent.version}, {session.name}, {change.name}: {said}", file=sys.stderr)
    return row


def _wanted(only: list[str], words: list[str], *, whole: bool = True) -> bool:
    """Return True if every word that was asked for is in a row's names.

    Before the sessions are made only the agent is known: then a word that names another decides.
    """
    if whole:
        return all(word in " ".join(words) for word in only)
    return not any(word in AGENTS and word not in words for word in only)


def _sessions(
    name: str, agent: Agent, folder: Path, server: Loopback, corpus: Path
) -> Iterator[Session]:
    """Return what the agent makes here, and the corpus's sessions of it where that is at hand."""
    for steps in (native.small, native.full, native.compacted):
        place = Place(folder / steps.__name__, folder / "work")
        data = native.make(agent, server, steps(agent, place.work), place)
        yield Session(steps.__name__, data, native=True, is_full=steps is native.full)
    kind = name.removesuffix("-js")
    for part in REAL[kind] if corpus.is_dir() else ():
        (path,) = (corpus / kind).glob(f"*{part}*.jsonl")
        yield Session(part, path.read_bytes())


def _changes(session: Session) -> Iterator[Change]:
    yield changes.UNTOUCHED
    yield from changes.LAYERS
    if not session.is_full:
        yield from changes.RECORDS
        yield from changes.REPAIRS


def table(rows: list[Row]) -> Iterator[str]:
    """Return how many rows of each agent hold, and then each that does not."""
    yield f"| agent | version | sessions | {' | '.join(changes.GROUPS)} |"
    yield f"|---|---|--:|{'--:|' * len(changes.GROUPS)}"
    for agent, found in groupby(rows, lambda row: row.agent):
        tried = [row for row in found if row.reasons or not row.idle]
        sessions = len({row.session.name for row in tried})
        cells = [
            _held([r for r in tried if r.change in group]) for group in changes.GROUPS.values()
        ]
        yield f"| {agent.title} | {agent.version} | {sessions} | {' | '.join(cells)} |"
    failures = [row for row in rows if row.reasons]
    yield from ["", "Rows that fail:", ""] if failures else []
    for row in failures:
        name = f"{row.agent.title} {row.agent.version}, {row.session.name}, {row.change.name}"
        yield f"- {name}: {'; '.join(row.reasons)}"


def _held(rows: list[Row]) -> str:
    return f"{sum(not row.reasons for row in rows)} of {len(rows)}"


if __name__ == "__main__":
    sys.exit(main())
