"""Residual connections, y = x + F(x). Their Jacobian I + dF/dx lets gradients bypass F at any depth (003)."""

from __future__ import annotations

from collections.abc import Callable

from tinygrad_like.core.tensor import Tensor

from .activation import ReLU, make_activation
from .dropout import Dropout
from .linear import Linear
from .module import Module, Parameter
from .norm import Norm, make_norm


class Residual(Module):
    """y = scale f(x) + projection(x); without a projection, y = scale f(x) + x.

    f: a Module (or function) whose result has the shape of the projected x. If its first layer is a norm, this is a
    pre-norm block; `Sequential(Residual(f), norm)` is a post-norm block (003). scale: 1/sqrt(L) keeps the variance
    after L blocks independent of L (003). projection: a Module (or function) that maps x to the shape of f(x): a
    Linear, or a 1x1 convolution.

    Raises ValueError if the two shapes differ; they are not broadcast.
    """

    def __init__(self, f: Callable[[Tensor], Tensor], scale: float = 1.0,
                 projection: Callable[[Tensor], Tensor] | None = None):
        for name, part in (("f", f), ("projection", projection)):
            if not callable(part) and (name == "f" or part is not None):
                raise TypeError(f"Residual: {name} must be a Module or a function, got {type(part).__name__}")
        self.f, self.scale, self.projection = f, scale, projection

    def forward(self, x: Tensor) -> Tensor:
        y = self.f(x)
        skip = x if self.projection is None else self.projection(x)
        if y.shape != skip.shape:
            raise ValueError(self._mismatch(x, y, skip))
        return skip + (y if self.scale == 1 else y * self.scale)

    def _mismatch(self, x: Tensor, y: Tensor, skip: Tensor) -> str:
        if self.projection is not None:
            return f"Residual: for an input {x.shape}, f returns {y.shape} but projection {skip.shape}; they must agree"
        text = f"Residual: f maps {x.shape} to {y.shape}, which cannot be added to its input"
        if x.ndim == y.ndim == 4:
            return (f"{text}; pass projection=, a 1x1 convolution from {x.shape[1]} to {y.shape[1]} channels with f's "
                    "stride")
        if x.ndim and x.shape[:-1] == y.shape[:-1]:
            return f"{text}; pass projection=nn.Linear({x.shape[-1]}, {y.shape[-1]})"
        return f"{text}; pass projection=, a layer that maps {x.shape} to {y.shape}"

    def extra_repr(self) -> str:
        return "" if self.scale == 1 else f"scale={self.scale:g}"


class Res(Module):
    """The simplified residual block: Res(z) = z + sigma(MM_1(sigma(MM_2(z)))) (7.38).

    MM_2 acts first, as in the equation. z: (..., features) -> (..., features).

    activation: a function that returns the layer sigma, such as nn.ReLU. scale: the branch's factor, see Residual.
    zero_init: start as the identity (003), with MM_1 = 0. If sigma(0) is not 0, or if sigma'(0) is 0, as for ReLU, and
    no gradient would reach MM_1, a learned `gain`, initially 0, multiplies the branch instead (Bachlechner et al.,
    ReZero is all you need, 2020). small_init: scale MM_1's initial parameters by this factor, such as 0.1, to start
    near the identity (004). norm: a function that returns a norm for the branch's input, such as nn.LayerNorm: z +
    F(norm(z)) (003). dropout: the probability of dropping each element of the branch in training (003).
    """

    def __init__(self, features: int, activation: Callable[[], Module] = ReLU, scale: float = 1.0,
                 zero_init: bool = False, norm: Norm = None, dropout: float = 0.0, small_init: float = 1.0):
        self.mm2 = Linear(features, features)
        self.mm1 = Linear(features, features)
        self.activation = make_activation("Res", activation)
        self.norm = None if norm is None else make_norm("Res", norm, features)
        self.dropout = Dropout(dropout) if dropout else None
        self.scale = scale
        self.gain = Parameter(Tensor.zeros(1)) if zero_init and not self._starts() else None
        factor = 0 if zero_init and self.gain is None else small_init
        for parameter in self.mm1.parameters() if factor != 1 else ():
            parameter.assign(parameter._data * parameter.dtype.type(factor))

    def _starts(self) -> bool:
        """Whether, with MM_1 = 0, the block is the identity and can learn."""
        x = Tensor([0.0], requires_grad=True)
        y = self.activation(x)
        return y.item() == 0 != y.sum().gradient(x)[0].item()

    def forward(self, z: Tensor) -> Tensor:
        update = z if self.norm is None else self.norm(z)
        update = self.activation(self.mm1(self.activation(self.mm2(update))))
        if self.dropout is not None:
            update = self.dropout(update)
        if self.gain is not None:
            update = update * self.gain
        return z + (update if self.scale == 1 else update * self.scale)

    def extra_repr(self) -> str:
        return "" if self.scale == 1 else f"scale={self.scale:g}"
