"""Images: their dimensions, read from base64, and what they cost. No pixel is ever decoded."""

from __future__ import annotations

from binascii import a2b_base64
from bisect import bisect_right

from compactctl.model import Image
from compactctl.tokens.headers import HEADER_BYTES, JPEG_BYTES, dimensions, is_jpeg

PATCH = 28
"""Edge in pixels of the square that costs one token."""

MAX_EDGE = 2576
MAX_TOKENS = 4784
"""What a larger image is scaled down to."""

UNKNOWN_TOKENS = 1568
"""For an image of unknown size: the most one costs models without high resolution."""

# Whitespace and padding carry no bytes; "-" and "_" are the URL-safe spelling of "+" and "/".
_BARE = str.maketrans(
    {"\r": None, "\n": None, "\t": None, " ": None, "=": None, "-": "+", "_": "/"}
)


def image_size(media_type: str, data_b64: str) -> Image:
    """Describe a base64 image by its header: PNG, JPEG, GIF or WebP, told by magic bytes.

    ``media_type`` is passed on as stated. ``size`` is the length in bytes that the base64 stands
    for. Dimensions are pixels, 0 by 0 for other formats, damaged headers and JPEGs whose
    dimensions are not in the first 256 KiB. Never raises.
    """
    head = _first_bytes(data_b64, HEADER_BYTES)
    if is_jpeg(head):
        head = _first_bytes(data_b64, JPEG_BYTES)
    width, height = dimensions(head)
    return Image(media_type, _decoded_size(data_b64), width, height)


def image_from_data_uri(uri: str) -> Image | None:
    """Describe the image in a ``data:`` URI of base64; None for every other address."""
    if uri[:5].lower() != "data:":
        return None
    header, _, data = uri.partition(",")
    media_type, *parameters = header[5:].split(";")
    if not parameters or parameters[-1].strip().lower() != "base64":
        return None
    return image_size(media_type.strip(), data)


def image_tokens(image: Image) -> int:
    """Give what ``image`` costs, by the formula of Anthropic's vision documentation.

    One token for each patch of 28 by 28 pixels, after the image is scaled down until its edges,
    padded to whole patches, are at most 2,576 pixels and its patches at most 4,784 (the limits of
    high resolution, so the count errs on the safe side elsewhere). An image of unknown size costs
    ``UNKNOWN_TOKENS``.
    """
    short, long = sorted((image.width, image.height))
    if short < 1:
        return UNKNOWN_TOKENS

    def patches(edge: int) -> int:
        return -(-edge // PATCH) * -(-max(1, round(short * edge / long)) // PATCH)

    edges = range(1, min(long, MAX_EDGE) + 1)
    return patches(bisect_right(edges, MAX_TOKENS, key=patches))


def _first_bytes(data: str, length: int) -> bytes:
    """Decode at most the first ``length`` bytes; b"" where that is not base64."""
    bare = data[: length // 3 * 4].translate(_BARE)
    if len(bare) % 4 == 1:
        bare = bare[:-1]
    try:
        return a2b_base64(bare + "=" * (-len(bare) % 4))
    except ValueError:
        return b""


def _decoded_size(data: str) -> int:
    return (len(data) - sum(map(data.count, "\r\n\t ="))) * 3 // 4
