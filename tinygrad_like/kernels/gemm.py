import numpy as np
from numba import njit, prange
from . import simd
from .simd import FLOATS, ROWS, COLUMNS, make_tile, make_copy, transpose, word_at, float_at, put_float
tile2, tile1 = make_tile(ROWS, 2), make_tile(ROWS, 1)
copy_columns, copy_rows = make_copy(COLUMNS), make_copy(ROWS)
KC, MC = 384, 512
import os
KC = int(os.environ.get("KC", KC)); MC = int(os.environ.get("MC", MC)); INPLACE=int(os.environ.get("INPLACE", 0))

@njit
def pack_columns(source, k_stride, j_stride, k, columns, target):
    if j_stride == 4:
        for i in range(k):
            copy_columns(source + i * k_stride, target + i * 4 * COLUMNS, columns)
    elif k_stride == 4 and k >= FLOATS:
        for j in range(0, min(columns, COLUMNS), FLOATS):
            for i in range(0, k, FLOATS):
                i = min(i, k - FLOATS)
                transpose(source + 4 * i + j * j_stride, j_stride, target + 4 * (i * COLUMNS + j), 4 * COLUMNS, columns - j)
    else:
        for i in range(k):
            for j in range(COLUMNS):
                put_float(target + 4 * (i * COLUMNS + j), float_at(source + i * k_stride + min(j, columns - 1) * j_stride))

@njit
def product(m, n, k, a, a_m, a_k, b, b_k, b_n, start, start_m, start_n, out, out_m):
    k_blocks = (k + KC - 1) // KC
    m_blocks = (m + MC - 1) // MC
    kc = (k + max(k_blocks, 1) - 1) // max(k_blocks, 1)
    kc = (kc + FLOATS - 1) // FLOATS * FLOATS
    mc = (m + m_blocks - 1) // m_blocks
    mc = (mc + ROWS - 1) // ROWS * ROWS
    pack_a = a_k != 4 and n > INPLACE * COLUMNS
    tables = np.empty(mc + kc + ROWS, np.int64)
    r = tables.ctypes.data
    c = r + 8 * (mc + ROWS)
    panel = np.empty(kc * COLUMNS + 16, np.float32)
    panel_address = (panel.ctypes.data + 63) & ~63
    panels = np.empty((mc * kc if pack_a else 0) + 16, np.float32)
    a_packed = (panels.ctypes.data + 63) & ~63
    for m0 in range(0, m, mc):
        mb = min(mc, m - m0)
        for k0 in range(0, max(k, 1), max(kc,1)):
            kb = min(kc, k - k0)
            if k0 > 0:
                start, start_m, start_n = out, out_m, 4
            source = a + m0 * a_m + k0 * a_k
            if pack_a:
                for i in range(0, mb, ROWS):
                    p = a_packed + 4 * i * kb
                    if a_m == 4:
                        for kk in range(kb):
                            copy_rows(source + 4 * i + kk * a_k, p + 4 * ROWS * kk, mb - i)
                    else:
                        for kk in range(kb):
                            for ii in range(min(ROWS, mb - i)):
                                put_float(p + 4 * (kk * ROWS + ii), float_at(source + (i + ii) * a_m + kk * a_k))
                for i in range(mb):
                    tables[i] = 4 * (i // ROWS * ROWS * kb + i % ROWS)
                for kk in range(kb):
                    tables[mc + ROWS + kk] = 4 * ROWS * kk
                source = a_packed
            else:
                for i in range(mb):
                    tables[i] = i * a_m
                for kk in range(kb):
                    tables[mc + ROWS + kk] = a_k * kk
            for i in range(mb, mb + ROWS):
                tables[i] = tables[mb - 1]
            for n0 in range(0, n, COLUMNS):
                pack_columns(b + k0 * b_k + n0 * b_n, b_k, b_n, kb, n - n0, panel_address)
                if n - n0 > FLOATS:
                    for i in range(0, mb, ROWS):
                        tile2(kb, source, r + 8 * i, c, panel_address, 4 * COLUMNS, start + (m0 + i) * start_m + n0 * start_n,
                              start_m, out + (m0 + i) * out_m + 4 * n0, out_m, mb - i, n - n0)
                else:
                    for i in range(0, mb, ROWS):
                        tile1(kb, source, r + 8 * i, c, panel_address, 4 * COLUMNS, start + (m0 + i) * start_m + n0 * start_n,
                              start_m, out + (m0 + i) * out_m + 4 * n0, out_m, mb - i, n - n0)

@njit
def task(t, tasks, m, n, k, a, a_m, a_k, b, b_k, b_n, start, start_m, start_n, out, out_m, split_m):
    if split_m:
        tiles = (m + ROWS - 1) // ROWS
        lo, hi = t * tiles // tasks * ROWS, min(m, (t + 1) * tiles // tasks * ROWS)
        if hi > lo:
            product(hi - lo, n, k, a + lo * a_m, a_m, a_k, b, b_k, b_n, start + lo * start_m, start_m, start_n, out + lo * out_m, out_m)
    else:
        tiles = (n + COLUMNS - 1) // COLUMNS
        lo, hi = t * tiles // tasks * COLUMNS, min(n, (t + 1) * tiles // tasks * COLUMNS)
        if hi > lo:
            product(m, hi - lo, k, a, a_m, a_k, b + lo * b_n, b_k, b_n, start + lo * start_n, start_m, start_n, out + 4 * lo, out_m)

BASE = object.__basicsize__
@njit
def data_of(x):
    return word_at(x + BASE)
@njit
def size_of(x, axis):
    return word_at(word_at(x + BASE + 16) + 8 * axis)
@njit
def stride_of(x, axis):
    return word_at(word_at(x + BASE + 24) + 8 * axis)

@njit(parallel=True, nogil=True, cache=True)
def matmul_kernel(a, b, out, zeros, tasks, split_m):
    m, k, n = size_of(a, 0), size_of(a, 1), size_of(b, 1)
    if tasks == 1:
        product(m, n, k, data_of(a), stride_of(a, 0), stride_of(a, 1), data_of(b), stride_of(b, 0), stride_of(b, 1), data_of(zeros), 0, 0, data_of(out), stride_of(out, 0))
    else:
        for t in prange(tasks):
            task(t, tasks, m, n, k, data_of(a), stride_of(a, 0), stride_of(a, 1), data_of(b), stride_of(b, 0), stride_of(b, 1), data_of(zeros), 0, 0, data_of(out), stride_of(out, 0), split_m)

ZEROS = np.zeros(COLUMNS, np.float32)
def mm(a, b, out, tasks=2, split_m=0):
    matmul_kernel(id(a), id(b), id(out), id(ZEROS), tasks, split_m)
    return out
