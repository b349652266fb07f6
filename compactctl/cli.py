"""The shell's side: find the command, run it, turn errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from compactctl._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

_USAGE = 2
_INTERRUPTED = 130


def main() -> None:
    """Run ``compactctl`` and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; give the exit code (CONTRACT §5)."""
    if list(arguments) in (["--version"], ["-V"]):
        print(f"compactctl {__version__}")  # noqa: T201 (what was asked for)
        return 0
    try:
        return _dispatch(arguments)
    except BrokenPipeError:
        # The reader has what it wanted (| head). Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _INTERRUPTED


def _dispatch(arguments: Sequence[str]) -> int:
    import typer  # noqa: PLC0415 (--version does not need it)

    from compactctl.commands import NAMES  # noqa: PLC0415 (the same)
    from compactctl.errors import CompactctlError  # noqa: PLC0415 (the same)

    name = arguments[0] if arguments else "--help"
    try:
        if name in NAMES:
            code = _app([name])(arguments[1:], prog_name=f"compactctl {name}", standalone_mode=False)
        else:
            code = _app(NAMES)(arguments or ["--help"], prog_name="compactctl", standalone_mode=False)
    except CompactctlError as error:
        return _complain(str(error), error.exit_code)
    except typer.Abort:
        return _INTERRUPTED
    # ClickException: typer brings click along, newer releases as a copy of their own.
    except typer.BadParameter.__mro__[2] as error:
        said = error.format_message().rstrip(".")
        return _complain(f"{said} (see `compactctl {_help(arguments)}`)", _USAGE)
    return code if isinstance(code, int) else 0


def _app(names: Sequence[str]) -> Any:
    """Make the application with only the commands that are needed."""
    import typer  # noqa: PLC0415 (--version does not need it)

    from compactctl import commands  # noqa: PLC0415 (the same)

    app = typer.Typer(
        help="Make LLM-agent transcripts small without breaking them.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in names:
        app.command(name)(commands.load(name))
    return app


def _help(arguments: Sequence[str]) -> str:
    from compactctl.commands import NAMES  # noqa: PLC0415 (only needed here)

    return f"{arguments[0]} --help" if arguments and arguments[0] in NAMES else "--help"


def _complain(text: str, code: int) -> int:
    from compactctl.durable.escape import escape_terminal  # noqa: PLC0415 (only needed here)

    print(f"compactctl: {escape_terminal(text)}", file=sys.stderr)  # noqa: T201 (the one handler)
    return code
