"""Diagnose a wrong rule: search for the change that yields the right gradient at every point."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from ..ops.composite import Composite
from . import repair
from .measure import Point, close, fitted
from .rule import Array, Diagnosis, Rule
from .source import namespace
from .ways import ways

_KNOWN = {2: "2", 3: "3", 4: "4", 10: "10", math.log(2): "ln 2", math.log(10): "ln 10", math.pi: "pi",
          math.sqrt(2): "sqrt 2", math.sqrt(math.pi): "sqrt pi", math.sqrt(2 * math.pi): "sqrt(2 pi)", math.e: "e"}


def first_order(rule: Rule) -> Diagnosis:
    """The mistake in a rule whose gradient disagrees with finite differences."""
    for hypothesis in (_whole, _linear, lambda rule: repair.edited(rule, repair.NAMES), _factor, _option, _restored,
                       lambda rule: _search(rule, _forward, _orders, _shapes), repair.edited, _uneven, _terms, _global,
                       _masked, _entries):
        found = hypothesis(rule)
        if found is not None:
            return found
    return Diagnosis("unknown", "the checker knows no single mistake that explains all entries. Compare the entry "
                     "above with the derivation, one factor at a time.")


# Candidates for the right gradient: (kind, explanation, numbers) ---------------------------------------------

Family = Callable[[Rule, Point, Array], Iterator[tuple[str, str, Array]]]


def _search(rule: Rule, *families: Family) -> Diagnosis | None:
    """The first family that has a right member at every point."""
    points = [(p, rule.raw(p)) for p in rule.points]
    for family in families if all(c is not None for _, c in points) else ():
        try:
            told = [next((row[:2] for row in family(rule, p, c) if rule.fits(p, row[2])), None)
                    for p, c in points if c is not None]
        except Exception:  # raised by the rule at another g
            continue
        if None not in told:
            return Diagnosis(*max(filter(None, told), key=lambda row: bool(row[1])))
    return None


def _minus(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, str, Array]]:
    yield "sign", "the rule returns minus the right gradient.", -c


def _by_itself(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, str, Array]]:
    if rule.joint:
        yield "wanted", ("the rule is right if the gradients of all inputs are wanted, but not if only that of "
                         f"{rule.input!r} is: compute each one on its own, if `wanted` asks for it."), c


def _swapped(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, str, Array]]:
    for k in p.vary if not rule.op.variadic else ():
        other = Rule([p], k).raw(p)
        if k != rule.i and rule.fits(p, c, k) and other is not None and rule.fits(p, other):
            yield "order", (f"the rules of {rule.input!r} and {p.input_name(k)!r} are swapped: each returns the "
                            "gradient of the other."), p.wanted(rule.i)


def _whole(rule: Rule) -> Diagnosis | None:
    return _search(rule, _by_itself, _minus, _swapped)


def _restored(rule: Rule) -> Diagnosis | None:
    """The rule would be right if g and out still had the axes that the output has lost."""
    def right(p: Point) -> bool:
        out, shape = p.values["out"], p.inputs[rule.i].shape
        for over in itertools.combinations(range(len(shape)), max(len(shape) - p.out.ndim, 0)):
            p.values["out"] = np.expand_dims(out, over)
            c = rule.raw(p, np.expand_dims(p.g, over))
            p.values["out"] = out
            if c is not None and c.ndim == len(shape) and all(m in (1, n) for m, n in zip(c.shape, shape, strict=True)):
                c = np.broadcast_to(c, shape)
            if c is not None and rule.fits(p, c):
                return True
        return False

    these = "g and out need" if "out" in rule.names else "g needs"
    return Diagnosis("shape", f"{these} the axis again that the output has lost (unsqueeze, or keepdim=True), repeated "
                     "to the input's size; with that the rule is right.") if all(map(right, rule.points)) else None


def _axes(ndim: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for n in range(1, ndim + 1):
        for over in itertools.combinations(range(ndim), n):
            yield ("axis " if n == 1 else "axes ") + " and ".join(map(str, over)), over


def _orders(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, str, Array]]:
    told = "the gradient is {}: the right numbers are in the wrong places."
    if c.ndim != p.inputs[rule.i].ndim:
        return
    for axes in itertools.permutations(range(c.ndim)) if c.ndim <= 4 else ():
        if axes != tuple(range(c.ndim)):
            how = "transposed" if c.ndim == 2 else f"permuted, by {axes}"
            yield "transposed", told.format(how), c.transpose(axes)
    for text, over in _axes(c.ndim):
        yield "transposed", told.format(f"reversed along {text}"), np.flip(c, over)
    yield "transposed", "", c  # the order may differ between points


def _forward(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, str, Array]]:
    right = p.numeric(rule.i)
    if right.shape[0] == right.shape[1] and not close(right.T, right) and close(p.analytic(rule.i), right.T):
        yield "transposed", ("the rule multiplies by the Jacobian, not by its transpose: it carries a change of the "
                             "input forward, but must carry g back."), p.wanted(rule.i)


def _shapes(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, str, Array]]:
    shape = p.inputs[rule.i].shape
    if c.size == math.prod(shape):
        yield "shape", ("the numbers are right, but they must have the shape of the input again: reshape them."
                        ), c.reshape(shape)
    for text, over in _axes(c.ndim):
        if len(over) == p.out.ndim - len(shape):
            yield "sum", (f"a sum over {text} is missing: {rule.input!r} has no such axis. The engine itself sums only "
                          "over axes that broadcasting added in front, and over axes of size 1."), c.sum(over)


def _terms(rule: Rule) -> Diagnosis | None:
    """The rule would be right if one use of the input in the forward were constant."""
    if isinstance(rule.op, Composite) or rule.op.variadic or not rule.running:
        return None
    until = time.thread_time() + 2 * repair.PATIENCE
    for text, gradient in ways(rule.op, rule.input):
        try:
            if time.thread_time() < until and all(close(c, gradient(p, rule.i)) for p, c in rule.running):
                return Diagnosis("term", f"a term is missing: the rule {text}; add the gradient of that use.")
        except Exception:  # a held value may have another shape at its next use
            continue
    return None


# Properties -----------------------------------------------------------------------------------------------------------


def _linear(rule: Rule) -> Diagnosis | None:
    """Check that a rule is linear in g: twice g gives twice the gradient, and g = 0 gives 0."""
    for point, c in rule.running:
        scale = np.abs(c).max(initial=0)
        none, twice = (rule.raw(point, k * point.g) for k in (0, 2))
        none, twice = (x if x is None else fitted(x, c.shape) for x in (none, twice))
        if none is None or twice is None or not np.isfinite(c).all() or \
                scale <= 1e-4 * np.abs(point.wanted(rule.i)).max(initial=1):
            continue
        told = ("g is not used: a rule multiplies the slope by the incoming cotangent g, and this one returns the same "
                "for every g." if close(c, none) and close(twice, none) else
                "a term lacks the factor g: with g = 0 the gradient must be 0, since then the loss does not depend on "
                "the output." if np.abs(none).max(initial=0) > 1e-9 * (1 + scale) else
                "the rule is not linear in g: twice the g must give twice the gradient, so g must be a factor of every "
                "term exactly once." if not close(twice, 2 * c) else "")
        if told:
            return Diagnosis("g", told)
    return None


def _option(rule: Rule) -> Diagnosis | None:
    """Right at the options' defaults, wrong away from them."""
    wrong = [p for p in rule.points if not rule.right_at(p)]
    if not wrong or not all(p.changed for p in wrong):
        return None
    if (found := repair.edited(rule)) is not None:
        return found
    name, value = next(iter(min(wrong, key=lambda p: len(p.changed)).changed.items()))
    use = "does not use it" if name not in rule.names else "uses it in another way than the forward"
    return Diagnosis("option", f"right where the option {name!r} is {rule.op.options[name]!r}, its default, and wrong "
                     f"where it is {value!r}: the rule {use}.")


