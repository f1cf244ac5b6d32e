"""Import the parts of numba and LLVM that kernels are written with only when something is compiled.

Compiled kernels are kept on disk, and importing numba takes longer than running most small programs. So kernels name
the `Late` objects of this module, and numba finds the real ones behind them when it compiles a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from typing import Any


class Late:
    """An object that is created at its first use. Compiled functions may name it."""

    def __init__(self, make: Callable[[], Any]):
        self._make = make

    @cached_property
    def real(self) -> Any:
        return self._make()

    @property
    def _numba_type_(self) -> Any:
        """Called by numba."""
        context = import_module("numba.core.registry").cpu_target.typing_context
        real = self.real
        context.refresh()  # it may have just been declared
        return context.resolve_value_type(real)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.real, name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.real(*arguments, **options)


class Function(Late):
    """A function that is compiled into each kernel that calls it; see `inlined.function`."""

    def __init__(self, function: Callable, options: dict):
        self.py_func, self.options = function, options
        self.__name__, self.__module__, self.__doc__ = function.__name__, function.__module__, function.__doc__

    def _make(self) -> Any:  # type: ignore[override]
        return import_module(".inlined", __package__).function(self.py_func, **self.options)


def njit(function: Any = None, **options: Any) -> Any:
    return partial(njit, **options) if function is None else Function(function, options)


def intrinsic(define: Callable) -> Late:
    return Late(lambda: numba.extending.intrinsic(define))


def external(name: str, result: str, *arguments: str) -> Late:
    """A C function, whose types have these names."""
    return Late(lambda: types.ExternalFunction(name, getattr(types, result)(*[getattr(types, x) for x in arguments])))


numba, llvm = Late(lambda: import_module("numba")), Late(lambda: import_module("llvmlite.binding"))
types, cgutils = Late(lambda: numba.types), Late(lambda: import_module("numba.core.cgutils"))
carray = Late(lambda: numba.carray)
