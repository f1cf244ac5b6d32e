"""Pictures of a recorded graph, as Mermaid text or as SVG: boxes are ops and leaves, arrows go from input to output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.graph import Node, setting
from ..core.tensor import Tensor, wrap
from .switches import after

if TYPE_CHECKING:
    from pathlib import Path

# Of the SVG, in pixels: a letter, a box, and the space around boxes.
_LETTER, _HEIGHT, _GAP, _BEND, _MARGIN = 7.4, 38, 18, 34, 12
_COLOURS = {"leaf": ("#fdf0d5", "#c8963e"), "data": ("#eeeeee", "#888888")}
_SWEEPS = 8  # passes down and up, each moving boxes towards their neighbours
_MOST_BENDS = 20_000  # beyond this, arrows go straight: layout would take minutes and be unreadable


class Box(NamedTuple):
    """An op, or a named leaf; and the shape of its value, None if unknown."""

    label: str
    shape: tuple[int, ...] | None
    leaf: bool
    data: bool = False  # a leaf that needs no gradient

    @property
    def under(self) -> str:
        return "" if self.shape is None else str(self.shape)


class Picture:
    """A drawing of a graph: `print` it as Mermaid, `save` it, or display it in a notebook."""

    def __init__(self, boxes: list[Box], arrows: list[tuple[int, int]]):
        self.boxes, self.arrows = boxes, arrows

    def mermaid(self) -> str:
        """A Mermaid flowchart, for a `mermaid` block in Markdown."""
        lines = ["flowchart TD"]
        for i, box in enumerate(self.boxes):
            text = f"{box.label}<br/>{box.under}".replace('"', "#quot;")
            lines.append(f'    n{i}["{text}"]:::{"data" if box.data else "leaf"}' if box.leaf else
                         f'    n{i}("{text}")')
        lines += [f"    n{a} --> n{b}" for a, b in self.arrows]
        kinds = [f"    classDef {kind} fill:{fill},stroke:{line}" for kind, (fill, line) in _COLOURS.items()]
        return "\n".join([*lines, *kinds[: 1 + any(box.data for box in self.boxes)], ""])

    def svg(self) -> str:
        """An SVG image, with every op below its inputs, and every leaf just above its first use."""
        return _drawn(self)

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file whose name ends in .svg, or in .mmd or .md for Mermaid; returns its path."""
        from pathlib import Path

        path = Path(path)
        if path.suffix not in (".svg", ".mmd", ".md"):
            raise ValueError(f"Picture.save: {path.name!r} must end in .svg, .mmd or .md")
        text = self.svg() if path.suffix == ".svg" else self.mermaid()
        path.write_text(f"```mermaid\n{text}```\n" if path.suffix == ".md" else text, encoding="utf-8")
        return path

    __str__ = mermaid
    _repr_svg_ = svg  # Jupyter calls this


class Given:
    """An input that needs no gradient: data, or a number. `value` is None if it was not saved."""

    def __init__(self, value: Any):
        self.value, self.shape = value, np.shape(value) if value is not None else None

    @property
    def label(self) -> str:
        return f"{self.value:g}" if isinstance(self.value, int | float) else "data"


class Watch(after):
    """Records the arrays and numbers that ops receive: `with watch: loss = ...`."""

    def __init__(self) -> None:
        super().__init__(self.note)
        self.inputs: dict[Any, list] = {}  # node -> its inputs, kept alive so that no id is reused

    def note(self, op: Any, inputs: Sequence[Any], options: dict, y: Tensor) -> None:
        if y.node is not None and y.node.op is op:  # and y is not the result of an inner call, recorded already
            self.inputs[y.node] = [x._data if isinstance(x, Tensor) else x for x in inputs]


def graph(y: Tensor | Callable[[], Tensor], names: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] = (),
          expand: bool = False) -> Picture:
    """The graph behind y: every recorded op, with the shape of its result, and all its inputs.

    y: a Tensor, or a function that computes it. With a function, all data are known, and data used twice share a box;
    with a Tensor, only data that the graph has saved. names: names of leaves and data, such as
    `model.named_parameters()` or `{"x": x}`; others are "leaf" and "data". expand: draw a composite as the ops of its
    definition, so that a whole MLP shows its layers, sums and skips.

    Raises TypeError unless y is a Tensor, ValueError if nothing was recorded, RuntimeError if backward has freed it.
    """
    with Watch() as watch:
        if callable(y) and not isinstance(y, Tensor):
            y = y()
        if not isinstance(y, Tensor):
            raise TypeError(f"graph: takes a Tensor, got {type(y).__name__}")
        if not y.requires_grad:
            raise ValueError("graph: nothing was recorded for this Tensor, since it depends on nothing that requires "
                             "grad")
        parents = behind(y, expand)
    known: dict[int, str] = {}
    for name, x in names.items() if isinstance(names, Mapping) else names:
        known |= {id(x): name, id(x._data): name}
    inputs = with_data(parents, watch.inputs)
    order = list(dict.fromkeys([*(p for row in inputs.values() for p in row if isinstance(p, Given)), *parents]))
    place = {n: i for i, n in enumerate(order)}
    boxes = [Box(n.op.name.strip("_"), n.shape, False) if isinstance(n, Node) else
             Box(known.get(id(n.value), n.label), n.shape, True, True) if isinstance(n, Given) else
             Box(known.get(id(n), "leaf"), n.shape, True) for n in order]
    return Picture(boxes, [(place[p], place[n]) for n in parents for p in inputs[n] if p is not None])


