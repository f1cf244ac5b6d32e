"""Random programs over the public API, compared with PyTorch and with themselves.

A program is a list of actions: make a leaf, call an op, hook, backward, gradient, ... It is built from a seed, step by
step, on one side, and can be run again on another: PyTorch, another dtype, another thread. tests/ops tests single ops
and their gradients, tests/compat/test_random_changes.py changes in place; this file tests ops together in graphs.

    TINYGRAD_LIKE_PROGRAMS=10000 TINYGRAD_LIKE_SEED=7 pytest tests/test_programs.py [-m torch]

runs more programs than the usual 200, and different ones.

PyTorch differs on purpose in these points, and the comparison allows for them:

- A freed graph cannot be walked again. Ops that save nothing are not freed, and which ops save something differs: an
  index or a mask is an option here and a Tensor there. PyTorch also frees values that a forward saved together with the
  graph of a gradient that shares them, where ours computes them again. A library that does not refuse must give the
  gradient.
- A constant gradient may require grad and have a gradient of 0, or not require grad.
- `gradient` changes no `.grad`, not even retained ones, and returns the results of a target's hooks.
  PyTorch fills retained ones, and omits hooks if another target lies below.
- A second derivative may flow through other values, so hooks and `retain_grad` may see other gradients.
- A hook is called when a gradient flows: not for the other parts of a split, nor for a leaf that is only the root.
"""

import operator
import os
import random

import numpy as np
import pytest

from tinygrad_like import Tensor, checkpoint, no_grad, ops
from tinygrad_like.core.graph import Node

LIMIT = 30.0  # larger values are not used, so that rounding errors stay small
SMALL = [(), (1,), (2,), (3,), (2, 3), (3, 2), (3, 3), (1, 3), (2, 1), (2, 3, 2), (2, 2, 3, 3), (1, 2, 4, 3)]


# The sides that run a program ----------------------------------------------------------------------------------------


class Ours:
    """The values of a program; its methods from `leaf` to `gradient` are the actions, with plain arguments."""

    which = 0  # of a pair of functions, ours and PyTorch's
    freed = "already freed"  # in the error's message

    def __init__(self, dtype="float64"):
        self.dtype, self.values, self.seen, self.removers = dtype, [], [], []

    def leaf(self, array, requires_grad):
        self.add(Tensor(array, dtype=self.dtype, requires_grad=requires_grad))

    def add(self, value):
        self.values.append(value)

    def call(self, pair, operands, mode):
        f, xs = pair[self.which], [self.values[i] for i in operands]
        ys = self.run(f, xs, mode)
        for y in ys if isinstance(ys, tuple) else (ys,):
            if any(y is x for x in xs):  # as padding by 0 returns: each value must be a Tensor of its own
                y = y.view(y.shape)
            self.add(y.detach() if mode == "detach" else y)

    def run(self, f, xs, mode):
        if mode == "no_grad":
            with no_grad():
                return f(*xs)
        if mode == "closed":
            return checkpoint(lambda x: f(x, *xs[1:]), xs[0])
        return checkpoint(f, *xs) if mode == "checkpoint" else f(*xs)

    def hook(self, i, factor):
        """Watch the gradient of a value, and multiply it, unless factor is None."""
        seen: list = []
        array = self.array  # not self, which would make a cycle: self, value, hook

        def watch(g):
            if g is None:  # PyTorch calls the hooks of all parts of a split, even without a gradient
                return None
            seen.append(array(g).copy())
            return None if factor is None else g * factor

        self.seen.append(seen)
        self.removers.append(self.remover(self.values[i].register_hook(watch)))

    def remover(self, handle):
        return handle

    def unhook(self, which):
        self.removers[which]()

    def retain_grad(self, i):
        self.values[i].retain_grad()

    def zero_grad(self, i):
        self.values[i].grad = None

    def take_grad(self, i):
        """Make the gradient of a value, which is on the graph after create_graph, a new value."""
        self.add(self.values[i].grad)
        self.values[i].grad = None

    def backward(self, i, cotangent, retain_graph, create_graph):
        self.values[i].backward(self.constant(cotangent), retain_graph=retain_graph, create_graph=create_graph)

    def gradient(self, i, cotangent, retain_graph, create_graph, targets):
        targets = [self.values[t] for t in targets]
        for g in self.values[i].gradient(*targets, gradient=self.constant(cotangent), retain_graph=retain_graph,
                                         create_graph=create_graph, materialize_grads=True):
            self.add(g)

    def constant(self, array):
        return None if array is None else Tensor(array, dtype=self.dtype)

    @staticmethod
    def array(value):
        return value._data

    def grads(self):
        return [None if x.grad is None else self.array(x.grad) for x in self.values]


