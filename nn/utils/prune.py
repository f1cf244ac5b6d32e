"""Weights that are 0 and stay so: PyTorch's `nn.utils.prune`, with its names in the module's state.

The parameter `weight` becomes `weight_orig`, which is trained, and there is a buffer `weight_mask` of ones and zeros;
`weight` is their product, computed anew before each call of the module. `remove` makes a parameter of it again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.transforms.switches import no_grad

from ..module import Module, Parameter

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
           "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]


class BasePruningMethod(ABC):
    """The base: a subclass defines `compute_mask`, and says by PRUNING_TYPE what is chosen among what is left:
    "unstructured" numbers, "structured" channels along `dim`, or "global", as it is.

    It is a hook of the module, called before its forward.
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str
    dim = -1

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask of the shape of t: `default_mask`, with zeros where t is to be pruned too."""

    def __call__(self, module: Module, inputs: Any) -> None:
        module.__dict__[self._tensor_name] = self.apply_mask(module)

    def apply_mask(self, module: Module) -> Tensor:
        """mask * original"""
        name = self._tensor_name
        _require_pruned("apply_mask", module, name)
        return getattr(module, f"{name}_mask") * getattr(module, f"{name}_orig")

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None,
              **kwargs: Any) -> BasePruningMethod:
        """Prune the parameter of this name by the method cls(*args, **kwargs), after what has pruned it before.

        importance_scores: what the method is given in place of the parameter. Raises ValueError if there is no such
        parameter, or the scores have another shape; then nothing is changed.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        before = _method_of(module, name)
        if before is None:
            original = module.__dict__.get(name)
            if not isinstance(original, Parameter):
                raise ValueError(f"prune: {type(module).__name__} has no parameter {name!r}, only "
                                 f"{[n for n, _ in module.named_parameters(recurse=False)]}")
            mask = _ones(original)
        else:
            original, mask = getattr(module, f"{name}_orig"), getattr(module, f"{name}_mask")
        scores = original * mask if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise ValueError(f"prune: importance_scores have shape {scores.shape}, but {name} {original.shape}")
        whole = method
        if before is not None:
            whole = PruningContainer(*before) if isinstance(before, PruningContainer) else PruningContainer(before)
            whole.add_pruning_method(method)
        with no_grad():
            mask = whole.compute_mask(scores.detach(), mask).cast(original.dtype)
        if before is None:
            delattr(module, name)
            module.register_parameter(f"{name}_orig", original)
            module.register_buffer(f"{name}_mask", mask)
        else:
            setattr(module, f"{name}_mask", mask)
            hooks, key = _hook_of(module, name)
            hooks.pop(key)
        whole(module, None)
        module.register_forward_pre_hook(whole)
        return whole

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """t times the mask, without a module."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise ValueError(f"prune: importance_scores have shape {scores.shape}, but the Tensor {t.shape}")
        with no_grad():
            mask = self.compute_mask(scores.detach(), _ones(t) if default_mask is None else default_mask)
        return t * mask

    def remove(self, module: Module) -> None:
        """Make a parameter of what is pruned; it is no longer set to 0."""
        name = self._tensor_name
        _require_pruned("remove", module, name)
        weight = self.apply_mask(module)
        original = getattr(module, f"{name}_orig")
        with no_grad():
            original.copy_(weight)
        del module.__dict__[name]
        delattr(module, f"{name}_orig")
        delattr(module, f"{name}_mask")
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods for one parameter, one after the other: each prunes what the others have left."""

    def __init__(self, *args: Any):
        self._methods: tuple[BasePruningMethod, ...] = ()
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add one, for the same parameter. Raises TypeError or ValueError for another."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"PruningContainer: takes pruning methods, got {type(method).__name__}")
        if self._methods and method._tensor_name != self._tensor_name:
            raise ValueError(f"PruningContainer: prunes {self._tensor_name!r}, but the method is for "
                             f"{method._tensor_name!r}")
        self._tensor_name = method._tensor_name
        self._methods += (method,)

    def __len__(self) -> int:
        return len(self._methods)

    def __iter__(self) -> Any:
        return iter(self._methods)

    def __getitem__(self, i: int) -> BasePruningMethod:
        return self._methods[i]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the method that was added last, of what the mask so far leaves."""
        method = self._methods[-1]
        mask = default_mask.cast(t.dtype)
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, mask)
        if method.PRUNING_TYPE == "structured":
            axis = ops.axes.one_axis("prune", method.dim, t.ndim)
            left = (mask.sum(axis=tuple([a for a in range(t.ndim) if a != axis])) != 0).nonzero()[:, 0]
            place = (slice(None),) * axis + (left,)
        elif method.PRUNING_TYPE == "unstructured":
            place = (mask == 1,)
        else:
            raise ValueError(f"PruningContainer: PRUNING_TYPE={method.PRUNING_TYPE!r} must be unstructured, structured "
                             "or global")
        mask = mask.clone()
        mask[place] = method.compute_mask(t[place], mask[place]).cast(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Nothing is pruned: the names are changed, and the mask is all ones."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _ByAmount(BasePruningMethod):
    """The numbers with the lowest scores: `amount` of them, or, of a float from 0 to 1, that share."""

    def __init__(self, amount: float):
        self.amount = _checked_amount(amount)

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.numel(), "numbers")
        mask = default_mask.clone()
        if count:
            least = self._scores(t).reshape(-1).topk(count, largest=False)[1]
            flat = mask.reshape(-1)
            flat[least] = 0.0
            mask = flat.reshape(mask.shape)
        return mask


class RandomUnstructured(_ByAmount):
    """Numbers that are chosen at random."""

    def _scores(self, t: Tensor) -> Tensor:
        return Tensor.rand(*t.shape)


class L1Unstructured(_ByAmount):
    """The numbers with the smallest |x|."""

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs()


class _Structured(BasePruningMethod):
    """The channels along `dim` with the lowest scores: `amount` of them, or that share."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        self.amount, self.dim = _checked_amount(amount), dim

    def _scores(self, channels: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.ndim < 2:
            raise ValueError(f"prune: channels need at least two axes, got shape {t.shape}; prune numbers instead")
        axis = ops.axes.one_axis("prune", self.dim, t.ndim)
        size = t.shape[axis]
        kept = size - _count(self.amount, size, f"channels along axis {axis}")
        if kept == size:
            return default_mask
        best = self._scores(ops.movedim(t, axis, 0).reshape(size, -1)).topk(kept)[1]
        mask = Tensor.zeros(*t.shape, dtype=default_mask.dtype)
        mask[(slice(None),) * axis + (best,)] = 1.0
        return mask * default_mask


class RandomStructured(_Structured):
    """Channels along `dim` that are chosen at random."""

    def _scores(self, channels: Tensor) -> Tensor:
        return Tensor.rand(channels.shape[0])


class LnStructured(_Structured):
    """The channels along `dim` with the smallest norm of order n: a number, inf, -inf or "fro", which is 2."""

    def __init__(self, amount: float, n: Any, dim: int = -1):
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, channels: Tensor) -> Tensor:
        if isinstance(self.n, str) and self.n != "fro":
            raise ValueError(f"prune: n={self.n!r} must be a number, inf, -inf or 'fro'")
        return ops.linalg.vector_norm(channels, 2 if self.n == "fro" else self.n, 1)