def with_data(parents: dict, calls: dict[Any, Any]) -> dict[Any, list]:
    """The parents of every node, with a Given for inputs that need no gradient: one per known array."""
    seen: dict[int, Given] = {}
    found: dict[Any, list] = {}
    for node, row in parents.items():
        inputs = found[node] = list(row)
        values = calls[node] if node in calls else saved(node)
        for i, p in enumerate(row):
            value = values[i] if i < len(values) else _UNKNOWN
            if p is not None or value is None or value is _UNKNOWN and i >= getattr(node.op, "required", i):
                continue
            value = None if value is _UNKNOWN else value
            given = Given(value)
            inputs[i] = seen.setdefault(id(value), given) if isinstance(value, np.ndarray) else given
    return found


_UNKNOWN = object()


def saved(node: Any) -> list:
    """The inputs of a node that it has saved."""
    op: Any = getattr(node, "op", None)
    if not hasattr(op, "saved") or op.variadic or node.saved is None:
        return []
    kept = {name: x._data if isinstance(x, Tensor) else x for name, x in zip(op.saved, node.saved, strict=False)}
    return [kept.get(name, _UNKNOWN) for name in op.inputs]


def behind(y: Tensor, expand: bool = False) -> dict[Node | Tensor, list]:
    """Every node and leaf behind y, after its parents, with these (None for inputs that need no gradient).

    expand: replace a composite by the nodes of its definition. Raises RuntimeError if backward has freed the
        graph.
    """
    parents: dict[Node | Tensor, list] = {}
    when: dict[Node | Tensor, tuple] = {}  # by creation: nodes of a definition where the composite was
    instead: dict[Node | Tensor, Node | Tensor] = {}
    stack: list[tuple[Node | Tensor, tuple]] = [(y.node or y, ())]
    while stack:
        node, inside = stack.pop()
        if node in parents or node in instead:
            continue
        if not isinstance(node, Node):
            parents[node], when[node] = [], (0, -len(when))  # leaves first, as they were met
            continue
        if node.parents is None:
            raise RuntimeError(f"graph: backward has freed the graph through {node.op.name}; draw it before, or "
                               "pass retain_graph=True to backward")
        stamp = (*inside, node.order)
        found = opened(node) if expand else None
        if found is not None:
            result, aliases = found
            instead[node] = result
            stack.append((result, stamp))
            instead |= {a: p for a, p in zip(aliases, node.parents, strict=True) if a is not None}
        else:
            parents[node], when[node] = list(node.parents), stamp
        stack += [(p, inside) for p in node.parents if p is not None]

    def real(node):
        while node in instead:
            node = instead[node]
        return node

    order = sorted(parents, key=lambda n: when[n])
    return {n: [p if p is None else real(p) for p in parents[n]] for n in order}


def opened(node: Node) -> tuple[Node | Tensor, list] | None:
    """The graph of a composite's definition at the node's saved values: its result, and a leaf for each input (or
    None).

    None if the op has no definition, or its result depends on no input.
    """
    op: Any = node.op
    if getattr(op, "definition", None) is None or node.saved is None or node.parents is None:
        return None
    with setting("recording", False):
        saved = op.values(node)
    given = saved[0] if op.variadic else saved[: len(op.inputs)]
    options = dict(zip(op.options, saved[len(op.inputs):], strict=False))
    with setting("recording", True):
        leaves = [x if p is None else Tensor(x, requires_grad=True) for x, p in zip(given, node.parents, strict=True)]
        result = op.definition(*[wrap(x) if isinstance(x, np.ndarray) else x for x in leaves], **options)
    if result.node is None:
        return None
    return result.node, [None if p is None else x for x, p in zip(leaves, node.parents, strict=True)]


# Layout (Sugiyama et al., Methods for visual understanding of hierarchical system structures, 1981) -------------------


