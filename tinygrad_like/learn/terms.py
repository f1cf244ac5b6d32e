"""What a wrong rule lacks: the difference between the two Jacobians, if that is one term with a short formula.

Such a term carries g to elements of the input in one of two ways: to each its own, `g * f`, or along some axes from all
to all, `a * sum(g * b)`. `f`, `a` and `b` are looked for among simple functions of the inputs and of the output.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .measure import Point, close
from .rule import Array, Diagnosis, Rule

Axes = tuple[int, ...] | str  # counted from the end, or from the start if not negative; "all", or "axis", the option

_OF_ONE: dict[str, Callable[[Array], Array]] = {
    "{}": lambda v: v, "{} ** 2": lambda v: v * v, "{} ** 3": lambda v: v**3, "1 / {}": lambda v: 1 / v,
    "1 / {} ** 2": lambda v: v**-2, "1 / {} ** 3": lambda v: v**-3, "sqrt({})": np.sqrt, "exp({})": np.exp,
    "log({})": np.log, "sin({})": np.sin, "cos({})": np.cos, "tanh({})": np.tanh, "(1 - {})": lambda v: 1 - v,
    "(1 + {})": lambda v: 1 + v, "(1 - {} ** 2)": lambda v: 1 - v * v, "1 / (1 + {} ** 2)": lambda v: 1 / (1 + v * v),
    "sigmoid({})": lambda v: 1 / (1 + np.exp(-v)), "(1 - sigmoid({}))": lambda v: 1 / (1 + np.exp(v)),
    "(1 - tanh({}) ** 2)": lambda v: 1 - np.tanh(v) ** 2, "exp(-{} ** 2 / 2)": lambda v: np.exp(-v * v / 2),
    "exp(-{})": lambda v: np.exp(-v), "exp(-{} ** 2)": lambda v: np.exp(-v * v), "sign({})": np.sign,
}
_FEW = ("{}", "{} ** 2", "1 / {}", "exp({})", "sign({})")
_NICE = [n * s for n in (1.0, 2.0, 3.0, 4.0, 0.5, 1 / 3, 0.25) for s in (1, -1)]


class _Blocks(NamedTuple):
    """A difference of Jacobians along coupled axes: (groups, outputs, inputs), and what stands at each of the three."""

    numbers: Array
    outputs: dict[str, Array]
    inputs: dict[str, Array]
    groups: dict[str, Array]


def missing(rule: Rule) -> Diagnosis | None:
    """A term that is missing, or that stands there with a wrong factor."""
    lacking = [(p, p.numeric(rule.i) - p.analytic(rule.i)) for p, _ in rule.wrong]
    if not lacking or len(lacking) < len(rule.running) or any(not np.isfinite(d).all() for _, d in lacking):
        return None
    if (own := _to_each_its_own(rule, lacking)) is not None:
        return _told(rule, own)
    for axes in _couplings(lacking[0][0].out, lacking[0][0].inputs[rule.i]):
        if (summed := _from_all_to_all(rule, lacking, axes)) is not None:
            return _told(rule, summed)
        centred = [(p, d + _means(p, rule.i, p.analytic(rule.i), axes)) for p, d in lacking]
        if (summed := _from_all_to_all(rule, centred, axes)) is not None:
            return Diagnosis("term", "two terms are missing: one that takes off the mean of the gradient over "
                             f"{_along(axes)}, since the output does not change when all elements are shifted by the "
                             f"same; and with that {summed}.")
        if (summed := _less_its_sum(rule, axes)) is not None:
            return _told(rule, summed)
    return _twice(rule) or _half_of_a_product(rule)


def _told(rule: Rule, term: str) -> Diagnosis:
    return Diagnosis("term", f"a term is missing, or stands there with a wrong factor: what is right is what the rule "
                     f"gives, {'minus' if term[0] == '-' else 'plus'} {term.lstrip('-')}.")


def outside_diagonal(rule: Rule) -> str | None:
    """What stands outside the diagonal of the Jacobian: d out[i] / d x[j], if that is b[i] * a[j]."""
    lacking = [(p, p.numeric(rule.i)) for p, _ in rule.running]
    for axes in _couplings(lacking[0][0].out, lacking[0][0].inputs[rule.i]) if lacking else ():
        if (found := _from_all_to_all(rule, lacking, axes, diagonal=False)) is not None:
            return found
    return None


# To each its own ------------------------------------------------------------------------------------------------------


def _to_each_its_own(rule: Rule, lacking: Sequence[tuple[Point, Array]]) -> str | None:
    """c * g * f, with f a product of two simple functions."""
    parts: list[Array] = []
    tables: list[dict[str, Array]] = []
    for point, difference in lacking:
        blocks = _blocks(point, rule.i, difference, _unshared(point.out, point.inputs[rule.i]), tuple(_OF_ONE))
        if blocks is None or min(blocks.numbers.shape[1:]) > 1:
            return None
        numbers = blocks.numbers
        shape = numbers.shape
        table: dict[str, Array] = {}
        m = len(numbers)
        for side, at in (blocks.groups, (m, 1, 1)), (blocks.outputs, (m, -1, 1)), (blocks.inputs, (m, 1, -1)):
            table |= {name: np.broadcast_to(v.reshape(at), shape).reshape(-1) for name, v in side.items()}
        parts.append(numbers.reshape(-1))
        tables.append(table)
    names = [n for n in tables[0] if all(n in t for t in tables)]
    wanted = np.concatenate(parts)
    values = np.array([np.concatenate([t[n] for t in tables]) for n in names])
    if len(wanted) < 4:
        return None
    found = _product(wanted, names, values)
    return None if found is None else _formula(found[0], ["g", *found[1]])


def _product(wanted: Array, names: Sequence[str], values: Array) -> tuple[float, list[str]] | None:
    """c and at most two of the values whose product with c is what is wanted everywhere."""
    with np.errstate(all="ignore"):
        for k, name in enumerate(names):
            c = wanted / values[k]
            if _constant(c):
                return float(np.median(c)), [name]
        for k, name in enumerate(names):
            c = wanted / values[k] / values[k + 1:]
            low, high = c.min(1, initial=np.inf), c.max(1, initial=-np.inf)
            for j in np.flatnonzero(np.isfinite(c).all(1) & (np.abs(high - low) <= 1e-5 * np.abs(low))):
                number = float(np.median(c[j]))
                if number and _plain(number):
                    return number, [name, names[k + 1 + int(j)]]
    return None


def _constant(c: Array) -> bool:
    return bool(c.size and np.isfinite(c).all() and c.flat[0] != 0 and np.ptp(c) <= 1e-5 * np.abs(c).max())


def _plain(c: float) -> bool:
    """Whether c is a number that may stand in a formula, so that it is found by chance less often."""
    named = [1.0, 2.0, 3.0, 4.0, 6.0, 10.0, math.sqrt(2), math.sqrt(math.pi), math.sqrt(2 * math.pi), math.log(2)]
    return any(math.isclose(abs(c), v, rel_tol=1e-5) or math.isclose(abs(c), 1 / v, rel_tol=1e-5) for v in named)


# From all to all ------------------------------------------------------------------------------------------------------


def _from_all_to_all(rule: Rule, lacking: Sequence[tuple[Point, Array]], axes: Axes,
                     diagonal: bool = True) -> str | None:
    """k * a * sum(g * b) along axes, where k may differ from one group of coupled elements to the next."""
    tables, masks = [], []
    for point, difference in lacking:
        blocks = _blocks(point, rule.i, difference, axes, _FEW)
        _, m, n = (1, 1, 1) if blocks is None else blocks.numbers.shape
        mask = np.ones((m, n), bool) if diagonal else ~np.eye(m, n, dtype=bool)
        if blocks is not None and mask.sum() > 2 and (diagonal or m == n):
            tables.append(blocks)
            masks.append(mask)
        elif not point.tried or point is lacking[0][0]:
            return None
    named = [[n for n in getattr(tables[0], side) if all(n in getattr(t, side) for t in tables)]
             for side in ("outputs", "inputs")]
    fitting = []
    for b, a in sorted(itertools.product(*named), key=lambda pair: sum(map(len, pair))):
        each = []
        for t, m in zip(tables, masks, strict=True):
            with np.errstate(all="ignore"):
                k = (t.numbers / t.outputs[b][:, :, None] / t.inputs[a][:, None, :])[:, m]
            if not np.isfinite(k).all() or (np.ptp(k, 1) > 1e-5 * np.abs(k).max(1)).any() or not k.any():
                break
            each.append(np.median(k, 1))
        else:
            factor = _scale(tables, each)
            if factor is not None and not factor[1]:
                return _sum_formula(tables, each, a, b, factor, axes, diagonal)
            fitting.append((a, b, factor, each))
    for a, b, factor, each in sorted(fitting, key=lambda f: f[2] is None)[:1]:
        return _sum_formula(tables, each, a, b, factor, axes, diagonal)
    return None


def _sum_formula(tables: Sequence[_Blocks], each: Sequence[Array], a: str, b: str,
                 factor: tuple[float, list[str]] | None, axes: Axes, diagonal: bool) -> str:
    over = _along(axes)
    number, rest = factor if factor is not None else (math.copysign(1.0, each[0][0]), [])
    if not diagonal:
        told = [f"{name}[{at}]" if name != "1" else "1" for name, at in ((b, "i"), (a, "j"))]
        text = _formula(number, [*told, *rest])
    elif tables[0].numbers.shape[1] == 1:
        text = _formula(number, ["g", a, *rest])
    else:
        summed = f"sum({_formula(1.0, ['g', b])}{_keywords(axes)})"
        if rest[:1] == ["1 / n"]:
            summed, rest = summed.replace("sum", "mean", 1), rest[1:]
        text = _formula(number, [a, summed, *rest])
    return text if factor is not None else f"{text} times a factor that is the same along {over}"


def _scale(tables: Sequence[_Blocks], each: Sequence[Array]) -> tuple[float, list[str]] | None:
    """A number, or a number times what is the same for a group, as its sum."""
    wanted = np.concatenate(each)
    if _constant(wanted):
        return float(wanted[0]), []
    names = [n for n in tables[0].groups if all(n in t.groups for t in tables)]
    values = np.array([np.concatenate([t.groups[n] for t in tables]) for n in names])
    if len(wanted) < 3 or not names:
        return None
    found = _product(wanted, names, values)
    return found if found is not None and _plain(found[0]) else None


def _formula(c: float, factors: Sequence[str]) -> str:
    """c times factors, as one writes it."""
    divisors = [f.removeprefix("1 / ") for f in factors if f.startswith("1 / ")]
    over = [f for f in factors if not f.startswith("1 / ") and f != "1"]
    size = 1.0 if math.isclose(abs(c), 1, rel_tol=1e-5) else abs(c)
    if size < 1 and math.isclose(1 / size, round(1 / size), rel_tol=1e-5):
        size, divisors = 1.0, [f"{1 / size:.4g}", *divisors]
    front = [] if size == 1 and over else [f"{size:.5g}"]
    text = " * ".join([*front, *over])
    return ("-" if c < 0 else "") + " / ".join([text, *divisors])


# Axes and what stands there -------------------------------------------------------------------------------------------


def _couplings(out: Array, x: Array) -> Iterator[Axes]:
    """Axes along which every output may depend on every input."""
    ndim = max(out.ndim, x.ndim)
    axes = [a - ndim for a in range(ndim)]
    yield "axis"
    yield from itertools.combinations(reversed(axes), 1)
    if ndim > 1:
        yield from ((0,), "all")
    for n in range(2, ndim):
        yield from itertools.combinations(reversed(axes), n)


def _unshared(out: Array, x: Array) -> tuple[int, ...]:
    """The axes that only one of the two has, counted from the end."""
    common = _common(out.shape, x.shape)
    if common is None:
        return ()
    (o, i), ndim = common, len(common[0])
    return tuple(a - ndim for a in range(ndim) if o[a] != i[a])


def _common(out: tuple[int, ...], x: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Both shapes with as many axes, 1 where one has lost an axis of the other; the last ones first."""
    if len(out) == len(x):
        return (out, x) if all(m == n or 1 in (m, n) for m, n in zip(out, x, strict=True)) else None
    short, long = sorted((out, x), key=len)
    for kept in itertools.combinations(range(len(long)), len(short)):
        if all(long[a] == n for a, n in zip(kept, short, strict=True)):
            wide = tuple(long[a] if a in kept else 1 for a in range(len(long)))
            return (wide, long) if short is out else (long, wide)
    return None


