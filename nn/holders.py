"""Modules in plain lists, dicts and sets, which a module's `parameters()` does not find."""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from typing import Any

HOLDERS = {list, dict, set, deque, OrderedDict, defaultdict}


def unregistered(holder: Any, module: Any, kinds: tuple[type, ...]) -> bool:
    """Whether what a list, dict or set holds of these types is not also an attribute of the module, or of those below.

    So a list of layers may be kept beside `add_module`.
    """
    held = set(_held(holder, kinds, deep=True))
    return bool(held) and not held <= _registered(module, kinds, set())


def _held(holder: Any, kinds: tuple[type, ...], deep: bool) -> Iterator[Any]:
    """Those among its first 16 items, and among the items of those."""
    for item in itertools.islice(holder.values() if isinstance(holder, dict) else holder, 16):
        if isinstance(item, kinds):
            yield item
        elif deep and type(item) in HOLDERS:
            yield from _held(item, kinds, deep=False)


def _registered(module: Any, kinds: tuple[type, ...], found: set) -> set:
    for value in module.__dict__.values():
        if isinstance(value, kinds) and value not in found:
            found.add(value)
            _registered(value, kinds, found)
    return found
