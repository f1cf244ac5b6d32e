"""How ops are declared and called, what they keep, and how kernels stand in for definitions."""

import itertools
import weakref
from functools import partial, wraps

import numpy as np
import pytest

from tests.core.test_declarations import declare
from tinygrad_like import Residuals, Tensor, manual_seed, no_grad, ops, primitive
from tinygrad_like.ops.composite import composite
from tinygrad_like.transforms.switches import after

FACTOR = 1


def leaf(values, dtype="float64"):
    return Tensor(values, requires_grad=True, dtype=dtype)


# Declaration ----------------------------------------------------------------------------------------------------------


def test_an_op_consists_of_its_forward_and_its_rules():
    def scaled(a, b, *, factor=2.0):
        """factor a b."""
        return factor * a * b

    op = declare(scaled, a=lambda g, b, factor: g * b * factor, b=lambda g, a, factor: g * a * factor)
    assert op.name == op.__name__ == "scaled" and op.__doc__ == "factor a b." and op.__wrapped__ is scaled
    assert repr(op) == "<op scaled(a, b, factor)>"
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = op(a, b, factor=10.0)
    assert y.detach().numpy().tolist() == [30, 80] and y.requires_grad and y.node.op is op
    assert op(a, b).gradient(a, gradient=[1.0, 1.0])[0].tolist() == [6, 8]  # the rule gets the default
    da, db = y.gradient(a, b, gradient=[1.0, -1.0])
    assert da.numpy().tolist() == [30, -40] and db.numpy().tolist() == [10, -20]


def test_on_arrays_an_op_only_runs_its_forward():
    x = np.array([1.0, 2.0])
    assert type(ops.exp(x)) is np.ndarray and np.array_equal(ops.exp(x), np.exp(x))
    assert isinstance(ops.sum(x), np.float64)
    assert type(ops.softmax(x)) is np.ndarray and type(ops.linear(x, np.ones((3, 2)))) is np.ndarray
    kept = declare(lambda x: (2 * x, Residuals(a=1)), x=lambda g, a: g)
    assert np.array_equal(kept(x), [2, 4])


def test_options_may_be_positional_and_inputs_named():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    assert ops.sum(x, 1).detach().numpy().tolist() == ops.sum(x, axis=1).detach().numpy().tolist() == [3, 7]
    for _ in range(3):  # from the second call on each op has its own code
        assert ops.sum(x, 1, True).shape == ops.sum(x, 1, keepdim=True).shape == (2, 1)
        assert ops.sum(x=x).item() == 10
        for y in (ops.cat(x, x, axis=1), ops.cat([x, x], 1), ops.cat((x, x), axis=1)):
            assert y.detach().numpy().tolist() == [[1, 2, 1, 2], [3, 4, 3, 4]]
    w, b = leaf([[1.0, 1.0]]), leaf([10.0])
    for y in (ops.linear(x, w, b), ops.linear(x, weight=w, bias=b), ops.linear(bias=b, x=x, weight=w)):
        assert y.detach().numpy().tolist() == [[13], [17]]
        assert len(y.gradient(x, w, b)) == 3 if y.size == 1 else True
    assert ops.linear(x, w).detach().numpy().tolist() == [[3], [7]]  # an optional input may be left out
    assert ops.linear(x, w, None).detach().numpy().tolist() == [[3], [7]]


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: ops.sum(x, 0, axis=0), "sum: 'axis' was given twice, by position and by name"),
    (lambda x: ops.sum(x, keep=True), r"sum: unknown argument 'keep': <op sum\(x, axis, keepdim\)>"),
    (lambda x: ops.sum(x, 0, True, 3), "sum: 4 arguments, but it takes at most 3"),
    (lambda x: ops.mul(x), r"mul: missing input 'b': <op mul\(a, b\)>"),
    (lambda x: ops.mul(), "mul: missing input 'a'"), (lambda x: ops.cat(x, at=0), "cat: unknown argument 'at'"),
])
def test_calls_that_do_not_fit_the_signature_raise(call, text):
    for _ in range(3):  # from the second call on each op has its own code
        with pytest.raises(TypeError, match=text):
            call(leaf([1.0]))


