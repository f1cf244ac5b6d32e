"""Why is a rule wrong? A search for what gives the right gradient at every point instead."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from . import repair
from .inputs import resized
from .measure import Point, close, fitted
from .rule import Array, Diagnosis, Rule

_KNOWN = {2: "2", 3: "3", 4: "4", 10: "10", math.log(2): "ln 2", math.log(10): "ln 10", math.pi: "pi",
          math.sqrt(2): "sqrt 2", math.sqrt(math.pi): "sqrt pi", math.sqrt(2 * math.pi): "sqrt(2 pi)", math.e: "e"}


def first_order(rule: Rule) -> Diagnosis:
    """The mistake in a rule whose gradient differs from differences."""
    first = rule.points[0]
    alike = [p for p in rule.points if not rule.unsaid(p) or p.out.ndim == first.out.ndim
             and all(np.ndim(x) == np.ndim(y) for x, y in zip(p.inputs, first.inputs, strict=True))]
    for there in (rule, Rule(alike, rule.i)) if len(alike) < len(rule.points) else (rule,):
        for hypothesis in (_whole, _linear, _zero, _factor, _option, renamed, _places, edited, _terms):
            found = hypothesis(there)
            if found is not None:
                return found
    return _masked(rule) or _entries(rule) or _unknown(rule)


# Tables: a kind, a sentence with room for a text and the input's name, and what the gradient should be instead --------

Family = Callable[[Rule, Point, Array], Iterator[tuple[str, Array]]]


def _search(rule: Rule, table: list[tuple[str, str, Family]]) -> Diagnosis | None:
    """The first row of which at every point some member is right."""
    points = [(p, c) for p in rule.points if (c := rule.raw(p)) is not None or not rule.unsaid(p)]
    if not points or any(c is None for _, c in points):
        return None
    for kind, sentence, family in table:
        told = [_first(rule, p, c, family) for p, c in points if c is not None]
        if all(text is not None for text in told):
            return Diagnosis(kind, sentence.format(next(filter(None, told), ""), repr(rule.input)))
    return None


def _first(rule: Rule, point: Point, c: Array, family: Family) -> str | None:
    try:
        return next((text for text, made in family(rule, point, c) if rule.fits(point, made)), None)
    except Exception:  # of the rule, at another g
        return None


def _axes(ndim: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for n in range(1, ndim + 1):
        for over in itertools.combinations(range(ndim), n):
            yield ("axis " if n == 1 else "axes ") + " and ".join(map(str, over)), over


def _orders(x: Array) -> Iterator[tuple[str, Array]]:
    for axes in itertools.permutations(range(x.ndim)) if x.ndim <= 4 else ():
        if axes != tuple(range(x.ndim)):
            yield "transposed" if x.ndim == 2 else f"permuted, by {axes}", x.transpose(axes)
    for text, over in _axes(x.ndim):
        yield f"reversed along {text}", np.flip(x, over)
    yield "", x  # an order may be that of the axes at one point, and not at another


def _both_ways(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, Array]]:
    if p.g.ndim > 1 and (made := rule.raw(p, np.swapaxes(p.g, -1, -2).copy())) is not None:
        yield "", c + made


def _less_its_mean(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, Array]]:
    for text, over in _axes(c.ndim):
        yield text, c - c.mean(over, keepdims=True)


def _half_of_a_product(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, Array]]:
    x = p.inputs[rule.i]
    if x.shape == p.out.shape == c.shape and x.size > 2 and close(c * x, p.g * p.out):
        yield "", p.wanted(rule.i)


def _multiple(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, Array]]:
    wanted = p.wanted(rule.i)
    arrays = {p.input_name(k): p.inputs[k] for k in p.vary} | {"out": p.out}
    for name, v in arrays.items():
        if v.shape == c.shape == wanted.shape and not close(c, 0 * c):
            for over in (None, *range(v.ndim)):
                if (v.size if over is None else v.shape[over]) > 2:
                    k = ((wanted - c) * v).sum(over, keepdims=True) / (v * v).sum(over, keepdims=True)
                    yield name, c + k * v


def _summed(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, Array]]:
    for text, over in _axes(c.ndim):
        if len(over) == p.out.ndim - p.inputs[rule.i].ndim:
            yield text, c.sum(over)


def _repeated(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, Array]]:
    shape = p.inputs[rule.i].shape
    if c.size < math.prod(shape):
        for over in itertools.combinations(range(len(shape)), len(shape) - c.ndim):
            wide = np.expand_dims(c, over)
            if all(m in (1, n) for m, n in zip(wide.shape, shape, strict=True)):
                yield "", np.broadcast_to(wide, shape)


def _reshaped(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, Array]]:
    if c.size == p.inputs[rule.i].size:
        yield "", c.reshape(p.inputs[rule.i].shape)


def _selected(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, Array]]:
    jacobian = p.numeric(rule.i)  # whether every output is another element of the input, and some elements are none
    ones = np.isclose(jacobian, 1, atol=1e-6)
    if (ones | np.isclose(jacobian, 0, atol=1e-6)).all() and (ones.sum(1) == 1).all() and \
            {*ones.sum(0).tolist()} == {0, 1}:
        yield "", p.wanted(rule.i)


def _forward(rule: Rule, p: Point, c: Array) -> Iterator[tuple[str, Array]]:
    right = p.numeric(rule.i)
    if right.shape[0] == right.shape[1] and not close(right.T, right) and close(p.analytic(rule.i), right.T):
        yield "", p.wanted(rule.i)


def _whole(rule: Rule) -> Diagnosis | None:
    return _search(rule, [
        ("wanted", "the rule is right if the gradients of all inputs are wanted, but not if only that of {1} is: each "
         "must be computed by itself where `wanted` says so.", lambda rule, p, c: iter([("", c)])),
        ("sign", "the rule gives minus what is right.", lambda rule, p, c: iter([("", -c)]))])


def _places(rule: Rule) -> Diagnosis | None:
    return _search(rule, [
        ("transposed", "the gradient is {0}: the right numbers stand in other places.",
         lambda rule, p, c: _orders(c) if c.ndim == p.inputs[rule.i].ndim else iter(())),
        ("transposed", "the rule multiplies by the Jacobian, not by its transpose: it carries a change of the input "
         "forward, where g has to be carried back.", _forward),
        ("shape", "the numbers are right, but they must have the shape of the input again: reshape them.", _reshaped),
        ("sum", "a sum over {0} is missing: {1} has no such axis. By itself the engine sums over axes that "
         "broadcasting put in front, and over those of size 1.", _summed),
        ("places", "the output is some of the elements of {1}: g belongs in the places of these, and 0 in all others "
         "(`where` with a condition, `put`, `surround`).", _selected),
        ("sum", "g must be repeated along the axes that the output has lost: the gradient must have the shape of the "
         "input again (`spread`, `expand` or `unsqueeze`).", _repeated)])


def _terms(rule: Rule) -> Diagnosis | None:
    return _search(rule, [
        ("term", "a term is missing: {1} reaches the output on two ways, and the rule goes back on one; add the same "
         "with g transposed.", _both_ways),
        ("term", "a term is missing that takes off the mean of the gradient: the output does not change when all "
         "elements are shifted by the same, so the gradient adds up to 0.", _less_its_mean),
        ("term", "a term is missing: what lacks is a multiple of {0}, as of a divisor or a mean that depends on {1} "
         "too.", _multiple),
        ("term", "of the product rule one of two terms is missing: the output is {1} times what the rule multiplies g "
         "by, and that depends on {1} too; add g times {1} times its derivative.", _half_of_a_product)])


# Properties -----------------------------------------------------------------------------------------------------------


def _linear(rule: Rule) -> Diagnosis | None:
    """A rule is linear in g: twice g gives twice the gradient, and no g none."""
    for point, c in rule.running:
        scale = np.abs(c).max(initial=0)
        none, twice = (rule.raw(point, k * point.g) for k in (0, 2))
        none, twice = (x if x is None else fitted(x, c.shape) for x in (none, twice))
        if none is None or twice is None or not np.isfinite(c).all() or \
                scale <= 1e-4 * np.abs(point.wanted(rule.i)).max(initial=1):
            continue
        if close(c, none) and close(twice, none):
            return Diagnosis("g", "g is not used: a rule multiplies the slope by the cotangent g that arrives, and "
                             "this one gives the same for every g.")
        if np.abs(none).max(initial=0) > 1e-9 * (1 + scale):
            return Diagnosis("g", "something is added that g does not multiply: with g = 0 the gradient must be 0, "
                             "since then the loss does not depend on the output.")
        if not close(twice, 2 * c):
            return Diagnosis("g", "the rule is not linear in g: twice the g must give twice the gradient, so g stands "
                             "in every term exactly once.")
    return None


def _zero(rule: Rule) -> Diagnosis | None:
    if not rule.running or any(c.any() for _, c in rule.running):
        return None
    return edited(rule, repair.CONDITIONS) or Diagnosis(
        "zero", f"the rule gives 0 everywhere, as if the output did not depend on {rule.input!r}.")


def _option(rule: Rule) -> Diagnosis | None:
    """Right where options have their defaults, and wrong where one has not."""
    wrong = [p for p in rule.points if not rule.right_at(p)]
    if not wrong or not all(p.changed for p in wrong):
        return None
    if (found := renamed(rule) or edited(rule)) is not None:
        return found
    name, value = next(iter(min(wrong, key=lambda p: len(p.changed)).changed.items()))
    use = "does not use it" if name not in rule.names else "uses it in another way than the forward"
    return Diagnosis("option", f"right where the option {name!r} is {rule.op.options[name]!r}, its default, and wrong "
                     f"where it is {value!r}: the rule {use}.")


# A factor -------------------------------------------------------------------------------------------------------------

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "{}": lambda v: v, "{}^2": lambda v: v * v, "sqrt({})": np.sqrt, "{}^3": lambda v: v**3,
    "(1 - {})": lambda v: 1 - v, "(1 + {})": lambda v: 1 + v, "e^{}": np.exp, "log {}": np.log, "cos {}": np.cos,
    "sin {}": np.sin, "tanh {}": np.tanh, "(1 + {}^2)": lambda v: 1 + v * v, "(1 - {}^2)": lambda v: 1 - v * v,
    "the sign of {}": np.sign, "cosh {}": np.cosh, "sinh {}": np.sinh, "(1 + e^{})": lambda v: 1 + np.exp(v),
}
_OF_SIZES: dict[str, Callable[[Array], Array]] = {
    "n": lambda v: v, "sqrt(n)": np.sqrt, "n / (n - 1)": lambda v: v / (v - 1)}


def _factor(rule: Rule) -> Diagnosis | None:
    """The right gradient divided by the rule's is a number, a size, or a function of an option or an array."""
    tables = [t for p, _ in rule.running if (t := _Quotients.of(p, rule.i)) is not None]
    if not tables or len(tables) < len(rule.points):
        return None
    whole = _joined(tables)
    if len(whole.ratio) < 2 or np.allclose(whole.ratio, 1, rtol=1e-6):  # then it is not linear in g
        return None
    if _same(whole.ratio):
        other = resized(rule.points[0])
        more = _Quotients.of(other, rule.i) if other is not None else None
        if more is None or _same(_joined([whole, more]).ratio):
            return _with_name(rule, "factor", f"the rule gives {_number(1 / whole.ratio[0])} times what is right, "
                              "everywhere.")
        whole = _joined([whole, more])
    with np.errstate(all="ignore"):
        return _of_size(whole) or _of_values(rule, whole)


