"""``compact``: the layers in order, until the view is small enough; one transcript or many."""

from __future__ import annotations

import functools
import hashlib
import time
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from compactctl import bulk, layers, report
from compactctl._version import __version__
from compactctl.cli.command import Command, LayerOptions
from compactctl.cli.options import ArtifactsOption, Common, StateOption
from compactctl.cli.reading import check_outputs, read
from compactctl.cli.stage import ProtectOption, finish, is_written, refuse_unused_store
from compactctl.errors import UsageError
from compactctl.files.reading import STANDARD, read_lines
from compactctl.limits import (
    HARD_LIMIT,
    REACTIVE_MESSAGES,
    RESERVE,
    SOFT_LIMIT,
    Compaction,
    compact,
    compact_whole,
    limits,
    reactive,
    refuse_bad_options,
)
from compactctl.pipeline import Result, Step
from compactctl.slim import slim
from compactctl.tokens import Counter, count_view, counter_for_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.bulk.settings import Recipe
    from compactctl.durable.stream import RecordLine
    from compactctl.transcript.loading import Transcript


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    """Options of runs over many files."""

    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Bulk: files at a time. [one a core]")
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Bulk: leave out what the manifest says is done.")
    ] = False
    archive: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Keep the originals in DIR, compressed, for `restore`."),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing; show what it would save.")
    ] = False
    engine: Annotated[
        Literal["local", "dask"],
        typer.Option(help="Bulk: where the work is done, here or on a Dask cluster."),
    ] = "local"
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Bulk: the Dask scheduler, tcp://HOST:PORT."),
    ] = None
    file_timeout: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Bulk: time for one file; 0 is no end.")
    ] = 600.0
    max_memory: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="MB",
            help="Bulk: address space of one local worker; 0 is no bound. "
            "[what the machine has, shared out]",
        ),
    ] = None


_ALSO_FOR_ONE = {"archive", "dry_run", "jobs"}
"""Of these, what one file takes as well: a dry run is a bulk run, and one file is one job."""