def test_rules_that_do_not_fit_the_op_raise():
    def add_one(x):
        return x + 1

    with pytest.raises(TypeError, match=r"add_one\.vjp: 'y' is not an input of <op add_one\(x\)>"):
        declare(add_one, y=lambda g: g)
    typo = declare(add_one, x=lambda g, scale: g)
    with pytest.raises(TypeError, match=r"a VJP rule of <op add_one\(x\)> names 'scale', "
                                        "which is not an input, option or residual"):
        typo(leaf([1.0]))
    typo(Tensor([1.0]))  # nothing is recorded, so nothing is missing
    with pytest.raises(TypeError, match="'out' names the output in VJP rules"):
        primitive(lambda x, out: x)


def test_rules_may_be_wrapped_or_partial_and_may_be_replaced():
    def by_output(g, out):
        return 3 * g * out

    @wraps(by_output)
    def wrapped(*given):
        return by_output(*given)

    by_input, x = partial(lambda scale, g, x: scale * g * x, 5), leaf([2.0])
    op, found = declare(lambda x: x**2, x=lambda g: g), []
    for rule in lambda g, x: 2 * g * x, by_output, wrapped, by_input:
        op.vjp(x=rule)
        for _ in range(3):
            found += op(x).gradient(x)[0].tolist()
    assert found == [4] * 3 + [12] * 6 + [10] * 3


def test_a_rule_sees_the_current_values_of_its_globals(monkeypatch):
    op, x, found = declare(lambda x: x * 1, x=lambda g: g * FACTOR), leaf([1.0]), []
    for factor in 2, 3:
        monkeypatch.setitem(globals(), "FACTOR", factor)
        found += op(x).gradient(x)[0].tolist()
    assert found == [2, 3]


def test_an_input_without_a_rule_has_no_gradient():
    op = declare(lambda a, b: a * b, a=lambda g, b: g * b)
    a, b = leaf([2.0]), leaf([3.0])
    assert op(a, b.detach()).gradient(a)[0].item() == 3
    with pytest.raises(NotImplementedError, match=r"has no VJP for input 'b'; pass it detach\(\)ed"):
        op(a, b).backward()
    assert op(a, b).gradient(a)[0].item() == 3  # not asked for


def test_an_op_without_rules_is_not_differentiable():
    x = leaf([1.0, 2.0])
    for y in (primitive(lambda x: x * 2.0)(x), ops.floordiv(x, 1.0), ops.eq(x, x), ops.argmax(x)):
        assert not y.requires_grad and y.node is None


def test_an_option_must_be_a_number_or_a_detached_0d_tensor():
    x, a = leaf([1.0, -2.0]), leaf(0.5)
    for call in (lambda a: ops.leaky_relu(x, negative_slope=a), lambda a: ops.leaky_relu(x, a),
                 lambda a: ops.leaky_relu(x.detach().numpy(), a), lambda a: ops.dropout(x, a),
                 lambda a: ops.self_attention(leaf(np.ones((2, 3))), num_heads=1, scale=a)):
        with pytest.raises(TypeError, match=r"^\w+: \w+ is an option, which gets no gradient, .* pass its .item()"):
            call(a)
        manual_seed(0)
        expected = call(0.5)
        manual_seed(0)
        assert call(a.detach()).tolist() == expected.tolist()
    with pytest.raises(TypeError, match=r"leaky_relu: negative_slope must be a number, got a Tensor of shape \(1,\)"):
        ops.leaky_relu(x, Tensor([0.5]))
    y = ops.leaky_relu(x, a.detach())
    assert y.gradient(x, gradient=[1.0, 1.0])[0].tolist() == [1, 0.5]
    assert x.sum(Tensor(0)).item() == -1
    with no_grad(), pytest.raises(TypeError, match="is an option"):
        ops.leaky_relu(x, a)
    # lerp takes its weight as an input.
    weight = leaf(0.5)
    assert leaf([3.0]).lerp(leaf([5.0]), weight).gradient(weight)[0].item() == 2


