"""What belongs to the user's program: which functions and modules, which names in code, which attributes."""

from __future__ import annotations

import os
import types
from functools import lru_cache
from typing import Any

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def slots(of: type) -> tuple[str, ...]:
    found = vars(of).get("__slots__", ())
    return tuple(n for n in ((found,) if isinstance(found, str) else found) if n not in ("__dict__", "__weakref__"))


def has(value: Any, name: str) -> bool:
    """Whether an object has an attribute that its class does not make up when it is asked for it."""
    return name in getattr(value, "__dict__", ()) or any(name in vars(kind) for kind in type(value).__mro__)


def names_in(code: types.CodeType) -> set[str]:
    """The names that code uses, and the functions defined in it; also in getattr(x, "name")."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= names_in(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            found.add(constant)
    return found


def ours(thing: Any) -> bool:
    """Whether a function or a module is not of the user's program: ours, Python's or an installed package's."""
    code = getattr(thing, "__code__", None)
    file = code.co_filename if code else getattr(thing, "__file__", None)
    if file is None:  # as of what Python has built in; but not of a notebook, or of a module made by hand, or unknown
        return thing is not None and thing.__name__ != "__main__" and getattr(thing, "__spec__", None) is not None
    return os.path.abspath(file).startswith(_others())


@lru_cache
def _others() -> tuple[str, ...]:
    """Where the files of this package and of Python lie."""
    import sysconfig  # which takes long

    return (*[os.path.join(_ROOT, name, "") for name in ("tinygrad_like", "nn", "optim")],
            *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
