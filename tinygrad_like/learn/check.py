"""Check an op's rules: compare full Jacobians with finite differences, then explain any deviation."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.graph import setting
from ..core.primitive import Primitive
from ..core.tensor import Tensor
from ..ops.composite import Composite
from ..transforms.switches import after
from . import diagnose
from .inputs import resized
from .measure import LARGEST, Point, close
from .remedy import IN_PLACE, certain, of_parameter, remedy
from .rule import Diagnosis, Rule, unsaid
from .source import Source, namespace, parameters, source
from .special import wrong_at_special_points


class Finding(NamedTuple):
    """A mistake in a rule: its input, its kind in one word, the wrong entry, an explanation, and the line."""

    op: str
    input: str
    kind: str
    entry: str
    text: str
    where: str
    code: str

    def __str__(self) -> str:
        verdict = {"open": "is not written yet", "no rule": "is missing"}.get(self.kind, "is wrong")
        lines = [f"{self.op}: the rule of input {self.input!r} {verdict}" if self.input else f"{self.op}:"]
        lines += [f"    {self.entry}"] if self.entry else []
        lines += [f"    {self.kind}: {self.text}"]
        lines += [f"    {self.where}"] if self.where else []
        lines += [f"      {line}" for line in self.code.splitlines()[:8]]
        return "\n".join(lines)


def check(points: Sequence[Point]) -> list[Finding]:
    """The mistakes found in the rules of an op, at some of its points.

    It checks, in this order: missing rules and errors; first order; kinks, ties and zeros; second order; float32.
    """
    points = [p for p in points if max(p.out.size, *(p.inputs[i].size for i in p.vary)) <= LARGEST
              and all(np.isfinite(p.inputs[i]).all() for i in p.vary) and not np.isnan(p.out).any()]
    if not points:
        return []
    op: Any = points[0].op
    if isinstance(op, Composite) and (op.joint is None or points[0].node is None):
        return []  # check the ops it calls instead, as where its kernel declines
    if not op.differentiable:
        inputs = ", ".join(f"{n}=lambda g, {n}: ..." for n in op.inputs)
        return [_finding(op, "", "no rule", "", f"{op.name} has no rules, so no gradient passes it; "
                         f"add {op.name}.vjp({inputs})", None)]
    try:
        assert points[0].node is not None
    except TypeError as error:  # an unknown parameter
        known = [*op.inputs, *[f"{n}_shape" for n in op.inputs], "out", *op.options]
        told = of_parameter(error, known, op.__wrapped__.__code__.co_varnames)
        return [_finding(op, "", "name", f"TypeError: {error}", told, _naming(op, str(error)))]
    if (improper := _improper(points)) is not None:
        return [improper]
    wrong: list[Finding] = []
    for i in points[0].vary:
        problem = _check_input(op, i, [p for p in points if i in p.vary])
        if problem is not None:
            wrong.append(problem)
        if wrong and (op.variadic or op.joint is not None):
            break  # one rule for all
    return wrong or _later(points)


def _later(points: Sequence[Point]) -> list[Finding]:
    """With the first order right: check special points, the second order, and float32."""
    for stage, kind, where, count in (
            (lambda point: next(wrong_at_special_points(point), None), "points", "", 2),
            (_second, "second order", "with create_graph=True", 3),
            (_single, "dtype", "in float32", 2)):
        for point in points[:count]:
            op: Any = point.op
            try:
                found = stage(point)
            except Exception as error:
                if point.tried and point is not points[0]:
                    continue
                text = remedy(error)
                blamed = re.search(r"for input '(\w+)'", str(error))
                found = (op.inputs.index(blamed[1]) if blamed and blamed[1] in op.inputs else point.vary[0],
                         f"{where}: {_said(error, [])}", text)
                kind = "numpy" if "NumPy" in text and kind != "dtype" else kind
            if found is not None:
                i, entry, text = found
                rules = [_rule_source(op, k) for k in ([] if i is None else [i]) + point.vary]
                off = [at for at in rules if at and re.search(r"detach|\.data|numpy|np\.|no_grad", at.text())]
                return [_finding(op, point.input_name(i) if i is not None else "g", kind, entry, text,
                                 (off or rules)[0] if kind == "second order" else rules[0])]
    return []


def _finding(op: Any, name: str, kind: str, entry: str, text: str, at: Source | None,
             line: int | None = None) -> Finding:
    """A finding with its source line, in a rule or in the op itself."""
    if at is None:
        forward = source(op.__wrapped__)
        at = forward._replace(tree=None, line=forward.tree.lineno) if forward.tree is not None else None
    if at is None or not at.file:
        return Finding(op.name, name, kind, entry, text, "", "")
    at = at._replace(line=line or at.line)
    return Finding(op.name, name, kind, entry, text, at.where(), at.text())


def _check_input(op: Any, i: int, points: Sequence[Point]) -> Finding | None:
    """The first thing wrong with the rule of input i, in first order."""
    name = points[0].input_name(i)
    if op.joint is None and (0 if op.variadic else i) not in op.rules:
        return _finding(op, name, "no rule", "", f"add {op.name}.vjp({name}=lambda g, ...: ...); "
                        f"or, if {name!r} is a setting and not differentiated, make it an option, a parameter after a "
                        "*; or give it in an example(...) as a Tensor that does not require grad.", None)
    worst, error, points = _compare(points, i)
    if worst is None and error is None:
        return None
    rule = Rule(points, i)
    if error is not None and "returned ellipsis, not an array" in str(error):
        return _finding(op, name, "open", "", "... stands where its result should.", rule.source)
    known = _certain(rule, error)
    if known is not None:
        return _finding(op, name, known.kind, _said(error, points) if error else "", known.text, rule.source,
                        known.line)
    if (dtype := points[0].out.dtype).itemsize < 8:  # differences would be too inexact
        return _finding(op, "", "dtype", "", f"the forward gives {dtype} for float64: it must keep the dtype of its "
                        "inputs, without astype or arrays of another dtype.", None)
    found = diagnose.first_order(Rule([*points, *(resized(points[0]) if points[0].node else [])], i))
    if found.kind == "unknown":  # other sizes and numbers than the author's may not be what the op is meant for
        found = diagnose.first_order(rule)
    if error is not None and found.kind == "unknown":
        found = Diagnosis("error", remedy(error), None)
    entry = _entry(worst, i) if worst is not None else _said(error, points)
    return _finding(op, name, found.kind, entry, found.text, rule.source, found.line)


def _certain(rule: Rule, error: Exception | None) -> Diagnosis | None:
    """The diagnosis from a rule's error or parameters alone, without a trial."""
    values = rule.points[0].values
    first = parameters(rule.function)[0] if parameters(rule.function) else ""
    if first != "g" and first in values:
        given = ", ".join(["g", first, *rule.names])
        return Diagnosis("name", "the first parameter of a rule is the cotangent that arrives, whatever its name; here "
                         f"it is called {first!r} and hides what {first!r} means otherwise. Write lambda {given}: ...")
    if error is None:
        return None
    line = rule.source.raised(error)
    missing = error.name if isinstance(error, NameError) else None
    if missing in values and missing not in rule.names:
        given = ", ".join(["g", *rule.names, missing])
        return Diagnosis("name", f"{missing!r} is not among the rule's parameters; a rule gets what it names: "
                         f"lambda {given}: ...", line)
    known = certain(error, [*values, *namespace(rule.function)])
    return Diagnosis(*known, line) if known else None


