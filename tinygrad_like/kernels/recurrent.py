"""An LSTM or a GRU over a whole sequence, forward and backward.

Examples are independent: each task takes some of the batch through all steps, and never waits for another. In a step it
computes one product with the weights of the state, which stay packed in the L2 cache for the whole sequence, and the
gates, while they are in the L1 cache.

    rows of the batch      of examples, as many as a tile has rows at a time
    gates                  (T, batch, 4 H): what backward needs of every step
                           LSTM: i, f, g, o after their functions; GRU: r, z, n, and the state's share of n

The gradients of the weights are sums over all steps, one product each, which `gemm` does.
"""

import numpy as np

from ..dtypes import FLOAT32
from . import gemm
from .kinds import OPTIONAL, READ, WRITE
from .matrix import Matrix, aligned, ceil_div
from .program import kernel, together
from .scores import LINE, Operand, Panels, multiply, pack
from .simd import COLUMNS, ROWS, inner, put
from .vectormath import exp

F = np.float32
_COST = 0.01  # nanoseconds per multiplication
_GATE = 3  # and for the functions of an element of the state


@inner
def _panels(address, rows, columns, row, column, memory):
    """Write the matrix (rows, columns) at an address to memory in panels."""
    panels = Panels(aligned(memory), rows * LINE)
    pack(Matrix(address, row, column), rows, columns, panels, F(1))
    return panels


@inner
def _room(rows, columns):
    """Floats for `_panels`."""
    return rows * ceil_div(columns, COLUMNS) * COLUMNS + 16


@inner
def _offsets(table, count, step):
    """Offsets of rows, or columns, that lie so many bytes apart; past the end, the last one repeats."""
    for i in range(table.size):
        table[i] = min(i, count - 1) * step


@inner
def _sigmoid(x):
    return F(1) / (F(1) + exp(-x))


@inner
def _tanh(x):
    """Within 3e-7: 1 - 2 / (e^(2 x) + 1)."""
    return F(1) - F(2) / (exp(x + x) + F(1))


@inner
def _share(batch, task, tasks):
    """First and last example of a task: whole tiles."""
    units = ceil_div(batch, ROWS)
    return task * units // tasks * ROWS, min(batch, (task + 1) * units // tasks * ROWS)


# LSTM -----------------------------------------------------------------------------------------------------------------


@inner
def _lstm_work(x, u, h0, c0, out, gates, cells, steps, batch, size, reverse):
    if not (x.size == gates.size == steps * batch * 4 * size and u.size == 4 * size * size and steps > 0
            and h0.size == c0.size == batch * size and out.size == (steps + 1) * batch * size
            and cells.size == steps * batch * size):
        return -1
    return int(steps * batch * size * (4 * size * _COST * (steps > 1) + _GATE))


@kernel(x=READ, u=READ, h0=READ, c0=READ, out=WRITE, gates=WRITE, cells=WRITE, work=_lstm_work, tasks=1,
        fastmath={"contract"})
def _lstm(x, u, h0, c0, out, gates, cells, steps, batch, size, reverse, task, tasks):
    """out: h of every step, then the last c; cells: c of every step. For a single step, gates hold the product."""
    first, end = _share(batch, task, tasks)
    n, width = end - first, 4 * size
    if n > 0:
        depth = size if steps > 1 else 0
        memory, rows, columns = np.empty(_room(depth, width), F), np.empty(n + ROWS, np.int64), np.empty(size, np.int64)
        panels = _panels(u.ctypes.data, depth, width, 4, 4 * size, memory)
        _offsets(rows, n, 4 * size)
        _offsets(columns, size, 4)
        before, c_before = h0, c0
        at_before = first * size
        for step in range(steps):
            t = steps - 1 - step if reverse else step
            at = (t * batch + first) * width
            if steps > 1:
                multiply(Operand(before.ctypes.data + 4 * at_before, rows, columns), panels,
                         Matrix(x.ctypes.data + 4 * at, 4 * width, 4),
                         Matrix(gates.ctypes.data + 4 * at, 4 * width, 4), n, width, size)
            here = (t * batch + first) * size
            for r in range(n):
                place, state = at + r * width, here + r * size
                _lstm_gates(gates[place : place + size], gates[place + size : place + 2 * size],
                            gates[place + 2 * size : place + 3 * size], gates[place + 3 * size : place + width],
                            c_before[at_before + r * size : at_before + (r + 1) * size],
                            cells[state : state + size], out[state : state + size])
            before, c_before, at_before = out, cells, here
        last = (steps * batch + first) * size
        put(out[last : last + n * size], cells[at_before : at_before + n * size])
        memory[0] = 0  # it lives until here


