import functools
import math

import numpy as np
import pytest

import nn
import nn.functional as F
from nn.activation import make_activation
from tinygrad_like import Tensor, ops
from tinygrad_like.transforms.gradcheck import gradcheck

X = np.array([-30.0, -2.0, -0.5, 0.0, 0.5, 2.0, 30.0])


def sigma(x):
    return 1 / (1 + np.exp(-x))


def phi(x):
    return np.vectorize(lambda t: (1 + math.erf(t / math.sqrt(2))) / 2)(x)


# module, the formula, repr
CASES = [
    (nn.Identity(), lambda x: x, "Identity()"),
    (nn.BinaryStep(), lambda x: (x >= 0) * 1.0, "BinaryStep()"),
    (nn.ReLU(), lambda x: np.maximum(x, 0), "ReLU()"),
    (nn.LeakyReLU(), lambda x: np.maximum(x, 0.01 * x), "LeakyReLU(negative_slope=0.01)"),
    (nn.LeakyReLU(0.2), lambda x: np.maximum(x, 0.2 * x), "LeakyReLU(negative_slope=0.2)"),
    (nn.ELU(2.0), lambda x: np.where(x > 0, x, 2 * (np.exp(np.minimum(x, 0)) - 1)), "ELU(alpha=2.0)"),
    (nn.Sigmoid(), sigma, "Sigmoid()"),
    (nn.LogSigmoid(), lambda x: np.log(sigma(x)), "LogSigmoid()"),
    (nn.Tanh(), np.tanh, "Tanh()"),
    (nn.GELU(), lambda x: x * phi(x), "GELU(approximate='none')"),
    (nn.GELU("tanh"), lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
     "GELU(approximate='tanh')"),
    (nn.SiLU(), lambda x: x * sigma(x), "SiLU()"),
    (nn.Softplus(), lambda x: np.log1p(np.exp(x)), "Softplus(beta=1.0, threshold=20.0)"),
    (nn.Softplus(2.5), lambda x: np.log1p(np.exp(2.5 * x)) / 2.5, "Softplus(beta=2.5, threshold=20.0)"),
    (nn.CELU(2.0), lambda x: np.where(x > 0, x, 2 * (np.exp(np.minimum(x, 0) / 2) - 1)), "CELU(alpha=2.0)"),
    (nn.SELU(), lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
     "SELU()"),
    (nn.Mish(), lambda x: x * np.tanh(np.log1p(np.exp(x))), "Mish()"),
    (nn.Softsign(), lambda x: x / (1 + np.abs(x)), "Softsign()"),
    (nn.ReLU6(), lambda x: np.clip(x, 0, 6), "ReLU6()"),
    (nn.Hardsigmoid(), lambda x: np.clip(x / 6 + 0.5, 0, 1), "Hardsigmoid()"),
    (nn.Hardswish(), lambda x: x * np.clip(x / 6 + 0.5, 0, 1), "Hardswish()"),
    (nn.Hardtanh(-1.5, 0.7), lambda x: np.clip(x, -1.5, 0.7), "Hardtanh(min_val=-1.5, max_val=0.7)"),
    (nn.Hardshrink(0.6), lambda x: np.where(abs(x) > 0.6, x, 0), "Hardshrink(lambd=0.6)"),
    (nn.Softshrink(0.3), lambda x: np.sign(x) * np.maximum(abs(x) - 0.3, 0), "Softshrink(lambd=0.3)"),
    (nn.Softmax(), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True), "Softmax(dim=-1)"),
    (nn.LogSoftmax(dim=0), lambda x: x - np.log(np.exp(x).sum(0)), "LogSoftmax(dim=0)"),
]


@pytest.mark.parametrize(("module", "formula", "text"), CASES, ids=[text for _, _, text in CASES])
def test_activations_equal_their_formulas_and_show_their_arguments(module, formula, text):
    np.testing.assert_allclose(module(Tensor(X)).numpy(), formula(X), rtol=1e-6, atol=1e-13)
    assert module(Tensor(X.astype(np.float32))).dtype == np.float32
    assert repr(module) == text


