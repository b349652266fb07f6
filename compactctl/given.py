"""From what a command line gave to what the layers are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl import layers
from compactctl.files.output import is_terminal
from compactctl.pipeline import Keep
from compactctl.transcript import loading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def options_of(
    names: Sequence[str], given: Mapping[str, Any], among: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Pick the options of each layer out of all that were given for the layers ``among``."""
    return {
        name: {key: given[layers.option_name(key, name, among)] for key in layers.options(name)}
        for name in names
    }


def keep_of(found: loading.Transcript, given: Mapping[str, Any]) -> Keep:
    """Give the places that the command line named for what is taken out."""
    dry = given["output"] is None and not given["in_place"] and is_terminal()
    artifacts, archive = given.get("artifacts"), given.get("archive")
    if not (artifacts or archive):
        return Keep()
    from compactctl.durable.artifacts import ArtifactStore  # noqa: PLC0415 (only with a store)

    session = loading.session(found)
    return Keep(
        ArtifactStore(artifacts, session, dry=dry).put if artifacts else None,
        ArtifactStore(archive, session, dry=dry).put_bytes if archive else None,
    )