class Layout:
    """Positions of boxes: ops near their neighbours, leaves where there is room next to them.

    An arrow across several rows bends in each, at a point placed like a narrow box.
    """

    def __init__(self, picture: Picture):
        count = len(picture.boxes)
        self.width = [_LETTER * max(len(b.label), len(b.under)) + 16 for b in picture.boxes]
        self.row = [0] * count  # counted from the last: the longest way to the result
        users: list[list[int]] = [[] for _ in range(count)]
        for a, b in picture.arrows:
            users[a].append(b)
        for a in reversed(range(count)):
            self.row[a] = 1 + max((self.row[b] for b in users[a]), default=-1)
        bent = sum(self.row[a] - self.row[b] - 1 for a, b in picture.arrows) <= _MOST_BENDS
        self.paths = []
        for a, b in picture.arrows:
            passed = range(self.row[a] - 1, self.row[b], -1) if bent else ()
            self.paths.append([a, *range(len(self.row), len(self.row) + len(passed)), b])
            self.row += passed
            self.width += [1.0] * len(passed)
        self.leaf = [*(box.leaf for box in picture.boxes), *[False] * (len(self.row) - count)]
        self.rows: list[list[int]] = [[] for _ in range(max(self.row) + 1)]
        for i, row in enumerate(self.row):
            self.rows[row].append(i)
        self._place()

    def _place(self) -> None:
        above: list[list[int]] = [[] for _ in self.row]
        below: list[list[int]] = [[] for _ in self.row]
        for path in self.paths:
            for a, b in zip(path, path[1:], strict=False):
                above[b].append(a)
                below[a].append(b)
        self.x = [0.0] * len(self.row)
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            near = above if down else below
            for row in reversed(self.rows) if down else self.rows:
                wish = {}
                for i in row:
                    ops = [j for j in near[i] if not self.leaf[j]] or near[i]
                    wish[i] = sum(self.x[j] for j in ops) / len(ops) if ops else self.x[i]
                row.sort(key=lambda i: (wish[i], self.leaf[i]))
                self._spread(row, wish)
        left = min(x - w / 2 for x, w in zip(self.x, self.width, strict=True))
        self.x = [x - left + _MARGIN for x in self.x]

    def _spread(self, row: list[int], wish: dict[int, float]) -> None:
        """Position a row in order and without overlaps, with its ops on average at their wished positions."""
        at, least = [], float("-inf")
        for i in row:
            at.append(max(wish[i], least + self.width[i] / 2))
            least = at[-1] + self.width[i] / 2 + _GAP
        ops = [wish[i] - x for i, x in zip(row, at, strict=True) if not self.leaf[i]] or [0.0]
        for i, x in zip(row, at, strict=True):
            self.x[i] = x + sum(ops) / len(ops)

    def y(self, i: int) -> float:
        return _MARGIN + (len(self.rows) - 1 - self.row[i]) * (_HEIGHT + _BEND) + _HEIGHT / 2


def side_by_side(arrows: Sequence[tuple[int, int]]) -> list[int]:
    """The offset to the right of each arrow, which separates arrows between the same boxes."""
    count, seen, found = Counter(arrows), Counter[tuple[int, int]](), []
    for arrow in arrows:
        found.append(16 * seen[arrow] - 8 * (count[arrow] - 1))
        seen[arrow] += 1
    return found


def _drawn(picture: Picture) -> str:
    from html import escape  # here, not at the top: it takes 4 ms, and few programs draw

    at = Layout(picture)
    right = max(x + w / 2 for x, w in zip(at.x, at.width, strict=True)) + _MARGIN
    bottom = len(at.rows) * (_HEIGHT + _BEND) - _BEND + 2 * _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right:.0f} {bottom:.0f}" width="{right:.0f}" '
        f'height="{bottom:.0f}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#667"/></marker></defs>',
        f'<rect width="{right:.0f}" height="{bottom:.0f}" fill="white"/>',
    ]
    for path, beside in zip(at.paths, side_by_side(picture.arrows), strict=True):
        shifted = [at.x[i] + beside for i in path]
        d = f"M{shifted[0]:.0f} {at.y(path[0]) + _HEIGHT / 2:.0f}"
        for a, b, left, to in zip(path, path[1:], shifted, shifted[1:], strict=False):
            start, end = at.y(a) + _HEIGHT / 2, at.y(b) - _HEIGHT / 2
            middle = (start + end) / 2
            d += f" C{left:.0f} {middle:.0f} {to:.0f} {middle:.0f} {to:.0f} {end:.0f}"
            d += f" V{end + _HEIGHT:.0f}" if b != path[-1] else ""
        lines.append(f'<path d="{d}" fill="none" stroke="#667" marker-end="url(#tip)"/>')
    for i, box in enumerate(picture.boxes):
        x, y, fill, line = at.x[i], at.y(i), *(
            _COLOURS["data" if box.data else "leaf"] if box.leaf else ("#e3edf7", "#4a78a8"))
        lines.append(f'<rect x="{x - at.width[i] / 2:.0f}" y="{y - _HEIGHT / 2:.0f}" width="{at.width[i]:.0f}" '
                     f'height="{_HEIGHT}" rx="{3 if box.leaf else 9}" fill="{fill}" stroke="{line}"/>')
        for text, dy, colour in (box.label, -3, "#123"), (box.under, 12, "#567"):
            lines.append(f'<text x="{x:.0f}" y="{y + dy:.0f}" text-anchor="middle" fill="{colour}">'
                         f"{escape(text)}</text>")
    return "\n".join([*lines, "</svg>", ""])