# A factor -------------------------------------------------------------------------------------------------------------

# The rule's result divided by the right one, as a function of a size, and its meaning.
_SUM = "it is the rule of a sum, not of a mean, or a division is missing"
_MEAN = "it is the rule of a mean, not of a sum, or divides once too often"
_OF_SIZES: dict[str, tuple[Callable[[Array], Array], str]] = {
    "n": (lambda n: n, _SUM), "1 / n": (lambda n: 1 / n, _MEAN),
    "sqrt(n)": (np.sqrt, _SUM), "1 / sqrt(n)": (lambda n: 1 / np.sqrt(n), _MEAN),
    "n / (n - 1)": (lambda n: n / (n - 1), "it divides by n - 1 where n is meant"),
    "(n - 1) / n": (lambda n: (n - 1) / n, "it divides by n where n - 1 is meant"),
}
# Missing or superfluous factors, the likely ones first.
_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "{}": lambda v: v, "{}^2": lambda v: v * v, "sqrt({})": np.sqrt, "{}^3": lambda v: v**3,
    "(1 - {})": lambda v: 1 - v, "(1 + {})": lambda v: 1 + v, "e^{}": np.exp, "log {}": np.log, "cos {}": np.cos,
    "sin {}": np.sin, "tanh {}": np.tanh, "(1 + {}^2)": lambda v: 1 + v * v, "(1 - {}^2)": lambda v: 1 - v * v,
    "the sign of {}": np.sign, "cosh {}": np.cosh, "sinh {}": np.sinh, "(1 + e^{})": lambda v: 1 + np.exp(v),
}
_OUTPUTS = "the number of outputs that each element goes into"
_ALL = "the number of outputs"
Table = dict[str, Array]  # "": right / given wherever a Jacobian is not 0; other names: sizes, options and arrays there


