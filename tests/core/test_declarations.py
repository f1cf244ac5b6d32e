"""An op's declaration: what it saves and may write to, how its rules run, and its name."""

import gc
import linecache
import pickle
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tinygrad_like import Residuals, Tensor, ops, primitive
from tinygrad_like.core import dispatch
from tinygrad_like.core.dispatch import declared
from tinygrad_like.core.primitive import fresh
from tinygrad_like.errors import checked
from tinygrad_like.ops.composite import composite


def leaf(*values, dtype="float64"):
    return Tensor(list(values), requires_grad=True, dtype=dtype)


def declare(forward, **rules):
    op = primitive(forward)
    op.vjp(**rules)
    return op


BOTH = pytest.mark.parametrize("how", [{}, {"create_graph": True}], ids=["numbers", "graph"])


def test_an_op_that_saves_no_value_can_be_walked_again():
    shifted = declare(lambda x, *, by=1.0: x + by, x=lambda g, x_shape, by: g)
    squared = declare(lambda x: x * x, x=lambda g, x: 2 * g * x)
    rooted = declare(lambda x: np.sqrt(x), x=lambda g, out: g / (2 * out))
    masked = declare(lambda x: (abs(x), Residuals(sign=np.sign(x))), x=lambda g, sign: g * sign)
    assert shifted in declared and not shifted.saves
    x = leaf(4.0)
    y = shifted(x, by=2.0)
    for times in (1, 2, 3):
        y.backward()
        assert x.grad.item() == times
    for op in (squared, rooted, masked):
        assert op.saves
        x = leaf(4.0)
        y = op(x)
        y.backward()
        assert x.grad.item() == {squared: 8, rooted: 0.25, masked: 1}[op]
        with pytest.raises(RuntimeError, match="was already freed"):
            y.backward()


def test_only_rules_declared_fresh_are_fresh():
    def hand_on(g):
        return g

    def copy(g):
        return g * 1

    copied = fresh(lambda g: g * 1)
    assert not declare(lambda a, b: a + b, a=copied, b=hand_on).fresh
    assert not declare(lambda a: a * 1, a=copy).fresh and declare(lambda a, b: a + b, a=copied, b=copied).fresh
    joint = primitive(lambda a, b: a + b)
    joint.joint_vjp(lambda g: (g, g))
    assert not joint.fresh
    joint = primitive(lambda a, b: a + b)
    joint.joint_vjp(fresh(lambda g: (g * 1, g * 1)))
    assert joint.fresh and composite(lambda a: a * 1).fresh
    for op in (declare(lambda a, b: a + b, a=hand_on, b=hand_on), declare(lambda a, b: a + b, a=copied, b=copied)):
        x, y, g = leaf(1.0), leaf(1.0), np.array([1.0])
        (op(x, y) + x).backward(g)
        assert x.grad.item() == 2 and y.grad.item() == 1 and g.tolist() == [1]


def test_inputs_with_a_default_may_be_omitted():
    def scaled(x, a=None, b=None):
        return x * (2 if a is None else a)

    op = declare(scaled, x=lambda g, a: g * (2 if a is None else a), a=lambda g, x: g * x)
    x, a = leaf(3.0), leaf(5.0)
    assert op(x).item() == op(x=x).item() == 6 and op(x, a).item() == op(x, b=None, a=a).item() == 15
    assert op.required == 1 and op.arity == 3 and ops.cat.arity is None
    with pytest.raises(TypeError, match="scaled: missing input 'x'"):
        op(a=a)
    with pytest.raises(TypeError, match="scaled: missing input 'x'"):
        op()


@BOTH
def test_a_variadic_rule_names_its_inputs_and_options_in_any_order(how):
    def product(*xs, scale=1.0):
        return scale * xs[0] * xs[1]

    op = declare(product, xs=lambda g, scale, which, xs: g * scale * xs[1 - which])
    a, b = leaf(2.0), leaf(3.0)
    assert [x.item() for x in op(a, b, scale=10.0).gradient(a, b, **how)] == [30, 20]
    total = declare(lambda *xs: np.sum(xs, axis=0), xs=lambda g: g)
    assert [x.item() for x in total(a, b).gradient(a, b, **how)] == [1, 1]


def test_cotangents_are_arrays_unless_their_graph_is_wanted():
    op = composite(lambda a, b: a * 1)
    op.accelerate(lambda a, b: (a * 1, None))
    kinds = []
    for how in ({}, {"create_graph": True}):
        a, b = leaf(2.0), leaf(3.0)
        y = op(a, b)
        pull = op.cotangents
        op.cotangents = lambda *args, pull=pull: kinds.append(list(map(type, found := pull(*args)))) or found
        assert [g.item() for g in y.gradient(a, b, **how)] == [1, 0]
        del op.cotangents
    assert kinds == [[np.ndarray] * 2, [Tensor] * 2]


