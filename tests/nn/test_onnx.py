"""Exported models, run by onnxruntime with batch sizes other than the exported one."""

import numpy as np
import pytest

import nn
import nn.functional as F
from demos.networks import CNN, RecurrentLanguageModel, Seq2Seq
from nn import models
from tinygrad_like import Tensor, enable_grad, no_grad, ops

onnx = pytest.importorskip("onnx", reason="pip install 'tinygrad-like[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime")

from nn.onnx import export, rows  # noqa: E402


def images(channels, size):
    return lambda n: [Tensor(np.random.default_rng(n).standard_normal((n, channels, size, size)).astype(np.float32))]


def features(*shape):
    return lambda n: [Tensor(np.random.default_rng(n).standard_normal((n, *shape)).astype(np.float32))]


def tokens(count):
    return lambda n: [Tensor(np.random.default_rng(n + i).integers(0, 11, (n, 6))) for i in range(count)]


def padded(n):
    source, target = tokens(2)(n)
    source = source.numpy().copy()
    source[:, 4:] = 0
    return [Tensor(source), target]


MODELS = {
    **{kind: (lambda kind=kind: RecurrentLanguageModel(11, 8, 2, kind), tokens(1)) for kind in ("rnn", "lstm", "gru")},
    "cnn": (lambda: CNN([1, 2], (4, 8), 3), images(3, 9)),
    "convnext": (lambda: nn.ConvNeXtBlock(4, layer_scale=0.5), images(4, 9)),
    "mlp, gelu": (lambda: nn.MLP([4, 8, 3], nn.GELU), features(5, 4)),
    "resnet_s": (lambda: nn.ResNetS(6, 8, 2, 3), features(6)),
    "resnet18": (lambda: models.ResNet(nn.BasicBlock, [2, 2, 2, 2], (8, 16, 24, 32), 7), images(3, 40)),
    "resnext": (lambda: models.ResNet(nn.Bottleneck, [1, 1], (16, 32), 5, groups=4, width_per_group=16), images(3, 32)),
    "vit, mean": (lambda: nn.ViT(8, 2, 3, 16, 1, 4, channels=1, pool="mean", norm=nn.RMSNorm), images(1, 8)),
    "gpt-2": (lambda: nn.LanguageModel(11, 16, 2, 4, 6, activation="gelu_tanh", tied=False), tokens(1)),
    "rotary, swiglu": (lambda: nn.LanguageModel(11, 16, 2, 2, positions="rotary", activation="swiglu", bias=False,
                                                norm=nn.RMSNorm), tokens(1)),
    "sinusoidal": (lambda: nn.LanguageModel(11, 16, 1, 2, positions="sinusoidal"), tokens(1)),
    "transformer": (lambda: nn.Transformer(16, 2, 1, 1, 32, batch_first=True),
                    lambda n: features(5, 16)(n) + features(4, 16)(n)),
    "seq2seq with padding": (lambda: Seq2Seq(11, 11, 16, 2, 1, 32, padding_idx=0), padded),
}


def run(path, inputs):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs, strict=True)})


def disturbed(model):
    """The model with parameters and statistics as after training: none is 0 or 1."""
    rng = np.random.default_rng(0)
    for name, x in model._state():
        if name.endswith("running_var"):
            x.assign(rng.uniform(0.5, 1.5, x.shape).astype(np.float32))
        elif x.dtype.kind == "f":
            x.assign(x.detach().numpy() + 0.1 * rng.standard_normal(x.shape).astype(np.float32))
    return model


@pytest.mark.parametrize("make, inputs", MODELS.values(), ids=MODELS)
def test_exported_models_return_the_same(tmp_path, make, inputs):
    model = disturbed(make())
    export(model, inputs(2), tmp_path / "m.onnx")
    assert model.training
    model.eval()
    for n in (1, 2, 5):
        with no_grad():
            expected = model(*inputs(n)).numpy()
        found, = run(tmp_path / "m.onnx", inputs(n))
        assert found.dtype == expected.dtype and np.abs(expected).max() > 0.01
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * max(1, np.abs(expected).max()))