def _factor(rule: Rule) -> Diagnosis | None:
    """The right gradient divided by the rule's is constant, or a function of a size, an option or an array."""
    tables = [t for p, _ in rule.running if (t := _quotients(p, rule.i)) is not None]
    if not tables or len(tables) < len(rule.points):
        return None
    whole = _joined(tables)
    if len(whole[""]) < 2 or np.allclose(whole[""], 1, rtol=1e-6):  # not a factor: it is not linear in g
        return None
    if _same(whole[""]):
        return Diagnosis("factor", f"the rule returns {_number(1 / whole[''][0])} times the right gradient, "
                         "everywhere.")
    ratio = whole.pop("")
    sizes = {name: n for name, n in whole.items() if " " in name}
    with np.errstate(all="ignore"):
        return _of_size(ratio, sizes) or _of_value(rule, ratio, {n: v for n, v in whole.items() if n not in sizes})


def _uneven(rule: Rule) -> Diagnosis | None:
    """A factor that is constant at each point."""
    tables = [(p, t[""]) for p, _ in rule.running if (t := _quotients(p, rule.i)) is not None]
    if len(tables) < len(rule.points) or not all(len(k) and _same(k) for _, k in tables):
        return None
    told = "; ".join(dict.fromkeys(f"{1 / k[0]:.4g} times at {', '.join(str(p.inputs[i].shape) for i in p.vary)}"
                                   for p, k in tables))
    return Diagnosis("factor", f"the rule is right but for a factor that is constant at each point ({told}): a count, "
                     "a sum or an option is not that of the forward.") if len(tables) > 1 else None