def _blocks(point: Point, i: int, difference: Array, axes: Axes, functions: Sequence[str]) -> _Blocks | None:
    """The difference in blocks of coupled elements, if there is nothing outside of these."""
    common = _common(point.out.shape, point.inputs[i].shape)
    if common is None:
        return None
    (o, x), ndim = common, len(common[0])
    over = _in(point, axes, ndim)
    if over is None:
        return None
    coupled = set(over)
    if any(o[a] != x[a] for a in range(ndim) if a not in coupled):
        return None
    free = [a for a in range(ndim) if a not in coupled]
    rows = [a if a in coupled else 2 * ndim + a for a in range(ndim)]
    columns = [ndim + a if a in coupled else 2 * ndim + a for a in range(ndim)]
    kept = [*(2 * ndim + a for a in free), *sorted(coupled), *(ndim + a for a in sorted(coupled))]
    whole = difference.reshape((*o, *x))
    groups = math.prod(o[a] for a in free)
    m, n = (math.prod(shape[a] for a in coupled) for shape in (o, x))
    numbers = np.einsum(whole, [*rows, *columns], kept).reshape(groups, m, n)
    scale = np.abs(difference).max(initial=0.0)
    if not math.isclose(np.abs(numbers).sum(), np.abs(difference).sum(), rel_tol=1e-6, abs_tol=1e-7 * difference.size):
        return None
    numbers = np.where(np.abs(numbers) <= 1e-7 * scale + 1e-9, 0.0, numbers)

    def placed(v: Array, shape: tuple[int, ...]) -> Array | None:
        """v at (groups, coupled elements), if it has an element for each of `shape`."""
        try:
            own = _common(v.shape, shape) if v.ndim < ndim else (v.shape, shape)
            wide = np.broadcast_to(v.reshape(own[0]), shape) if own is not None else None
        except ValueError:
            return None
        if wide is None:
            return None
        return wide.transpose(*free, *sorted(coupled)).reshape(groups, -1)

    sides: list[dict[str, Array]] = []
    known = {point.input_name(k): v for k, v in enumerate(point.inputs)
             if isinstance(v, np.ndarray) and v.dtype.kind == "f"} | {"out": point.out}
    for shape in (o, x):
        at = {name: p for name, v in known.items() if (p := placed(v, shape)) is not None}
        sides.append(_functions(at, functions, coupled=bool(coupled)))
    full = {name: p for name, v in known.items() if (p := placed(v, tuple(np.maximum(o, x).tolist()))) is not None}
    return _Blocks(numbers, sides[0], sides[1], _of_groups(full))


