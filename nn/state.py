"""Load a module's tensors, replace them for one call, restore its mode, check its contents, and name the module that an
error comes from."""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tinygrad_like.core.tensor import Tensor

if TYPE_CHECKING:
    from .module import Module


class Keys(NamedTuple):
    """The keys that `load_state_dict(strict=False)` did not load."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def load(module: Module, state: Mapping[str, Any], strict: bool) -> Keys:
    """`Module.load_state_dict`: check everything, then change it."""
    tensors = dict(module._state())
    given = {id(tensor) for name, tensor in tensors.items() if name in state}
    missing = [name for name, tensor in tensors.items() if id(tensor) not in given]
    unexpected = [name for name in state if name not in tensors]
    problems = [f"missing: {name} {tensors[name].shape}" for name in missing] if strict else []
    problems += [f"unexpected: {name}" for name in unexpected] if strict else []
    values = {}
    for name, tensor in tensors.items():
        if name not in state:
            continue
        try:
            value = state[name]
            # A copy, since it may share memory with these; for a Tensor, an op that `capture` can follow.
            value = value.detach().clone() if isinstance(value, Tensor) else np.asarray(value).copy()
        except (TypeError, ValueError, RuntimeError) as error:
            problems.append(f"unreadable: {name} ({error})")
            continue
        if value.shape != tensor.shape:
            problems.append(f"shape: {name} is {tensor.shape} here but {value.shape} in the state")
        elif not np.can_cast(value.dtype, tensor.dtype, "same_kind"):
            problems.append(f"dtype: {name} is {tensor.dtype} here but {value.dtype} in the state")
        elif tensor.node is not None:
            problems.append(f"computed: {name} is the result of {tensor.node.op.name}; register its detach()")
        elif not tensor._data.flags.writeable:
            problems.append(f"read-only: {name} has read-only memory; make it from a clone()")
        values[name] = value
    if problems:
        hint = "; strict=False ignores missing and unexpected names" if strict and (missing or unexpected) else ""
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise ValueError(f"load_state_dict: the state does not fit this {type(module).__name__}, and nothing was "
                         f"loaded{hint}{lines}")
    for name, value in values.items():
        tensors[name].assign(value)
    return Keys(missing, unexpected)


def functional_call(module: Module, tensors: Mapping[str, Tensor], *args: Any, **kwargs: Any) -> Any:
    """`module(*args, **kwargs)` with `tensors` instead of the parameters and buffers of those dotted names.

    PyTorch's form works too: a tuple of positional arguments, then a dict of named ones. This turns a model into a
    function of its parameters, for `grad`, `jacobian`, `hvp` and `gradcheck`. A tied parameter is replaced wherever it
    is used. Raises ValueError for an unknown name or a different shape.
    """
    if [type(a) for a in args] in ([tuple], [tuple, dict]):
        args, kwargs = args[0], {**kwargs, **dict(*args[1:])}
    current = dict(module._state())
    new = {}
    for name, tensor in tensors.items():
        if name not in current:
            raise ValueError(f"functional_call: {type(module).__name__} has no parameter or buffer {name!r}, only "
                             f"{list(current)}")
        if tensor.shape != current[name].shape:
            raise ValueError(f"functional_call: {name} has shape {current[name].shape}, but its replacement "
                             f"{tensor.shape}")
        new[id(current[name])] = tensor
    places = [(m.__dict__, name, old) for m in module.modules() for name, old in m.__dict__.items() if id(old) in new]
    try:
        for attributes, name, old in places:
            attributes[name] = new[id(old)]
        return module(*args, **kwargs)
    finally:
        for attributes, name, old in places:
            attributes[name] = old


def check_positive(who: Any, **sizes: Any) -> None:
    """Raise ValueError, in the name of `who`'s type, unless every size is a positive integer."""
    for name, n in sizes.items():
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"{type(who).__name__}: {name} must be a positive integer, got {n!r}")


@contextmanager
def modes_restored(model: Module) -> Iterator[None]:
    """On exit, restore the mode, training or evaluation, of every module in `model`."""
    modes = {module: module.training for module in model.modules()}
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training


# Modules in plain lists, dicts and sets, which `parameters()` does not find --------------------------------

HOLDERS = {list, dict, set, deque, OrderedDict, defaultdict}


def unregistered(holder: Any, module: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a list, dict or set holds objects of these types that neither the module nor one below has registered.

    So you may keep a list of layers that `add_module` registers.
    """
    held = set(_held(holder, kinds, deep=True))
    return bool(held) and not held <= _registered(module, kinds, set())


def _held(holder: Any, kinds: tuple[type, ...], deep: bool) -> Iterator[Any]:
    """Objects of these types among its first 16 items, and among the items of those."""
    for item in itertools.islice(holder.values() if isinstance(holder, dict) else holder, 16):
        if isinstance(item, kinds):
            yield item
        elif deep and type(item) in HOLDERS:
            yield from _held(item, kinds, deep=False)


def _registered(module: Any, kinds: tuple[type, ...], found: set) -> set:
    for value in module.__dict__.values():
        if isinstance(value, kinds) and value not in found:
            found.add(value)
            _registered(value, kinds, found)
    return found


def locate(error: Any, module: Any, inputs: Sequence[Any]) -> Any:
    """Note on an error that leaves a module the dotted path of the innermost submodule that it came from.

    Notes are ordered from the outside; there are several if a module runs another that is not its submodule.
    """
    with suppress(Exception):  # a half-built module, or an error without attributes, must not hide the error
        inner, what, note = vars(error).get("_layer", (None, "", ""))
        path = next((path for path, m in module.named_modules() if m is inner), "")
        if path:
            old, note = note, f"in layer {path}, {what}"
            error.__notes__ = [note, *[other for other in getattr(error, "__notes__", []) if other != old]]
            error._layer = inner, what, note
        elif inner is not module:
            given = ", ".join(f"{x.dtype} {x.shape}" if isinstance(x, Tensor) else type(x).__name__ for x in inputs)
            error._layer = module, f"{type(module).__name__}({module.extra_repr()}), given {given or 'nothing'}", ""
    return error
