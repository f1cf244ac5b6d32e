"""An LSTM or a GRU over a whole sequence, forward and backward.

Examples are independent: each task takes some of the batch through all steps, and never waits for another. In a step it
computes one product with the weights of the state, which stay packed in the L2 cache for the whole sequence, and the
gates, while they are in the L1 cache.

    rows of the batch      examples, a tile's rows at a time
    gates                  (T, batch, 4 H): what backward needs from every step
                           LSTM: i, f, g, o after their functions; GRU: r, z, n, and the state's part of n
    cells                  (T, batch, H): c of every step; a GRU has none

The gradients of the weights are sums over all steps, one product of `gemm` each.
"""

import numpy as np

from ..dtypes import FLOAT32
from . import gemm
from .kinds import OPTIONAL, OPTIONAL_WRITE, READ, WRITE
from .late import njit
from .matrix import Matrix, aligned, ceil_div
from .program import kernel
from .reduce import sum_columns
from .scores import LINE, Operand, Panels, multiply, offsets, pack
from .simd import COLUMNS, ROWS, inner, put
from .vectormath import F, exp

_COST = 0.01  # nanoseconds per multiplication
_GATE = 3  # and for the gates of each number of the state
_row_by_row = njit(forceinline=True, fastmath={"contract"})


@inner
def _packed(address, rows, columns, row, column, memory):
    """Pack the matrix (rows, columns) at an address into panels in `memory`."""
    panels = Panels(aligned(memory), rows * LINE)
    pack(Matrix(address, row, column), rows, columns, panels, F(1))
    return panels


@inner
def _room(rows, columns):
    """Floats for `_packed`."""
    return rows * ceil_div(columns, COLUMNS) * COLUMNS + 16


@inner
def _share(batch, task, tasks):
    """A task's first example, and the end of its examples: whole tiles."""
    units = ceil_div(batch, ROWS)
    return task * units // tasks * ROWS, min(batch, (task + 1) * units // tasks * ROWS)


@inner
def _sigmoid(x):
    return F(1) / (F(1) + exp(-x))


@inner
def _tanh(x):
    """Within 3e-7: 1 - 2 / (e^(2 x) + 1)."""
    return F(1) - F(2) / (exp(x + x) + F(1))


# --- The gates of an example, and their slopes ------------------------------------------------------------------------


@_row_by_row
def _lstm_gates(x, gates, c, new, h):
    """From x and the state's part of the sums, which is in `gates`."""
    n = h.size
    i, f, g, o = gates[:n], gates[n : 2 * n], gates[2 * n : 3 * n], gates[3 * n :]
    xi, xf, xg, xo = x[:n], x[n : 2 * n], x[2 * n : 3 * n], x[3 * n :]
    for k in range(n):
        i[k] = _sigmoid(xi[k] + i[k])
        f[k] = _sigmoid(xf[k] + f[k])
        g[k] = _tanh(xg[k] + g[k])
        o[k] = _sigmoid(xo[k] + o[k])
        new[k] = f[k] * c[k] + i[k] * g[k]
        h[k] = o[k] * _tanh(new[k])


@_row_by_row
def _gru_gates(x, gates, h, new):
    size = new.size
    r, z, n, hn = gates[:size], gates[size : 2 * size], gates[2 * size : 3 * size], gates[3 * size :]
    xr, xz, xn = x[:size], x[size : 2 * size], x[2 * size :]
    for k in range(size):
        hn[k] = n[k]
        r[k] = _sigmoid(xr[k] + r[k])
        z[k] = _sigmoid(xz[k] + z[k])
        n[k] = _tanh(xn[k] + r[k] * hn[k])
        new[k] = n[k] + z[k] * (h[k] - n[k])


@_row_by_row
def _lstm_slopes(gates, before, c, cotangent, dh, dc, dx):
    n = dh.size
    i, f, g, o = gates[:n], gates[n : 2 * n], gates[2 * n : 3 * n], gates[3 * n :]
    di, df, dg, do = dx[:n], dx[n : 2 * n], dx[2 * n : 3 * n], dx[3 * n :]
    one = F(1)
    for k in range(n):
        d, squashed = cotangent[k] + dh[k], _tanh(c[k])
        total = dc[k] + d * o[k] * (one - squashed * squashed)
        do[k] = d * squashed * o[k] * (one - o[k])
        di[k] = total * g[k] * i[k] * (one - i[k])
        dg[k] = total * i[k] * (one - g[k] * g[k])
        df[k] = total * before[k] * f[k] * (one - f[k])
        dc[k] = total * f[k]
        dh[k] = F(0)


