"""What the tests at the shell have in common."""

import pytest
from helpers.shell import LONG


@pytest.fixture
def source(tmp_path):
    """A transcript with something for every layer."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(LONG)
    return path