@BOTH
def test_a_definition_run_for_backward_gives_each_input_its_own_array(how):
    op = composite(lambda a, b: a + b)  # add's rule gives both inputs one array
    op.accelerate(lambda a, b: (a + b, None))
    x, y = leaf(2.0), leaf(3.0)
    given = np.array([1.0])
    (op(x, y) + x).backward(given, **how)
    assert x.grad.item() == 2 and y.grad.item() == 1 and given.item() == 1
    arrays = [given, *[c._data for c in op(x, y).gradient(x, y, gradient=Tensor(given), **how)]]
    assert not any([np.shares_memory(a, b) for a, b in combinations(arrays, 2)])


@pytest.mark.parametrize("kind", [np.array, list])
def test_a_constant_operand_may_be_changed_after_the_call(kind):
    x, factor = leaf(2.0, 3.0), kind([5.0, 7.0])
    y = x * factor
    factor[0] = 0.0
    y.sum().backward()
    assert y.tolist() == [10, 21] and x.grad.tolist() == [5, 7]


# Rules on arrays ------------------------------------------------------------------------------------------------------


def twice(x):
    return double(x)


def double(x):
    return ops.mul(x, 2.0)


@pytest.mark.needs("kernels")
def test_rules_run_on_arrays_without_calling_ops():
    """On Tensors, for the gradient's graph, they call the ops themselves."""
    called = []
    triple = declare(lambda x: called.append(type(x)) or x * 3, x=lambda g: g * 3)
    residual = declare(lambda x: (called.append(type(x)) or x * 5, Residuals(a=1)), x=lambda g, a: g * 5)
    names = {"triple": triple, "residual": residual, "__name__": "tinygrad_like.ops.here"}
    exec("def helper(x):\n    return triple(x)\n\n"
         "def rule(g):\n    return [helper(residual(y)) for y in (g,)][0]\n", names)
    op = declare(lambda x: x * 1, x=names["rule"])
    op.ours = True
    fast = op.array_rules[0][0].__globals__
    assert fast["helper"].__globals__["triple"] is triple.forward
    assert fast["residual"] is residual  # its forward returns more than an array
    assert op.rules[0][0] is names["rule"] and names["helper"].__globals__["triple"] is triple  # unchanged
    x = leaf(1.0)
    for how in ({}, {"create_graph": True}):
        called.clear()
        assert op(x).gradient(x, **how)[0].item() == 15 and len(called) == 2
    seven = 7.0
    closure = declare(lambda x: x * 1, x=lambda g: g * seven)
    rule = closure.rules[0][0]
    closure.ours = True
    assert closure.array_rules[0][0] is rule and closure(x).gradient(x)[0].item() == 7


def test_functions_of_other_modules_are_called_unchanged():
    op = declare(lambda x: x * 2, x=lambda g: twice(g))
    op.ours = True
    assert op.array_rules[0][0].__globals__["twice"] is twice
    x = leaf(1.0)
    assert op(x).gradient(x)[0].item() == 2


@pytest.mark.needs("kernels")
def test_an_ops_generated_code_is_freed_with_it():
    op = declare(lambda x: x * 2, x=lambda g: g * 2)
    for _ in range(2):
        op(leaf(1.0)).backward()
    name = f" of {op.name} {id(op):x}>"
    assert any(name in file for file in linecache.cache)
    del op
    gc.collect()
    assert not any(name in file for file in linecache.cache)


# Names ----------------------------------------------------------------------------------------------------------------


def test_only_ops_in_modules_can_be_pickled():
    assert pickle.loads(pickle.dumps(ops.exp)) is ops.exp
    local = primitive(lambda x: x * 1)
    with pytest.raises(AttributeError, match="the op <lambda> is not in .*; pickle needs ops to be module attributes"):
        pickle.loads(pickle.dumps(local))


def test_an_explanation_is_asked_for_only_after_the_forward_failed():
    asked = []

    @primitive
    def halves(x, *, n=2):
        return x.reshape(n, -1)

    @halves.explains
    def _(x, n):
        asked.append(n)
        return f"shape {x.shape} does not fall into {n} parts" if x.size % n else None

    for _ in range(4):
        assert halves(Tensor([1.0, 2.0])).shape == (2, 1) and not asked
    with pytest.raises(ValueError, match=r"^halves: shape \(2,\) does not fall into 3 parts$"):
        halves(Tensor([1.0, 2.0]), n=3)
    assert asked == [3]


def test_functions_made_of_ops_may_have_contracts():
    @checked
    def cut(x, *sizes, axis=0, **others):
        return x, sizes, axis, others

    @cut.requires
    def _(x, sizes, axis, others):
        return f"{len(sizes)} sizes for axis {axis}" if len(sizes) != axis else None if not others else TypeError("why")

    assert cut(1) == (1, (), 0, {}) and cut(1, 5, axis=1) == (1, (5,), 1, {})
    with pytest.raises(ValueError, match=r"^cut: 1 sizes for axis 2$"):
        cut(1, 5, axis=2)
    with pytest.raises(TypeError, match=r"^cut: why$"):
        cut(1, a=1)
    with pytest.raises(TypeError, match=r"^cut: .*missing 1 required"):
        cut()


def test_the_core_is_small():
    """A learner reads it first, and can finish it."""
    core = Path(dispatch.__file__).parent
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in core.glob("*.py")) <= 800
