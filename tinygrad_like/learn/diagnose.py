"""Why is a rule wrong? Hypotheses, each tested by what it predicts at every point, the most specific first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from . import repair
from .inputs import resized
from .measure import Point, close, fitted
from .places import less_mean, mixed, reordered, summed
from .rule import Array, Diagnosis, Rule
from .terms import missing, outside_diagonal

_KNOWN = {2: "2", 3: "3", 4: "4", 10: "10", math.log(2): "ln 2", math.log(10): "ln 10", math.pi: "pi",
          math.sqrt(2): "sqrt 2", math.sqrt(math.pi): "sqrt pi", math.sqrt(2 * math.pi): "sqrt(2 pi)",
          2 / math.sqrt(math.pi): "2 / sqrt pi", math.e: "e"}


def first_order(rule: Rule) -> Diagnosis:
    """What is wrong with a rule whose gradient differs from differences."""
    for hypothesis in (_alone, _by_option, _option, _sign, _zero, _constant, _function, reordered, summed, _size,
                       _linear, less_mean, renamed, edited, missing, mixed, _fixed, _somewhere, _missing_entries):
        found = hypothesis(rule)
        if found is not None:
            return _named(rule, found)
    return Diagnosis("unknown", "no single mistake that the checker knows explains all entries; compare the entry "
                     "above with the derivation, one factor at a time.")


def _named(rule: Rule, found: Diagnosis) -> Diagnosis:
    """Another name may be the reason for a factor."""
    also = renamed(rule) if found.kind in ("factor", "function") else None
    return found if also is None else found._replace(text=f"{found.text[:-1]}: {also.text}", line=also.line)


# Hypotheses -----------------------------------------------------------------------------------------------------------

_OF_OPTION: dict[str, Callable[[float], float]] = {
    "{}": lambda v: v, "{} ** 2": lambda v: v * v, "sqrt({})": lambda v: v**0.5, "(1 - {})": lambda v: 1 - v,
    "(1 + {})": lambda v: 1 + v, "{} ** 3": lambda v: v**3}


def _by_option(rule: Rule) -> Diagnosis | None:
    """A factor that is another number where an option is."""
    ratios = _ratios(rule)
    if not ratios or np.allclose([k for _, k in ratios], ratios[0][1], rtol=1e-6):
        return None
    for name, default in rule.op.options.items():
        values = [point.options.get(name, default) for point, _ in ratios]
        if any(isinstance(v, bool) or not isinstance(v, int | float) for v in values):
            continue
        for text, f in _OF_OPTION.items():
            size = np.array([f(v) if v > 0 else np.nan for v in values])
            for power, told in (-1, "missing"), (1, "one too many, or a division by it is missing"):
                c = np.array([k for _, k in ratios]) / size**power
                if np.allclose(c, c[0], rtol=1e-6):
                    also = "" if math.isclose(c[0], 1, rel_tol=1e-6) else f", and {_number(c[0])} times that is given"
                    return Diagnosis("factor", f"a factor of {text.format(name)} is {told}{also}.")
    return None


def _option(rule: Rule) -> Diagnosis | None:
    """Right where options have their defaults, and wrong where one has not."""
    wrong = [p for p in rule.points if not rule.right_at(p)]
    if not wrong or not all(p.changed for p in wrong) or (found := renamed(rule) or edited(rule)) is not None:
        return found if wrong and all(p.changed for p in wrong) else None
    name, value = next(iter(min(wrong, key=lambda p: len(p.changed)).changed.items()))
    use = "does not use it" if name not in rule.names else "uses it in another way than the forward"
    return Diagnosis("option", f"right where the option {name!r} is {rule.op.options[name]!r}, its default, and wrong "
                     f"where it is {value!r}: the rule {use}.")


def _alone(rule: Rule) -> Diagnosis | None:
    """A joint rule that is right if all inputs are wanted, and wrong if only this one is."""
    if rule.joint and rule.explains(rule.raw):
        return Diagnosis("wanted", "the rule is right if the gradients of all inputs are wanted, but not if only that "
                         f"of {rule.input!r} is: each must be computed by itself where `wanted` says so.")
    return None


def _linear(rule: Rule) -> Diagnosis | None:
    """A rule is linear in g: twice g gives twice the gradient, and no g none."""
    for point, c in rule.running:
        if np.abs(c).max(initial=0) <= 1e-9 * np.abs(point.wanted(rule.i)).max(initial=0):
            continue
        none, twice = rule.raw(point, 0 * point.g), rule.raw(point, 2 * point.g)
        if none is None or twice is None:
            continue
        none, twice = (fitted(x, c.shape) for x in (none, twice))
        if none is None or twice is None or not np.isfinite(c).all():
            continue
        if close(c, none) and close(twice, none) and np.abs(c).max(initial=0) > 0:
            return Diagnosis("g", "g is not used: a rule multiplies the slope by the cotangent g that arrives, and "
                             "this one gives the same for every g.")
        if np.abs(none).max(initial=0) > 1e-9 * (1 + np.abs(c).max(initial=0)):
            return Diagnosis("g", "something is added that g does not multiply: with g = 0 the gradient must be 0, "
                             "since then the loss does not depend on the output.")
        if not close(twice, 2 * c):
            return Diagnosis("g", "the rule is not linear in g: twice the g must give twice the gradient, so g stands "
                             "in every term exactly once.")
    return None


def _zero(rule: Rule) -> Diagnosis | None:
    if rule.running and all(not c.any() for _, c in rule.running):
        found = edited(rule, (repair.comparisons,))
        if found is not None:
            return found
        return Diagnosis("zero", "the rule gives 0 everywhere, as if the output did not depend on "
                         f"{rule.input!r}.")
    return None


def _sign(rule: Rule) -> Diagnosis | None:
    if rule.explains(lambda p: _negative(rule.raw(p))):
        return Diagnosis("sign", "the rule gives minus what is right.")
    return None


def _negative(c: Array | None) -> Array | None:
    return None if c is None else -c


def _ratios(rule: Rule) -> list[tuple[Point, float]] | None:
    """By how much the rule is too large at each point, if that is one number at each."""
    found = []
    for point, c in rule.running:
        wanted = point.wanted(rule.i)
        size = float(np.vdot(wanted, wanted))
        if not np.isfinite(c).all():
            return None
        if not size:
            continue
        k = float(np.vdot(wanted, c)) / size
        if k == 0 or not close(c, k * wanted):
            return None
        found.append((point, k))
    entries = sum(point.numeric(rule.i).size for point, _ in found)  # a single number is always a factor
    return found if entries > 1 and len(rule.running) == len(rule.points) else None


def _constant(rule: Rule) -> Diagnosis | None:
    ratios = _ratios(rule)
    if not ratios or not np.allclose([k for _, k in ratios], ratios[0][1], rtol=1e-6) or \
            math.isclose(ratios[0][1], 1, rel_tol=1e-6):
        return None
    if (over := _copied(rule, ratios[0][1])) is not None:
        return Diagnosis("sum", f"the rule sums over axis {over} by itself, over which {rule.input!r} was broadcast; "
                         "the engine does that for every rule, so it is done twice.")
    if len(ratios) == 1 and (found := _size(rule, sure=True)) is not None:
        return found
    other = resized(ratios[0][0])
    if other is not None and (found := _size(Rule([*rule.points, other], rule.i))) is not None:
        return found
    text = f"the rule gives {_number(ratios[0][1])} times what is right, everywhere"
    return Diagnosis("factor", text + ".")


def _copied(rule: Rule, k: float) -> int | None:
    """An axis of k equal numbers in the rule's result along which the engine sums."""
    results = [(p, c) for p in rule.points if (c := rule.raw(p)) is not None and c.shape != p.inputs[rule.i].shape]
    for over in range(rule.points[0].out.ndim) if results else ():
        if all(c.shape == p.out.shape and c.shape[over] == round(k, 6) and np.allclose(np.ptp(c, over), 0)
               for p, c in results):
            return over
    return None


