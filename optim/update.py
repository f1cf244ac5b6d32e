"""A step of an optimizer on a tape: what is done for it whenever the tape is played (see `tinygrad_like.tape`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tinygrad_like import Tensor
from tinygrad_like.autograd import tick

if TYPE_CHECKING:
    from .optimizer import Optimizer, State


class Update:
    """What Python does for a step of an optimizer."""

    def __init__(self, optimizer: Optimizer, plan: tuple[list, list], before: list[tuple[Tensor, State, dict]]):
        groups = {p: group for group in optimizer.param_groups for p in group["params"]}
        of = {id(p._data): (p, state, groups[p]) for p, state, _ in before}
        self.optimizer, self.plan, self.before = optimizer, plan, before
        self.by_kernel = [[of[id(row[0])] for row in rows.rows] for _, rows in plan[0]]
        self.by_formula = [of[id(x)] for x, _ in plan[1]]
        self.numbers: list[_Numbers] = []  # of each call of the kernel
        self.counts: tuple | None = None  # before the step that is being played: of steps, and of each state

    def note(self, tape: Any) -> None:
        """Do the step, and note it."""
        tape.flush()
        for p, _, _ in self.before:
            tape.leaf(p)
        start, (calls, formulas) = len(tape.steps), self.plan
        del self.plan  # it names the gradients, which are another call's next time
        self.optimizer._carry_out((calls, []), [], self.optimizer.steps)
        tape.flush()
        for step in tape.steps[start:]:
            step.renew = _Numbers()
            self.numbers.append(step.renew)
        tape.updates.append(self)
        if formulas:
            for x, new in formulas:
                x[...] = new
            tape.note_python(self.optimizer.name, self.formulas, changes=[x for x, _ in formulas])
        self.end()
        self.optimizer.steps += 1

    def begin(self) -> None:
        """Before the kernels: work out the numbers that change from step to step.

        What an interrupt finds done is finished by `end`, what it does not is undone by `stop`: both set counts to what
        they are to be, whatever they are.
        """
        optimizer, self.counts = self.optimizer, None
        for numbers in self.numbers:
            if numbers.table is not None:
                numbers.table.ids[-1, 0] = 0  # not begun
        states = [state for params in self.by_kernel for _, state, _ in params if "step" in state]
        self.counts = optimizer.steps, [(state, state["step"]) for state in states]
        for numbers, params in zip(self.numbers, self.by_kernel, strict=True):
            p, state, group = params[0]
            numbers.now = optimizer.arguments(p._data, p._data, state, optimizer._lr(group), group)[1]

    def formulas(self) -> None:
        """What kernels do not take."""
        for p, state, group in self.by_formula:
            g, x = self.optimizer._checked(p, state), self.optimizer._weights(p, state)
            self.optimizer.update(x, g, state, self.optimizer._lr(group), group)
            if x is not p._data:
                p._data[...] = x

    def end(self) -> None:
        """After the kernels."""
        now = tick()
        for p, _, _ in self.before:
            (p.version or p.shared_version())[0] = now
        if self.counts is not None:
            self._count(1)

    def stop(self) -> None:
        """After an interrupt, which may have come at any moment."""
        if self.counts is not None:
            if any(numbers.table is not None and numbers.table.begun for numbers in self.numbers):
                self.end()
            else:
                self._count(0)

    def _count(self, more: int) -> None:
        assert self.counts is not None
        self.optimizer.steps = self.counts[0] + more
        for state, count in self.counts[1]:
            state["step"] = count + more


class _Numbers:
    """The arguments of a call of a kernel, in this step."""

    now: tuple  # all but the first
    table: Any = None  # the first

    def __call__(self, arguments: tuple) -> tuple:
        self.table = arguments[0]
        self.table.ids[-1, 0] = 0  # not begun
        return self.table, *self.now
