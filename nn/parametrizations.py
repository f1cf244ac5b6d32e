"""Parameters that are computed from others: PyTorch's `nn.utils.parametrizations`, with its `state_dict` keys.

The module's class gets a property in place of the parameter. So whoever reads `module.weight` gets what is computed,
on the graph, and training changes what it is computed from, in `module.parametrizations.weight`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from tinygrad_like import Tensor, no_grad

from .containers import ModuleDict
from .conv import ConvTranspose1d, ConvTranspose2d
from .module import Module, Parameter

__all__ = ["is_parametrized", "register_parametrization", "remove_parametrizations", "spectral_norm", "weight_norm"]


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a parameter as w = g v / ||v||: its length and its direction are trained apart (Salimans, Kingma 2016).

    dim: the axis along which there are several vectors, each with its own length; None for a single one.
    `parametrizations.weight` has g as original0 and v as original1. Raises ValueError if there is no such parameter.
    """
    return _parametrized("weight_norm", module, name, lambda weight: _WeightNorm(weight, dim))


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Divide a parameter, as a matrix, by its largest singular value (Miyato et al. 2018): w = W / (u^T W v).

    While training, u and v come closer to the singular vectors by so many power iterations whenever w is read. dim: the
    axis of the matrix's rows, by default that of the output channels. Raises ValueError if there is no such parameter.
    """
    if dim is None:
        dim = 1 if isinstance(module, ConvTranspose1d | ConvTranspose2d) else 0
    return _parametrized("spectral_norm", module, name,
                         lambda weight: _OfOne(weight, _SpectralNorm(weight, n_power_iterations, eps, dim)))


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
                             ) -> Module:
    """Compute a parameter by a module of your own, of what is kept in its place as `original`; of several, in turn.

    If the module has a `right_inverse`, what that gives for the parameter is kept, else the parameter itself.
    Raises ValueError if there is no such parameter, or, but for unsafe, if another shape or dtype is computed.
    """
    if not isinstance(parametrization, Module):
        raise TypeError(f"register_parametrization: takes a module, got {type(parametrization).__name__}")
    known = module.__dict__["parametrizations"][tensor_name] if is_parametrized(module, tensor_name) else None
    if known is not None and not isinstance(known, _OfOne):
        raise ValueError(f"register_parametrization: {tensor_name!r} is computed from several Tensors")
    before = module.__dict__.get(tensor_name) if known is None else getattr(module, tensor_name)
    if isinstance(before, Tensor):
        with no_grad():
            x = before if known is not None else _inverse(parametrization, before)
            found = parametrization(x)
        if not unsafe and (not isinstance(found, Tensor) or (found.shape, found.dtype) != (before.shape, before.dtype)):
            has = f"{found.dtype} {found.shape}" if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(f"register_parametrization: {type(parametrization).__name__} makes {has} of "
                             f"{before.dtype} {before.shape}; pass unsafe=True if that is meant")
    if known is not None:
        known.register_module(str(len(known.steps())), parametrization)
        return module
    return _parametrized("register_parametrization", module, tensor_name,
                         lambda weight: _OfOne(_inverse(parametrization, weight.detach()), parametrization))


def _inverse(parametrization: Module, value: Tensor) -> Tensor:
    """What the module computes a value from, as far as it says so."""
    try:
        found = parametrization.right_inverse(value) if hasattr(parametrization, "right_inverse") else value
    except NotImplementedError:
        return value
    if not isinstance(found, Tensor):
        raise ValueError(f"register_parametrization: right_inverse of {type(parametrization).__name__} must give one "
                         f"Tensor, got {type(found).__name__}")
    return found


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module computes a parameter, or this one."""
    found: Collection = module.__dict__.get("parametrizations", ())
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parameter of what is computed now; or of what it was computed from, if there is one such Tensor."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"remove_parametrizations: {tensor_name!r} of {type(module).__name__} is not computed")
    computed: ModuleDict = module.__dict__["parametrizations"]
    made = computed[tensor_name]
    with no_grad():
        value = getattr(module, tensor_name) if leave_parametrized else getattr(made, "original", None)
    if value is None:
        raise ValueError("remove_parametrizations: there are several originals; leave_parametrized must be True")
    del computed[tensor_name]
    _computes(module, list(computed))
    if not len(computed):
        delattr(module, "parametrizations")
    setattr(module, tensor_name, Parameter(value.detach()))
    return module


