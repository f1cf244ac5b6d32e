"""Recurrent layers: they carry a state along a sequence, h_t = f(x_t, h_(t-1)).

One matmul projects the inputs of all steps. The part that needs the state is a loop over time, which backward walks in
reverse: backpropagation through time. For LSTM and GRU, the whole loop is one op (ops/recurrent.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import NARROW
from tinygrad_like.ops.dropout import check_probability
from tinygrad_like.ops.recurrent import gru_step, lstm_step

from . import init
from .module import Module, Parameter, check_positive

State = tuple[Tensor, ...]  # (h,), or (h, c) of an LSTM: each (batch, hidden_size)


def _rnn(act: Callable) -> Callable:
    def step(x: Tensor, state: State, weight: Tensor, bias: Tensor | None) -> State:
        return (act(x + ops.linear(state[0], weight, bias)),)

    return step


_RNNS = {"tanh": _rnn(ops.tanh), "relu": _rnn(ops.relu)}


def _checked(who: str, nonlinearity: str) -> str:
    if nonlinearity not in _RNNS:
        raise ValueError(f"{who}: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
    return nonlinearity


def _in_float32(tensors: Iterable[Tensor | None]) -> tuple:
    """The tensors, with 16-bit ones cast to float32."""
    return tuple([t.float() if t is not None and t.dtype in NARROW else t for t in tensors])


class _Recurrent(Module):
    """Weights of one or several cells, with PyTorch's names and initial values."""

    gates: int  # a step computes gates * hidden_size numbers
    states = 1
    step: Callable  # (projected input, state, weight_hh, bias_hh) -> state
    hidden_size: int
    bias: bool

    def _make(self, suffix: str, inputs: int) -> None:
        rows = self.gates * self.hidden_size
        for name, shape in (("weight_ih", (rows, inputs)), ("weight_hh", (rows, self.hidden_size)),
                            ("bias_ih", (rows,)), ("bias_hh", (rows,))):
            if self.bias or name.startswith("weight"):
                setattr(self, name + suffix, Parameter(Tensor.empty(*shape)))

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from [-1/sqrt(hidden_size), 1/sqrt(hidden_size)) as in PyTorch."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _weights(self, suffix: str) -> list:
        return [self.__dict__.get(name + suffix) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]

    def _states(self, hx: Any, lead: tuple[int, ...], like: Tensor) -> State:
        """The given initial state, or zeros: (*lead, size)."""
        shape = (*lead, self.hidden_size)
        if hx is None:
            return (ops.expand(Tensor.zeros(1, dtype=like.dtype), shape=shape),) * self.states
        state = (hx,) if self.states == 1 else tuple(hx)
        for s in state:
            if not isinstance(s, Tensor) or s.shape != shape:
                raise ValueError(f"{type(self).__name__}: the initial state must have shape {shape}, got "
                                 f"{getattr(s, 'shape', type(s).__name__)}")
        return state

    def _run(self, suffix: str, x: Tensor, state: State, reverse: bool) -> tuple[Tensor, State]:
        """Run one cell over a whole sequence (length, batch, inputs)."""
        weights = self._weights(suffix)
        dtypes = {t.dtype for t in (x, *weights, *state) if t is not None}
        if dtypes.isdisjoint(NARROW):
            return self._steps(x, weights, state, reverse)
        y, state = self._steps(_in_float32((x,))[0], _in_float32(weights), _in_float32(state), reverse)
        if len(dtypes) > 1:
            return y, state
        dtype = dtypes.pop()  # round once, after all steps, not at each step
        return y.cast(dtype), tuple(s.cast(dtype) for s in state)

    def _steps(self, x: Tensor, weights: Iterable[Any], state: State, reverse: bool) -> tuple[Tensor, State]:
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        if self.step is lstm_step:
            bias = bias_ih if bias_hh is None else bias_ih + bias_hh
            out = ops.lstm(ops.linear(x, weight_ih, bias), state[0], state[1], weight_hh, reverse=reverse)
            return out[:-1], (out[0 if reverse else -2], out[-1])
        if self.step is gru_step:
            out = ops.gru(ops.linear(x, weight_ih, bias_ih), state[0], weight_hh, bias_hh, reverse=reverse)
            return out, (out[0 if reverse else -1],)
        steps = ops.unbind(ops.linear(x, weight_ih, bias_ih), 0)
        outputs = []
        for step in reversed(steps) if reverse else steps:
            state = self.step(step, state, weight_hh, bias_hh)
            outputs.append(state[0])
        return ops.stack(*(outputs[::-1] if reverse else outputs), axis=0), state

    def _returned(self, state: State) -> Any:
        return state[0] if self.states == 1 else state