class Theirs(Ours):
    """PyTorch. If `retains`, no backward frees anything."""

    which, freed = 1, "second time"

    def __init__(self, dtype="float64", retains=False):
        super().__init__(dtype)
        self.torch, self.retains = pytest.importorskip("torch"), retains

    def leaf(self, array, requires_grad):
        self.add(self.constant(array).requires_grad_(requires_grad))

    def run(self, f, xs, mode):
        with self.torch.set_grad_enabled(mode != "no_grad"):
            return f(*xs)

    def remover(self, handle):
        return handle.remove

    def backward(self, i, cotangent, retain_graph, create_graph):
        super().backward(i, cotangent, retain_graph or self.retains, create_graph)

    def gradient(self, i, cotangent, retain_graph, create_graph, targets):
        retain_graph = retain_graph or self.retains
        targets = [self.values[t] for t in targets]
        retained = [(x, x.grad) for x in self.values if x.retains_grad]
        for g in self.torch.autograd.grad(self.values[i], targets, self.constant(cotangent), retain_graph=retain_graph,
                                          create_graph=create_graph, materialize_grads=True):
            g = g.clone() if any(g is x for x in self.values) else g  # asked for twice
            self.add(g.detach() if g.is_leaf else g)  # zeros made here require grad after create_graph
        for x, grad in retained:
            x.grad = grad

    def constant(self, array):
        return None if array is None else self.torch.tensor(array, dtype=getattr(self.torch, self.dtype))

    @staticmethod
    def array(value):
        return value.numpy(force=True)

    def grads(self):
        return [self.array(x.grad) if (x.is_leaf or x.retains_grad) and x.grad is not None else None
                for x in self.values]


# The ops of programs ------------------------------------------------------------------------------------------------


def both(name):
    """The function that calls a method of either library's Tensor."""
    return lambda x: getattr(x, name)()


def torch_(name):
    """A function of PyTorch, by its path from torch.nn.functional or torch, looked up when it is called."""
    def f(*args, **options):
        import torch
        return operator.attrgetter(name.replace("F.", "nn.functional."))(torch)(*args, **options)
    return f


def pair(name, theirs=None):
    return getattr(ops, name), torch_(theirs or name)


def everywhere(x):
    return True


def positive(x):
    return (x > 0.05).all()


def nonzero(x):
    return (np.abs(x) > 0.1).all()


