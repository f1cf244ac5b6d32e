import math

import numpy as np
import pytest

from nn import Parameter, init
from tinygrad_like import Tensor, manual_seed


def values(fill, shape=(200, 300), dtype=np.float32):
    t = Parameter(np.full(shape, np.nan, dtype))
    assert fill(t) is t, "the Tensor is returned"
    assert t.dtype == dtype and t.version[0] > 0, "changed in place, with a new version"
    return t.detach().numpy()


def test_constants_fill_the_tensor():
    assert (values(init.zeros_) == 0).all() and (values(init.ones_) == 1).all()
    assert (values(lambda t: init.constant_(t, 2.5)) == 2.5).all()
    np.testing.assert_array_equal(values(init.eye_, (2, 3)), [[1, 0, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match=r"eye_: needs a matrix, got shape \(3,\)"):
        init.eye_(Tensor.zeros(3))


def test_the_same_seed_gives_the_same_values():
    manual_seed(7)
    a = values(init.normal_)
    manual_seed(7)
    np.testing.assert_array_equal(a, values(init.normal_))
    assert values(init.uniform_, dtype=np.float64).dtype == np.float64


def test_uniform_and_normal_have_their_moments():
    u = values(lambda t: init.uniform_(t, -1, 3))
    assert u.min() >= -1 and u.max() < 3
    assert abs(u.mean() - 1) < 0.02 and abs(u.std() - 4 / math.sqrt(12)) < 0.02
    n = values(lambda t: init.normal_(t, 1, 2))
    assert abs(n.mean() - 1) < 0.03 and abs(n.std() - 2) < 0.03


def test_trunc_normal_has_its_limits_and_moments():
    n = values(lambda t: init.trunc_normal_(t, std=0.5, a=-0.5, b=1.0))
    assert n.min() >= -0.5 and n.max() <= 1.0 and n.min() < -0.49 and n.max() > 0.99
    # The moments of a standard normal cut to [alpha, beta] = [-1, 2].
    def phi(x):
        return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    mass = (math.erf(2 / math.sqrt(2)) + math.erf(1 / math.sqrt(2))) / 2
    mean = (phi(-1) - phi(2)) / mass
    var = 1 + (-1 * phi(-1) - 2 * phi(2)) / mass - mean**2
    assert abs(n.mean() - 0.5 * mean) < 0.01 and abs(n.std() - 0.5 * math.sqrt(var)) < 0.01
    with pytest.raises(ValueError, match=r"\[5, 6\] holds 0.00% of the normal with mean 0.0 and std 1.0"):
        init.trunc_normal_(Tensor.zeros(3), a=5, b=6)


def test_fan_in_and_fan_out_count_the_receptive_field():
    assert init.fan_in_and_fan_out(Tensor.zeros(5, 7)) == (7, 5)
    assert init.fan_in_and_fan_out(Tensor.zeros(8, 4, 3, 3)) == (36, 72)
    with pytest.raises(ValueError, match=r"at least 2 axes, got shape \(5,\)"):
        init.fan_in_and_fan_out(Tensor.zeros(5))


@pytest.mark.parametrize(("fill", "variance"), [
    (init.xavier_uniform_, 2 / 500), (init.xavier_normal_, 2 / 500),
    (lambda t: init.xavier_uniform_(t, gain=5 / 3), 25 / 9 * 2 / 500),
    (lambda t: init.kaiming_uniform_(t, nonlinearity="relu"), 2 / 300),
    (lambda t: init.kaiming_normal_(t, nonlinearity="relu"), 2 / 300),
    (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="linear"), 1 / 200),
    (lambda t: init.kaiming_uniform_(t, a=math.sqrt(5)), 1 / 900),
])
def test_variance_follows_the_formula(fill, variance):
    w = values(fill)
    assert abs(w.mean()) < 0.02 * math.sqrt(variance) and abs(w.var() / variance - 1) < 0.02


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 3, 2, 2)])
def test_orthogonal_rows_or_columns_are_orthogonal(shape):
    w = values(lambda t: init.orthogonal_(t, gain=2), shape, np.float64).reshape(shape[0], -1)
    gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(gram, 4 * np.eye(min(w.shape)), atol=1e-12)


def test_orthogonal_is_uniform_over_rotations():
    # The mean of a Haar matrix is 0; that of Q alone, with R's diagonal of one sign, is not.
    first = [values(init.orthogonal_, (3, 3), np.float64)[0, 0] for _ in range(500)]
    assert abs(np.mean(first)) < 0.1
    with pytest.raises(ValueError, match="orthogonal_: needs at least 2 axes"):
        init.orthogonal_(Tensor.zeros(3))


def test_gains_are_pytorchs():
    assert init.calculate_gain("relu") == math.sqrt(2) and init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("leaky_relu", 0.5) == math.sqrt(2 / 1.25)
    assert {init.calculate_gain(name) for name in ("conv2d", "conv_transpose3d", "linear")} == {1}
    with pytest.raises(ValueError, match="no gain is known for 'swash'"):
        init.calculate_gain("swash")


def test_bad_arguments_raise():
    with pytest.raises(ValueError, match="kaiming_uniform_: mode must be 'fan_in' or 'fan_out', got 'fan'"):
        init.kaiming_uniform_(Tensor.zeros(2, 2), mode="fan")
    with pytest.raises(TypeError, match="need a floating-point Tensor, got int64"):
        init.normal_(Tensor([1, 2]))
