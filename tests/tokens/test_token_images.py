import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactctl.model import Image
from compactctl.tokens.cost import MAX_TOKENS, UNKNOWN_TOKENS, image_tokens


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