@inner
def _lstm_gates(i, f, g, o, c, new, h):
    for k in range(i.size):
        i[k] = _sigmoid(i[k])
        f[k] = _sigmoid(f[k])
        g[k] = _tanh(g[k])
        o[k] = _sigmoid(o[k])
        new[k] = f[k] * c[k] + i[k] * g[k]
        h[k] = o[k] * _tanh(new[k])


@inner
def _lstm_backward_work(g, u, c0, gates, cells, dx, dh0, dc0, steps, batch, size, reverse):
    if not (gates.size == dx.size == steps * batch * 4 * size and u.size == 4 * size * size and steps > 0
            and c0.size == dh0.size == dc0.size == batch * size and g.size == (steps + 1) * batch * size
            and cells.size == steps * batch * size):
        return -1
    return int(steps * batch * size * (4 * size * _COST * (steps > 1) + _GATE))


@kernel(g=READ, u=READ, c0=READ, gates=READ, cells=READ, dx=WRITE, dh0=WRITE, dc0=WRITE, work=_lstm_backward_work,
        tasks=1, fastmath={"contract"})
def _lstm_backward(g, u, c0, gates, cells, dx, dh0, dc0, steps, batch, size, reverse, task, tasks):
    """dx: the gradient of the gates before their functions; dh0 and dc0 hold those of the state on the way. Of a single
    step, dh0 is left to the caller."""
    first, end = _share(batch, task, tasks)
    n, width = end - first, 4 * size
    if n > 0:
        depth = width if steps > 1 else 0
        memory, rows, columns = np.empty(_room(depth, size), F), np.empty(n + ROWS, np.int64), np.empty(width, np.int64)
        panels = _panels(u.ctypes.data, depth, size, 4 * size, 4, memory)
        zeros = np.zeros(ceil_div(size, COLUMNS) * COLUMNS, F)
        _offsets(rows, n, 4 * width)
        _offsets(columns, width, 4)
        own = first * size
        last = (steps * batch + first) * size
        put(dc0[own : own + n * size], g[last : last + n * size])
        dh0[own : own + n * size] = 0
        for step in range(steps - 1, -1, -1):
            t = steps - 1 - step if reverse else step
            at, here = (t * batch + first) * width, (t * batch + first) * size
            previous, where = cells, ((t + 1 if reverse else t - 1) * batch + first) * size
            if step == 0:
                previous, where = c0, own
            for r in range(n):
                place, state, mine = at + r * width, here + r * size, own + r * size
                _lstm_slopes(gates[place : place + size], gates[place + size : place + 2 * size],
                             gates[place + 2 * size : place + 3 * size], gates[place + 3 * size : place + width],
                             previous[where + r * size : where + (r + 1) * size], cells[state : state + size],
                             g[state : state + size], dh0[mine : mine + size], dc0[mine : mine + size],
                             dx[place : place + size], dx[place + size : place + 2 * size],
                             dx[place + 2 * size : place + 3 * size], dx[place + 3 * size : place + width])
            if steps > 1:
                multiply(Operand(dx.ctypes.data + 4 * at, rows, columns), panels, Matrix(zeros.ctypes.data, 0, 4),
                         Matrix(dh0.ctypes.data + 4 * own, 4 * size, 4), n, size, width)
        memory[0], zeros[0] = 0, 0  # they live until here


@inner
def _lstm_slopes(i, f, g, o, before, c, cotangent, dh, dc, di, df, dg, do):
    one = F(1)
    for k in range(i.size):
        d, squashed = cotangent[k] + dh[k], _tanh(c[k])
        total = dc[k] + d * o[k] * (one - squashed * squashed)
        do[k] = d * squashed * o[k] * (one - o[k])
        di[k] = total * g[k] * i[k] * (one - i[k])
        dg[k] = total * i[k] * (one - g[k] * g[k])
        df[k] = total * before[k] * f[k] * (one - f[k])
        dc[k] = total * f[k]


# GRU ------------------------------------------------------------------------------------------------------------------


@inner
def _gru_work(x, u, bias, h0, out, gates, steps, batch, size, reverse):
    if not (x.size == steps * batch * 3 * size and u.size == 3 * size * size and steps > 0
            and (bias.size == 0 or bias.size == 3 * size) and h0.size == batch * size
            and out.size == steps * batch * size and gates.size == steps * batch * 4 * size):
        return -1
    return int(steps * batch * size * (3 * size * _COST * (steps > 1) + _GATE))


