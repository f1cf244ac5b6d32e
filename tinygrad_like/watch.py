"""What Python may look at when it calls a function: variables, attributes of modules and of a user's own objects."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .tensor import Tensor

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_VALUES = (int, float, bool, str, bytes, type(None), np.generic, np.dtype)
_MISSING = object()


class Watch:
    """The values of all variables that a function and its arguments lead to, to see later whether one has changed.

    They are followed through closures, globals that the code names, functions of the user's, modules (`nn.Module`),
    objects of the user's classes, lists and dicts. Of a Tensor it is watched which one it is, and which array it has.
    """

    def __init__(self, function: Any, arguments: Any):
        self.entries: list[tuple[Any, Any, Any, str]] = []  # where, under which key, the value, its name
        self.tensors: list[tuple[Tensor, np.ndarray, str]] = []
        self.gradients: list[tuple[Tensor, bool]] = []
        self.lengths: list[tuple[Any, int, str]] = []
        self.seen: set[int] = set()
        self.what = ""
        self.quick: Callable[[], bool] | None = None
        self._follow(function, getattr(function, "__name__", "it"))
        args, options = arguments
        for value in (*args, *options.values()):
            if not isinstance(value, Tensor):
                self._follow(value, "an argument")

    def same(self, recorded: bool = False) -> bool:
        """Whether all is as it was. recorded: of a Tensor, only whether it is the same one."""
        if not recorded:
            self.quick = self.quick or self._in_one_expression()
            try:
                if self.quick():
                    return True
            except (LookupError, ValueError):  # a key, or a variable, that is there no more
                pass
        for where, key, value, name in self.entries:
            now = _get(where, key)
            if now is not value and not (isinstance(value, _VALUES) and type(now) is type(value) and now == value):
                self.what = name
                return False
        for container, length, name in self.lengths:
            if len(container) != length:
                self.what = f"the length of {name}"
                return False
        if not recorded:
            if not self.same_gradients():
                self.what = "which Tensors have gradients"
                return False
            for tensor, array, name in self.tensors:
                if tensor._data is not array:
                    self.what = f"the array of {name}"
                    return False
        return True

    def _in_one_expression(self) -> Callable[[], bool]:
        """Whether each object is the very same, as code that asks for one after the other."""
        names: dict[str, Any] = {}

        def name(value: Any) -> str:
            names[f"_{len(names)}"] = value
            return f"_{len(names) - 1}"

        asked = [f"{name(where)}.cell_contents is {name(value)}" if type(where) is types.CellType else
                 f"{name(where)}[{name(key)}] is {name(value)}" for where, key, value, _ in self.entries]
        asked += [f"len({name(container)}) == {length}" for container, length, _ in self.lengths]
        asked += [f"{name(t)}.grad is {'' if without else 'not '}None" for t, without in self.gradients]
        asked += [f"{name(t)}._data is {name(array)}" for t, array, _ in self.tensors]
        return eval(f"lambda: {' and '.join(asked) or 'True'}", names)

    def same_gradients(self) -> bool:
        """Whether the same Tensors have gradients."""
        return all((t.grad is None) == without for t, without in self.gradients)

    def _follow(self, value: Any, name: str) -> None:
        if isinstance(value, Tensor):
            if id(value) not in self.seen:
                self.seen.add(id(value))
                self.tensors.append((value, value._data, name))
                if value.requires_grad:
                    self.gradients.append((value, value.grad is None))
            return
        if isinstance(value, (*_VALUES, np.ndarray, type, types.ModuleType)) or id(value) in self.seen:
            return
        self.seen.add(id(value))
        if isinstance(value, types.MethodType):
            self._follow(value.__func__, name)
            self._follow(value.__self__, name)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, dict | list | tuple | set):
            self._container(value, name)
        elif hasattr(value, "param_groups"):
            for i, group in enumerate(value.param_groups):
                self._attributes({k: v for k, v in group.items() if k not in ("lr", "params")}, f"group {i}", group)
        elif hasattr(value, "__wrapped__") and callable(value):
            self._follow(value.__wrapped__, name)
        elif hasattr(value, "func") and hasattr(value, "keywords"):  # functools.partial
            self._follow((value.func, value.args, value.keywords), name)
        elif hasattr(value, "named_parameters") or not _ours(sys.modules.get(type(value).__module__)):
            if hasattr(value, "__dict__"):
                self._attributes(value.__dict__, name, value.__dict__)

    def _attributes(self, values: dict, name: str, where: dict) -> None:
        for key, value in list(values.items()):
            self.entries.append((where, key, value, f"{name}.{key}"))
            self._follow(value, f"{name}.{key}")

    def _container(self, value: Any, name: str) -> None:
        self.lengths.append((value, len(value), name))
        if isinstance(value, set) or len(value) > 1000:
            return
        for key, part in list(value.items() if isinstance(value, dict) else enumerate(value)):
            if not isinstance(value, tuple):
                self.entries.append((value, key, part, f"{name}[{key!r}]"))
            self._follow(part, f"{name}[{key!r}]")

    def _function(self, function: types.FunctionType) -> None:
        if hasattr(function, "__wrapped__"):
            self._follow(function.__wrapped__, function.__name__)
        if _ours(function):
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            value = _get(cell, None)
            self.entries.append((cell, None, value, name))
            self._follow(value, name)
        for name in _names(function.__code__):
            if name in function.__globals__:
                value = function.__globals__[name]
                self.entries.append((function.__globals__, name, value, name))
                self._follow(value, name)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._follow(value, function.__name__)


def _get(where: Any, key: Any) -> Any:
    if type(where) is types.CellType:
        try:
            return where.cell_contents
        except ValueError:
            return _MISSING
    if type(where) is list:
        return where[key] if key < len(where) else _MISSING
    return where.get(key, _MISSING)


def _names(code: types.CodeType) -> set[str]:
    """The names that code uses, and the functions defined in it."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _ours(thing: Any) -> bool:
    """Whether a function or a module is not of the user's program: ours, Python's or an installed package's."""
    code = getattr(thing, "__code__", None)
    file = code.co_filename if code else getattr(thing, "__file__", None)
    return file is None or os.path.abspath(file).startswith(_others())


@lru_cache
def _others() -> tuple[str, ...]:
    """Where the files of this package and of Python lie."""
    import sysconfig  # which takes long

    return (*[os.path.join(_ROOT, name, "") for name in ("tinygrad_like", "nn", "optim")],
            *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
