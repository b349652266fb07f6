r"""A signed list of artifacts: what is not in it is denied.

A file of lines: first ``{"hmac_sha256": "…"}``, the HMAC of all bytes behind that line, in hex;
then one ``{"session", "filename", "sha256"}`` for each artifact. ``tail -n +2 FILE | openssl dgst
-sha256 -hmac "$KEY"`` gives the same.
"""

from __future__ import annotations

import hmac
import re
from typing import TYPE_CHECKING

import msgspec

from compactctl.errors import InputError
from compactctl.jsonl import exact
from compactctl.pointers import is_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactctl.pointers import ArtifactPointer

_SHORTEST_KEY = 16
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = "hmac_sha256"


class Signed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An artifact, by its owner, its name and the hash of its bytes."""

    session: str
    filename: str
    sha256: str


class Manifest:
    """The artifacts that a signature vouches for."""

    def __init__(self, artifacts: Iterable[Signed]) -> None:
        """Take the artifacts; two of one name are possible, one after the other was written."""
        self._artifacts: dict[tuple[str, str], list[str]] = {}
        for one in artifacts:
            self._artifacts.setdefault((one.session, one.filename), []).append(one.sha256)

    def sha256_of(self, pointer: ArtifactPointer) -> str | None:
        """Return the whole hash of an artifact; None if it is not in the manifest."""
        listed = self._artifacts.get((pointer.session, pointer.filename), ())
        return next((sha256 for sha256 in listed if sha256.startswith(pointer.digest)), None)


def read_manifest(lines: Sequence[bytes], key: bytes, name: str) -> Manifest:
    """Read a manifest, once its signature is verified.

    Raises:
        InputError: the key is too short, the signature is not this key's, or a line is no artifact.

    """
    head = exact.object_or_none(lines[0]) if lines else None
    signature = (head or {}).get(_SIGNATURE)
    if not isinstance(signature, str):
        raise InputError(f"no manifest: its first line has no {_SIGNATURE}", file=name)
    body = b"".join(lines[1:])
    if not hmac.compare_digest(signature.encode().lower(), _sign(body, key).encode()):
        raise InputError("the manifest is not signed with this key", file=name)
    return Manifest(_read(raw, name, number) for number, raw in enumerate(lines[1:], 2))


def write_manifest(artifacts: Iterable[Signed], key: bytes) -> bytes:
    """Return a signed manifest.

    Raises:
        InputError: the key is too short.

    """
    body = b"".join(exact.dump(msgspec.to_builtins(one)) + b"\n" for one in artifacts)
    return exact.dump({_SIGNATURE: _sign(body, key)}) + b"\n" + body


def _sign(body: bytes, key: bytes) -> str:
    if len(key) < _SHORTEST_KEY:
        raise InputError(f"the key is shorter than {_SHORTEST_KEY} bytes")
    return hmac.new(key, body, "sha256").hexdigest()


def _read(raw: bytes, name: str, number: int) -> Signed:
    try:
        one = msgspec.json.decode(raw, type=Signed)
    except (msgspec.DecodeError, UnicodeDecodeError):
        one = None
    if one and is_name(one.session) and is_name(one.filename) and _SHA256.fullmatch(one.sha256):
        return one
    raise InputError(
        "not an artifact; expected session, filename and a whole sha256", file=name, line=number
    )
