"""More points at which to check an op: options away from their defaults, and inputs on both sides of every branch."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..core.primitive import Primitive
from .inputs import chosen_options
from .measure import LARGEST, Point
from .source import parameters, source

_SCALES = (1.0, 3.0, -1.0, 0.3, 10.0, -10.0, 0.1, 100.0, -100.0)  # tried until both sides of branches are met
_MOST = 8  # points that are added for branches

Site = tuple[str, int, int, str]  # file, line, place in the bytecode, and what was asked there


def varied(op: Primitive, base: Sequence[Point]) -> tuple[list[Point], list[str]]:
    """The points and more of their kind; and what could not be tried, as sentences."""
    options, untried = _with_options(op, base)
    found = [*base, *options]
    sides: dict[Site, set[bool]] = {}
    for point in found:
        _merge(sides, _sides(point))
    added = 0
    for scale in _SCALES[1:]:
        for point in (found[0], *options):
            if added < _MOST and any(len(s) < 2 for s in sides.values()):
                there = _scaled(point, scale)
                new = _sides(there) if there is not None else {}
                if there is not None and any(site in sides and not told <= sides[site] for site, told in new.items()):
                    _merge(sides, new)
                    found.append(there)
                    added += 1
    return found, [*untried, *(_one_sided(site, *told) for site, told in sides.items() if len(told) == 1)]


def _one_sided(site: Site, told: bool) -> str:
    file, line, _, asked = site
    code = linecache.getline(file, line).partition("  #")[0].strip()
    return (f"at {os.path.basename(file)}:{line}, in {code!r}, {asked} "
            f"{'everywhere' if told else 'nowhere'}")


def _merge(sides: dict[Site, set[bool]], new: dict[Site, set[bool]]) -> None:
    for site, told in new.items():
        sides.setdefault(site, set()).update(told)


def _scaled(point: Point, scale: float) -> Point | None:
    """The point with those inputs multiplied that were filled in; None if the op is not finite there."""
    inputs = [x * scale if k in point.filled else x for k, x in enumerate(point.inputs)]
    return _point(point, inputs, point.options) if point.filled and scale != 1 else None


def _point(point: Point, inputs: Sequence[Any], options: dict) -> Point | None:
    op: Any = point.op
    try:
        there = Point(op, point.like(inputs), options)
    except Exception:
        return None
    if there.out.dtype.kind != "f" or not 0 < there.out.size <= LARGEST or not np.isfinite(there.out).all():
        return None
    there.tried, there.filled, there.changed = point.tried, point.filled, point.changed
    return there


# Options --------------------------------------------------------------------------------------------------------------


def _with_options(op: Any, base: Sequence[Point]) -> tuple[list[Point], list[str]]:
    """For every option that nobody has chosen a point where it has another value; and one where all have."""
    found: list[Point] = []
    values: dict[str, Any] = {}
    untried = []
    for name, default in op.options.items():
        if name in chosen_options(op) or name in base[0].options:
            continue
        others = _with_others(base, name, _others(op, name, default))
        if not others:
            untried.append(f"{name} other than {default!r}")
        else:
            values[name] = others[0].options[name]
            found += others
    if len(values) > 1:
        there = _point(base[0], base[0].inputs, {**base[0].options, **values})
        if there is not None:
            there.changed = values
            found.append(there)
    return found, untried


def _with_others(base: Sequence[Point], name: str, values: Sequence[Any]) -> list[Point]:
    """Points at which one or two other values of an option make a difference."""
    for scale in _SCALES:
        for point in base:
            before = point if scale == 1 else _scaled(point, scale)
            found = []
            for value in values:
                there = _point(before, before.inputs, {**before.options, name: value}) if before is not None else None
                if before is not None and there is not None and not np.array_equal(there.out, before.out):
                    there.changed = {name: value}
                    found.append(there)
            if found:
                return found[:2]
    return []


def _others(op: Any, name: str, default: Any) -> list[Any]:
    """Values that an option may have instead of its default."""
    if isinstance(default, bool):
        return [not default]
    if "axis" in name or "dim" in name:
        return [n for n in (0, 1, -1, -2) if n != default]
    if isinstance(default, int):
        return [default + 1, default - 1, default + 2]
    if isinstance(default, float):
        if abs(default) < 0.05:
            return [0.3, -0.3, 0.7]
        return [0.6 * default, 1.7 * default] if 0 < default < 1 else [1.7 * default, 0.6 * default]
    if isinstance(default, str):
        tree = source(op.__wrapped__).tree
        written = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
                   and n.value.isidentifier()] if tree is not None else []
        return [w for w in dict.fromkeys([*written, "sum", "mean", "none"]) if w != default]
    return []


# Branches -------------------------------------------------------------------------------------------------------------

_ASKED: dict[str, tuple[str, Callable[..., Any]]] = {
    "greater": ("the condition holds", np.greater), "less": ("the condition holds", np.less),
    "greater_equal": ("the condition holds", np.greater_equal), "less_equal": ("the condition holds", np.less_equal),
    "maximum": ("the first is the larger one", np.greater), "minimum": ("the first is the smaller one", np.less),
    "absolute": ("the number is positive", lambda x: x > 0), "sign": ("the number is positive", lambda x: x > 0),
}


class _Watched(np.ndarray):
    """An array that notes where it is compared, and with what result."""

    notes: dict[Site, set[bool]]
    files: tuple[str, ...]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [_plain(x) for x in inputs]
        if "out" in options:
            options["out"] = tuple(_plain(x) for x in options["out"])
        name = ufunc.__name__
        if method == "__call__" and name in _ASKED:
            self.note(_ASKED[name][0], _ASKED[name][1](*plain[:2]))
        if method == "__call__" and name == "clip":
            self.limits(*plain)
        return self.kept(getattr(ufunc, method)(*plain, **options))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.clip:
            given = [*map(_plain, args), None, None]
            low, high = (_plain(options.get(f"a_{n}", options.get(n, given[k]))) for n, k in (("min", 1), ("max", 2)))
            self.limits(given[0], low, high)
        return self.kept(function(*map(_plain, args), **{k: _plain(v) for k, v in options.items()}))

    def limits(self, x: Any, low: Any = None, high: Any = None) -> None:
        for asked, limit, beyond in (("is below the limit", low, np.less), ("is above the limit", high, np.greater)):
            if limit is not None:
                self.note(f"the number {asked}", beyond(x, limit))

    def note(self, asked: str, result: Any) -> None:
        frame: Any = sys._getframe(1)
        while frame.f_code.co_filename == __file__ or frame.f_globals.get("__name__", "").startswith("numpy"):
            frame = frame.f_back
        if frame.f_code.co_filename in self.files:  # and not an op that the rule calls
            site = frame.f_code.co_filename, frame.f_lineno, frame.f_lasti, asked
            self.notes.setdefault(site, set()).update(bool(v) for v in (np.any(result), np.all(result)))

    def kept(self, made: Any) -> Any:
        return _watched(made, self.notes, self.files) if type(made) is np.ndarray and made.dtype.kind == "f" else made


def _watched(x: np.ndarray, notes: dict, files: tuple[str, ...]) -> _Watched:
    there = x.view(_Watched)
    there.notes, there.files = notes, files
    return there


def _plain(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(map(_plain, x))
    return x.view(np.ndarray) if isinstance(x, _Watched) else x


def _functions(point: Point) -> Iterator[tuple[Callable, list]]:
    """The forward and the rules, with what they get."""
    op: Any = point.op
    yield op.__wrapped__, [*point.inputs]
    if op.joint is None and not op.variadic and point.node is not None:
        for i, (rule, _) in op.rules.items():
            if i in point.vary:
                yield rule, [point.g, *(point.values[n] for n in parameters(rule)[1:])]


def _sides(point: Point) -> dict[Site, set[bool]]:
    """At every comparison of the forward and of the rules, whether it held, did not, or both."""
    notes: dict[Site, set[bool]] = {}
    try:
        functions = list(_functions(point))
    except Exception:  # of a rule that names what there is not
        functions = []
    for function, given in functions:
        code = getattr(function, "__code__", None)
        if code is None:
            continue
        files = (code.co_filename,)
        watched = [_watched(x.copy(), notes, files) if type(x) is np.ndarray and x.dtype.kind == "f" else x
                   for x in given]
        options = {**getattr(point.op, "options", {}), **point.options} if function is functions[0][0] else {}
        try:
            with np.errstate(all="ignore"):
                function(*watched, **options)
        except Exception:  # is for the checks that follow
            continue
    return notes