class _Quotients:
    """Right divided by given where a Jacobian is not 0, and there each size, and each option and array."""

    def __init__(self, ratio: Array, sizes: dict[str, Array], values: dict[str, Array]):
        self.ratio, self.sizes, self.values = ratio, sizes, values

    @staticmethod
    def of(point: Point, i: int) -> _Quotients | None:
        try:
            right, given = point.numeric(i), point.analytic(i)
        except Exception:
            return None
        shown, also = (np.abs(j) > 1e-6 * (np.abs(j).max(initial=0) + 1e-300) for j in (right, given))
        if not np.array_equal(shown, also):
            return None
        x, out, n = point.inputs[i], point.out, int(shown.sum())
        sizes = {"the number of elements that each output is made of": x.size / max(out.size, 1),
                 "the number of outputs that each element goes into": out.size / max(x.size, 1),
                 **{f"the size of axis {a}": float(x.shape[a]) for a in range(x.ndim)}}
        values = {name: np.full(n, v, float) for name in point.op.options
                  if isinstance(v := point.values[name], int | float) and not isinstance(v, bool)}
        named = {point.input_name(k): x for k, x in enumerate(point.inputs) if k in point.vary} | {"out": out}
        for name, v in sorted(named.items(), key=lambda pair: (pair[0] == "out", pair[0])):
            try:
                whole = np.broadcast_to(v, out.shape).reshape(-1, 1)
            except ValueError:
                whole = v.reshape(1, -1)
            if name == point.input_name(i) or whole.shape[1] == 1:
                values[name] = np.broadcast_to(whole, right.shape)[shown]
        return _Quotients(right[shown] / given[shown], {name: np.full(n, v) for name, v in sizes.items()}, values)


