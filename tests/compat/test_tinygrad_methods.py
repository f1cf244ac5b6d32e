"""tinygrad's Tensor, method by method: every name that its documentation lists is called, and compared with PyTorch.

The names stand in docs/tensor/*.md of tinygrad. Values and gradients of first and second order are compared.
"""

import numpy as np
import pytest

from tinygrad_like import Tensor, manual_seed

NAMES = """
    empty zeros ones full arange linspace eye full_like zeros_like ones_like manual_seed rand rand_like randn randn_like
    randint randperm normal uniform scaled_uniform glorot_uniform kaiming_uniform kaiming_normal

    logical_not neg log log2 log10 exp exp2 sqrt rsqrt sin cos tan asin acos atan trunc ceil floor round isinf isnan
    isfinite lerp square clamp clip sign abs reciprocal

    relu sigmoid logsigmoid hardsigmoid elu celu selu swish silu relu6 hardswish tanh sinh cosh atanh asinh acosh
    hardtanh erf gelu quick_gelu leaky_relu mish softplus softsign

    add sub mul div mod fmod bitwise_xor bitwise_and bitwise_or bitwise_not lshift rshift pow maximum minimum where
    copysign logaddexp

    cast bitcast float half int bool bfloat16 double long short

    view reshape expand permute flip shrink pad __getitem__ gather cat stack repeat repeat_interleave split chunk unfold
    meshgrid squeeze unsqueeze T transpose flatten unflatten diag diagonal roll rearrange

    sum prod max min any all isclose allclose mean var var_mean std std_mean softmax log_softmax logsumexp logcumsumexp
    argmax argmin

    avg_pool2d max_pool2d max_unpool2d conv2d conv_transpose2d dot matmul einsum cumsum cumprod cummax cummin triu tril
    interpolate scatter scatter_reduce masked_select masked_fill nonzero sort argsort topk multinomial

    linear sequential layernorm batchnorm dropout one_hot scaled_dot_product_attention binary_crossentropy
    binary_crossentropy_logits sparse_categorical_crossentropy cross_entropy nll_loss

    qr svd

    shape dtype device ndim numel element_size nbytes is_floating_point size data item tolist numpy assign detach clone
    to contiguous gradient backward
""".split()
# Names without a meaning here: there is one device, ops compute at once, files are read by `training` and `data`.
ELSEWHERE = """
    from_blob from_url linear_with_vars schedule_linear realize replace to_ shard shard_ contiguous_backward
""".split()

rng = np.random.default_rng(4)


def real(*shape):
    return rng.standard_normal(shape)


def unit(*shape):
    return rng.uniform(-0.9, 0.9, shape)


def positive(*shape):
    return rng.uniform(0.2, 2, shape)


X, WHOLE, MASK, TO = real(3, 4), np.array([[3, 5, 6], [1, 0, 7]]), real(3, 4) > 0, np.array([[0, 2, 1, 0]])
IMAGES, LABELS = real(2, 4, 6, 6), np.array([1, 0, 3])


def same(name, *inputs, **options):
    """A method that PyTorch has as well, with the same arguments."""
    return [(lambda m, x, *more: getattr(x, name)(*more, *options.get("args", ()))), *inputs]


def each(names, *inputs, args=()):
    return {name: same(name, *inputs, args=args) for name in names.split()}


