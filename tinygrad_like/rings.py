"""The parts of the package: rings that may be missing, and `nn` and `optim`, the packages next to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_BESIDE = {"nn": "Module", "optim": "Optimizer"}  # folders next to the package, and a name in each

# Rings ----------------------------------------------------------------------------------------------------------------

# A folder that can be deleted -> the rings that it needs. Nothing else needs a ring.
RINGS: dict[str, tuple[str, ...]] = {
    "kernels": (), "capture": ("kernels",), "compat": (), "data": (), "distributed": (), "distributions": (),
    "learn": (), "training": ("data", "distributed")}
# Public names -> their modules. A room is imported at first use.
NAMES = {**{name: name for name in ("nn", "optim", *RINGS)},
         **{name: f"compat.{name}" for name in ("func", "utils")}, "vmap": "compat.func",
         **dict.fromkeys(("capture", "eager"), "capture.capture"),
         **dict.fromkeys(("load", "save"), "training.checkpoint"),
         "explain": "learn.check", "shown": "learn.notebook"}
_specs = {name: find_spec(f"{PACKAGE}.{name}") for name in RINGS}
_ABSENT = {name for name, spec in _specs.items() if spec is None or spec.origin is None}


def missing(place: str) -> str:
    """The missing folder that keeps a module of the package from being imported, or ""."""
    ring = place.partition(".")[0]
    return next((name for name in (ring, *RINGS.get(ring, ())) if name in _ABSENT), "")


def named(name: str) -> Any:
    """The public attribute under one of NAMES. Raises AttributeError if its ring is missing."""
    place = NAMES[name]
    if ring := missing(place):
        raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}: {PACKAGE}.{ring} is not installed here")
    module = import_module(f"{PACKAGE}.{place}")
    return getattr(module, name, module)


class Missing:
    """First in `sys.meta_path` if a ring is missing: imports that need the ring then name it in their error."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        part = name.removeprefix(f"{PACKAGE}.")
        if part != name and (ring := missing(NAMES.get(part, part))):
            raise ImportError(f"{name}: {PACKAGE}.{ring} is not installed here", name=name)


# Packages next to this one --------------------------------------------------------------------------------------------


class Beside:
    """First in `sys.meta_path`: makes `nn` and `tinygrad_like.nn` one module, and likewise their submodules.

    Its name is `nn` if `import nn` finds it. If that finds something else, such as a file in the user's folder or
    another package, ours is loaded from the folder next to this package, and named `tinygrad_like.nn`.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        top, _, rest = name.removeprefix(f"{PACKAGE}.").partition(".")
        if top not in _BESIDE:
            return None
        inner = name.startswith(f"{PACKAGE}.")
        if rest:
            parent, _, last = name.rpartition(".")
            real = f"{sys.modules[parent].__name__}.{last}"  # a parent may have two names, its real module has one
            other = f"{top}." if inner else f"{PACKAGE}.{top}."
            if not real.startswith(other) or real not in sys.modules and find_spec(real) is None:
                return None
            return _spec(name, Twin(real))
        if inner:
            return _spec(name, Twin(top)) if _leads_here(top) else PathFinder.find_spec(name, [_ROOT])
        if f"{PACKAGE}.{top}" in sys.modules and _leads_here(top):  # now, though not when ours was imported
            return _spec(name, Twin(f"{PACKAGE}.{top}"))
        return None


def _spec(name: str, loader: Any) -> ModuleSpec:
    return ModuleSpec(name, loader)


def _leads_here(name: str) -> bool:
    """Whether `import name` finds the folder next to this package."""
    file: Any
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None)
    else:
        specs = (finder.find_spec(name, None) for finder in sys.meta_path
                 if getattr(finder, "__module__", None) != __name__)
        file = getattr(next(filter(None, specs), None), "origin", None)
    return file is not None and os.path.realpath(os.path.dirname(file)) == os.path.realpath(os.path.join(_ROOT, name))


class Twin:
    """Gives a module a second name."""

    def __init__(self, real: str):
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self.real)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # import has just replaced it
        top = self.real.removeprefix(f"{PACKAGE}.")
        if top in _BESIDE and not hasattr(module, _BESIDE[top]) and not getattr(self.spec, "_initializing", False):
            raise ImportError(f"{module.__file__} is not {PACKAGE}'s {top}, but another package's, "
                              f"installed over it; uninstall that package, and install {PACKAGE} again")


sys.meta_path.insert(0, Beside)
if _ABSENT:
    sys.meta_path.insert(0, Missing)


# Replacement by kernels -----------------------------------------------------------------------------------------------

# Called with a definition, its name and its parts; returns a replacement, or the definition. `least` of a replacement
# is the number of elements from which it is faster.
replace: Callable[..., Callable] | None = None


def replaceable(definition: Callable, name: str = "", **made_of: Any) -> Callable:
    """Mark a function of arrays as a definition that a faster function of the same name may replace.

    made_of: for an elementwise function, its `formula`, and its `options`, if any.
    """
    return definition if replace is None else replace(definition, name or definition.__name__.lstrip("_"), **made_of)
