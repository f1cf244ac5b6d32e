"""`testing.assert_close` raises where PyTorch's does."""

import pytest

import tinygrad_like as tg

torch = pytest.importorskip("torch")


@pytest.mark.torch
@pytest.mark.parametrize("lib", [tg, torch], ids=["ours", "PyTorch's"])
def test_assert_close(lib):
    close = lib.testing.assert_close
    x = lib.tensor([1.0, float("nan")])
    close(x[:1], x[:1] + 1e-6)
    close(x, x, equal_nan=True)
    close(x[:1], x[:1].double(), check_dtype=False)
    close([1.0, x[0]], [1.0, x[0]])
    close(lib.tensor([1, 2]), lib.tensor([1, 2]))
    for a, b in [(x, x), (x[:1], x[:1] + 1e-4), (x[:1], x[:1].double()), (x[:1], lib.ones(2)), ([x[0]], [x[0], x[0]]),
                 ({"a": x[0]}, {"b": x[0]}), (lib.tensor([1, 2]), lib.tensor([1, 3])), ([x[0]], [x[0] + 1])]:
        with pytest.raises(AssertionError):
            close(a, b)
    close(x[:1], x[:1] + 0.1, rtol=0.0, atol=0.2)
    with pytest.raises(AssertionError, match="mine"):
        close(x, x, msg="mine")
    with pytest.raises(ValueError, match="rtol"):
        close(x, x, rtol=1.0)
    if lib is tg:  # once a test has frozen them, PyTorch's cannot be set
        lib.backends.cudnn.benchmark, before = True, lib.backends.cudnn.benchmark
        lib.backends.cudnn.benchmark = before