@_row_by_row
def _gru_slopes(gates, before, cotangent, dh, dx, dstate):
    size = dh.size
    r, z, n, hn = gates[:size], gates[size : 2 * size], gates[2 * size : 3 * size], gates[3 * size :]
    dr, dz, dn = dx[:size], dx[size : 2 * size], dx[2 * size :]
    dhr, dhz, dhn = dstate[:size], dstate[size : 2 * size], dstate[2 * size :]
    one = F(1)
    for k in range(size):
        d = cotangent[k] + dh[k]
        dn[k] = d * (one - z[k]) * (one - n[k] * n[k])
        dhn[k] = dn[k] * r[k]
        dr[k] = dn[k] * hn[k] * r[k] * (one - r[k])
        dz[k] = d * (before[k] - n[k]) * z[k] * (one - z[k])
        dhr[k], dhz[k] = dr[k], dz[k]
        dh[k] = d * z[k]


# --- Over all steps ---------------------------------------------------------------------------------------------------


@inner
def _forward_work(x, u, bias, h0, c0, out, gates, cells, steps, batch, size, reverse):
    wide, n = 4 if c0.size else 3, batch * size
    if not (x.size == steps * wide * n and u.size == wide * size * size and bias.size in (0, wide * size) and steps > 0
            and h0.size == n and c0.size in (0, n) and out.size == steps * n + c0.size
            and gates.size == 4 * steps * n and cells.size == (steps * n if c0.size else 0)):
        return -1
    return int(steps * n * (wide * size * _COST * (steps > 1) + _GATE))


@kernel(x=READ, u=READ, bias=OPTIONAL, h0=READ, c0=OPTIONAL, out=WRITE, gates=WRITE, cells=OPTIONAL_WRITE,
        work=_forward_work, tasks=1, fastmath={"contract"})
def _forward(x, u, bias, h0, c0, out, gates, cells, steps, batch, size, reverse, task, tasks):
    """out: h of every step, then the last c, if there are cells. For a single step, the product is already in gates."""
    first, end = _share(batch, task, tasks)
    n, width = end - first, u.size // size
    if n > 0:
        depth = size if steps > 1 else 0
        memory, rows = np.empty(_room(depth, width), F), np.empty(n + ROWS, np.int64)
        columns = np.empty(size + ROWS, np.int64)
        panels, start = _packed(u.ctypes.data, depth, width, 4, 4 * size, memory), np.zeros(_room(1, width), F)
        put(start[: bias.size], bias)
        offsets(rows, n, 4 * size)
        offsets(columns, size, 4)
        before, c_before, at = h0, c0, first * size  # where the state before this step begins
        for step in range(steps):
            row = (steps - 1 - step if reverse else step) * batch + first
            if steps > 1:
                multiply(Operand(before.ctypes.data + 4 * at, rows, columns), panels, Matrix(start.ctypes.data, 0, 4),
                         Matrix(gates.ctypes.data + 16 * row * size, 16 * size, 4), n, width, size)
            for r in range(row, row + n):
                x_r, gates_r = x[r * width : (r + 1) * width], gates[4 * r * size : 4 * (r + 1) * size]
                here, old = slice(r * size, (r + 1) * size), slice(at + (r - row) * size, at + (r - row + 1) * size)
                if c0.size:
                    _lstm_gates(x_r, gates_r, c_before[old], cells[here], out[here])
                else:
                    _gru_gates(x_r, gates_r, before[old], out[here])
            before, c_before, at = out, cells, row * size
        if c0.size:
            last = (steps * batch + first) * size
            put(out[last : last + n * size], cells[at : at + n * size])
        memory[0], start[0] = 0, 0  # keeps them alive until here


@inner
def _backward_work(g, u, state0, states, gates, dx, dstate, dh0, dc0, steps, batch, size, reverse):
    wide, n = 4 if dc0.size else 3, batch * size
    if not (dx.size == steps * wide * n and dstate.size == (0 if dc0.size else dx.size) and steps > 0
            and u.size == wide * size * size and gates.size == 4 * steps * n and state0.size == dh0.size == n
            and dc0.size in (0, n) and states.size == steps * n and g.size == steps * n + dc0.size):
        return -1
    return int(steps * n * (wide * size * _COST * (steps > 1) + _GATE))


@kernel(g=READ, u=READ, state0=READ, states=READ, gates=READ, dx=WRITE, dstate=OPTIONAL_WRITE, dh0=WRITE,
        dc0=OPTIONAL_WRITE, work=_backward_work, tasks=1, fastmath={"contract"})
