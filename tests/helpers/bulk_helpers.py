"""What the tests of bulk runs share: sessions, the command line, processes on loopback."""

import contextlib
import gzip
import hashlib
import importlib
import io
import json
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

from compactctl import cli

ROOT = Path(__file__).resolve().parents[2]
SABOTEUR = ROOT / "tests" / "bulk" / "saboteur"
HEAVY = bool(os.environ.get("COMPACTCTL_HEAVY"))
PATIENCE = 60


def load_generator():
    """Import tests/bench/sessions.py, which is in no package."""
    folder = str(ROOT / "tests/bench")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("sessions")
    finally:
        sys.path.remove(folder)


def environment(**more):
    """Give the environment of a command that finds the package wherever it is run."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("COMPACTCTL_")}
    paths = [str(ROOT), *clean.get("PYTHONPATH", "").split(os.pathsep)]
    clean["COMPACTCTL_CACHE"] = "off"
    clean["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return clean | more


def sabotaged():
    """Give an environment in which files of certain names do harm; see saboteur/."""
    given = environment()
    return given | {"PYTHONPATH": f"{SABOTEUR}{os.pathsep}{given['PYTHONPATH']}"}


def command(*arguments):
    return [sys.executable, "-m", "compactctl", *map(str, arguments)]


def compact_command(*arguments):
    """Compact with limits that small sessions exceed, without a tokenizer to load."""
    limits = ("--tokenizer", "chars", "--soft-limit", 3000, "--jobs", 2)
    return command("compact", *limits, *arguments)


def bulk(*arguments, env=None, cwd=None):
    """Run a bulk run to its end: in a process of its own where it needs an environment of its own.

    Else in this process, where the start of the workers is paid for once.
    """
    if env is not None:
        return subprocess.run(
            compact_command(*arguments),
            env=env,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=PATIENCE * 4,
            check=False,
        )
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    before, sys.stderr = sys.stderr, said
    try:
        with contextlib.chdir(cwd or "."):
            code = cli.run(compact_command(*arguments)[3:])
    finally:
        sys.stderr = before
    said.seek(0)
    return subprocess.CompletedProcess(arguments, code, "", said.read())


def start(arguments, env=None, **more):
    """Start a command in a process group of its own, as a shell does."""
    return subprocess.Popen(
        list(map(str, arguments)),
        env=env or environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **more,
    )


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def tree(folder, *, but=("manifest.jsonl",)):
    """Hash every file in a folder, hidden ones too."""
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in but
    }


def manifest_lines(out):
    return [json.loads(line) for line in (out / "manifest.jsonl").read_bytes().splitlines()]


def last_lines(out):
    return {line["source"]: line for line in manifest_lines(out)}


def complete_lines(out):
    """Count the lines that are whole, while another process may be writing."""
    try:
        return (out / "manifest.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def wait_for(condition, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.005)


def children(pid):
    """Give the processes that descend from one, by the parents that they name."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def is_alive(pid):
    try:
        state = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def process(arguments, **more):
    """Run a server for the time of a block; it is ended by its pid."""
    running = subprocess.Popen(
        list(map(str, arguments)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **more,
    )
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def session(turns=6, text="x" * 3000, name="t"):
    """Write a session of plain API messages, too large for ``compact_command``."""
    lines = []
    for at in range(turns):
        call = {"type": "tool_use", "id": f"{name}{at}", "name": "Bash", "input": {"command": "ls"}}
        result = {"type": "tool_result", "tool_use_id": f"{name}{at}", "content": f"{at} {text}"}
        lines += [
            {"role": "user", "content": f"{name}: please do step {at}"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [{"type": "text", "text": f"Step {at} is done."}]},
        ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


SMALL = session(turns=1, text="small")
BROKEN = b"\n".join(session().splitlines()[:2] + session().splitlines()[3:]) + b"\n"


def write(folder, files):
    """Write files by their paths, packed if the name says so."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def kill_at(moment, arguments, out):
    """Start a run, kill it without warning, and give the lines that it left."""
    run = start(arguments)
    wait_for(lambda: complete_lines(out) >= moment or run.poll() is not None, PATIENCE * 10)
    time.sleep(random.random() * 0.05)
    workers = children(run.pid)
    run.kill()
    run.communicate()
    wait_for(lambda: not any(map(is_alive, workers)))  # none goes on in secret
    return complete_lines(out)


def check_whole(source, out, sources_before, undisturbed):
    """After the last run: all outputs whole and as they should be, nothing else, nothing twice."""
    assert tree(out) == undisturbed
    assert tree(source) == sources_before
    assert sorted(last_lines(out)) == sorted(line["source"] for line in manifest_lines(out))
