"""Run tasks on a Dask cluster that is there already (extra ``cluster``).

Dask gives the tasks of a lost worker to another one by itself. Workers need this package in the
same version, and must reach the files under the same names: a shared disk, or URLs.
"""

from __future__ import annotations

import importlib
import logging
import time
from typing import TYPE_CHECKING, Any

from compactctl.bulk import task
from compactctl.errors import CompactctlError, InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from compactctl.bulk.settings import Recipe
    from compactctl.bulk.task import Job, Outcome

_RETRIES = 2
_AHEAD = 2
"""Tasks for each thread of the cluster, so that none waits for the driver."""

_OFTEN = 5.0
"""Seconds between two looks at how many workers there are."""

_PATIENCE = 20
"""Seconds for the scheduler to answer, and for the first worker to come."""


class LostError(CompactctlError):
    """The scheduler is gone, and with it the run; what is done is done."""

    exit_code = 6

    def __init__(self) -> None:
        """Tell the user how to go on."""
        super().__init__("the Dask scheduler is gone; run the same command with --resume")


class Cluster:
    """The workers of a scheduler, behind the same four functions as the local pool."""

    def __init__(self, recipe: Recipe, address: str) -> None:
        """Connect, and make sure that the workers can do what they will be asked to.

        Raises:
            UsageError: Dask is missing here, or this package there.
            InputError: no scheduler answers, or it has no worker.

        """
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise UsageError("--engine dask needs: pip install 'compactctl[cluster]'") from None
        for name in (
            "distributed",
            "distributed.client",
        ):  # it says in pages what is said in a line
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._recipe = recipe
        self._width, self._width_until = 1, 0.0
        try:
            self._client: Any = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                f"no Dask scheduler answers at {address} ({type(error).__name__})"
            ) from None
        self._executor: Any = self._client.get_executor(pure=False, retries=_RETRIES)
        try:
            self._probe(address)
        except BaseException:
            self.close(now=True)
            raise

    def _probe(self, address: str) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise InputError(f"the Dask scheduler at {address} has no worker") from None
        try:
            self.submit([]).result(_PATIENCE)
        except RuntimeError as error:
            raise UsageError(f"the workers cannot be used: {error}") from None
        except Exception as error:  # noqa: BLE001 (anything that a worker can raise)
            raise UsageError(
                "the workers cannot run compactctl; install the same version there "
                f"({type(error).__name__})"
            ) from None

    def width(self) -> int:
        """Return the number of tasks to have under way; workers may come and go.

        Raises:
            LostError: the scheduler is gone.

        """
        if time.monotonic() >= self._width_until:
            self._check()
            try:
                threads: int = sum(self._client.nthreads().values())
            except OSError:
                raise LostError from None
            self._width = max(1, threads) * _AHEAD
            self._width_until = time.monotonic() + _OFTEN
        return self._width

    def submit(self, jobs: Sequence[Job]) -> Future[list[Outcome]]:
        """Hand a task in.

        Raises:
            LostError: the scheduler is gone.

        """
        self._check()
        future: Future[list[Outcome]] = self._executor.submit(task.run_batch, self._recipe, jobs)
        return future

    def _check(self) -> None:
        """Make sure that the scheduler is there; a lost connection gets a while to come back."""
        until = time.monotonic() + _PATIENCE
        while self._client.status == "connecting" and time.monotonic() < until:
            time.sleep(0.1)
        if self._client.status != "running":
            raise LostError

    def end_overdue(self) -> None:
        """Do nothing: the task itself keeps the time."""

    def release(self, future: Future[list[Outcome]]) -> str | None:  # noqa: ARG002 (see Pool)
        """Do nothing: Dask looks after its workers itself."""
        return None

    def close(self, *, now: bool = False) -> None:
        """Leave the cluster as it was."""
        if now:
            self._executor.shutdown(wait=False)
        self._client.close()

    def describe(self, error: BaseException) -> str:
        """Return why a task that ran alone came to nothing."""
        if type(error).__name__ == "KilledWorker":
            return "each worker that took it died (out of memory?)"
        return f"its worker failed: {type(error).__name__}"