def _joined(tables: list[_Quotients]) -> _Quotients:
    return _Quotients(np.concatenate([t.ratio for t in tables]), *(
        {name: np.concatenate([getattr(t, part)[name] for t in tables]) for name in getattr(tables[0], part)
         if all(name in getattr(t, part) for t in tables)} for part in ("sizes", "values")))


def _same(k: Array) -> bool:
    return bool(np.isfinite(k).all() and np.allclose(k, k[0], rtol=1e-5))


def _of_size(whole: _Quotients) -> Diagnosis | None:
    for name, n in whole.sizes.items():
        if (n < 1).any() or (n % 1).any() or n.max() == 1:
            continue
        for text, f in _OF_SIZES.items():
            if np.allclose(whole.ratio * f(n), 1, rtol=1e-5):
                told, why = text, "it is the rule of a sum where a mean is meant, or a division is missing"
            elif np.allclose(whole.ratio, f(n), rtol=1e-5):
                told = {"n / (n - 1)": "(n - 1) / n"}.get(text, f"1 / {text}")
                why = "it is the rule of a mean where a sum is meant, or divides once too often"
            else:
                continue
            why = {"n / (n - 1)": "it divides by n - 1 where n is meant", "(n - 1) / n":
                   "it divides by n where n - 1 is meant"}.get(told, why)
            if told == "n" and name.startswith("the number of outputs"):
                why = "it sums by itself over axes along which the input was broadcast; the engine does that"
            return Diagnosis("factor" if "sqrt" in text else "mean",
                             f"the rule gives {told} times what is right, n being {name}: {why}.")
    return None


