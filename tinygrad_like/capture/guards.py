"""Whether what Python may look at when it calls a function is as it was: variables, attributes, gradients."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import memory
from ..transforms.codegen import define
from .bindings import MISSING, GrowingPlace, Place, can_be_bound, found, get, has_items
from .guard_discovery import FIELDS, FLAGS, VALUES, Followed
from .numbers import settled
from .proxies import NUMBERS, Lifted
from .pytree import holds_only_tensors, tensors_in

_REMEDIES = {  # of what a function changes itself, by how its name begins
    "the length of": "return what is to be added, and add it outside",
    "the place in": "take what comes next outside, and pass it as an argument",
    "the state of the generator": "draw outside, and pass what was drawn as an argument, or draw a Tensor, as by "
                                  "Tensor.rand(()), and choose by where()",
}


def same(where: Any, key: Any, value: Any) -> bool:
    """Whether a value lies there, or one that Python cannot tell from it: not 0.0 for -0.0, but NaN for NaN."""
    now = get(where, key)
    return now is value or isinstance(value, VALUES) and type(now) is type(value) and repr(now) == repr(value)


class Watch(Followed):
    """The values of all variables that a function and its arguments lead to, to see later whether one has changed."""

    def __init__(self, function: Any, arguments: Any, places: dict[tuple, Place] | None = None):
        super().__init__(function, arguments, places)
        self.what, self.rebound = "", False
        self.left: list[tuple[Place, Any]] = []  # flags that the function, which just ran, has set to others
        self.flags = [(where, key, value) for where, key, value, _ in self.entries if type(value) in FLAGS]
        self.grown: list[GrowingPlace] = []  # of lists to which it has appended
        self.quick: Callable[[], bool] | None = None
        self.differed: tuple | None = None  # the entry that was last seen to be another one

    def same(self) -> bool:
        """Whether all is as it was."""
        self.quick = self.quick or self._in_one_expression()
        try:
            if self.quick():
                return True
        except (AttributeError, LookupError, ValueError):  # something is there no more
            pass
        if self.differed and not same(*self.differed):  # as of two kinds of calls that take turns
            return False
        if not self._same_variables():
            return False
        if not self.same_gradients():
            self.what = "which Tensors have gradients"
            return False
        for tensor, array, name in self.tensors:
            if tensor._data is not array:
                self.what = f"the array of {name}"
                return False
        return True

    def knows(self, optimizers: Collection) -> bool:
        """Whether these, that have taken a step, were found, so that it is seen if others change what they do."""
        unknown = [o for o in optimizers if any([id(group) not in self.options_of for group in o.param_groups])]
        if unknown:
            self.what = (f"{unknown[0].name} is reached through an object that Python made, or that is of a package; "
                         "pass the optimizer as an argument, or name it in a variable")
        return not unknown

    def same_after(self, noted: Collection[int]) -> bool:
        """Whether the function, which just ran, has left all as it was but Tensors and flags; `rebound` is whether it
        has bound places to others. noted: ids of objects whose changes are on the tape."""
        changed = [name for tell, before, whose, name in self.own if id(whose) not in noted and tell() != before]
        if changed or not self._same_variables(but_tensors=True):
            what = [*changed, self.what][0]
            remedy = "".join([f"; {text}" for start, text in _REMEDIES.items() if what.startswith(start)])
            self.what = f"{what} is changed by the function itself, which would not happen again{remedy}"
            return False
        return True

    def put_back(self) -> None:
        """Bind variables to what they were bound to, and take out of lists and dicts what they did not have."""
        for where, key, value, _ in self.entries:
            if get(where, key) is not value:
                Place(where, key, "").put(value)
        had = {(id(where), key) for where, key, *_ in self.entries}
        for container, length, _ in self.lengths:
            if isinstance(container, list):
                del container[length:]
            elif isinstance(container, dict) and len(container) > length:
                for key in [key for key in container if (id(container), key) not in had]:
                    del container[key]

    def moved(self, before: list[tuple], bound: list[Place]) -> list[Place]:
        """The places that hold others than in the entries of before; `bound`: those that were left out then."""
        known = [(place.where, place.key, place.get(), place.name) for place in bound]
        places = found(self.entries, [*before, *known])
        return [place for place in places if id(place.where) not in self.options_of and (
            self.given.isdisjoint(map(id, tensors_in(place.get()))))]

    def settle(self) -> None:
        """Put numbers where Numbers were left, after they were found out to be others in each call."""
        seen: set[int] = set()
        for where, key, value, _ in self.entries:
            if (left := get(where, key)) is not value and (new := settled(left, seen)) is not left:
                Place(where, key, "").put(new)
        for group in self.options_of.values():
            group.update((key, settled(x, seen)) for key, x in list(group.items()) if key != "params")
        for container, length, _ in self.lengths:
            keys = list(container) if isinstance(container, dict) else range(length, len(container))
            for key in keys if isinstance(container, dict | list | deque) else ():
                if (new := settled(container[key], seen)) is not container[key]:
                    container[key] = new

    def give_back(self, copies: dict[int, Tensor]) -> None:
        """Put arguments where their copies, whose ids these are, were left."""
        left = [(where, key) for where, key, value, _ in self.entries if get(where, key) is not value]
        left += [(container, key) for container, *_ in self.lengths if isinstance(container, dict | list | deque)
                 for key in (container if isinstance(container, dict) else range(len(container)))]
        for where, key in left:
            if (t := copies.get(id(get(where, key)))) is not None:
                Place(where, key, "").put(t)

    def _same_variables(self, but_tensors: bool = False) -> bool:
        for where, key, value, name in self.entries:
            if not same(where, key, value):
                now = get(where, key)
                if but_tensors and can_be_bound(where, now) and (
                        type(value) is type(now) or value is None or holds_only_tensors(value)):
                    self.rebound = True
                    continue
                if but_tensors and type(now) in FLAGS and type(value) in FLAGS:
                    self.left.append((Place(where, key, name), now))
                    continue
                self.what, self.differed = name, (where, key, value)
                return False
        for container, length, name in self.lengths:
            if len(container) != length and not (but_tensors and self._grows(container, length)):
                self.what = f"the length of {name}"
                return False
        for container, ids, name in self.sets:
            if {*map(id, container)} != ids:
                self.what = f"what is in {name}"
                return False
        for group, key, zero, name in self.options:
            if (group.get(key) == 0) is not zero:
                self.what = name
                return False
        for tell, content, name in self.contents:
            if tell() != content:
                self.what = f"the array {name}"
                return False
        return True

    def _grows(self, container: Any, length: int) -> bool:
        """Whether the function has appended to a list that lies in a single place, as it would again."""
        at = [Place(where, key, name) for where, key, value, name in self.entries if value is container]
        if type(container) is not list or len(container) < length or len(at) != 1 or (
                isinstance(at[0].where, types.MappingProxyType)):
            return False
        self.grown.append(GrowingPlace(*at[0]))
        self.rebound = True
        return True

    def _in_one_expression(self) -> Callable[[], bool]:
        """Whether each object is the very same, as code that asks for one after the other."""
        names: dict[str, Any] = {"len": len, "map": map, "id": id, "item": dict.__getitem__}

        def name(value: Any) -> str:
            names[f"_{len(names)}"] = value
            return f"_{len(names) - 1}"

        asked = [f"{name(where)}.cell_contents is {name(value)}" if type(where) is types.CellType else
                 f"{name(where)}[{key}] == {name(value)}" if where is self.lifted and value else  # of known types
                 f"item({name(where)}, {name(key)}) is {name(value)}" if id(where) in self.options_of else
                 f"{name(where)}[{name(key)}] is {name(value)}" if has_items(where) else
                 f"{name(where)}.{key} is {name(value)}" for where, key, value, _ in self.entries]
        asked += [f"len({name(container)}) == {length}" for container, length, _ in self.lengths]
        asked += [f"{{*map(id, {name(part)})}} == {name(ids)}" for part, ids, _ in self.sets]
        asked += [f"item({name(group)}, {key!r}) {'==' if zero else '!='} 0" for group, key, zero, _ in self.options]
        asked += [f"{name(tell)}() == {name(content)}" for tell, content, _ in self.contents]
        asked += [f"{name(t)}.grad is {'' if without else 'not '}None" for t, without in self.gradients]
        asked += [f"{name(t)}._data is {name(array)}" for t, array, _ in self.tensors]
        parts = [define("same", f"def same(): return {' and '.join(asked[i:i + 300])}", "<guards>", names)
                 for i in range(0, len(asked), 300)]
        return parts[0] if len(parts) == 1 else lambda: all([part() for part in parts])  # one takes much to compile

    def all_tensors(self) -> list[Tensor]:
        return [t for t, _, _ in self.tensors]

    def memories(self) -> dict[int, np.ndarray]:
        """The memory of all of them, and of those in places that are bound anew in each call, by ids."""
        found = [array for _, array, _ in self.tensors]
        found += [t._data for place in self.bound for t in tensors_in(place.get())]
        return {id(m): m for m in map(memory, found)}

    def same_flags(self) -> bool:
        """Whether flags, words and None are as they were, where there is something of these kinds now."""
        return all(same(*flag) or type(get(*flag[:2])) not in FLAGS for flag in self.flags)

    def same_gradients(self) -> bool:
        """Whether the same Tensors have gradients."""
        return all((t.grad is None) == without for t, without in self.gradients)

    def fixed(self, tensors: list[Tensor]) -> dict[int, Tensor]:
        """Of the Tensors that the function is given, those of which a copy would not do, by their places; they are
        watched: what it finds elsewhere too, if gradients go there or an optimizer changes it, or has more to it."""
        trained = self.trained | {id(memory(array)) for t, array, _ in self.tensors if t.requires_grad}
        found = {i: t for i, t in enumerate(tensors) if id(memory(t._data)) in trained or t._hooks or
                 type(t) is not Tensor or not FIELDS.issuperset(vars(t))}
        for t in found.values():
            self._follow(t, "an argument")
        return found


class Watching:
    """Called before a recording: a Watch that leaves out the places that hold other Tensors or numbers in each call."""

    def __init__(self, function: Callable):
        self.function = Lifted(function)
        self.places: dict[tuple, Place] = {}  # by the ids of what they are in, and their keys
        self.entries: list[tuple] | None = None  # what there was at the last recording, and which places were left out
        self.bound: list[Place] = []
        self.grown: list[GrowingPlace] = []

    def __call__(self, args: tuple, options: dict) -> Watch:
        self.places |= {(id(place.where), place.key): place for place in self.grown}
        watch = Watch(self.function, (args, options), self.places)
        if self.entries is not None and (moved := watch.moved(self.entries, self.bound)):
            self.places |= {(id(place.where), place.key): place for place in moved}
            watch = Watch(self.function, (args, options), self.places)
        self.entries, self.bound, self.grown = watch.entries, watch.bound, watch.grown
        return watch

    def rest(self) -> None:
        """Keep no Tensors, but which numbers there were."""
        entries = [*(self.entries or ()), *[(*place[:2], place.get(), place.name) for place in self.bound]]
        self.entries = [(where, key, x if type(x) in NUMBERS else MISSING, name) for where, key, x, name in entries]
        self.bound, self.grown = [], []
