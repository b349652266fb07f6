"""Rows as a Markdown table."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from timing import Row, Session

MEGABYTE = 1_000_000


def table(rows: list[Row], sessions: Mapping[str, Session]) -> Iterator[str]:
    yield "| session | command | seconds | range | MB/s | peak MB | size | against | ratio |"
    yield "|---|---|--:|--:|--:|--:|--:|---|--:|"
    known = {(row.shape, row.name): row for row in rows}
    for row in rows:
        cells = measured(row, sessions.get(row.shape)) if row.runs else [row.failure, "", "", ""]
        base = known.get((row.shape, row.against))
        against = "floor" if row.against.startswith("floor") else row.against
        cells = [row.shape, row.name, *cells, row.note, against, ratio(row, base)]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def measured(row: Row, session: Session | None) -> list[str]:
    seconds = [run.seconds for run in row.runs]
    median = statistics.median(seconds)
    largest = max(max(run.peaks) for run in row.runs) / MEGABYTE
    peak = f"{largest:.0f}"
    if len(row.stages) > 1:
        peak += f" ({max(sum(run.peaks) for run in row.runs) / MEGABYTE:.0f})"
    speed = f"{session.size / MEGABYTE / median:.1f}" if session else ""
    spread = "once" if row.once else f"{min(seconds):.3f}–{max(seconds):.3f}"
    return [f"{median:.3f}", spread, speed, peak]


def ratio(row: Row, base: Row | None) -> str:
    """Compare within each round that both ran in."""
    if not base or row.failure or base.failure:
        return ""
    pairs = zip(row.runs, base.runs, strict=False)
    return f"{statistics.median(mine.seconds / other.seconds for mine, other in pairs):.2f}"
