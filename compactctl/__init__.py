"""Make LLM-agent transcripts small without breaking them."""

from __future__ import annotations

from compactctl._version import __version__

TYPE_CHECKING = False  # as typing has it, whose import would cost every start
if TYPE_CHECKING:
    from compactctl.durable.capture import capture_retrieval_evidence
    from compactctl.durable.lifecycle import transition_pending_item
    from compactctl.durable.records import (
        DurableContextState,
        DurableFact,
        PendingItem,
        RetrievalEvidence,
        SourceResolution,
    )
    from compactctl.durable.render import render_durable_context
    from compactctl.durable.resolver import SourcePointerResolver, resolve_durable_sources
    from compactctl.pointers import parse_source_pointer

__all__ = [
    "DurableContextState",
    "DurableFact",
    "PendingItem",
    "RetrievalEvidence",
    "SourcePointerResolver",
    "SourceResolution",
    "__version__",
    "capture_retrieval_evidence",
    "parse_source_pointer",
    "render_durable_context",
    "resolve_durable_sources",
    "transition_pending_item",
]

_MODULES = {
    "DurableContextState": "durable.records",
    "DurableFact": "durable.records",
    "PendingItem": "durable.records",
    "RetrievalEvidence": "durable.records",
    "SourcePointerResolver": "durable.resolver",
    "SourceResolution": "durable.records",
    "capture_retrieval_evidence": "durable.capture",
    "parse_source_pointer": "pointers",
    "render_durable_context": "durable.render",
    "resolve_durable_sources": "durable.resolver",
    "transition_pending_item": "durable.lifecycle",
}
"""Where each name is. It is imported when it is first asked for: commands start without it."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 (as above)

    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