@kernel(x=READ, u=READ, bias=OPTIONAL, h0=READ, out=WRITE, gates=WRITE, work=_gru_work, tasks=1,
        fastmath={"contract"})
def _gru(x, u, bias, h0, out, gates, steps, batch, size, reverse, task, tasks):
    """Of a single step the product is in gates."""
    first, end = _share(batch, task, tasks)
    n, width = end - first, 3 * size
    if n > 0:
        depth = size if steps > 1 else 0
        memory, rows, columns = np.empty(_room(depth, width), F), np.empty(n + ROWS, np.int64), np.empty(size, np.int64)
        panels = _panels(u.ctypes.data, depth, width, 4, 4 * size, memory)
        start = np.zeros(ceil_div(width, COLUMNS) * COLUMNS, F)
        put(start[: bias.size], bias)
        _offsets(rows, n, 4 * size)
        _offsets(columns, size, 4)
        before, at_before = h0, first * size
        for step in range(steps):
            t = steps - 1 - step if reverse else step
            at, here, source = (t * batch + first) * 4 * size, (t * batch + first) * size, (t * batch + first) * width
            if steps > 1:
                multiply(Operand(before.ctypes.data + 4 * at_before, rows, columns), panels,
                         Matrix(start.ctypes.data, 0, 4), Matrix(gates.ctypes.data + 4 * at, 16 * size, 4), n, width,
                         size)
            for r in range(n):
                place, state, given = at + r * 4 * size, here + r * size, source + r * width
                _gru_gates(x[given : given + size], x[given + size : given + 2 * size],
                           x[given + 2 * size : given + width], gates[place : place + size],
                           gates[place + size : place + 2 * size], gates[place + 2 * size : place + 3 * size],
                           gates[place + 3 * size : place + 4 * size],
                           before[at_before + r * size : at_before + (r + 1) * size], out[state : state + size])
            before, at_before = out, here
        memory[0], start[0] = 0, 0  # they live until here


@inner
def _gru_gates(xr, xz, xn, r, z, n, hn, h, new):
    for k in range(r.size):
        hn[k] = n[k]
        r[k] = _sigmoid(xr[k] + r[k])
        z[k] = _sigmoid(xz[k] + z[k])
        n[k] = _tanh(xn[k] + r[k] * hn[k])
        new[k] = n[k] + z[k] * (h[k] - n[k])


@inner
def _gru_backward_work(g, u, h0, out, gates, dx, dstate, dh0, steps, batch, size, reverse):
    if not (dx.size == dstate.size == steps * batch * 3 * size and u.size == 3 * size * size and steps > 0
            and h0.size == dh0.size == batch * size and g.size == out.size == steps * batch * size
            and gates.size == steps * batch * 4 * size):
        return -1
    return int(steps * batch * size * (3 * size * _COST * (steps > 1) + _GATE))


@kernel(g=READ, u=READ, h0=READ, out=READ, gates=READ, dx=WRITE, dstate=WRITE, dh0=WRITE, work=_gru_backward_work,
        tasks=1, fastmath={"contract"})
def _gru_backward(g, u, h0, out, gates, dx, dstate, dh0, steps, batch, size, reverse, task, tasks):
    """dx: the gradient of the inputs' share of the gates, dstate that of the state's; dh0 holds that of the state. Of a
    single step, the caller adds the product to dh0."""
    first, end = _share(batch, task, tasks)
    n, width = end - first, 3 * size
    if n > 0:
        depth = width if steps > 1 else 0
        memory, rows, columns = np.empty(_room(depth, size), F), np.empty(n + ROWS, np.int64), np.empty(width, np.int64)
        panels = _panels(u.ctypes.data, depth, size, 4 * size, 4, memory)
        _offsets(rows, n, 4 * width)
        _offsets(columns, width, 4)
        own = first * size
        dh0[own : own + n * size] = 0
        for step in range(steps - 1, -1, -1):
            t = steps - 1 - step if reverse else step
            at, here, to = (t * batch + first) * 4 * size, (t * batch + first) * size, (t * batch + first) * width
            previous, where = out, ((t + 1 if reverse else t - 1) * batch + first) * size
            if step == 0:
                previous, where = h0, own
            for r in range(n):
                place, state, mine, target = at + r * 4 * size, here + r * size, own + r * size, to + r * width
                _gru_slopes(gates[place : place + size], gates[place + size : place + 2 * size],
                            gates[place + 2 * size : place + 3 * size], gates[place + 3 * size : place + 4 * size],
                            previous[where + r * size : where + (r + 1) * size], g[state : state + size],
                            dh0[mine : mine + size], dx[target : target + size],
                            dx[target + size : target + 2 * size], dx[target + 2 * size : target + width],
                            dstate[target : target + size], dstate[target + size : target + 2 * size],
                            dstate[target + 2 * size : target + width])
            state_at = Matrix(dh0.ctypes.data + 4 * own, 4 * size, 4)
            if steps > 1:
                multiply(Operand(dstate.ctypes.data + 4 * to, rows, columns), panels, state_at, state_at, n, size,
                         width)
        memory[0] = 0  # it lives until here


