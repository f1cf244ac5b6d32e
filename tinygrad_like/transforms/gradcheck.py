"""Gradient checks: compare with finite differences, along a random direction, against a random cotangent.

For f with Jacobian J at x, a direction u and a cotangent v, both standard normal,

    <v, (f(x + eps u) - f(x - eps u)) / (2 eps)>  =  <v, J u>  =  <J^T v, u>  =  <vjp(v), u>

The left side needs no derivative; the right side is what backward computes. One pair (u, v) tests every entry of J at
once; a cotangent of ones would miss a rule that permutes its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import FLOAT64, FLOATS


def why(f: Callable, inputs: Sequence) -> str:
    """An explanation of the ops that f calls; `learn` replaces this function."""
    return ""


class GradcheckError(AssertionError):
    """A gradient that disagrees with finite differences; the message says which, and by how much."""


def gradcheck(f: Callable, *inputs: Any, eps: float = 1e-6, rtol: float = 1e-6, atol: float = 1e-8,
              seed: int = 0, explain: bool = True) -> bool:
    """Check the gradient of `f` with respect to every floating-point Tensor or array; other inputs pass through.

    `f` takes Tensors and returns a Tensor or a tuple of them (integer outputs are ignored). It varies the inputs one at
    a time, as if only that one required grad, and then all together. The gradient with create_graph=True must equal the
    one without. `f` must be smooth within `eps` and draw no random numbers; `seed` sets u and v. On failure, the error
    names the op with the wrong rule, the entry, and the cause, unless explain=False.

    Returns True. Raises GradcheckError unless |numeric - analytic| <= atol + rtol |numeric|, and TypeError for float32,
    whose rounding error, divided by eps, would hide mistakes.
    """
    inputs = _one_by_one(inputs)
    names = [f"input {i}" for i in range(len(inputs))]
    with _explained(f, inputs, explain):
        _check("gradcheck", f, inputs, names, eps, rtol, atol, np.random.default_rng(seed))
    return True


def _one_by_one(inputs: tuple) -> tuple:
    """The inputs, which may come in one tuple, as in PyTorch."""
    return inputs[0] if len(inputs) == 1 and type(inputs[0]) is tuple else inputs


def gradgradcheck(f: Callable, *inputs: Any, eps: float = 1e-6, rtol: float = 1e-6, atol: float = 1e-8,
                  seed: int = 0, explain: bool = True) -> bool:
    """Check the second derivatives of `f`: gradcheck of the function (inputs, v) -> vjp(v), with create_graph=True.

    Arguments, result and errors are those of `gradcheck`.
    """
    inputs = _one_by_one(inputs)
    varied = _floating("gradgradcheck", inputs)
    rng = np.random.default_rng(seed)
    cotangents = [rng.standard_normal(y.shape) for y in _outputs("gradgradcheck", f, _tensors(inputs))]

    def vjp(*args):
        xs, vs = list(args[: len(inputs)]), args[len(inputs):]
        for i in varied:
            if not xs[i].requires_grad:
                xs[i] = Tensor(xs[i], requires_grad=True)
        return tuple(_vjp("gradgradcheck", f, xs, varied, vs, create_graph=True))

    names = [f"input {i}" for i in range(len(inputs))] + [f"cotangent {k}" for k in range(len(cotangents))]
    with _explained(f, inputs, explain):
        _check("gradgradcheck", vjp, [*inputs, *cotangents], names, eps, rtol, atol, rng)
    return True


@contextmanager
def _explained(f: Callable, inputs: Sequence, explain: bool) -> Iterator[None]:
    """Adds the findings of `learn` about the ops that f calls to a GradcheckError."""
    try:
        yield
    except GradcheckError as error:
        if not explain or "two values for the same inputs" in str(error):
            raise
        try:
            text = why(f, inputs)
        except Exception as problem:  # report the failure even without a cause
            text = f"(The cause is unknown: {type(problem).__name__}: {problem})"
        raise GradcheckError(f"{error}\n{text}") from None


def _check(who: str, f: Callable, inputs: Sequence, names: Sequence[str], eps, rtol, atol, rng) -> None:
    floating = _floating(who, inputs)
    outputs = _outputs(who, f, _tensors(inputs))
    for y, again in zip(outputs, _outputs(who, f, _tensors(inputs)), strict=True):
        if not np.array_equal(y._data, again._data, equal_nan=True):
            raise GradcheckError(f"{who}: f returned two values for the same inputs; it must not draw random numbers")
    v = [rng.standard_normal(y.shape) for y in outputs]
    u = {i: rng.standard_normal(np.shape(inputs[i])) for i in floating}

    for varied in [[i] for i in floating] + [floating] * (len(floating) > 1):
        ahead = _outputs(who, f, _tensors(inputs, {i: eps * u[i] for i in varied}))
        behind = _outputs(who, f, _tensors(inputs, {i: -eps * u[i] for i in varied}))
        # Subtract before weighting with v: the sums <v, f(x +- eps u)> would lose digits by cancellation.
        numeric = sum(np.vdot(w, a._data - b._data) for w, a, b in zip(v, ahead, behind, strict=True)) / (2 * eps)

        gradients = _vjp(who, f, _tensors(inputs, requires_grad=varied), varied, v, create_graph=False)
        analytic = sum(np.vdot(g._data, u[i]) for i, g in zip(varied, gradients, strict=True))
        error = abs(numeric - analytic)
        if not error <= atol + rtol * abs(numeric):
            what = f"{names[varied[0]]} (shape {u[varied[0]].shape})" if len(varied) == 1 else "all inputs together"
            raise GradcheckError(f"{who}: {what}: numeric {numeric:.10g}, analytic {analytic:.10g}, "
                                 f"relative error {error / max(abs(numeric), 1e-300):.3e}")

        recorded = _vjp(who, f, _tensors(inputs, requires_grad=varied), varied, v, create_graph=True)
        for i, g, r in zip(varied, gradients, recorded, strict=True):
            off = np.max(np.abs(g._data - r._data), initial=0.0)
            if not off <= atol + rtol * np.max(np.abs(g._data), initial=0.0):
                raise GradcheckError(f"{who}: {names[i]} (shape {g.shape}): the gradient with create_graph=True "
                                     f"differs by up to {off:.3e} from the one without")


def _vjp(who: str, f: Callable, inputs: Sequence, wanted: Sequence[int], v: Sequence, create_graph: bool) -> list:
    """The cotangents of the wanted inputs, summed over the outputs; zeros for an input that no output depends on."""
    targets = [inputs[i] for i in wanted]
    sums = [Tensor(np.zeros(t.shape)) for t in targets]
    for y, w in zip(_outputs(who, f, inputs), v, strict=True):
        if y.requires_grad:
            found = y.gradient(*targets, gradient=w, create_graph=create_graph, retain_graph=True,
                               materialize_grads=True)
            sums = [s + c for s, c in zip(sums, found, strict=True)]
    return sums


def _floating(who: str, inputs: Sequence) -> list[int]:
    """The indices of the inputs to differentiate, which must be float64."""
    arrays = [(i, x.dtype) for i, x in enumerate(inputs) if isinstance(x, Tensor | np.ndarray | np.generic)]
    floating = [(i, dtype) for i, dtype in arrays if dtype.kind in FLOATS]
    for i, dtype in floating:
        if dtype != FLOAT64:
            raise TypeError(f"{who}: input {i} is {dtype}, whose rounding error hides a wrong gradient; pass float64")
    if not floating:
        raise ValueError(f"{who}: nothing to check: none of the {len(inputs)} inputs is floating point")
    return [i for i, _ in floating]


def _tensors(inputs: Sequence, moved: dict[int, np.ndarray] | None = None, requires_grad: Sequence[int] = ()) -> list:
    """The inputs as new Tensors, some of them `moved`; other arguments pass through."""
    moved = moved or {}
    arrays = [x._data if isinstance(x, Tensor) else x for x in inputs]
    return [
        Tensor(x + moved[i] if i in moved else x, requires_grad=i in requires_grad)
        if isinstance(x, np.ndarray | np.generic) else x
        for i, x in enumerate(arrays)
    ]


def _outputs(who: str, f: Callable, inputs: Sequence) -> list[Tensor]:
    """The floating-point outputs of f, which must be float64."""
    y = f(*inputs)
    outputs = list(y) if isinstance(y, tuple | list) else [y]
    for k, y in enumerate(outputs):
        if not isinstance(y, Tensor):
            raise TypeError(f"{who}: output {k} of f is a {type(y).__name__}; return a Tensor or a tuple of Tensors")
        if y.dtype.kind in FLOATS and y.dtype != FLOAT64:
            raise TypeError(f"{who}: output {k} of f is {y.dtype}; f must compute in float64")
    return [y for y in outputs if y.dtype.kind in FLOATS]
