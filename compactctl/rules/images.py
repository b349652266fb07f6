"""Images: their type, their size, and how many of them (Anthropic's vision documentation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from compactctl.images import actual_type, split_data_uri
from compactctl.rules.rule import ANTHROPIC, Breach, Rule
from compactctl.view.pairs import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.model import Image, Kind
    from compactctl.rules.context import Found, RuleContext

MEDIA_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
MAX_BASE64 = 5 * 1024 * 1024
"""The limit is on the base64 text: the sizes that error texts print are multiples of four."""
MANY, MOST = 20, 600
MAX_EDGE, MAX_EDGE_OF_MANY = 8000, 2000
MAX_REQUEST = 32 * 1024 * 1024
_SIZED: tuple[Kind, ...] = ("text", "thinking", "call", "image", "document", "other")

RULES = (
    Rule(
        id="IMG-01",
        profiles=ANTHROPIC,
        severity="error",
        says="the media type of an image is not JPEG, PNG, GIF or WebP",
        fix="convert the image, or replace it with a text",
        repaired=True,
        provider={
            "anthropic": "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        },
    ),
    Rule(
        id="IMG-02",
        profiles=ANTHROPIC,
        severity="error",
        says="the bytes of an image do not match its media type",
        fix="correct the media type, or replace the image with a text",
        repaired=True,
        provider={"anthropic": "Image does not match the provided media type"},
    ),
    Rule(
        id="IMG-03",
        profiles=ANTHROPIC,
        severity="error",
        says="an image is larger than 5 MB",
        fix="scale the image down, or replace it with a text",
        repaired=True,
        provider={"anthropic": "image exceeds 5 MB maximum"},
    ),
    Rule(
        id="IMG-04",
        profiles=ANTHROPIC,
        severity="error",
        says="an edge of an image is longer than 2,000 pixels, and there are more than 20 images",
        fix="scale the image down, or replace it or others with texts",
        repaired=True,
        provider={
            "anthropic": "At least one of the image dimensions exceed max allowed size for "
            "many-image requests: 2000 pixels"
        },
    ),
    Rule(
        id="IMG-05",
        profiles=ANTHROPIC,
        severity="error",
        says="an edge of an image is longer than 8,000 pixels",
        fix="scale the image down, or replace it with a text",
        repaired=True,
        provider={
            "anthropic": "At least one of the image dimensions exceed max allowed size: 8000 pixels"
        },
    ),
    Rule(
        id="IMG-06",
        profiles=ANTHROPIC,
        severity="error",
        says="there are more than 600 images",
        fix="replace the older ones with texts",
        repaired=True,
    ),
    Rule(
        id="SIZE-01",
        profiles=ANTHROPIC,
        severity="error",
        only_sendable=True,
        says="the request would be larger than 32 MB",
        fix="make it smaller with `compactctl compact`",
        provider={"anthropic": "Request exceeds the maximum allowed number of bytes"},
    ),
)


def find(context: RuleContext) -> Iterator[Breach]:
    """Judge each image, also those in results."""
    images = sent(context)
    for each in images:
        yield from each.breaches(many=len(images))
    if len(images) > MOST:
        yield Breach("IMG-06", images[MOST].found.place, f"{len(images)} images")
    if context.sendable:
        yield from _request_size(context)


class Sent(NamedTuple):
    """An image in the request itself: its block, and which piece of a result it is.

    ``piece`` is ``ITSELF`` for an image that is a block. ``actual`` is the media type that its
    bytes are of, None where that cannot be told.
    """

    found: Found
    piece: int
    image: Image
    actual: str | None

    def breaches(self, *, many: int) -> Iterator[Breach]:
        """Judge it; ``many`` images are in the request."""
        image, place = self.image, self.found.place
        if image.media_type not in MEDIA_TYPES:
            yield Breach("IMG-01", place, image.media_type or "none")
        elif self.actual not in {None, image.media_type}:
            what = f"{image.media_type}, in fact {self.actual or 'nothing that is known'}"
            yield Breach("IMG-02", place, what)
        encoded = _encoded(image.size)
        if encoded > MAX_BASE64:
            yield Breach("IMG-03", place, f"{encoded:,} bytes of base64")
        edge = max(image.width, image.height)
        pixels = f"{image.width:,} × {image.height:,} pixels"
        if edge > MAX_EDGE:
            yield Breach("IMG-05", place, pixels)
        elif edge > MAX_EDGE_OF_MANY and many > MANY:
            yield Breach("IMG-04", place, f"{pixels}, {many} images")


ITSELF = -1


def sent(context: RuleContext) -> list[Sent]:
    """Return the images of a view; an address tells nothing."""
    images: list[Sent] = []
    for found in (*context.of("image"), *context.of("result")):
        pieces = enumerate((found.block, *found.block.content), ITSELF)
        shown = [(at, p.image) for at, p in pieces if p.image is not None and p.image.size]
        if not shown:
            continue
        actual = [actual_type(data) for data in _base64_in(context.part(found.block))]
        types = actual if len(actual) == len(shown) else [None] * len(shown)
        images += [Sent(found, *each, of) for each, of in zip(shown, types, strict=True)]
    return images


def _base64_in(part: Any) -> Iterator[str]:
    """Find the images in a part of any format, also inside its parts: ``data`` or a data URI."""
    waiting = [part]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list | tuple):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            if isinstance(value.get("data"), str):
                yield value["data"]
            else:
                waiting.extend(reversed(value.values()))
        elif isinstance(value, str) and (found := split_data_uri(value)):
            yield found[1]


def _encoded(size: int) -> int:
    return (size + 2) // 3 * 4


def _request_size(context: RuleContext) -> Iterator[Breach]:
    """Add up what a request holds at the least; its JSON only makes it larger."""
    blocks = [found.block for kind in _SIZED for found in context.of(kind)]
    blocks += [piece for found in context.of("result") for piece in found.block.content]
    size = sum(len(block.text) for block in blocks)
    size += sum(_encoded(block.image.size) for block in blocks if block.image is not None)
    if size > MAX_REQUEST:
        last = len(context.messages) - 1
        end = Place(last, len(context.messages[last].blocks) - 1)
        yield Breach("SIZE-01", end, f"at least {size:,} bytes")
