"""Parameters that are computed: PyTorch's `nn.utils.parametrizations`, with its `state_dict` keys."""

from __future__ import annotations

from tinygrad_like import Tensor, no_grad

from .conv import ConvTranspose1d, ConvTranspose2d
from .module import Module
from .parametrize import parameter_of, parametrized

__all__ = ["spectral_norm", "weight_norm"]


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a parameter as w = g v / ||v||: its length and its direction are trained apart (Salimans, Kingma 2016).

    dim: the axis along which there are several vectors, each with its own length; None for a single one.
    `parametrizations.weight` has g as original0 and v as original1. Raises ValueError if there is no such parameter.
    """
    return parametrized("weight_norm", module, name, _WeightNorm(dim), unsafe=True)


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Divide a parameter, as a matrix, by its largest singular value (Miyato et al. 2018): w = W / (u^T W v).

    While training, u and v come closer to the singular vectors by so many power iterations whenever w is read. dim: the
    axis of the matrix's rows, by default that of the output channels. Raises ValueError if there is no such parameter.
    """
    if dim is None:
        dim = 1 if isinstance(module, ConvTranspose1d | ConvTranspose2d) else 0
    weight = parameter_of("spectral_norm", module, name)
    return parametrized("spectral_norm", module, name, _SpectralNorm(weight, n_power_iterations, eps, dim), unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None):
        self.dim = dim

    def _axes(self, ndim: int) -> tuple[int, ...]:
        return tuple([a for a in range(ndim) if self.dim is None or a != self.dim % ndim])

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return v * (g / length(v, self._axes(v.ndim), g.ndim > 0))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return length(weight, self._axes(weight.ndim), self.dim is not None), weight


def length(v: Tensor, axis: tuple[int, ...], keepdim: bool) -> Tensor:
    return (v * v).sum(axis=axis, keepdim=keepdim).sqrt() if axis else v.abs()


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, iterations: int, eps: float, dim: int):
        if iterations < 1:
            raise ValueError(f"spectral_norm: n_power_iterations={iterations} must be at least 1")
        self.iterations, self.eps, self.dim = iterations, eps, dim % weight.ndim
        if weight.ndim > 1:
            matrix = self._matrix(weight).detach()
            for name, n in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, unit(Tensor.randn(n, dtype=weight.dtype), eps))
            for _ in range(15):
                self._iterate(matrix)

    def _matrix(self, w: Tensor) -> Tensor:
        rows = w if self.dim == 0 else w.transpose(0, self.dim)
        return rows.reshape(rows.shape[0], -1)

    def _iterate(self, matrix: Tensor) -> None:
        with no_grad():
            self._u.assign(unit(matrix @ self._v, self.eps))
            self._v.assign(unit(matrix.T @ self._u, self.eps))

    def forward(self, w: Tensor) -> Tensor:
        if w.ndim == 1:
            return unit(w, self.eps)
        matrix = self._matrix(w)
        if self.training:
            for _ in range(self.iterations):
                self._iterate(matrix.detach())
        sigma = (self._u.clone() * (matrix @ self._v.clone())).sum()  # clones: the next reading changes them in place
        return w / sigma


def unit(x: Tensor, eps: float) -> Tensor:
    return x / (x * x).sum().sqrt().maximum(eps)
