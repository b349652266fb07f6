"""Sessions that the tests of bulk runs compact, and what an undisturbed run makes of them."""

import pytest
from helpers import bulk_helpers


@pytest.fixture(scope="session")
def archive(tmp_path_factory):
    """Forty sessions of very different sizes."""
    folder = tmp_path_factory.mktemp("archive")
    bulk_helpers.load_generator().archive(folder, 40, 4)
    return folder


@pytest.fixture(scope="session")
def undisturbed(archive, tmp_path_factory):
    """The hashes of what a run that nothing disturbs makes of the archive."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    done = bulk_helpers.bulk(archive, "-o", out)
    assert done.returncode == 0, done.stderr
    return bulk_helpers.tree(out)
