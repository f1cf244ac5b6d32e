"""What a recorder does when dispatch, tensors, optimizers and ranks tell it of what happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.graph import mode
from ..core.listener import Listener
from ..core.tensor import Tensor
from ..dtypes import arrays_in, as_array, memory
from ..errors import user_line
from ..ops.operands import PLAIN, SETTINGS
from .numbers import Number, array_of, followed, inputs_of, shown

for _kinds in PLAIN, SETTINGS:  # ops take them as they take Python's
    _kinds.add(Number)


class Communicates(Exception):
    """A reduction over ranks, in what was tried to be noted as calls of kernels."""


class Listening(Listener):
    """The listener's side of a `Recorder`."""

    on_tensors = True  # type: ignore[assignment]
    forward: Any = None  # of the op that is being called

    def op(self: Any, op: Any, inputs: Any, options: dict, run: Callable) -> Any:
        if Number in map(type, options.values()):
            options = {n: followed(v) for n, v in options.items()}
        if Number in map(type, inputs):
            inputs = inputs_of(op, inputs)
        for value in options.values():
            if isinstance(value, tuple | list) and any([isinstance(n, Tensor) for n in value]):
                # Within the op they would become numbers that never change again.
                self.refuse(f"a Tensor as a size, an axis or an index of {op.name}", "pass a number to the function")
        for t in inputs:
            if isinstance(t, Tensor) and id(memory(t._data)) not in self.known:
                self.from_outside(t)
        before, self.forward = self.forward, getattr(op, "kernel", op.forward)
        try:
            y = run(inputs, options)
        finally:
            self.forward = before
        if y.node is not None and y.node.saved is not None and Number in map(type, y.node.saved):
            self.node(y.node)
        return y

    def compute(self: Any, name: str, function: Callable, arguments: Sequence, options: dict) -> Any:
        if function is as_array and not isinstance(arguments[0], np.ndarray):
            return array_of(*arguments)
        given = [*arguments, *options.values()]
        if name != "filled" and Number not in map(type, given) and not [*arrays_in(given)]:
            return function(*arguments, **options)  # a constant
        if function is not self.forward:
            arguments, options = [*map(followed, arguments)], {n: followed(x) for n, x in options.items()}
        return self.unit(name, function, arguments, options)

    def rule(self: Any, op: Any, node: Any, i: int | None, rule: Callable, g: Any, values: Sequence) -> Any:
        if mode.recording:
            return rule(g, *map(shown, values))
        if i is None:
            return self.joint(op, rule, g, values)
        return self.noted_rule(op, op.rules[0 if op.variadic else i][0], rule, g, values)

    def effect(self: Any, name: str, function: Callable, arguments: Sequence, writes: Sequence) -> None:
        owner: Any = getattr(function, "__self__", None)
        if hasattr(owner, "param_groups"):
            self.optimizers[id(owner)] = owner
            for x in writes:
                self._know(x)  # its state lasts, also what the step of another call has begun
        elif hasattr(owner, "optimizer"):  # a scheduler, which sets its rates
            self.scheduled.update((id(d), d) for d in (vars(owner), *owner.optimizer.param_groups))
            self.rates_set = True
        if self.inside:
            function(*arguments)
        else:
            self.python(name, function, *arguments, changes=writes)

    def observe(self: Any, what: str, tensor: Any, remedy: str) -> None:
        self.refuse(what, remedy, True, tensor)

    def on_data(self: Any, x: Any) -> Any:
        return None if self.inside else self.view(x)

    def on_set_data(self: Any, x: Any, value: Any) -> Any:
        if self.inside:
            return NotImplemented
        self.put(x, value)
        return True

    def on_gradient(self: Any, x: Any) -> None:
        self.leaf(x)
        if x._grad is not None:
            self.changes(x._grad)

    def tell(self, event: str, *about: Any) -> Any:
        return getattr(self, "on_" + event.replace(" ", "_"))(*about)

    def on_between(self: Any, name: str, function: Callable, arguments: Sequence, changes: Sequence) -> None:
        self.between(name, function, *arguments, changes=changes)

    def on_varies(self: Any, why: str, remedy: str) -> None:
        self.trouble = f"{why}, at {user_line()}; {remedy}"

    def on_looked_at(self: Any, x: Any, why: str, remedy: str) -> bool:
        return self.grounds.hold(x, why, remedy)

    def on_cannot(self: Any, what: str, remedy: str) -> None:
        self.end(what, remedy)

    def on_constant(self: Any, name: str, value: Any) -> None:
        self.log.append((name, value))

    def on_again(self: Any, name: str, function: Callable, *arguments: Any) -> None:
        self.note_python(name, function, *arguments)

    def on_reduce(self: Any) -> None:
        if self.trying:
            raise Communicates

    def on_reduced(self: Any, sent: np.ndarray, came: np.ndarray) -> None:
        self.told.append((sent, came))

    def on_inside_an_op(self: Any) -> bool:
        return self.inside


__all__ = ["Communicates", "Listening"]
