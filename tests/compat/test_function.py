"""PyTorch's custom Functions: gradients of both orders, several outputs, saved Tensors, and errors."""

import gc
import weakref

import numpy as np
import pytest

import tinygrad_like
from tinygrad_like import Tensor, capture, detect_anomaly, gradcheck, gradgradcheck, no_grad, ops
from tinygrad_like.autograd import Function, function

X, W = np.array([-0.8, 0.3, 1.1, 2.0]), np.array([1.0, 2.0, 0.5, 0.3])


def functions(lib, base):
    class Square(base):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    class Exp(base):
        @staticmethod
        def forward(x):
            return lib.exp(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return ctx.saved_tensors[0] * g

    class Two(base):
        @staticmethod
        def forward(ctx, x, w, power):
            y, z = lib.exp(x) * w, x ** power * w
            ctx.save_for_backward(x, w, y)
            ctx.power = power
            return y, z

        @staticmethod
        def backward(ctx, gy, gz):
            x, w, y = ctx.saved_tensors
            n = ctx.power
            return y * gy + n * x ** (n - 1) * w * gz, y / w * gy + x ** n * gz, None

    class Step(base):  # the straight-through estimator
        @staticmethod
        def forward(ctx, x):
            return (x > 0).to(x.dtype)

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-1, 1)

    return Square, Exp, Two, Step


Square, Exp, Two, Step = functions(tinygrad_like, Function)


def both_outputs(x, w):
    y, z = Two.apply(x, w, 3)
    return (y * z).sin() + z


@pytest.mark.parametrize(("f", "inputs"), [
    (Square.apply, (X,)), (Exp.apply, (X,)), (both_outputs, (X, W)), (lambda x, w: Two.apply(x, w, 2)[1], (X, W)),
    (lambda x: Exp.apply(Square.apply(x)), (X,)), (lambda x: Square.apply(x.expand(3, 4)), (X,)),
], ids=["square", "exp", "two outputs", "one of two", "nested", "expanded"])
def test_gradients_of_both_orders_are_right(f, inputs):
    assert gradcheck(f, *inputs) and gradgradcheck(f, *inputs)


@pytest.mark.torch
def test_custom_functions_equal_pytorchs():
    torch = pytest.importorskip("torch")
    found = []
    for lib, base in (torch, torch.autograd.Function), (tinygrad_like, Function):
        square, exp, two, step = functions(lib, base)
        x, w = (lib.tensor(a, requires_grad=True) for a in (X, W))
        y, z = two.apply(x, w, 2)
        loss = (square.apply(y) + exp.apply(z) * step.apply(x)).sum()
        gx, gw = lib.autograd.grad(loss, [x, w], create_graph=True)
        (gx * gx + gw).sum().backward()
        found.append([loss, gx, gw, x.grad, w.grad])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-10)


def test_ctx_has_pytorchs_attributes_and_methods():
    seen = {}

    class Look(Function):
        @staticmethod
        def forward(ctx, x, n, y):
            seen["recording"], seen["needs"] = tinygrad_like.is_grad_enabled(), ctx.needs_input_grad
            ctx.save_for_backward(x, None)
            index = x.argsort()
            ctx.mark_non_differentiable(index)
            ctx.set_materialize_grads(False)
            return x * n, x + y, index

        @staticmethod
        def backward(ctx, a, b, c):
            seen["cotangents"] = a, b, c
            return a, None, None

    x = Tensor([2.0, 1.0], requires_grad=True)
    a, b, index = Look.apply(x, 2.0, Tensor([1.0, 1.0]))
    assert not index.requires_grad and index.tolist() == [1, 0] and a.node.op.name == "Look"
    a.sum().backward()
    assert seen["recording"] is False and seen["needs"] == (True, False, False)
    assert seen["cotangents"][0].tolist() == [1, 1] and seen["cotangents"][1:] == (None, None)
    with no_grad():
        assert not Look.apply(x, 2.0, x)[0].requires_grad


