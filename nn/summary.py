"""A table of a model's layers, shapes and parameter counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tinygrad_like.core.tensor import Tensor
from tinygrad_like.transforms.switches import no_grad

from .module import Module, modes_restored


@dataclass
class Row:
    """One module: its dotted name, the shapes of its first call (None if it was not called), and its own parameters."""

    name: str
    layer: str
    depth: int
    input: str | None
    output: str | None
    calls: int
    parameters: int


@dataclass
class Summary:
    """The result of `summary`; `str` and `repr` show it as a table."""

    rows: list[Row]
    trainable: int
    frozen: int

    @property
    def parameters(self) -> int:
        """The number of parameters, shared ones once."""
        return self.trainable + self.frozen

    def __str__(self) -> str:
        table = [("name", "layer", "input", "", "output", "parameters")]
        for row in self.rows:
            name = "  " * row.depth + (row.name.rpartition(".")[2] or "(model)")
            times = f" (x{row.calls})" if row.calls > 1 else ""
            shapes = ("not called", "", "") if row.input is None else (row.input, "->", f"{row.output}{times}")
            table.append((name, row.layer, *shapes, f"{row.parameters:,}" if row.parameters else ""))
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        form = "  ".join([f"{{:<{w}}}" for w in widths[:-1]] + [f"{{:>{widths[-1]}}}"])
        aligned = [form.format(*line).rstrip() for line in table]
        rule = "-" * len(aligned[0])
        return "\n".join([aligned[0], rule, *aligned[1:], rule,
                          f"parameters  {self.parameters:,} ({self.trainable:,} trainable, {self.frozen:,} frozen)"])

    __repr__ = __str__


def summary(model: Module, *inputs: Any, depth: int | None = None) -> Summary:
    """The layers of `model` with input and output shapes and parameter counts, found by one call on `inputs`.

    inputs: the arguments of the model. A tuple or list of ints means zeros of that shape, batch included:
        `print(summary(model, (32, 784)))`. Pass Tensors where values matter, such as token indices.
    depth: the number of levels below the model to show; the last level includes the parameters of deeper modules.

    It calls the model in evaluation mode and without recording, so nothing in the model changes. A parameter counts in
    the first module that has it.

    Raises TypeError without inputs. An error in the forward passes through, with a note that names the layer.
    """
    if not inputs:
        raise TypeError("summary: pass the model's inputs, or their shapes, as in summary(model, (32, 784))")
    names = {module: name for name, module in model.named_modules()}
    args = [_zeros(x, model) for x in inputs]
    calls = _watched_call(model, names, args)
    rows, counted = [], set()
    for module, name in names.items():
        level = name.count(".") + 1 if name else 0
        if depth is None or level <= depth:
            new = [p for p in module.parameters(recurse=level == depth) if p not in counted]
            counted.update(new)
            made = calls.get(module, [])
            taken, given = made[0] if made else (None, None)
            rows.append(Row(name, type(module).__name__, level, taken, given, len(made), sum(p.size for p in new)))
    parameters = list(model.parameters())
    trainable = sum(p.size for p in parameters if p.requires_grad)
    return Summary(rows, trainable, sum(p.size for p in parameters) - trainable)


def _watched_call(model: Module, names: dict[Module, str], args: list) -> dict[Module, list]:
    """Call the model; return the input and output shapes of each call of each module."""
    calls: dict[Module, list] = {}
    handles = [m.register_forward_hook(lambda module, args, output: calls.setdefault(module, []).append(
        (_shapes(args), _shapes(output)))) for m in names]
    try:
        with modes_restored(model), no_grad():
            model.eval()(*args)
    finally:
        for handle in handles:
            handle.remove()
    return calls


def _zeros(x: Any, model: Module) -> Any:
    if isinstance(x, tuple | list) and all(isinstance(n, int) for n in x):
        dtype = next((p.dtype for p in model.parameters()), None)
        return Tensor.zeros(*x, dtype=dtype)
    return x


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in _tensors(v)] if isinstance(value, tuple | list) else []


def _shapes(value: Any) -> str:
    return ", ".join(str(t.shape) for t in _tensors(value)) or type(value).__name__
