"""Transformer blocks (003; 004; Vaswani et al. 2017), with PyTorch's arguments and state_dict keys."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

from . import init
from .attention import KeyValueCache, MultiheadAttention
from .containers import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .norm import LayerNorm
from .position import RotaryEncoding

_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "relu": ops.relu, "gelu": ops.gelu, "gelu_tanh": ops.activation.gelu_tanh, "silu": ops.silu, "swiglu": ops.swiglu}
Activation = str | Callable[..., Any]


class FeedForward(Module):
    """FFN(x) = act(x W_1 + b_1) W_2 + b_2 at each position (004): x (..., dim) -> (..., dim).

    activation: "relu", "gelu", "gelu_tanh" (GPT-2's), "silu", "swiglu", or a function of Tensors. With "swiglu",
        linear1 returns value and gate side by side, and FFN(x) = (value * silu(gate)) W_2 + b_2 (003).
    hidden: the inner width; by default 4 dim, or 8/3 dim for "swiglu", both with 8 dim^2 weights (003).
    """

    def __init__(self, dim: int, hidden: int | None = None, activation: Activation = "relu", dropout: float = 0.0,
                 bias: bool = True):
        act = _ACTIVATIONS.get(activation) if isinstance(activation, str) else activation
        if not callable(act):
            raise ValueError(f"{type(self).__name__}: activation must be one of {', '.join(_ACTIVATIONS)} or a "
                             f"function, got {activation!r}")
        gated = act is ops.swiglu
        if hidden is None:
            hidden = 8 * dim // 3 if gated else 4 * dim
        self.linear1 = Linear(dim, 2 * hidden if gated else hidden, bias)
        self.activation = act
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(hidden, dim, bias)

    def feed_forward(self, x: Tensor) -> Tensor:
        """The FFN alone."""
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    forward: Any = feed_forward


class _Layer(FeedForward):
    """Residual blocks: one per attention, then the FFN, whose layers are this module's attributes, as in PyTorch."""

    _attentions: tuple[str, ...]
    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int | None = 2048, dropout: float = 0.1,
                 activation: Activation = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, *, sandwich: bool = False,
                 norm: Callable[..., Module] = LayerNorm, residual_scale: float = 1.0, zero_init: bool = False,
                 rotary: RotaryEncoding | None = None):
        for name in self._attentions:
            turn = rotary if name == "self_attn" else None
            attention = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, rotary=turn)
            self.register_module(name, attention)
        super().__init__(d_model, dim_feedforward, activation, dropout, bias)
        self.norm_first, self.sandwich, self.residual_scale = norm_first, sandwich, residual_scale
        options = {"eps": layer_norm_eps} if bias or norm is not LayerNorm else {"eps": layer_norm_eps, "bias": False}
        blocks = range(1, len(self._attentions) + 2)
        for i in blocks:
            self.register_module(f"norm{i}", norm(d_model, **options))
        for i in blocks if sandwich else ():
            self.register_module(f"norm{i}_after", norm(d_model, **options))
        for i in blocks:
            self.register_module(f"dropout{i}", Dropout(dropout))
        if zero_init:
            for last in (self.linear2, *(getattr(self, name).out_proj for name in self._attentions)):
                for parameter in last.parameters():
                    init.zeros_(parameter)

    def _residual(self, i: int, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
        """Block i: x + F(x), with norms where norm_first and sandwich put them."""
        norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        y = dropout(f(norm(x) if self.norm_first or self.sandwich else x))
        x = x + (y if self.residual_scale == 1 else y * self.residual_scale)
        if self.sandwich:
            return getattr(self, f"norm{i}_after")(x)
        return x if self.norm_first else norm(x)

    def extra_repr(self) -> str:
        layout = "sandwich" if self.sandwich else "pre-norm" if self.norm_first else "post-norm"
        return layout if self.residual_scale == 1 else f"{layout}, residual_scale={self.residual_scale:g}"


class TransformerEncoderLayer(_Layer):
    """Self-attention and FFN, each a residual block: src (length, batch, d_model) -> same shape (004).

    With batch_first=True the batch is the first axis. Layouts (003):
        post-norm, the default     y = Norm(x + F(x))
        norm_first=True            y = x + F(Norm(x))            pre-norm, easier to train when deep
        sandwich=True              y = Norm_2(x + F(Norm_1(x)))

    Beyond PyTorch's arguments: activation: may be "swiglu", see FeedForward. dim_feedforward: None for FeedForward's
    default. norm: a function from a size and eps to a norm, such as LayerNorm (the default) or RMSNorm. residual_scale:
    the factor of every F; 1/sqrt(L) for L blocks keeps the variance independent of depth (003). zero_init: start with
    every F(x) = 0, by setting its last projection to 0 (003). rotary: see MultiheadAttention.

    Raises ValueError if nhead does not divide d_model.
    """

    _attentions = ("self_attn",)

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False, cache: KeyValueCache | None = None) -> Tensor:
        """The masks are those of MultiheadAttention: True means hidden."""
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, key_padding_mask=src_key_padding_mask, need_weights=False, attn_mask=src_mask,
                                  is_causal=is_causal, cache=cache)[0]

        return self._residual(2, self._residual(1, src, attend), self.feed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and FFN, each a residual block (004).

    tgt (length, batch, d_model), memory (source length, batch, d_model) -> the shape of tgt; with batch_first=True the
    batch is the first axis. The arguments are those of TransformerEncoderLayer.
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        """The masks are those of MultiheadAttention: True means hidden."""
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, key_padding_mask=tgt_key_padding_mask, need_weights=False, attn_mask=tgt_mask,
                                  is_causal=tgt_is_causal)[0]

        def look_up(x: Tensor) -> Tensor:
            return self.multihead_attn(x, memory, memory, key_padding_mask=memory_key_padding_mask, need_weights=False,
                                       attn_mask=memory_mask, is_causal=memory_is_causal)[0]

        return self._residual(3, self._residual(2, self._residual(1, tgt, attend), look_up), self.feed_forward)


def _copies(who: str, layer: Module, num_layers: int, norm: Module | None) -> ModuleList:
    for what, part in (("the layer to copy", layer), ("norm", norm)):
        if not isinstance(part, Module) and (part is layer or part is not None):
            raise TypeError(f"{who}: {what} must be a Module, got {type(part).__name__}")
    if not isinstance(num_layers, int) or not 0 <= num_layers < 10_000:
        raise ValueError(f"{who}: num_layers must be an integer from 0 to 9,999, got {num_layers!r}")
    return ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])


class TransformerEncoder(Module):
    """num_layers copies of a layer one after the other, then an optional norm.

    As in PyTorch, all copies start with the same parameters. enable_nested_tensor, mask_check: accepted without effect;
    they choose between ways to compute the same result.
    """

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True):
        self.layers, self.norm = _copies("TransformerEncoder", encoder_layer, num_layers, norm), norm

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """num_layers copies of a layer one after the other, then an optional norm; see TransformerEncoder."""

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None):
        self.layers, self.norm = _copies("TransformerDecoder", decoder_layer, num_layers, norm), norm

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                        tgt_is_causal, memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)