@inner
def _gru_slopes(r, z, n, hn, before, cotangent, dh, dr, dz, dn, dhr, dhz, dhn):
    one = F(1)
    for k in range(r.size):
        d = cotangent[k] + dh[k]
        dn[k] = d * (one - z[k]) * (one - n[k] * n[k])
        dhn[k] = dn[k] * r[k]
        dr[k] = dn[k] * hn[k] * r[k] * (one - r[k])
        dz[k] = d * (before[k] - n[k]) * z[k] * (one - z[k])
        dhr[k], dhz[k] = dr[k], dz[k]
        dh[k] = d * z[k]


# Calls ----------------------------------------------------------------------------------------------------------------
# A single step, as of a cell, packs no weights, which would take longer than it does: its product is one of `gemm`'s.


def lstm_steps(x, h0, c0, u, reverse):
    """h of every step and the last c, (T + 1, batch, H), of x (T, batch, 4 H), h0 and c0 (batch, H) and u (4 H, H); and
    gates and cells, for backward."""
    if any(array.dtype is not FLOAT32 for array in (h0, c0, u)):
        return NotImplemented
    steps, batch, width = x.shape
    size = width // 4
    out, gates, cells = np.empty((steps + 1, batch, size), F), np.empty(x.shape, F), np.empty((steps, batch, size), F)
    with together():
        if steps == 1:
            gemm.product(h0, u, gates[0], x[0], True)
        _lstm(x, u, h0, c0, out, gates, cells, steps, batch, size, reverse)
    return out, gates, cells


def lstm_steps_vjp(g, u, h0, c0, out, gates, cells, reverse):
    """The gradients of x, u, h0 and c0."""
    steps, batch, width = gates.shape
    dx, dh0, dc0 = np.empty(gates.shape, F), np.empty(h0.shape, F), np.empty(c0.shape, F)
    with together():
        _lstm_backward(g, u, c0, gates, cells, dx, dh0, dc0, steps, batch, width // 4, reverse)
        if steps == 1:
            gemm.product(dx[0], u, dh0)
        return dx, _weights(dx, h0, out[:steps], u, reverse), dh0, dc0


def gru_steps(x, h0, u, bias, reverse):
    """h of every step, (T, batch, H), of x (T, batch, 3 H), h0 (batch, H), u (3 H, H) and bias (3 H,) or None; and
    gates, for backward."""
    if any(array is not None and array.dtype is not FLOAT32 for array in (h0, u, bias)):
        return NotImplemented
    steps, batch, width = x.shape
    size = width // 3
    out, gates = np.empty((steps, batch, size), F), np.empty((steps, batch, 4 * size), F)
    with together():
        if steps == 1:
            gemm.product(h0, u, gates[0, :, : 3 * size], bias, True)
        _gru(x, u, bias, h0, out, gates, steps, batch, size, reverse)
    return out, gates


def gru_steps_vjp(g, u, h0, out, gates, reverse):
    """The gradients of x, u, h0 and of a bias."""
    steps, batch, size = out.shape
    dx, dstate = (np.empty((steps, batch, 3 * size), F) for _ in range(2))
    dh0 = np.empty(h0.shape, F)
    with together():
        _gru_backward(g, u, h0, out, gates, dx, dstate, dh0, steps, batch, size, reverse)
        if steps == 1:
            gemm.product(dstate[0], u, dh0, dh0)
        dbias = gemm.column_sums(dstate.reshape(-1, 3 * size))
        return dx, _weights(dstate, h0, out, u, reverse), dh0, dbias


def _weights(d, h0, out, u, reverse):
    """The gradient of the state's weights: of every step d, turned, times the state before."""
    steps, batch, width = d.shape
    size, begin = u.shape[1], steps - 1 if reverse else 0
    du = gemm.product(d[begin].T, h0, np.empty(u.shape, F))
    if steps > 1:
        later, before = (d[:-1], out[1:]) if reverse else (d[1:], out[:-1])
        gemm.product(later.reshape(-1, width).T, before.reshape(-1, size), du, du)
    return du
