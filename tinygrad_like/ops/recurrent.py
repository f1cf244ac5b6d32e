"""Recurrent layers over a whole sequence, each as one op (Hochreiter and Schmidhuber 1997; Cho et al. 2014).

A `linear` first computes the inputs' part of the gates for all steps at once. The rest is a loop over time, h_t =
f(x_t, h_(t-1)), which backward walks in reverse: backpropagation through time.
"""

from __future__ import annotations

from .activation import sigmoid, tanh
from .composite import composite
from .contracts import fits
from .matmul import linear
from .shape import stack


def lstm_step(x, state, weight, bias=None):
    """(h, c) after one step, given (h, c) before it and x (batch, 4 H), the inputs' part of the gates i, f, g and o."""
    h, c = state
    i, f, g, o = _gates(x + linear(h, weight, bias), 4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def gru_step(x, state, weight, bias=None):
    """(h,) after one step, given (h,) before it and x (batch, 3 H), the inputs' part of the gates r, z and n."""
    (h,) = state
    xr, xz, xn = _gates(x, 3)
    hr, hz, hn = _gates(linear(h, weight, bias), 3)
    r, z = sigmoid(xr + hr), sigmoid(xz + hz)
    n = tanh(xn + r * hn)
    return (n + z * (h - n),)


def _gates(x, count):
    size = x.shape[-1] // count
    return [x[..., k * size : (k + 1) * size] for k in range(count)]


def _over(step, x, state, weight, bias, reverse):
    """The h of every step, in the order of x, and the last state."""
    outputs = [None] * len(x)
    for t in range(len(x) - 1, -1, -1) if reverse else range(len(x)):
        state = step(x[t], state, weight, bias)
        outputs[t] = state[0]
    return outputs, state


@composite
def lstm(x, h, c, weight, *, reverse=False):
    """i, f, o = sigmoid(x_t + h U^T), g = tanh(x_t + h U^T), each with its rows; c <- f c + i g; h <- o tanh(c).

    x (T, batch, 4 H): the inputs' part of i, f, g and o, biases included; h, c (batch, H): the state before the first
    step; weight U (4 H, H) -> (T + 1, batch, H): h after every step, and in the last place c after the last step.

    reverse: run from the last step to the first; outputs keep the order of x.
    Raises ValueError for shapes that do not fit, TypeError for dtypes that differ.
    """
    outputs, (_, c) = _over(lstm_step, x, (h, c), weight, None, reverse)
    return stack(*outputs, c, axis=0)


lstm.requires(fits("weight (4*H, H), x (T, batch, 4*H), h (batch, H), c (batch, H)", nonempty="T"))


@composite
def gru(x, h, weight, bias=None, *, reverse=False):
    """r, z = sigmoid(x_t + h U^T + d), n = tanh(x_t + r (h U^T + d)), each with its rows; h <- (1 - z) n + z h.

    x (T, batch, 3 H): the inputs' part of r, z and n; h (batch, H): the state before the first step; weight U (3 H, H)
    and bias d (3 H,) -> (T, batch, H): h after every step.

    reverse and errors are those of `lstm`.
    """
    outputs, _ = _over(gru_step, x, (h,), weight, bias, reverse)
    return stack(*outputs, axis=0)


gru.requires(fits("weight (3*H, H), x (T, batch, 3*H), h (batch, H), bias? (3*H)", nonempty="T"))