def test_every_model_of_nn_is_exported():
    exported = {type(m) for make, _ in MODELS.values() for m in make().modules()}
    made = {getattr(models, name) for name in models.__all__}
    assert {m for m in made if isinstance(m, type)} <= exported


def test_the_batch_axis_and_names_can_be_chosen(tmp_path):
    model = nn.Transformer(16, 2, 1, 1, 32)
    x, y = Tensor.randn(5, 2, 16), Tensor.randn(4, 2, 16)
    proto = export(model, (x, y), tmp_path / "new" / "m.onnx", batch_axis=1, output_names=["translated"])
    assert [i.name for i in proto.graph.input] == ["src", "tgt"]
    assert proto.graph.output[0].name == "translated"
    sizes = proto.graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_value or d.dim_param for d in sizes] == [5, "batch", 16]
    assert {"encoder.layers.0.linear1.weight"} <= {i.name for i in proto.graph.initializer}
    others = Tensor.randn(5, 7, 16), Tensor.randn(4, 7, 16)
    np.testing.assert_allclose(run(tmp_path / "new" / "m.onnx", others)[0], model.eval()(*others).detach().numpy(),
                               atol=1e-5)


def test_the_batch_size_may_be_fixed(tmp_path):
    proto = export(nn.MLP([4, 3]), Tensor.randn(2, 4), tmp_path / "m.onnx", batch_axis=None)
    assert [d.dim_value for d in proto.graph.output[0].type.tensor_type.shape.dim] == [2, 3]


class Function(nn.Module):
    """A function as a model."""

    def __init__(self, f):
        self.f = f

    def forward(self, x):
        return self.f(x)


