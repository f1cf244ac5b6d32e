"""A step of an optimizer on a tape: what is done for it whenever the tape is played (see `recorder.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tinygrad_like.core.graph import tick
from tinygrad_like.core.tensor import Tensor

if TYPE_CHECKING:
    from tinygrad_like.optim.optimizer import Optimizer
    from tinygrad_like.optim.state import State


class Update:
    """What Python does for a step of an optimizer."""

    def __init__(self, optimizer: Optimizer, plan: tuple[list, list], before: list[tuple[Tensor, State, dict]]):
        groups = {p: group for group in optimizer.param_groups for p in group["params"]}
        of = {id(p._data): (p, state, groups[p]) for p, state, _ in before}
        self.optimizer, self.plan, self.before = optimizer, plan, before
        self.by_kernel = [[of[id(row[0])] for row in rows.rows] for _, rows in plan[0]]
        self.by_formula = [of[id(x)] for x, _ in plan[1]]
        self.tables: list[Any] = [None] * len(self.by_kernel)  # the first argument of each call of the kernel,
        self.numbers: list[tuple] = []  # and the others, in the step that is being played,
        self.rates: list[float] = []  # and the rates of what kernels do not take
        self.counts: tuple | None = None  # before that step: of steps, and of each state; None if it has not begun
        self.others: list[tuple[State, dict]] = []  # numbers in each state besides its count, before that step

    def note(self, tape: Any) -> None:
        """Do the step, and note it."""
        tape.flush()
        for p, _, _ in self.before:
            tape.leaf(p)
        start, (calls, formulas) = len(tape.steps), self.plan
        del self.plan  # it names the gradients, which are another call's next time
        self.optimizer._carry_out((calls, []), [], self.optimizer.steps)
        tape.flush()
        for i, step in enumerate(tape.steps[start:]):
            step.renew = partial(self.renewed, i)
        tape.updates.append(self)
        for x, new in formulas:
            x[...] = new
        if formulas or not calls:
            gradients = [p.grad._data for p, _, _ in self.by_formula]  # type: ignore[union-attr]
            tape.note_python(self.optimizer.name, self.formulas, *gradients, changes=[x for x, _ in formulas])
        self.end()
        self.optimizer.steps += 1

    def counted(self, earlier: Counter[int]) -> Iterator[list[tuple[State, int]]]:
        """For each call of the kernel the states whose counts it takes to be equal, with how many steps of this call of
        a captured function come before; `earlier` has them by the ids of states, and gets this step too."""
        for params in self.by_kernel:
            yield [(state, earlier[id(state)]) for _, state, _ in params if "step" in state]
        earlier.update(id(state) for _, state, _ in self.before)

    def renewed(self, i: int, arguments: tuple) -> tuple:
        """The arguments of a call of the kernel, in this step."""
        if self.counts is None:
            self.begin()
        table = arguments[0]
        if table is not self.tables[i]:
            self.tables[i], table.ids[-1, 0] = table, 0  # not begun
        return table, *self.numbers[i]

    def begin(self) -> None:
        """Work out the numbers that change from step to step, and count it: whatever was to come before it, such as
        another step of the same optimizer, has done so too.

        If an interrupt comes before the kernels, `stop` sets the counts back, whatever they are.
        """
        optimizer = self.optimizer
        for table in self.tables:
            if table is not None:
                table.ids[-1, 0] = 0  # not begun
        if self.by_formula:
            self.rates = [optimizer._lr(group) for _, _, group in self.by_formula]
        self.counts = optimizer.steps, [(state, state["step"]) for params in self.by_kernel
                                        for _, state, _ in params if "step" in state]
        if names := optimizer.number_names:
            self.others = [(state, {n: state[n] for n in names if n in state}) for state, _ in self.counts[1]]
        self.numbers = [optimizer.arguments(p._data, p._data, state, optimizer._lr(options), options)[1]
                        for p, state, options in [(p, state, dict(group)) for (p, state, group), *_ in self.by_kernel]]
        if names:
            for (_, first, _), *params in self.by_kernel:
                for _, state, _ in params:
                    state.update((n, first[n]) for n in names)
        self._count(1)

    def formulas(self, *gradients: np.ndarray) -> None:
        """What kernels do not take. gradients: of another step of the same call, parameters may have others by now."""
        if self.counts is None:
            self.begin()
        for (p, state, group), lr, given in zip(self.by_formula, self.rates, gradients, strict=True):
            x = self.optimizer._weights(p, state)
            self.optimizer.update(x, np.asarray(given, x.dtype, order="C"), state, lr, group)
            if x is not p._data:
                p._data[...] = x

    def end(self) -> None:
        """After the kernels."""
        now = tick()
        for p, _, _ in self.before:
            (p.version or p.shared_version())[0] = now
        self.counts = None

    def stop(self) -> None:
        """After an interrupt, which may have come at any moment; of those that have begun, the last one comes first."""
        if self.counts is None:
            return
        if not any([table is not None and table.begun for table in self.tables]):
            self._count(0)
            for state, numbers in self.others:
                state.update(numbers)
        self.end()

    def _count(self, more: int) -> None:
        assert self.counts is not None
        self.optimizer.steps = self.counts[0] + more
        for state, count in self.counts[1]:
            state["step"] = count + more
