"""The base of optimizers: parameter groups, their state, and atomic steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tinygrad_like.core.graph import mode
from tinygrad_like.core.listener import effect
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import FLOAT64, FLOATS, INT64, wide
from tinygrad_like.errors import warn
from tinygrad_like.methods.gradients import zero_gradients
from tinygrad_like.rings import replaceable
from tinygrad_like.transforms.switches import enable_grad

from .groups import brief, check_memory, check_options, check_param, check_spelling, groups_of
from .state import COUNT, Begun, Seen, copied, count_of, states

required: Any = object()  # the default of lr in optimizers written for older versions of PyTorch


@replaceable
def fused_update(formula: Callable, dtype: np.dtype) -> tuple[Callable, Callable] | None:
    """(table, step) for a formula and dtype, if a kernel has it, else None: table(rows of arrays), and
    step(table, count), which applies the formula to all rows in one pass over memory and increments the count."""
    return None


class Optimizer:
    """The base of all optimizers. A subclass defines its formula, `update`, and passes its options by name:
    `super().__init__(params, lr, momentum=momentum)`. One written for PyTorch defines `step` instead, and passes a
    dict: `super().__init__(params, defaults)`.

    params: an iterable of Tensors, or of groups: dicts of "params" and the options that differ for them. Parameters
    that do not require grad, such as frozen layers, stay unchanged. lr: the learning rate: a number, or a schedule, a
    function from the number of steps taken to the rate. options: the defaults of all other options of the subclass.

    Raises TypeError or ValueError, naming the parameter, if one is not a leaf Tensor or is given twice, or if none
    requires grad; and for an option that is unknown or out of range.
    """

    # A parameter's state: PyTorch's name -> the option that switches it on. Arrays of the parameter's shape, and COUNT,
    # the number of its steps.
    state_names: Mapping[str, str] = {COUNT: ""}

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] | dict[str, Any], **options: Any):
        self.name = type(self).__name__
        whole = isinstance(lr, dict) and self._steps_itself
        self.defaults = {**lr, **options} if whole else {"lr": lr, **options}  # type: ignore[dict-item]
        self.param_groups: list[dict[str, Any]] = []
        self._states: Any = states({})
        self._count = np.zeros((), INT64)
        self._numbers: list[np.ndarray] = []  # per group: its rate and its options, in order
        for group in groups_of(self.name, params):
            self.add_param_group(group)
        if not (params := self._params()):
            raise ValueError(f"{self.name}: no parameters; a generator like model.parameters() can be read only once")
        if not any(p.requires_grad for p in params):
            raise ValueError(f"{self.name}: parameter 0 (shape {params[0].shape}), as all others, does not require "
                             "grad; call requires_grad_() on those to train")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def state(self) -> Any:
        """The state of each parameter, `optimizer.state[p]["exp_avg"]`: Tensors on the optimizer's arrays."""
        return self._states if self._steps_itself else Seen(self._states)

    @state.setter
    def state(self, given: Any) -> None:
        self._states = given if self._steps_itself else states(given)

    @property
    def steps(self) -> int:
        """The number of steps taken."""
        return int(self._count)

    @steps.setter
    def steps(self, steps: int) -> None:
        self._count[...] = steps

    # Defined by the subclass -----------------------------------------------------------------------------------

    def update(self, x: np.ndarray, g: np.ndarray, state: dict, lr: float, **options: Any) -> None:
        """Change the parameter `x` and its `state`, given the gradient `g`; NumPy code for any dtype and layout.

        The group's options, except `maximize`, are passed by name. `x` and the arrays in `state` are copies;
        missing arrays begin as `begin` says. state["step"] is the number of this step, from 1.
        """
        raise NotImplementedError(f"{self.name} must define update(x, g, state, lr, ...), with its options by name")

    def begin(self, name: str, x: np.ndarray, **options: Any) -> np.ndarray | None:
        """The initial value of a parameter's state `name`; None if the formula creates it."""
        return np.zeros((), INT64) if name == COUNT else np.zeros_like(x)

    def check(self, group: dict) -> None:
        """Raise ValueError for options out of range."""

    def state_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the state `name` of a parameter of this shape."""
        return () if name == COUNT else shape

    @property
    def _steps_itself(self) -> bool:
        """Whether this is a subclass with its own `step`, as written for PyTorch, whose state may have any form."""
        return type(self).step is not Optimizer.step and type(self).update is Optimizer.update

    # A step ---------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, or none if anything raises.

        An interrupt such as Ctrl-C leaves parameters, state and counts either all as before the step, except for newly
        created state, or all as after it. If a parameter's dtype or layout has changed, its state follows. closure:
        runs first, with recording on, to compute the gradients; `step` returns its loss.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if mode.around is None or any([callable(group.get("lr")) for group in self.param_groups]):
            self._train()
        else:
            mode.around((self, type(self).update), self._train)
        return loss

    def _train(self) -> None:
        trained = [(i, p) for i, group in enumerate(self.param_groups) for p in group["params"] if p.grad is not None]
        fused = fused_update(type(self).update, trained[0][1].dtype) if trained else None
        if not trained:
            self._warn_of_no_gradient()
        if mode.listener is not None:
            mode.listener.tell("gradient", *[p for _, p in trained])
        rows, formulas = list[Any](), list[tuple]()
        if fused:
            if len(self._numbers) != len(self.param_groups):
                length = len(_flat(self.defaults.values()))
                self._numbers = [np.empty(length, FLOAT64) for _ in self.param_groups]
            effect("numbers of an optimizer", self._write_numbers, self._count, writes=self._numbers)
            rows = self._rows(trained)
            if None not in rows and (table := fused[0](rows)).suited:
                for _, p in trained:
                    p.touch()
                fused[1](table, self._count)
                return
        found, rows = rows or [None for _ in trained], []
        for (i, p), row in zip(trained, found, strict=True):
            self._check_param_now(p)
            if row is not None and fused[0]([row]).suited:  # type: ignore[index]
                rows.append(row)
            else:
                formulas.append((i, p, p.grad._data))
        for _, p in trained:
            p.touch()
        written = [a for _, p, _ in formulas for a in (p._data, *self._states[p].values())]
        effect(f"{self.name}.step", self._carry_out, fused, rows, formulas, writes=[
            *written, self._count, *[a for row in rows for a in (row[0], *row[2:-1]) if a is not None]])

    def _names(self, group: dict) -> dict[str, None]:
        """The names of the states of a group's parameters, in order."""
        return {name: None for name, option in self.state_names.items() if not option or group.get(option)}

    def _rows(self, trained: list[tuple[int, Tensor]]) -> list[tuple | None]:
        """The kernel's arguments per parameter; None if the formula must create its state first."""
        needed = [self._names(group) for group in self.param_groups]
        columns, rows = [*[n for n in self.state_names if n != COUNT], COUNT], list[tuple | None]()
        for i, p in trained:
            x, state = p._data, self._states[p]
            if not needed[i].keys() <= state.keys():
                options = self._options(self.param_groups[i])
                begun = {name: self.begin(name, x, **options) for name in needed[i] if name not in state}
                if x.dtype.itemsize < 4 or any([a is None for a in begun.values()]):
                    rows.append(None)
                    continue
                state.update(begun)
            rows.append((x, p.grad._data, *map(state.get, columns), self._numbers[i]))  # type: ignore[union-attr]
        return rows

    def _options(self, group: dict) -> dict[str, Any]:
        """The current options of a group."""
        return {name: self._lr(group) if name == "lr" else group[name] for name in self.defaults}

    def _write_numbers(self, count: np.ndarray) -> None:
        """Write each group's options as its numbers; a schedule as its rate after `count` steps."""
        for i, numbers in enumerate(self._numbers):
            group = self.param_groups[i]
            found = [group[name] for name in self.defaults]
            if len(found) != numbers.size:
                found = _flat(found)
            if callable(found[0]):
                found[0] = self._lr(group)
            if numbers.tolist() != found:  # to write takes longer
                numbers[:] = found

    def _carry_out(self, fused: Any, rows: Sequence[tuple], formulas: Sequence[tuple]) -> None:
        """Perform the step: rows by the kernel, the rest by the formula. Whatever may fail comes first."""
        steps, changes = self.steps, [change for each in formulas for change in self._changes(*each)]
        try:
            if rows:
                table, update = fused
                update(table(rows), self._count)
            else:
                self.steps = steps + 1
            _put(changes)
        except BaseException:
            if self.steps != steps:
                _put(changes)
            raise

    def _changes(self, i: int, p: Tensor, g: np.ndarray) -> list[tuple[Any, Any, Any]]:
        """The writes of a step by the formula: new values in arrays, and new arrays in the state.

        Casting or copying the model changes only the parameter; then the state follows. 16-bit parameters have 32-bit
        state.
        """
        x, state, options = p._data, self._states[p], self._options(self.param_groups[i])
        dtype = wide(x.dtype)
        new = Begun((name, np.array(a, INT64 if name == COUNT else dtype, order="C")) for name, a in state.items())
        w = np.array(x, dtype)
        new.begin = lambda name: self.begin(name, w, **options)
        g = np.asarray(g, dtype, order="C")
        new[COUNT] = int(new.get(COUNT, 0)) + 1
        self.update(w, -g if options.pop("maximize", False) else g, new, **options)
        if COUNT not in self.state_names:
            del new[COUNT]
        arrays = {name: np.asarray(b, INT64 if name == COUNT else None, order="C") for name, b in new.items()}
        return [(x, ..., w), *[(a, ..., b) if _alike(a := state.get(name), b) else (state, name, b)
                               for name, b in arrays.items()]]

    def _check_param_now(self, p: Tensor) -> None:
        """Raise TypeError or ValueError for a parameter whose data, gradient or state does not fit."""
        x, g, who = p._data, p.grad, f"{self.name}.step"
        if not isinstance(x, np.ndarray) or x.dtype.kind not in FLOATS:
            raise TypeError(f"{who}: a parameter's data is {brief(x)}; it must be a floating-point array")
        if not x.flags.writeable:
            raise ValueError(f"{who}: a parameter of shape {x.shape} has read-only memory, as expand's results "
                             "and read-only arrays have; copy it with nn.Parameter(array)")
        if g is not None and g.shape != x.shape:
            raise ValueError(f"{who}: a parameter of shape {x.shape} has a gradient of shape {g.shape}; they must be "
                             "equal")
        for name, a in self._states[p].items():
            if not isinstance(a, np.ndarray) or a.shape != self.state_shape(name, x.shape):
                has = f"shape {a.shape}" if isinstance(a, np.ndarray) else f"type {type(a).__name__}"
                raise ValueError(f"{who}: a parameter of shape {x.shape} has {name} of {has}; if you replaced its data "
                                 "on purpose, create a new optimizer, or reset it with optimizer.state[p].clear()")

    def _warn_of_no_gradient(self) -> None:
        warn(f"{self.name}.step: no parameter has a gradient, so none changes; call backward() on a loss that depends "
             "on them first, and do not call zero_grad() between the two")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients; with set_to_none=False, existing ones become zeros."""
        zero_gradients(self._params(), set_to_none)

    @property
    def lr(self) -> float:
        """The first group's learning rate at the next step. Setting it sets every group's."""
        lr = self.param_groups[0]["lr"]
        return self._lr(self.param_groups[0]) if callable(lr) else lr

    @lr.setter
    def lr(self, lr: float | Callable[[int], float]) -> None:
        self._check_lr(lr)
        for group in self.param_groups:
            group["lr"] = lr

    def _lr(self, group: dict) -> float:
        lr = group["lr"]
        return float(lr(self.steps) if callable(lr) else lr)  # a NumPy float64 would promote its factor

    # Groups ---------------------------------------------------------------------------------------------------------

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Add a group, such as unfrozen layers: a dict of "params" and the options that differ from the optimizer's.

        Other keys are yours, but a key that looks like a misspelt option raises ValueError.
        """
        if not isinstance(group, dict) or "params" not in group:
            raise TypeError(f'{self.name}: a group must be a dict with "params", got {brief(group)}')
        params = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
        if not self._steps_itself:
            check_spelling(self.name, group, self.defaults)
        group = {**self.defaults, **group, "params": params}
        self._check_options(group)
        seen = set(self._params())
        for i, p in enumerate(params):
            check_param(f"{self.name}: parameter {i}", p, seen)
            seen.add(p)
        check_memory(self.name, seen)
        self.param_groups.append(group)
        self._states.update((p, {}) for p in params)

    def _params(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def _check_lr(self, lr: Any) -> None:
        if not callable(lr):
            self.require(isinstance(lr, int | float | np.number) and 0 <= lr < np.inf,
                         "lr", lr, "a number >= 0, or a schedule: a function of the step")

    def _check_options(self, group: dict[str, Any]) -> None:
        if "lr" in group or not self._steps_itself:
            self._check_lr(group.get("lr"))
        if not self._steps_itself:
            check_options(type(self).__init__, group, self.require)
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
        where the indices run through the parameters of all groups. A schedule is saved as its current value.
        """
        index = {p: i for i, p in enumerate(self._params())}
        return {
            "state": {i: {k: copied(k, v) for k, v in self._states[p].items()} for p, i in index.items()
                      if self._states.get(p)},
            "param_groups": [{**group, **({"lr": self._lr(group)} if "lr" in group else {}),
                              "params": [index[p] for p in group["params"]]} for group in self.param_groups],
            "step": self.steps,
        }

    def load_state_dict(self, tree: dict[str, Any]) -> None:
        """Continue from a `state_dict`, ours or PyTorch's. Schedules stay, and continue at the saved step.

        Raises ValueError, before any change, if the groups, their lengths, the names or the shapes differ.
        """
        who = f"{self.name}.load_state_dict"
        if not isinstance(tree, dict) or not {"state", "param_groups"} <= tree.keys():
            raise ValueError(f'{who}: expected a dict with "state" and "param_groups", got {brief(tree)}')
        try:
            groups, state, steps = self._read(who, tree)
        except (AttributeError, KeyError, OverflowError, TypeError) as error:
            raise ValueError(f"{who}: the state does not have the form of a state_dict ({error!r})") from None
        for group, loaded in zip(self.param_groups, groups, strict=True):
            group.update(loaded)
        self._states, self.steps = state, steps

    def _read(self, who: str, tree: dict[str, Any]) -> tuple[list[dict], dict, int]:
        """The groups, the states and the count of a valid state_dict."""
        pairs = list(zip(tree["param_groups"], self.param_groups, strict=False))
        saved, here = ([len(g["params"]) for g in groups] for groups in (tree["param_groups"], self.param_groups))
        if saved != here:
            raise ValueError(f"{who}: the saved groups have {saved} parameters, this optimizer's have {here}")

        named = {i: p for saved, group in pairs for i, p in zip(saved["params"], group["params"], strict=True)}
        state = states({p: {} for p in self._params()})
        for i, entries in tree["state"].items():
            p = named.get(int(i))
            if p is None:
                raise ValueError(f"{who}: the state has a parameter {i}, but there are only {len(named)} parameters")
            for name, value in entries.items():
                if value is not None:  # PyTorch's SGD without momentum saves None
                    state[p][name] = self._loaded(f"{who}: {name} of parameter {i}", p, name, value)

        groups = []
        for saved, group in pairs:
            schedule = {"lr": group["lr"]} if callable(group.get("lr")) else {}
            groups.append({**group, **saved, "params": group["params"], **schedule})
            self._check_options(groups[-1])
        latest = max((int(s.get(COUNT, 0)) for s in state.values()), default=0)
        return groups, state, count_of(f"{who}: step", tree.get("step", latest))

    def _loaded(self, what: str, p: Tensor, name: str, value: Any) -> Any:
        if self._steps_itself:
            return copied(name, value)
        if name == COUNT:
            return np.array(count_of(what, value), INT64)
        if name not in self.state_names:
            names = ", ".join(n for n in self.state_names if n != COUNT)
            raise ValueError(f"{what} is not part of {self.name}'s state, which has {names}")
        array = np.asarray(value)
        if array.shape != (shape := self.state_shape(name, p.shape)):
            raise ValueError(f"{what} has shape {array.shape}, but a parameter of shape {p.shape} needs {shape}")
        if not np.can_cast(array.dtype, p.dtype, "same_kind"):
            raise ValueError(f"{what} is {array.dtype}, but the parameter is {p.dtype}")
        return array.astype(wide(p.dtype), order="C")


def _flat(values: Iterable) -> list[float]:
    """Numbers and pairs of numbers as a flat list."""
    return [x for v in values for x in (v if type(v) in (tuple, list) else (v,))]


def _alike(a: Any, b: np.ndarray) -> bool:
    """Whether b can be written into a."""
    return type(a) is np.ndarray and a.shape == b.shape and a.dtype == b.dtype and a.flags.carray


def _put(changes: list[tuple[Any, Any, Any]]) -> None:
    for where, key, value in changes:
        where[key] = value
