"""The ops that a model runs, and what in them depends on the size of the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinygrad_like import Tensor, eager, no_grad
from tinygrad_like.core.listener import after
from tinygrad_like.core.primitive import Composite, Primitive
from tinygrad_like.ops.pointwise import Pointwise


class Call(NamedTuple):
    """An op, and what it was given and gave. It holds the Tensors, so that none of them gets the id of another."""

    op: Primitive
    inputs: list[Any]
    options: dict[str, Any]
    output: Tensor


class Size(int):
    """A number that follows from the batch: per_example * batch + fixed."""

    per_example: int
    fixed: int

    @classmethod
    def of(cls, value: int, per_example: int, fixed: int) -> Size:
        size = cls(value)
        size.per_example, size.fixed = per_example, fixed
        return size


class Trace:
    """The calls of a model on `inputs`; and which outputs are others by another name."""

    def __init__(self, run: Callable, inputs: Sequence[Tensor], known: Callable[[Primitive, Sequence[Any]], bool]):
        self.calls: list[Call] = []
        self.same: dict[int, Tensor] = {}
        self.held: list[Tensor] = []
        self.known = known
        with no_grad(), eager(), after(self._note):
            output = run(*inputs)
        self.outputs = list(output) if isinstance(output, tuple | list) else [output]
        self.outputs = [y for y in self.outputs if y is not None]
        if not self.outputs or not all(isinstance(y, Tensor) for y in self.outputs):
            raise TypeError("onnx.export: the model must return a Tensor, or a tuple or list of Tensors, got "
                            f"{type(output).__name__}")

    def _note(self, op: Primitive, inputs: Sequence[Any], options: dict[str, Any], output: Tensor) -> None:
        if self.known(op, inputs) or not isinstance(op, Composite | Pointwise):
            self.calls.append(Call(op, list(inputs), {**op.options, **options}, output))
            return
        definition = op.reference if isinstance(op, Composite) else op.__wrapped__
        self.held.append(output)
        self.same[id(output)] = definition(*inputs, **options)

    def root(self, x: Tensor) -> Tensor:
        """The Tensor that a call of the trace, or nobody, has made, with the values of x."""
        while id(x) in self.same:
            x = self.same[id(x)]
        return x


class Merge:
    """The calls of a trace, with a `Size` for each number that is another in a second trace, of one example more.

    Raises ValueError if anything else differs.
    """

    def __init__(self, first: Trace, second: Trace, inputs: Sequence[Tensor], batch: int | None):
        self.first, self.second, self.batch = first, second, batch
        if [call.op.name for call in first.calls] != [call.op.name for call in second.calls]:
            raise ValueError("onnx.export: the model runs other ops for other inputs, or in a batch of another size; "
                             "in the second case, export it for one size, with batch_axis=None")
        self.computed = {id(x) for x in inputs} | {id(call.output) for call in first.calls}
        self.calls = [Call(a.op, [self.input(a.op.name, x, y) for x, y in zip(a.inputs, b.inputs, strict=True)],
                           {name: self.setting(a.op.name, value, b.options[name]) for name, value in a.options.items()},
                           a.output)
                      for a, b in zip(first.calls, second.calls, strict=True)]

    def input(self, op: str, a: Any, b: Any) -> Any:
        """A Tensor that is computed, or a constant: a parameter, an array or a number."""
        if not isinstance(a, Tensor):
            return self.setting(op, a, b)
        a, b = self.first.root(a), self.second.root(b)
        if id(a) not in self.computed and a is not b:
            self.setting(op, a.numpy(), b.numpy())
        return a

    def setting(self, op: str, a: Any, b: Any) -> Any:
        """A setting of `op`, or a part of one."""
        if isinstance(a, tuple | list) and len(a) == len(b):
            parts = [self.setting(op, x, y) for x, y in zip(a, b, strict=True)]
            return type(a)(*parts) if hasattr(a, "_fields") else type(a)(parts)
        if isinstance(a, slice):
            return slice(self.setting(op, a.start, b.start), self.setting(op, a.stop, b.stop), a.step)
        if isinstance(a, np.ndarray):
            if a.shape != b.shape or not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                raise ValueError(f"onnx.export: {op} is given an array, of shape {a.shape}, that follows from the "
                                 "input but was not made of it by ops: what goes through NumPy, .numpy() or .item() "
                                 "cannot be exported")
            return a
        if a is b or a == b:
            return a
        if self.batch is None or not isinstance(a, int | np.integer) or not isinstance(b, int | np.integer):
            raise ValueError(f"onnx.export: {op} has the setting {a!r} for one input and {b!r} for another; if it "
                             "comes from the size of the batch, export the model for one size, with batch_axis=None")
        per_example = int(b) - int(a)  # the second batch has one example more
        return Size.of(int(a), per_example, int(a) - per_example * self.batch)