def _number(k: float) -> str:
    for sign in ("", "-"):
        for value, name in _KNOWN.items():
            v = -value if sign else value
            if math.isclose(k, v, rel_tol=1e-6):
                return f"{sign}{name}"
            if math.isclose(k, 1 / v, rel_tol=1e-6):
                return f"{sign}1 / ({name})" if " " in name else f"{sign}1/{name}"
    return f"{k:.6g}"


def _size(rule: Rule, sure: bool = False) -> Diagnosis | None:
    """One factor at each point, but not the same: a size, as where a mean and a sum are confused.

    sure: of sizes, take only that which a mean divides by; for a single point, where all factors are the same.
    """
    ratios = _ratios(rule)
    if not ratios or all(math.isclose(k, 1, rel_tol=1e-6) for _, k in ratios):
        return None
    sizes: dict[str, Callable[..., float]] = {
        "the number of elements that each output is made of": lambda p: p.inputs[rule.i].size / max(p.out.size, 1),
        "the number of elements of all inputs together that each output is made of": _together,
        "the number of outputs that each element goes into": lambda p: p.out.size / max(p.inputs[rule.i].size, 1),
        f"the size of {rule.input!r}": lambda p: p.inputs[rule.i].size,
    }
    if sure:
        sizes = dict([next(iter(sizes.items()))])
    for a in () if sure else (0, 1, 2, 3, -1):
        sizes[f"the size of axis {a} of {rule.input!r}"] = lambda p, a=a: p.inputs[rule.i].shape[a]
    for name, size in sizes.items():
        try:
            values = [float(size(p)) for p, _ in ratios]
        except (IndexError, ValueError):
            continue
        if any(v < 1 or v % 1 for v in values) or max(values) == 1:
            continue
        for power, told in (-1, "1 / "), (1, ""):
            if all(math.isclose(k, v**power, rel_tol=1e-6) for (_, k), v in zip(ratios, values, strict=True)):
                text = ("it is the rule of a mean where a sum is meant, or divides once too often" if power < 0 else
                        "it is the rule of a sum where a mean is meant, or a division is missing")
                return Diagnosis("mean", f"the rule gives {told}n times what is right, n being {name}: {text}.")
            if all(math.isclose(k, v**(power / 2), rel_tol=1e-6) for (_, k), v in zip(ratios, values, strict=True)):
                text = "a factor" if power < 0 else "a division by it"
                return Diagnosis("factor", f"the rule gives {told}sqrt(n) times what is right, n being {name}: {text} "
                                 "is missing.")
        for less, more in ("n", "n - 1"), ("n - 1", "n"):
            if all(v > 1 and math.isclose(k, (v - 1) / v if less == "n" else v / (v - 1), rel_tol=1e-6)
                   for (_, k), v in zip(ratios, values, strict=True)):
                return Diagnosis("mean", f"the rule divides by {less} where {more} is meant, n being {name}.")
    return None


