"""Figures for the pages of ops, computed by the ops and their rules: a curve and its derivative, or Jacobians."""

from __future__ import annotations

import collections
import itertools
import warnings
from typing import Any

import numpy as np

from tinygrad_like import Tensor, ops
from tinygrad_like.core.primitive import Primitive
from tinygrad_like.learn.measure import Point
from tinygrad_like.transforms.switches import after

_LARGEST = 40  # rows or columns of a legible Jacobian
_WIDE, _HIGH = 340, 220  # size of a diagram in pixels
_END = {"relu6": 8.0}  # the end of the x axis, if not 4


def _real(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


# Small calls, for ops whose calls in the table of gradients are too large or missing.
_SMALL: list[tuple] = [
    *((getattr(ops, name), _real(5)) for name in ("binary_step", "ceil", "round", "trunc")),
    (lambda x: ops.clip(x, min=-1.0, max=2.0), _real(40)),
    (lambda x: ops.hardtanh(x, min_val=-1.0, max_val=2.0), _real(40)),
    (ops.fmod, np.array([7.5, -7.0, 2.0, -4.5, 1.0, 5.0]), np.array([3.0, 2.0, -3.0, 2.0, 4.0, -1.5])),
    (ops.batch_norm, _real(5, 2, 4), np.array([1.5, 0.5]), _real(2)),
    (lambda x: ops.unfold(x, kernel_size=2), _real(1, 1, 3, 4)),
    (ops.conv_transpose2d, _real(1, 1, 2, 2), _real(1, 1, 2, 2)),
    (lambda x: ops.fold(x, output_size=(3, 4), kernel_size=2), _real(1, 4, 6)),
    (lambda x: ops.interpolate(x, scale_factor=2), _real(1, 1, 2, 2)),
    (lambda u, x: ops.conv.conv2d_weight(u, x, shape=(1, 2, 2, 2), stride=(1, 1), margins=((0, 0), (0, 0)),
                                         dilation=(1, 1), groups=1), _real(1, 1, 2, 2), _real(1, 2, 3, 3)),
    (ops.lstm, _real(2, 1, 8), _real(1, 2), _real(1, 2), _real(8, 2)),
    (lambda x: ops.self_attention(x, num_heads=2, is_causal=True), _real(1, 3, 12)),
]


def figures(cases: dict[str, tuple]) -> dict[str, str]:
    """Name of a differentiable op -> its figure in HTML. cases: calls of all ops, (function, inputs)."""
    calls: dict[Primitive, list[Point]] = collections.defaultdict(list)

    def watch(op: Any, inputs: Any, options: Any, y: Tensor) -> None:
        if y.node is not None and isinstance(op, Primitive) and y.data.dtype == np.float64:
            try:
                calls[op].append(Point(op, list(inputs), dict(options)))
            except Exception:  # some kernels do not take float64; another call of the op will do
                return

    with after(watch), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for f, *inputs in [*cases.values(), *_SMALL]:
            f(*[Tensor(x, requires_grad=True) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
                for x in inputs])
    made = {}
    for op, points in calls.items():
        drawn = _figure(op, points)
        if drawn:
            made[op.name.lstrip("_")] = drawn
    return made


def _figure(op: Primitive, points: list[Point]) -> str | None:
    name = op.name.lstrip("_")
    points = [p for p in points if p.vary and p.out.size and
              max(p.out.size, *(p.inputs[i].size for i in p.vary)) <= _LARGEST]
    if not points:
        return None
    point = max(points, key=lambda p: (min(len(p.vary), 3), p.out.size))
    if len(op.inputs) == 1 and not op.variadic and (drawn := _curves(op, point)):
        return _html(drawn, f"<code>{name}</code> (blue) and its derivative (orange, dashed), computed by the op and "
                            f"its rule{_options(point)}.")
    parts = [_jacobian(_analytic(point, i), f"∂ out / ∂ {point.input_name(i)}", point.out.shape, point.inputs[i].shape)
             for i in point.vary[:3]]
    return _html("".join(parts), "The Jacobian at some input, computed by the rule: a row for each number of the "
                                 "output, a column for each of the input. Orange is positive, blue negative, empty 0.")


def _analytic(point: Point, i: int) -> np.ndarray:
    """The Jacobian for input i, computed by backward: a row for each number of the output."""
    xs, y = point.record()
    rows = [y.gradient(xs[i], gradient=g.reshape(y.shape), retain_graph=True, materialize_grads=True)[0].numpy().ravel()
            for g in np.eye(point.out.size)]
    return point.projected(i, np.array(rows))


def _options(point: Point) -> str:
    """", with alpha=0.7": the numerical options of a call."""
    told = [f"{name}={value:g}" for name, value in point.options.items() if type(value) in (int, float)]
    return f", with <code>{', '.join(told)}</code>" if told else ""


def _html(drawn: str, caption: str) -> str:
    return f'<figure class="computed"><div>{drawn}</div><figcaption>{caption}</figcaption></figure>\n'


# Curves ---------------------------------------------------------------------------------------------------------------


def _curves(op: Primitive, point: Point) -> str | None:
    """y and dy/dx of an elementwise function; None if the op is not elementwise."""
    xs = np.linspace(-4.0, _END.get(op.name.lstrip("_"), 4.0), 801)
    constant = np.full(5, 0.4)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            same = np.asarray(op(constant, **point.options))
            x = Tensor(xs, requires_grad=True)
            y = op(x, **point.options)
            if y.shape != xs.shape or same.shape != (5,) or np.ptp(same) > 1e-12 or not _elementwise(point):
                return None
            slope = np.where(np.isfinite(y.data), y.sum().gradient(x)[0].data, np.nan)  # no slope without a curve
        except Exception:
            return None
    return _diagram(xs, [(y.data, "out"), (slope, "slope")], f"{op.name.lstrip('_')} and its derivative")


def _elementwise(point: Point) -> bool:
    jacobian = _analytic(point, point.vary[0])
    return jacobian.shape[0] == jacobian.shape[1] and not np.any(jacobian - np.diag(np.diag(jacobian)))


def _diagram(xs: np.ndarray, lines: list[tuple[np.ndarray, str]], title: str) -> str:
    finite = np.concatenate([ys[np.isfinite(ys)] for ys, _ in lines])
    low, high = max(-4.0, min(0.0, finite.min())), min(xs[-1], max(1.0, finite.max()))
    low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)
    left, right, top, bottom = 38, 8, 20, 20

    def across(v: Any) -> Any:
        return left + (v - xs[0]) / (xs[-1] - xs[0]) * (_WIDE - left - right)

    def down(v: Any) -> Any:
        return top + (high - v) / (high - low) * (_HIGH - top - bottom)

    step = next(s for s in (0.25, 0.5, 1, 2) if (high - low) / s <= 8)
    marks = []
    for v in np.arange(-4, xs[-1] + 1, 2):
        marks += [f'<line class="grid" x1="{across(v):.1f}" x2="{across(v):.1f}" y1="{top}" y2="{_HIGH - bottom}"/>',
                  f'<text x="{across(v):.1f}" y="{_HIGH - 5}" text-anchor="middle">{v:g}</text>']
    for v in np.arange(np.ceil(low / step) * step, high, step) + 0.0:  # no -0
        marks += [f'<line class="{"axis" if v == 0 else "grid"}" x1="{left}" x2="{_WIDE - right}" '
                  f'y1="{down(v):.1f}" y2="{down(v):.1f}"/>',
                  f'<text x="{left - 4}" y="{down(v) + 4:.1f}" text-anchor="end">{v:g}</text>']
    marks.append(f'<text class="name" x="{across(xs[-1] - 1):.1f}" y="{_HIGH - 5}" text-anchor="middle">x</text>')
    marks += [f'<text class="name {kind}" x="{x}" y="{top - 7}">{name}</text>'
              for x, (_, kind), name in zip((left, left + 34), lines, ("out", "d out / d x"), strict=True)]
    drawn = [f'<path class="{kind}" d="{_path(across(xs), down(ys), ys, low, high)}"/>' for ys, kind in lines]
    return (f'<svg role="img" viewBox="0 0 {_WIDE} {_HIGH}" width="{_WIDE}"><title>{title}</title>'
            f'{"".join(marks)}{"".join(drawn)}</svg>')


