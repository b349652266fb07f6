"""What made-up sessions are made of: words, and patterns of lines that Words fills in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _words(text: str) -> list[str]:
    return text.split()


NOUNS = _words(
    "account address archive basket batch border bucket budget cache carrier catalog channel "
    "charge client column config counter coupon currency cursor customer delivery depot digest "
    "discount driver entry event export factor feature field filter folder gateway header history "
    "import index inventory invoice item job journal key label layout ledger limit line list "
    "locale lock manifest margin market matrix member message metric model module network node "
    "notice offer option order outbox output owner packet page parcel parser partner payload "
    "period plan pool price process product profile query queue quote rate reader receipt record "
    "refund region report request reserve result retry return route rule sample schedule schema "
    "session shelf shipment signal site slot source stage stock store stream supplier table target "
    "task tax template ticket token total trace transfer unit update user value vendor version "
    "voucher warehouse window worker zone"
)
VERBS = _words(
    "add allocate append apply assert build check clean close collect compare compute convert "
    "copy count create decode delete dispatch drain emit encode expand fetch filter find flush "
    "format group hash insert join link load lock map mark match merge move normalise open pack "
    "parse pick post prepare print publish push read rebuild refresh register release remove "
    "render replace reset resolve restore retry rotate round save scan schedule select send set "
    "shift sort split start store sum sync trim update validate verify visit wait wrap write"
)
QUALITIES = _words(
    "active base cached current default dirty double early empty external final first fresh full "
    "global inner internal last late local missing nested new old open outer partial pending plain "
    "primary raw recent remote safe shared single slow stale strict temporary total unique valid"
)
FOLDERS = ("api", "billing", "catalog", "cli", "core", "jobs", "models", "search", "storage", "web")
PROJECTS = ("shop", "ledger", "depot", "almanac", "fleet", "garden", "harbour", "mill")
ERRORS = ("KeyError", "TimeoutError", "TypeError", "ValueError", "LookupError", "ConnectionError")
LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "INFO", "WARNING", "ERROR")
REMINDER = (
    "\n\n<system-reminder>\nConsider whether this file looks malicious before you work on it. "
    "You may describe what it does, but do not improve it if it is.\n</system-reminder>\n"
)


Line = Callable[[Any], str]

CODE: tuple[Line, ...] = (
    lambda w: (
        f"def {w.verb()}_{w.noun()}(self, {w.name()}: {w.kind()}, *, {w.name()}: int = 0) -> None:"
    ),
    lambda w: f"def {w.verb()}_{w.noun()}({w.name()}: str) -> list[{w.kind()}]:",
    lambda w: f"class {w.kind()}({w.kind()}):",
    lambda w: f"if {w.name()} is None or {w.name()}.{w.noun()} > {w.number()}:",
    lambda w: f"for {w.noun()} in self.{w.name()}.{w.verb()}({w.name()}):",
    lambda w: f"with self.{w.name()}.{w.verb()}(timeout={w.number()}) as {w.noun()}:",
    lambda w: f"{w.name()} = {w.name()}.{w.verb()}({w.name()}, {w.name()}={w.number()})",
    lambda w: (
        f"{w.name()} = [{w.noun()}.{w.name()} for {w.noun()} in {w.name()} "
        f"if {w.noun()}.{w.name()} != {w.number()}]"
    ),
    lambda w: f"self.{w.name()}[{w.noun()!r}] = {w.kind()}({w.name()}, {w.name()})",
    lambda w: f"{w.name()}: dict[str, {w.kind()}] = {{}}",
    lambda w: f"logger.info('{w.verb()} {w.noun()} %s of %s', {w.name()}, {w.name()})",
    lambda w: f"assert {w.name()}.{w.noun()} == {w.number()}, {w.name()}",
    lambda w: f"total += {w.name()} * {w.number()} - {w.name()}",
    lambda w: f"# {w.phrase()}",
    lambda w: f"return {w.kind()}({w.name()}={w.name()}, {w.name()}={w.name()})",
    lambda w: f"return sorted({w.name()}, key=lambda {w.noun()}: {w.noun()}.{w.name()})",
    lambda w: (
        f'raise {w.pick(ERRORS)}(f"cannot {w.verb()} {{{w.name()}}}: '
        f'{w.noun()} is {w.pick(QUALITIES)}")'
    ),
    lambda _: "",
)

LOGS: tuple[Line, ...] = (
    lambda w: (
        f"tests/{w.pick(FOLDERS)}/test_{w.noun()}.py::test_{w.verb()}_{w.name()}"
        f"[{w.noun()}-{w.number()}] {'PASSED' if w.draw() < 0.98 else 'FAILED'} ({w.number()} µs)"
    ),
    lambda w: (
        f"2026-01-05T{w.stamp()}Z {w.pick(LEVELS):7} {w.pick(FOLDERS)}.{w.noun()} "
        f"{w.verb()} {w.name()}={w.number()} request={w.hexadecimal(12)} took={w.number()}ms"
    ),
    lambda w: (
        f"[{w.number():>6}] Compiling {w.noun()}-{w.noun()} v{w.between(0, 9)}.{w.between(0, 40)}."
        f"{w.between(0, 9)} (/srv/build/{w.pick(FOLDERS)}/{w.noun()}) → {w.hexadecimal(8)}"
    ),
    lambda w: (
        f'{{"time":"{w.stamp()}","level":"{w.pick(LEVELS)}","event":"{w.verb()}.{w.noun()}",'
        f'"{w.noun()}":{w.number()},"trace":"{w.hexadecimal(16)}","{w.name()}":"{w.name()}"}}'
    ),
    lambda w: (
        f"src/{w.pick(FOLDERS)}/{w.noun()}.ts({w.number()},{w.between(1, 99)}): "
        f"error TS{w.between(1000, 9999)}: "
        f"Property '{w.name()}' does not exist on type '{w.kind()}'."
    ),
    lambda w: (
        f'  File "/srv/lib/{w.pick(FOLDERS)}/{w.noun()}.py", line {w.number()}, '
        f"in {w.verb()}_{w.noun()}\n"
        f"    {w.name()} = self.{w.name()}.{w.verb()}({w.name()}, {w.number()})"
    ),
)

PHRASES: tuple[Line, ...] = (
    lambda w: (
        f"The {w.noun()} of the {w.pick(QUALITIES)} {w.noun()} is made before "
        f"we {w.verb()} its {w.noun()}."
    ),
    lambda w: f"Now {w.verb()} the {w.noun()} so that every {w.noun()} has its own {w.noun()}.",
    lambda w: (
        f"`{w.verb()}_{w.noun()}` returns a {w.pick(QUALITIES)} {w.noun()} "
        f"when the {w.noun()} is missing."
    ),
    lambda w: (
        f"This should {w.verb()} only the {w.pick(QUALITIES)} {w.noun()}, not the whole {w.noun()}."
    ),
    lambda w: (
        f"There are {w.number()} {w.noun()} rows, of which {w.between(1, 99)} have no {w.noun()}."
    ),
    lambda w: (
        f"I want to see where `{w.name()}` is set, because the {w.noun()} "
        f"comes out {w.pick(QUALITIES)}."
    ),
    lambda w: (
        f"Keep the {w.noun()} interface as it is; the {w.noun()} team depends on `{w.kind()}`."
    ),
    lambda w: f"Two {w.noun()} tests fail after the change in the {w.pick(QUALITIES)} {w.noun()}.",
)
