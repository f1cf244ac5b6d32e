"""A page to step through a recorded graph, forward and backward: a single HTML file that needs no server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.graph import Node
from ..core.tensor import Tensor
from ..transforms.picture import Box, Given, Layout, Picture, side_by_side
from .puzzles import pages
from .source import parameters, source
from .summary import summary
from .trace import Called, Key, Trace, watched

HERE = Path(__file__).parent
_MOST = 4000  # nodes: beyond this, composites stay closed
_DEEP = 3  # definitions within definitions


def explore(loss: Tensor | Callable[[], Tensor], path: str | Path = "graph.html", names: Any = (), *,
            gradient: Any = None, title: str = "") -> Path:
    """Write a page that steps through the graph behind `loss`, forward and backward; returns its path.

    loss: a recorded Tensor, or a function that computes it. For a Tensor, the page shows only values that the graph has
    saved, and no modules; for a function, all values, and the module and line of each op. names: a model, or names of
    leaves and models, such as `model.named_parameters()` or `{"x": x, "model": model}`. gradient: the cotangent of loss
    unless it is a single number; by default ones.

    Its backward changes no `.grad` and does not free the graph. Raises TypeError unless loss is a Tensor,
    ValueError if nothing was recorded, RuntimeError if backward has freed the graph.
    """
    path = Path(path)
    calls: dict[Key, Called] = {}
    if not isinstance(loss, Tensor) and callable(loss):
        loss, calls = watched(loss)
    if not isinstance(loss, Tensor):
        raise TypeError(f"explore: takes a Tensor or a function that returns one, got {type(loss).__name__}")
    if loss.node is None:
        raise ValueError("explore: nothing was recorded for this Tensor: it is a leaf, or depends on nothing that "
                         "requires grad")
    path.write_text(page(Trace(loss, gradient, calls), names, title or path.stem), encoding="utf-8")
    return path


def named(names: Any) -> tuple[dict[int, str], dict[int, str]]:
    """(id -> name of leaves, id -> name of modules), for a model, or a mapping or pairs of models and Tensors."""
    pairs = [("", names)] if hasattr(names, "named_modules") else [*(
        names.items() if isinstance(names, Mapping) else names)]
    models = [(name, v) for name, v in pairs if hasattr(type(v), "named_modules")]
    leaves = [(name, v) for name, v in pairs if isinstance(v, Tensor)]
    leaves += [pair for _, model in models for pair in model.named_parameters()]
    return ({id(x._data): name for name, x in leaves} | {id(x): name for name, x in leaves},
            {id(m): inner or ("" if len(models) == 1 else name)
             for name, model in models for inner, m in model.named_modules()})


def page(trace: Trace, names: Any, title: str) -> str:
    """The page itself."""
    data = json.dumps(Data(trace, names, title).json(), separators=(",", ":")).replace("<", "\\u003c")
    text, style, panel, script = ((HERE / f"explorer{name}").read_text(encoding="utf-8")
                                  for name in (".html", ".css", "_panel.js", ".js"))
    for mark, part in (("/*style*/", style), ("/*panel*/", panel), ("/*script*/", script), ("/*data*/", data),
                       ("<!--title-->", title.replace("&", "&amp;").replace("<", "&lt;"))):
        text = text.replace(mark, part)
    return text


class Group(NamedTuple):
    """Consecutive nodes called by one module; its parts are nodes and groups."""

    name: str
    nodes: list[Node]
    parts: list[Any]


class Data:
    """Everything that the page shows, in tables that refer to each other by number."""

    def __init__(self, trace: Trace, names: Any, title: str):
        self.title = title
        self.names, self.modules = named(names)
        self.passed: set[int] = set()  # leaves of opened ops that are results of other ops outside
        self.users: dict[Key, set[Node]] = {}
        self.values: list[dict] = []
        self.value_of: dict[int, int] = {}
        self.kept: list[Any] = []  # kept alive, so that no id is reused
        self.rules: list[dict] = []
        self.rule_of: dict[Any, int] = {}
        self.formulas: dict[str, str] = {}
        self.nodes: list[dict] = []
        self.number: dict[Key, int] = {}
        self.views: list[dict] = []
        count = len(trace.parents)
        self.side = 24 if count < 250 else 14 if count < 900 else 8
        self.add(trace, -1, title, 0)

    def json(self) -> dict:
        return {"title": self.title, "values": self.values, "rules": self.rules, "formulas": self.formulas,
                "nodes": self.nodes, "views": self.views}

    # Nodes ----------------------------------------------------------------------------------------------------------

    def add(self, trace: Trace, parent: int, title: str, depth: int) -> int:
        """Add the nodes and views of a trace; returns the number of the view with all nodes."""
        for node in [*trace.parents, *trace.data]:
            self.number[node] = len(self.nodes)
            self.nodes.append({})
        when = {node: n for n, node in enumerate(trace.order)}
        after: dict[Key, int] = {node: n for n, node in enumerate(trace.forward)}
        paths = self.paths(trace, depth > 0)
        for node in trace.parents:
            self.nodes[self.number[node]] = self.node(trace, node) | {
                "f": after.get(node, -1), "b": when.get(node, -1)} | (
                {"module": paths[node][-1]} if isinstance(node, Node) and paths[node] else {})
        for given in trace.data:
            value = given.value
            self.nodes[self.number[given]] = {
                "shape": list(given.shape) if given.shape is not None else None, "opens": -1, "view": -1, "leaf": True,
                "data": True, "op": self.names.get(id(value), given.label), "f": -1, "b": -1, "out": self.value(value)}
        self.users = {}
        for node in trace.forward:
            for p in trace.inputs[node]:
                self.users.setdefault(p, set()).add(node)
        view = self.view(trace, Group(title, trace.forward, parts(trace.forward, paths, 0)), parent)
        if depth < _DEEP and len(self.nodes) < _MOST:
            for node in trace.forward:
                inner = trace.inside(node)
                if inner is not None:
                    for i, x in enumerate(inner.aliases):
                        if isinstance(x, Tensor):
                            self.names[id(x)], p = self.name_inside(trace, node, i), trace.parents[node][i]
                            self.passed |= {id(x)} if isinstance(p, Node) or id(p) in self.passed else set()
                    for i, p in enumerate(trace.inputs[node]):
                        if isinstance(p, Given):
                            self.names.setdefault(id(p.value), _input_name(node, i))
                    self.kept.append(inner)
                    where = self.nodes[self.number[node]]["view"]
                    self.nodes[self.number[node]]["opens"] = self.add(inner, where, _name(node), depth + 1)
        return view

    def name_inside(self, trace: Trace, node: Node, i: int) -> str:
        """The name of an input in the view of a definition: the leaf's, or the op's name for it."""
        return self.names.get(id(trace.parents[node][i]), _input_name(node, i))

    def node(self, trace: Trace, node: Node | Tensor) -> dict:
        step, shape = trace.steps.get(node), list(node.shape)
        told: dict[str, Any] = {"shape": shape, "opens": -1, "view": -1,
                                "out": self.value(trace.values[node]) if node in trace.values else -1}
        if step is not None:
            told["g"] = self.value(step.g)
            told["terms"] = [[self.number[n] if n is not None else -1, i, self.value(c)] for n, i, c in step.terms]
        if isinstance(node, Tensor):
            return told | {"leaf": True, "op": self.names.get(id(node), "leaf")} | (
                {"passed": True} if id(node) in self.passed else {})
        op: Any = node.op
        told |= {"op": _name(node), "in": self.inputs(trace, node), "rule": self.rule(op), "saved": _saved(node)}
        if hasattr(op, "function") and len(node.saved._outputs) > 1:
            told["outputs"] = True
        if node in trace.calls:
            called = trace.calls[node]
            told["line"], told["options"] = called.line, {k: str(v)[:60] for k, v in called.options.items()}
        if step is not None:
            told["given"] = [None if c is None else [self.value(r), self.value(c)]
                             for r, c in zip(step.raw, step.given, strict=True)]
        return told

    def inputs(self, trace: Trace, node: Node) -> list:
        """(name, its node or -1, its value or -1) for every input."""
        told = []
        for i, p in enumerate(trace.inputs[node]):
            value = p.value if isinstance(p, Given) else trace.values.get(p) if p is not None else None
            told.append([_input_name(node, i), self.number[p] if p is not None else -1, self.value(value)])
        return told

    def value(self, x: Any) -> int:
        """The number of a value in the table."""
        if isinstance(x, dict) and len(x) == 1:  # the cotangent of one of several outputs
            x = next(iter(x.values()))
            x = x._data if isinstance(x, Tensor) else x
        if not isinstance(x, np.ndarray | np.generic | int | float):
            return -1
        if id(x) not in self.value_of:
            self.kept.append(x)
            self.value_of[id(x)] = len(self.values)
            self.values.append(summary(x, self.side) | ({"dtype": "a number"} if isinstance(x, int | float) else {}))
        return self.value_of[id(x)]

    def rule(self, op: Any) -> list[int]:
        """The numbers of an op's rules, each once; also records its formula."""
        name = op.name.lstrip("_")
        if name in pages() and name not in self.formulas:
            self.formulas[name] = pages()[name]["math"]
        joint = getattr(op, "joint", None)
        found = [("all inputs", joint[0])] if joint is not None else [
            (op.inputs[i], rule) for i, (rule, _) in sorted(getattr(op, "rules", {}).items())]
        if getattr(op, "definition", None) is not None:
            found = [("the definition", op.definition)]
        if not found and hasattr(op, "function"):  # a custom Function
            found = [("all inputs", op.function.backward)]
        math = pages().get(name, {}).get("rules", [])  # for all inputs, so shown once
        return [self.one_rule(what, rule, [] if k else math) for k, (what, rule) in enumerate(found)]

    def one_rule(self, what: str, rule: Any, math: list[str]) -> int:
        if (what, rule) not in self.rule_of:
            at = source(rule)
            self.rule_of[what, rule] = len(self.rules)
            self.rules.append({"of": what, "where": _short(at.file, at.line), "text": at.own_text(),
                               "names": parameters(rule)[1:], "math": math})
        return self.rule_of[what, rule]

    # Groups and views -----------------------------------------------------------------------------------------------

    def paths(self, trace: Trace, inner: bool) -> dict[Node, tuple[str, ...]]:
        """The modules that called each node, if the function was watched; none inside definitions, which are short."""
        called = {n: trace.calls[n].module if n in trace.calls and not inner else () for n in trace.forward}
        return {n: tuple(name for i, kind in modules if (name := self.modules.get(i, kind)))
                for n, modules in called.items()}

    def hidden(self, p: Key, group: Group) -> bool:
        """Whether a leaf shows only when a part of the group, its only user, is opened."""
        return isinstance(p, Tensor | Given) and any(
            isinstance(part, Group) and self.users[p] <= set(part.nodes) for part in group.parts)

    def view(self, trace: Trace, group: Group, parent: int) -> int:
        """Add the view of a group and of the groups in it; returns its number."""
        view = len(self.views)
        told: dict[str, Any] = {"name": group.name, "parent": parent, "nodes": [self.number[n] for n in group.nodes]}
        self.views.append(told)
        box_of: dict[Key, int] = {}
        boxes: list[tuple[str, int, Box]] = []

        def put(kind: str, number: int, label: str, nodes: Sequence[Any]) -> None:
            box_of.update(dict.fromkeys(nodes, len(boxes)))
            boxes.append((kind, number, Box(label, nodes[-1].shape, kind in ("leaf", "data", "from"))))
            if kind in ("leaf", "data", "op") and self.nodes[number]["view"] < 0:
                self.nodes[number]["view"] = view

        outside = [p for n in group.nodes for p in trace.inputs[n] if p is not None and p not in {*group.nodes}]
        for p in dict.fromkeys(outside):
            if not self.hidden(p, group):
                kind = "data" if isinstance(p, Given) else "leaf" if isinstance(p, Tensor) else "from"
                put(kind, self.number[p], "from " * (kind == "from") + self.nodes[self.number[p]]["op"], [p])
        for part in group.parts:
            if isinstance(part, Group):
                put("group", self.view(trace, part, view), f"{part.name} +", part.nodes)
            else:
                opens = " +" if getattr(part.op, "definition", None) is not None else ""
                put("op", self.number[part], _name(part) + opens, [part])
        arrows = [(box_of[p], box_of[n]) for n in group.nodes for p in trace.inputs[n]
                  if p in box_of and box_of[p] != box_of[n]]
        told["boxes"], told["paths"], told["size"] = _laid_out(boxes, arrows)
        return view