class CustomFromMask(BasePruningMethod):
    """What a mask of ones and zeros says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if self.mask.shape != default_mask.shape:
            raise ValueError(f"custom_from_mask: the mask has shape {self.mask.shape}, but the parameter "
                             f"{default_mask.shape}")
        return default_mask * self.mask.cast(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Prune nothing, but change the names as the others do."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune numbers of a parameter that are chosen at random: `amount` of those left, or, of a float, that share."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the numbers of a parameter with the smallest |x|, or |score|: `amount` of those left, or that share."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune channels of a parameter along `dim` that are chosen at random: `amount` of those left, or that share."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: float, n: Any, dim: int,
                  importance_scores: Tensor | None = None) -> Module:
    """Prune the channels of a parameter along `dim` with the smallest norm of order n: `amount` of those left, or that
    share."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter where the mask is 0. Raises ValueError if it has another shape."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
                        importance_scores: dict[tuple[Module, str], Tensor] | None = None, **kwargs: Any) -> None:
    """Prune the numbers of several parameters as if they were one: pairs of a module and a name.

    pruning_method: a class such as L1Unstructured, made with kwargs. importance_scores: of some of the parameters, used
    in place of them. Raises TypeError if the method is not of unstructured type, ValueError for what is no parameter.
    """
    parameters = list(parameters)
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError("global_unstructured: takes a method that prunes numbers, got "
                        f"{pruning_method.__name__}, which is {method.PRUNING_TYPE}")
    given, scores, masks = importance_scores or {}, [], []
    for module, name in parameters:
        pruned = _method_of(module, name) is not None
        weight = getattr(module, f"{name}_orig") if pruned else module.__dict__.get(name)
        if not isinstance(weight, Parameter):
            raise ValueError(f"global_unstructured: {type(module).__name__} has no parameter {name!r}")
        scores.append(given.get((module, name), weight).detach())
        masks.append(getattr(module, f"{name}_mask") if pruned else _ones(weight))
        if scores[-1].shape != weight.shape:
            raise ValueError(f"global_unstructured: importance_scores of {name} have shape {scores[-1].shape}, but it "
                             f"has {weight.shape}")
    if not parameters:
        raise ValueError("global_unstructured: there are no parameters")
    method._tensor_name = "temp"
    with no_grad():
        flat = ops.cat(*[s.reshape(-1) for s in scores])
        whole = PruningContainer(method).compute_mask(flat, ops.cat(*[m.reshape(-1) for m in masks]))
    end = 0
    for (module, name), s in zip(parameters, scores, strict=True):
        begin, end = end, end + s.numel()
        custom_from_mask(module, name, whole[begin:end].reshape(s.shape))


