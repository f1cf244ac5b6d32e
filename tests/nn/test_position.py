import numpy as np
import pytest

import nn
from tinygrad_like import Tensor
from tinygrad_like.transforms.gradcheck import gradcheck


def test_sinusoidal_encoding_equals_its_formula():
    p = nn.sinusoidal_encoding(50, 6)
    for t, i in [(0, 0), (1, 0), (7, 1), (49, 2)]:
        angle = t / 10000 ** (2 * i / 6)
        np.testing.assert_allclose(p[t, 2 * i : 2 * i + 2], [np.sin(angle), np.cos(angle)], atol=1e-6)
    assert p.shape == (50, 6) and p.dtype == np.float32
    with pytest.raises(ValueError, match="dim must be even, since sine and cosine come in pairs; got 5"):
        nn.sinusoidal_encoding(4, 5)


def test_a_sinusoidal_layer_takes_any_length_and_offset():
    layer, x = nn.SinusoidalEncoding(4), Tensor.zeros(2, 300, 4)
    np.testing.assert_allclose(layer(x).numpy()[1], nn.sinusoidal_encoding(300, 4), atol=1e-6)
    np.testing.assert_array_equal(layer(x[:, :5], offset=290).numpy(), layer(x).numpy()[:, 290:295])
    assert not list(layer.parameters()) and not layer.state_dict()


def test_learned_positions_are_rows_of_a_table():
    layer, x = nn.LearnedEncoding(10, 4), Tensor.zeros(2, 6, 4)
    np.testing.assert_array_equal(layer(x).detach().numpy()[0], layer.weight.detach().numpy()[:6])
    np.testing.assert_array_equal(layer(x, offset=4).detach().numpy()[0], layer.weight.detach().numpy()[4:])
    layer(x, offset=4).sum().backward()
    assert layer.weight.grad.numpy().tolist() == [[0] * 4] * 4 + [[2] * 4] * 6
    with pytest.raises(ValueError, match=r"positions 5 to 10 of an input \(2, 6, 4\) exceed the table of 10"):
        layer(x, offset=5)


def test_rotation_keeps_lengths_and_depends_on_distance():
    rng = np.random.default_rng(0)
    layer = nn.RotaryEncoding(8)
    q, k = (Tensor(np.broadcast_to(rng.standard_normal(8), (40, 1, 8)), dtype="float64") for _ in range(2))
    q2, k2 = layer(q).numpy()[:, 0], layer(k).numpy()[:, 0]
    np.testing.assert_allclose(np.linalg.norm(q2, axis=-1), np.linalg.norm(q.numpy()[0]), rtol=1e-5)
    products = q2 @ k2.T
    for distance in (-3, 0, 7):
        np.testing.assert_allclose(np.diagonal(products, distance), np.diagonal(products, distance)[0], rtol=1e-4)
    np.testing.assert_allclose(q2[0], q.numpy()[0, 0], rtol=1e-6)  # position 0 is not rotated
    np.testing.assert_array_equal(layer(q[:5], offset=30).numpy()[:, 0], q2[30:35])
    with pytest.raises(ValueError, match="RotaryEncoding: dim must be even"):
        nn.RotaryEncoding(3)


def test_packed_rotation_leaves_values_alone():
    layer = nn.RotaryEncoding(4)
    x = Tensor(np.random.default_rng(0).standard_normal((2, 5, 24)))
    q, k, v = (part.reshape(2, 5, 2, 4) for part in x.chunk(3, -1))
    expected = np.concatenate([part.numpy().reshape(2, 5, 8) for part in (layer(q, 3), layer(k, 3), v)], -1)
    np.testing.assert_allclose(layer.turn_packed(x, 2, 3).numpy(), expected, rtol=1e-6)
    assert gradcheck(lambda x: layer.turn_packed(x, 2), x)


@pytest.mark.parametrize("make", [lambda: nn.SinusoidalEncoding(4), lambda: nn.LearnedEncoding(8, 4),
                                  lambda: nn.RotaryEncoding(4)])
@pytest.mark.parametrize(("offset", "error"), [(-2, ValueError), (1.0, TypeError), ((4, 4), TypeError)])
def test_an_offset_counts_positions_from_0(make, offset, error):
    layer = make()
    with pytest.raises(error, match=f"{type(layer).__name__}: offset must be"):
        layer(Tensor.ones(1, 1, 1, 4), offset=offset)


def test_similar_distances_have_similar_products():
    """004 requires that the similarity of two positions depends on their distance alone."""
    p = nn.sinusoidal_encoding(200, 32).astype(float)
    products = p @ p.T
    for distance in (0, 1, 5):
        np.testing.assert_allclose(np.diagonal(products, distance), products[0, distance], rtol=1e-5)
    assert products[0, 0] > products[0, 1] > products[0, 5]