# Arguments of rules ---------------------------------------------------------------------------------------------------


def test_variadic_rules_get_the_index_of_their_input():
    asked = []

    def blend(*xs, weights):
        return sum(w * x for w, x in zip(weights, xs, strict=True))

    op = declare(blend, xs=lambda g, which, weights, xs_shape: (
        asked.append((which, xs_shape[which])) or g * weights[which]))
    x, y, z = leaf([1.0, 2.0]), Tensor([1.0, 1.0]), leaf([[1.0], [2.0]])
    out = op(x, y, z, weights=(2.0, 3.0, 5.0))
    assert out.shape == (2, 2)
    dx, dz = out.gradient(x, z, gradient=np.ones((2, 2)))
    assert dx.numpy().tolist() == [4, 4] and dz.numpy().tolist() == [[10], [10]]
    assert asked == [(0, (2,)), (2, (2, 1))]


def test_joint_rules_get_the_wanted_inputs():
    asked = []
    op = primitive(lambda a, b, c=None: a * b)

    @op.joint_vjp
    def _(g, a, b, wanted):
        asked.append(wanted)
        return g * b, g * a, None  # any sequence; cotangents that are not wanted are dropped

    a, b = leaf([2.0]), leaf([3.0])
    assert [g.item() for g in op(a, b).gradient(a, b)] == [3, 2]
    assert op(a, b).gradient(b)[0].item() == 2
    assert op(a, Tensor([3.0])).gradient(a)[0].item() == 3
    assert asked == [[True, True, False], [False, True, False], [True, False, False]]


# How cotangents add up ------------------------------------------------------------------------------------------------


def test_a_sum_is_not_added_to_a_shared_buffer():
    """add's rule gives h and z one array; what a slice adds to h's cotangent must not reach z's."""
    for parts in (lambda h: h[0:1], lambda h: h[1], lambda h: h.split(1)[1]):
        x, z = leaf([1.0, 2.0]), leaf([3.0, 4.0])
        h = x * 1
        s = h + z
        (s.sum() + 5 * parts(h).sum()).backward()
        assert z.grad.tolist() == [1, 1] and sorted(x.grad.tolist()) == [1, 6]


@pytest.mark.parametrize("n", [2, 70_000])  # a kernel adds the larger
def test_a_product_is_not_added_to_a_shared_buffer(n):
    x, z = leaf(np.ones(n), "float32"), leaf(np.ones(n), "float32")
    late = ops.permute(x, axes=(0,)) * z.detach()
    (late + (x + z)).backward(np.ones(n))
    assert (x.grad.numpy() == 2).all() and (z.grad.numpy() == 1).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_and_slices_add_up_in_every_order(dtype):
    """Rules of a 0-d Tensor return NumPy scalars, not arrays; those of x[None] and x[...] return slices."""
    uses = [lambda x: x * 2, lambda x: x[None].sum(), lambda x: x[...] * 3, lambda x: x[()], lambda x: x + x,
            lambda x: x.reshape(1)[0] * 7, lambda x: x.exp()]
    slopes = [2, 1, 3, 1, 2, 7, np.exp(2.0)]
    for count in (2, 3, 4):
        for chosen in itertools.permutations(range(len(uses)), count):
            x = leaf(2.0, dtype)
            h = x * 1  # both the leaf and an inner value are added up to
            total = sum([uses[i](h) + uses[i](x) for i in chosen[1:]], uses[chosen[0]](x))
            total.backward()
            expected = slopes[chosen[0]] + 2 * sum(slopes[i] for i in chosen[1:])
            assert x.grad.shape == () and x.grad.item() == pytest.approx(expected, rel=1e-6)