def _functions(at: dict[str, Array], functions: Sequence[str], coupled: bool) -> dict[str, Array]:
    first = next(iter(at.values()), None)
    made = {} if first is None else {"1": np.ones(first.shape)}
    with np.errstate(all="ignore"):
        for name, v in at.items():
            made |= {text.format(name): f(v) for text, f in _OF_ONE.items() if text in functions}
            if coupled and v.shape[1] > 1 and not np.allclose(v.mean(1), 0):
                made[f"({name} - mean({name}))"] = v - v.mean(1, keepdims=True)
        for (n, v), (m, w) in itertools.combinations(at.items(), 2):
            made[f"{n} * {m}"] = v * w
    return {name: v for name, v in made.items() if np.isfinite(v).all()}


def _of_groups(known: dict[str, Array]) -> dict[str, Array]:
    """What is one number for each group: its size, sums, the output if that is one number."""
    found: dict[str, Array] = {}
    with np.errstate(all="ignore"):
        for name, v in known.items():
            n = v.shape[1]
            if n == 1 or not np.ptp(v, 1).any():
                for text in ("{}", "1 / {}", "{} ** 2", "1 / {} ** 2"):
                    found[text.format(name)] = _OF_ONE[text](v[:, 0])
                continue
            found["1 / n"] = np.full(len(v), 1 / n)
            for text, total in ((f"sum({name})", v.sum(1)), (f"sum({name} ** 2)", (v * v).sum(1)),
                                (f"std({name})", v.std(1)), (f"mean({name})", v.mean(1)),
                                (f"mean({name} ** 2)", (v * v).mean(1))):
                found |= {text: total, f"1 / {text}": 1 / total, f"1 / {text} ** 2": total**-2}
                if total.min() > 0:
                    found |= {f"1 / sqrt({text})": total**-0.5, f"1 / sqrt({text}) ** 3": total**-1.5}
    return {name: v for name, v in found.items() if np.isfinite(v).all()}