def _of_values(rule: Rule, whole: _Quotients) -> Diagnosis | None:
    powers = [(text, lacking, name) for text in ("{}", "{}^2", "sqrt({})", "{}^3") for lacking in (True, False)
              for name in whole.values]
    others = [(text, lacking, name) for name in whole.values for text in _FUNCTIONS for lacking in (True, False)]
    for text, lacking, name in powers + others:
        factor = _FUNCTIONS[text](whole.values[name])
        factor = factor if lacking else 1 / factor
        k = whole.ratio / factor
        if _same(k) and np.isfinite(factor).all() and not _same(factor):
            if name in rule.op.options and rule.right_at(rule.points[0]) and f"{k[0]:.6g}" == _number(k[0]) != "1":
                continue  # a number that happens to belong to the default
            also = "" if math.isclose(k[0], 1, rel_tol=1e-5) else f", and of {_number(k[0])}"
            return _with_name(rule, "factor" if name in rule.op.options else "function",
                              f"a factor of {text.format(name)}{also} is " + (
                                  "missing." if lacking else "one too many, or a division by it is missing."))
    return None


def _with_name(rule: Rule, kind: str, text: str) -> Diagnosis:
    """Another name may be the reason for a factor."""
    also = renamed(rule)
    return Diagnosis(kind, text) if also is None else Diagnosis(kind, f"{text[:-1]}: {also.text}", also.line)


def _number(k: float) -> str:
    for value, name in _KNOWN.items():
        for text, v in (name, value), (f"1 / ({name})" if " " in name else f"1/{name}", 1 / value):
            if math.isclose(abs(k), v, rel_tol=1e-6):
                return f"-{text}" if k < 0 else text
    return f"{k:.6g}"


# Changes of the source ------------------------------------------------------------------------------------------------


def renamed(rule: Rule) -> Diagnosis | None:
    """One name for another, as x where out was meant."""
    found = rule.repaired(repair.NAMES, 0.25)
    if found is None:
        return None
    return Diagnosis("name", f"{found.old!r} stands where {found.new!r} is meant: with that name the rule is right.",
                     found.line)


def edited(rule: Rule, rows: Sequence[repair.Row] = repair.REST) -> Diagnosis | None:
    """One change in the rule's source makes it right."""
    found = rule.repaired(rows, 0.5)
    if found is None:
        return None
    return Diagnosis(found.kind, f"{found.old!r} should be {found.new.replace('_ops.', '')!r}; with that the rule is "
                     "right.", found.line)


# Where it is wrong ----------------------------------------------------------------------------------------------------