@pytest.mark.parametrize(("gradients", "error", "message"), [
    (lambda g: g, RuntimeError, "Odd.backward: gave 1 gradients, but forward takes 2"),
    (lambda g: (g, None, g), RuntimeError, "gave 3 gradients"),
    (lambda g: (g.numpy(), None), TypeError, "for argument 0 it returned ndarray, not a Tensor"),
    (lambda g: (g[:2], None), ValueError, r"argument 0 it returned shape \(2,\), not a broadcast of \(3,\)"),
])
def test_wrong_gradients_raise(gradients, error, message):
    class Odd(Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def backward(ctx, g):
            return gradients(g)

    with pytest.raises(error, match=message):
        Odd.apply(Tensor.ones(3, requires_grad=True), 2).sum().backward()


def test_misuse_raises():
    with pytest.raises(TypeError, match=r"call Square.apply"):
        Square()(Tensor(1.0))
    with pytest.raises(NotImplementedError, match="must define a static forward"):
        Function.apply(Tensor(1.0))
    half = type("Half", (Function,), {"forward": staticmethod(lambda ctx, x: x * 1)})
    with pytest.raises(NotImplementedError, match="must define a static backward"):
        half.apply(Tensor([1.0], requires_grad=True)).backward()
    ctx = tinygrad_like.compat.function.Context((True,))
    with pytest.raises(TypeError, match="takes Tensors and None, got int"):
        ctx.save_for_backward(3)
    with pytest.raises(NotImplementedError, match="compute a new Tensor"):
        ctx.mark_dirty(Tensor(1.0))

    class Listed(Function):
        forward = staticmethod(lambda ctx, x: [x])

    with pytest.raises(TypeError, match="must give a Tensor or a tuple of them, got a list"):
        Listed.apply(Tensor(1.0, requires_grad=True))

    class Once(Function):
        forward = staticmethod(lambda ctx, x: x * 2)
        backward = staticmethod(function.once_differentiable(lambda ctx, g: g * 2))

    x = Tensor([1.0], requires_grad=True)
    assert Once.apply(x).gradient(x)[0].tolist() == [2]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        Once.apply(x).gradient(x, create_graph=True)


def test_changed_or_freed_saved_tensors_are_noticed():
    for f in Square, Exp:
        x = Tensor(X, requires_grad=True)
        y = f.apply(x)
        with no_grad():
            (x if f is Square else y.detach()).add_(1.0)
        with pytest.raises(RuntimeError, match=f"changed in place after {f.__name__} saved it"):
            y.sum().backward()
    loss = Square.apply(Tensor(X, requires_grad=True)).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="already freed"):
        loss.backward()


def test_the_graph_is_freed_without_the_garbage_collector():
    gc.disable()
    try:
        for f in (Exp.apply, lambda x: Two.apply(x, x, 2)[0]):
            y = f(Tensor(X, requires_grad=True))
            node = weakref.ref(y.node)
            del y
            assert node() is None
    finally:
        gc.enable()


def test_functions_work_captured_and_under_anomaly_detection():
    @capture
    def step(x):
        (g,) = (Exp.apply(x) * Two.apply(x, x, 2)[1]).sum().gradient(x)
        return g

    for i in range(6):
        x = Tensor(X + i / 10, requires_grad=True)
        (expected,) = (x.exp() * x ** 3).sum().gradient(x)
        np.testing.assert_allclose(step(x).numpy(), expected.numpy(), rtol=1e-12)

    class Bad(Function):
        forward = staticmethod(lambda ctx, x: x * 1)
        backward = staticmethod(lambda ctx, g: g * float("nan"))

    with pytest.raises(FloatingPointError, match="mul was given the first NaN"), detect_anomaly():
        Bad.apply(Tensor(X, requires_grad=True)).sum().backward()


def test_autograd_has_pytorchs_names():
    autograd = tinygrad_like.autograd
    x = Tensor(X, requires_grad=True)
    autograd.backward([x.sum(), x * x], [None, Tensor(W)])
    np.testing.assert_allclose(x.grad.numpy(), 1 + 2 * X * W)
    with autograd.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    autograd.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    autograd.set_grad_enabled(True)
    assert autograd.Variable(ops.exp(Tensor(X)), requires_grad=True).is_leaf


def test_a_new_output_shares_no_version_with_inputs():
    class Fresh(Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1, "a name", x.argsort()

        @staticmethod
        def backward(ctx, g, *others):
            assert others[1].tolist() == [0, 0] and others[0].dtype == np.float32
            return g

    x = Tensor([2.0, 1.0], requires_grad=True)
    h = x * 1
    square = h * h
    y, name, order = Fresh.apply(h)
    y += 1  # does not change h, which square needs
    assert name == "a name" and order.tolist() == [1, 0] and not order.requires_grad
    (square + y).sum().backward()
    assert x.grad.tolist() == [5, 3]


@pytest.mark.parametrize("shown", [lambda x: x, lambda x: x.view(-1), lambda x: x[1:]], ids=["itself", "view", "part"])
@pytest.mark.parametrize("leaf", [False, True])
def test_changes_of_an_output_that_shows_its_inputs_memory_are_noticed(shown, leaf):
    class Shown(Function):
        @staticmethod
        def forward(ctx, x):
            return shown(x)

        @staticmethod
        def backward(ctx, g):
            return shown(g)

    for saved, changed in ("y", "h"), ("h", "y"), ("h", "h"), ("y", "y"):
        x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
        h = x if leaf else x * 1
        y = Shown.apply(h)
        kept = {"h": h, "y": y}
        z = (kept[saved] * kept[saved]).sum()
        with pytest.raises(RuntimeError, match="shares the memory|changed in place"):
            if leaf and changed == "h":
                with no_grad():
                    h.add_(1.0)
            else:
                kept[changed].add_(1.0)
            z.backward()
