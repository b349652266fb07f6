"""Two thousand sessions: constant memory, linear time, and twenty kills (COMPACTCTL_HEAVY=1)."""

import contextlib
import os
import random
import re
import time
from pathlib import Path

import pytest
from bulk_helpers import (
    HEAVY,
    check_whole,
    children,
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
    """Run; give the seconds, those of all processors, and the driver's most memory, in MB."""
    begin = time.monotonic()
    run = start(command("compact", source, "-o", out, "--jobs", jobs, "-q"))
    peak, worked = 0, {}
    while run.poll() is None:
        with contextlib.suppress(OSError):
            status = Path("/proc", str(run.pid), "status").read_text()
            peak = max([peak, *map(int, re.findall(r"VmHWM:\s*(\d+)", status))])
        for pid in {run.pid, *children(run.pid)}:
            with contextlib.suppress(OSError):
                stat = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
                worked[pid] = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(0.05)
    _, said = run.communicate()
    assert run.returncode == 0, said
    return time.monotonic() - begin, sum(worked.values()), peak / 1024


def test_memory_is_constant_and_time_is_linear(large, tmp_path, capsys):
    runs = {}
    for name, source, jobs in (("tenth", "tenth", 2), ("one", "all", 1), ("two", "all", 2)):
        runs[name] = measured(large / source, tmp_path / name, jobs)
        with capsys.disabled():
            print(
                "\n{}, {} job(s): {:.1f} s, {:.1f} s of processors, driver {:.0f} MB".format(
                    source, jobs, *runs[name]
                )
            )
    assert len(manifest_lines(tmp_path / "two")) == FILES
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    assert runs["two"][2] < runs["tenth"][2] + 10
    # By the time of the processors: that of the clock says more about who else is at work.
    assert runs["two"][1] < 12 * runs["tenth"][1]


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
