"""What a format is: one class that names every member the rest of the program uses.

A module (or package) of ``compactctl.formats`` holds one subclass of :class:`Format` and ends with
``FORMAT``, its only instance. What a format does not define has its default here. A format knows
lines and blocks; it knows nothing of layers, rules or files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from compactctl.graph import EntryGraph
    from compactctl.model import Block, Role
    from compactctl.view.builder import Assembler


class Record(msgspec.Struct, gc=False):
    """One line as far as the view needs it; any other member is skipped unread.

    A subclass has a field for each member that it reads and for those named in ``links`` and
    ``sequence``.
    """

    type: Any = None


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """The members by which lines refer to each other."""

    own: str
    """The id of a line."""
    parent: str
    """The id of the line that it follows."""
    also: tuple[str, ...] = ()
    """Further members that hold the id of a line."""
    keeps: str | None = None
    """The member in which a line names earlier lines that it keeps (see :meth:`Format.relink`)."""
    follows: bool = False
    """The view is the last line and its ancestors, so it never shows a line that is cut off."""


class Link(NamedTuple):
    """The ids of a new line: its own, and that of the line that it follows."""

    own: str
    parent: str | None


class Format(ABC):
    """How the lines of one kind of transcript are read and written.

    What its lines are parsed to is a ``dict``; what :meth:`read` gets are the typed records. A
    part is whatever the format takes one block of a line from: a JSON value, or a type of its own.
    """

    name: str
    """As ``--format`` takes it: the name of the module, with ``-`` for ``_``."""
    description: str
    """One line for people."""
    profile: str
    """The profile that ``validate`` judges it by."""
    record: type[Record]
    """The typed form of one line."""

    bare: bool = False
    """A line is a message as the provider takes it, without an envelope of an agent around it.

    It is recognised only where no format with an envelope knows the line, and rules about messages
    that leave nothing in the view are judged by the lines.
    """
    line_is_message: bool = False
    """A line is a whole message, so what a layer adds to a message goes into a line of it."""
    joins_answers: bool = False
    """Assistant pieces side by side are one message."""
    rewrites_ids: bool = False
    """When the agent sends calls, it gives them ids that the provider takes."""
    flags_failures: bool = True
    """A flag says that a call failed; where none does, an error may look like any other result."""
    answers_open_calls: bool = False
    """When the agent sends, it answers calls without a result itself."""

    links: Links | None = None
    known_types: frozenset[str] = frozenset()
    """The types of its lines; ``validate`` reports others. Empty if any type is fine."""
    sequence: str | None = None
    """The member that numbers the lines."""
    ordinal: str | None = None
    """The member that numbers the lines of an agent that reads no file whose last line lacks it."""
    ours_stand_inside: bool = False
    """The agent reads no file that begins or ends with a line of this tool."""
    boundary: str | None = None
    """The type of lines that cut off what precedes them; they stay when all their blocks went."""
    content_members: tuple[str, ...] = ()
    """All members that :meth:`replace_parts` changes; others may be large and stay unparsed."""
    usage_keys: tuple[bytes, ...] = ()
    """Bytes of which a line for :meth:`usage` holds at least one; none if no line has a usage."""
    usage_is_apart: bool = False
    """Usage has lines of its own, and the last of the file counts; else answers of the view do."""
    slim_keys: tuple[bytes, ...] = ()
    """Bytes of which a line for :meth:`slim` holds at least one; none if there is nothing to."""

    # Recognise and read.

    @abstractmethod
    def recognises(self, record: dict[str, Any]) -> bool:
        """Return True if a line is of this format."""

    def claims(self, raw: bytes) -> bool:
        """Return True if a line decides for this format where another knows as many lines."""
        return False

    @abstractmethod
    def read(self, records: Iterable[tuple[int, Any]], builder: Assembler) -> None:
        """Put the records, of the type ``record`` and with their indices, into the view."""

    # Change and write lines.

    @abstractmethod
    def parts(self, record: dict[str, Any]) -> list[Any]:
        """Return the parts of a line, in the order that ``Block.at`` counts."""

    @abstractmethod
    def replace_parts(self, record: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
        """Return the line with other parts; every other member stays."""

    @abstractmethod
    def edit(self, part: Any, block: Block) -> Any:
        """Return the part with what ``block`` says now; every other member stays."""

    @abstractmethod
    def make(self, block: Block) -> Any:
        """Return the part for a block that no line holds yet."""

    @abstractmethod
    def create(
        self, role: Role, blocks: list[Block], like: dict[str, Any], link: Link
    ) -> list[dict[str, Any]]:
        """Return new lines for blocks of one role, with the envelope of their neighbour ``like``.

        ``link`` holds the ids of the first of them, if lines have ids.
        """

    def unseen_parts(self, record: dict[str, Any], shown: Collection[int]) -> list[Any]:
        """Return parts that an edit of the line must keep though none of them is in the view.

        ``shown`` holds the indices of those that are.
        """
        return []

    def answer_type(self, record: dict[str, Any], call: Block) -> str:
        """Return the ``type`` of a new result for a call in this line, where results have types."""
        return ""

    # Lines that cut off or take back what precedes them.

    def opens_view(self, record: dict[str, Any]) -> bool:
        """Return True if the view starts inside this ``boundary``.

        What a layer puts in front of it then goes into it.
        """
        return False

    def limit_rollback(self, record: dict[str, Any], turns: int) -> dict[str, Any]:
        """Return a line that takes back more turns than there are, taking back just ``turns``.

        Asked only for the lines that :meth:`read` noted in ``Assembler.overreach``.
        """
        raise NotImplementedError

    # Ids, where there are links.

    def new_id(self, digest: str) -> str:
        """Return an id for a new line, made from a digest of its content."""
        return digest

    def relink(self, record: dict[str, Any], graph: EntryGraph) -> dict[str, Any]:
        """Return a line with ``links.keeps`` naming what is left of the lines it kept."""
        return record

    def is_prompt(self, record: Any) -> bool:
        """Return True if a record is what a person asked: two under one parent are a rewind."""
        return False

    # What lines tell beside the conversation.

    def session(self, record: dict[str, Any]) -> str | None:
        """Return the name of the session, if the line tells it."""
        return None

    def usage(self, record: dict[str, Any]) -> tuple[Any, int] | None:
        """Return (message, context size in tokens) if the line records what a call was sent.

        Of several lines with one message the last counts.
        """
        return None

    def with_usage(self, record: dict[str, Any], size: int) -> dict[str, Any]:
        """Return a line that has a usage with another context size, which is at least 1."""
        return record

    def slim(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """Return the line without copies that only a screen shows; None if it is nothing else.

        A line without such copies is returned itself.
        """
        return record


def string(value: Any) -> str:
    """Return a member of a line that should be a string, "" if it is none."""
    return value if isinstance(value, str) else ""


def identifier(value: Any) -> str | None:
    """Return a member that should be an id, None if it is none: rules report a missing id."""
    return value if isinstance(value, str) else None
