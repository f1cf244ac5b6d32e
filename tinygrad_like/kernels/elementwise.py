"""Elementwise functions of float32 arrays, forward and backward in one pass over memory each, and broadcast arithmetic.

Each function is written once, for one number; loops over it vectorise (see vectormath). To keep compilation short there
is one kernel for arithmetic (relu counts as such), one for all other functions and one for their derivatives, each told
by an integer what to compute. Where `out` is given it holds the result; it shares no memory with an operand.
"""

import math
from collections.abc import Callable

import numpy as np
from numba import njit

from ..dtypes import FLOAT32
from .simd import kernel
from .tasks import flat, flat_out, run
from .vectormath import HALF, INNER, ONE, SCALAR, F, erf, exp, expm1, log1p_unit, sigmoid, tanh

PARALLEL_FROM = 49152  # numbers; to start the threads costs as much as some 3 us of work
FUNCTIONS_PARALLEL_FROM = 16384

ZERO = F(0)
SQRT_HALF = F(np.sqrt(0.5))
TANH_SCALE, TANH_CUBIC = F(np.sqrt(8 / np.pi)), F(0.044715)


# --- Arithmetic: bound by memory, not by computing --------------------------------------------------------------------

ADD, SUBTRACT, MULTIPLY, DIVIDE, ACCUMULATE, RELU, KEEP_POSITIVE = range(7)
SHORTEST = 32  # numbers in a loop that is worth starting
FEW = 16  # rows of which each task would get too few for shares to be alike

Operand = np.ndarray | float


@njit(**INNER)
def _with_row(op, a, b, out):
    """Every row of the matrix a with the row b."""
    m, n = out.shape
    if op == ADD:
        for k in range(m):
            for i in range(n):
                out[k, i] = a[k, i] + b[i]
    elif op == SUBTRACT:
        for k in range(m):
            for i in range(n):
                out[k, i] = a[k, i] - b[i]
    elif op == MULTIPLY:
        for k in range(m):
            for i in range(n):
                out[k, i] = a[k, i] * b[i]
    elif op == DIVIDE:
        for k in range(m):
            for i in range(n):
                out[k, i] = a[k, i] / b[i]
    elif op == ACCUMULATE:
        for k in range(m):
            for i in range(n):
                out[k, i] += b[i]  # were out to be read as a, LLVM would see two arrays that overlap, and not vectorise
    elif op == RELU:
        for k in range(m):
            for i in range(n):
                out[k, i] = ZERO if a[k, i] <= ZERO else a[k, i]  # this way round, NaN stays NaN
    elif op == KEEP_POSITIVE:
        for k in range(m):
            for i in range(n):
                out[k, i] = ZERO if b[i] <= ZERO else a[k, i]


@njit(**INNER)
def _with_column(op, a, b, out, rows, columns):
    """Row k of the matrix a with the number b[k % b.size]: the rows and columns of these ranges (first, last + 1)."""
    for k in range(*rows):
        x, a_k, out_k = b[k % b.size], a[k, columns[0] : columns[1]], out[k, columns[0] : columns[1]]
        if op == ADD:
            for i in range(out_k.size):
                out_k[i] = a_k[i] + x
        elif op == SUBTRACT:
            for i in range(out_k.size):
                out_k[i] = a_k[i] - x
        elif op == MULTIPLY:
            for i in range(out_k.size):
                out_k[i] = a_k[i] * x
        elif op == DIVIDE:
            for i in range(out_k.size):
                out_k[i] = a_k[i] / x