def test_arguments_can_be_changed_later():
    m = nn.LeakyReLU()
    m.negative_slope = 0.5
    assert m(Tensor([-2.0])).tolist() == [-1.0] and repr(m) == "LeakyReLU(negative_slope=0.5)"


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gated_units_equal_their_formulas(dim):
    x = np.random.default_rng(0).standard_normal((4, 6))
    value, gate = np.split(x, 2, axis=dim)
    np.testing.assert_allclose(nn.GLU(dim)(Tensor(x)).numpy(), value * sigma(gate))
    np.testing.assert_allclose(nn.SwiGLU(dim)(Tensor(x)).numpy(), value * gate * sigma(gate))
    np.testing.assert_array_equal(F.glu(Tensor(x), dim=dim).numpy(), nn.GLU(dim)(Tensor(x)).numpy())
    np.testing.assert_array_equal(F.swiglu(Tensor(x), dim=dim).numpy(), nn.SwiGLU(dim)(Tensor(x)).numpy())
    gradcheck(nn.SwiGLU(dim), x)
    with pytest.raises(ValueError, match="must have an even size"):
        nn.GLU()(Tensor.ones(2, 3))


def test_constructors_refuse_bad_arguments():
    with pytest.raises(ValueError, match="GELU: approximate"):
        nn.GELU("exact")
    with pytest.raises(ValueError, match="Softplus: beta must be positive, got 0"):
        nn.Softplus(0)


@pytest.mark.parametrize("make", [nn.Tanh, lambda: nn.ELU(0.5), functools.partial(nn.LeakyReLU, 0.2), nn.GELU])
def test_make_activation_takes_classes_and_factories(make):
    assert isinstance(make_activation("Model", make), nn.Module)


@pytest.mark.parametrize(("given", "said"), [(nn.ReLU(), r"the module ReLU\(\)"), (ops.relu, "the function relu"),
                                             (lambda x: x, "the function"), ("relu", "str"),
                                             (np.tanh, "the function tanh"), (dict, "the function dict")])
def test_make_activation_refuses_other_arguments(given, said):
    with pytest.raises(TypeError, match=f"Model: activation must return a Module when called.*got {said}"):
        make_activation("Model", given)


@pytest.mark.needs("compat")
def test_dropout_in_place_changes_nothing_in_evaluation():
    x = Tensor.ones(3, requires_grad=True)
    assert nn.Dropout(0.5, inplace=True).eval()(x) is x
    with pytest.raises(RuntimeError, match="a leaf that requires grad"):
        nn.Dropout(0.5, inplace=True)(x)


@pytest.mark.needs("compat")
def test_activations_may_work_in_place():
    layers = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Linear(8, 4))
    x, data = Tensor.randn(5, 4), None
    data = x.numpy().copy()
    y = layers(x)
    np.testing.assert_array_equal(y.detach().numpy(), layers[1:](Tensor(np.maximum(data, 0))).detach().numpy())
    np.testing.assert_array_equal(x.numpy(), np.maximum(data, 0))
    assert repr(layers[0]) == "ReLU(inplace=True)" and repr(nn.Dropout(0.1, True)) == "Dropout(p=0.1, inplace=True)"
    with pytest.raises(RuntimeError, match="cannot be changed in place"):
        layers[0](Tensor(data, requires_grad=True))
    h = Tensor(data, requires_grad=True) * 1
    shown = h.detach()
    layers[0](h).sum().backward()
    np.testing.assert_array_equal(shown.numpy(), np.maximum(data, 0))
    assert not shown.requires_grad


def test_a_subclass_may_have_annotations():
    class Scaled(nn.LeakyReLU):
        factor: float
        name: "str" = "scaled"

        def forward(self, x):
            return super().forward(x) * self.factor

    layer = Scaled(0.5)
    layer.factor = 3.0
    assert layer(Tensor([-2.0, 1.0])).tolist() == [-3, 3] and repr(layer) == "Scaled(negative_slope=0.5)"
    for bad in (lambda: Scaled(1.0, 2.0), lambda: nn.LeakyReLU(slop=1.0), lambda: nn.ReLU(3), nn.MaxPool2d):
        with pytest.raises(TypeError):
            bad()
