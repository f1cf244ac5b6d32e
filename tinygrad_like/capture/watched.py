"""What a captured function may look at, from recording to recording, and the places that it was seen to bind."""

from __future__ import annotations

from collections.abc import Callable

from .bindings import MISSING, GrowingPlace, Place
from .guards import Watch
from .scalar_arguments import NUMBERS, Lifted


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
