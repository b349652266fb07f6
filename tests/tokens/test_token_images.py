import struct
from base64 import b64encode, encodebytes, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactctl.model import Image
from compactctl.tokens.headers import JPEG_BYTES
from compactctl.tokens.images import (
    MAX_TOKENS,
    UNKNOWN_TOKENS,
    image_from_data_uri,
    image_size,
    image_tokens,
)

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + b"\x08\x02\0\0\0" * 9
GIF = b"GIF89a" + struct.pack("<HH", 640, 480) + bytes(40)
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", 640 | 1 << 14, 480)
VP8L = b"RIFF\0\0\0\0WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 639 | 479 << 14 | 1 << 28)
VP8X = b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\x7f\x02\0" + b"\xdf\x01\0" + bytes(9)


def segment(marker, body):
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def jpeg(*before, frame=0xC0, width=640, height=480):
    start = segment(frame, struct.pack(">BHH", 8, height, width) + b"\x03" + bytes(9))
    return b"\xff\xd8" + b"".join(before) + start + segment(0xDA, bytes(10)) + bytes(50)


JPEGS = {
    "baseline": jpeg(segment(0xE0, b"JFIF\0" + bytes(9))),
    "progressive": jpeg(segment(0xE1, b"Exif"), frame=0xC2),
    "tables first": jpeg(segment(0xC4, bytes(28)), segment(0xDB, bytes(65))),
    "fill bytes": jpeg(segment(0xE0, b"JFIF\0"), b"\xff\xff\xff"),
    "large profile": jpeg(segment(0xE2, bytes(60_000)), segment(0xE2, bytes(60_000))),
    "thumbnail within": jpeg(segment(0xE1, b"Exif" + jpeg(width=16, height=16))),
}
IMAGES = {"png": PNG, "gif": GIF, "vp8": VP8, "vp8l": VP8L, "vp8x": VP8X, **JPEGS}


@pytest.mark.parametrize("name", IMAGES)
def test_dimensions_come_from_the_header(name):
    data = IMAGES[name]
    expected = Image("image/x", len(data), 640, 480)
    assert image_size("image/x", b64encode(data).decode()) == expected


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("encode", [encodebytes, urlsafe_b64encode])
def test_other_spellings_of_base64_are_read(name, encode):
    spelled = encode(IMAGES[name]).decode()
    for data in (spelled, spelled.replace("=", ""), spelled.replace("\n", "\r\n")):
        assert image_size("", data) == Image("", len(IMAGES[name]), 640, 480)


def test_the_stated_media_type_is_kept_even_when_the_bytes_say_otherwise():
    assert image_size("image/jpeg", b64encode(PNG).decode()).media_type == "image/jpeg"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        PNG[:20],
        GIF[:8],
        VP8[:28],
        VP8L[:22],
        VP8X[:26],
        b"<svg xmlns=",
        b"BM" + bytes(60),
        jpeg()[:8],
        jpeg(b"\0" * 9),
        jpeg(height=0),
        b"\xff\xd8" + segment(0xDA, bytes(10)) + jpeg(),
        b"\xff\xd8\xff\xd9" + bytes(90),
        b"\xff\xd8" + b"\xff" * 99,
        b"\xff\xd8\xff\xe0\0\0" + bytes(90),
    ],
)
def test_a_header_that_does_not_tell_gives_no_dimensions(data):
    assert image_size("x", b64encode(data).decode()) == Image("x", len(data))


def test_a_frame_beyond_the_bound_is_not_looked_for():
    profile = segment(0xE2, bytes(65_000))
    assert image_size("", b64encode(jpeg(*[profile] * 3)).decode()).width == 640
    assert len(profile) * 5 > JPEG_BYTES
    assert image_size("", b64encode(jpeg(*[profile] * 5)).decode()).width == 0


def test_only_the_header_is_decoded_so_that_what_follows_may_be_anything():
    start = b64encode(PNG[:48]).decode()
    assert image_size("", start + "\ud800 not base64 é" * 99).width == 640


@given(data=st.text() | st.text(st.characters()) | st.text("QUJD+/-_=\n "))
def test_garbage_never_raises(data):
    image = image_size("image/png", data)
    assert 0 <= image.size <= len(data)
    assert image_tokens(image) > 0


@given(data=st.binary(max_size=200), magic=st.sampled_from([b"\xff\xd8\xff", PNG[:16], VP8[:16]]))
def test_garbage_behind_a_magic_number_never_raises(data, magic):
    image = image_size("image/jpeg", b64encode(magic + data).decode())
    assert image.size == len(magic + data)
    assert image_tokens(image) > 0


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        (1, 1, 1),
        (28, 28, 1),
        (29, 28, 2),
        (1568, 728, 56 * 26),
        (1092, 1092, 39 * 39),
        (1928, 1928, 69 * 69),
        (1920, 1080, 69 * 39),
        (2576, 1456, 4784),
        (3840, 2160, 4784),
        (20_000, 10, 92),
        (2**32 - 1, 1, 92),
    ],
)
def test_an_image_costs_its_patches_after_scaling_down(width, height, tokens):
    assert image_tokens(Image("image/png", 1, width, height)) == tokens
    assert image_tokens(Image("image/png", 1, height, width)) == tokens


@given(width=st.integers(1, 10_000), height=st.integers(1, 10_000))
def test_no_image_costs_more_than_the_cap_and_no_larger_one_costs_less(width, height):
    tokens = image_tokens(Image("", 1, width, height))
    assert 1 <= tokens <= MAX_TOKENS
    assert tokens <= image_tokens(Image("", 1, width * 2, height * 2))


@pytest.mark.parametrize(("width", "height"), [(0, 0), (0, 9), (9, 0)])
def test_an_image_of_unknown_size_costs_the_stated_default(width, height):
    assert image_tokens(Image("image/png", 10**6, width, height)) == UNKNOWN_TOKENS


@pytest.mark.parametrize("head", ["data:image/png;base64,", "DATA:image/png;x=y;BASE64,"])
def test_a_data_uri_is_an_image(head):
    uri = head + b64encode(PNG).decode()
    assert image_from_data_uri(uri) == Image("image/png", len(PNG), 640, 480)


@pytest.mark.parametrize(
    "uri",
    ["", "data:", "data:,", "data:image/svg+xml,<svg/>", "https://example.com/a.png", "image.png"],
)
def test_any_other_address_is_no_image(uri):
    assert image_from_data_uri(uri) is None
