"""The options of ``compact`` that only bulk runs have."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

OPTIONS: dict[str, tuple[Any, Any]] = {
    "jobs": (
        Annotated[
            int | None,
            typer.Option(min=1, metavar="N", help="Bulk: files at a time. [one a core]"),
        ],
        None,
    ),
    "resume": (
        Annotated[
            bool,
            typer.Option("--resume", help="Bulk: leave out what the manifest says is done."),
        ],
        False,
    ),
    "archive": (
        Annotated[
            str | None,
            typer.Option(
                metavar="DIR", help="Keep the originals in DIR, compressed, for `restore`."
            ),
        ],
        None,
    ),
    "dry_run": (
        Annotated[bool, typer.Option("--dry-run", help="Write nothing; show what it would save.")],
        False,
    ),
    "engine": (
        Annotated[
            Literal["local", "dask"],
            typer.Option(help="Bulk: where the work is done, here or on a Dask cluster."),
        ],
        "local",
    ),
    "scheduler": (
        Annotated[
            str | None,
            typer.Option(metavar="ADDRESS", help="Bulk: the Dask scheduler, tcp://HOST:PORT."),
        ],
        None,
    ),
    "file_timeout": (
        Annotated[
            float,
            typer.Option(min=0, metavar="SECONDS", help="Bulk: time for one file; 0 is no end."),
        ],
        600.0,
    ),
    "max_memory": (
        Annotated[
            int | None,
            typer.Option(
                min=0,
                metavar="MB",
                help="Bulk: address space of one local worker; 0 is no bound. "
                "[what the machine has, shared out]",
            ),
        ],
        None,
    ),
}
"""What ``compact`` takes for bulk runs: name to (typer type, default)."""

ALSO_FOR_ONE = ("archive", "dry_run", "jobs")
"""Of these, what one file takes as well: a dry run is a bulk run, and one file is one job."""
