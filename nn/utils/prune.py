"""Pruning: entries of a parameter that are kept at 0, as in PyTorch's `nn.utils.prune`.

A module's `weight` becomes `weight_orig * weight_mask`, a parameter and a buffer; the gradient reaches what is kept.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tinygrad_like import Tensor, no_grad, ops, random

from ..module import Module, Parameter
from .weights import computed, computed_by, parameter_alone

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "RandomStructured",
           "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured",
           "ln_structured", "random_structured", "random_unstructured", "remove"]


class _Pruned:
    """What `weight_orig * weight_mask` is, for the module's class."""

    def __init__(self, name: str):
        self.name, self.parts = name, (f"{name}_orig", f"{name}_mask")

    def compute(self, module: Module) -> Tensor:
        value, mask = [module.__dict__[part] for part in self.parts]
        return value * mask


def _ones(x: Tensor) -> Tensor:
    return Tensor.ones(x.shape, dtype=x.dtype)


class BasePruningMethod:
    """A subclass defines `compute_mask(t, default_mask)`: the mask of what is kept of t, and of what was kept before.

    PRUNING_TYPE: "unstructured" if it counts single entries, "structured" if rows along an axis, its `dim`, else
    "global". Pruned again, it chooses among the entries, or the rows, that were kept.
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define compute_mask(t, default_mask)")

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None,
              **kwargs: Any) -> BasePruningMethod:
        """Prune a parameter of a module with `cls(*args, **kwargs)`.

        importance_scores: of its shape, by which is chosen in place of its values.
        Raises ValueError if there is no such parameter, or for scores of another shape.
        """
        method, pruned = cls(*args, **kwargs), computed_by(module, name)
        if isinstance(pruned, _Pruned):
            w, before = [module.__dict__[part] for part in pruned.parts]
        else:
            w, before = parameter_alone("prune", module, name), None
        scores = getattr(module, name) if importance_scores is None else importance_scores
        if scores.shape != w.shape:
            raise ValueError(f"prune: importance_scores has shape {scores.shape}, but {name!r} has {w.shape}")
        with no_grad():
            mask = method.narrowed(scores.detach(), _ones(w) if before is None else before).detach()
        if before is None:
            delattr(module, name)
            module.register_parameter(f"{name}_orig", w)
            module.register_buffer(f"{name}_mask", mask)
            computed(module, _Pruned(name))
        else:
            before.assign(mask)
        return method

    def narrowed(self, t: Tensor, mask: Tensor) -> Tensor:
        """The mask of what is kept of t, of what `mask` keeps."""
        if self.PRUNING_TYPE == "global":
            kept: Any = ...
        elif self.PRUNING_TYPE == "unstructured":
            kept = (mask.numpy() == 1).nonzero()
        elif self.PRUNING_TYPE == "structured":
            dim = self.dim % t.ndim  # type: ignore[attr-defined]
            other = tuple([a for a in range(t.ndim) if a != dim])
            kept = (*[slice(None)] * dim, (mask.numpy() != 0).any(axis=other).nonzero()[0])
        else:
            raise ValueError(f"{type(self).__name__}: PRUNING_TYPE={self.PRUNING_TYPE!r} must be unstructured, "
                             "structured or global")
        new = mask.numpy().copy()
        given = Tensor(t.numpy()[kept]), Tensor(mask.numpy()[kept])
        new[kept] = self.compute_mask(*given).to(mask.dtype).numpy()
        return Tensor(new, dtype=mask.dtype)

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """t with 0 where it is pruned."""
        scores = t if importance_scores is None else importance_scores
        with no_grad():
            mask = self.narrowed(scores.detach(), _ones(t) if default_mask is None else default_mask)
        return t * mask.detach()


class Identity(BasePruningMethod):
    """Nothing is pruned; the parameter gets its mask."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Amount(BasePruningMethod):
    """Of so many: a whole number of them, or a share between 0 and 1."""

    def __init__(self, amount: float):
        if not isinstance(amount, numbers.Real) or isinstance(amount, bool) or amount < 0 or (
                not isinstance(amount, numbers.Integral) and amount > 1):
            raise ValueError(f"prune: amount={amount!r} must be a whole number >= 0, or a share between 0 and 1")
        self.amount = amount

    def count(self, size: int) -> int:
        if isinstance(self.amount, numbers.Integral):
            if int(self.amount) > size:
                raise ValueError(f"prune: amount={self.amount} is more than the {size} that there are")
            return int(self.amount)
        return round(self.amount * size)

    def without(self, default_mask: Tensor, index: Any) -> Tensor:
        mask = default_mask.numpy().copy()
        mask[index] = 0
        return Tensor(mask, dtype=default_mask.dtype)


