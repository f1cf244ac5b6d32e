"""Import lines of modules that have no file in this package, such as `tinygrad_like.cuda`.

Parts of PyTorch that are modules under another name lead there; those that have no counterpart say so.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

from ..rings import PACKAGE, Twin
from .absent import ABSENT, LEADS, Part


class Finder:
    """The last finder of `sys.meta_path`: makes a module of an attribute of the package, such as `cuda`."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
        part = name.removeprefix(f"{PACKAGE}.")
        if part != name and part in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}: {ABSENT[part]}", name=name)
        if part != name and part in LEADS:
            twin: Any = Twin(LEADS[part])
            return ModuleSpec(name, twin)
        module = sys.modules.get(parent)
        if parent != PACKAGE and not isinstance(getattr(module, "__loader__", None), _Loader):
            return None  # other modules may look here themselves for what they have
        found = getattr(module, last, None)
        if not isinstance(found, SimpleNamespace):
            return None
        loader: Any = _Loader(found)
        return ModuleSpec(name, loader, is_package=True)


class _Loader:
    def __init__(self, parts: SimpleNamespace):
        self.parts = parts

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(vars(self.parts))
        if isinstance(self.parts, Part):  # whose errors say more
            vars(module)["__getattr__"] = self.parts.__getattr__


sys.meta_path.append(Finder)