def _path(xs: np.ndarray, downs: np.ndarray, ys: np.ndarray, low: float, high: float) -> str:
    """The curve inside the diagram, interrupted at jumps and outside the diagram."""
    inside = np.isfinite(ys) & (ys >= low) & (ys <= high)
    with np.errstate(all="ignore"):
        steps = np.abs(np.diff(ys, prepend=np.nan, append=np.nan))
    beside = np.fmax(np.roll(steps, 1), np.roll(steps, -1))  # a steep curve, unlike a jump, is also steep nearby
    jumps = (steps > 0.1 * (high - low)) | ((steps > 0.01 * (high - low)) & (steps > 5 * beside))
    path, before = [], False
    for x, down, ok, jump in zip(xs, downs, inside, jumps[:-1], strict=True):
        if ok:
            path.append(f"{'L' if before and not jump else 'M'}{x:.1f} {down:.1f}")
        before = ok
    return "".join(path)


# Jacobians ------------------------------------------------------------------------------------------------------------


def _jacobian(jacobian: np.ndarray, label: str, out: tuple, given: tuple) -> str:
    rows, columns = jacobian.shape
    cell = max(5, min(16, 200 // max(rows, columns, 1)))
    largest = np.abs(jacobian[np.isfinite(jacobian)]).max(initial=0.0) or 1.0
    top, width = 34, max(columns * cell + 2, 150)
    cells = []
    for i, j in itertools.product(range(rows), range(columns)):
        v = jacobian[i, j]
        if v and np.isfinite(v):
            strength = 0.25 + 0.75 * min(abs(v) / largest, 1)
            cells.append(f'<rect class="{"plus" if v > 0 else "minus"}" x="{1 + j * cell}" y="{top + 1 + i * cell}" '
                         f'width="{cell}" height="{cell}" fill-opacity="{strength:.2f}"/>')
    shapes = f"{_shape(out)} from {_shape(given)}"
    return (f'<svg role="img" viewBox="0 0 {width} {top + rows * cell + 2}" width="{width}">'
            f"<title>{label}, {rows} by {columns}</title>"
            f'<text class="name" x="1" y="12">{label}</text><text x="1" y="27">{shapes}</text>{"".join(cells)}'
            f'<rect class="frame" x="0.5" y="{top + 0.5}" width="{columns * cell + 1}" '
            f'height="{rows * cell + 1}"/></svg>')


def _shape(shape: tuple) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


