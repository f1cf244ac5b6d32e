"""What every optimizer shares: parameter groups, per-parameter state, the learning rate, and the loop of a step."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tinygrad_like.core.graph import mode
from tinygrad_like.core.listener import number, tell
from tinygrad_like.core.listener import value as as_it_is
from tinygrad_like.core.replaceable import replaceable
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import FLOAT32, FLOATS, NARROW, wide
from tinygrad_like.methods.gradients import zero_gradient
from tinygrad_like.transforms.switches import enable_grad

from .state import Group, Seen, State, States, check_memory, check_spelling

required: Any = object()  # what an optimizer of older programs for PyTorch has as the default of lr
MASTER = "master"  # the name, in the state of a parameter of 16 bits, of its weights in float32


@replaceable
def fused_update(kernel: str) -> tuple[Callable, Callable] | None:
    """What makes a table of rows of arrays, and the function of this name that updates all of them in one pass over
    memory; None if there is none."""
    return None


class Optimizer:
    """The base of all optimizers. A subclass defines `update`, its formula. If a fused update (a kernel) does the
    same for all parameters in one pass over memory, the subclass also gives its name, `kernel`, and its `arguments`.
    One written for PyTorch defines `step` instead, and gives options as a dict: `super().__init__(params, defaults)`.

    params: an iterable of Tensors, or of groups: dicts of "params" and the options that differ for them. Those that do
    not require grad, as frozen layers, stay as they are.
    lr: the learning rate, a number or a schedule: a function from the number of steps taken to the rate.
    options: the defaults of every other option of the subclass.

    Raises TypeError or ValueError, which name the parameter, for one that is not a leaf Tensor, or is given twice, or
    if none requires grad; and for an option that is unknown or out of range.
    """

    state_names: tuple[str, ...] = ()  # of the arrays in a parameter's State: PyTorch's names
    number_names: tuple[str, ...] = ()  # of the numbers there, besides `step`
    kernel = ""

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] | dict[str, Any], **options: Any):
        self.name = type(self).__name__
        whole = isinstance(lr, dict) and self._steps_itself
        self.defaults = {**lr, **options} if whole else {"lr": lr, **options}  # type: ignore[dict-item]
        self.param_groups: list[dict[str, Any]] = []
        self._states: dict[Tensor, State] = States()
        self.steps = 0
        for group in self._groups(params):
            self.add_param_group(group)
        if not self._states:
            raise ValueError(f"{self.name}: no parameters; a generator like model.parameters() can be read only once")
        if not any(p.requires_grad for p in self._states):
            p = next(iter(self._states))
            raise ValueError(f"{self.name}: parameter 0 (shape {p.shape}), as all others, does not require grad; call "
                             "requires_grad_() of those to be trained")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def state(self) -> Any:
        """What is remembered of each parameter, `optimizer.state[p]["exp_avg"]`: Tensors on the optimizer's arrays."""
        return self._states if self._steps_itself else Seen(self._states)

    @state.setter
    def state(self, states: Any) -> None:
        self._states = states

    # The formula, by the subclass -----------------------------------------------------------------------------------

    def update(self, x: np.ndarray, g: np.ndarray, state: State, lr: float, group: dict) -> None:
        """Change the parameter `x` in place, given its gradient `g`, in NumPy, for any dtype and layout.

        `x` and the arrays in `state` are copies; they replace the originals once the whole step is done.
        """
        raise NotImplementedError(f"{self.name} must define update(x, g, state, lr, group)")

    def arguments(self, x: np.ndarray, g: np.ndarray, state: State, lr: float, group: dict) -> tuple[tuple, tuple]:
        """What the kernel takes: the parameter's arrays, which only the kernel changes, and numbers.

        It may replace entries of `state` but not write into arrays: if they do not suit the kernel, all is undone.
        """
        raise NotImplementedError(f"{self.name} names a kernel and must define arguments(x, g, state, lr, group)")

    def check(self, group: dict) -> None:
        """Raise ValueError for options out of range."""

    def state_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the array `name` in the State of a parameter of this shape."""
        return shape

    @property
    def _steps_itself(self) -> bool:
        """Whether this is a subclass with a `step` of its own, as those written for PyTorch: its state may be any."""
        return type(self).step is not Optimizer.step and type(self).update is Optimizer.update

    # A step ---------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, or none if anything raises.

        An interrupt such as Ctrl-C leaves parameters, state and counts all as before the step or all as after it. If
        the dtype or layout of a parameter has changed, its state follows.

        closure: called first, with recording on, to compute the gradients; `step` returns the loss that it returns.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        mode.waiting = None  # as when an op is called
        before: list[tuple[Tensor, State, dict]] = []  # parameters to update, their state, and a copy of it
        steps, ready = self.steps, False
        try:
            plan = self._plan(before, careful=not self.kernel)
            if not before:
                self._warn_of_no_gradient()
            ready = True
            if tell("optimizer step", self, plan, before) is NotImplemented:
                self._carry_out(plan, before, steps + 1)
        except BaseException:  # Ctrl-C included, which may come between any two bytecodes
            if ready:
                self._carry_out(plan, before, steps + 1)
            else:
                _undo(before)
            raise
        return loss

    def _warn_of_no_gradient(self) -> None:
        warnings.warn(f"{self.name}.step: no parameter has a gradient, so none changes; call backward() of a loss that "
                      "depends on them before it, and zero_grad() not between the two", stacklevel=3)

    def _plan(self, before: list[tuple[Tensor, State, dict]], careful: bool) -> tuple[list, list]:
        """All of a step except changing the parameters: calls of the kernel (numbers and rows), and pairs of a
        parameter's array and its new values. If the kernel cannot take a row, start again and check each parameter.
        """
        calls: dict[tuple, list[tuple]] = {}  # number of the group, of steps, numbers -> rows
        formulas = []
        fused = fused_update(self.kernel) if self.kernel else None
        careful = careful or fused is None
        self._states = States.of(self._states)
        for i, group in enumerate(self.param_groups):
            group = dict(group)  # whose numbers nobody follows
            lr = self._lr(group)
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self._states[p]
                before.append((p, state, state.copy() if state else {}))
                x, g = p._data, p.grad._data
                if careful:
                    g = self._checked(p, state)
                    if not (fused and type(x) is np.ndarray and x.dtype is FLOAT32 and x.flags.carray):
                        new = self._weights(p, state).copy()
                        state.update({name: copy.deepcopy(a) for name, a in state.items()})
                        self.update(new, g, state, lr, {k: number(v) for k, v in group.items()})
                        formulas.append((x, new))
                        if x.dtype in NARROW:
                            state[MASTER] = new
                        continue
                elif type(x) is not np.ndarray or x.dtype is not FLOAT32:  # sooner than to find out from its row
                    _undo(before)
                    return self._plan(before, careful=True)
                row, numbers = self.arguments(x, g, state, lr, group)  # type: ignore[arg-type]
                numbers = as_it_is(numbers)
                calls.setdefault((i, state.get("step"), numbers), []).append(row)
        packed = []
        for (_, _, numbers), rows in calls.items():
            packed.append((numbers, fused[0](rows)))  # type: ignore[index]
            if not (careful or packed[-1][1].suited):
                _undo(before)
                return self._plan(before, careful=True)
        return packed, formulas

    def _carry_out(self, plan: tuple[list, list], before: list[tuple[Tensor, State, dict]], steps: int) -> None:
        """Change the parameters as planned, except where an interrupted call has done so already."""
        calls, formulas = plan
        for numbers, rows in calls:
            if not rows.begun:
                fused_update(self.kernel)[1](rows, *numbers)  # type: ignore[index]
        for x, new in formulas:
            x[...] = new
        for p, _, _ in before:
            p.touch()
        self.steps = steps

    def _weights(self, p: Tensor, state: State) -> np.ndarray:
        """What a formula changes: the parameter's array, or if that has 16 bits, the float32 that it was rounded from.

        An update may be too small for 16 bits: those are kept between steps, unless the parameter was changed.
        """
        x, master = p._data, state.get(MASTER)
        if x.dtype not in NARROW:
            return x
        if master is None or master.astype(x.dtype).tobytes() != x.tobytes():
            master = state[MASTER] = x.astype(FLOAT32, order="C")
        return master

    def _checked(self, p: Tensor, state: State) -> np.ndarray:
        """A parameter's gradient, in the dtype to compute in and in C order; its state is converted in the same way.

        Casting or copying the model, or assigning to `p.data`, changes only the parameter.
        """
        x, g, who = p._data, p.grad, f"{self.name}.step"
        assert g is not None
        dtype = wide(x.dtype)
        if not isinstance(x, np.ndarray) or x.dtype.kind not in FLOATS:
            raise TypeError(f"{who}: a parameter's data is {_brief(x)}; it must be a floating-point array")
        if not x.flags.writeable:
            raise ValueError(f"{who}: a parameter of shape {x.shape} shows memory that must not be written, as expand "
                             "does and read-only arrays are; copy it, with nn.Parameter(array)")
        if g.shape != x.shape:
            raise ValueError(f"{who}: a parameter of shape {x.shape} has a gradient of shape {g.shape}; they must be "
                             "equal")
        for name in (*self.state_names, MASTER):
            a = state.get(name)
            if a is not None and (not isinstance(a, np.ndarray) or a.shape != self.state_shape(name, x.shape)):
                has = f"shape {a.shape}" if isinstance(a, np.ndarray) else f"type {type(a).__name__}"
                raise ValueError(f"{who}: a parameter of shape {x.shape} has {name} of {has}; if its data was replaced "
                                 "on purpose, make a new optimizer, or forget the past with optimizer.state[p].clear()")
            if a is not None and not (type(a) is np.ndarray and a.dtype is dtype and a.flags.carray):
                state[name] = np.array(a, dtype, order="C")
        return np.asarray(g._data, dtype, order="C")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; with set_to_none=False, those that exist become zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                zero_gradient(p, set_to_none)

    @property
    def lr(self) -> float:
        """The first group's learning rate at the next step; setting it sets every group's."""
        lr = self.param_groups[0]["lr"]
        return self._lr(self.param_groups[0]) if callable(lr) else lr

    @lr.setter
    def lr(self, lr: float | Callable[[int], float]) -> None:
        self._check_lr(lr)
        for group in self.param_groups:
            group["lr"] = lr

    def _lr(self, group: dict) -> float:
        lr = as_it_is(group["lr"])
        return float(lr(self.steps) if callable(lr) else lr)  # a NumPy float64 would promote its factor

    # Groups ---------------------------------------------------------------------------------------------------------

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Add a dict of "params" and the options that differ from the optimizer's, for instance for unfrozen layers.

        Other keys are for who made the group: they are kept. One that looks like a misspelt option raises ValueError.
        """
        if not isinstance(group, dict) or "params" not in group:
            raise TypeError(f'{self.name}: a group is a dict with "params", got {_brief(group)}')
        params = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
        if type(group) is not Group and not self._steps_itself:
            check_spelling(self.name, group, self.defaults)
        group = Group({**self.defaults, **group, "params": params})
        self._check_options(group)
        seen = set(self._params())
        for i, p in enumerate(params):
            self._check_param(f"{self.name}: parameter {i}", p, seen)
            seen.add(p)
        check_memory(self.name, seen)
        self.param_groups.append(group)
        self._states.update((p, State(p)) for p in params)

    def _params(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def _groups(self, params: Iterable) -> list[dict]:
        if isinstance(params, Tensor | dict) or not isinstance(params, Iterable):
            raise TypeError(f"{self.name}: params is a single {type(params).__name__}; pass a list of Tensors or of "
                            "groups, such as model.parameters() or [x]")
        params = list(params)
        grouped = sum(isinstance(p, dict) for p in params)
        if 0 < grouped < len(params):
            raise TypeError(f"{self.name}: params mixes groups (dicts) with Tensors; put the Tensors into a group too")
        return params if grouped else [{"params": params}]

    @staticmethod
    def _check_param(who: str, p: Any, seen: set[Tensor]) -> None:
        if not isinstance(p, Tensor):
            raise TypeError(f"{who} is a {type(p).__name__}, not a Tensor; pass model.parameters()")
        if p.node is not None:
            raise ValueError(f"{who} (shape {p.shape}) was computed by {p.node.op.name}; only leaves can be optimized: "
                             "take its detach().requires_grad_()")
        if p in seen:
            raise ValueError(f"{who} (shape {p.shape}) is given twice; it would be updated twice a step")

    def _check_lr(self, lr: Any) -> None:
        if not callable(lr):
            self.require(isinstance(lr, int | float | np.number) and 0 <= lr < np.inf,
                         "lr", lr, "a number >= 0, or a schedule: a function of the step")

    def _check_options(self, group: dict[str, Any]) -> None:
        """Raise ValueError unless each option is of the kind of its default, and has the values that `check` wants."""
        if "lr" in group or not self._steps_itself:
            self._check_lr(group.get("lr"))
        for name, option in () if self._steps_itself else inspect.signature(type(self).__init__).parameters.items():
            if name == "lr" or name not in group:
                continue
            usual, value = option.default, group[name]
            if isinstance(usual, bool):
                self.require(isinstance(value, int | np.bool_), name, value, "True or False")
            elif isinstance(usual, int | float):
                self.require(_is_number(value), name, value, "a number")
            elif isinstance(usual, tuple):
                self.require(isinstance(value, tuple | list) and len(value) == len(usual)
                             and all(_is_number(v) or v is u is None for v, u in zip(value, usual, strict=True)),
                             name, value, f"{'two' if len(usual) == 2 else len(usual)} numbers")
        self.check(group)

    def require(self, condition: Any, name: str, value: Any, rule: str) -> None:
        """Raise ValueError, naming the option, unless the condition holds."""
        if not condition:
            raise ValueError(f"{self.name}: {name}={value!r} must be {rule}")

    def __repr__(self) -> str:
        lines = []
        for group in self.param_groups:
            options = {k: self._lr(group) if k == "lr" else v for k, v in group.items() if k != "params"}
            size = sum(p.size for p in group["params"])
            lines.append(f"  {len(group['params'])} parameters of {size:,} numbers: "
                         + ", ".join(f"{name}={value}" for name, value in options.items()))
        return "\n".join([f"{self.name}(", *lines, f") after {self.steps} steps"])

    # Checkpoints ----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """A copy of everything a resumed run needs, as dicts, lists, arrays and numbers in PyTorch's layout.

        {"state": {index: {name: value}}, "param_groups": [{"params": [index, ...], option: value}], "step": count},
        where the indices count the parameters through all groups. A schedule is saved as its current value.
        """
        index = {p: i for i, p in enumerate(self._params())}
        return {
            "state": {i: {k: _copied(v) for k, v in self._states[p].items()} for p, i in index.items()
                      if self._states.get(p)},
            "param_groups": [{**group, **({"lr": self._lr(group)} if "lr" in group else {}),
                              "params": [index[p] for p in group["params"]]} for group in self.param_groups],
            "step": self.steps,
        }

    def load_state_dict(self, tree: dict[str, Any]) -> None:
        """Continue from what `state_dict` gave, here or in PyTorch. Schedules stay, and go on at the saved step.

        Raises ValueError, before anything is changed, if the groups, their lengths, the names or the shapes differ.
        """
        self.prepare_load(tree)()

    def prepare_load(self, tree: dict[str, Any]) -> Callable[[], None]:
        """What `load_state_dict` checks; returns the function that then loads."""
        who = f"{self.name}.load_state_dict"
        if not isinstance(tree, dict) or not {"state", "param_groups"} <= tree.keys():
            raise ValueError(f'{who}: expected a dict with "state" and "param_groups", got {_brief(tree)}')
        try:
            groups, state, steps = self._read(who, tree)
        except (AttributeError, KeyError, OverflowError, TypeError) as error:
            raise ValueError(f"{who}: the state does not have the form of a state_dict ({error!r})") from None

        def load() -> None:
            for group, loaded in zip(self.param_groups, groups, strict=True):
                group.update(loaded)
            self._states, self.steps = state, steps

        return load

    def _read(self, who: str, tree: dict[str, Any]) -> tuple[list[dict], States, int]:
        pairs = list(zip(tree["param_groups"], self.param_groups, strict=False))
        saved, here = ([len(g["params"]) for g in groups] for groups in (tree["param_groups"], self.param_groups))
        if saved != here:
            raise ValueError(f"{who}: the groups saved have {saved} parameters, the groups here {here}")

        named = {i: p for saved, group in pairs for i, p in zip(saved["params"], group["params"], strict=True)}
        state = States((p, State(p)) for p in self._params())
        for i, entries in tree["state"].items():
            p = named.get(int(i))
            if p is None:
                raise ValueError(f"{who}: state of parameter {i}, but there are {len(named)} parameters")
            for name, value in entries.items():
                if value is not None:  # PyTorch's SGD without momentum saves None
                    state[p][name] = self._loaded(f"{who}: {name} of parameter {i}", p, name, value)

        groups = []
        for saved, group in pairs:
            schedule = {"lr": group["lr"]} if callable(group.get("lr")) else {}
            groups.append({**group, **saved, "params": group["params"], **schedule})
            self._check_options(groups[-1])
        return groups, state, _count(f"{who}: step", tree.get("step", max((s.get("step", 0) for s in state.values()),
                                                                           default=0)))

    def _loaded(self, what: str, p: Tensor, name: str, value: Any) -> Any:
        if self._steps_itself:
            return _copied(value)
        if name == "step":
            return _count(what, value)
        if name in self.number_names:
            return float(value)
        if name not in (*self.state_names, MASTER):
            raise ValueError(f"{what} is not part of {self.name}'s state, which has {', '.join(self.state_names)}")
        array = np.asarray(value)
        if array.shape != (shape := self.state_shape(name, p.shape)):
            raise ValueError(f"{what} has shape {array.shape}, but that of a parameter of shape {p.shape} is {shape}")
        if not np.can_cast(array.dtype, p.dtype, "same_kind"):
            raise ValueError(f"{what} is {array.dtype}, but the parameter is {p.dtype}")
        return array.astype(wide(p.dtype), order="C")


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    return value.copy() if isinstance(value, np.ndarray) else value


def _count(what: str, value: Any) -> int:
    if not value >= 0 or int(value) != value:
        raise ValueError(f"{what} is {value!r}, but it must be a count of steps")
    return int(value)


def _undo(before: list[tuple[Tensor, State, dict]]) -> None:
    """Give every state its entries back, and forget them."""
    for _, state, old in before:
        state.clear()
        state.update(old)
    before.clear()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, np.complexfloating) and value == value


def _brief(value: Any) -> str:
    kind = type(value).__name__
    return f"a {kind} with keys {', '.join(map(repr, value))}" if isinstance(value, dict) else f"a {kind}"
