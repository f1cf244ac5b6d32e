"""The exponential moving average of a model's weights, which often tests better than the last weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from tinygrad_like.core.listener import effect
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import FLOATS, wide


class EMA:
    """Averages that follow the parameters and buffers of a model, updated after each optimizer step.

        a <- d a + (1 - d) x,    d = min(decay, (1 + n) / (10 + n)) at the n-th update, from 0

    The small d of the first updates lets the average forget the initial weights; with warmup=False, d is always decay.
    Integer buffers, which are counts, are copied. Source: Polyak and Juditsky 1992.

        ema = optim.EMA(model)
        ...
        optimizer.step()
        ema.update()
        ...
        with ema.swapped():             # here the model has the averaged weights
            accuracy = evaluate(model)

    Raises ValueError for a decay outside [0, 1), and if a parameter's shape or dtype has changed, or another Tensor has
    replaced it, as `replace_head` does.
    """

    def __init__(self, model: Any, decay: float = 0.999, warmup: bool = True):
        if not 0 <= decay < 1:
            raise ValueError(f"EMA: decay={decay!r} must lie in [0, 1)")
        self.model, self.decay, self.warmup, self.updates = model, decay, warmup, 0
        self.tensors = _tensors(model)
        self.dtypes = {name: tensor.dtype for name, tensor in self.tensors.items()}
        self.averages = {name: np.array(tensor._data, wide(tensor.dtype)) for name, tensor in self.tensors.items()}

    def update(self) -> None:
        """Move the averages towards the model's current weights."""
        self._check()
        effect("EMA.update", self._move, writes=list(self.averages.values()))

    def _move(self) -> None:
        n = self.updates
        d = min(self.decay, (1 + n) / (10 + n)) if self.warmup else self.decay
        for name, tensor in self.tensors.items():
            x, average = tensor._data, self.averages[name]
            if x.dtype.kind in FLOATS:
                average += (1 - d) * (x - average)
            else:
                average[...] = x
        self.updates += 1

    @contextmanager
    def swapped(self) -> Iterator[None]:
        """Use the averaged weights in a `with` block, and restore the model's own at its end. Copies no values."""
        self._check(whole=True)
        weights = {name: tensor._data for name, tensor in self.tensors.items()}
        try:
            self._show(self.averages)
            yield
        finally:
            self._show(weights)

    def copy_to_model(self) -> None:
        """Overwrite the model's weights with the averaged ones."""
        self._check(whole=True)
        for name, tensor in self.tensors.items():
            tensor.assign(self.averages[name])

    def _show(self, arrays: Mapping[str, np.ndarray]) -> None:
        for name, tensor in self.tensors.items():
            tensor.data = arrays[name].astype(self.dtypes[name], copy=False)
            tensor.touch()

    def _check(self, whole: bool = False) -> None:
        """Raise ValueError if a Tensor's shape or dtype has changed; `whole`: also if the model has other Tensors."""
        now = _tensors(self.model) if whole else self.tensors
        for name in now.keys() | self.tensors.keys():
            if now.get(name) is not self.tensors.get(name):
                raise ValueError(f"EMA: {name} is not the Tensor that was averaged; create the EMA after "
                                 "changing the model")
        for name, tensor in now.items():
            x, average = tensor._data, self.averages[name]
            if x.shape != average.shape or x.dtype != self.dtypes[name]:
                raise ValueError(f"EMA: {name} was {average.shape} {self.dtypes[name]} and is now {x.shape} {x.dtype}; "
                                 "create the EMA after casting or changing the model")

    def state_dict(self) -> dict[str, Any]:
        """A copy of the averages by name, and the number of updates."""
        return {"averages": {name: a.copy() for name, a in self.averages.items()}, "updates": self.updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`. Raises ValueError, before any change, if names or shapes differ."""
        saved = {name: np.asarray(a) for name, a in state["averages"].items()}
        differ = [name for name in sorted(saved.keys() | self.averages.keys())
                  if name not in saved or name not in self.averages or saved[name].shape != self.averages[name].shape
                  or not np.can_cast(saved[name].dtype, self.averages[name].dtype, "same_kind")]
        if differ or not int(state["updates"]) >= 0:
            raise ValueError("EMA.load_state_dict: the state does not fit the model, at "
                             f"{', '.join(differ) or 'updates'}")
        for name, average in self.averages.items():
            average[...] = saved[name]
        self.updates = int(state["updates"])


def _tensors(model: Any) -> dict[str, Tensor]:
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