def _compare(points: Sequence[Point], i: int) -> tuple[Point | None, Exception | None, Sequence[Point]]:
    """(the first point where rule and differences disagree, the first error, the points to examine).

    A rule that runs at the first point may raise at points that the author did not name.
    """
    worst = error = None
    raised = []
    for point in points:
        try:
            given, mixed = point.analytic(i), point.projected(i, point.pull(point.g, i)[i])
        except Exception as problem:
            if error is None and len(points) > 1:
                problem.add_note(f"at inputs of shape {', '.join(str(np.shape(x)) for x in point.inputs)}")
            error = error or problem
            raised.append(point)
            continue
        if not (close(given, point.numeric(i), 2e-6) and close(mixed, point.wanted(i), 2e-6)):
            worst = worst or point
    if all(unsaid(p, points) for p in raised):
        return worst, None, [p for p in points if p not in raised]
    return worst, error, points


def _entry(point: Point, i: int) -> str:
    """The Jacobian entry that differs most; or a gradient entry, if only gradients for a random g differ."""
    given, right = point.analytic(i), point.numeric(i)
    if close(given, right, 2e-6):
        mixed, wanted = point.pull(point.g, i)[i], point.wanted(i)
        n = int(np.argmax(np.abs(mixed - wanted)))
        x = _index(point.input_name(i), wanted.shape, n)
        return (f"for a random g, entry {x}: the rule gives {mixed.reshape(-1)[n]:.6g}, "
                f"differences give {wanted.reshape(-1)[n]:.6g}")
    with np.errstate(all="ignore"):
        off = np.abs(given - right)
    off = np.where(np.isnan(off), np.inf, off)
    j, k = np.unravel_index(int(np.argmax(off)), off.shape)
    out = _index("out", point.out.shape, int(j))
    x = _index(point.input_name(i), point.inputs[i].shape, int(k))
    return f"d {out} / d {x}: the rule gives {given[j, k] + 0.0:.6g}, differences give {right[j, k] + 0.0:.6g}"


