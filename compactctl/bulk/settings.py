"""What a bulk run was asked to do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from compactctl._version import __version__
from compactctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactctl.pipeline import Result
    from compactctl.tokens import Counter
    from compactctl.transcript.loading import Transcript

Work: TypeAlias = "Callable[[Transcript, Counter], Result]"
"""Compacts one transcript. Workers get it by its name, so it is no lambda."""

_LEAST = 1 << 30
"""Bytes of address space: a worker with two tokenizers loaded reserves half of it."""


_SMALLEST = 100
"""MB of address space with which a worker can begin at all."""


class Recipe(msgspec.Struct, frozen=True):
    """What is done to each file; travels to the workers with every task.

    ``options`` is a digest of all that an output depends on, so that ``--resume`` knows what was
    made in another way.
    """

    work: Work
    tokenizer: str = "o200k_base"
    format: str | None = None
    archive: str | None = None
    report: str | None = None
    dry_run: bool = False
    timeout: float = 0
    options: str = ""
    version: str = __version__


class Settings(msgspec.Struct, frozen=True):
    """How the run goes about it.

    Raises:
        UsageError: the settings contradict one another.

    """

    recipe: Recipe
    jobs: int | None = None
    resume: bool = False
    in_place: bool = False
    engine: Literal["local", "dask"] = "local"
    scheduler: str | None = None
    max_memory: int | None = None
    quiet: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be carried out."""
        if self.engine == "dask" and not self.scheduler:
            raise UsageError(
                "--engine dask needs the cluster's address: --scheduler tcp://HOST:PORT"
            )
        if self.scheduler and self.engine != "dask":
            raise UsageError("--scheduler goes with --engine dask")
        if 0 < (self.max_memory or 0) < _SMALLEST:
            raise UsageError(f"--max-memory must be at least {_SMALLEST} (MB), or 0 for no bound")

    def workers(self) -> int:
        """Return the number of local workers."""
        return self.jobs or _cores()

    def memory(self) -> int:
        """Return the bytes of address space of one worker, 0 for no bound.

        Unless it was given, all workers together may fill what the machine has.
        """
        if self.max_memory is not None:
            return self.max_memory << 20
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return max(machine // self.workers(), _LEAST)


def _cores() -> int:
    """Return the number of cores that this process may use, which a container can restrict."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1