# name: [f(F, x, ...), inputs]: called with PyTorch's Tensors and functional module, and with ours and None.
CASES = {
    **each("neg exp exp2 sin cos tan atan trunc ceil floor round isinf isnan isfinite square sign abs relu sigmoid "
           "tanh sinh cosh asinh erf sum prod max min mean var std argmax argmin", X),
    **each("log log2 log10 sqrt rsqrt reciprocal", positive(3, 4)), **each("asin acos atanh", unit(3, 4)),
    **each("acosh", 1 + positive(3, 4)), **each("clamp clip", X, args=(-0.5, 0.5)),
    **each("add sub mul div maximum minimum fmod copysign logaddexp", X, positive(4)),
    **each("pow", positive(3, 4), real(4)), **each("logical_not", MASK), **each("bitwise_not", WHOLE),
    **each("bitwise_xor bitwise_and bitwise_or", WHOLE, WHOLE[:1] + 2),
    "mod": [lambda F, x, y: x.remainder(y) if F else x.mod(y), X, positive(4)],
    "lshift": [lambda F, x: x << 2 if F else x.lshift(2), WHOLE],
    "rshift": [lambda F, x: x >> 1 if F else x.rshift(1), WHOLE],
    "where": [lambda F, c, x, y: F.where(c, x, y) if F else c.where(x, y), MASK, X, real(3, 4)],
    **each("lerp", X, real(3, 4), args=(0.3,)),
    **{name: [lambda F, x, name=name: getattr(F, name)(x) if F else getattr(x, name)(), 4 * X] for name in """
        logsigmoid hardsigmoid elu celu selu silu relu6 hardswish hardtanh gelu leaky_relu mish softplus softsign
    """.split()},
    "swish": [lambda F, x: F.silu(x) if F else x.swish(), X],
    "quick_gelu": [lambda F, x: x * (1.702 * x).sigmoid() if F else x.quick_gelu(), X],
    **each("float double long short bool", X), "int": same("int", X), "half": same("half", X),
    "cast": [lambda F, x: x.double() if F else x.cast("float64"), X],
    "bitcast": [lambda F, x: x.view(F.int64) if F else x.bitcast("int64"), X],
    "view": same("view", X, args=(2, 6)), "reshape": same("reshape", X, args=(2, -1)),
    "expand": same("expand", real(3, 1), args=(2, 3, 4)), "permute": same("permute", real(2, 3, 4), args=(2, 0, 1)),
    "flip": same("flip", X, args=(0, 1)), "repeat": same("repeat", X, args=(2, 1, 3)),
    "shrink": [lambda F, x: x[1:3, :2] if F else x.shrink(((1, 3), (0, 2))), X],
    "pad": [lambda F, x: F.pad(x, (1, -1, 0, 2), value=3.0) if F else x.pad((1, -1, 0, 2), value=3.0), X],
    "__getitem__": same("__getitem__", X, args=((slice(None, None, 2), [0, 3, 3]),)),
    "gather": [lambda F, x: x.gather(0, F.tensor(TO)) if F else x.gather(0, TO), X],
    "cat": [lambda F, x, y: F.cat([x, y], 1) if F else x.cat(y, axis=1), X, real(3, 2)],
    "stack": [lambda F, x, y: F.stack([x, y], 1) if F else x.stack(y, axis=1), X, real(3, 4)],
    **each("repeat_interleave", X, args=(2, 1)), **each("split", X, args=([1, 3], 1)), **each("chunk", X, args=(2, 1)),
    **each("unfold", X, args=(1, 3, 1)), "meshgrid": [lambda F, x, y: F.meshgrid(x, y, indexing="ij") if F else
                                                      x.meshgrid(y), real(3), real(2)],
    **each("squeeze", real(3, 1, 4), args=(1,)), **each("unsqueeze", X, args=(1,)), "T": [lambda F, x: x.T, X],
    **each("transpose", X, args=(0, 1)), **each("flatten", real(2, 3, 4), args=(1,)),
    **each("unflatten", X, args=(1, (2, 2))), **each("diag", real(4)),
    **each("diagonal", real(3, 4, 2), args=(1, 2, 0)),
    **each("roll", X, args=((1, -2), (0, 1))),
    "rearrange": [lambda F, x: x.reshape(3, 2, 2).permute(2, 0, 1).reshape(2, 6) if F else
                  x.rearrange("a (b c) -> c (a b)", c=2), X],
    **each("any all", MASK, args=(1,)), **each("isclose allclose", X, X + 1e-7),
    "var_mean": [lambda F, x: F.var_mean(x, 1) if F else x.var_mean(1), X],
    "std_mean": [lambda F, x: F.std_mean(x, 1) if F else x.std_mean(1), X],
    **each("softmax log_softmax logsumexp logcumsumexp cumsum cumprod cummax cummin", X, args=(1,)),
    **each("triu tril", X, args=(1,)), **each("sort argsort", X, args=(1,)), **each("topk", X, args=(2, 1)),
    **each("nonzero", MASK), **each("dot", real(4), real(4)), **each("matmul", X, real(4, 2)),
    "einsum": [lambda F, a, b: F.einsum("ij,kj->ik", a, b) if F else Tensor.einsum("ij,kj->ik", a, b), X, real(2, 4)],
    "avg_pool2d": [lambda F, x: F.avg_pool3d(x, 2) if F else x.avg_pool2d((2, 2, 2)), IMAGES],
    "max_pool2d": [lambda F, x: F.max_pool2d(x, 3, 2, 1) if F else x.max_pool2d((3, 3), 2, padding=1), IMAGES],
    "max_unpool2d": [lambda F, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2) if F else
                     Tensor.max_unpool2d(*x.max_pool2d(return_indices=True)), IMAGES],
    "conv2d": [lambda F, x, w: F.conv2d(x, w, padding=1, groups=2) if F else x.conv2d(w, padding=1, groups=2), IMAGES,
               real(2, 2, 3, 3)],
    "conv_transpose2d": [lambda F, x, w: F.conv_transpose3d(x, w, stride=2) if F else x.conv_transpose2d(w, stride=2),
                         real(1, 2, 2, 3, 2), real(2, 1, 2, 2, 2)],
    "interpolate": [lambda F, x: F.interpolate(x, (4, 9), mode="bilinear") if F else x.interpolate((4, 9)), IMAGES],
    "scatter": [lambda F, x, s: x.scatter_reduce(0, F.tensor(TO), s, "prod") if F else
                x.scatter(0, TO, s, reduce="multiply"), X, real(1, 4)],
    "scatter_reduce": [lambda F, x, s: x.scatter_reduce(0, F.tensor(TO) if F else TO, s, "prod"), X, real(1, 4)],
    "masked_select": [lambda F, x: x.masked_select(F.tensor(MASK) if F else MASK), X],
    "masked_fill": [lambda F, x: x.masked_fill(F.tensor(MASK) if F else MASK, 3.0), X],
    "linear": [lambda F, x, w, b: F.linear(x, w, b) if F else x.linear(w, b), X, real(2, 4), real(2)],
    "sequential": [lambda F, x: x.relu().exp() if F else x.sequential([Tensor.relu, Tensor.exp]), X],
    "layernorm": [lambda F, x: F.layer_norm(x, (4,)) if F else x.layernorm(), X],
    "batchnorm": [lambda F, x, w, b, m, v: ((x.mT - m) * v.rsqrt() * w + b).mT if F else
                  x.batchnorm(w, b, m, v.rsqrt()), real(3, 4, 2), real(4), real(4), real(4), positive(4)],
    "one_hot": [lambda F, x: F.one_hot(x, 8) if F else x.one_hot(8), WHOLE],
    "scaled_dot_product_attention": [lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True) if F
                                     else q.scaled_dot_product_attention(k, v, enable_gqa=True),
                                     real(1, 4, 3, 2), real(1, 2, 5, 2), real(1, 2, 5, 2)],
    "binary_crossentropy": [lambda F, x, y: F.binary_cross_entropy(x, y) if F else x.binary_crossentropy(y),
                            positive(3, 4) / 3, positive(3, 4) / 3],
    "binary_crossentropy_logits": [lambda F, x, y: F.binary_cross_entropy_with_logits(x, y) if F else
                                   x.binary_crossentropy_logits(y), X, positive(3, 4) / 3],
    "sparse_categorical_crossentropy": [
        lambda F, x: F.cross_entropy(x.movedim(-1, 1), F.tensor(LABELS[:, None].repeat(2, 1))) if F else
        x.sparse_categorical_crossentropy(Tensor(LABELS[:, None].repeat(2, 1))), real(3, 2, 4)],
    "cross_entropy": [lambda F, x: F.cross_entropy(x, F.tensor(LABELS), label_smoothing=0.1) if F else
                      x.cross_entropy(Tensor(LABELS), label_smoothing=0.1), X],
    "nll_loss": [lambda F, x: F.nll_loss(x, F.tensor(LABELS)) if F else x.nll_loss(Tensor(LABELS)), X],
    "qr": [lambda F, x: F.linalg.qr(x) if F else x.qr(), X],
    "svd": [lambda F, x: [y * y for y in (F.linalg.svd(x, False) if F else x.svd(False))], X],
    "size": [lambda F, x: x.size() if F else x.size(), X], "shape": [lambda F, x: tuple(x.shape), X],
    "dtype": [lambda F, x: str(x.dtype).removeprefix("torch."), X], "device": [lambda F, x: str(x.device), X],
    **each("numel element_size is_floating_point tolist clone contiguous detach", X), "ndim": [lambda F, x: x.ndim, X],
    "nbytes": [lambda F, x: x.nbytes, X], "item": same("item", real(1)), "numpy": [lambda F, x: x.detach().numpy(), X],
    "data": [lambda F, x: x.detach().numpy() if F else x.data, X], "to": same("to", X, args=("cpu",)),
    "full_like": [lambda F, x: F.full_like(x, 3.0) if F else x.full_like(3.0), X],
    **{name: [lambda F, x, name=name: getattr(F, name)(x) if F else getattr(x, name)(), X]
       for name in ("zeros_like", "ones_like")},
    **{name: [lambda F, name=name, args=args: getattr(F or Tensor, name)(*args)] for name, args in {
        "zeros": (2, 3), "ones": ((2, 3),), "full": ((2, 3), 4.5), "arange": (2, 9, 3), "linspace": (0, 1, 5),
        "eye": (3, 4)}.items()},
}
DRAWS = {  # those of random numbers: the call, the mean and the standard deviation of what it gives
    "rand": (lambda: Tensor.rand(90, 90), 0.5, 12**-0.5), "randn": (lambda: Tensor.randn(90, 90), 0, 1),
    "rand_like": (lambda: Tensor.zeros(90, 90).rand_like(), 0.5, 12**-0.5),
    "randn_like": (lambda: Tensor.zeros(90, 90).randn_like(), 0, 1),
    "normal": (lambda: Tensor.normal(90, 90, mean=3, std=2), 3, 2),
    "uniform": (lambda: Tensor.uniform(90, 90, low=-1, high=1), 0, 3**-0.5),
    "randint": (lambda: Tensor.randint(90, 90, low=0, high=2), 0.5, 0.5),
    "randperm": (lambda: Tensor.randperm(8100) / 8099, 0.5, 12**-0.5),
    "scaled_uniform": (lambda: Tensor.scaled_uniform(90, 90), 0, 3**-0.5 / 90),
    "glorot_uniform": (lambda: Tensor.glorot_uniform(90, 30, 3), 0, (2 / 180) ** 0.5),
    "kaiming_uniform": (lambda: Tensor.kaiming_uniform(90, 90, a=1.0), 0, (1 / 90) ** 0.5),
    "kaiming_normal": (lambda: Tensor.kaiming_normal((90, 30, 3), a=1.0), 0, (1 / 90) ** 0.5),
    "dropout": (lambda: Tensor.ones(90, 90).dropout(0.5), 1, 1),
    "multinomial": (lambda: Tensor([1.0, 0, 3]).multinomial(8100, replacement=True), 1.5, 0.75**0.5),
}
OTHERWISE = {"empty", "manual_seed", "assign", "gradient", "backward", "bfloat16"}  # have tests of their own


