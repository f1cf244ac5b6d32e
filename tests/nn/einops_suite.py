"""Run einops' own tests on our backend: python tests/nn/einops_suite.py prints the tests in which it took part."""

import os
import sys

import pytest

os.environ["EINOPS_TEST_BACKENDS"] = "numpy,tinygrad_like"

import einops.tests as suite  # noqa: E402

from nn.einops import TinygradLikeBackend  # noqa: E402

collected = suite.collect_test_backends
used: set[str] = set()


class Counted(TinygradLikeBackend):
    def to_numpy(self, x):
        used.add(os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].split()[0])
        return super().to_numpy(x)


def with_ours(symbolic=False, layers=False):
    """They test a fixed list of frameworks, to which this adds ours."""
    return [*collected(symbolic, layers), *([] if symbolic else [Counted()])]


if __name__ == "__main__":
    suite.collect_test_backends = with_ours
    import einops.tests.test_einsum as einsum_tests

    einsum_tests.valid_backends_functional.append("tinygrad_like")
    failed = pytest.main(["-q", "-c", os.devnull, "-p", "no:cacheprovider", "--import-mode=importlib", "--pyargs",
                          "einops.tests"])
    print("ours:", *sorted(used))
    sys.exit(failed)