def _quotients(point: Point, i: int) -> Table | None:
    try:
        right, given = point.numeric(i), point.analytic(i)
    except Exception:
        return None
    sizes = [np.abs(j) / (np.abs(j).max(initial=0) + 1e-300) for j in (right, given)]
    if (np.minimum(*sizes)[np.maximum(*sizes) > 1e-5] < 1e-6).any():
        return None
    shown = sizes[0] > 1e-4  # smaller entries are too inexact for division
    x, out = point.inputs[i], point.out
    numbers = {"the number of elements that go into each output": x.size / max(out.size, 1),
               _OUTPUTS: out.size / max(x.size, 1), _ALL: out.size,
               **{f"the size of axis {a}": x.shape[a] for a in range(x.ndim)},
               **{name: v for name in point.op.options if type(v := point.values[name]) in (int, float)}}
    found = {"": right[shown] / given[shown], **{n: np.full(int(shown.sum()), v, float) for n, v in numbers.items()}}
    for k in [*sorted(point.vary, key=point.input_name), -1]:
        name, v = ("out", out) if k < 0 else (point.input_name(k), point.inputs[k])
        try:
            whole = np.broadcast_to(v, out.shape).reshape(-1, 1)
        except ValueError:
            whole = v.reshape(1, -1)
        if k == i or whole.shape[1] == 1:
            found[name] = np.broadcast_to(whole, right.shape)[shown]
    return found


def _joined(tables: list[Table]) -> Table:
    return {name: np.concatenate([t[name] for t in tables]) for name in tables[0] if all(name in t for t in tables)}


def _same(k: Array) -> bool:
    return bool(np.isfinite(k).all() and np.allclose(k, k[0], rtol=1e-5))


def _of_size(ratio: Array, sizes: Table) -> Diagnosis | None:
    for name, n in sizes.items():
        for told, (f, why) in _OF_SIZES.items() if not (n % 1).any() and n.min() >= 1 and n.max() > 1 else ():
            if np.allclose(ratio * f(n), 1, rtol=1e-5):
                if told == "n" and name == _OUTPUTS:
                    why = "it sums over axes along which the input was broadcast, which the engine does already"
                if told == "1 / n" and name == _ALL:
                    why = "it divides by the number of all elements, not by the number that go into each output"
                return Diagnosis("factor" if "sqrt" in told else "mean",
                                 f"the rule returns {told} times the right gradient, where n is {name}: {why}.")
    return None


def _of_value(rule: Rule, ratio: Array, values: Table) -> Diagnosis | None:
    for (text, f), lacking, (name, v) in itertools.product(_FUNCTIONS.items(), (True, False), values.items()):
        factor = f(v) if lacking else 1 / f(v)
        k = ratio / factor
        if not _same(k) or not np.isfinite(factor).all() or _same(factor):
            continue
        if name in rule.op.options and rule.right_at(rule.points[0]) and f"{k[0]:.6g}" == _number(k[0]) != "1":
            continue  # a coincidence at the default
        also = "" if math.isclose(k[0], 1, rel_tol=1e-5) else f", and of {_number(k[0])}"
        return Diagnosis("factor" if name in rule.op.options else "function",
                         f"a factor of {text.format(name)}{also} is " + (
                             "missing." if lacking else "one too many, or a division by it is missing."))
    return None


def _number(k: float) -> str:
    for value, name in _KNOWN.items():
        for text, v in (name, value), (f"1 / ({name})" if " " in name else f"1/{name}", 1 / value):
            if math.isclose(abs(k), v, rel_tol=1e-6):
                return f"-{text}" if k < 0 else text
    return f"{k:.6g}"


# Where it is wrong ----------------------------------------------------------------------------------------------------

_CONDITIONS: dict[str, Callable[[Array], Array]] = {
    "is 0": lambda v: v == 0, "is not 0": lambda v: v != 0, "> 0": lambda v: v > 0, "< 0": lambda v: v < 0,
    "> 1": lambda v: v > 1, "< 1": lambda v: v < 1}