def test_every_name_of_tinygrads_is_called():
    assert set(NAMES) == CASES.keys() | DRAWS.keys() | OTHERWISE
    assert [name for name in NAMES if name not in OTHERWISE and not hasattr(Tensor([1.0]), name)] == []
    assert [name for name in ELSEWHERE if name != "to_" and hasattr(Tensor([1.0]), name)] == []


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers(name):
    call, mean, std = DRAWS[name]
    manual_seed(3)
    x = call().numpy()
    assert abs(x.mean() - mean) < 0.06 * std and abs(x.std() / std - 1) < 0.03
    manual_seed(3)
    assert np.array_equal(call().numpy(), x)


def test_multinomial_without_replacement_draws_each_once():
    weights = Tensor([[1.0, 0, 2, 3], [1, 1, 1, 1]])
    drawn = weights.multinomial(3).numpy()
    assert drawn.shape == (2, 3) and all(len(set(row)) == 3 for row in drawn) and 1 not in drawn[0]
    first = np.array([weights.multinomial(1).numpy()[0, 0] for _ in range(2000)])
    np.testing.assert_allclose(np.bincount(first, minlength=4) / 2000, [1 / 6, 0, 2 / 6, 3 / 6], atol=0.04)


def flat(y):
    return [z for part in y for z in flat(part)] if isinstance(y, list | tuple) else [y]