def remove(module: Module, name: str) -> Module:
    """Make a parameter of what was pruned, as it is now. Raises ValueError if it was not."""
    method = _method_of(module, name)
    if method is None:
        raise ValueError(f"remove: {name!r} of {type(module).__name__} has not been pruned")
    method.remove(module)
    hooks, key = _hook_of(module, name)
    hooks.pop(key)
    if module._hooks is not None and not module._hooks.any():
        module._hooks = None
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one below it, has been pruned."""
    return any(isinstance(hook, BasePruningMethod) for part in module.modules() if part._hooks is not None
               for hook in part._hooks.before.values())


def _hook_of(module: Module, name: str) -> tuple[dict, int]:
    """The module's hooks, and the key of the one that prunes this parameter; -1 if none does."""
    hooks: dict = {} if module._hooks is None else module._hooks.before
    return hooks, next((key for key, hook in hooks.items()
                        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name), -1)


def _method_of(module: Module, name: str) -> BasePruningMethod | None:
    hooks, key = _hook_of(module, name)
    return hooks.get(key)


def _require_pruned(who: str, module: Module, name: str) -> None:
    if f"{name}_mask" not in module._buffers:
        raise ValueError(f"{who}: {name!r} of {type(module).__name__} has not been pruned")


def _ones(x: Tensor) -> Tensor:
    return Tensor.ones(*x.shape, dtype=x.dtype)


def _checked_amount(amount: Any) -> Any:
    whole = isinstance(amount, int) and not isinstance(amount, bool)
    if not (whole and amount >= 0 or isinstance(amount, float) and 0.0 <= amount <= 1.0):
        raise ValueError(f"prune: amount={amount!r} must be a count, an integer >= 0, or a share, a float from 0 to 1")
    return amount


def _count(amount: Any, size: int, what: str) -> int:
    """So many of `size`. Raises ValueError for more."""
    if isinstance(amount, int) and amount > size:
        raise ValueError(f"prune: amount={amount} is more than the {size} {what} that there are")
    return amount if isinstance(amount, int) else round(amount * size)