def _fixed(rule: Rule) -> Diagnosis | None:
    """Right at some sizes, and wrong by a factor at others: a size that was written as a number."""
    ratios = _ratios(rule)
    if not ratios or len(ratios) < 2:
        return None
    right = [point for point, k in ratios if math.isclose(k, 1, rel_tol=1e-6)]
    if not right or len(right) == len(ratios):
        return None
    shape = ", ".join(str(right[0].inputs[i].shape) for i in right[0].vary)
    return Diagnosis("constant", f"right at inputs of shape {shape}, and wrong by a factor at others: a number stands "
                     f"where a size is meant; rules may name {rule.input}_shape.")


def _together(point: Point) -> float:
    """How many elements each output is made of, where the inputs are broadcast to one shape before they are summed."""
    shape = np.broadcast_shapes(*[np.shape(x) for x in point.inputs])
    return math.prod(shape) / max(point.out.size, 1)


def renamed(rule: Rule) -> Diagnosis | None:
    """One name for another, as x where out was meant."""
    found = rule.repaired(repair.NAMES, 0.25)
    if found is None:
        return None
    return Diagnosis("name", f"{found.old!r} stands where {found.new!r} is meant: with that name the rule is right.",
                     found.line)


_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "e^{}": np.exp, "cos {}": np.cos, "sin {}": np.sin, "tanh {}": np.tanh, "log {}": np.log,
    "(1 + {})": lambda v: 1 + v, "(1 - {})": lambda v: 1 - v, "(1 + {}^2)": lambda v: 1 + v * v,
    "(1 - {}^2)": lambda v: 1 - v * v,
    "the sign of {}": np.sign, "cosh {}": np.cosh, "sinh {}": np.sinh, "(1 + e^{})": lambda v: 1 + np.exp(v),
}


