"""Tokens that each layer alone and the chain save on real sessions, by format, as a table.

    python tests/bench/savings.py [FOLDER]

FOLDER holds one folder a format of transcripts; by default ``../shared/corpus`` beside the
checkout. Files that layers refuse are counted apart.
"""

import sys
from collections import Counter, defaultdict
from pathlib import Path

from compactctl import layers, pipeline
from compactctl.errors import CompactctlError
from compactctl.files.reading import read_lines
from compactctl.rules import findings
from compactctl.tokens import load_counter
from compactctl.transcript import loading

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
CHAINS = {**{name: (name,) for name in layers.ORDER}, "chain": tuple(layers.ORDER)}


def measure(path, counter, before, after, told):
    """Add one file to the sums; a chain's output has to be valid and final."""
    try:
        found = loading.load(read_lines(str(path)), path.name)
        pipeline.refuse_broken(found)
    except CompactctlError:
        told["refused"] += 1
        return
    name = found.format.name
    told[name] += 1
    for chain, names in CHAINS.items():
        result = pipeline.run(found, names, {}, counter)
        before[name, chain] += result.steps[0].tokens_before
        after[name, chain] += result.steps[-1].tokens_after
        again = loading.parse(result.written().lines(), path.name, found.format)
        errors = {
            f.rule for f in findings.find(again, again.format.profile) if f.severity == "error"
        }
        known = {
            f.rule for f in findings.find(found, found.format.profile) if f.severity == "error"
        }
        assert errors <= known, (path.name, chain, errors - known)
        twice = pipeline.run(again, names[-1:], {}, counter)
        assert twice.messages is again.messages, (path.name, chain)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS
    before, after, told = defaultdict(int), defaultdict(int), Counter()
    for path in sorted(folder.glob("*/*.jsonl")):
        measure(path, load_counter(), before, after, told)
    print(f"| format (files) | tokens | {' | '.join(CHAINS)} |")
    print(f"|---|--:|{'--:|' * len(CHAINS)}")
    for name in sorted({name for name, _ in before}):
        cells = [f"−{1 - after[name, c] / before[name, c]:.1%}" for c in CHAINS]
        print(f"| {name} ({told[name]}) | {before[name, 'chain']:,} | {' | '.join(cells)} |")
    print(f"\n{told['refused']} files refused, by `validate` as broken or as no transcript")


if __name__ == "__main__":
    main()