@pytest.mark.torch
@pytest.mark.parametrize("name", CASES)
def test_as_in_pytorch(name):
    torch = pytest.importorskip("torch")

    class Theirs:
        """PyTorch's functions, those of torch.nn.functional first."""

        def __getattr__(self, name):
            return getattr(torch.nn.functional, name, None) or getattr(torch, name)

    f, *inputs = CASES[name]
    theirs = Theirs()
    found, expected = f(None, *map(Tensor, inputs)), f(theirs, *map(torch.tensor, inputs))
    for y, t in zip(flat(found), flat(expected), strict=True):
        if isinstance(t, torch.Tensor):
            assert y.shape == tuple(t.shape)
            np.testing.assert_allclose(y.numpy(), t.numpy(), rtol=1e-6, atol=1e-9)
        else:
            assert np.array_equal(y, t)
    if not any(isinstance(y, Tensor) and y.is_floating_point() for y in flat(found)) or name in ("detach", "half"):
        return
    kept = [y for y in flat(found) if isinstance(y, Tensor) and y.dtype == np.float64]
    if not kept or not all(x.dtype == np.float64 for x in inputs) or not inputs:
        return
    xs, ts = [Tensor(x, requires_grad=True) for x in inputs], [torch.tensor(x, requires_grad=True) for x in inputs]
    ys = [y for y in flat(f(None, *xs)) if y.requires_grad]
    if not ys:  # a step, or a number of its own
        return
    outs = [t for t in flat(f(theirs, *ts)) if t.requires_grad]
    weights = [np.random.default_rng(1).standard_normal(y.shape) for y in ys]
    total = sum((y * Tensor(w)).sum() for y, w in zip(ys, weights, strict=True))
    wanted = sum((t * torch.tensor(w)).sum() for t, w in zip(outs, weights, strict=True))
    for g, t in zip(total.gradient(*xs, materialize_grads=True), torch.autograd.grad(wanted, ts, allow_unused=True),
                    strict=True):
        np.testing.assert_allclose(g.numpy(), np.zeros(g.shape) if t is None else t.numpy(), rtol=1e-7, atol=1e-10)