X = np.random.default_rng(0).uniform(0.1, 0.9, (3, 4, 6)).astype(np.float32)
FUNCTIONS = {
    **{name: getattr(ops, name) for name in """
        abs neg exp log sqrt reciprocal sin cos tan asin acos atan sinh cosh asinh atanh tanh sigmoid relu erf floor
        ceil round sign square rsqrt exp2 expm1 log2 log10 log1p trunc leaky_relu elu celu selu softplus softsign mish
        hardswish hardsigmoid relu6 quick_gelu silu gelu binary_step logsigmoid isnan isinf isfinite
        cumsum softmax log_softmax""".split()},
    "acosh": lambda x: (x + 1).acosh(), "glu": ops.glu, "hardtanh": lambda x: ops.hardtanh(x, min_val=0.3, max_val=0.5),
    "clip": lambda x: x.clip(0.2, 0.4), "clip, one limit": lambda x: ops.clip(x, min=0.5),
    "operators": lambda x: 2 / (x + 1) - x * 3 ** x + x ** 2 - (1 - x) / 3,
    "comparisons": lambda x: (x > 0.5) & (x <= 0.8) | ~(x != x) ^ (x < 0.1), "equal": lambda x: x == x.max(),
    "where": lambda x: (x > 0.5).where(x, -1), "integers": lambda x: (x * 10).cast("int64") + 3,
    "mixed": lambda x: x * (x * 10).cast("int64"), "maximum": lambda x: x.maximum(0.5).minimum(x * 2),
    **{name: lambda x, name=name: getattr(x, name)(axis=1) for name in ("sum", "mean", "max", "min", "prod", "argmax",
                                                                        "argmin", "var", "std")},
    "any": lambda x: (x > 0.85).any(axis=2),
    "all": lambda x: (x > 0.2).all(axis=-1), "permute": lambda x: x.permute(0, 2, 1),
    "reshape": lambda x: x.reshape(len(x), -1), "flatten all": lambda x: x.reshape(-1),
    "expand": lambda x: x[:, :, None].expand(-1, -1, 2, -1), "merge the batch": lambda x: x.reshape(len(x) * 4, 6),
    "slices": lambda x: x[:, 1:, ::2], "back to front": lambda x: x[:, ::-1, 4:0:-2],
    "one": lambda x: x[:, -1, None, 2:],
    "some": lambda x: x[..., np.array([0, 2, 2])], "rows": lambda x: x[1:], "flip": lambda x: ops.flip(x, axis=1),
    "cat": lambda x: ops.cat(x, x * 2, axis=-1), "stack": lambda x: ops.stack(x, -x, axis=1),
    "pad": lambda x: ops.pad(x, padding=(1, 2, 0, 1), value=3.0), "tril": lambda x: x.tril(),
    "triu": lambda x: x.triu(1),
    "einsum": lambda x: ops.einsum("bij,bkj->bik", x, x),
    "attention, nothing to see": lambda x: ops.scaled_dot_product_attention(
        x, x, x, Tensor(np.arange(16).reshape(4, 4) > 7)),
    "layer norm": lambda x: ops.layer_norm(x, normalized_shape=(4, 6)), "rms norm": ops.rms_norm,
    "group norm": lambda x: ops.group_norm(x, num_groups=2),
    "max pool": lambda x: ops.max_pool2d(x[:, None], 3, 2, 1), "ceil": lambda x: ops.max_pool2d(x[:, None], 3, 2,
                                                                                              ceil_mode=True),
    "avg pool": lambda x: ops.avg_pool2d(x[:, None], 2, 2, 1), "inside": lambda x: ops.avg_pool2d(
        x[:, None], 3, 2, 1, count_include_pad=False),
    "global": lambda x: ops.adaptive_avg_pool2d(x[:, None], 1), "adaptive": lambda x: ops.adaptive_avg_pool2d(
        x[:, None], (3, 4)), "two outputs": lambda x: (x + 1, x.sum(-1)), "itself": lambda x: x,
}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_exported_ops_return_the_same(tmp_path, f):
    export(Function(f), Tensor(X), tmp_path / "m.onnx")
    x = np.concatenate([X, X[:, ::-1] * 0.9, X[:1]])
    expected = f(Tensor(x))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for y, found in zip(expected, run(tmp_path / "m.onnx", [Tensor(x)]), strict=True):
        assert found.dtype == y.dtype and found.shape == y.shape
        np.testing.assert_allclose(found, y.numpy(), rtol=1e-5, atol=1e-5)


LAYERS = {
    "conv": (lambda: nn.Conv2d(2, 4, 3, 2, padding=1, groups=2), (2, 2, 7, 9)),
    "same": (lambda: nn.Conv2d(2, 3, 4, padding="same", bias=False), (2, 2, 6, 6)),
    "conv1d": (lambda: nn.Conv1d(2, 3, 3, dilation=2), (2, 2, 8)),
    "transposed": (lambda: nn.ConvTranspose2d(2, 3, 3, 2, 1, 1), (2, 2, 4, 5)),
    "batch norm": (lambda: nn.BatchNorm1d(3, affine=False), (2, 3)),
    "batch norm of the batch": (lambda: nn.BatchNorm2d(3, track_running_stats=False), (2, 3, 4, 4)),
    "instance norm": (lambda: nn.InstanceNorm2d(3), (2, 3, 4, 4)),
}


@pytest.mark.parametrize("make, shape", LAYERS.values(), ids=LAYERS)
def test_exported_layers_return_the_same(tmp_path, make, shape):
    layer, x = disturbed(make()), Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    export(layer, x, tmp_path / "m.onnx")
    np.testing.assert_allclose(run(tmp_path / "m.onnx", [x])[0], layer.eval()(x).detach().numpy(), atol=2e-5)


def spread(x):
    """Uses sizes as models do, in shapes and as numbers."""
    n, t, _ = x.shape
    state = Tensor.zeros(n, 3)
    return ops.cat(state, x.reshape(n, -1)[:, :3] * Tensor.full((n, 1), 2.0), axis=1) + t * n


