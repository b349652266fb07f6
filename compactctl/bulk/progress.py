"""What a bulk run shows on standard error: a bar, a line for each failure, a table at the end."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from compactctl.console import say
from compactctl.text import escape_terminal, sizes

if TYPE_CHECKING:
    from compactctl.bulk.task import Outcome

_STATUSES = ("done", "unchanged", "skipped", "failed")
_AGAIN = "done before"


class Row:
    """Counts of the files with one status, and their tokens."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.files = self.before = self.after = 0

    def add(self, files: int, before: int, after: int) -> None:
        """Count some more."""
        self.files += files
        self.before += before
        self.after += after


class Progress:
    """Shows outcomes as they come, and sums them up."""

    def __init__(self, files: int, size: int, *, quiet: bool, verbose: bool) -> None:
        """Show a bar if there is a terminal to show it on."""
        self.rows = {status: Row() for status in (*_STATUSES, _AGAIN)}
        self.files = files
        self._quiet = quiet
        self._verbose = verbose
        self._seen = 0
        self._bytes = (0, 0)
        self._bar = None if quiet or sys.stderr is None or not sys.stderr.isatty() else _bar(size)

    def take(self, outcome: Outcome) -> None:
        """Count an outcome and show it."""
        line = outcome.line
        before, after = line.tokens_before or 0, line.tokens_after
        row = self.rows[line.status if outcome.is_new else _AGAIN]
        row.add(1, before, before if after is None else after)
        self._seen += 1
        many, left = self._bytes
        self._bytes = many + (line.bytes_before or 0), left + (line.bytes_after or 0)
        if line.status == "failed":
            self.say(f"compactctl: {line.source}: {line.error}")
        elif line.status == "skipped" and outcome.is_new and not self._quiet:
            self.say(f"{line.source}: skipped: {line.error}")
        elif self._verbose and outcome.is_new:
            self.say(f"{line.source}: {line.status}, {before:,} → {after or 0:,} tokens")
        if self._bar is not None:
            saved = self.rows["done"].before - self.rows["done"].after
            self._bar.set_postfix_str(
                f"{self._seen:,} of {self.files:,} files, {saved:,} tokens saved", refresh=False
            )
            self._bar.update(outcome.size)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if self._bar is None:
            say(text)
        else:
            shown = escape_terminal(text).encode("utf-8", "backslashreplace").decode()
            self._bar.write(shown, file=sys.stderr)

    def close(self) -> None:
        """Remove the bar, after a last refresh: it skips what comes too fast."""
        if self._bar is not None:
            self._bar.refresh()
            self._bar.close()
            self._bar = None

    def failed(self) -> int:
        """Return the number of files that failed."""
        return self.rows["failed"].files

    def finished(self) -> int:
        """Return the number of files that have come to an end."""
        return self._seen

    def table(self, tokenizer: str) -> None:
        """Print the summary."""
        if self._quiet:
            return
        total = Row()
        say(f"{'':<12}{'files':>10}{'tokens before':>18}{'after':>16}{'saved':>10}")
        for status, row in self.rows.items():
            if row.files:
                say(_row(status, row))
            total.add(row.files, row.before, row.after)
        went = f", {sizes(*self._bytes)} bytes" if self._bytes[0] else ""
        say(f"{_row('total', total)} [{tokenizer}]{went}")


def _row(name: str, row: Row) -> str:
    share = f"{(row.before - row.after) / row.before:.1%}" if row.before else ""
    return f"{name:<12}{row.files:>10,}{row.before:>18,}{row.after:>16,}{share:>10}".rstrip()


def _bar(size: int) -> Any:
    tqdm: Any = importlib.import_module("tqdm")  # only for a terminal
    # What is shown is the work left, which goes by size: the largest files come first.
    form = "{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
    return tqdm.tqdm(total=size, bar_format=form, file=sys.stderr, leave=False, dynamic_ncols=True)