def _function(rule: Rule) -> Diagnosis | None:
    """What is right, divided by what the rule gives, is a power or another function of an input or of the output."""
    if len(rule.running) < len(rule.points):
        return None
    tables = [_quotients(point, rule.i) for point, _ in rule.running]
    if any(t is None for t in tables):
        return None
    names = set.intersection(*[set(t[1]) for t in tables if t is not None])
    joined = {name: np.concatenate([t[1][name] for t in tables if t is not None])
              for name in sorted(names, key=lambda n: (n == "out", n))}
    ratio = np.concatenate([t[0] for t in tables if t is not None])
    if len(ratio) < 3 or np.allclose(ratio, 1, rtol=1e-6):  # right for each g by itself: then it is not linear in g
        return None
    with np.errstate(all="ignore"):
        for power in (1, -1, 2, -2, 0.5, -0.5, 3, -3, 1.5, -1.5):
            for name, v in joined.items():
                k = ratio / v**power
                if np.isfinite(k).all() and np.allclose(k, k[0], rtol=1e-5):
                    return _lacking(name if abs(power) == 1 else f"{name}^{abs(power):g}", power > 0, k[0])
        for name, v in joined.items():
            for text, f in _FUNCTIONS.items():
                for power in (1, -1):
                    if np.ptp(f(v)) == 0:  # as the sign of positive numbers
                        continue
                    k = ratio / f(v) ** power
                    if np.isfinite(k).all() and np.allclose(k, k[0], rtol=1e-5):
                        return _lacking(text.format(name), power > 0, k[0])
    return None


def _lacking(what: str, missing: bool, k: float) -> Diagnosis:
    also = "" if math.isclose(k, 1, rel_tol=1e-5) else f", and of {_number(k)}"
    return Diagnosis("function", f"a factor of {what}{also} is " + (
        "missing." if missing else "one too many, or a division by it is missing."))


def _quotients(point: Point, i: int) -> tuple[Array, dict[str, Array]] | None:
    """Right divided by given for the entries of the Jacobian that are not 0, and there the inputs and the output."""
    right, given = point.numeric(i), point.analytic(i)
    shown = np.abs(right) > 1e-6 * (np.abs(right).max(initial=0) + 1e-300)
    if not np.array_equal(shown, np.abs(given) > 1e-6 * (np.abs(given).max(initial=0) + 1e-300)):
        return None
    at: dict[str, Array] = {}
    named = [(point.input_name(k), x) for k, x in enumerate(point.inputs) if k in point.vary]
    for name, v in [*named, ("out", point.out)]:
        try:
            rows = np.broadcast_to(v, point.out.shape).reshape(-1, 1)
        except ValueError:
            continue
        at[name] = np.broadcast_to(rows, right.shape)[shown]
    own = point.input_name(i)
    if own not in at:
        at[own] = np.broadcast_to(point.inputs[i].reshape(1, -1), right.shape)[shown]
    return right[shown] / given[shown], at


_WHY = {
    "sign": "the sign of that term is wrong", "operator": "the wrong operator", "condition": "the wrong condition",
    "function": "the wrong function", "order": "the operands are in the wrong order", "option": "the wrong option",
    "factor": "a factor is missing there", "constant": "a wrong number", "name": "the wrong name",
    "extra term": "that term is one too many",
    "extra factor": "that factor is one too many", "missing factor": "a factor is missing there",
    "missing term": "a term is missing there", "transposed": "transposed or permuted there",
    "extra transposed": "that reorders once too often", "missing sum": "a sum is missing there",
    "extra sum": "that sum is one too many", "mean": "a mean and a sum are confused there",
    "extra function": "that function is one too many",
}


def edited(rule: Rule, families: Sequence[Callable] = repair.REST) -> Diagnosis | None:
    """One change in the rule's source makes it right."""
    found = rule.repaired(families, 0.5)
    if found is None:
        return None
    kind = found.kind.split()[-1]
    if found.kind == "extra factor" and found.old in (f"{found.new} * g", f"g * {found.new}"):
        return Diagnosis("g", f"g is in {found.old!r} once too often: the rule must be linear in g, so g stands in "
                         "every term exactly once.", found.line)
    new = found.new.replace("_ops.", "")
    return Diagnosis(kind, f"{_WHY[found.kind]}: {found.old!r} should be {new!r}; with that the rule is right.",
                     found.line)