BATCH = {
    "divided": lambda x: x / x.shape[0], "taken from": lambda x: x.shape[0] - x, "numel": lambda x: x / x.numel(),
    "clamp": lambda x: (x * 9).clamp(0, len(x)), "compared": lambda x: x * 9 > len(x),
    "a Tensor": lambda x: x * Tensor(len(x)) + Tensor([1.0, len(x)])[1], "var": lambda x: x.var(0),
    "mse": lambda x: F.mse_loss(x, x * 2), "pad": lambda x: F.pad(x, (len(x), 0)), "last": lambda x: x[len(x) - 1],
    "rows": lambda x: x.permute(1, 0, 2)[:, :-1].reshape(4, (len(x) - 1) * 6), "zeros": spread,
    "norm": lambda x: F.batch_norm(x, None, None, training=True), "set": lambda x: x.add(0).fill_(len(x)),
    "tril": lambda x: x.tril(len(x) - 2),
}


@pytest.mark.parametrize("name, size", [(name, size) for name in BATCH for size in (1, 3)
                                        if size > 1 or name != "var"])  # one example has no variance
def test_code_may_depend_on_the_batch_size(tmp_path, name, size):
    f = BATCH[name]
    x = np.random.default_rng(0).standard_normal((40, 4, 6)).astype(np.float32)
    export(Function(f), Tensor(x[:size]), tmp_path / "m.onnx")
    for n in (2, 3, 7, 8, 40):
        expected, found = f(Tensor(x[:n])), run(tmp_path / "m.onnx", [Tensor(x[:n])])[0]
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-5)


def in_place(change):
    def f(x):
        y = x * 2
        y = change(y)
        return y * 3 if y is not None else x

    return f


def set_items(y, index):
    y[index] = 7
    return y


IN_PLACE = {
    "mask": lambda y: set_items(y, y > 1), "relu": lambda y: (y - 1).relu_(), "copy": lambda y: y.copy_(y * 3),
    "assign": lambda y: y.assign(y.detach() + 1), "clamp": lambda y: y.clamp_(0.5, 1),
    "layer": pytest.param(lambda y: nn.ReLU6(inplace=True)(y), marks=pytest.mark.needs("compat")),
    "index": lambda y: y[:, (y.sum((0, 2)) > y.sum()).cast("int64")],
}


@pytest.mark.parametrize("change", IN_PLACE.values(), ids=IN_PLACE)
def test_changes_in_place_are_exported_as_ops(tmp_path, change):
    f = in_place(change)
    export(Function(f), Tensor(X), tmp_path / "m.onnx")
    x = np.concatenate([X, X[:, ::-1] * 0.9])
    np.testing.assert_allclose(run(tmp_path / "m.onnx", [Tensor(x)])[0], f(Tensor(x)).numpy(), rtol=1e-5)


WEIGHT = Tensor(np.float32(2.0))


def test_constants_may_be_read(tmp_path):
    """Values that do not depend on the input are constants, even if their ops cannot be exported."""
    def f(x):
        order = ops.argsort(Tensor([3.0, 1.0, 2.0, 0.0]))
        return x[:, order] * WEIGHT.item() if WEIGHT > 1 else x

    proto = export(Function(f), Tensor(X), tmp_path / "m.onnx")
    assert [node.op_type for node in proto.graph.node] == ["Gather", "Mul", "Identity"]
    np.testing.assert_allclose(run(tmp_path / "m.onnx", [Tensor(X)])[0], X[:, [3, 1, 2, 0]] * 2)


def view(x):
    y = x * 2
    z = y[:, 0]
    y += 1
    return z  # no more than y


def gradient(x):
    with enable_grad():
        x = x.clone().requires_grad_()
        return x.square().sum().gradient(x)[0]