def parts(nodes: list[Node], paths: dict[Node, tuple[str, ...]], depth: int) -> list:
    """Consecutive nodes of one module become a group, if they are several but not all."""
    runs = [(name, [*run]) for name, run in groupby(
        nodes, lambda n: paths[n][depth] if len(paths[n]) > depth else None)]
    if len(runs) == 1 and runs[0][0] is not None:
        return parts(nodes, paths, depth + 1)
    return [part for name, run in runs for part in (
        run if name is None or len(run) == 1 else [Group(name, run, parts(run, paths, depth + 1))])]


def _laid_out(boxes: list[tuple[str, int, Box]], arrows: list[tuple[int, int]]) -> tuple[list, list, list]:
    """Boxes as [kind, number, x, y, width, label], paths as [from, to, x, y, x, y, ...], and the total size."""
    at = Layout(Picture([box for _, _, box in boxes], arrows))
    placed = [[kind, number, round(at.x[i]), round(at.y(i)), round(at.width[i]), box.label]
              for i, (kind, number, box) in enumerate(boxes)]
    paths = [[a, b, *(round(v) for j in path for v in (at.x[j] + beside, at.y(j)))]
             for (a, b), path, beside in zip(arrows, at.paths, side_by_side(arrows), strict=True)]
    right = max(x + w / 2 for x, w in zip(at.x, at.width, strict=True))
    return placed, paths, [round(right) + 12, round(max(map(at.y, range(len(boxes))))) + 40]