def _means(point: Point, i: int, jacobian: Array, axes: Axes) -> Array:
    """Of each row of a Jacobian the mean over axes of the input, in the place of every element."""
    x = point.inputs[i]
    axes_in = _in(point, axes, x.ndim)
    if axes_in is None:
        return np.zeros(jacobian.shape)
    over = tuple(1 + a for a in axes_in)
    rows = jacobian.reshape(len(jacobian), *x.shape)
    return np.broadcast_to(rows.mean(over, keepdims=True), rows.shape).reshape(jacobian.shape)


def _in(point: Point, axes: Axes, ndim: int) -> tuple[int, ...] | None:
    """The axes of an array of ndim axes, from the start; None if it has no such."""
    named: Any = {**point.values, "all": tuple(range(ndim))}.get(axes) if isinstance(axes, str) else axes
    named = (named,) if type(named) is int else named
    if not isinstance(named, tuple) or any(type(a) is not int or not -ndim <= a < ndim for a in named):
        return None
    return tuple(a % ndim for a in named)


def _along(axes: Axes) -> str:
    if isinstance(axes, str):
        return {"axis": "`axis`", "all": "all axes"}[axes]
    return ("axis " if len(axes) == 1 else "axes ") + " and ".join(map(str, sorted(axes)))


def _keywords(axes: Axes) -> str:
    if axes == "all":
        return ""
    told = axes if isinstance(axes, str) else axes[0] if len(axes) == 1 else tuple(sorted(axes))
    return f", axis={told}, keepdim=True"


