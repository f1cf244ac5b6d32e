"""Ops and messages over all ranks, on real ones: collective.py has the tests."""

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_all_ranks_pass(job, ranks):
    status, out, err = job(ranks, "collective.py")
    assert status == 0, err
    assert out.count("passed") == 9, out