REFUSED = {
    "no row": (lambda x: ops.argsort(x), "the op argsort has no ONNX counterpart here; add a row"),
    "numpy": (lambda x: x * np.exp(x.numpy()).mean(), r"numpy\(\), at .*test_onnx.py:.*np.exp.*only ops on the inputs"),
    "branch": (lambda x: x + 1 if x.max() > 0 else x, "the truth of a Tensor, at .*if x.max"),
    "data": (lambda x: x + x.numpy().std(), "or other values"), "mask": (lambda x: x[x > 0].sum(), "a mask selects"),
    "random": (lambda x: x + Tensor.rand(4, 6), "a constant differs between calls, .*: add, called at .*Tensor.rand"),
    "whole": (lambda x: x[: (len(x) + 1) // 2], "the graph returns"),
    "inverse": (lambda x: x * (1 / len(x)), r"mul, called at .*Only a \* batch \+ b"),
    "least": (lambda x: x * min(len(x), 5), "or other values"),
    "iteration": (lambda x: ops.stack(*x), "runs other ops for other inputs or for another batch size"),
    "other ops": (lambda x: x.exp() if len(x) % 2 else x.sin(), "other ops.*batch_axis=None.: exp, called .*: sin, "),
    "fails": (lambda x: x.chunk(len(x))[2], "the model fails for other values, in shape .2, 4, 6."),
    "shape": (lambda x: x[:, :1, 0].squeeze(), r"shape \(1, 4, 6\) the graph returns float32 \(1,\) where the .* \(\)"),
    "one size": (lambda x: x if len(x) != 7 else -x, "the graph returns .* or other values"),
    "view": (view, "has memory that was changed in place through another Tensor"),
    "output": (lambda x: "text", "the model must return Tensors"),
    "set": (lambda x: in_place(lambda y: set_items(y, 0))(x), "changes a part of a Tensor at"),
    "gradient": (gradient, "a gradient, at .*only ops on the inputs"),
    "mixed": (lambda x: x[:, [0, 1], [2, 3]], "supports slices, integers, None and one array"),
}


@pytest.mark.parametrize("f, message", REFUSED.values(), ids=REFUSED)
def test_functions_that_cannot_be_exported_raise(tmp_path, f, message):
    with pytest.raises((ValueError, NotImplementedError, TypeError), match=f"(?s)onnx.export: .*{message}"):
        export(Function(f), Tensor(X), tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists() and ops.add(Tensor(1.0), 1).item() == 2


def test_a_wrong_row_of_the_op_table_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(rows.NODES, "exp", "Log")
    with pytest.raises(ValueError, match="the graph returns .* or other values"):
        export(Function(lambda x: x.exp()), Tensor(X), tmp_path / "m.onnx")


def test_with_a_fixed_batch_size_everything_may_depend_on_it(tmp_path):
    def f(x):
        return x[: (len(x) + 1) // 2].squeeze() ** (1 / len(x)) + Tensor.arange(len(x))[1]

    export(Function(f), Tensor(X), tmp_path / "m.onnx", batch_axis=None)
    np.testing.assert_allclose(run(tmp_path / "m.onnx", [Tensor(X * 2)])[0], f(Tensor(X * 2)).numpy(), rtol=1e-5)
    with pytest.raises(ValueError, match="a constant differs"):
        export(Function(lambda x: x + Tensor.rand()), Tensor(X), tmp_path / "n.onnx", batch_axis=None)


def test_export_refuses_bad_arguments(tmp_path):
    model, path = nn.MLP([4, 3]), tmp_path / "m.onnx"
    for inputs, options, error, message in (
            ([], {}, TypeError, "inputs must be a Tensor or several, got none"),
            (np.ones((2, 4)), {}, TypeError, "got ndarray, ndarray"),
            (Tensor(1.0), {}, ValueError, r"inputs \(\) must have the same batch size along axis 0"),
            (Tensor.ones(2, 4), {"input_names": ["a", "b"]}, ValueError, "input_names must have 1 different names"),
            (Tensor.ones(2, 4), {"output_names": ["x"]}, ValueError, "output_names must have 1 different names"),
            ([Tensor.ones(5, 2, 16), Tensor.ones(4, 2, 16)], {"input_names": "ab"}, ValueError, "the same batch size"),
    ):
        with pytest.raises(error, match=message):
            export(model, inputs, path, **options)