def _parametrized(who: str, module: Module, name: str, make: Callable[[Parameter], Module]) -> Module:
    weight = module.__dict__.get(name)
    if not isinstance(weight, Parameter):
        raise ValueError(f"{who}: {type(module).__name__} has no parameter {name!r}, only "
                         f"{[n for n, _ in module.named_parameters(recurse=False)]}")
    made = make(weight)
    delattr(module, name)
    if "parametrizations" not in module.__dict__:
        module.register_module("parametrizations", ModuleDict())
    module.__dict__["parametrizations"][name] = made
    _computes(module, list(module.__dict__["parametrizations"]))
    return module


def _computes(module: Module, names: Collection[str]) -> None:
    """Give the module a class of its own, with a property of each name; or the one it had, if there is none."""
    plain = vars(type(module)).get("_plain", type(module))
    properties = {name: property(partial(_computed, name=name)) for name in names}
    module.__class__ = type(f"Parametrized{plain.__name__}", (plain,), {
        "_plain": plain, "__module__": plain.__module__, **properties}) if names else plain


def _computed(module: Module, name: str) -> Tensor:
    return module.__dict__["parametrizations"][name]()


class _WeightNorm(Module):
    def __init__(self, weight: Parameter, dim: int | None):
        axes = range(weight.ndim)
        self.axis = tuple(axes) if dim is None else tuple([a for a in axes if a != dim % weight.ndim])
        self.original0 = Parameter(_length(weight.detach(), self.axis, dim is not None).numpy())
        self.original1 = Parameter(weight.detach().numpy())

    def forward(self) -> Tensor:
        return self.original1 * (self.original0 / _length(self.original1, self.axis, self.original0.ndim > 0))


def _length(v: Tensor, axis: tuple[int, ...], keepdim: bool) -> Tensor:
    return (v * v).sum(axis=axis, keepdim=keepdim).sqrt() if axis else v.abs()


class _OfOne(Module):
    """A parameter computed from one Tensor, by modules that PyTorch calls "0", "1", ..."""

    def __init__(self, weight: Tensor, computation: Module):
        self.original = Parameter(weight.detach().numpy())
        self.register_module("0", computation)

    def steps(self) -> list[Module]:
        return [module for _, module in self.named_children()]

    def forward(self) -> Tensor:
        x: Tensor = self.original
        for step in self.steps():
            x = step(x)
        return x


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Parameter, iterations: int, eps: float, dim: int):
        if iterations < 1:
            raise ValueError(f"spectral_norm: n_power_iterations={iterations} must be at least 1")
        self.iterations, self.eps, self.dim = iterations, eps, dim % weight.ndim
        if weight.ndim > 1:
            matrix = self._matrix(weight).detach()
            for name, n in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, _unit(Tensor.randn(n, dtype=weight.dtype), eps))
            for _ in range(15):
                self._iterate(matrix)

    def _matrix(self, w: Tensor) -> Tensor:
        rows = w if self.dim == 0 else w.transpose(0, self.dim)
        return rows.reshape(rows.shape[0], -1)

    def _iterate(self, matrix: Tensor) -> None:
        with no_grad():
            self._u.assign(_unit(matrix @ self._v, self.eps))
            self._v.assign(_unit(matrix.T @ self._u, self.eps))

    def forward(self, w: Tensor) -> Tensor:
        if w.ndim == 1:
            return _unit(w, self.eps)
        matrix = self._matrix(w)
        if self.training:
            for _ in range(self.iterations):
                self._iterate(matrix.detach())
        sigma = (self._u.clone() * (matrix @ self._v.clone())).sum()  # clones: the next reading changes them in place
        return w / sigma


def _unit(x: Tensor, eps: float) -> Tensor:
    return x / (x * x).sum().sqrt().maximum(eps)