def _masked(rule: Rule) -> Diagnosis | None:
    """Right on one side of a condition and wrong on the other."""
    wrong: list[Array] = []
    at: dict[str, list[Array]] = {}
    for point, c in rule.running:
        wanted = point.wanted(rule.i)
        with np.errstate(all="ignore"):
            wrong.append((~(np.abs(c - wanted) <= 1e-6 * np.abs(wanted).max(initial=0) + 1e-8)).reshape(-1))
        arrays = {point.input_name(k): x for k, x in enumerate(point.inputs)} | {"out": point.out}
        for name, v in arrays.items():
            if isinstance(v, np.ndarray) and v.shape == c.shape:
                at.setdefault(name, []).append(v.reshape(-1))
    off = np.concatenate(wrong) if wrong else np.zeros(0, bool)
    if not off.any() or off.all():
        return None
    values = {name: v for name, parts in sorted(at.items()) if (v := np.concatenate(parts)).shape == off.shape}
    told = [text for name, v in values.items() for text in _sides(name, v, off)]
    told += [f"{a} {sign} {b}" for (a, u), (b, v) in itertools.combinations(values.items(), 2)
             for sign, holds in (("<", u < v), (">", u > v)) if np.array_equal(holds, off)]
    return Diagnosis("points", f"wrong at some points only: where {told[0]}; elsewhere it is right.") if told else None


def _sides(name: str, v: Array, off: Array) -> Iterator[str]:
    """Conditions on v that hold where the rule is wrong, and nowhere else."""
    if v.dtype == bool:
        yield from [f"{name} is {text}" for text, holds in (("true", v), ("false", ~v)) if np.array_equal(holds, off)]
        return
    for text, holds in ("is 0", v == 0), ("is not 0", v != 0), ("> 0", v > 0), ("< 0", v < 0), ("> 1", v > 1), \
            ("< 1", v < 1):
        if np.array_equal(holds, off):
            yield f"{name} {text}"
    if 1 < off.sum() < off.size - 1:
        if v[off].max() < v[~off].min():
            yield f"{name} is {v[off].max():.3g} or less"
        if v[off].min() > v[~off].max():
            yield f"{name} is {v[off].min():.3g} or more"


def _entries(rule: Rule) -> Diagnosis | None:
    """Entries of the Jacobian that the rule leaves 0 everywhere, or that it should; or those of some elements only."""
    for point, _ in rule.wrong[:1]:  # others may be too large to tell a small slope from none
        right, given, x = point.numeric(rule.i), point.analytic(rule.i), point.inputs[rule.i]
        small = 1e-8 + 1e-6 * np.abs(right).max(initial=0)
        here, there = np.abs(right) > small, np.abs(given) > small
        if (here & ~there).any():
            diagonal = here.shape[0] == here.shape[1] > 1 and not there[np.eye(*there.shape) == 0].any()
            return Diagnosis("sum", "the rule has the diagonal of the Jacobian only, and the rest is lost, as if each "
                             f"element of {rule.input!r} went into one output: it must sum over all outputs that an "
                             "element goes into." if diagonal else
                             f"{(here & ~there).sum() / here.sum():.0%} of the Jacobian is lost: outputs that depend "
                             "on an element get nothing from the rule; a sum over an axis is missing, or a way on "
                             "which the input reaches the output.")
        extra = there & ~here
        if extra.any():
            off = extra.any(0)
            if off.any() and here.any() and not off.all() and not (here & off).any() and \
                    close(given[:, ~off], right[:, ~off]):
                return Diagnosis("points", f"wrong at some points only, as where {rule.input} is "
                                 f"{x.reshape(-1)[off][0]:.3g}: there the output does not change with {rule.input!r}, "
                                 "and the rule must give 0.")
            return Diagnosis("sum", "the rule carries g to elements on which that output does not depend: a sum over "
                             "an axis is one too many, or elements are mixed up.")
    return None


def _unknown(rule: Rule) -> Diagnosis:
    """Where it is wrong, if nobody knows why."""
    places = {right: "; ".join(dict.fromkeys(", ".join(str(p.inputs[i].shape) for i in p.vary) for p in rule.points
                                             if rule.right_at(p) == right)) for right in (True, False)}
    also = f" It is right at inputs of shape {places[True]}, and wrong at {places[False]}." if places[True] else ""
    return Diagnosis("unknown", f"no single mistake that the checker knows explains all entries.{also} Compare the "
                     "entry above with the derivation, one factor at a time.")
