"""Named pipes that nobody opens at the other end, and pipes that somebody does."""

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.shell import COMPACTCTL, CUT, ENVIRONMENT, LONG, refused, run

from compactctl.errors import InputError
from compactctl.files import pipes
from compactctl.files.pipes import open_to_read, open_to_write

EXPECTED = run(*CUT, stdin=LONG).stdout


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_pipe_without_its_other_end_is_not_waited_for_for_ever(source, pipe, tmp_path):
    """All of them wait at the same time."""
    reads, writes = "nothing writes to this pipe", "nothing reads from this pipe"
    commands = [
        ((*CUT, pipe), reads),
        (("validate", pipe), reads),
        (("resolve", source, "--state", pipe), reads),
        (("resolve", source, "--policy", pipe), reads),
        ((*CUT, source, "-o", pipe), writes),
        ((*CUT, source, "-o", tmp_path / "out", "--report", pipe), writes),
    ]
    # Each has a pipe of its own: two of them would be each other's other end.
    for number, (command, _) in enumerate(commands):
        own = tmp_path / f"pipe{number}"
        os.mkfifo(own)
        commands[number] = (
            [own if part == pipe else part for part in command],
            commands[number][1],
        )
    start = time.monotonic()
    with ThreadPoolExecutor(len(commands)) as at_once:
        ended = list(at_once.map(lambda command: run(*command[0]), commands))
    assert time.monotonic() - start < pipes.PATIENCE * 3
    for done, (_, complaint) in zip(ended, commands, strict=True):
        code = 2 if "--policy" in done.args else 3
        assert f"{complaint}; start that first" in refused(done, code)
    assert not (tmp_path / "out").exists()


def test_the_wait_ends(pipe):
    with pytest.raises(InputError, match="nothing writes to this pipe; start that first"):
        open_to_read(pipe, patience=0.05)
    with pytest.raises(InputError, match="nothing reads from this pipe; start that first"):
        open_to_write(pipe, 0, patience=0.05)


def test_a_writer_that_comes_later_and_is_slow_is_waited_for(pipe):
    done = subprocess.Popen(
        [*COMPACTCTL, *CUT, str(pipe)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with pipe.open("wb") as file:  # opens when the other side does
        file.write(LONG[:100])
        file.flush()
        time.sleep(0.3)
        file.write(LONG[100:])
    assert done.communicate(timeout=60)[0] == EXPECTED


@pytest.mark.parametrize("wanted", ["<(cat {})", "/dev/stdin < {}"])
def test_what_a_shell_makes_a_pipe_of_is_read(source, wanted):
    script = f"{' '.join([*COMPACTCTL, *CUT])} {wanted.format(source)}"
    done = subprocess.run(
        ["bash", "-c", script], env=ENVIRONMENT, capture_output=True, timeout=60, check=False
    )
    assert done.stdout == EXPECTED
