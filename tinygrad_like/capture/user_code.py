"""What belongs to the user's program: which functions and modules, which names in code, which attributes."""

from __future__ import annotations

import inspect
import os
import sys
import types
from functools import lru_cache
from typing import Any

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def slots(of: type) -> tuple[str, ...]:
    found = vars(of).get("__slots__", ())
    return tuple(n for n in ((found,) if isinstance(found, str) else found) if n not in ("__dict__", "__weakref__"))


def has(value: Any, name: str) -> bool:
    """Whether an object has an attribute that its class does not make up when it is asked for it."""
    return name in getattr(value, "__dict__", ()) or any(name in vars(kind) for kind in type(value).__mro__)


def names_in(code: Any) -> set[str]:
    """The names that code uses, and the functions defined in it; also in getattr(x, "name")."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            found |= names_in(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            found.add(constant)
    return found


_NEEDED = frozenset(("numpy", "numba", "llvmlite"))  # what we use, and does not use us


def ours(thing: Any) -> bool:
    """Whether a function or a module is not of the user's program: ours, Python's or of a package that knows nothing of
    us. A package that does, wherever it is installed, may be the user's."""
    code = getattr(thing, "__code__", None)
    file = code.co_filename if code else getattr(thing, "__file__", None)
    if file is None:  # as of what Python has built in; but not of a notebook, or of a module made by hand, or unknown
        return thing is not None and thing.__name__ != "__main__" and getattr(thing, "__spec__", None) is not None
    own, installed, pythons = _places()
    file = os.path.abspath(file)
    if not file.startswith(installed) or file.startswith(own):
        return file.startswith((*own, pythons))
    place = next(place for place in installed if file.startswith(place))
    package = file[len(place):].split(os.sep)[0].split(".")[0]
    return package in _NEEDED or not _uses_us(package, len(sys.modules))


@lru_cache
def _places() -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Where the files of this package, of packages that are installed, and of Python lie."""
    import sysconfig  # which takes long

    installed = {os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib")}
    return (tuple([os.path.join(_ROOT, name, "") for name in ("tinygrad_like", "nn", "optim")]), tuple(installed),
            os.path.join(sysconfig.get_path("stdlib"), ""))


@lru_cache
def _uses_us(package: str, loaded: int) -> bool:
    """Whether a module of a package, of so many that are loaded, names something of ours."""
    own = _places()[0]
    modules = [(name, vars(module)) for name, module in list(sys.modules.items())
               if issubclass(type(module), types.ModuleType)]
    ours = {name for name, names in modules if str(names.get("__file__")).startswith(own)}
    # By type(x): x.__class__, which isinstance asks for, may be code of the package's.
    values = [x for name, names in modules if name.split(".")[0] == package for x in list(names.values())
              if issubclass(type(x), types.ModuleType | types.FunctionType | type)]
    return any([vars(x).get("__name__") in ours if issubclass(type(x), types.ModuleType) else
                getattr(x, "__module__", None) in ours for x in values])
