"""The exponential moving average of a model's weights, which often tests better than the last weights do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from tinygrad_like import Tensor


class EMA:
    """Averages that follow the parameters and buffers of a model, updated after each optimizer step.

        a <- d a + (1 - d) x,    d = min(decay, (1 + n) / (10 + n)) at the n-th update, from 0

    The small d of the first updates lets the average forget the random weights it starts from; with warmup=False,
    d = decay throughout. Integer buffers, which count, are copied. Source: Polyak and Juditsky 1992.

        ema = optim.EMA(model)
        ...
        optimizer.step()
        ema.update()
        ...
        with ema.swapped():             # the model has the averaged weights in here
            accuracy = evaluate(model)

    Raises ValueError for a decay outside [0, 1), and where a parameter has another shape or dtype than it had.
    """

    def __init__(self, model: Any, decay: float = 0.999, warmup: bool = True):
        if not 0 <= decay < 1:
            raise ValueError(f"EMA: decay={decay!r} must lie in [0, 1)")
        self.decay, self.warmup, self.updates = decay, warmup, 0
        self.tensors: dict[str, Tensor] = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        self.averages = {name: tensor.data.copy() for name, tensor in self.tensors.items()}

    def update(self) -> None:
        """Move the averages towards the model's present weights."""
        n = self.updates
        d = min(self.decay, (1 + n) / (10 + n)) if self.warmup else self.decay
        for name, tensor in self.tensors.items():
            x, average = tensor.data, self.averages[name]
            if x.shape != average.shape or x.dtype != average.dtype:
                raise ValueError(f"EMA: {name} was {average.shape} {average.dtype} and is now {x.shape} {x.dtype}; "
                                 "make the EMA after the model is cast or changed")
            if x.dtype.kind == "f":
                step = x - average
                step *= 1 - d
                average += step
            else:
                average[...] = x
        self.updates += 1

    @contextmanager
    def swapped(self) -> Iterator[None]:
        """Give the model the averaged weights, and at the end, whatever happens, its own again. No value is copied."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def copy_to_model(self) -> None:
        """Overwrite the model's weights with the averaged ones."""
        for name, tensor in self.tensors.items():
            tensor.assign(self.averages[name])

    def _swap(self) -> None:
        for name, tensor in self.tensors.items():
            tensor.data, self.averages[name] = self.averages[name], tensor.data
            tensor.touch()

    def state_dict(self) -> dict[str, Any]:
        """A copy of the averages by name, and the number of updates."""
        return {"averages": {name: a.copy() for name, a in self.averages.items()}, "updates": self.updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave. Raises ValueError, before any change, if names or shapes differ."""
        saved = {name: np.asarray(a) for name, a in state["averages"].items()}
        shapes, own = ({name: a.shape for name, a in d.items()} for d in (saved, self.averages))
        if shapes != own:
            differ = sorted(name for name in shapes.keys() | own if shapes.get(name) != own.get(name))
            raise ValueError(f"EMA.load_state_dict: the state does not fit the model, at {', '.join(differ)}")
        for name, average in self.averages.items():
            average[...] = saved[name]
        self.updates = int(state["updates"])
