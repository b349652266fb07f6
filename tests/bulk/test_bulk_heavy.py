"""Two thousand sessions: constant memory, linear time, and twenty kills (COMPACTCTL_HEAVY=1)."""

import os
import random
import re
import time
from pathlib import Path

import pytest
from bulk_helpers import (
    HEAVY,
    check_whole,
    command,
    kill_at,
    load_generator,
    manifest_lines,
    start,
    tree,
)

pytestmark = pytest.mark.skipif(
    not HEAVY, reason="COMPACTCTL_HEAVY=1 runs it: 2,000 sessions, 20 kills, minutes"
)

FILES = int(os.environ.get("COMPACTCTL_HEAVY_FILES", "2000"))
MEGABYTES = float(os.environ.get("COMPACTCTL_HEAVY_MB", "200"))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    paths = load_generator().archive(folder / "all", FILES, MEGABYTES)
    # Every tenth of them is an archive of the same kind, a tenth of the size.
    for path in sorted(paths)[::10]:
        link = folder / "tenth" / path.relative_to(folder / "all")
        link.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, link)
    return folder


def measured(source, out, jobs):
    """Run; give the seconds, and the most memory that the driver had, in MB."""
    begin = time.monotonic()
    run = start(command("compact", source, "-o", out, "--jobs", jobs, "-q"))
    peak = 0
    while run.poll() is None:
        try:
            status = Path("/proc", str(run.pid), "status").read_text()
            peak = max([peak, *map(int, re.findall(r"VmHWM:\s*(\d+)", status))])
        except ProcessLookupError:
            break
        time.sleep(0.02)
    _, said = run.communicate()
    assert run.returncode == 0, said
    return time.monotonic() - begin, peak / 1024


def test_memory_is_constant_and_time_is_linear(large, tmp_path, capsys):
    few_seconds, few_peak = measured(large / "tenth", tmp_path / "tenth", 2)
    one_seconds, one_peak = measured(large / "all", tmp_path / "one", 1)
    seconds, peak = measured(large / "all", tmp_path / "two", 2)
    with capsys.disabled():
        print(f"\n{FILES // 10} files, 2 jobs: {few_seconds:.1f} s, driver {few_peak:.0f} MB")
        print(f"{FILES} files, 1 job: {one_seconds:.1f} s, driver {one_peak:.0f} MB")
        print(f"{FILES} files, 2 jobs: {seconds:.1f} s, driver {peak:.0f} MB")
    assert len(manifest_lines(tmp_path / "two")) == FILES
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    assert peak < few_peak + 10
    assert seconds < 20 * few_seconds


def test_twenty_kills(large, tmp_path, capsys):
    source, out = large / "all", tmp_path / "out"
    measured(source, tmp_path / "undisturbed", 2)
    undisturbed, before = tree(tmp_path / "undisturbed"), tree(source)
    left, moments = 0, sorted(random.sample(range(1, FILES), 20))
    for moment in moments:
        left = kill_at(max(moment, left), command("compact", source, "-o", out, "--resume"), out)
        partial = tree(out)
        whole = {name for name in partial if not Path(name).name.startswith(".")}
        assert {n: partial[n] for n in whole}.items() <= undisturbed.items()
    run = start(command("compact", source, "-o", out, "--resume"))
    _, said = run.communicate()
    assert run.returncode == 0, said
    check_whole(source, out, before, undisturbed)
    with capsys.disabled():
        print(f"\nkilled at {moments} of {FILES} files; all {len(undisturbed)} outputs the same")
