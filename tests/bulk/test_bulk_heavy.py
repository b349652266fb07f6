"""Thousands of sessions: constant memory, linear time, and twenty kills (``make heavy``).

COMPACTCTL_HEAVY_FILES and COMPACTCTL_HEAVY_MB say how many and how large they are in all.
"""

import contextlib
import os
import random
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.bulk_helpers import (
    HEAVY,
    check_whole,
    children,
    command,
    complete_lines,
    environment,
    kill_at,
    load_generator,
    start,
    tree,
)

pytestmark = pytest.mark.skipif(
    not HEAVY, reason="COMPACTCTL_HEAVY=1 runs it: 2,000 sessions of 1 MB, 20 kills, minutes"
)

FILES = int(os.environ.get("COMPACTCTL_HEAVY_FILES", "2000"))
MEGABYTES = float(os.environ.get("COMPACTCTL_HEAVY_MB", "2000"))
KILLS = 20
DISTINCT = 200
ROOM = 10
"""Megabytes that the driver may grow by, whatever the number of files."""

LAYERS = ("--layers", "truncate,dedup,prune", "--soft-limit", 10_000, "--hard-limit", 10**9)


class Sample(NamedTuple):
    """How far a run was at some moment, and what it had cost until then."""

    files: int
    seconds: float
    worked: float
    megabytes: float


def bulk_command(source, out, jobs=2):
    return command("compact", source, "-o", out, "--jobs", jobs, "-q", "--resume", *LAYERS)


def fill(folder):
    """Write sessions of about the same size, so that the order of sizes does not show as time.

    Only some are made; the others are the same ones under other names, of other bytes.
    """
    sessions = load_generator()
    distinct = min(FILES, DISTINCT)
    for at in range(distinct):
        path = folder / f"project{at % 7}" / f"session-{at:06}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        sessions.write(("big", "chatty")[at % 2], path, mb=MEGABYTES / FILES, seed=at)
        data = path.read_bytes()
        identity = re.search(rb'"sessionId":"([0-9a-f-]{36})"', data)[1]
        for copy in range(at + distinct, FILES, distinct):
            other = b"%08d%s" % (copy, identity[8:])
            target = path.with_name(f"session-{copy:06}.jsonl")
            target.write_bytes(data.replace(identity, other))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    fill(folder / "all")
    for path in sorted((folder / "all").rglob("*.jsonl"))[::10]:
        link = folder / "tenth" / path.relative_to(folder / "all")
        link.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, link)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def undisturbed(large):
    """Run once over all of it, undisturbed: the samples, and where the outputs are."""
    before = tree(large / "all")
    samples = watched(large / "all", large / "undisturbed")
    assert tree(large / "all") == before
    return samples, large / "undisturbed"


def watched(source, out, jobs=2):
    """Run, and look now and then how far it is."""
    begin = time.monotonic()
    run = start(bulk_command(source, out, jobs))
    samples, worked = [], {}
    while run.poll() is None:
        memory = 0
        for pid in {run.pid, *children(run.pid)}:
            with contextlib.suppress(OSError):
                stat = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
                worked[pid] = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        with contextlib.suppress(OSError):
            status = Path("/proc", str(run.pid), "status").read_text()
            memory = int((re.findall(r"VmHWM:\s*(\d+)", status) or [0])[0]) / 1024
        seconds = time.monotonic() - begin
        samples.append(Sample(complete_lines(out), seconds, sum(worked.values()), memory))
        time.sleep(0.02)
    _, said = run.communicate()
    assert run.returncode == 0, said
    return samples


def cost(samples, low, high):
    """Give the time of the processors for a file, between two shares of the files."""
    first = next(sample for sample in samples if sample.files >= max(1, low * FILES))
    last = next((sample for sample in samples if sample.files >= high * FILES), samples[-1])
    return (last.worked - first.worked) / max(1, last.files - first.files)


def test_memory_is_constant_and_time_is_linear(large, undisturbed, capsys):
    samples, out = undisturbed
    tenth = watched(large / "tenth", large / "out-tenth", 1)
    some = tree(large / "out-tenth")
    shutil.rmtree(large / "out-tenth")
    quarters = [cost(samples, at / 4, (at + 1) / 4) for at in range(4)]
    peaks = [max(sample.megabytes for sample in run) for run in (tenth, samples)]
    with capsys.disabled():
        print(f"\n{FILES} files, {MEGABYTES:g} MB: {samples[-1].seconds:.1f} s by the clock")
        print("processor ms a file, by quarter:", [round(1000 * each) for each in quarters])
        print("driver's most memory, MB: tenth {:.0f}, all {:.0f}".format(*peaks))
    # By the time of the processors: that of the clock says more about who else is at work.
    assert quarters[3] < 1.5 * quarters[0]
    assert peaks[1] < peaks[0] + ROOM
    whole = tree(out)
    assert len(whole) == FILES
    assert some.items() <= whole.items()  # by one worker as by two


def test_killed_at_random_moments_it_resumes_to_the_same(large, undisturbed, capsys):
    source, out = large / "all", large / "killed"
    expected, before = tree(undisturbed[1]), tree(source)
    moments, killed = sorted(random.sample(range(1, FILES), KILLS)), []
    for moment in moments:
        left = complete_lines(out)
        killed.append(kill_at(max(moment, left + 1), bulk_command(source, out), out))
        partial = tree(out)
        whole = {name for name in partial if not Path(name).name.startswith(".")}
        assert {name: partial[name] for name in whole}.items() <= expected.items()
    run = start(bulk_command(source, out))
    _, said = run.communicate()
    assert run.returncode == 0, said
    check_whole(source, out, before, expected)
    check_valid(out)
    with capsys.disabled():
        print(f"\nkilled after {killed} of {FILES} files; all {len(expected)} outputs the same")


def check_valid(out):
    """Let the tool's own judge look at every output."""
    folders = [path for path in out.iterdir() if path.is_dir()]
    done = subprocess.run(
        command("validate", "--check", *folders),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
