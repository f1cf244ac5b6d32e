"""Windows are NumPy's, and those that are periodic are these of one more number, without the last."""

import numpy as np
import pytest

import tinygrad_like as tg
from tinygrad_like import Tensor

WINDOWS = {"hann_window": np.hanning, "hamming_window": np.hamming, "blackman_window": np.blackman,
           "bartlett_window": np.bartlett, "kaiser_window": lambda n: np.kaiser(n, 12.0)}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_windows(name, n):
    make, expected = getattr(tg, name), WINDOWS[name]
    np.testing.assert_allclose(make(n, False, dtype=tg.float64).numpy(), expected(n), atol=1e-12)
    np.testing.assert_allclose(make(n, dtype=tg.float64).numpy(), expected(n + 1)[:-1], atol=1e-12)
    assert make(n).dtype == np.float32 and make(n, requires_grad=True, device="cpu").requires_grad
    assert make(0).shape == (0,) and make(1).tolist() == make(1, False).tolist() == [1]


def test_options_of_windows():
    np.testing.assert_allclose(tg.kaiser_window(6, False, 3.0).numpy(), np.kaiser(6, 3.0), rtol=1e-6)
    np.testing.assert_allclose(tg.hamming_window(4, True, 0.5, 0.25).numpy(), [0.25, 0.5, 0.75, 0.5], rtol=1e-6)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: tg.hamming_window(-1), ValueError, "hamming_window: window_length=-1 must be an integer >= 0"),
    (lambda: tg.kaiser_window(2.5), ValueError, "kaiser_window: window_length=2.5 must be"),
    (lambda: tg.hann_window(Tensor([2, 3])), ValueError, "hann_window: window_length="),
    (lambda: tg.bartlett_window(3, dtype=tg.int64), TypeError, "bartlett_window: a window has a floating-point dtype"),
    (lambda: tg.blackman_window(3, flat=True), TypeError, "blackman_window: unknown argument 'flat'"),
    (lambda: tg.kaiser_window(3, beta="wide"), (TypeError, ValueError), "kaiser_window: "),
])
def test_bad_windows(call, error, message):
    with pytest.raises(error, match=message):
        call()