# name: (ours, theirs), and the condition for x, where the op is smooth
SMOOTH = {
    "neg": (pair("neg"), everywhere), "square": (pair("square"), everywhere), "sin": (pair("sin"), everywhere),
    "tanh": ((both("tanh"),) * 2, everywhere), "exp": (pair("exp"), lambda x: (np.abs(x) < 3).all()),
    "log": (pair("log"), positive), "sqrt": (pair("sqrt"), positive), "reciprocal": (pair("reciprocal"), nonzero),
    "gelu": (pair("gelu", "F.gelu"), everywhere), "clone": (pair("clone"), everywhere),
    "1 - x": ((lambda x: 1 - x,) * 2, everywhere), "x / 3": ((lambda x: x / 3,) * 2, everywhere),
    "x^3": ((lambda x: x**3,) * 2, everywhere), "x^2.5": ((lambda x: x**2.5,) * 2, positive),
    "x * x": ((lambda x: x * x,) * 2, everywhere), "x^2 + 0.3": ((lambda x: x * x + 0.3,) * 2, everywhere),
}
# name: (ours, theirs), and the kinks
KINKED = {
    "relu": (pair("relu"), (0.0,)), "abs": (pair("abs"), (0.0,)), "sign": (pair("sign"), (0.0,)),
    "clip": ((lambda x: x.clip(-0.5, 0.75),) * 2, (-0.5, 0.75)),
    "masked_fill": ((lambda x: x.masked_fill(x > 0.1, 0.5),) * 2, (0.1,)),
    "x % 1.5": ((lambda x: x % 1.5,) * 2, 1.5 * np.arange(-21, 21)),
}
BINARY = {
    "add": (lambda a, b: a + b,) * 2, "sub": (lambda a, b: a - b,) * 2, "mul": (lambda a, b: a * b,) * 2,
    "div": (lambda a, b: a / b,) * 2, "a b + a": (lambda a, b: a * b + a,) * 2, "maximum": pair("maximum"),
    "where": (lambda a, b: ops.where(a > b, a * 2, b), lambda a, b: torch_("where")(a > b, a * 2, b)),
}
COMPARING = {"maximum", "where"}
REDUCTIONS = {  # name: ours and theirs, of x, axis, keepdim
    "sum": (lambda x, a, k: x.sum(a, k),) * 2, "mean": (lambda x, a, k: x.mean(a, k),) * 2,
    "var": (lambda x, a, k: x.var(a, k, 0), lambda x, a, k: x.var(a, correction=0, keepdim=k)),
    "norm": (lambda x, a, k: x.norm(axis=a, keepdim=k), lambda x, a, k: torch_("linalg.vector_norm")(x, 2, a, k)),
    "logsumexp": (lambda x, a, k: x.logsumexp(a, k),) * 2, "prod": (lambda x, a, k: x.prod(a, k),) * 2,
    "max": (lambda x, a, k: ops.max(x, axis=a, keepdim=k), lambda x, a, k: x.amax(a, k)),
}
BLOCKS = {  # for checkpoint: of two Tensors of one shape
    "tanh(a) b": lambda a, b: (a.tanh() * b).sin(), "a, b": lambda a, b: ((a * b).tanh(), a + b),
    "a b": lambda a, b: a * b, "sin a": lambda a, b: a.sin().sin(),
}

# Programs -------------------------------------------------------------------------------------------------------------