def _masked(rule: Rule) -> Diagnosis | None:
    """Right on one side of a condition, wrong on the other."""
    wrong: list[Array] = []
    at: dict[str, list[Array]] = {}
    for point, c in rule.running:
        wanted = point.wanted(rule.i)
        with np.errstate(all="ignore"):
            wrong.append((~(np.abs(c - wanted) <= 1e-6 * np.abs(wanted).max(initial=0) + 1e-8)).reshape(-1))
        for name, v in [*((point.input_name(k), x) for k, x in enumerate(point.inputs)), ("out", point.out)]:
            if isinstance(v, np.ndarray) and v.shape == c.shape:
                at.setdefault(name, []).append(v.reshape(-1))
    off = np.concatenate(wrong) if wrong else np.zeros(0, bool)
    values = {name: v for name, parts in sorted(at.items()) if (v := np.concatenate(parts)).shape == off.shape}
    told = [f"{name} is {truth}" for name, v in values.items() if v.dtype == bool
            for truth, holds in (("true", v), ("false", ~v)) if np.array_equal(holds, off)]
    told += [f"{name} {text}" for name, v in values.items() if v.dtype != bool
             for text, f in _CONDITIONS.items() if np.array_equal(f(v), off)]
    told += [f"{a} {sign} {b}" for (a, u), (b, v) in itertools.combinations(values.items(), 2)
             for sign, holds in (("<", u < v), (">", u > v)) if np.array_equal(holds, off)]
    return Diagnosis("points", f"wrong at some points only: where {told[0]}; elsewhere it is right.") \
        if told and off.any() and not off.all() else None


def _entries(rule: Rule) -> Diagnosis | None:
    """Jacobian entries that are wrongly zero or wrongly nonzero."""
    for point, _ in rule.wrong[:1]:  # others may be too large to distinguish small slopes from 0
        right, given, x = point.numeric(rule.i), point.analytic(rule.i), point.inputs[rule.i]
        small = 1e-8 + 1e-6 * np.abs(right).max(initial=0)
        here, there = np.abs(right) > small, np.abs(given) > small
        lost, extra, diagonal = here & ~there, there & ~here, np.eye(*here.shape) > 0
        mine, theirs = (j.any(0) for j in (extra, here))  # by element of the input
        if lost.any() and extra.any():
            return Diagnosis("places", "the rule sends g to elements that an output does not depend on, and misses "
                             "some that it depends on: it uses another mask, index or axis than the forward.")
        by_itself = here.shape[0] == here.shape[1] > 1 and not ((here | there) & ~diagonal).any()
        apart = mine.any() and theirs.any() and not (mine & theirs).any()
        off = np.where(np.abs(given - right) > small, np.abs(given - right), 0)
        if by_itself or apart or not (lost | extra | off.any(0)).all() and not (lost | extra).any():
            j, k = np.unravel_index(int(np.argmax(off)), off.shape)
            return Diagnosis("points", f"wrong at some points only, such as where {rule.input} is "
                             f"{x.reshape(-1)[k]:.3g}: the rule gives {given[j, k] + 0.0:.4g} there, but the slope is "
                             f"{right[j, k] + 0.0:.4g}.")
        if lost.any():
            return Diagnosis("sum", "the rule has only the diagonal of the Jacobian, as if each element of "
                             f"{rule.input!r} went into one output: it must sum over all outputs that an element goes "
                             "into." if np.array_equal(there, here & diagonal) else
                             f"{lost.sum() / here.sum():.0%} of the Jacobian is missing: some outputs send nothing "
                             "back to elements that they depend on; a sum over an axis is missing, or a path from the "
                             "input to the output.")
        if extra.any():
            return Diagnosis("sum", "the rule sends g to elements that the output does not depend on: there is one sum "
                             "over an axis too many, or a mask or an index is missing.")
    return None


def _global(rule: Rule) -> Diagnosis | None:
    """The rule reads a global that the forward uses too, as a cache."""
    forward, own, space = rule.op.__wrapped__.__code__, rule.function.__code__, namespace(rule.function)
    kept = [n for n in own.co_names if n in forward.co_names and isinstance(space.get(n), dict | list | np.ndarray)]
    return Diagnosis("state", f"the forward and the rule both use the global {kept[0]!r}. If the forward writes there, "
                     "the rule reads what another call has left; let it name what it needs: an input, out, or what "
                     "the forward returns with Residuals.") if kept else None
