"""The shell's side: find the command, run it, turn errors into one line and an exit code."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from compactctl._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

# Imports stand where they are needed: each costs every command its time, --version above all.
# ruff: noqa: PLC0415

_USAGE = 2
_INPUT = 3
_BUG = 70  # EX_SOFTWARE of sysexits.h
_INTERRUPTED = 130
_TERMINATED = 143


def main() -> None:
    """Run ``compactctl`` and leave with its exit code."""
    # What a command makes it needs to the end; looking for cycles doubled the time of reading.
    gc.disable()
    _leave(run(sys.argv[1:]))


def _leave(code: int) -> NoReturn:
    """End at once: to take apart all that was read would cost a large file a tenth of a second."""
    threads = sys.modules.get("threading")
    if threads is None or threads.active_count() == 1:  # others may still have work to do
        atexit._run_exitfuncs()  # noqa: SLF001 (what an ordinary end would run as well)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):  # said before, or closed
                    stream.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return the exit code."""
    from compactctl import console

    console.occupy()
    try:
        return _run(list(arguments))
    except BrokenPipeError:  # the reader has what it wanted (| head)
        console.silence(sys.stdout)
        return 0
    except OSError as error:  # help or the version could not be printed
        console.silence(sys.stdout)
        return _complain(f"standard output cannot be written: {error.strerror}", _INPUT)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except MemoryError:
        return _complain("not enough memory for this input", _INPUT)


def _run(arguments: list[str]) -> int:
    from compactctl.errors import CompactctlError, internal

    if arguments in (["--version"], ["-V"]):
        print(f"compactctl {__version__}", flush=True)  # noqa: T201 (what was asked for)
        return 0
    _clean_up_when_terminated()
    try:
        return _dispatch(arguments)
    except CompactctlError as error:
        return _complain(str(error), error.exit_code)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 (no traceback: its text may hold a transcript's)
        return _complain(f"{internal(error)}; please report it", _BUG)


def _dispatch(arguments: list[str]) -> int:
    import typer

    from compactctl.cli.registry import NAMES

    name = arguments[0] if arguments else ""
    names = [name] if name in NAMES else NAMES
    command = typer.main.get_command(_app(names))
    try:
        # Not command.main(), which ends the process with 1 when the reader of a pipe is gone.
        if name in NAMES:
            context = command.make_context(f"compactctl {name}", arguments[1:])
        else:
            context = command.make_context("compactctl", arguments)
        with context:
            return _invoke(command, context)
    except typer.Exit as leave:  # --help
        return leave.exit_code
    except typer.TyperException as error:
        said = error.format_message().rstrip(".")
        known = f"{name} --help" if name in NAMES else "--help"
        return _complain(f"{said or 'no command'} (see `compactctl {known}`)", _USAGE)


def _invoke(command: Any, context: Any) -> int:
    """Run a command; what the system refused it is no standard output that cannot be written."""
    from compactctl.errors import InputError

    try:
        code: int = command.invoke(context)
    except BrokenPipeError:
        raise
    except OSError as error:
        file = error.filename if isinstance(error.filename, str) else None
        raise InputError(error.strerror or type(error).__name__, file=file) from None
    return code


def _app(names: Sequence[str]) -> typer.Typer:
    """Make the application with only the commands that are needed."""
    import typer

    from compactctl.cli import registry

    app = typer.Typer(
        help="Make LLM-agent transcripts small without breaking them.",
        epilog="compactctl COMMAND --help: options and an example; compactctl --version.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in names:
        registry.load(name).add_to(app, name)
    return app


def _clean_up_when_terminated() -> None:
    """Let SIGTERM unwind the stack, so that no temporary file stays behind."""
    import signal

    def leave(_number: int, _frame: object) -> NoReturn:
        sys.exit(_TERMINATED)

    signal.signal(signal.SIGTERM, leave)


def _complain(text: str, code: int) -> int:
    from compactctl.console import say

    say(f"compactctl: {text}")
    return code