def _name(node: Node) -> str:
    name = node.op.name.strip("_")
    return name if _output(node) is None else f"{name}[{_output(node)}]"


def _output(node: Node) -> int | None:
    """The number of a call's output."""
    return getattr(node.op, "number", None)


def _input_name(node: Node, i: int) -> str:
    if _output(node) is not None:
        return "value"
    names: Any = getattr(node.op, "inputs", ())
    if hasattr(node.op, "function"):
        names = parameters(node.op.function.forward)
        names = names[len(names) - len(node.parents or ()):]  # without ctx
    if getattr(node.op, "variadic", False):
        return f"{names[0]}[{i}]"
    return names[i] if i < len(names) else f"input {i}"


def _saved(node: Node) -> list[list[str]]:
    """The values that the node has saved: (name, description, purpose)."""
    op: Any = node.op
    told = []
    for name, x in _kept(node):
        x = x._data if isinstance(x, Tensor) else x
        what = f"{x.dtype} {x.shape}, {x.nbytes:,} bytes" if isinstance(x, np.ndarray) else repr(x)[:80]
        users = [op.inputs[i] for i, (rule, _) in getattr(op, "rules", {}).items() if name in parameters(rule)]
        names = parameters(op.joint[0]) if getattr(op, "joint", None) is not None else ()
        joint = name in names or name == "residuals"
        why = "named by the rule of " + " and ".join(users) if users else "named by the rule" if joint else \
            "by ctx.save_for_backward" if hasattr(op, "function") else \
            "for the definition, from which derivatives of the rule come"
        told.append([name, what, why])
    return told


def _kept(node: Node) -> list[tuple[str, Any]]:
    """The saved values of a node, by name."""
    op: Any = node.op
    if hasattr(op, "function"):
        return [(f"saved_tensors[{i}]", x) for i, x in enumerate(node.saved.saved_tensors)]
    kept, saved = list(getattr(op, "saved", ())), list(node.saved or ()) if hasattr(op, "saved") else []
    if getattr(op, "variadic", False) and len(saved) > len(kept):
        kept = [f"{op.inputs[0]}[{i}]" for i in range(len(saved) - len(kept) + 1)] + kept[1:]
    return list(zip(kept, saved, strict=False))


def _short(file: str, line: int) -> str:
    """A path from the package on, since its beginning differs between machines."""
    root = str(HERE.parent.parent)
    return f"{file[len(root) + 1:] if file.startswith(root) else Path(file).name}:{line}"