# Errors in rules ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "text"), [
    (lambda g: np.ones(3, np.float32),
     r"the VJP of wrong for input 'x' returned shape \(3,\), not a broadcast of \(2,\)"),
    (lambda g: np.float32(1), r"the VJP of wrong for input 'x' returned shape \(\), not a broadcast of \(2,\)"),
    (lambda g: g.astype(np.float64),
     "the VJP of wrong for input 'x' returned float64, but the input is float32, the output float32"),
    (lambda g: g.astype(np.int64), "the VJP of wrong for input 'x' returned int64"),
    (lambda g: 1.0, "the VJP of wrong for input 'x' returned float, not an array"),
    (lambda g: None, "the VJP of wrong for input 'x' returned NoneType, not an array"),
])
def test_a_wrong_cotangent_names_the_op(rule, text):
    def wrong(x):
        return x * 1

    x = leaf([1.0, 2.0], "float32")
    with pytest.raises((TypeError, ValueError), match=text):
        declare(wrong, x=rule)(x).sum().backward()


@pytest.mark.needs("compat")
def test_an_error_in_a_rule_names_the_op_and_the_input():
    def off(a, b):
        return a @ b

    a, b = leaf(np.ones((2, 3))), leaf(np.ones((3, 4)))
    op = declare(off, a=lambda g, b: g * b, b=lambda g, a: g * a)
    for how in ({}, {"create_graph": True}):
        with pytest.raises(ValueError, match=r"^the VJP of off for input 'a': .*\(2, ?4\).*\(3, ?4\)") as caught:
            op(a, b).sum().backward(**how)
        assert type(caught.value.__cause__) is ValueError  # with the line of the rule
    for rule, error, text in ((lambda g, x: g * np.cbrt(x), TypeError, "np.cbrt: NumPy .* off the graph.*ops.cos"),
                              (lambda g, x: g * x.copy(), AttributeError, "has no attribute 'copy'.*such as ops.cos")):
        op = declare(lambda x: np.sin(x), x=rule)
        op(a).sum().backward()  # on arrays it works
        with pytest.raises(error, match=r"^the VJP of <lambda> for input 'x': .*" + text):
            op(a).sum().backward(create_graph=True)
    joint = primitive(lambda a, b: a * b)
    joint.joint_vjp(lambda g, a, b: [g[9], g])
    with pytest.raises(IndexError, match="^the joint VJP of <lambda>: index 9 is out of bounds"):
        joint(a, a).sum().backward()


def test_a_joint_rule_must_return_one_cotangent_per_input():
    op = primitive(lambda a, b: a * b)
    op.joint_vjp(lambda g, a, b: [g * b])
    with pytest.raises(TypeError, match="the joint VJP of <lambda> returned 1 cotangents, not 2"):
        op(leaf([1.0]), leaf([1.0])).backward()


@pytest.mark.parametrize("error", [ValueError("my own words"), TypeError("my own words"),
                                   AttributeError("my own words"), KeyError("my own words")])
def test_an_error_of_the_forward_is_raised_unchanged(error):
    def broken(x):
        raise error

    with pytest.raises(type(error), match="my own words") as caught:
        primitive(broken)(leaf([1.0]))
    assert caught.value is error


# What a node keeps ----------------------------------------------------------------------------------------------------


def kept_alive(f, n):
    """Which of f's n inputs ("a", "b", ...) and its output ("out") stay in memory when only the node can hold them."""
    leaves = [leaf(np.full((2, 2), 0.5)) for _ in range(n)]
    inputs = [ops.add(x, 0.25) for x in leaves]
    y = f(*inputs)
    loss = ops.add(y, 1.0)
    refs = {name: weakref.ref(t._data) for name, t in [*zip("abcd", inputs, strict=False), ("out", y)]}
    del inputs, y
    alive = {name for name, ref in refs.items() if ref() is not None}
    loss.backward(np.ones(loss.shape))
    assert all(ref() is None for ref in refs.values()), "backward did not release what the node kept"
    return alive