def _somewhere(rule: Rule) -> Diagnosis | None:
    """Right on one side of a condition and wrong on the other."""
    wrong: list[Array] = []
    at: dict[str, list[Array]] = {}
    for point, c in rule.running:
        wanted = point.wanted(rule.i)
        with np.errstate(all="ignore"):
            off = ~(np.abs(c - wanted) <= 1e-6 * np.abs(wanted).max(initial=0) + 1e-8)
        named = [(point.input_name(k), x) for k, x in enumerate(point.inputs) if isinstance(x, np.ndarray)]
        named.append(("out", point.out))
        wrong.append(off.reshape(-1))
        for name, v in named:
            if v.shape == off.shape:
                at.setdefault(name, []).append(v.reshape(-1))
    if not wrong or all(w.all() for w in wrong) or not any(w.any() for w in wrong):
        return None
    mask = np.concatenate(wrong)
    conditions: dict[str, Callable[[Array], Array]] = {
        "> 0": lambda v: v > 0, "< 0": lambda v: v < 0, "is 0": lambda v: v == 0, "is not 0": lambda v: v != 0,
        "> 1": lambda v: v > 1, "< 1": lambda v: v < 1,
        "is true": lambda v: v, "is false": lambda v: ~v}
    for name, parts in at.items():
        v = np.concatenate(parts)
        for text, test in conditions.items():
            if v.shape == mask.shape and (v.dtype == bool) == text.startswith(("is t", "is f")) and \
                    np.array_equal(test(v), mask):
                return Diagnosis("points", f"wrong at some points only: where {name} {text}; elsewhere it is right.")
    for name, parts in at.items():  # below or above some number
        v = np.concatenate(parts)
        if v.dtype != bool and v.size == mask.size and 1 < mask.sum() < mask.size - 1:
            if v[mask].max() < v[~mask].min():
                return Diagnosis("points", f"wrong at some points only: where {name} is {v[mask].max():.3g} or less; "
                                 f"where it is {v[~mask].min():.3g} or more it is right.")
            if v[mask].min() > v[~mask].max():
                return Diagnosis("points", f"wrong at some points only: where {name} is {v[mask].min():.3g} or more; "
                                 f"where it is {v[~mask].max():.3g} or less it is right.")
    names = sorted(at)
    for a, b in itertools.combinations(names, 2):
        u, v = (np.concatenate(at[n]) for n in (a, b))
        if not u.shape == v.shape == mask.shape:
            continue
        for text, holds in ("<", u < v), (">", u > v), ("=", u == v):
            if np.array_equal(holds, mask):
                return Diagnosis("points", f"wrong at some points only: where {a} {text} {b}; elsewhere it is right.")
    return None


def _missing_entries(rule: Rule) -> Diagnosis | None:
    """Entries of the Jacobian that the rule leaves 0, everywhere: it lacks what comes over another way."""
    seen = [_Entries(point.numeric(rule.i), point.analytic(rule.i)) for point, _ in rule.wrong]
    lost = [e for e in seen if e.lost.any()]
    if lost and len(lost) == len(seen):
        first = lost[0]
        if first.square and not first.crossed.any():
            all_of_it = all(close(e.given.diagonal(), e.right.diagonal()) for e in lost)
            have = "has the diagonal of the Jacobian, and the rest is lost" if all_of_it else "gives a diagonal only"
            rest = outside_diagonal(rule)
            return Diagnosis("sum", f"the rule {have}, as if each element of {rule.input!r} went into one output; it "
                             "goes into several, and the rule must sum over these" + (
                                 f": for i not j, d out[i] / d {rule.input}[j] is {rest}." if rest else "."))
        share = first.lost.sum() / (np.abs(first.right) > first.small).sum()
        return Diagnosis("sum", f"{share:.0%} of the Jacobian is lost: outputs that depend on an element get "
                         "nothing from the rule; a sum over an axis is missing, or a way on which the input "
                         "reaches the output.")
    extra = [(e, point) for e, (point, _) in zip(seen, rule.wrong, strict=True) if e.extra.any()]
    if extra and len(extra) == len(seen):
        e, point = extra[0]
        if point.out.shape == point.inputs[rule.i].shape and not (e.extra & e.across).any() and \
                close(e.given[~e.extra], e.right[~e.extra]) and np.abs(e.right).max() > e.small:
            at = point.inputs[rule.i].reshape(-1)[e.extra.diagonal()][0]
            return Diagnosis("points", f"wrong at some points only, as where {rule.input} is {at:.3g}: there the "
                             f"output does not change with {rule.input!r}, and the rule must give 0.")
        return Diagnosis("sum", "the rule carries g to elements on which that output does not depend: a sum over "
                         "an axis is one too many, or elements are mixed up.")
    return None


class _Entries:
    """Where one of two Jacobians, the right and the given, is 0 and the other is not."""

    def __init__(self, right: Array, given: Array):
        self.right, self.given, self.small = right, given, 1e-8 + 1e-6 * np.abs(right).max(initial=0)
        here, there = np.abs(right) > self.small, np.abs(given) > self.small
        self.across = np.eye(*right.shape) == 0
        self.square = right.shape[0] == right.shape[1] > 1
        self.lost, self.extra, self.crossed = here & ~there, there & ~here, there & self.across
