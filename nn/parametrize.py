"""Parameters that are computed from others, by any module: PyTorch's `nn.utils.parametrize`.

The module's class gets a property in place of the parameter. So whoever reads `module.weight` gets what is computed,
on the graph, and training changes what it is computed from, in `module.parametrizations.weight`.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from tinygrad_like.core.tensor import Tensor
from tinygrad_like.transforms.switches import no_grad

from .containers import ModuleDict, ModuleList
from .module import Module, Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "type_before_parametrizations"]


class _Cache(threading.local):
    depth = 0
    found: dict[tuple[Module, str], Tensor] | None = None


_cache = _Cache()


class ParametrizationList(ModuleList):
    """What computes one parameter: modules, one after the other, and what the first is given.

    That is `original`, or `original0`, `original1` and so on, if its `right_inverse` gives several Tensors.
    `register_parametrization` makes it.
    """

    def __init__(self, who: str, parametrization: Module, value: Tensor):
        super().__init__([parametrization])
        with no_grad():
            new = _inverse(parametrization, value)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if new.dtype != value.dtype:
                raise ValueError(f"{who}: right_inverse gives {new.dtype} of a parameter of {value.dtype}; one Tensor "
                                 "must keep the dtype")
            _overwrite(value, new)
        for name, t in zip(self._names(), [value] if self.is_tensor else new, strict=True):
            if isinstance(value, Parameter):
                self.register_parameter(name, t if t is value else Parameter(t.detach(), value.requires_grad))
            else:
                self.register_buffer(name, t)

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def forward(self) -> Tensor:
        first, *rest = self
        x = first(*[self.__dict__[name] for name in self._names()])
        for module in rest:
            x = module(x)
        return x

    def right_inverse(self, value: Tensor) -> None:
        """Give the originals values of which `value` is computed, by the modules' `right_inverse`, from the last on.

        Raises RuntimeError for a module that has none, ValueError if they give another number of Tensors.
        """
        with no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"a parameter is set that {type(module).__name__} computes, which has no "
                                       "right_inverse; define it, or set the original")
                new = module.right_inverse(new)
            new = [new] if self.is_tensor else list(new)
            if len(new) != self.ntensors:
                raise ValueError(f"right_inverse gives {len(new)} Tensors, but there are {self.ntensors} originals")
            for name, t in zip(self._names(), new, strict=True):
                _overwrite(self.__dict__[name], t)


def _inverse(module: Module, value: Tensor) -> Any:
    """What `module` computes `value` from: its right_inverse, or the value itself."""
    try:
        return module.right_inverse(value) if hasattr(module, "right_inverse") else value
    except NotImplementedError:
        return value


def _overwrite(x: Tensor, new: Tensor) -> None:
    """Give x other values, also of another shape, so that optimizers still know it."""
    if new is not x:
        if new.shape == x.shape:
            x.assign(new.detach())
        else:
            x.data = new.detach().cast(x.dtype).numpy().copy()


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *,
                             unsafe: bool = False) -> Module:
    """Have a parameter or buffer of a module be computed by `parametrization(original)`, whenever it is read.

    Its `right_inverse(value)`, if it has one, gives the original, or several, to begin with; and when the parameter is
    set. Registered again, a second module computes from what the first one gives. unsafe: the shape and dtype may
    change.

    Raises ValueError if there is no such parameter, or they change, TypeError for what is no Module.
    """
    return parametrized("register_parametrization", module, tensor_name, parametrization, unsafe)


def parametrized(who: str, module: Module, name: str, parametrization: Module, unsafe: bool = False) -> Module:
    """`register_parametrization`, with errors in the name of `who`."""
    if not isinstance(parametrization, Module):
        raise TypeError(f"{who}: takes an nn.Module that computes the parameter, got {type(parametrization).__name__}")
    parametrization.train(module.training)
    if is_parametrized(module, name):
        made = module.__dict__["parametrizations"][name]
        _check(who, getattr(module, name), lambda: parametrization(getattr(module, name)), unsafe)
        made.append(parametrization)
        return module
    value = parameter_of(who, module, name)
    before = value.detach().clone()
    made = ParametrizationList(who, parametrization, value)
    try:
        _check(who, before, made, unsafe)
    except BaseException:
        _overwrite(value, before)
        raise
    delattr(module, name)
    if "parametrizations" not in module.__dict__:
        module.register_module("parametrizations", ModuleDict())
    module.__dict__["parametrizations"][name] = made
    _computes(module, list(module.__dict__["parametrizations"]))
    return module


def parameter_of(who: str, module: Module, name: str) -> Tensor:
    """The parameter or buffer of this name, or what is computed in its place; ValueError if there is none."""
    if is_parametrized(module, name):
        return getattr(module, name)
    value = module.__dict__.get(name)
    if isinstance(value, Parameter) or name in module._buffers and value is not None:
        return value
    raise ValueError(f"{who}: {type(module).__name__} has no parameter {name!r}, only "
                     f"{[n for n, _ in module.named_parameters(recurse=False)]}")


def _check(who: str, value: Tensor, compute: Any, unsafe: bool) -> None:
    if unsafe:
        return
    with no_grad():
        y = compute()
    if not isinstance(y, Tensor) or y.shape != value.shape or y.dtype != value.dtype:
        got = f"{y.dtype} {y.shape}" if isinstance(y, Tensor) else type(y).__name__
        raise ValueError(f"{who}: {got} is computed in place of {value.dtype} {value.shape}; it must be alike, unless "
                         "unsafe=True")


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module computes a parameter, or this one."""
    found: Collection = module.__dict__.get("parametrizations", ())
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parameter of what is computed now; or of what it was computed from, if there is one such Tensor."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"remove_parametrizations: {tensor_name!r} of {type(module).__name__} is not computed")
    computed: ModuleDict = module.__dict__["parametrizations"]
    made: Any = computed[tensor_name]
    if not leave_parametrized and not made.is_tensor:
        raise ValueError("remove_parametrizations: there are several originals; leave_parametrized must be True")
    with no_grad():
        value = made().detach() if leave_parametrized else None
    old = made.__dict__.get("original")
    if old is None:
        first = made.__dict__["original0"]
        old = Parameter(value, first.requires_grad) if isinstance(first, Parameter) else value
    elif value is not None:
        _overwrite(old, value)
    del computed[tensor_name]
    _computes(module, list(computed))
    if not len(computed):
        delattr(module, "parametrizations")
    if isinstance(old, Parameter):
        setattr(module, tensor_name, old)
    else:
        module.register_buffer(tensor_name, old)
    return module


@contextmanager
def cached() -> Iterator[None]:
    """In this block each parameter is computed once, when it is first read; as for a recurrent layer's many steps."""
    if not _cache.depth:
        _cache.found = {}
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.found = None


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before one of its parameters was computed."""
    return vars(type(module)).get("_plain", type(module))


def _computes(module: Module, names: Collection[str]) -> None:
    """Give the module a class of its own, with a property of each name; or the one it had, if there is none."""
    plain = type_before_parametrizations(module)
    module.__class__ = type(f"Parametrized{plain.__name__}", (plain,), {
        "_plain": plain, "__module__": plain.__module__, **{name: _property(name) for name in names},
    }) if names else plain


def _property(name: str) -> property:
    def read(module: Module) -> Tensor:
        made = module.__dict__["parametrizations"][name]
        if _cache.found is None:
            return made()
        if (module, name) not in _cache.found:
            _cache.found[module, name] = made()
        return _cache.found[module, name]

    def write(module: Module, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"{type(module).__name__}.{name} is computed and takes a Tensor, got "
                            f"{type(value).__name__}")
        module.__dict__["parametrizations"][name].right_inverse(value)

    return property(read, write)