_DEFAULT_CHAIN = ",".join(layers.DEFAULT)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Run the layers in order, each only if the view is still too large."""

    file: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Transcript to read; - is standard input. Several, a folder, a pattern or "
            "a URL make a bulk run into the folder -o DIR.",
        ),
    ] = None
    soft_limit: Annotated[
        int | None,
        typer.Option(
            help="Stop at the first layer that brings the view below. "
            f"[default: {SOFT_LIMIT}, or --hard-limit where that is lower]"
        ),
    ] = None
    hard_limit: Annotated[
        int | None,
        typer.Option(
            help=f"Fail (exit 4) if the view is not below after all. [default: {HARD_LIMIT}]"
        ),
    ] = None
    window: Annotated[
        int | None,
        typer.Option(help="Instead of the limits: the model's context window in tokens."),
    ] = None
    reserve: Annotated[
        int | None,
        typer.Option(help=f"Tokens of --window to leave for the answer. [default: {RESERVE}]"),
    ] = None
    reactive: Annotated[
        bool,
        typer.Option(
            "--reactive",
            help="After a provider said that the prompt is too long: keep the newest "
            f"{REACTIVE_MESSAGES} messages, summarize everything else.",
        ),
    ] = False
    slim: Annotated[
        bool,
        typer.Option(
            "--slim",
            help="Also drop what the harness keeps for its own screen (bytes, not tokens).",
        ),
    ] = False
    layers: Annotated[
        str | None,
        typer.Option(metavar="A,B", help=f"The layers to run, in this order. [{_DEFAULT_CHAIN}]"),
    ] = None
    layer_options: LayerOptions
    protect: ProtectOption = None
    artifacts: ArtifactsOption = None
    state: StateOption = None
    common: Common
    bulk: Bulk


def run(options: Options) -> int:
    """Compact one file as a stage, or many as a bulk run."""
    sources = options.file or [STANDARD]
    if bulk.is_wanted(sources, options.common.output, dry_run=options.bulk.dry_run):
        return _many(sources, options)
    _refuse_bulk_options(options.bulk)
    _one(sources[0], options)
    return 0


COMMAND = Command(
    Options,
    run,
    "compactctl compact session.jsonl --soft-limit 60000 -o small.jsonl",
    layers=layers.ORDER,
)


def _compaction(options: Options) -> Compaction:
    """Turn the options into what is done to each transcript.

    Once for all of them: refusing bad options takes as long as a small file.
    """
    if options.reactive and options.layers is not None:
        raise UsageError("--reactive runs summarize alone: give it or --layers")
    chain = layers.DEFAULT if options.layers is None else _chain(options.layers)
    _refuse_unused_options(options, ("summarize",) if options.reactive else chain)
    soft, hard = limits(
        options.soft_limit,
        options.hard_limit,
        options.window,
        options.reserve,
        reactive=options.reactive,
    )
    compaction = Compaction(
        layers=chain,
        options=options.layer_options,
        protect=tuple(options.protect or ()),
        soft_limit=soft,
        hard_limit=hard,
        thinking=options.common.thinking,
        keep_usage=options.common.keep_usage,
        artifacts=options.artifacts,
        archive=options.bulk.archive,
        slim=options.slim,
    )
    if options.reactive:
        compaction = reactive(compaction)
    refuse_bad_options(compaction)
    return compaction


def _refuse_unused_options(options: Options, chain: Sequence[str]) -> None:
    """Refuse options of layers that do not run.

    Raises:
        UsageError: says which layer the option belongs to.

    """
    why = "--reactive does not run" if options.reactive else "--layers leaves out"
    for layer in layers.ORDER:
        for key, (_, _, default) in layers.options(layer).items():
            is_given = options.layer_options[layer][key] not in (default, [])
            name = layers.option_name(key, layer, layers.ORDER).replace("_", "-")
            if is_given and layer not in chain:
                raise UsageError(f"--{name} belongs to {layer}, which {why}")
            if is_given and options.reactive and key == "keep_messages":
                raise UsageError(
                    f"--{name} does not belong to --reactive: it keeps the newest "
                    f"{REACTIVE_MESSAGES} messages"
                )
    refuse_unused_store(chain, options.layer_options, options.artifacts)


def _chain(names: str) -> tuple[str, ...]:
    """Read the names of layers, parted by commas."""
    chain = tuple(name.strip() for name in names.split(",") if name.strip())
    unknown = [name for name in chain if name not in layers.ORDER]
    if unknown or not chain:
        raise UsageError(
            f"--layers: unknown layer {', '.join(unknown) or '(none given)'}; "
            f"choose from {', '.join(layers.ORDER)}"
        )
    return chain


def _many(sources: list[str], options: Options) -> int:
    if options.common.leaf is not None:
        raise UsageError("--leaf names an entry of one file: give one FILE, and -o FILE")
    from compactctl.bulk.settings import Settings  # noqa: PLC0415 (only for bulk runs)

    common, many = options.common, options.bulk
    if options.state is not None:
        raise UsageError(
            "--state is for one file: compact the session that it belongs to by itself"
        )
    settings = Settings(
        _recipe(options),
        jobs=many.jobs,
        resume=many.resume,
        in_place=common.in_place,
        engine=many.engine,
        scheduler=many.scheduler,
        max_memory=many.max_memory,
        quiet=common.quiet,
        verbose=common.verbose,
    )
    return bulk.run(sources, common.output, settings)


def _recipe(options: Options) -> Recipe:
    """Return what workers do to each file. They run elsewhere, so every path is absolute."""
    from compactctl.bulk.settings import Recipe  # noqa: PLC0415 (only for bulk runs)

    common, many = options.common, options.bulk
    archive = many.archive and bulk.absolute(many.archive)
    artifacts = options.artifacts and bulk.absolute(options.artifacts)
    compaction = msgspec.structs.replace(
        _compaction(options),
        artifacts=None if many.dry_run else artifacts,  # a dry run stores nothing
        archive=None if many.dry_run else archive,
    )
    return Recipe(
        work=functools.partial(compact_whole, compaction=compaction),
        tokenizer=common.tokenizer,
        format=common.format,
        archive=archive,
        report=common.report and bulk.absolute(common.report),
        dry_run=many.dry_run,
        timeout=many.file_timeout,
        options=_digest(compaction, artifacts, common),
    )


def _digest(compaction: Compaction, artifacts: str | None, common: Common) -> str:
    """Return a digest of all that an output depends on, and of no more than that."""
    plain = msgspec.structs.replace(compaction, artifacts=artifacts, archive=None)
    every = (__version__, plain, common.tokenizer, common.format)
    return hashlib.sha256(msgspec.json.encode(every, order="sorted")).hexdigest()[:16]


def _refuse_bulk_options(options: Bulk) -> None:
    """Reject for one file what only a run over many looks at."""
    defaults = msgspec.structs.asdict(Bulk())
    for name, value in msgspec.structs.asdict(options).items():
        if name not in _ALSO_FOR_ONE and value != defaults[name]:
            raise UsageError(
                f"--{name.replace('_', '-')} is for many files: name several, a folder, or -o DIR/"
            )


def _one(file: str, options: Options) -> None:
    start = time.monotonic()
    common, archive = options.common, options.bulk.archive
    check_outputs(file, common.output, common.report, in_place=common.in_place)
    compaction = _compaction(options)
    counter = counter_for_one(common.tokenizer)
    found = read(file, common.format, common.leaf)
    carried = _read_state(options.state, found) if options.state else []
    result = compact(found, compaction, counter, dry=not is_written(common))
    slimmed = slim(result) if compaction.slim else None
    total = _total(result, counter, compaction.soft_limit)
    result = slimmed.result if slimmed else result
    result = _carry(result, carried) if carried else result
    if archive and is_written(common):
        bulk.keep_original(archive, file, result)
    finish("compact", result, counter, start, common, total=total)
    if slimmed and not common.quiet:
        report.say(slimmed.line())


def _read_state(state: str, found: Transcript) -> list[RecordLine]:
    """Return the records of a state file that the transcript does not hold yet."""
    from compactctl.durable import stream  # noqa: PLC0415 (only with a state)

    if found.name == state == STANDARD:
        raise UsageError("FILE and --state cannot both be standard input")
    here = stream.read([entry.raw for entry in found.entries], found.name)
    there = stream.read(read_lines(state), state, strict=True)
    stream.state_of(there)  # it has to hold by itself, and with what is there
    added = stream.merge(here, there)
    stream.state_of([*here, *added])
    return added


def _carry(result: Result, records: Sequence[RecordLine]) -> Result:
    """Return the result with records of a state beside its messages."""
    from compactctl.durable import stream  # noqa: PLC0415 (only with a state)

    return msgspec.structs.replace(result, lines=stream.carry(result.written(), records))


def _total(result: Result, counter: Counter, soft_limit: int) -> Step:
    """Sum up all steps as one; say so when the target is out of reach."""
    steps = result.steps
    if not steps:
        tokens, many = count_view(counter, result.messages), len(result.messages)
        note = "already below the soft limit"
        return Step("compact", tokens, tokens, many, many, (), note, None)
    first = [step.first_changed for step in steps if step.first_changed is not None]
    return Step(
        "compact",
        steps[0].tokens_before,
        steps[-1].tokens_after,
        steps[0].messages_before,
        steps[-1].messages_after,
        (),
        f"after {', '.join(step.layer for step in steps)}{_out_of_reach(steps, soft_limit)}",
        min(first, default=None),
    )


def _out_of_reach(steps: list[Step], soft: int) -> str:
    floor = steps[-1].tokens_after
    if soft < 2 or floor < soft:  # noqa: PLR2004 (a limit of 0 or 1 asks for all layers, not for a size)
        return ""
    return f", cannot reach {soft:,}: the floor is {floor:,}"
