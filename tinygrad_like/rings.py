"""The parts of the package: rings that may be missing, and `nn` and `optim`, which lie beside it."""

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
_BESIDE = {"nn": "Module", "optim": "Optimizer"}  # folders beside the package, and something that they have

# Rings ----------------------------------------------------------------------------------------------------------------

# A folder that can be deleted -> those that it needs. Nothing else needs any of them.
RINGS: dict[str, tuple[str, ...]] = {
    "kernels": (), "capture": ("kernels",), "compat": (), "data": (), "distributed": (), "distributions": (),
    "learn": (), "training": ("data", "distributed")}
# Names of the package's face -> where they lie. A room is imported when it is first named.
NAMES = {**{name: name for name in ("nn", "optim", *RINGS)},
         **{name: f"compat.{name}" for name in ("func", "utils")}, "vmap": "compat.func",
         **dict.fromkeys(("capture", "eager"), "capture.capture"),
         **dict.fromkeys(("load", "save"), "training.checkpoint"),
         "explain": "learn.check", "shown": "learn.notebook"}
_specs = {name: find_spec(f"{PACKAGE}.{name}") for name in RINGS}
_ABSENT = {name for name, spec in _specs.items() if spec is None or spec.origin is None}


def missing(place: str) -> str:
    """The folder for want of which a module of the package cannot be imported, or ""."""
    ring = place.partition(".")[0]
    return next((name for name in (ring, *RINGS.get(ring, ())) if name in _ABSENT), "")


def named(name: str) -> Any:
    """The attribute of the package's face under one of NAMES. Raises AttributeError where its ring is missing."""
    place = NAMES[name]
    if ring := missing(place):
        raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}: {PACKAGE}.{ring} is not installed here")
    module = import_module(f"{PACKAGE}.{place}")
    return getattr(module, name, module)


class Missing:
    """The first one of `sys.meta_path`, if a ring is missing: an import of it, or of what needs it, says which."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        part = name.removeprefix(f"{PACKAGE}.")
        if part != name and (ring := missing(NAMES.get(part, part))):
            raise ImportError(f"{name}: {PACKAGE}.{ring} is not installed here", name=name)


# Packages beside this one ---------------------------------------------------------------------------------------------


class Beside:
    """The first one of `sys.meta_path`: `nn` and `tinygrad_like.nn` are one module, and so is what is in them.

    It is called `nn` if the line `import nn` finds it. But if that finds something else, as a file in the user's folder
    or a package of that name, ours is the folder beside this package, and called `tinygrad_like.nn`.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        top, _, rest = name.removeprefix(f"{PACKAGE}.").partition(".")
        if top not in _BESIDE:
            return None
        inner = name.startswith(f"{PACKAGE}.")
        if rest:
            parent, _, last = name.rpartition(".")
            real = f"{sys.modules[parent].__name__}.{last}"  # of a parent that has two names, it has one
            other = f"{top}." if inner else f"{PACKAGE}.{top}."
            if not real.startswith(other) or real not in sys.modules and find_spec(real) is None:
                return None
            return _spec(name, Twin(real))
        if inner:
            return _spec(name, Twin(top)) if _leads_here(top) else PathFinder.find_spec(name, [_ROOT])
        if f"{PACKAGE}.{top}" in sys.modules and _leads_here(top):  # now; it did not when ours was imported
            return _spec(name, Twin(f"{PACKAGE}.{top}"))
        return None


def _spec(name: str, loader: Any) -> ModuleSpec:
    return ModuleSpec(name, loader)


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


class Twin:
    """Gives a module a second name."""

    def __init__(self, real: str):
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self.real)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # which import has just replaced
        top = self.real.removeprefix(f"{PACKAGE}.")
        if top in _BESIDE and not hasattr(module, _BESIDE[top]) and not getattr(self.spec, "_initializing", False):
            raise ImportError(f"{module.__file__} is not {PACKAGE}'s {top}, but another package's, which was "
                              f"installed over it; uninstall that one, and install {PACKAGE} again")


sys.meta_path.insert(0, Beside)
if _ABSENT:
    sys.meta_path.insert(0, Missing)


# Where kernels stand in -----------------------------------------------------------------------------------------------

# Called with a definition, its name, and what it is made of; returns what stands in for it, or the definition. What it
# returns may say, as `least`, from how many numbers on it is faster.
replace: Callable[..., Callable] | None = None


def replaceable(definition: Callable, name: str = "", **made_of: Any) -> Callable:
    """Mark a function of arrays by its definition: a faster one of that name, which computes the same, may replace it.

    made_of: for a function of each number by itself, the `formula` that it computes, and its `options`, if any.
    """
    return definition if replace is None else replace(definition, name or definition.__name__.lstrip("_"), **made_of)
