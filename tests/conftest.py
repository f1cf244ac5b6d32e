import pytest

from tinygrad_like import manual_seed


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same random state, whatever ran before it."""
    manual_seed(0)
