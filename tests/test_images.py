import struct
from base64 import b64encode, encodebytes, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactctl.images import JPEG_BYTES, actual_type, read_data_uri, read_image
from compactctl.model import Image

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
    assert read_image("image/x", b64encode(data).decode()) == expected


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("encode", [encodebytes, urlsafe_b64encode])
def test_other_spellings_of_base64_are_read(name, encode):
    spelled = encode(IMAGES[name]).decode()
    for data in (spelled, spelled.replace("=", ""), spelled.replace("\n", "\r\n")):
        assert read_image("", data) == Image("", len(IMAGES[name]), 640, 480)


def test_the_stated_media_type_is_kept_even_when_the_bytes_say_otherwise():
    assert read_image("image/jpeg", b64encode(PNG).decode()).media_type == "image/jpeg"


def test_the_type_is_told_by_the_bytes():
    types = {name: actual_type(b64encode(data).decode()) for name, data in IMAGES.items()}
    webp = dict.fromkeys(["vp8", "vp8l", "vp8x"], "image/webp")
    assert types == dict.fromkeys(JPEGS, "image/jpeg") | webp | {
        "png": "image/png",
        "gif": "image/gif",
    }


@pytest.mark.parametrize(
    "data", ["", "=", "é", "REDACTED", b64encode(b"<svg xmlns=").decode(), "UklGRgAAAABBVkkg"]
)
def test_other_bytes_are_of_no_type(data):
    assert actual_type(data) == ""


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
    assert read_image("x", b64encode(data).decode()) == Image("x", len(data))


def test_a_frame_beyond_the_bound_is_not_looked_for():
    profile = segment(0xE2, bytes(65_000))
    assert read_image("", b64encode(jpeg(*[profile] * 3)).decode()).width == 640
    assert len(profile) * 5 > JPEG_BYTES
    assert read_image("", b64encode(jpeg(*[profile] * 5)).decode()).width == 0


def test_only_the_header_is_decoded_so_that_what_follows_may_be_anything():
    start = b64encode(PNG[:48]).decode()
    assert read_image("", start + "\ud800 not base64 é" * 99).width == 640


@given(data=st.text() | st.text(st.characters()) | st.text("QUJD+/-_=\n "))
def test_garbage_never_raises(data):
    image = read_image("image/png", data)
    assert 0 <= image.size <= len(data)


@given(data=st.binary(max_size=200), magic=st.sampled_from([b"\xff\xd8\xff", PNG[:16], VP8[:16]]))
def test_garbage_behind_a_magic_number_never_raises(data, magic):
    image = read_image("image/jpeg", b64encode(magic + data).decode())
    assert image.size == len(magic + data)


@pytest.mark.parametrize("head", ["data:image/png;base64,", "DATA:image/png;x=y;BASE64,"])
def test_a_data_uri_is_an_image(head):
    uri = head + b64encode(PNG).decode()
    assert read_data_uri(uri) == Image("image/png", len(PNG), 640, 480)


@pytest.mark.parametrize(
    "uri",
    ["", "data:", "data:,", "data:image/svg+xml,<svg/>", "https://example.com/a.png", "image.png"],
)
def test_any_other_address_is_no_image(uri):
    assert read_data_uri(uri) is None
