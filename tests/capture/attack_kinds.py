"""A habit of a training step."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Habit:
    """One kind of Python state that a step keeps, as source text.

    In `step`, `loss` is a Tensor to change, `h` the model's output, `x` (5, 4) and `y` (5,) the batch. `between`
    runs before call `i`, with the last call's `result`."""

    name: str
    setup: str = ""
    step: str = ""
    between: str = ""
    shows: str = "None"  # an expression, compared after each call
    ends: str = ""  # after optimizer.step(), within the step
    starts: str = ""  # before the model
    result: str = ""  # what the step returns
    argument: tuple[str, ...] = ()  # one more parameter of the step, and the expression that the caller passes
    update: str = ""  # in place of zero_grad, backward and step
    model: str = ""
    optimizer: str = ""
    module: bool = False  # works in a module's globals only
    kept: bool = True  # whether its state, or code between the calls, changes the results
