"""``state``: write durable records, list them, check them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from compactctl.cli import pending
from compactctl.cli.command import Command
from compactctl.cli.options import InPlaceOption, OutputOption, QuietOption
from compactctl.cli.sources import Sources
from compactctl.console import DRY_RUN, say
from compactctl.durable.confirm import confirmation_time
from compactctl.durable.records import (
    DurableFact,
    DurableRecord,
    PendingItem,
    PendingStatus,
    RetrievalEvidence,
    record_id,
    to_json,
)
from compactctl.durable.statefile import derive_id, faults, read_state
from compactctl.errors import UsageError
from compactctl.files.output import output_path, write_output, write_standard
from compactctl.files.reading import STANDARD, read_lines
from compactctl.jsonl import exact
from compactctl.text import escape_terminal, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

StateRecord = DurableFact | PendingItem | RetrievalEvidence


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """What ``add`` writes into a record."""

    id: Annotated[
        str | None, typer.Option(metavar="ID", help="The id of the record. [made of its content]")
    ] = None
    content: Annotated[
        str | None, typer.Option(metavar="TEXT", help="fact: what was confirmed.")
    ] = None
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="pending: what is to be done.")
    ] = None
    source: Annotated[
        str | None,
        typer.Option(
            metavar="POINTER",
            help="fact, pending: where it was confirmed; looked at if its folder is given.",
        ),
    ] = None
    confirmed_at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="fact, pending: when, with a zone. [the time of the record that --source names]",
        ),
    ] = None
    blocked: Annotated[
        str | None,
        typer.Option(metavar="REASON", help="pending: it is blocked from the start, and why."),
    ] = None
    source_id: Annotated[
        str | None, typer.Option(metavar="ID", help="evidence: where the memory is from.")
    ] = None
    source_type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="evidence: what that is.")
    ] = None
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="evidence: its title.")] = None
    captured_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="evidence: when it was found, with a zone.")
    ] = None
    score: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="evidence: from 0 to 1.")
    ] = None
    rank: Annotated[
        int | None, typer.Option(metavar="N", help="evidence: its place among the hits, from 1.")
    ] = None
    conflict_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="evidence: the conflict that it won.")
    ] = None


class Options(msgspec.Struct, frozen=True, kw_only=True):
    r"""Write durable records, list them, or check a file of them.

    \b
    state add fact|pending|evidence [STATE]   the record; with STATE all of it and the record
    state list STATE                          the records as they are now
    state check STATE...                      all that is wrong in it; exit 1 if anything is
    state --schema                            the JSON schema of the records

    One JSON object a line; times are ISO-8601 with a zone; POINTER is transcript:SESSION:N or
    artifact:SESSION:FILE:SHA256:

    \b
    {"type":"compactctl.fact", "fact_id", "content", "source_pointer", "last_confirmed_at"}
    {"type":"compactctl.pending_item", "item_id", "description", "source_pointer",
     "last_confirmed_at", "status": "open|blocked|done", "reason": of a blocked item, else null}
    {"type":"compactctl.retrieval_evidence", "memory_id", "source_id", "source_type",
     "source_title", "captured_at", "score": 0 to 1, "source_rank": from 1, "conflict_key": or null}
    """

    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="add|list|check [KIND] [STATE]...", help="What to do, and to what."),
    ] = None
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of the records.")
    ] = False
    fields: Fields
    sources: Sources
    json: Annotated[
        bool, typer.Option("--json", help="list, check: one JSON object a record or fault.")
    ] = False
    output: OutputOption = None
    in_place: InPlaceOption = False
    quiet: QuietOption = False


def run(options: Options) -> int:
    """Do what the first word says."""
    if options.schema:
        kinds: Any = DurableFact | PendingItem | RetrievalEvidence
        write_standard(
            [msgspec.json.format(msgspec.json.encode(msgspec.json.schema(kinds))), b"\n"]
        )
        return 0
    action, *rest = options.words or [""]
    if action == "add":
        return _add(rest, options)
    if action not in _READ:
        raise UsageError("state: say add, list, check or --schema (see `compactctl state --help`)")
    if options.fields != Fields() or options.in_place:
        raise UsageError(f"{action} only reads; leave out --in-place and what add writes")
    return _READ[action](rest, options)


COMMAND = Command(
    Options,
    run,
    'compactctl state add fact --content "Signatures in money.py stay." '
    "--source transcript:shop-0217:8 --transcripts sessions >> state.jsonl",
)


def _add(words: list[str], options: Options) -> int:
    kind, state = (words + [""] * 2)[:2]
    if kind not in _MAKE or len(words) > 2:  # noqa: PLR2004 (KIND and STATE)
        raise UsageError("state add takes fact, pending or evidence, and one STATE at most")
    if options.in_place and not state:
        raise UsageError("--in-place needs the STATE to write to")
    output_path(options.output, state, in_place=options.in_place)
    record = _make(kind, options)
    if state:
        file = read_state(read_lines(state), state)
        chunks, lines = file.with_record(record), file.lines
    else:
        chunks, lines = [exact.dump(to_json(record)) + b"\n"], None
    output = options.output or (None if state else STANDARD)
    done = write_output(chunks, output, state, in_place=options.in_place, original=lines)
    if not options.quiet:
        say(f"state: added {kind} {record_id(record)}")
        if not done:
            say(DRY_RUN)
    return 0


def _make(kind: str, options: Options) -> DurableRecord:
    """Make the record of the options, and let none go unused."""
    takes, make = _MAKE[kind]
    given = {name for name in Fields.__struct_fields__ if getattr(options.fields, name) is not None}
    unused = sorted(given - takes - {"id"})
    if unused:
        raise UsageError(f"{_option(unused[0])} is not for {kind}")
    return make(options.fields, options.sources)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _needed(fields: Fields, kind: str, *names: str) -> list[Any]:
    """Return the values of options without which there is no record."""
    missing = [_option(name) for name in names if getattr(fields, name) is None]
    if missing:
        raise UsageError(f"{kind} needs {', '.join(missing)}")
    return [getattr(fields, name) for name in names]


def _fact(fields: Fields, sources: Sources) -> DurableFact:
    content, pointer = _needed(fields, "fact", "content", "source")
    time = confirmation_time(pointer, sources.resolver(), fields.confirmed_at)
    name = derive_id("fact", content) if fields.id is None else fields.id
    return DurableFact(name, content, pointer, time)


def _pending(fields: Fields, sources: Sources) -> PendingItem:
    description, pointer = _needed(fields, "pending", "description", "source")
    time = confirmation_time(pointer, sources.resolver(), fields.confirmed_at)
    name = derive_id("item", description) if fields.id is None else fields.id
    status: PendingStatus = "open" if fields.blocked is None else "blocked"
    return PendingItem(name, description, pointer, time, status, fields.blocked)


def _evidence(fields: Fields, _: Sources) -> RetrievalEvidence:
    names = ("source_id", "source_type", "title", "captured_at", "score", "rank")
    source, kind, title, captured_at, score, rank = _needed(fields, "evidence", *names)
    name = derive_id("memory", kind, source) if fields.id is None else fields.id
    key = fields.conflict_key
    return RetrievalEvidence(name, source, kind, title, captured_at, score, rank, key)


_MAKE: dict[str, tuple[set[str], Callable[[Fields, Sources], DurableRecord]]] = {
    "fact": ({"content", "source", "confirmed_at"}, _fact),
    "pending": ({"description", "source", "confirmed_at", "blocked"}, _pending),
    "evidence": (
        {"source_id", "source_type", "title", "captured_at", "score", "rank", "conflict_key"},
        _evidence,
    ),
}


def _list(words: list[str], options: Options) -> int:
    if len(words) != 1:
        raise UsageError("state list takes one STATE")
    state = read_state(read_lines(words[0]), words[0]).state
    facts: Iterable[StateRecord] = state.facts
    rows = [*facts, *state.pending_items, *state.retrieval_evidence]
    if options.json:
        pending.write_rows([exact.dump(to_json(record)) for record in rows], options.output)
    else:
        pending.write_rows([_line(record).encode() for record in rows], options.output)
    return 0


def _line(record: StateRecord) -> str:
    """Return a record on one line, for people."""
    if isinstance(record, PendingItem):
        return pending.line(record)
    if isinstance(record, DurableFact):
        text = f"{'fact':<8}  {record.fact_id}  {record.content}"
        return escape_terminal(f"{text}  [{record.source_pointer}, {record.last_confirmed_at}]")
    text = f"evidence  {record.memory_id}  {record.source_title}  [{record.source_type} "
    return escape_terminal(f"{text}{record.source_id}, {record.captured_at}]")


def _check(words: list[str], options: Options) -> int:
    if not words:
        raise UsageError("state check needs a STATE")
    found = [error for word in words for error in faults(read_lines(word), word)]
    if options.json:
        rows = ({"file": error.file, "line": error.line, "text": error.what} for error in found)
        pending.write_rows(map(exact.dump, rows), options.output)
    else:
        for error in found:
            say(str(error))
    if not options.quiet:
        said = plural(len(found), "fault") if found else "no faults"
        say(f"state: {plural(len(words), 'file')}, {said}")
    return 1 if found else 0


_READ = {"list": _list, "check": _check}