def _backward(g, u, state0, states, gates, dx, dstate, dh0, dc0, steps, batch, size, reverse, task, tasks):
    """dx: the gradient of the gates before their functions; for a GRU, of the inputs' part, and dstate of the state's.
    dh0 and dc0 hold the state's gradients on the way. states: c of every step; h for a GRU. For a single step, the
    caller adds the product to dh0."""
    first, end = _share(batch, task, tasks)
    n, width = end - first, u.size // size
    if n > 0:
        depth = width if steps > 1 else 0
        memory, rows = np.empty(_room(depth, size), F), np.empty(n + ROWS, np.int64)
        columns = np.empty(width + ROWS, np.int64)
        panels = _packed(u.ctypes.data, depth, size, 4 * size, 4, memory)
        offsets(rows, n, 4 * width)
        offsets(columns, width, 4)
        own, last = first * size, (steps * batch + first) * size
        dh0[own : own + n * size] = 0
        if dc0.size:
            put(dc0[own : own + n * size], g[last : last + n * size])
        for step in range(steps - 1, -1, -1):
            t = steps - 1 - step if reverse else step
            row, at = t * batch + first, (t + 1 if reverse else t - 1) * batch + first
            before, at = (states, at * size) if step else (state0, own)
            for r in range(row, row + n):
                here, old = slice(r * size, (r + 1) * size), slice(at + (r - row) * size, at + (r - row + 1) * size)
                mine = slice(own + (r - row) * size, own + (r - row + 1) * size)
                gates_r = gates[4 * r * size : 4 * (r + 1) * size]
                dx_r = dx[r * width : (r + 1) * width]
                if dc0.size:
                    _lstm_slopes(gates_r, before[old], states[here], g[here], dh0[mine], dc0[mine], dx_r)
                else:
                    _gru_slopes(gates_r, before[old], g[here], dh0[mine], dx_r, dstate[r * width : (r + 1) * width])
            if steps > 1:
                d, dh = (dx if dc0.size else dstate).ctypes.data, Matrix(dh0.ctypes.data + 4 * own, 4 * size, 4)
                multiply(Operand(d + 4 * row * width, rows, columns), panels, dh, dh, n, size, width)
        memory[0] = 0  # keeps it alive until here


# --- Calls ------------------------------------------------------------------------------------------------------------
# A single step, such as a cell's, takes its product from `gemm`: packing the weights would take longer than the step.


def forward(x, h0, c0, u, bias, reverse):
    """h of every step, (T, batch, H), and for an LSTM the last c; and gates and cells, for backward.

    x (T, batch, 4 H), c0 and h0 (batch, H), u (4 H, H) and no bias; for a GRU no c0, 3 H for 4 H, and a bias or None.
    """
    if any(array is not None and array.dtype is not FLOAT32 for array in (h0, c0, u, bias)):
        return NotImplemented
    steps, batch, width = x.shape
    size = u.shape[1]
    cells = None if c0 is None else np.empty((steps, batch, size), F)
    out, gates = np.empty((steps + (c0 is not None), batch, size), F), np.empty((steps, batch, 4 * size), F)
    if steps == 1:
        gemm.product(h0, u, gates[0, :, :width], bias, True)
    _forward(x, u, bias, h0, c0, out, gates, cells, steps, batch, size, reverse)
    return out, (gates, cells)


def backward(g, h0, c0, u, out, gates, cells, reverse):
    """The gradients of x, h0, c0, u and a GRU's bias; None for an absent input."""
    steps, batch, size = gates.shape[0], gates.shape[1], u.shape[1]
    dx, dh0 = np.empty((steps, batch, len(u)), F), np.empty((batch, size), F)
    d, dc0, state0, states = dx, None, h0, out
    if c0 is None:
        d = np.empty(dx.shape, F)
    else:
        dc0, state0, states = np.empty(dh0.shape, F), c0, cells
    _backward(g, u, state0, states, gates, dx, None if d is dx else d, dh0, dc0, steps, batch, size, reverse)
    if steps == 1:
        gemm.product(d[0], u, dh0, dh0)
    dbias = sum_columns(d, 1, steps * batch, len(u))[0] if c0 is None else None
    return dx, dh0, dc0, _weights(d, h0, out[:steps], u, reverse), dbias


def _weights(d, h0, out, u, reverse):
    """The gradient of the state's weights: d of every step, transposed, times the state before it."""
    steps, batch, width = d.shape
    size, begin = u.shape[1], steps - 1 if reverse else 0
    du = gemm.product(d[begin].T, h0, np.empty(u.shape, F))
    if steps > 1:
        later, before = (d[:-1], out[1:]) if reverse else (d[1:], out[:-1])
        gemm.product(later.reshape(-1, width).T, before.reshape(-1, size), du, du)
    return du
