"""Weights stored in float16, at half the memory: what is computed with them is float32."""

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor

MODELS = {
    "mlp": (lambda: nn.MLP([4, 8, 3], nn.GELU, norm=nn.LayerNorm), (5, 4)),
    "resnet_s": (lambda: nn.ResNetS(4, 8, 2, 3), (5, 4)),
    "cnn": (lambda: nn.CNN([1, 1], (4, 8), 3), (5, 3, 8, 8)),
    "swiglu": (lambda: nn.SwiGLUFFN(4), (2, 5, 4)),
    "sparse": (lambda: nn.SparseLinear(4, 3), (5, 4)),
}


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_several_layers(name, dtype):
    make, shape = MODELS[name]
    half, whole = make().to("float16"), make()
    whole.load_state_dict(half.state_dict())
    x = Tensor(np.random.default_rng(0).standard_normal(shape), dtype=dtype)
    y, expected = half(x), whole(x.cast("float32"))
    assert y.dtype == "float32" and {p.dtype for p in half.parameters()} == {np.dtype("float16")}
    np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-3, atol=1e-4)
    g = Tensor(np.random.default_rng(1).standard_normal(y.shape), dtype="float32")
    y.backward(g)
    expected.backward(g)
    for p, q in zip(half.parameters(), whole.parameters(), strict=True):
        scale = np.abs(q.grad.numpy()).max()
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-2, atol=1e-2 * scale)


def test_float64_is_still_no_float32():
    with pytest.raises(TypeError, match="linear: the input is float32 but the weight float64"):
        nn.Linear(4, 3).double()(Tensor.ones(2, 4))
