"""Parameters that are computed: PyTorch's `nn.utils.parametrizations`, with its `state_dict` keys."""

from __future__ import annotations

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import finfo
from tinygrad_like.transforms.switches import no_grad

from .conv import ConvTranspose1d, ConvTranspose2d
from .module import Module
from .parametrize import parameter_of, parametrized

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


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
    weight = parameter_of("spectral_norm", module, name)
    norm = _SpectralNorm(weight, n_power_iterations, eps, output_axis(module) if dim is None else dim)
    return parametrized("spectral_norm", module, name, norm, unsafe=True)


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> Module:
    """Compute a parameter as a matrix Q (..., m, n) with Q^T Q = I, or Q Q^T = I if m < n (Lezcano-Casado 2019).

    orthogonal_map: "matrix_exp", e^(A - A^T) of the lower triangle A of the original, "cayley",
    (I + S / 2) (I - S / 2)^-1 with S = A - A^T, or "householder", a product of reflections (see
    `linalg.householder_product`); by default the first for square matrices, else the last.
    use_trivialization: Q times a constant matrix, the buffer `base`, so that the parameter, made orthogonal, is what it
    begins with, and may be set. Without, only "householder" may.

    Raises ValueError if there is no such parameter, it has less than two axes, or for another map.
    """
    weight = parameter_of("orthogonal", module, name)
    if weight.ndim < 2:
        raise ValueError(f"orthogonal: takes matrices in the last two axes, but {name} has shape {weight.shape}")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-1] == weight.shape[-2] else "householder"
    return parametrized("orthogonal", module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), True)


class _Orthogonal(Module):
    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool):
        if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
            raise ValueError(f"orthogonal: orthogonal_map={orthogonal_map!r} must be one of matrix_exp, cayley, "
                             "householder")
        self.shape, self.orthogonal_map, self.trivialized = weight.shape, orthogonal_map, use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        x = x.mT if wide else x
        m, n = x.shape[-2:]
        if self.orthogonal_map == "householder":
            v = x.tril(-1)
            q = ops.linalg.householder_product(v, 2 / (1 + v.square().sum(axis=-2)))
            q = q * x.detach().diagonal(0, -2, -1).trunc().unsqueeze(-2)
        else:
            lower = x.tril()
            if m != n:
                lower = ops.cat(lower, Tensor.zeros(*x.shape[:-1], m - n, dtype=x.dtype), axis=-1)
            skew = lower - lower.mT
            eye = Tensor.eye(m, dtype=x.dtype)
            q = ops.linalg.matrix_exp(skew) if self.orthogonal_map == "matrix_exp" else ops.linalg.solve(
                eye - skew / 2, eye + skew / 2)
            q = q[..., :n]
        if self.trivialized and self.base is not None:
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, q: Tensor) -> Tensor:
        if q.shape != self.shape:
            raise ValueError(f"orthogonal: the parameter has shape {self.shape}, and is set to shape {q.shape}")
        wide = q.shape[-2] < q.shape[-1]
        tall = q.mT if wide else q
        m, n = tall.shape[-2:]
        if not self.trivialized:
            if self.orthogonal_map != "householder":
                raise NotImplementedError("orthogonal: without use_trivialization a parameter that "
                                          f"{self.orthogonal_map} computes cannot be set")
            return _reflections(tall).mT if wide else _reflections(tall)
        if m != n:
            tall = ops.cat(tall, Tensor.randn(*tall.shape[:-1], m - n, dtype=tall.dtype), axis=-1)
        rounded = 10 * m * float(finfo(tall.dtype).eps)
        if m != n or not np.allclose((tall.mT @ tall).detach().numpy(), np.eye(n), atol=rounded):
            factor, r = ops.linalg.qr(tall)
            tall = factor * r.diagonal(0, -2, -1).sign().unsqueeze(-2)
        self.base = tall.clone()
        return Tensor(np.broadcast_to(-np.eye(*q.shape[-2:], dtype=q.dtype), q.shape))


def _reflections(q: Tensor) -> Tensor:
    """The columns v of the reflections whose product QR makes Q of, below a diagonal of the signs of R's."""
    h, tau = np.linalg.qr(q.detach().numpy(), mode="raw")
    a = np.array(np.swapaxes(h, -1, -2), q.dtype)
    i = np.arange(q.shape[-1])
    a[..., i, i] = np.where(tau == 0, -1, 1) * np.sign(a[..., i, i])
    return Tensor(a)


class _WeightNorm(Module):
    def __init__(self, dim: int | None):
        self.dim = dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return v * (g / length(v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return length(weight, self.dim), weight


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


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, iterations: int, eps: float, dim: int):
        if iterations < 1:
            raise ValueError(f"spectral_norm: n_power_iterations={iterations} must be at least 1")
        self.iterations, self.eps, self.dim = iterations, eps, dim % weight.ndim
        if weight.ndim > 1:
            matrix = as_matrix(weight, self.dim).detach()
            for name, n in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, unit(Tensor.randn(n, dtype=weight.dtype), eps))
            for _ in range(15):
                self._iterate(matrix)

    def _iterate(self, matrix: Tensor) -> None:
        with no_grad():
            self._u.assign(unit(matrix @ self._v, self.eps))
            self._v.assign(unit(matrix.T @ self._u, self.eps))

    def forward(self, w: Tensor) -> Tensor:
        if w.ndim == 1:
            return unit(w, self.eps)
        matrix = as_matrix(w, self.dim)
        if self.training:
            for _ in range(self.iterations):
                self._iterate(matrix.detach())
        sigma = (self._u.clone() * (matrix @ self._v.clone())).sum()  # clones: the next reading changes them in place
        return w / sigma


def unit(x: Tensor, eps: float) -> Tensor:
    return x / (x * x).sum().sqrt().maximum(eps)
