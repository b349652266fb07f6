"""Break files in every way, then validate and repair them: ``make fuzz-files``.

Nothing may raise but what is said to a user, or take long; a repair gives what validates clean
and a second one leaves alone, or it names what it can not mend. Those refusals are counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from damage import damaged, noise
from helpers.strategies import transcripts
from hypothesis import HealthCheck, given, seed, settings

from compactctl import formats
from compactctl.errors import InputError
from compactctl.files.reading import read_lines
from compactctl.jsonl import exact
from compactctl.repair.engine import repair
from compactctl.rules import findings
from compactctl.transcript import loading

HERE = Path(__file__).resolve().parents[2]
SAMPLES = HERE / "sample_transcripts"
CORPUS = HERE.parent / "shared" / "corpus"
DRAWN = 60
WHOLE = 200_000
SLOW = 5.0
SAVED = "fuzz-%d.jsonl"


class Source(NamedTuple):
    """A sound file: where it is from, its format, and its lines."""

    name: str
    format: str | None
    lines: list[bytes]


class Tally:
    """What came of the cases."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.outcomes: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.fixes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.longest = (0.0, 0)


def drawn(start: int) -> list[Source]:
    """Draw transcripts of every format."""
    found: list[Source] = []
    for name in formats.names():
        _draw(name, start, found)
    return found


def _draw(name: str, start: int, found: list[Source]) -> None:
    @seed(start)
    @settings(
        max_examples=DRAWN,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=transcripts(name))
    def take(case):
        found.append(Source(f"drawn {name}", name, case.lines))

    take()


def files() -> list[Source]:
    """Give the samples, and what stands beside this checkout of real sessions."""
    paths = [*sorted(SAMPLES.glob("*.jsonl")), *sorted(CORPUS.glob("*/*.jsonl"))]
    return [Source(path.stem[-40:], None, read_lines(str(path))) for path in paths]


def pick(sources: list[Source], random: Random) -> Source:
    """Give a source, of a big one a stretch."""
    source = random.choice(sources)
    at = random.randrange(len(source.lines)) if random.random() < 1 / 2 else 0
    room = random.choice((10_000, 10_000, 40_000, WHOLE))
    kept: list[bytes] = []
    for line in source.lines[at:]:
        room -= len(line)
        if kept and room < 0:
            break
        kept.append(line)
    return source._replace(lines=kept)


def case(number: int, start: int, pools: list[list[Source]]) -> tuple[Source, list[str]]:
    """Make the case of a number; the same number gives the same case."""
    random = Random(f"{start} {number}")
    kind = random.choice((0, 1, 1, 1, 2, 2))
    if kind == 0:
        return Source("noise", random.choice((*formats.names(), None)), noise(random)), []
    source = pick(pools[kind - 1], random)
    lines, done = damaged(source.lines, random)
    return source._replace(lines=lines), done


def run(source: Source, tally: Tally) -> str | None:
    """Validate and repair; give what is wrong, None for nothing."""
    try:
        found = loading.load(source.lines, source.name, source.format)
        for profile in {found.format.profile, "core"}:
            findings.find(found, profile, sendable=True)
        done = repair(source.lines, source.name, source.format)
    except InputError as error:
        tally.outcomes[f"unreadable ({type(error).__name__})"] += 1
        return None
    tally.fixes.update(each.rule for each in done.fixes)
    name = found.format.name
    if done.left:
        tally.outcomes["refused"] += 1
        tally.refused[name, done.left[0].rule] += 1
        return None
    lost = words(done.before) - told(done.after)
    if lost:
        return f"words of a user went: {sorted(lost)[:3]}"
    again = repair(done.lines, source.name, name)
    if again.fixes or b"".join(again.lines) != b"".join(done.lines):
        return f"a second repair mends {[str(m) for m in again.fixes][:5]}"
    tally.outcomes["mended" if done.fixes else "left alone"] += 1
    return None


def words(read: loading.Transcript) -> set[str]:
    """Give what users said, but for what no person did."""
    blocks = [b for m in read.messages if m.role == "user" for b in m.blocks]
    said = {b.text for b in blocks if b.kind == "text" and b.text.strip() and not b.meta}
    return {text for text in said if not text.startswith("{")}  # an object, spelled as a text


def told(read: loading.Transcript) -> set[str]:
    """Give every string in every line."""
    found: set[str] = set()
    waiting: list[object] = [exact.object_or_none(entry.raw) for entry in read.entries]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)
    return found


def judge(number: int, source: Source, tally: Tally) -> str | None:
    """Run a case under the clock; an exception is a fault too."""
    clock = time.perf_counter()
    try:
        wrong = run(source, tally)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is a fault)
        wrong = f"{type(error).__name__}: {error}"
    took = time.perf_counter() - clock
    tally.longest = max(tally.longest, (took, number))
    return f"{took:.1f} s" if wrong is None and took > SLOW else wrong


def main() -> int:
    """Run the cases and print the tables."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--cases", type=int, default=20_000)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--only", type=int, help="run this one case")
    asked.add_argument("--save", type=Path, help="folder for the files of faults and refusals")
    given_ = asked.parse_args()
    pools = [drawn(given_.seed), files()]
    tally = Tally()
    numbers = range(given_.cases) if given_.only is None else [given_.only]
    for number in numbers:
        source, done = case(number, given_.seed, pools)
        refused = tally.outcomes["refused"]
        wrong = judge(number, source, tally)
        if wrong:
            tally.wrong.append(f"case {number} ({source.name}; {', '.join(done)}): {wrong}")
            print(tally.wrong[-1], flush=True)
        if given_.save and (wrong or tally.outcomes["refused"] > refused):
            given_.save.mkdir(parents=True, exist_ok=True)
            (given_.save / (SAVED % number)).write_bytes(b"".join(source.lines))
            print(f"case {number} ({source.name}, {source.format}; {', '.join(done)}) saved")
    report(tally, len(numbers))
    return int(bool(tally.wrong))


def report(tally: Tally, many: int) -> None:
    """Print what came of the cases."""
    print(f"{many:,} cases, {len(tally.wrong)} faults; longest {tally.longest[0]:.2f} s", end="")
    print(f" (case {tally.longest[1]})")
    for outcome, times in tally.outcomes.most_common():
        print(f"{times:>8,}  {outcome}")
    print("refused, by format and rule:")
    for (name, rule), times in sorted(tally.refused.items()):
        print(f"{times:>8,}  {name} {rule}")
    print("mends: " + ", ".join(f"{rule} {times:,}" for rule, times in tally.fixes.most_common()))


if __name__ == "__main__":
    raise SystemExit(main())