def _index(name: str, shape: tuple, flat: int) -> str:
    return f"{name}{[int(n) for n in np.unravel_index(flat, shape)]}" if shape else name


def _said(error: Exception | None, points: Sequence[Point]) -> str:
    notes = getattr(error, "__notes__", []) if len(points) > 1 else []
    text = re.sub(r"; (?:a rule gets arrays|[^;]*detach\b|cast one with).*", "", str(error))  # `remedy` advises
    return ", ".join([f"{type(error).__name__}: {text}", *notes[-1:]])


def _rule_source(op: Any, i: int) -> Source | None:
    entry = op.joint if op.joint is not None else op.rules.get(0 if op.variadic else i)
    return source(entry[0]) if entry is not None else None


Told = tuple[int | None, str, str]  # (input, or None for g; entry; explanation)


def _second(point: Point) -> Told | None:
    wrong = point.second(np.random.default_rng(0))
    if wrong is None:
        return None
    name, _, slope, right = wrong
    i = next((i for i in point.vary if point.input_name(i) == name), None)
    return (i, f"second order: along a random change of {name} backward through the rule gives {slope:.6g}, "
            f"differences give {right:.6g}", f"the value is right, but its derivative by {name!r} is not: part of the "
            "rule is off the graph, by detach(), .data, .numpy(), no_grad, a residual or a NumPy function, or it calls "
            "an op whose own rule is wrong.")


def _naming(op: Any, text: str) -> Source | None:
    """The rule with the parameter that an error message names."""
    match = re.search(r"names '(\w+)'", text)
    rules = [op.joint[0]] if op.joint is not None else [rule for rule, _ in op.rules.values()]
    return next((source(r) for r in rules if match and match[1] in parameters(r)), None)


def _single(point: Point) -> Told | None:
    """In float32, a rule must return float32, and nearly the same numbers."""
    op: Any = point.op
    try:
        _, y = point.record(np.float32)
    except Exception:
        return None
    if y.node is None or y.dtype != np.float32:
        return None
    g, wrong = point.g.astype(np.float32), "right in float64, but wrong in float32: "
    with setting("recording", False), np.errstate(all="ignore"):
        raw, given = op.cotangents(y.node, g, y.node.parents), op.pull(y.node, g, y.node.parents)
    for i in point.vary:
        wanted = point.wanted(i)
        if getattr(raw[i], "dtype", np.float32) != np.float32:
            return (i, f"in float32 the rule gives {raw[i].dtype}",
                    "the rule changes the dtype; use Python numbers, not NumPy's, or cast back.")
        if not close(point.projected(i, np.asarray(given[i], np.float64)), wanted, 1e-2) and \
                np.abs(wanted).max(initial=0) > 1e-3:
            return i, "", f"{wrong}digits are lost (a difference of large numbers), or a kernel is wrong."
    return None


