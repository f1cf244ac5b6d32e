"""Parameter groups, checked when an optimizer is created."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tinygrad_like.core.tensor import Tensor


def groups_of(who: str, params: Any) -> list[dict]:
    """The optimizer's argument as groups. Raises TypeError unless it is Tensors or groups."""
    if isinstance(params, Tensor | dict) or not isinstance(params, Iterable):
        raise TypeError(f"{who}: params is a single {type(params).__name__}; pass a list of Tensors or of groups, such "
                        "as model.parameters() or [x]")
    params = list(params)
    grouped = sum(isinstance(p, dict) for p in params)
    if 0 < grouped < len(params):
        raise TypeError(f"{who}: params mixes groups (dicts) with Tensors; put the Tensors into a group too")
    return params if grouped else [{"params": params}]


def check_param(who: str, p: Any, seen: set[Tensor]) -> None:
    """Raise TypeError or ValueError for anything but a leaf Tensor, or for one seen before."""
    if not isinstance(p, Tensor):
        raise TypeError(f"{who} is a {type(p).__name__}, not a Tensor; pass model.parameters()")
    if p.node is not None:
        raise ValueError(f"{who} (shape {p.shape}) was computed by {p.node.op.name}; only leaves can be optimized; "
                         "pass its detach().requires_grad_()")
    if p in seen:
        raise ValueError(f"{who} (shape {p.shape}) is given twice; each step would update it twice")


# The allowed values of options with these names, in any optimizer.
_RULES: dict[str, tuple[Callable, str]] = {
    **dict.fromkeys(("momentum", "weight_decay", "eps", "lr_decay", "initial_accumulator_value"),
                    (lambda value: value >= 0, ">= 0")),
    **dict.fromkeys(("rho", "alpha"), (lambda value: 0 <= value <= 1, "in [0, 1]")),
    "betas": (lambda value: all(0 <= beta < 1 for beta in value), "two numbers in [0, 1)"),
}


def check_options(make: Callable, group: dict[str, Any], require: Callable) -> None:
    """Require each option to have the type of its default in the constructor, and to lie in its range."""
    for name, option in inspect.signature(make).parameters.items():
        if name == "lr" or name not in group:
            continue
        usual, value = option.default, group[name]
        if isinstance(usual, bool):
            require(isinstance(value, int | np.bool_), name, value, "True or False")
        elif isinstance(usual, int | float):
            require(_is_number(value), name, value, "a number")
        elif isinstance(usual, tuple):
            require(isinstance(value, tuple | list) and len(value) == len(usual)
                    and all(_is_number(v) or v is u is None for v, u in zip(value, usual, strict=True)),
                    name, value, f"{'two' if len(usual) == 2 else len(usual)} numbers")
        if name in _RULES and isinstance(usual, tuple) == (name == "betas"):
            holds, rule = _RULES[name]
            require(holds(value), name, value, rule)


def check_spelling(who: str, group: Iterable[str], options: Iterable[str]) -> None:
    """Raise ValueError for a key of a group that looks like a misspelt option; other keys are the user's."""
    known = ["params", *options]
    for name in group:
        near = [] if name in known else difflib.get_close_matches(str(name), known, 1, 0.85)
        if near:
            raise ValueError(f"{who}: unknown option {name!r} of a group; did you mean {near[0]!r}? A group may have "
                             f"keys of your own, unless they resemble one of {', '.join(known)}")


def check_memory(who: str, params: Iterable[Tensor]) -> None:
    """Raise ValueError for parameters that overlap: threads of a step would write to the same memory."""
    arrays = sorted((p._data for p in params if p.size), key=byte_bounds)
    for i, a in enumerate(arrays):
        for b in arrays[i + 1:]:
            if byte_bounds(b)[0] >= byte_bounds(a)[1]:
                break
            if np.shares_memory(a, b):
                raise ValueError(f"{who}: parameters of shapes {a.shape} and {b.shape} share memory; copy one, "
                                 "or, to tie layers, give them one Parameter: decoder.weight = encoder.weight")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, np.complexfloating) and value == value


def brief(value: Any) -> str:
    kind = type(value).__name__
    return f"a {kind} with keys {', '.join(map(repr, value))}" if isinstance(value, dict) else f"a {kind}"
