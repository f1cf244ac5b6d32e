"""Weights that are computed from others, which are trained: `weight_norm` and `spectral_norm`."""

from __future__ import annotations

from typing import Any

from tinygrad_like.core.tensor import Tensor
from tinygrad_like.transforms.switches import no_grad

from ..conv import ConvTranspose1d, ConvTranspose2d
from ..module import Module, Parameter


def length(v: Tensor, dim: int | None) -> Tensor:
    """The Euclidean norm over all axes but dim, which broadcasts to v; over all, if it is None."""
    axes = tuple([a for a in range(v.ndim) if dim is None or a != dim % v.ndim])
    return (v * v).sum(axis=axes, keepdim=dim is not None).sqrt() if axes else v.abs()


def as_matrix(w: Tensor, dim: int) -> Tensor:
    """w as a matrix whose rows lie along an axis."""
    rows = w if dim == 0 else w.transpose(0, dim)
    return rows.reshape(rows.shape[0], -1)


def output_axis(module: Module) -> int:
    """The axis of the output channels of its weight."""
    return 1 if isinstance(module, ConvTranspose1d | ConvTranspose2d) else 0


def unit(x: Tensor, eps: float) -> Tensor:
    return x / (x * x).sum().sqrt().maximum(eps)


class _WeightNorm:
    def __init__(self, name: str, dim: int | None):
        self.name, self.dim, self.parts = name, dim, (f"{name}_g", f"{name}_v")

    def compute(self, module: Module) -> Tensor:
        g, v = [module.__dict__[part] for part in self.parts]
        return v * (g / length(v, self.dim))


class _SpectralNorm:
    def __init__(self, name: str, iterations: int, eps: float, dim: int):
        self.name, self.iterations, self.eps, self.dim = name, iterations, eps, dim
        self.parts = f"{name}_orig", f"{name}_u", f"{name}_v"

    def compute(self, module: Module) -> Tensor:
        w, u, v = [module.__dict__[part] for part in self.parts]
        u, v = u.clone(), v.clone()  # the next call changes them in place
        return w / (u * (as_matrix(w, self.dim) @ v)).sum()

    def __call__(self, module: Module, inputs: Any) -> None:
        """Before each forward."""
        w, u, v = [module.__dict__[part] for part in self.parts]
        if module.training:
            with no_grad():
                for _ in range(self.iterations):
                    v.assign(unit(as_matrix(w, self.dim).T @ u, self.eps))
                    u.assign(unit(as_matrix(w, self.dim) @ v, self.eps))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a parameter as w = g v / ||v||, from parameters `weight_g` and `weight_v` (Salimans, Kingma 2016).

    dim: the axis along which there are several vectors, each with its own length; None for a single one.
    Raises ValueError if there is no such parameter.
    """
    w = _parameter("weight_norm", module, name)
    norm = _WeightNorm(name, dim)
    delattr(module, name)
    with no_grad():
        g = Parameter(length(w, dim), w.requires_grad)
    for part, parameter in zip(norm.parts, (g, Parameter(w.detach(), w.requires_grad)), strict=True):
        module.register_parameter(part, parameter)
    computed(module, norm)
    return module


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Compute a parameter as w = W / (u^T W v), with u and v near the largest singular vectors (Miyato et al. 2018).

    W is the parameter `weight_orig`, as a matrix; the buffers `weight_u` and `weight_v` come closer by so many power
    iterations in each call of the module while it trains: v = W^T u / ||W^T u||, u = W v / ||W v||. dim: the axis of
    the matrix's rows, by default that of the output channels. Raises ValueError if there is no such parameter.
    """
    w = _parameter("spectral_norm", module, name)
    if n_power_iterations < 1:
        raise ValueError(f"spectral_norm: n_power_iterations={n_power_iterations} must be at least 1")
    norm = _SpectralNorm(name, n_power_iterations, eps, (output_axis(module) if dim is None else dim) % w.ndim)
    delattr(module, name)
    module.register_parameter(norm.parts[0], w)
    for part, n in zip(norm.parts[1:], as_matrix(w.detach(), norm.dim).shape, strict=True):
        module.register_buffer(part, unit(Tensor.randn(n, dtype=w.dtype), eps))
    module.register_forward_pre_hook(norm)
    computed(module, norm)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make a parameter of what `weight_norm` computes now. Raises ValueError if nothing does."""
    return _remove("weight_norm", module, name, _WeightNorm)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make a parameter of what `spectral_norm` computes now. Raises ValueError if nothing does."""
    return _remove("spectral_norm", module, name, _SpectralNorm)


def _parameter(who: str, module: Module, name: str) -> Parameter:
    """A parameter of a module; ValueError if there is none."""
    w = module.__dict__.get(name)
    if not isinstance(w, Parameter):
        raise ValueError(f"{who}: {type(module).__name__} has no parameter {name!r}, only "
                         f"{[n for n, _ in module.named_parameters(recurse=False)]}")
    return w


def _remove(who: str, module: Module, name: str, kind: Any) -> Module:
    norm: Any = computed_by(module, name)
    if not isinstance(norm, kind):
        raise ValueError(f"remove_{who}: {name!r} of {type(module).__name__} is not computed by {who}")
    with no_grad():
        w = Parameter(norm.compute(module).detach(), module.__dict__[norm.parts[0]].requires_grad)
    computed(module, norm, remove=True)
    for part in norm.parts:
        delattr(module, part)
    before: dict = module._hooks.before if module._hooks is not None else {}
    for key in [k for k, hook in before.items() if isinstance(hook, _SpectralNorm) and hook.name == name]:
        del before[key]
    module.register_parameter(name, w)
    return module


def computed_by(module: Module, name: str | None = None) -> Any:
    """What computes the parameter of a module; without a name, that of all that are computed, by their names."""
    made = vars(type(module)).get("_computed", {})
    return made if name is None else made.get(name)


def computed(module: Module, by: Any, remove: bool = False) -> None:
    """Give the module a class of its own, in which the parameter `by.name` is `by.compute(module)`; or, to remove that,
    the class it had."""
    plain = vars(type(module)).get("_plain_parameters", type(module))
    made = {name: other for name, other in computed_by(module).items() if name != by.name}
    made |= {} if remove else {by.name: by}
    module.__class__ = type(plain.__name__, (plain,), {
        "_plain_parameters": plain, "_computed": made, "__module__": plain.__module__,
        **{name: property(other.compute, _set) for name, other in made.items()}}) if made else plain


def _set(module: Module, value: Any) -> None:
    raise ValueError(f"{type(module).__name__}: this parameter is computed; set what it is computed from, or remove "
                     "its norm first")