def _less_its_sum(rule: Rule, axes: Axes) -> str | None:
    """k * a * the sum of what the rule gives, as is missing behind a softmax; k the same for every g."""
    first, found = rule.points[0], []
    for a in sorted(_functions(_alike(rule, first), _FEW, coupled=False), key=len):
        for point, _ in rule.running:
            k = _times_its_sum(rule, point, axes, a)
            if k is None and (not point.tried or point is first):
                break
            found += [] if k is None else [k]
        else:
            if not found:
                continue
            numbers = np.concatenate(found)
            summed = f"sum(what it gives{_keywords(axes)})"
            if _constant(numbers):
                return _formula(float(numbers[0]), [a, summed])
            return (_formula(math.copysign(1.0, numbers[0]), [a, summed]) +
                    f" times a factor that is the same along {_along(axes)}")
        found = []
    return None


def _alike(rule: Rule, point: Point) -> dict[str, Array]:
    """The inputs and the output, of the shape of the input."""
    at = {point.input_name(k): v for k, v in enumerate(point.inputs) if k in point.vary} | {"out": point.out}
    return {n: v for n, v in at.items() if v.shape == point.inputs[rule.i].shape}


def _times_its_sum(rule: Rule, point: Point, axes: Axes, a: str) -> Array | None:
    """What the sum must be multiplied by besides a, for each group, if that is one number for all outputs."""
    x, factor = point.inputs[rule.i], _functions(_alike(rule, point), _FEW, coupled=False).get(a)
    axes_in = _in(point, axes, x.ndim)
    if factor is None or not axes_in or x.size < 3:
        return None
    over = tuple(1 + b for b in axes_in)
    given, right = (j.reshape(-1, *x.shape) for j in (point.analytic(rule.i), point.numeric(rule.i)))
    unit = factor * given.sum(over, keepdims=True)
    used = np.abs(unit) > 1e-6 * np.abs(unit).max()
    if not unit.any() or (used.sum((0, *over)) <= math.prod(x.shape[b - 1] for b in over)).any():
        return None  # nothing to tell from, or one output to a group
    with np.errstate(all="ignore"):
        ratio = np.where(used, (right - given) / unit, np.nan)
        k = np.nanmedian(ratio, (0, *over), keepdims=True)
    return k.reshape(-1) if k.all() and close(given + k * unit, right) else None


def _twice(rule: Rule) -> Diagnosis | None:
    """An input that stands twice in the forward, as in x @ x.T: the same with g, or a matrix, transposed."""
    def turned(p: Point, name: str) -> Array:
        values = {**p.values, name: np.swapaxes(p.values[name], -1, -2)}
        with np.errstate(all="ignore"):
            return np.asarray(rule.function(p.g, *[values[n] for n in rule.names]))

    def added(a: Array | None, b: Array | None) -> Array | None:
        return None if a is None or b is None else a + b

    if rule.joint or rule.op.variadic:
        return None
    if rule.explains_running(lambda p: added(rule.raw(p), rule.raw(p, np.swapaxes(p.g, -1, -2).copy()))):
        return Diagnosis("term", f"a term is missing: {rule.input!r} reaches the output on two ways, and the rule goes "
                         "back on one; add the same with g transposed.")
    for name in rule.names:
        if rule.explains_running(lambda p, name=name: added(rule.raw(p), turned(p, name))):
            return Diagnosis("term", f"a term is missing: {rule.input!r} reaches the output on two ways, and the rule "
                             f"goes back on one; add the same with {name} transposed.")
    return None


def _half_of_a_product(rule: Rule) -> Diagnosis | None:
    """The output is x times what g is multiplied by: of (x h)' = h + x h' only the first term is there."""
    for point, _ in rule.wrong:
        given, right, x = point.analytic(rule.i), point.numeric(rule.i), point.inputs[rule.i]
        if x.shape != point.out.shape or x.size < 3 or \
                any(not close(j, np.diag(np.diagonal(j))) for j in (given, right)) or \
                not close(np.diagonal(given) * x.reshape(-1), point.out.reshape(-1)):
            return None
    return Diagnosis("term", f"of the product rule one of two terms is missing: the output is {rule.input} times what "
                     f"the rule multiplies g by, and that depends on {rule.input} too; add g * {rule.input} times its "
                     "derivative.") if rule.wrong else None