@pytest.mark.parametrize(("f", "n", "kept"), [
    (ops.add, 2, set()), (ops.sub, 2, set()), (ops.neg, 1, set()), (ops.mul, 2, {"a", "b"}), (ops.div, 2, {"b", "out"}),
    (ops.exp, 1, {"out"}), (ops.tanh, 1, {"out"}), (ops.sigmoid, 1, {"out"}), (ops.sqrt, 1, {"out"}),
    (ops.relu, 1, {"out"}), (ops.softmax, 1, {"out"}), (ops.log_softmax, 1, {"out"}), (ops.reciprocal, 1, {"out"}),
    (ops.log, 1, {"a"}), (ops.sin, 1, {"a"}), (ops.square, 1, {"a"}), (ops.gelu, 1, {"a"}),
    (ops.sum, 1, set()), (ops.mean, 1, set()), (ops.cumsum, 1, set()), (ops.cat, 2, set()), (ops.stack, 2, set()),
    (lambda x: ops.roll(x, shifts=1), 1, set()), (lambda x: x.pad((1, 1)), 1, set()), (lambda x: x[[0, 0]], 1, set()),
    (lambda a, b: ops.where(np.eye(2) > 0, a, b), 2, set()), (lambda x: x * 2.0, 1, set()),
    (lambda x: x / 2.0, 1, set()), (lambda x: 2.0 / x, 1, {"a", "out"}), (lambda a, b: a * b.detach(), 2, {"b"}),
    (ops.matmul, 2, {"a", "b"}), (ops.linear, 2, {"a", "b"}),
], ids=lambda v: getattr(v, "__name__", ""))
def test_a_node_keeps_only_what_its_rules_name(f, n, kept):
    assert kept_alive(f, n) == kept


# Kernels and definitions ----------------------------------------------------------------------------------------------


def test_a_kernel_may_leave_a_case_to_the_definition():
    ran = []
    op = composite(lambda a, b: ran.append("definition") or a * b)
    op.accelerate(lambda a, b: (np.multiply(a, b), None) if len(a) == 1 else NotImplemented,
                  lambda g, wanted, a, b, residuals: NotImplemented if wanted[1] else [g * b, None])
    a, b = leaf([2.0]), leaf([3.0])
    for _ in range(3):  # from the second call on each op has its own code
        assert op(a, b).node.op is op and op(a, b).gradient(a)[0].item() == 3 and ran == []
        assert [g.item() for g in op(a, b).gradient(a, b)] == [3, 2] and ran.pop() == "definition"
        assert op(leaf([2.0, 1.0]), leaf([3.0, 1.0])).node.op is ops.mul and ran.pop() == "definition"
        assert op(np.ones(1), np.ones(1)).tolist() == [1] and not ran
        assert op(np.ones(2), np.ones(2)).tolist() == [1, 1] and ran.pop() == "definition"


@pytest.mark.parametrize("kernel", [False, True])
def test_a_composite_may_take_any_number_of_inputs(kernel):
    op = composite(lambda *xs, scale=1.0: xs[0] * xs[1] * xs[2] * scale)
    if kernel:
        op.accelerate(lambda *xs, scale: (np.prod(xs, axis=0) * scale, None))
    xs = leaf([2.0]), leaf([3.0]), leaf([5.0])
    for how in ({}, {"create_graph": True}):
        found = op(*xs, scale=2.0).gradient(*xs, **how)
        assert [g.item() for g in found] == [30, 20, 12]
    assert [g.item() for g in found[0].gradient(*xs[1:])] == [10, 6]


def test_a_changed_output_that_a_kernel_needs_is_noticed():
    op = composite(lambda x: ops.exp(x))
    op.accelerate(lambda x: (np.exp(x), "kept"), lambda g, wanted, x, kept, out: [g * out], out=True)
    for _ in range(3):
        x = leaf([0.0, 1.0])
        assert op(x).gradient(x, gradient=[1.0, 1.0])[0].tolist() == [1, np.e]
        y = op(x)
        y[0:1].detach().assign([1.0])
        with pytest.raises(RuntimeError, match="the output of .* was changed in place"):
            y.sum().backward()


def test_a_listener_sees_a_composite_and_its_ops():
    seen = []
    with after(lambda op, *_: seen.append(op.name)):
        ops.mse_loss(Tensor([1.0]), Tensor([2.0]))
        ops.mse_loss(Tensor([1.0], dtype="float64"), Tensor([2.0], dtype="float64"))
    assert seen[-1] == "mse_loss" and seen.count("mse_loss") == 2 and "square" in seen