class Seeded:
    """Random decisions from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def integer(self, low, high):
        return self.random.randint(low, high)

    def flag(self, odds=2):
        return self.integer(1, odds) == odds

    def pick(self, things):
        return things[self.integer(0, len(things) - 1)]

    def array(self, shape):
        return np.random.default_rng(self.integer(0, 2**16)).standard_normal(shape)


def apart(x, points=None):
    """Whether no two numbers (or, with points, no number and point) are so close that rounding decides."""
    x = np.ravel(x)
    gaps = np.diff(np.sort(x)) if points is None else np.subtract.outer(x, np.array(points))
    return gaps.size == 0 or np.abs(gaps).min() > 1e-7


class Program:
    """A program that grows: every step runs at once on our side, and on the other if there is one.

    theirs: a side to compare with.
    """

    def __init__(self, theirs=None, dtype="float64", shapes=SMALL, largest=200):
        self.ours, self.theirs = Ours(dtype), theirs
        self.shapes, self.largest = shapes, largest
        self.actions: list[tuple] = []
        self.text: list[str] = []
        self.base: list[np.ndarray] = []  # the values as they were made
        self.exact: list[bool] = []  # whether a value has the same bits on both sides
        self.dead: set[int] = set()  # values with a freed graph
        self.hooks: list[list] = []  # value, factor; or None when removed
        self.used: set[str] = set()  # the actions so far that matter to the comparison
        self.parts: set[int] = set()  # the results of split and unbind
        self.over = False

    # Running and comparing

    def do(self, label, action, *args, exact=False):
        """Take a step; return the indices of the values it made."""
        first = len(self.base)
        said = [f"array{x.shape}" if isinstance(x, np.ndarray) else x for x in args[action == "call":]]
        self.text.append(" ".join(map(str, [label + ",", action, *said])))
        try:
            error = self.attempt(self.ours, action, args)
            new = self.ours.values[first:]
            if action == "call" and not all(self.usable(y._data) for y in new):
                del self.ours.values[first:], self.text[-1]
                return []
            self.base += [y._data.copy() for y in new]
            self.exact += [exact] * len(new)
            self.text[-1] += "".join(f" -> v{i} {y.shape}" for i, y in enumerate(new, first))
            if self.theirs is not None:
                self.compare(action, args, error, first)
            elif error:
                self.over = True
            self.actions.append((action, *args))
        except Exception as failure:
            failure.add_note("\n".join(["The program:", *self.text]))
            raise
        return list(range(first, len(self.base)))

    def attempt(self, side, action, args):
        """Run an action; return whether it is a backward that meets a freed graph."""
        try:
            with np.errstate(all="ignore"):
                getattr(side, action)(*args)
        except RuntimeError as error:
            if action not in ("backward", "gradient") or side.freed not in str(error):
                raise
            return True
        return False

    def usable(self, array):
        return 0 < array.size <= self.largest and np.isfinite(array).all() and np.abs(array).max() < LIMIT

    def compare(self, action, args, error, first):
        # Either side may refuse more (see the top of this file), but only after something was freed.
        theirs = self.attempt(self.theirs, action, args)
        if error:
            assert "freed" in self.used
            self.over = True
            return
        if theirs:
            assert "freed" in self.used and not self.theirs.retains
            self.theirs = Theirs(self.ours.dtype, retains=True)
            assert not any(self.attempt(self.theirs, step[0], step[1:]) for step in [*self.actions, (action, *args)])
        values = [self.theirs.array(x) for x in self.theirs.values]
        assert len(values) == len(self.ours.values)
        if action in ("call", "leaf", "gradient", "take_grad"):
            for x, y in zip(self.ours.values[first:], values[first:], strict=True):
                self.close([x._data], [y])
            if "second" not in self.used:
                assert [x.requires_grad for x in self.ours.values[first:]] == [
                    x.requires_grad for x in self.theirs.values[first:]]
        if action in ("backward", "gradient"):
            self.close(self.ours.grads(), self.theirs.grads())
            for seen, expected in zip(self.ours.seen, self.theirs.seen, strict=True):
                self.close(seen, expected)

    def close(self, found, expected):
        """The same arrays up to rounding, measured by the largest of all; None is zeros after create_graph."""
        assert len(found) == len(expected), f"{len(found)} for {len(expected)}"
        rounding = 1e-9 if self.ours.dtype == "float64" else 2e-4
        scale = max([np.abs(x).max() for x in [*found, *expected] if x is not None], default=0) + 1
        for i, (x, y) in enumerate(zip(found, expected, strict=True)):
            if x is None or y is None:
                assert x is y or "second" in self.used and not np.any(y if x is None else x), f"{i}: {x} for {y}"
            else:
                assert x.shape == y.shape and x.dtype == y.dtype
                np.testing.assert_allclose(x, y, rtol=0, atol=rounding * scale)

    # Choosing

    def some(self, c, where=lambda x: True):
        """A random value, rarely one with a freed graph; None if there is none."""
        dead_too = bool(self.dead) and c.flag(12)
        found = [i for i, x in enumerate(self.ours.values) if (dead_too or i not in self.dead) and where(x)]
        return c.pick(found[::-1]) if found else None

    def hookable(self, i):
        return self.differentiable(i) and (
            self.ours.values[i].is_leaf or "second" not in self.used or self.theirs is None)

    def differentiable(self, i):
        return self.ours.values[i].requires_grad and (self.theirs is None or self.theirs.values[i].requires_grad)

    def call(self, label, pair, *operands, mode="recorded", exact=False):
        made = self.do(label, "call", pair, operands, mode, exact=exact)
        if self.dead & set(operands) and mode not in ("no_grad", "detach"):
            self.dead |= {i for i in made if self.ours.values[i].node is not None}
        return made

    def same(self, label, f, *operands, **how):
        return self.call(label, (f, f), *operands, **how)

    def fresh(self, c, *shape, scale=1.0):
        """A new leaf of this shape."""
        return self.do("leaf", "leaf", self.array(c, shape) * scale, True, exact=True)[0]

    def array(self, c, shape):
        return c.array(shape).astype(self.ours.dtype)

    # Steps, which STEPS names

    def leaf(self, c):
        known = [x.shape for x in self.ours.values] * (not c.flag(3))
        self.do("leaf", "leaf", self.array(c, c.pick(known or self.shapes)), not c.flag(4), exact=True)

    def smooth(self, c):
        name = c.pick(list(SMOOTH))
        pair, domain = SMOOTH[name]
        i = self.some(c, lambda x: domain(x._data))
        if i is not None:
            self.call(name, pair, i, mode="checkpoint" if c.flag(16) else "recorded")

    def kinked(self, c):
        name = c.pick(list(KINKED))
        pair, points = KINKED[name]
        i = self.some(c)
        if i is not None and self.clear(i, points=points):
            self.call(name, pair, i, exact=name in ("relu", "abs", "clip") and self.exact[i])

    def clear(self, *operands, points=None):
        """Whether rounding decides nothing in a comparison of these values with points, or with one another."""
        if all(self.exact[i] for i in operands):
            return True
        return self.ours.dtype == "float64" and apart(np.concatenate([self.ours.values[i]._data.ravel()
                                                                      for i in operands]), points)

    def binary(self, c):
        name = c.pick(list(BINARY))
        i = self.some(c)
        if i is None:
            return
        a = self.ours.values[i]

        def fits(b):
            try:
                np.broadcast_shapes(a.shape, b.shape)
            except ValueError:
                return False
            return name != "div" or nonzero(b._data)

        j = self.some(c, fits)
        if j is None or name in COMPARING and not self.comparable(i, j):
            return
        self.call(name, BINARY[name], i, j)

    def comparable(self, i, j):
        if self.exact[i] and self.exact[j]:
            return True
        gaps = np.abs(self.ours.values[i]._data - self.ours.values[j]._data)
        return self.ours.dtype == "float64" and gaps.min() > 1e-7

    def reduce(self, c):
        name = c.pick(list(REDUCTIONS))
        i = self.some(c, lambda x: x.ndim > 0)
        if i is None:
            return
        x = self.ours.values[i]._data
        axis = tuple(a - c.pick([0, x.ndim]) for a in range(x.ndim) if c.flag())
        axis = c.pick([None, *axis, axis]) if axis and name not in ("prod", "norm") else c.integer(0, x.ndim - 1)
        keepdim = c.flag()
        if name == "max" and not self.clear(i):
            return
        if name in ("var", "norm") and x.std(axis).min() < 0.03:
            return
        ours, theirs = REDUCTIONS[name]
        if axis is None:
            axes = tuple(range(x.ndim))
            pair = (lambda x: ours(x, None, keepdim)), lambda x: theirs(x, axes, keepdim)
        else:
            pair = (lambda x: ours(x, axis, keepdim)), lambda x: theirs(x, axis, keepdim)
        self.call(f"{name}(axis={axis}, keepdim={keepdim})", pair, i, exact=name == "max" and self.exact[i])

    def along(self, c):
        """Ops along one axis."""
        i = self.some(c, lambda x: x.ndim > 0)
        if i is None:
            return
        axis = c.integer(0, self.ours.values[i].ndim - 1) - c.pick([0, self.ours.values[i].ndim])
        name = c.pick(["softmax", "log_softmax", "cumsum"])
        self.same(f"{name}({axis})", lambda x: getattr(x, name)(axis), i)

    def move(self, c):
        i = self.some(c, lambda x: x.ndim < 5)
        if i is None:
            return
        shape = self.ours.values[i].shape
        n = len(shape)
        moves = {
            "reshape(-1)": lambda x: x.reshape(-1), "unsqueeze(0)": lambda x: x.unsqueeze(0),
            "unsqueeze(-1)": lambda x: x.unsqueeze(-1), "flatten": lambda x: x.flatten(),
            "squeeze": lambda x: x.squeeze(), "view": lambda x: x.view(shape),
        }
        if n:
            order = tuple(sorted(range(n), key=[c.integer(0, 9) for _ in range(n)].__getitem__))
            axis, shift, times = c.integer(0, n - 1), c.integer(-2, 3), c.integer(1, 2)
            wide = tuple(c.pick([1, 2, 3]) if m == 1 else m for m in shape)
            halves = next((k for k in (2, 3, 5) if shape[axis] % k == 0 and shape[axis] > k), shape[axis])
            rows = (*shape[:axis], halves, shape[axis] // halves, *shape[axis + 1:])
            moves |= {
                f"permute{order}": lambda x: x.permute(order), f"flip({axis})": lambda x: x.flip((axis,)),
                f"transpose({axis}, 0)": lambda x: x.transpose(axis, 0),
                f"roll({shift}, {axis})": lambda x: x.roll(shift, axis), f"expand{wide}": lambda x: x.expand(wide),
                f"expand(2, ...{wide})": lambda x: x.expand((2, *wide)), f"reshape{rows}": lambda x: x.reshape(rows),
                f"unflatten({axis})": lambda x: x.unflatten(axis, (halves, shape[axis] // halves)),
                f"repeat({times}, ...)": lambda x: x.repeat(times, *[1] * (n - 1)),
                f"repeat_interleave({times}, {axis})": lambda x: x.repeat_interleave(times, axis),
                f"flatten(0, {axis})": lambda x: x.flatten(0, axis), f"squeeze({axis})": lambda x: x.squeeze(axis),
            }
        if n == 2:
            moves |= {"T": lambda x: x.T, f"diagonal({shift})": lambda x: x.diagonal(shift)}
        if n >= 2:
            moves |= {f"tril({shift})": lambda x: x.tril(shift), f"triu({shift})": lambda x: x.triu(shift),
                      "mT": lambda x: x.mT}
        name = c.pick(list(moves))
        self.same(name, moves[name], i, exact=self.exact[i])

    def basic_index(self, c, shape):
        index = []
        for m in shape:
            start = c.integer(0, m - 1)
            index.append(c.pick([slice(None), slice(start, None), slice(start, c.integer(start + 1, m)),
                                 slice(None, None, 2), start, start - m]))
        for _ in range(c.integer(0, 1)):
            index.insert(c.integer(0, len(index)), None)
        if c.flag(3):
            index[c.integer(0, len(index)):] = [...]
        return tuple(index)

    def index(self, c):
        """Slices, integers, None and ...; or integer arrays, a mask, with slices at the other axes."""
        i = self.some(c)
        if i is None:
            return
        shape = self.ours.values[i].shape
        kind = c.pick(["basic", "basic", "rows", "pairs", "mask"]) if shape else "basic"
        axis = c.integer(0, max(0, len(shape) - 1))
        many = c.pick([(2,), (3,), (2, 2), (1, 3)])
        index = self.basic_index(c, shape)
        if kind == "rows":
            index = (slice(None),) * axis + (self.integers(c, shape[axis], many),)
        elif kind == "pairs" and len(shape) > 1:
            index = tuple(self.integers(c, m, many) for m in shape[:2])
        elif kind == "mask":
            axes = c.integer(1, len(shape))
            index = (c.array(shape[:axes]) > 0,)
        index_torch = tuple(torch_("tensor")(k) if isinstance(k, np.ndarray) and self.theirs else k for k in index)
        self.call(f"index{index}", (lambda x: x[index], lambda x: x[index_torch]), i, exact=self.exact[i])

    def integers(self, c, high, shape):
        """Positions on an axis of size high, some from its end."""
        return np.random.default_rng(c.integer(0, 2**16)).integers(-high, high, shape)

    def split(self, c):
        i = self.some(c, lambda x: x.ndim > 0)
        if i is None:
            return
        axis = c.integer(0, self.ours.values[i].ndim - 1)
        m = self.ours.values[i].shape[axis]
        size, cut = c.integer(1, m), c.integer(0, m - 1)
        splits = {f"split({size}, {axis})": lambda x: x.split(size, axis),
                  f"chunk({size}, {axis})": lambda x: x.chunk(size, axis)}
        if cut:
            splits[f"split({cut, m - cut}, {axis})"] = lambda x: x.split([cut, m - cut], axis)
        if m <= 4:
            splits[f"unbind({axis})"] = lambda x: x.unbind(axis)
        name = c.pick(list(splits))
        self.parts.update(self.same(name, splits[name], i, exact=self.exact[i]))

    def join(self, c):
        i = self.some(c)
        if i is None:
            return
        shape = self.ours.values[i].shape
        axis = c.integer(0, len(shape))
        stacked = c.flag() or axis == len(shape)

        def fits(x):
            rest = axis + (not stacked)
            return x.ndim == len(shape) and x.shape[:axis] == shape[:axis] and x.shape[rest:] == shape[rest:]

        operands = [i] + [self.some(c, fits) for _ in range(c.integer(1, 2))]
        if None in operands:
            return
        name = "stack" if stacked else "cat"
        self.call(f"{name}(axis={axis})", (lambda *xs: getattr(ops, name)(*xs, axis=axis),
                                           lambda *xs: torch_(name)(xs, axis)), *operands,
                  exact=all(self.exact[j] for j in operands))

    def product(self, c):
        i = self.some(c, lambda x: x.ndim > 0)
        if i is None:
            return
        shape = self.ours.values[i].shape
        n, m = shape[-1], c.integer(1, 3) if self.largest < 1000 else 40
        name = c.pick(["matrix", "self", "linear", "einsum"])
        scale = n**-0.5
        if name == "matrix":
            j = self.some(c, lambda x: x.ndim == 2 and x.shape[0] == n)
            self.same("matmul", lambda a, b: a @ b, i, self.fresh(c, n, m, scale=scale) if j is None else j)
        elif name == "self" and len(shape) > 1:
            self.same("x @ x.mT", lambda a: a @ a.mT, i)
        elif name == "linear":
            bias = [self.fresh(c, m)] if c.flag() else []
            self.call("linear", pair("linear", "F.linear"), i, self.fresh(c, m, n, scale=scale), *bias)
        elif name == "einsum":
            letters = "abcdefgh"[: len(shape)]
            last, others = letters[-1], letters[:-1]
            formula, other = c.pick([(f"{letters},{last}->{others}", (n,)), (f"{letters},{last}z->z{others}", (n, m))])
            both = lambda a, b: ops.einsum(formula, a, b), lambda a, b: torch_("einsum")(formula, a, b)
            self.call(f"einsum {formula}", both, i, self.fresh(c, *other, scale=scale))

    def island(self, c):
        """Detach a value, or run an op that is not recorded."""
        i = self.some(c)
        if i is None:
            return
        self.used.add("detach")
        if c.flag():
            self.same("detach", lambda x: x, i, mode="detach", exact=self.exact[i])
        else:
            name = c.pick(["tanh", "sin"])
            self.same(f"no_grad: {name}", lambda x: getattr(x, name)(), i, mode="no_grad")

    def block(self, c):
        """Add a part of the graph that backward computes again."""
        i = self.some(c)
        if i is None:
            return
        shape, name = self.ours.values[i].shape, c.pick(list(BLOCKS))
        j = self.some(c, lambda x: x.shape == shape)
        self.same(f"checkpoint: {name}", BLOCKS[name], i, i if j is None else j, mode=c.pick(["checkpoint", "closed"]))

    def hook(self, c):
        i = self.some(c, lambda x: x.requires_grad)
        if i is not None and self.hookable(i):
            self.watch(i)
            factor = c.pick([None, 2.0, -0.5])
            self.used.add("hook")
            self.do(f"v{i}", "hook", i, factor)
            self.hooks.append((i, factor))

    def watch(self, i):
        if not self.ours.values[i].is_leaf:
            self.used.add("inner")

    def unhook(self, c):
        which = [k for k, hook in enumerate(self.hooks) if hook]
        if which:
            k = c.pick(which)
            self.do(f"hook {k}", "unhook", k)
            self.hooks[k] = None

    def retain(self, c):
        i = self.some(c, lambda x: x.requires_grad)
        if i is not None and self.hookable(i):
            self.watch(i)
            self.do(f"v{i}", "retain_grad", i)

    def forget(self, c):
        i = self.some(c, lambda x: x.grad is not None)
        if i is not None:
            self.do(f"v{i}", "zero_grad", i)

    def root(self, c):
        i = self.some(c, lambda x: x.requires_grad)
        if i is None or not self.differentiable(i):
            return None
        shape = self.ours.values[i].shape
        cotangent = None if self.ours.values[i].size == 1 and c.flag() else self.array(c, shape)
        create_graph = c.flag(5) and (self.theirs is None or "inner" not in self.used)
        return i, cotangent, create_graph or not c.flag(3), create_graph

    def backward(self, c):
        args = self.root(c)
        if args is None:
            return
        self.walk("backward", *args)

    def gradient(self, c):
        args = self.root(c)
        if args is None:
            return
        targets = [self.some(c, lambda x: x.requires_grad) for _ in range(c.integer(1, 3))]
        if not all(map(self.differentiable, targets)):
            return
        if args[0] not in targets and self.ours.values[args[0]].is_leaf:
            return  # PyTorch calls the hooks of a leaf that is a root, even if its gradient is not requested
        if self.theirs and len(targets) > 1 and any(hook and hook[0] in targets for hook in self.hooks):
            return  # PyTorch returns the gradient before the hook if the target leads to another target
        if self.theirs and any(self.hooks) and self.parts.intersection(targets):
            return  # PyTorch walks to the node of all parts, and calls the hooks of other parts, too
        if self.theirs and "second" in self.used and not all(self.ours.values[t].is_leaf for t in targets):
            return
        i, cotangent, retain, create_graph = args
        made = self.walk("gradient", i, cotangent, retain, create_graph, targets)
        if not create_graph:
            self.used.add("detach")
        return made

    def walk(self, action, i, cotangent, retain, create_graph, *targets):
        if create_graph:
            self.used.add("second")
        before = len(self.base)
        self.do(f"v{i}", action, i, cotangent, retain, create_graph, *targets)
        if not retain:
            self.used.add("freed")
            self.dead = {j for j, x in enumerate(self.ours.values) if freed(x)}
        return range(before, len(self.base))

    def take_grad(self, c):
        """Make the gradient of a leaf a value of the program, as for a gradient penalty."""
        i = self.some(c, lambda x: x.grad is not None and x.is_leaf)
        if i is not None and (self.theirs is None or self.theirs.values[i].grad is not None):
            self.do(f"v{i}", "take_grad", i)

    def finish(self):
        """Run a last backward, from several values at once."""
        roots = [i for i in range(len(self.base)) if i not in self.dead and self.differentiable(i)][-12:]
        if not roots or self.over:
            return
        self.same("their sum", lambda *xs: sum(x.mean() * k for k, x in enumerate(xs, 1)), *roots)
        self.backward(Seeded(len(self.actions)))


STEPS = ("smooth binary kinked reduce along move index split join product island block hook unhook retain "
         "forget backward gradient take_grad leaf "
         "smooth smooth smooth binary binary move index index reduce").split()  # named twice: as often


def freed(x):
    """Whether a backward from x would meet a freed node."""
    stack, seen = [x.node], set()
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and node not in seen:
            seen.add(node)
            if node.parents is None:
                return True
            stack += node.parents
    return False


def random_program(seed, steps=20, **how):
    program, c = Program(**how), Seeded(seed)
    for _ in range(3):
        program.leaf(c)
    for _ in range(steps):
        if not program.over:
            getattr(program, c.pick(STEPS))(c)
    program.finish()
    return program


# Tests ----------------------------------------------------------------------------------------------------------------

PROGRAMS, SEED = int(os.environ.get("TINYGRAD_LIKE_PROGRAMS", 200)), int(os.environ.get("TINYGRAD_LIKE_SEED", 0))
LARGE = [(64, 65), (130, 33), (257,), (2, 8, 12, 12), (4, 33, 40), (65,), (33, 1), (300, 250), (1, 40)]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Using backward")  # backward(create_graph=True) makes a cycle in PyTorch
def test_values_gradients_and_refusals_are_pytorchs():
    for seed in range(SEED, SEED + PROGRAMS):
        random_program(seed, steps=30, theirs=Theirs())


def kernel_program(seed, **how):
    return random_program(seed, steps=8, dtype="float32", shapes=LARGE, largest=80_000, **how)


@pytest.mark.parametrize("seed", range(SEED, SEED + PROGRAMS // 10))
def test_kernels_in_float32_agree_with_float64(seed):
    program = kernel_program(seed)
    exact = Ours("float64")
    for step in program.actions:
        program.attempt(exact, step[0], step[1:])
    found, expected = ([x._data for x in side.values] + side.grads() for side in (program.ours, exact))
    for x, y in zip(found, expected, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            assert x.dtype == "float32" and y.dtype == "float64"
            np.testing.assert_allclose(x, y, rtol=0, atol=2e-4 * (1 + np.abs(y).max()))


def bits(program):
    arrays = [*[x._data for x in program.ours.values], *program.ours.grads()]
    return [None if x is None else x.tobytes() for x in arrays]


@pytest.mark.parametrize(("make", "count"), [(random_program, PROGRAMS), (kernel_program, 12)])
def test_threads_do_not_disturb_each_other(in_threads, make, count):
    """Four threads run different programs; each program gives the same bits as alone."""
    alone = [bits(make(seed)) for seed in range(count)]
    together: list = [None] * count

    def run(first):
        for seed in range(first, count, 4):
            together[seed] = bits(make(seed))

    in_threads(run)
    assert together == alone