class RandomUnstructured(_Amount):
    """Entries drawn at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        drawn = random.generator.permutation(t.numel())[:self.count(t.numel())]
        return self.without(default_mask, np.unravel_index(drawn, t.shape))


class L1Unstructured(_Amount):
    """The entries with the smallest |t|."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        order = np.abs(t.numpy()).reshape(-1).argsort(kind="stable")[:self.count(t.numel())]
        return self.without(default_mask, np.unravel_index(order, t.shape))


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        super().__init__(amount)
        self.dim = dim

    def rows(self, t: Tensor, which: np.ndarray) -> tuple:
        return (*[slice(None)] * (self.dim % t.ndim), which)


class RandomStructured(_Structured):
    """Rows along the axis `dim`, drawn at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        size = t.shape[self.dim]
        return self.without(default_mask, self.rows(t, random.generator.permutation(size)[:self.count(size)]))


class LnStructured(_Structured):
    """The rows along the axis `dim` with the smallest norm (sum |t|^n)^(1/n)."""

    def __init__(self, amount: float, n: Any, dim: int = -1):
        super().__init__(amount, dim)
        self.n = 2 if n == "fro" else n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        axes = tuple([a for a in range(t.ndim) if a != self.dim % t.ndim])
        norms = ops.linalg.vector_norm(t, self.n, axes) if axes else t.abs()
        order = norms.numpy().argsort(kind="stable")[:self.count(t.shape[self.dim])]
        return self.without(default_mask, self.rows(t, order))


class CustomFromMask(BasePruningMethod):
    """What a mask of its shape has 0 for."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if self.mask.shape != default_mask.shape:
            raise ValueError(f"prune: mask has shape {self.mask.shape}, but what is pruned has {default_mask.shape}")
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """See `Identity`."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """See `RandomUnstructured`; amount: how many, or which share of those that are kept."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """See `L1Unstructured`; amount: how many, or which share of those that are kept."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """See `RandomStructured`; amount: how many rows, or which share of those that are kept."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: float, n: Any, dim: int,
                  importance_scores: Tensor | None = None) -> Module:
    """See `LnStructured`; amount: how many rows, or which share of those that are kept."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """See `CustomFromMask`."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
                        importance_scores: Mapping[tuple[Module, str], Tensor] | None = None, **kwargs: Any) -> None:
    """Prune parameters of several modules as if they were one: pairs of a module and a name.

    Raises ValueError for a method that does not count single entries.
    """
    parameters, scores = list(parameters), importance_scores or {}
    if pruning_method.PRUNING_TYPE != "unstructured":
        raise ValueError(f"global_unstructured: {pruning_method.__name__} is {pruning_method.PRUNING_TYPE}, not "
                         "unstructured")
    masks = [_ones(getattr(m, n)) if not isinstance(computed_by(m, n), _Pruned) else
             m.__dict__[f"{n}_mask"] for m, n in parameters]
    with no_grad():
        values = [scores[m, n] if (m, n) in scores else getattr(m, n) for m, n in parameters]
        whole = ops.cat(*[v.detach().reshape(-1) for v in values])
        kept = pruning_method(**kwargs).narrowed(whole, ops.cat(*[mask.reshape(-1) for mask in masks]))
    end = 0
    for (module, name), mask in zip(parameters, masks, strict=True):
        begin, end = end, end + mask.numel()
        custom_from_mask(module, name, kept[begin:end].reshape(mask.shape))


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one within it, is pruned."""
    return any(isinstance(by, _Pruned) for m in module.modules() for by in computed_by(m).values())


def remove(module: Module, name: str) -> Module:
    """Make a parameter of what is kept, with 0 elsewhere. Raises ValueError if it is not pruned."""
    pruned: Any = computed_by(module, name)
    if not isinstance(pruned, _Pruned):
        raise ValueError(f"prune.remove: {name!r} of {type(module).__name__} is not pruned")
    w: Parameter = module.__dict__[pruned.parts[0]]
    with no_grad():
        w.assign(pruned.compute(module).detach())
    computed(module, pruned, remove=True)
    for part in pruned.parts:
        delattr(module, part)
    module.register_parameter(name, w)
    return module
