"""``pending``: what is still to be done, by a state file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
import typer

from compactctl.cli.command import Command
from compactctl.cli.options import InPlaceOption, OutputOption, QuietOption
from compactctl.cli.sources import Sources
from compactctl.console import DRY_RUN, say
from compactctl.durable.confirm import confirmation_time
from compactctl.durable.lifecycle import transition_pending_item
from compactctl.durable.records import to_json
from compactctl.durable.statefile import StateFile, read_state
from compactctl.errors import InvalidTranscriptError, UsageError
from compactctl.files.output import output_path, write_json, write_output
from compactctl.files.reading import read_lines
from compactctl.jsonl import exact
from compactctl.text import escape_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.durable.records import PendingItem, PendingStatus

Action = Literal["list", "block", "done", "reopen"]

_STATUS: Final[dict[Action, PendingStatus]] = {"block": "blocked", "done": "done", "reopen": "open"}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """List the pending items of a state file, or record that one is blocked, done or open again.

    block needs --reason and --source, done needs --source; done is final. --source names where it
    was confirmed, which is later than the last time. The record before stays in the file.
    """

    state: Annotated[str, typer.Argument(metavar="STATE", help="A file of durable records.")]
    action: Annotated[
        Action, typer.Argument(metavar="list|block|done|reopen", help="What to do.")
    ] = "list"
    item: Annotated[str | None, typer.Argument(metavar="[ID]", help="The item; not for list.")] = (
        None
    )
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why it is blocked.")] = None
    source: Annotated[
        str | None, typer.Option(metavar="POINTER", help="Where this was confirmed.")
    ] = None
    confirmed_at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="When, with a zone. [the time of the record that --source names]"
        ),
    ] = None
    sources: Sources
    json: Annotated[bool, typer.Option("--json", help="list: one JSON object an item.")] = False
    output: OutputOption = None
    in_place: InPlaceOption = False
    quiet: QuietOption = False


def run(options: Options) -> int:
    """List the items, or write the state with one step more."""
    if options.action == "list":
        if options.item is not None or options.in_place:
            raise UsageError("list takes a state file only; leave out ID and --in-place")
        _list(options)
        return 0
    if options.item is None:
        raise UsageError(f"{options.action} needs the ID of an item; `list` shows them")
    if options.json:
        raise UsageError("--json is for list")
    output_path(options.output, options.state, in_place=options.in_place)
    file = _read(options)
    before = _find(file, options.item)
    after = _step(before, options)
    done = write_output(
        file.with_record(after),
        options.output,
        options.state,
        in_place=options.in_place,
        original=file.lines,
    )
    if not options.quiet:
        say(f"pending: {after.item_id}: {before.status} → {after.status}")
        if not done:
            say(DRY_RUN)
    return 0


COMMAND = Command(
    Options,
    run,
    "compactctl pending state.jsonl done fix-invoice --source transcript:shop-0218:6 "
    "--transcripts sessions --in-place",
)


def _read(options: Options) -> StateFile:
    return read_state(read_lines(options.state), options.state)


def _list(options: Options) -> None:
    items = _read(options).state.pending_items
    if options.json:
        write_rows([exact.dump(to_json(item)) for item in items], options.output)
    else:
        write_rows([line(item).encode() for item in items], options.output)


def write_rows(rows: Iterable[bytes], output: str | None) -> None:
    """Write lines that were asked for, to a terminal too."""
    chunks = [row + b"\n" for row in rows]
    if output is None:
        write_json(chunks)
    else:
        write_output(chunks, output, "", in_place=False)


def line(item: PendingItem) -> str:
    """Return an item on one line, for people."""
    reason = f" ({item.reason})" if item.reason is not None else ""
    text = f"{item.status:<7}  {item.item_id}  {item.description}{reason}"
    return escape_terminal(f"{text}  [{item.source_pointer}, {item.last_confirmed_at}]")


def _find(file: StateFile, item_id: str) -> PendingItem:
    for item in file.state.pending_items:
        if item.item_id == item_id:
            return item
    raise InvalidTranscriptError(f"no pending item {item_id}; `list` shows them", file=file.name)


def _step(item: PendingItem, options: Options) -> PendingItem:
    status = _STATUS[options.action]
    if options.source is None and status != "open":
        raise UsageError(f"{options.action} needs --source, where it was confirmed")
    if status == "blocked" and options.reason is None:
        raise UsageError("block needs --reason")
    resolver = options.sources.resolver(options.state, options.output)
    if options.source is not None:
        time = confirmation_time(options.source, resolver, options.confirmed_at)
    elif options.confirmed_at is not None:
        time = options.confirmed_at
    else:
        raise UsageError("reopen needs --confirmed-at, or --source with --transcripts")
    return transition_pending_item(
        item,
        status,
        last_confirmed_at=time,
        source_pointer=options.source,
        reason=options.reason,
    )
