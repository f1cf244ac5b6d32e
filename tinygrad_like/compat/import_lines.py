"""Import lines of what is no file of this package: `tinygrad_like.nn`, which lies beside it, `tinygrad_like.cuda`.

Parts of PyTorch that are modules under another name lead there; those that have no counterpart say so.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

from .absent import ABSENT, LEADS, Part

_PACKAGE = __name__.partition(".")[0]
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_BESIDE = {"nn": "Module", "optim": "Optimizer"}  # folders beside the package, and something that they have


class Beside:
    """The first one of `sys.meta_path`: `nn` and `tinygrad_like.nn` are one module, and so is what is in them.

    It is called `nn` if the line `import nn` finds it. But if that finds something else, as a file in the user's folder
    or a package of that name, ours is the folder beside this package, and called `tinygrad_like.nn`.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        top, _, rest = name.removeprefix(f"{_PACKAGE}.").partition(".")
        if top not in _BESIDE:
            return None
        inner = name.startswith(f"{_PACKAGE}.")
        if rest:
            parent, _, last = name.rpartition(".")
            real = f"{sys.modules[parent].__name__}.{last}"  # of a parent that has two names, it has one
            other = f"{top}." if inner else f"{_PACKAGE}.{top}."
            if not real.startswith(other) or real not in sys.modules and find_spec(real) is None:
                return None
            return ModuleSpec(name, _Twin(real))
        if inner:
            return ModuleSpec(name, _Twin(top)) if _leads_here(top) else PathFinder.find_spec(name, [_ROOT])
        if f"{_PACKAGE}.{top}" in sys.modules and _leads_here(top):  # now; it did not when ours was imported
            return ModuleSpec(name, _Twin(f"{_PACKAGE}.{top}"))
        return None


def _leads_here(name: str) -> bool:
    """Whether the line `import name` finds the folder beside this package."""
    file: Any
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None)
    else:
        specs = (finder.find_spec(name, None) for finder in sys.meta_path
                 if getattr(finder, "__module__", None) != __name__)
        file = getattr(next(filter(None, specs), None), "origin", None)
    return file is not None and os.path.realpath(os.path.dirname(file)) == os.path.realpath(os.path.join(_ROOT, name))


class _Twin(Loader):
    """Gives a module a second name."""

    def __init__(self, real: str):
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self.real)
        self.spec = module.__spec__
        if not hasattr(module, "__path__"):  # it put in place itself what is imported from it, as `nn.modules.conv`
            inner = f"{self.real}."
            for name in [name for name in sys.modules if name.startswith(inner)]:
                sys.modules[f"{spec.name}.{name.removeprefix(inner)}"] = sys.modules[name]
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # which import has just replaced
        top = self.real.removeprefix(f"{_PACKAGE}.")
        if top in _BESIDE and not hasattr(module, _BESIDE[top]) and not getattr(self.spec, "_initializing", False):
            raise ImportError(f"{module.__file__} is not {_PACKAGE}'s {top}, but another package's, which was "
                              f"installed over it; uninstall that one, and install {_PACKAGE} again")


class Finder:
    """The last one of `sys.meta_path`: a module of what an attribute of the package, such as `cuda`, has."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
        part = name.removeprefix(f"{_PACKAGE}.")
        if part != name and part in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}: {ABSENT[part]}", name=name)
        if part != name and part in LEADS:
            return ModuleSpec(name, _Twin(LEADS[part]))
        module = sys.modules.get(parent)
        if parent != _PACKAGE and not isinstance(getattr(module, "__loader__", None), _Loader):
            return None  # other modules may look here themselves for what they have
        found = getattr(module, last, None)
        return ModuleSpec(name, _Loader(found), is_package=True) if isinstance(found, SimpleNamespace) else None


class _Loader(Loader):
    def __init__(self, parts: SimpleNamespace):
        self.parts = parts

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(vars(self.parts))
        if isinstance(self.parts, Part):  # whose errors say more
            vars(module)["__getattr__"] = self.parts.__getattr__