class _Layers(_Recurrent):
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False):
        check_positive(self, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        check_probability(type(self).__name__, dropout)
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        self._suffixes = ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            for suffix in self._suffixes:
                self._make(f"_l{layer}{suffix}", hidden_size * len(self._suffixes) if layer else input_size)
        self.reset_parameters()

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        """The last layer's h at every step, and all layers' states after the last step."""
        pair = isinstance(hx, tuple | list) and len(hx) == 2
        if hx is not None and not (isinstance(hx, Tensor) if self.states == 1 else pair):
            wanted = "a Tensor" if self.states == 1 else "a pair (h, c)"
            raise TypeError(f"{type(self).__name__}: the state must be {wanted}, got {type(hx).__name__}")
        who, unbatched = type(self).__name__, input.ndim == 2
        if input.ndim not in (2, 3) or input.shape[-1] != self.input_size:
            order = "batch, length" if self.batch_first else "length, batch"
            raise ValueError(f"{who}: takes ({order}, {self.input_size}) or (length, {self.input_size}), got shape "
                             f"{input.shape}")
        x = input.unsqueeze(1) if unbatched else input.transpose(0, 1) if self.batch_first else input
        if not len(x):
            raise ValueError(f"{who}: the sequence is empty, shape {input.shape}")
        if hx is not None and unbatched:
            hx = hx.unsqueeze(1) if self.states == 1 else tuple(s.unsqueeze(1) for s in hx)
        x, states = self._layers(x, hx)
        if unbatched:
            return x.squeeze(1), self._returned(tuple(s.squeeze(1) for s in states))
        return x.transpose(0, 1) if self.batch_first else x, self._returned(states)

    def _layers(self, x: Tensor, hx: Any) -> tuple[Tensor, State]:
        """Run all layers over sequences (length, batch, inputs); also return their last states."""
        cells = self.num_layers * len(self._suffixes)
        first = [s.unbind(0) for s in self._states(hx, (cells, x.shape[1]), x)]
        last: list[State] = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = ops.dropout(x, self.dropout, self.training)
            outputs = []
            for suffix in self._suffixes:
                y, state = self._run(f"_l{layer}{suffix}", x, tuple(s[len(last)] for s in first), bool(suffix))
                outputs.append(y)
                last.append(state)
            x = outputs[0] if len(outputs) == 1 else ops.cat(*outputs, axis=-1)
        return x, tuple(ops.stack(*parts, axis=0) for parts in zip(*last, strict=True))

    def flatten_parameters(self) -> None:
        """Do nothing; PyTorch needs it on GPUs."""

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, default in (("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0),
                              ("bidirectional", False)):
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


class RNN(_Layers):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), or with nonlinearity="relu" max(..., 0) (Elman 1990).

    input (length, batch, input_size), or with batch_first=True (batch, length, input_size), or without a batch
    hx: the initial state (num_layers * directions, batch, hidden_size); zeros if None
    -> output (length, batch, directions * hidden_size), of the last layer, and the last states, of the shape of hx

    weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, and with `_reverse` for the second direction, are PyTorch's.
    dropout: for the inputs of every layer but the first, in training. Raises ValueError for shapes that do not fit.
    """

    gates = 1

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
                 bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False):
        self.nonlinearity = _checked("RNN", nonlinearity)
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)

    @property
    def step(self) -> Callable:  # type: ignore[override]
        return _RNNS[self.nonlinearity]


class LSTM(_Layers):
    """i, f, o = sigmoid(W x_t + U h_(t-1) + b), g = tanh(...); c_t = f c_(t-1) + i g; h_t = o tanh(c_t).

    Like RNN, but the state is a pair (h, c). The rows of the weights belong to i, f, g and o, in this order.
    Source: Hochreiter and Schmidhuber 1997; Gers et al. 2000.
    """

    gates, states = 4, 2
    step = staticmethod(lstm_step)


class GRU(_Layers):
    """r, z = sigmoid(W x_t + b + U h_(t-1) + d), n = tanh(W x_t + b + r (U h_(t-1) + d)); h_t = (1 - z) n + z h_(t-1).

    Like RNN. The rows of the weights belong to r, z and n, in this order. Source: Cho et al. 2014, in PyTorch's form.
    """

    gates = 3
    step = staticmethod(gru_step)


class _Cell(_Recurrent):
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True):
        check_positive(self, input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self._make("", input_size)
        self.reset_parameters()

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The state after one step."""
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise ValueError(f"{type(self).__name__}: takes (batch, {self.input_size}) or ({self.input_size},), got "
                             f"shape {input.shape}")
        state = self._states(hx, input.shape[:-1], input)
        if input.ndim == 2:
            return self._returned(self._next(input, state))
        after = self._next(input.unsqueeze(0), tuple([s.unsqueeze(0) for s in state]))
        return self._returned(tuple([s.squeeze(0) for s in after]))

    def _next(self, x: Tensor, state: State) -> State:
        return self._run("", x.unsqueeze(0), state, False)[1]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(_Cell):
    """One step of an RNN: input (batch, input_size), hx (batch, hidden_size) -> (batch, hidden_size)."""

    gates = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh"):
        self.nonlinearity = _checked("RNNCell", nonlinearity)
        super().__init__(input_size, hidden_size, bias)

    @property
    def step(self) -> Callable:  # type: ignore[override]
        return _RNNS[self.nonlinearity]

    def _next(self, x: Tensor, state: State) -> State:
        weight_ih, weight_hh, bias_ih, bias_hh = self._weights("")
        return self.step(ops.linear(x, weight_ih, bias_ih), state, weight_hh, bias_hh)


class LSTMCell(_Cell):
    """One step of an LSTM: input (batch, input_size), hx = (h, c) -> (h, c), each (batch, hidden_size)."""

    gates, states = 4, 2
    step = staticmethod(lstm_step)


class GRUCell(_Cell):
    """One step of a GRU: input (batch, input_size), hx (batch, hidden_size) -> (batch, hidden_size)."""

    gates = 3
    step = staticmethod(gru_step)
