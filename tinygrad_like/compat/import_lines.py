"""Import lines of parts that are no files here: `from tinygrad_like.cuda.amp import autocast`."""

from __future__ import annotations

import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

_PACKAGE = __name__.partition(".")[0]


class Finder:
    """The last one of `sys.meta_path`: a module of what an attribute of the package, such as `cuda`, has."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
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
