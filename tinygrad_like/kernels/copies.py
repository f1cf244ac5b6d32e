"""Copies of float32 arrays of any strides, on all threads.

NumPy copies along the target's rows, whatever the source's layout, so a transpose loads a cache line per element. Here,
if a row of the target is strided in the source, and another axis is contiguous there, both arrays are cut into squares
that are transposed in vector registers.
"""

import numpy as np

from .kinds import STRIDED, STRIDED_WRITE
from .program import kernel
from .simd import FLOATS, inner
from .tiles import copy_float, make_copy, transpose_block
from .views import count_of, data_of, floats_at, integers_at, ndim_of, size_of, stack_buffer, stride_of

_COST = 0.1  # nanoseconds per element
_UNIT = 2**12  # elements of a row that a task copies at a time

_copy_some = make_copy(FLOATS, exact=True)


@inner
def _axes(x, out, sizes, source, target):
    """Write the sizes of out's axes of two entries or more, contiguous ones merged, the innermost last, and the strides
    of x and of out along them. Returns their number."""
    count = 0
    for axis in range(ndim_of(out)):
        n, a, b = size_of(out, axis), stride_of(x, axis), stride_of(out, axis)
        if n != 1:
            at = count
            while at > 0 and abs(target[at - 1]) < abs(b):
                sizes[at], source[at], target[at] = sizes[at - 1], source[at - 1], target[at - 1]
                at -= 1
            sizes[at], source[at], target[at] = n, a, b
            count += 1
    kept = 0
    for axis in range(count):
        n, a, b = sizes[axis], source[axis], target[axis]
        if kept > 0 and source[kept - 1] == n * a and target[kept - 1] == n * b:
            sizes[kept - 1], source[kept - 1], target[kept - 1] = sizes[kept - 1] * n, a, b
        else:
            sizes[kept], source[kept], target[kept] = n, a, b
            kept += 1
    if kept == 0:
        sizes[0], source[0], target[0] = 1, 4, 4
    return max(kept, 1)


@inner
def copy_row(count, source, source_step, target, target_step):
    """Copy a row whose elements are so many bytes apart."""
    if target_step == 4 and source_step == 4:
        last = max(count - FLOATS, 0)  # where the last vector begins, which overlaps the one before
        for i in range(0, last, FLOATS):
            _copy_some(source + 4 * i, target + 4 * i, FLOATS)
        _copy_some(source + 4 * last, target + 4 * last, count)
    elif target_step == 4 and source_step == 0:
        x, y = floats_at(source, 1)[0], floats_at(target, count)
        for i in range(count):
            y[i] = x
    else:
        for i in range(count):
            copy_float(source + i * source_step, target + i * target_step)


@inner
def _work(x, out):
    if ndim_of(x) != ndim_of(out):
        return -1
    for axis in range(ndim_of(out)):
        if size_of(x, axis) != size_of(out, axis):
            return -1
    return int(count_of(out) * _COST)


@kernel(x=STRIDED, out=STRIDED_WRITE, work=_work)
def copy_to(x, out, task, tasks):
    """out[...] = x"""
    numbers = integers_at(stack_buffer(), 3 * 66)  # NumPy's arrays have at most 64 axes
    sizes, source, target = numbers[:66], numbers[66:132], numbers[132:]
    count = _axes(x, out, sizes, source, target)
    last, other = count - 1, -1  # the axis of rows; the source's contiguous axis, if that is another
    if source[last] != 4 and target[last] == 4:
        for axis in range(last):
            if source[axis] == 4:
                other = axis
    transposes = other >= 0 and sizes[last] >= FLOATS and sizes[other] >= FLOATS
    if other >= 0 and not transposes and sizes[other] > sizes[last]:
        last, other = other, last
    rows = -1 if transposes else (last - 1 if last == count - 1 else count - 1)  # the axis of a task's rows
    length = sizes[last]
    if transposes:
        step, parts, per = FLOATS, (sizes[other] + FLOATS - 1) // FLOATS, 1
    elif rows < 0 or length >= _UNIT:
        rows, step, parts, per = -1, _UNIT, (length + _UNIT - 1) // _UNIT, 1
    else:
        step, per = length, _UNIT // max(length, 1)
        parts = (sizes[rows] + per - 1) // per
    units = parts
    for axis in range(count):
        if axis != last and axis != rows and not (transposes and axis == other):
            units *= sizes[axis]
    for unit in range(task * units // tasks, (task + 1) * units // tasks):
        part, left = unit % parts, unit // parts
        a, b = data_of(x), data_of(out)
        for axis in range(count - 1, -1, -1):
            if axis != last and axis != rows and not (transposes and axis == other):
                a += left % sizes[axis] * source[axis]
                b += left % sizes[axis] * target[axis]
                left //= sizes[axis]
        if transposes:
            i = min(part * FLOATS, sizes[other] - FLOATS)  # the last square overlaps the one before
            for first in range(0, length, FLOATS):
                j = min(first, length - FLOATS)
                transpose_block(a + 4 * i + j * source[last], source[last], b + i * target[other] + 4 * j,
                                target[other], FLOATS)
        elif rows < 0:
            first = part * step
            copy_row(min(step, length - first), a + first * source[last], source[last], b + first * target[last],
                     target[last])
        else:
            for row in range(part * per, min((part + 1) * per, sizes[rows])):
                copy_row(length, a + row * source[rows], source[last], b + row * target[rows], target[last])


def across(x: np.ndarray) -> bool:
    """Whether the last axis has a larger stride than another one."""
    strides = [abs(s) for s, n in zip(x.strides, x.shape, strict=True) if n > 1 and s]
    return len(strides) > 1 and abs(x.strides[-1]) > min(strides)


def copied(x: np.ndarray) -> np.ndarray:
    """A copy of x in C order."""
    out = np.empty(x.shape, np.float32)
    copy_to(x, out)
    return out


def in_c_order(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """x in C order in another shape: a view, if that is possible."""
    try:
        return x.reshape(shape, copy=False)
    except ValueError:
        return copied(x).reshape(shape)