@kernel()
def _arithmetic_task(op, a, b, repeat, out, task, tasks):
    """A share of out[i] = a[i] op b[i // repeat % b.size]."""
    if repeat > 1:
        m = a.size // repeat
        if m >= FEW * tasks:
            rows, columns = (task * m // tasks, (task + 1) * m // tasks), (0, repeat)
        else:
            rows, columns = (0, m), (task * repeat // tasks, (task + 1) * repeat // tasks)
        _with_column(op, a.reshape(m, repeat), b, out.reshape(m, repeat), rows, columns)
    else:
        rows = a.size // b.size if b.size else 0
        if rows > 1:
            start, stop = task * rows // tasks * b.size, (task + 1) * rows // tasks * b.size
        else:
            start, stop = task * a.size // tasks, (task + 1) * a.size // tasks
            b = b[start:stop]
        rows = (stop - start) // b.size if b.size else 0
        _with_row(op, a[start:stop].reshape(rows, b.size), b, out[start:stop].reshape(rows, b.size))


def _repeat(small: tuple[int, ...], large: tuple[int, ...]) -> int:
    """How often `small`, broadcast to `large` and made flat, repeats each of its numbers, before it starts all over.

    That covers scalars, rows, columns and channels. For the other cases, 0.
    """
    if len(small) > len(large):
        return 0
    start, end, added = 0, len(small), len(large) - len(small)
    while end and small[end - 1] == 1:
        end -= 1
    while start < end and small[start] == 1:
        start += 1
    if start == end:
        return math.prod(large)
    if small[start:end] != large[added + start : added + end]:
        return 0
    return math.prod(large[added + end :])


def _combine(op: int, ufunc: Callable, a: Operand, b: Operand, out: np.ndarray | None) -> np.ndarray:
    if op in (ADD, MULTIPLY) and getattr(a, "size", 1) < getattr(b, "size", 1):
        a, b = b, a
    if type(a) is np.ndarray and a.size >= PARALLEL_FROM and a.dtype is FLOAT32 and a.flags.c_contiguous:
        if type(b) in (float, int):
            b = np.array(b, FLOAT32)
        if type(b) is np.ndarray and b.dtype is FLOAT32 and b.flags.c_contiguous:
            repeat = 1 if a.shape == b.shape else _repeat(b.shape, a.shape)
            if repeat == 1 or repeat >= SHORTEST:
                y, row = flat_out(out, a.shape)
                run(_arithmetic_task, True, op, flat(a), flat(b), repeat, row)
                return y
    return ufunc(a, b, out=out)


def add(a: Operand, b: Operand, out: np.ndarray | None = None) -> np.ndarray:
    """a + b, arrays or numbers. This and the next three are NumPy's, until an array is large enough for all threads."""
    return _combine(ADD, np.add, a, b, out)


def subtract(a: Operand, b: Operand, out: np.ndarray | None = None) -> np.ndarray:
    """a - b"""
    return _combine(SUBTRACT, np.subtract, a, b, out)


def multiply(a: Operand, b: Operand, out: np.ndarray | None = None) -> np.ndarray:
    """a * b"""
    return _combine(MULTIPLY, np.multiply, a, b, out)


def divide(a: Operand, b: Operand, out: np.ndarray | None = None) -> np.ndarray:
    """a / b"""
    return _combine(DIVIDE, np.true_divide, a, b, out)


def accumulate(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a += b, of one shape"""
    if a.size < PARALLEL_FROM or not b.flags.c_contiguous:
        return np.add(a, b, out=a)
    y, row = flat_out(a, b.shape)
    run(_arithmetic_task, True, ACCUMULATE, row, flat(b), 1, row)
    return y


def relu(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """np.maximum(x, 0)"""
    y, row = flat_out(out, x.shape)
    x = flat(x)
    run(_arithmetic_task, x.size >= PARALLEL_FROM, RELU, x, x, 1, row)
    return y


def keep_positive(g: np.ndarray, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """np.where(x <= 0, 0, g): relu's VJP, where x may be relu's input or its output"""
    if g.shape != x.shape:
        raise ValueError(f"keep_positive: g has shape {g.shape}, x {x.shape}; they must agree")
    y, row = flat_out(out, x.shape)
    run(_arithmetic_task, g.size >= PARALLEL_FROM, KEEP_POSITIVE, flat(g), flat(x), 1, row)
    return y


# --- Functions of one number ------------------------------------------------------------------------------------------


@njit(**SCALAR)
def leaky_relu(x, slope):
    """x where x > 0, else slope x"""
    return x if x > ZERO else slope * x


@njit(**SCALAR)
def leaky_relu_vjp(g, x, slope):
    """g where x > 0, else slope g"""
    return g if x > ZERO else slope * g


@njit(**SCALAR)
def gelu(x):
    """x Phi(x), with the normal distribution Phi(x) = (1 + erf(x / sqrt 2)) / 2"""
    return x * (HALF + HALF * erf(x * SQRT_HALF))


@njit(**SCALAR)
def gelu_slope(x):
    """Phi(x) + x phi(x), within 2e-7: 1/2 + x P(x^2) / Q(x^2), fitted up to |x| = 6.2; half the work of erf and exp"""
    x = F(-6.2) if x < F(-6.2) else x
    x = F(6.2) if x > F(6.2) else x
    s = x * x
    p = F(-3.0672041295698450e-11)
    p = p * s + F(1.5008165377139450e-08)
    p = p * s + F(1.4067854863242246e-06)
    p = p * s + F(3.1996874895412475e-05)
    p = p * s + F(3.9099380956031380e-04)
    p = p * s + F(1.3338061049580574e-02)
    p = p * s + F(-1.2208671309053898e-02)
    p = p * s + F(7.9788452386856079e-01)
    q = F(4.4217827621650940e-07)
    q = q * s + F(1.2178627912362572e-05)
    q = q * s + F(2.8499308973550797e-04)
    q = q * s + F(4.4493726454675198e-03)
    q = q * s + F(4.7729372978210449e-02)
    q = q * s + F(3.1803134083747864e-01)
    q = q * s + ONE
    return HALF + x * p / q


@njit(**SCALAR)
def _tanh_form(x):
    """s = (1 + tanh u) / 2 = sigmoid(2 u), close to Phi(x), and 2 u'(x), where u = sqrt(2 / pi) (x + 0.044715 x^3)"""
    cubic = TANH_CUBIC * x * x
    return sigmoid(TANH_SCALE * (x + x * cubic)), TANH_SCALE * (ONE + F(3) * cubic)


@njit(**SCALAR)
def gelu_tanh(x):
    """x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2"""
    s, _ = _tanh_form(x)
    return x * s


@njit(**SCALAR)
def gelu_tanh_slope(x):
    """The derivative of gelu_tanh."""
    x = F(-20) if x < F(-20) else (F(20) if x > F(20) else x)  # beyond, s (1 - s) = 0 would meet x d = inf
    s, d = _tanh_form(x)
    return s + x * d * (s * (ONE - s))


@njit(**SCALAR)
def silu(x):
    """x sigmoid(x)"""
    return x * sigmoid(x)


@njit(**SCALAR)
def silu_slope(x):
    """s + x s (1 - s), s = sigmoid(x)"""
    s = sigmoid(x)
    return s + x * (s * (ONE - s))


@njit(**SCALAR)
def softplus(x, beta):
    """log(1 + e^(beta x)) / beta = max(x, 0) + log(1 + e^-|beta x|) / beta, which does not overflow"""
    bx = beta * x
    return (x if x > ZERO else ZERO) + log1p_unit(exp(-bx if bx > ZERO else bx)) / beta


@njit(**SCALAR)
def elu(x, alpha):
    """x where x > 0, else alpha (e^x - 1)"""
    return x if x > ZERO else alpha * expm1(x)


@njit(**SCALAR)
def elu_slope(x, alpha):
    """1 where x > 0, else alpha e^x"""
    return ONE if x > ZERO else alpha * exp(x)


LEAKY_RELU, GELU, GELU_TANH, SILU, SIGMOID, TANH, SOFTPLUS, ELU, EXP = range(9)


@kernel()
def _forward_task(op, x, parameter, y, task, tasks):
    start, stop = task * x.size // tasks, (task + 1) * x.size // tasks
    n, parameter, x, y = stop - start, F(parameter), x[start:stop], y[start:stop]
    if op == LEAKY_RELU:
        for i in range(n):
            y[i] = leaky_relu(x[i], parameter)
    elif op == GELU:
        for i in range(n):
            y[i] = gelu(x[i])
    elif op == GELU_TANH:
        for i in range(n):
            y[i] = gelu_tanh(x[i])
    elif op == SILU:
        for i in range(n):
            y[i] = silu(x[i])
    elif op == SIGMOID:
        for i in range(n):
            y[i] = sigmoid(x[i])
    elif op == TANH:
        for i in range(n):
            y[i] = tanh(x[i])
    elif op == SOFTPLUS:
        for i in range(n):
            y[i] = softplus(x[i], parameter)
    elif op == ELU:
        for i in range(n):
            y[i] = elu(x[i], parameter)
    elif op == EXP:
        for i in range(n):
            y[i] = exp(x[i])


@kernel()
def _backward_task(op, g, s, parameter, dx, task, tasks):
    start, stop = task * g.size // tasks, (task + 1) * g.size // tasks
    n, parameter, g, s, dx = stop - start, F(parameter), g[start:stop], s[start:stop], dx[start:stop]
    if op == LEAKY_RELU:
        for i in range(n):
            dx[i] = leaky_relu_vjp(g[i], s[i], parameter)
    elif op == GELU:
        for i in range(n):
            dx[i] = g[i] * gelu_slope(s[i])
    elif op == GELU_TANH:
        for i in range(n):
            dx[i] = g[i] * gelu_tanh_slope(s[i])
    elif op == SILU:
        for i in range(n):
            dx[i] = g[i] * silu_slope(s[i])
    elif op == SIGMOID:
        for i in range(n):
            dx[i] = g[i] * (s[i] * (ONE - s[i]))
    elif op == TANH:
        for i in range(n):
            dx[i] = g[i] * (ONE - s[i] * s[i])
    elif op == SOFTPLUS:
        for i in range(n):
            dx[i] = g[i] * sigmoid(parameter * s[i])
    elif op == ELU:
        for i in range(n):
            dx[i] = g[i] * elu_slope(s[i], parameter)
    elif op == EXP:
        for i in range(n):
            dx[i] = g[i] * s[i]


def forward(op: int, x: np.ndarray, parameter: float = 0.0, out: np.ndarray | None = None) -> np.ndarray:
    """y = op(x): what it computes is said by the function of that name, above or in vectormath.

    parameter: the slope of LEAKY_RELU, beta of SOFTPLUS, alpha of ELU.
    """
    y, row = flat_out(out, x.shape)
    run(_forward_task, x.size >= FUNCTIONS_PARALLEL_FROM, op, flat(x), float(parameter), row)
    return y


def backward(
    op: int, g: np.ndarray, saved: np.ndarray, parameter: float = 0.0, out: np.ndarray | None = None
) -> np.ndarray:
    """dx = g op'(x). Saved is x, but y = op(x) for SIGMOID, TANH and EXP."""
    if g.shape != saved.shape:
        raise ValueError(f"elementwise.backward: g has shape {g.shape}, the saved array {saved.shape}; they must agree")
    dx, row = flat_out(out, g.shape)
    run(_backward_task, g.size >= FUNCTIONS_PARALLEL_FROM, op, flat(g), flat(saved), float(parameter), row)
    return dx
