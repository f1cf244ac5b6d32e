"""Calls that mean something else in NumPy or tinygrad have PyTorch's meaning; the numbers are PyTorch's."""

import inspect
import warnings

import numpy as np
import pytest

import nn
import nn.functional as F
import tinygrad_like as tg
from tinygrad_like import Tensor
from tinygrad_like.core.primitive import Op

rng = np.random.default_rng(5)
IMAGES, WEIGHT = rng.standard_normal((2, 4, 8, 8)), rng.standard_normal((4, 2, 3, 3))
inf, nan = float("inf"), float("nan")


def alike(found, expected, dtype=None):
    found, expected = (y if isinstance(y, tuple) else (y,) for y in (found, expected))
    for y, z in zip(found, expected, strict=True):
        z = z if isinstance(z, Tensor) else Tensor(z)
        assert y.shape == z.shape and y.dtype == (dtype or z.dtype), (y, z)
        np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-6)


# The order of arguments -----------------------------------------------------------------------------------------------

CALLS = {
    "conv1d": lambda x, w: (tg.conv1d(x[..., 0], w[..., 0], None, 2, 1, 1, 2),
                            x[..., 0].conv2d(w[..., 0], None, 2, 2, 1, 1)),
    "conv2d": lambda x, w: (tg.conv2d(x, w, None, 1, 2, 1, 2), x.conv2d(w, padding=2, groups=2)),
    "conv_transpose2d": lambda x, w: (tg.conv_transpose2d(x, w, None, 2, 1, 1, 2), x.conv_transpose2d(
        w, stride=2, padding=1, output_padding=1, groups=2)),
    "max_pool2d": lambda x, w: (tg.max_pool2d(x, 3, 2, 1), x.max_pool2d(3, stride=2, padding=1)),
    "layer_norm": lambda x, w: (tg.layer_norm(x, (8,), x[0, 0, 0], x[0, 0, 1]), F.layer_norm(
        x, (8,), x[0, 0, 0], x[0, 0, 1])),
    "group_norm": lambda x, w: (tg.group_norm(x, 2, x[0, :, 0, 0]), F.group_norm(x, 2, x[0, :, 0, 0])),
    "dropout": lambda x, w: (tg.dropout(x, 0.5, train=False), x),
    "prelu": lambda x, w: (tg.prelu(x, x[0, :, 0, 0]), F.prelu(x, x[0, :, 0, 0])),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_packages_functions_have_pytorchs_order_and_methods_tinygrads(name):
    alike(*CALLS[name](Tensor(IMAGES), Tensor(WEIGHT)))


@pytest.mark.parametrize(("name", "mean"), [("var", False), ("std", False), ("var_mean", True), ("std_mean", True)])
def test_a_bool_after_the_axis_is_unbiased(name, mean):
    x = Tensor([[1.0, 2.0, 4.0], [2.0, 7.0, 9.0]])
    for place, options in ((False,), {"correction": 0}), ((True,), {}), ((1, False), {"axis": 1, "correction": 0}), (
            (1, True), {"axis": 1}), ((1, False, True), {"axis": 1, "correction": 0, "keepdim": True}), (
            ((0, 1), False), {"correction": 0}), ((1,), {"axis": 1}), ((1, True, 0), {
                "axis": 1, "keepdim": True, "correction": 0}):  # the last is tinygrad's
        for call in getattr(tg, name), getattr(Tensor, name):
            y = call(x, *place)
            alike(y, getattr(Tensor, name)(x, **options))
            variance = np.var(x.numpy(), axis=options.get("axis"), ddof=options.get("correction", 1),
                              keepdims=options.get("keepdim", False))
            alike(y[0] if mean else y, variance if "var" in name else np.sqrt(variance))
    alike(getattr(x, name)(1, False, keepdim=True), getattr(x, name)(1, False, True))
    alike(getattr(x, name)(1, unbiased=False, keepdim=True), getattr(x, name)(1, False, True))
    for wrong in (lambda: getattr(x, name)(1, axis=1), lambda: getattr(x, name)(1, True, 0, 1)):
        with pytest.raises(TypeError, match=f"{name}: too many arguments, or axis given twice"):
            wrong()
    with pytest.raises(TypeError, match=f"{name}: takes .* by position, got 0 after the axis; write correction=0"):
        getattr(x, name)(1, 0)


def test_alpha_multiplies_in_the_dtype_of_the_result():
    small = Tensor(np.array([100], np.int8))
    alike(tg.add(tg.tensor([1.0]), small, alpha=3), [301.0])
    alike(tg.sub(tg.tensor([0.0]), Tensor(np.array([200], np.uint8)), alpha=2), [-400.0])
    alike(tg.tensor([1]).add(small, alpha=3), [301])
    alike(small.add(small, alpha=3), np.array([-112], np.int8))
    x = tg.tensor([1.0])
    x.add_(small, alpha=3)
    assert x.tolist() == [301] and tg.tensor([True]).add(Tensor([2]), alpha=2).tolist() == [5]


# Integers and booleans ------------------------------------------------------------------------------------------------


def test_logical_functions_take_truth_and_operators_bits():
    a, b = Tensor([0, 1, 2, 0]), Tensor([0, 2, 2, 3])
    for x, y in ((a, b), (a.float(), b), (a.cast("uint8"), b.bool()), (a.numpy(), b)):
        for name, expected in {"and": [False, True, True, False], "or": [False, True, True, True],
                               "xor": [False, False, False, True]}.items():
            alike(getattr(tg, f"logical_{name}")(x, y), expected)
    alike(a.logical_not(), [True, False, False, True])
    alike(tg.logical_not(tg.tensor([0.0, nan])), [True, False])
    alike(a.logical_and(2), [False, True, True, False])
    assert (a & b).tolist() == [0, 0, 2, 0] and (a | b).tolist() == [0, 3, 2, 3] and (a ^ b).tolist() == [0, 3, 0, 3]
    assert (~a).tolist() == a.bitwise_not().tolist() == [-1, -2, -3, -1]
    assert a.clone().logical_xor_(b).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("call", [
    lambda x, n: x // n, lambda x, n: x % n, lambda x, n: tg.fmod(x, n), lambda x, n: tg.remainder(x, n),
    lambda x, n: tg.div(x, n, rounding_mode="trunc"), lambda x, n: tg.div(x, n, rounding_mode="floor")])
def test_dividing_an_integer_by_zero_raises(call):
    x = Tensor([7, 3])
    for n in 0, Tensor([1, 0]), np.array([0, 1]), False:
        with pytest.raises(ZeroDivisionError, match="an integer is divided by 0"):
            call(x, n)
    assert call(Tensor([7]), 2).item() in (1, 3) and call(x[:0], 0).shape == (0,)
    with np.errstate(all="ignore"):
        assert not call(x, 0.0).isfinite().any() and not call(x, Tensor([0.0, 0.0])).isfinite().any()


# Indices --------------------------------------------------------------------------------------------------------------

INDICES = {  # the index, and its meaning in PyTorch
    "integer first": ((0, slice(None), [0, 2]), lambda x: x[0][:, [0, 2]]),
    "integer last": (([0, 1], slice(None), slice(None), 2), lambda x: x[:, :, :, 2][[0, 1]]),
    "integers around": ((1, slice(1, None), [0, 2, 2], -1), lambda x: x[1, :, :, -1][1:][:, [0, 2, 2]]),
    "behind an Ellipsis": ((0, ..., [0, 2]), lambda x: x[0][:, :, [0, 2]]),
    "before a new axis": ((0, None, [1, 2], [3, 0]), lambda x: x[0][[1, 2], [3, 0]][None]),
    "a Tensor without axes": ((np.array(1), slice(None), [0, 2]), lambda x: x[1][:, [0, 2]]),
    "a mask": ((1, slice(None), np.array([True, False, True, True])), lambda x: x[1][:, [0, 2, 3]]),
    "two axes": ((0, slice(None), [[0, 2], [1, 3]]), lambda x: x[0][:, [[0, 2], [1, 3]]]),
    "an empty Ellipsis": ((slice(None), [0, 1], ..., [0, 2], slice(None)), lambda x: x[:, [0, 1], [0, 2]]),
    "arrays apart": (([0, 1], slice(None), [0, 2]), lambda x: x[[0, 1], :, [0, 2]]),
    "arrays apart, and an integer": (([0, 1], slice(None), [0, 2], 1), lambda x: x[:, :, :, 1][[0, 1], :, [0, 2]]),
}


@pytest.mark.parametrize("case", INDICES)
def test_integers_are_applied_before_arrays(case):
    index, expected = INDICES[case]
    index = tuple([Tensor(i) if isinstance(i, np.ndarray) else i for i in index])
    x = Tensor(np.arange(120, dtype=np.float64).reshape(2, 3, 4, 5), requires_grad=True)
    y, z = x[index], expected(x)
    assert y.shape == z.shape and y.tolist() == z.tolist()
    g = rng.standard_normal(y.shape)
    np.testing.assert_allclose(y.gradient(x, gradient=g)[0].numpy(), z.gradient(x, gradient=g)[0].numpy())
    if case == "integers around":  # names an element twice
        return
    with pytest.raises(ValueError, match=f"does not broadcast to \\({y.shape[0]}, {y.shape[1]}"):
        Tensor(np.zeros(x.shape))[index] = np.ones((*y.shape, 7))
    changed = Tensor(np.zeros(x.shape))
    changed[index] = np.ones((1, 1, *y.shape))  # leading axes of length 1 are harmless
    (zeros := Tensor(np.zeros(x.shape)) * 1)[index] = Tensor(np.ones((1, 1, *y.shape)), requires_grad=True)
    assert changed.sum().item() == zeros.sum().item() == y.numel()
    values = rng.standard_normal(y.shape[1:])
    for value in values, Tensor(values), Tensor(values, requires_grad=True):
        changed = Tensor(np.zeros(x.shape))
        changed[index] = value
        assert changed[index].tolist() == np.broadcast_to(values, y.shape).tolist() and changed.sum().item() != 0
        assert np.count_nonzero(changed.detach().numpy()) == y.numel()
    (changed * x.detach()).sum().backward()
    np.testing.assert_allclose(value.grad.numpy(), z.detach().numpy().sum(0))
    y = x * 1
    y[index] += 1
    assert (y - x).sum().item() == z.numel()


# NaN and infinities ---------------------------------------------------------------------------------------------------


def test_shrink_and_clamp_keep_nan():
    x = Tensor([nan, 0.2, 2.0, -2.0])
    alike(F.softshrink(x), [nan, 0.0, 1.5, -1.5])
    alike(F.hardshrink(x), [nan, 0.0, 2.0, -2.0])
    alike(tg.clamp(Tensor([1.0, nan, 2.0]), Tensor([nan, 0.0, 3.0]), Tensor([5.0, 5.0, nan])), [nan, nan, nan])
    alike(tg.clamp(Tensor([1.0, 4.0]), Tensor([2.0, 0.0]), Tensor([3.0, 3.0])), [2.0, 3.0])
    x = Tensor([nan, 1.0, 2.0], requires_grad=True)
    (y := tg.clamp(x, min=Tensor([1.0, nan, 3.0]))).where(y == y, 0.0).sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_copysign_returns_floats():
    alike(tg.copysign(Tensor(np.array([51], np.uint8)), Tensor([-1.0])), [-51.0])
    alike(tg.copysign(Tensor([1]), -1.5), [-1.0])
    alike(tg.copysign(Tensor([3]), Tensor([-2])), [-3.0])
    alike(tg.copysign(Tensor([3.0]), Tensor(np.array([-2.0]))), np.array([-3.0]))
    alike(tg.copysign(Tensor([3.0]), Tensor(np.array(-2.0))), [-3.0])


def test_backward_adds_to_a_gradient_in_place():
    w, flat = tg.ones(2, requires_grad=True), tg.zeros(4)
    w.grad = flat[1:3]
    held = w.grad
    (w * 3).sum().backward()
    (w * 4).sum().backward(inputs=[w])
    assert w.grad is held and flat.tolist() == [0, 7, 7, 0]
    tg.optim.SGD([w], lr=0.1).zero_grad(set_to_none=False)
    assert w.grad is held and flat.tolist() == [0, 0, 0, 0]
    (w * w).sum().backward(create_graph=True)  # this gradient has a graph, so it is a new Tensor
    assert w.grad is not held and held.tolist() == [0, 0] and w.grad.requires_grad
    w.grad = held
    (held * w).sum().backward()  # d/dw is held itself
    assert flat.tolist() == [0, 0, 0, 0]
    y = (w.grad * w).sum()
    (w * 2).sum().backward()
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()


@pytest.mark.parametrize("zeros", [True, False])
def test_a_function_with_gradients_in_a_shared_buffer_runs_without_capture(zeros):
    found = []
    for kind in (lambda f: f, tg.capture):
        layer, flat, start = tg.nn.Linear(2, 1), tg.zeros(3), 0
        for p in layer.parameters():
            p.data = p.data * 0 + 0.5
            p.grad = flat[start:start + p.numel()].view_as(p)
            start += p.numel()

        def step(x, layer=layer, flat=flat):
            layer.zero_grad(set_to_none=False) if zeros else flat.mul_(0.5)
            loss = layer(x).square().sum()
            loss.backward()
            with tg.no_grad():
                for p, g in zip(layer.parameters(), (flat[:2], flat[2:]), strict=True):
                    p.sub_(0.01 * g.view_as(p))
            return loss.detach()

        step = kind(step)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(([step(Tensor([[1.0, i]])).item() for i in range(6)], flat.tolist()))
    assert found[0] == found[1] and "is on memory held elsewhere too" in str(caught[0].message)


@pytest.mark.parametrize("fuse", [True, False])
def test_a_captured_function_adds_to_gradients_in_place(fuse):
    found = []
    for kind in (lambda f: f, lambda f: tg.capture(f, fuse=fuse)):
        w = tg.ones(3, requires_grad=True)
        optimizer = tg.optim.SGD([w], lr=0.1)

        def step(x, w=w, optimizer=optimizer):
            before = w.grad
            (w * x).sum().backward()
            between = w.grad
            (w * x * x).sum().backward()
            late = between.sum() * 10
            optimizer.step()
            return late, late if before is None else before.sum()

        step, got = kind(step), []
        for i in range(12):
            if i == 7:
                w.grad = None
            if i == 9:
                w.grad.zero_()
            got.append([y.item() for y in step(Tensor([i, 1.0, 2.0]))] + w.grad.tolist() + w.tolist())
        found.append(got)
    assert found[0] == found[1] and step.programs


@pytest.mark.torch
def test_losses_refuse_pytorchs_former_options_by_position():
    """Another option of ours could stand in the place of size_average; the error names the option to pass."""
    theirs = pytest.importorskip("torch").nn
    losses = {n: list(inspect.signature(f).parameters) for n, f in vars(theirs.functional).items() if hasattr(F, n)
              and inspect.isfunction(f) and "size_average" in inspect.signature(f).parameters}
    assert len(losses) >= 10
    for name, parameters in losses.items():
        given = parameters[:parameters.index("size_average")]
        options = {"margin": 1.0, "p": 2, "eps": 1e-6, "swap": False, "log_input": True, "full": False, "weight": None}
        known = [options.get(n, tg.rand(3, 4)) for n in given]
        for more in (False,), (True,), (None, False), (None, -100, False):
            with pytest.raises(TypeError, match=f"{name}: .*(reduction|at most)"):
                getattr(F, name)(*known, *more)
    layers = {n: list(inspect.signature(c).parameters) for n, c in vars(theirs).items()
              if isinstance(c, type) and "size_average" in inspect.signature(c).parameters and hasattr(nn, n)}
    assert len(layers) >= 10
    for name, parameters in layers.items():
        known = [options.get(n, 1) for n in parameters[:parameters.index("size_average")]]
        for more in (False,), (True,), (None, False):
            with pytest.raises(TypeError, match=f"{name}: .*reduction"):
                getattr(nn, name)(*known, *more)
        assert getattr(nn, name)(*known, size_average=False).reduction == "sum"
        assert getattr(nn, name)(*known, reduce=False).reduction == "none"


@pytest.mark.torch
def test_functions_of_nn_functional_have_pytorchs_positional_arguments():
    theirs = pytest.importorskip("torch").nn.functional
    same = {"x": "input", "_stacklevel": "dtype"}  # other names
    others = {"binary_cross_entropy_with_logits", "mse_loss"}  # which refuse them, see above
    compared = 0
    for name in sorted(set(vars(theirs)) & set(vars(F)) - others):
        f, own = getattr(theirs, name), getattr(F, name)
        if name[0] == "_" or not callable(f) or getattr(f, "__doc__", None) is None:
            continue
        try:
            expected = [same.get(n, n) for n in inspect.signature(f).parameters]
        except ValueError:  # a builtin
            continue
        found = [*own.inputs, *({} if "reduction" in own.options else own.options)] if isinstance(own, Op) else [
            p.name for p in inspect.signature(own).parameters.values() if p.kind is not p.KEYWORD_ONLY]
        if expected != ["args", "kwargs"]:
            compared += 1
            assert [same.get(n, n) for n in found] == expected[:len(found)], name
    assert compared > 40


def defaults(f):
    if isinstance(f, Op):
        f = getattr(f, "definition", f.__wrapped__)
    return {n: p.default for n, p in inspect.signature(f).parameters.items() if p.default is not p.empty}


def differing(name, *functions):
    a, b = map(defaults, functions)
    return {f"{name} {n}" for n in a.keys() & b.keys() if a[n] != b[n]}


@pytest.mark.torch
def test_defaults_equal_pytorchs():
    theirs = pytest.importorskip("torch").nn.functional
    ours = {name for name in vars(theirs).keys() & vars(F).keys() if name[0] != "_" and inspect.isfunction(
        getattr(theirs, name)) and callable(getattr(F, name))}
    found = set().union(*[differing(name, getattr(theirs, name), getattr(F, name)) for name in ours])
    unknown = {"interpolate recompute_scale_factor", "interpolate align_corners"}  # None there, which is False
    assert found - unknown == {f"{name} dim" for name in ("log_softmax", "softmax", "softmin")} and len(ours) > 50


def test_defaults_of_methods_and_functions_equal_those_of_their_ops():
    found = []
    for home in Tensor, F:
        for name in dir(home):
            f = getattr(home, name)
            if name[0] != "_" and hasattr(tg.ops, name) and (inspect.isfunction(f) or isinstance(f, Op)):
                found.append(differing(name, f, getattr(tg.ops, name)))
    assert set().union(*found) == {"interpolate mode", "pad value"} and len(found) > 200  # tinygrad's, and None for 0
