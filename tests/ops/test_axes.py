"""The axis of a 0-d Tensor, which acts like a row of one number, and the empty tuple, which names no axis."""

import numpy as np
import pytest

from tinygrad_like import Tensor, ops

REDUCTIONS = {
    "sum": ops.sum, "mean": ops.mean, "max": ops.max, "min": ops.min, "prod": ops.prod, "norm": ops.norm,
    "logsumexp": ops.logsumexp, "any": ops.any, "all": ops.all,
    "var": lambda x, axis: x.var(axis, correction=0), "std": lambda x, axis: x.std(axis, correction=0),
}
ALONG = {
    "argmax": ops.argmax, "argmin": ops.argmin, "softmax": ops.softmax, "log_softmax": ops.log_softmax,
    "cumsum": ops.cumsum, "argsort": ops.argsort, "sort": lambda x, axis: x.sort(axis)[0], "flip": ops.flip,
    "sort descending": lambda x, axis: x.sort(axis, descending=True)[1], "topk": lambda x, axis: x.topk(1, axis)[0],
    "squeeze": lambda x, axis: ops.squeeze(x, axis) * 1, "transpose": lambda x, axis: x.transpose(axis, 0),
    "gather": lambda x, axis: x.gather(axis, Tensor.zeros(x.shape, dtype="int64")),
    "scatter": lambda x, axis: x.scatter(axis, Tensor.zeros(x.shape, dtype="int64"), x * 2),
    "scatter a number": lambda x, axis: x.scatter(axis, Tensor.zeros(x.shape, dtype="int64"), 5.0),
    "scatter_add": lambda x, axis: x.scatter_add(axis, Tensor.zeros(x.shape, dtype="int64"), x * x),
}


def value_and_gradient(f, x):
    x = Tensor(x, requires_grad=True)
    y = f(x)
    if not y.requires_grad:
        return y.tolist(), None
    y.backward(np.ones(y.shape))
    return y.tolist(), x.grad.tolist()


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", [*REDUCTIONS, *ALONG])
def test_a_0d_tensor_acts_like_a_row_of_one(name, axis):
    f = {**REDUCTIONS, **ALONG}[name]
    value, gradient = value_and_gradient(lambda x: f(x, axis=axis), -3.0)
    row, of_row = value_and_gradient(lambda x: f(x, axis=axis), [-3.0])
    assert [value] == np.ravel(row).tolist() and (gradient is None or [gradient] == of_row)
    with pytest.raises((IndexError, ValueError)):
        f(Tensor(3.0), axis=1)


@pytest.mark.parametrize("call", [
    lambda x: x.unbind(0), lambda x: x.split(1, 0), lambda x: x.chunk(1, 0), lambda x: x.unflatten(0, (1,)),
    lambda x: x.repeat_interleave(2, 0), lambda x: ops.cat(x, x), lambda x: ops.glu(x, axis=0), lambda x: x[0]])
def test_ops_that_split_or_join_refuse_a_0d_tensor(call):
    with pytest.raises(IndexError, match=r"a 0-d Tensor has none|for the 0 axes"):
        call(Tensor(3.0))


@pytest.mark.parametrize("shape", [(2, 3), (8, 50)], ids=["few", "many"])
@pytest.mark.parametrize("name", [*REDUCTIONS, "flip"])
def test_the_empty_tuple_names_no_axis(name, shape):
    f, x = {**REDUCTIONS, "flip": ops.flip}[name], np.random.default_rng(0).uniform(-2, 2, shape).astype(np.float32)
    value, gradient = value_and_gradient(lambda x: f(x, axis=()), x)
    alone, of_alone = value_and_gradient(lambda x: f(x.unsqueeze(-1), axis=-1), x)
    np.testing.assert_allclose(np.reshape(alone, shape), value, rtol=1e-6)
    assert gradient is of_alone or np.allclose(gradient, of_alone, rtol=1e-6)


def test_flip_takes_no_axis_or_all():
    x = Tensor([[1, 2], [3, 4]])
    assert x.flip(()).tolist() == x.flip([]).tolist() == ops.flip(x, axis=()).tolist() == x.tolist()
    assert x.flip().tolist() == ops.flip(x).tolist() == x.flip(0, 1).tolist() == [[4, 3], [2, 1]]


def test_a_mean_or_variance_of_nothing_raises():
    for call in (lambda x: x.mean(), lambda x: x.var(), lambda x: x.std(0), lambda x: x.mean(0)):
        with pytest.raises(ValueError, match=r"^(mean|var): "):
            call(Tensor.zeros(0))
    with pytest.raises(ValueError, match="use correction=0"):
        Tensor(3.0).var(0)


def test_an_axis_may_be_a_numpy_integer():
    x = Tensor(np.arange(6.0).reshape(2, 3))
    for axis in -2, -1, 0, 1:
        for one in np.int64(axis), np.int8(axis):
            assert ops.sum(x, axis=one).tolist() == ops.sum(x, axis=axis).tolist()
            assert ops.cumsum(x, axis=one).tolist() == ops.cumsum(x, axis=axis).tolist()


@pytest.mark.parametrize("name", [name for name in (*REDUCTIONS, *ALONG) if name not in ("var", "std")])
def test_a_bool_as_axis_raises(name):
    """In `x.norm(1, True)` some mean keepdim, but Python reads axis 1."""
    for axis in True, np.bool(False), (True,):
        if name in ("transpose", "gather", "scatter", "scatter a number", "scatter_add", "sort") and axis == (True,):
            continue
        with pytest.raises(TypeError, match="axis must be an integer, got"):
            (REDUCTIONS | ALONG)[name](Tensor(np.ones((2, 2))), axis)
    x = Tensor(np.ones((2, 3)))
    for call in (lambda: x.norm(1, True), lambda: x.sum(True), lambda: x.max(True), lambda: x.unsqueeze(True)):
        with pytest.raises(TypeError, match="axis must be an integer, got True"):
            call()
    assert x.var(True).item() == x.std(True).item() == 0  # the correction, as in PyTorch


def test_isinf_may_look_for_one_sign():
    x = Tensor([1.0, np.inf, -np.inf, np.nan])
    for positive, negative, expected in ((True, True, [0, 1, 1, 0]), (True, False, [0, 1, 0, 0]),
                                         (False, True, [0, 0, 1, 0]), (False, False, [0, 0, 0, 0])):
        assert x.isinf(detect_positive=positive, detect_negative=negative).int().tolist() == expected