def check_op(op: Primitive, points: Sequence[Point]) -> list[Finding]:
    """`check`, after checks of the forward itself; NumPy's warnings about rules' numbers are silenced."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _forward(op, points) or check(points)


def not_taken(op: Primitive, error: Exception | None, said: str) -> Finding:
    """The finding for an op whose forward accepts none of the tried inputs, or fails at the named ones."""
    if error is None:
        return _finding(op, "", "inputs", "", said, None)
    known = certain(error, namespace(op.__wrapped__), forward=True)
    line = source(op.__wrapped__).raised(error)
    text = f"the forward raises this error; {said}" if known is None else known[1]
    return _finding(op, "", known[0] if known else "inputs", f"{type(error).__name__}: {error}", text, None, line)


def _forward(op: Primitive, points: Sequence[Point]) -> list[Finding]:
    """Faults of a forward: changing its inputs, or returning different results for the same inputs."""
    for point in points:
        if point.written:
            name = point.input_name(point.written[0])
            return [_finding(op, "", "in place", "", f"the forward changes its input {name!r} in place (as {name} -= "
                             f"..., {name}[...] = ..., or an option out= do), and so what its caller has; compute a "
                             "new array.", None)]
        if not np.array_equal(point.out, point.forward(point.inputs), equal_nan=True):
            return [_finding(op, "", "random", "", f"{op.name} gives two values for the same inputs; let the random "
                             "numbers come in as an input or from an option `seed`.", None)]
    return []


def _improper(points: Sequence[Point]) -> Finding | None:
    """A rule that writes into g or saved values, or whose result depends on computations in between."""
    point = points[0]
    between = [0.9 * np.flip(x) if k in point.vary else x for k, x in enumerate(point.inputs)]
    op: Any = point.op
    for i in point.vary:
        if op.joint is None and (0 if op.variadic else i) not in op.rules:
            continue
        rule, g, name = Rule([point], i), point.g.copy(), point.input_name(i)
        saved = {n: v.copy() for n, v in point.values.items() if isinstance(v, np.ndarray)}
        point.forward(point.inputs)  # any state that it leaves now belongs to this point
        first = rule.raw(point, g)
        changed = next((n for n, v in saved.items() if not np.array_equal(v, point.values[n], equal_nan=True)), None)
        if not np.array_equal(g, point.g) or changed:
            for n, v in saved.items():
                point.values[n][...] = v
            return _finding(op, name, "in place", "", f"{changed or 'g'!r} is changed: {IN_PLACE}", rule.source)
        later = [rule.raw(point, point.g.copy()) for p, inputs in ((point, between), *((p, p.inputs) for p in points))
                 if p.at(inputs) is not None]
        point.forward(point.inputs)
        if first is not None and not all(c is not None and np.array_equal(first, c, equal_nan=True) for c in later):
            return _finding(op, name, "state", "", "the rule gives something else if the forward is called once more "
                            "before backward comes, as where the forward leaves something in a global; let the rule "
                            "name what it needs: an input, out, or what the forward returns with Residuals.",
                            rule.source)
    return None


# Of a function, as for gradcheck --------------------------------------------------------------------------------------

_SECONDS = 3.0  # for all ops together
_POINTS = 3  # of one op


def explain(f: Callable, inputs: Sequence[Any]) -> str:
    """A report on the first op called by f(*inputs) whose rule is wrong, or on another likely cause."""
    calls: dict[Primitive, dict[str, tuple]] = {}  # op -> one call per input shape
    kept: list[Tensor] = []  # kept alive, so that no id is reused
    reached: set[int] = set()

    def watch(op: Any, given: Sequence[Any], options: dict, y: Tensor) -> None:
        kept.extend([x for x in given if isinstance(x, Tensor)] + [y])
        reached.update(id(x) for x in given)
        if isinstance(op, Primitive) and y.node is not None and y.node.op is op:
            shapes = [np.shape(x._data if isinstance(x, Tensor) else x) for x in given if hasattr(x, "shape")]
            calls.setdefault(op, {}).setdefault(str(shapes), (given, options))

    xs = [Tensor(x, requires_grad=True) if getattr(getattr(x, "dtype", None), "kind", "") == "f" else x for x in inputs]
    with after(watch), setting("recording", True):
        f(*xs)
    until = time.thread_time() + _SECONDS
    for op, found in calls.items():
        points = [Point(op, *call) for call in [*found.values()][:_POINTS]]
        if time.thread_time() < until and (findings := check_op(op, [p for p in points if p.vary])):
            return str(findings[0])
    names = ", ".join(sorted({op.name.lstrip("_") for op in calls}))
    off = [i for i, x in enumerate(xs) if isinstance(x, Tensor) and x.requires_grad and id(x) not in reached]
    if off:
        return f"No op was called on input {off[0]}: f takes it off the graph (.data, .numpy(), NumPy's functions)."
    return (f"Every op that f calls is right by itself ({names}). So f takes something off the graph (detach, .data, "
            ".numpy(), float()), or is not smooth at these inputs.")
