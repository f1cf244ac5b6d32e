"""Ops and kernels on memory between protected pages; a separate program, since touching such a page ends the process.

    python tests/kernels/guarded.py --cases 300 --threads 2 --seed 0

Every array ends right before such a page or begins right behind one: operands, in any layout; NumPy's arrays for
results; and numba's arrays inside kernels. New memory is full of NaN. Results are compared with those of the same op
in float64, which runs in NumPy. Each case's name is printed before it runs, so the last one is to blame.
"""

import argparse
import ctypes
import faulthandler
import gc
import importlib
import mmap
import os
import sys
import traceback
from types import FunctionType

import numpy as np
from numba import njit
from numba.core import event

import optim
from tests.kernels.samples import LARGE
from tinygrad_like import Tensor, kernels, manual_seed, ops
from tinygrad_like.core.dispatch import declared
from tinygrad_like.core.graph import mode
from tinygrad_like.data import augment as augmentation
from tinygrad_like.kernels import threads

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
rng = np.random.default_rng()
FLOAT32 = np.dtype(np.float32)

# Memory ---------------------------------------------------------------------------------------------------------------


def block(size):
    """`size` bytes of 255, which are NaN, at the end or the beginning of pages between two protected ones."""
    room = -(-max(size, 1) // PAGE) * PAGE
    pages = mmap.mmap(-1, room + 2 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    for forbidden in base, base + PAGE + room:
        if libc.mprotect(forbidden, PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    memory = np.frombuffer(pages, np.uint8, room, PAGE)
    memory[:] = 255
    return memory[:size] if rng.random() < 0.3 else memory[room - size :]


def array(shape, dtype=float, strides=None):
    """A new array with these strides, in a block of its own."""
    shape, dtype = tuple(np.atleast_1d(shape).tolist()) if shape != () else (), np.dtype(dtype)
    if strides is None:
        strides = tuple(dtype.itemsize * int(np.prod(shape[i + 1 :], dtype=int)) for i in range(len(shape)))
    steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    size = 0 if 0 in shape else dtype.itemsize + sum(map(abs, steps))
    return np.ndarray(shape, dtype, block(size), -sum(s for s in steps if s < 0) if size else 0, strides)


def placed(x, layout="C"):
    """A copy of x between protected pages, its axes in another order in memory, or apart, backwards or repeated."""
    order = list(range(x.ndim))
    if layout == "F":
        order.reverse()
    elif layout == "any":
        rng.shuffle(order)
    strides, step = [0] * x.ndim, x.itemsize
    for axis in reversed(order):
        apart = int(rng.choice([1, 1, 2, 3])) if layout == "any" else 1
        strides[axis] = step * apart * (int(rng.choice([1, 1, -1])) if layout == "any" else 1)
        step *= apart * max(x.shape[axis], 1)
    if layout == "expanded":  # run_case has made x constant along the axis
        strides[0] = 0
    y = array(x.shape, x.dtype, strides)
    y[...] = x
    y.flags.writeable = layout != "read-only"
    return y


class Guarded:
    """A context in which NumPy's new arrays, except those of numba's compiler, lie between protected pages."""

    real = {name: getattr(np, name) for name in ("empty", "zeros", "full", "empty_like")}
    depth = 0

    @staticmethod
    def _empty(shape, dtype=float, order="C"):
        return array(shape, dtype)

    @staticmethod
    def _zeros(shape, dtype=float, order="C"):
        return Guarded._full(shape, 0, dtype)

    @staticmethod
    def _full(shape, value, dtype=None, order="C"):
        x = array(shape, np.asarray(value).dtype if dtype is None else dtype)
        x[...] = value
        return x

    @staticmethod
    def _empty_like(x, dtype=None, order="K", subok=True, shape=None):
        like = Guarded.real["empty_like"](x, dtype, order, subok, shape)
        return array(like.shape, like.dtype, like.strides)

    def __enter__(self):
        for name in self.real:
            setattr(np, name, getattr(self, "_" + name))

    def __exit__(self, *error):
        for name, function in self.real.items():
            setattr(np, name, function)


class Unguarded(event.Listener):
    """While numba compiles, np.empty and the others are NumPy's own."""

    def __init__(self):
        self.before = []

    def on_start(self, _):
        self.before.append({name: getattr(np, name) for name in Guarded.real})
        Guarded().__exit__()

    def on_end(self, _):
        for name, function in self.before.pop().items():
            setattr(np, name, function)


blocks = {}


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)
def allocate(size, align):
    """Replaces the allocator for np.empty in a kernel; see `SCRATCH` in kernels/blocks.py."""
    memory, record = block(-(-size // 4) * 4), np.zeros(8, np.int64)
    record[[0, 3, 4]] = 1, memory.ctypes.data, size
    blocks[record.ctypes.data] = memory, record
    return record.ctypes.data


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
def release(address):
    del blocks[address]
    return 0


def guard_kernels(parallel):
    """Have kernels allocate between protected pages, and run for the smallest arrays, on all threads."""
    njit(lambda: np.empty(1))()  # numba now knows NumPy's functions as they are now
    kernels.machine.functions["tinygrad_like_allocate"] = ctypes.cast(allocate, ctypes.c_void_p).value
    kernels.machine.functions["tinygrad_like_release"] = ctypes.cast(release, ctypes.c_void_p).value
    kernels.gemm._LEAST = 0
    mode.compiled = True
    for op in declared:
        op.large = 0, op.large[1]
    for choose in gc.get_objects():
        if type(choose) is FunctionType and choose.__code__.co_qualname.startswith("accelerated"):
            free = dict(zip(choose.__code__.co_freevars, choose.__closure__ or (), strict=True))
            if "least" in free:
                free["least"].cell_contents = min(free["least"].cell_contents, 1)
    if parallel:
        kernels.threads.grain.value = 1

    def tables(f):
        """The plans, and other tables that are cached, as copies between protected pages."""
        def guarded(x):
            if isinstance(x, np.ndarray):
                return placed(x)
            if isinstance(x, tuple | list):
                parts = [guarded(part) for part in x]
                return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
            return x
        return lambda *arguments: guarded(f(*arguments))

    for name in "forward_plan", "backward_plans":
        setattr(kernels.conv, name, tables(getattr(kernels.conv, name)))
    kernels.winograd._edges = tables(kernels.winograd._edges)
    pool = importlib.import_module("tinygrad_like.ops.pool")
    pool._first_taps = tables(pool._first_taps)


# Cases: a name, a function from arrays to arrays, and the arrays ------------------------------------------------------

SIZES = 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 47, 48, 63, 65
kept = {}  # numbers that must be the same in a case's two runs


def size(most=65, least=1):
    return int(rng.choice([n for n in SIZES if least <= n <= most]))


def pick(*choices):
    return choices[rng.integers(len(choices))]


def sizes(n, most=33):
    return tuple(size(most) for _ in range(n))


def values(*shape):
    return rng.standard_normal(shape)


def cotangent(shape, dtype, guard, layouts=("C", "F", "any", "read-only")):
    if shape not in kept:
        kept[shape] = np.random.default_rng(0).standard_normal(shape)
    g = kept[shape].astype(dtype)
    return placed(g, pick(*layouts)) if guard else g


def differentiated(f):
    """f of Tensors, as a function of arrays that returns the output and all gradients."""

    def run(guard, *arrays):
        inputs = [Tensor.from_numpy(x).requires_grad_() for x in arrays]
        y = f(*inputs)
        if y.requires_grad:
            y.backward(Tensor.from_numpy(cotangent(y.shape, y.dtype, guard)))
        return [y._data, *(x.grad._data for x in inputs if x.grad is not None)]

    return run


def index(guard, x):
    return Tensor.from_numpy(placed(x, pick("C", "any", "read-only")) if guard else x)


def sample():
    """One of the calls that all tests of kernels share."""
    name = pick(*LARGE)
    f, *arrays = LARGE[name]
    return name, differentiated(f), [2 + abs(x) if " / " in name else x for x in arrays]


def sums():
    n = pick(1, 2, 3)
    axis = pick(None, 0, -1, *(tuple(range(i)) for i in range(1, n + 1)), *(tuple(range(i, n)) for i in range(n)))
    name = pick("sum", "mean", "max", "var")
    shape = sizes(n)
    if rng.random() < 0.3:
        n, shape, axis = 2, (int(rng.integers(1, 700)), size(40)), pick(0, 1, None)
    if n == 3 and rng.random() < 0.3:
        axis = 1
    elif rng.random() < 0.2:
        name, axis = "cumsum", int(rng.integers(n))
    return f"{name} over {axis}", differentiated(lambda x: getattr(ops, name)(x, axis=axis)), [values(*shape)]


def cross_entropy():
    rows, classes = int(rng.integers(1, 200)), pick(1, 2, 3, 10, 16, 17, 33, 300)
    options, loss = {"label_smoothing": pick(0.0, 0.1), "reduction": pick("mean", "sum", "none")}, ops.cross_entropy
    pixels = pick((), sizes(1), sizes(2))
    rows = min(rows, 3) if pixels else rows
    labels, weight = rng.integers(0, classes, (rows, *pixels)), rng.random(classes) + 0.5
    labels[rng.random(labels.shape) < 0.2] = -100
    labels = labels.astype(pick(np.int64, np.int32))

    def run(guard, x, w):
        return differentiated(lambda x: loss(x, index(guard, labels), Tensor.from_numpy(w), **options))(guard, x)

    if rng.random() < 0.3:
        del options["label_smoothing"]
        labels.flat[0] = 0  # or a mean may be NaN
        loss = ops.nll_loss
    return f"{loss.name} {options}", run, [values(rows, classes, *pixels), weight]


def matmul():
    m, k, n = size(), pick(size(), 130, 600), size()
    batches = pick(((), ()), ((3,), (3,)), ((2, 3), (3,)), ((), (2,)), ((2, 1), (1, 3)))
    return "matmul", differentiated(ops.matmul), [values(*batches[0], m, k) / 8, values(*batches[1], k, n) / 8]


def linear():
    rows, i, o = size(pick(9, 65)), size(), size()
    x = values(*pick((rows,), (2, rows)), i)
    return "linear", differentiated(ops.linear), [x, values(o, i) / i**0.5, values(o)][: pick(2, 3)]


def convolution():
    groups = pick(1, 1, 1, 2, 3)
    small = rng.random() < 0.3
    i, o = groups * pick(1, 2, 3, 5, 16, 17), groups * pick(1, 2, 7, 8, 9, 17, 33)
    if pick(0, 0, 0, 1):
        groups, i = pick(4, 9), 0
        i, o = groups, groups
    kernel = (1, 1) if rng.random() < 0.2 else (3, 3) if rng.random() < 0.4 else sizes(2, 4)
    stride, dilation, padding = pick((1, 1), (2, 2), (3, 1)), pick((1, 1), (1, 1), (2, 1)), pick((0, 0), (1, 1), (2, 1))
    image = [max(1, d * (k - 1) + 1 - 2 * p) + int(rng.choice([0, 1, 3, 5, 7, 15, 16] if not small else [0, 1, 2]))
             for k, d, p in zip(kernel, dilation, padding, strict=True)]
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    x, b = pick(1, 2, 3, 5, 9, 17, 33, 130 if small else 4), values(o)  # of small images, several fill a tile
    if rng.random() < 0.3:
        w, f = values(i, o // groups, *kernel), ops.conv_transpose2d
    else:
        w, f = values(o, i // groups, *kernel), ops.conv2d
    return f"{f.name} {options}", differentiated(lambda x, w, b=None: f(x, w, b, **options)), [
        values(x, i, *image), w, b][: pick(2, 3, 3)]


def along():
    x, axis = values(size(), size(), size()), pick(0, 1, 2)
    which = rng.integers(0, x.shape[axis], (size(), 1, 1)).reshape([-1 if a == axis else 1 for a in range(3)])
    wide = [which.size if a == axis else n for a, n in enumerate(x.shape)]
    if rng.random() < 0.5:
        return "gather", lambda guard, x: differentiated(lambda x: x.gather(
            axis, index(guard, which).expand(*wide)))(guard, x), [x]
    return "scatter_add", lambda guard, *xs: differentiated(lambda x, y: x.scatter_add(
        axis, index(guard, which).expand(*wide), y))(guard, *xs), [x, values(*wide)]


def pooling():
    kernel = pick((2, 2), (2, 2), (3, 3), (3, 2), (1, 4), (5, 5))
    stride = pick((2, 2), (2, 2), (1, 1), (3, 2), kernel)
    padding = tuple(int(rng.integers(0, k // 2 + 1)) for k in kernel)
    name, more = pick(("max_pool2d", {"dilation": pick(1, 1, 2)}),
                      ("avg_pool2d", {"count_include_pad": pick(True, False)}))
    options = {"kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": pick(True, False), **more}
    image = [k * 2 + int(rng.choice([0, 1, 2, 5, 9, 15, 16, 17])) for k in kernel]
    return f"{name} {options}", differentiated(lambda x: getattr(ops, name)(x, **options)), [
        values(pick(1, 3), pick(1, 5), *image)]


def attention():
    heads, length, total = pick((), (3,), (2, 2)), pick(1, 2, 5, 16, 31, 33, 65), pick(1, 2, 7, 32, 33, 129, 140)
    d, width = pick(1, 3, 8, 16, 17, 33), pick(1, 4, 16, 31, 33, 40)
    causal, dropout = pick(True, False), pick(0.0, 0.0, 0.3)
    mask = pick(None, None, (length, total), (1, total), (length, 1), (*heads, length, total), (total,))
    hidden = None if mask is None else rng.random(mask) < 0.3
    floating = pick(True, False)
    lowest = pick(-np.inf, np.finfo(np.float32).min)

    def run(guard, q, k, v):
        m = None
        if mask is not None and floating:
            m = np.where(hidden, lowest, 0.5).astype(q.dtype)
        elif mask is not None:
            m = ~hidden
        m = m if m is None else Tensor.from_numpy(placed(m, pick("C", "any")) if guard else m)
        manual_seed(1)
        return differentiated(lambda q, k, v: ops.scaled_dot_product_attention(
            q, k, v, m, is_causal=causal, dropout_p=dropout))(guard, q, k, v)

    return f"attention causal={causal} mask={mask} floating={floating} dropout={dropout}", run, [
        values(*heads, length, d), values(*pick(heads, ()), total, d), values(*heads, total, width)]


def embedding():
    rows, width = size(), size()
    which = rng.integers(0, rows, sizes(pick(1, 2)))
    padding = pick(None, 0, -1)
    which = which.astype(pick(np.int64, np.int32, np.uint8))
    if rng.random() < 0.5:
        return "take rows", lambda guard, x: differentiated(lambda x: x[index(guard, which)])(guard, x), [
            values(rows, width)]
    return "embedding", lambda guard, x: differentiated(lambda w: ops.embedding(
        index(guard, which), w, padding_idx=padding))(guard, x), [values(rows, width)]


def augmenting():
    h, w, channels = size(33), size(33), pick(1, 3, 4)

    def run(guard, images):
        images = np.clip(images.astype(np.float32), 0, 1)
        images = placed(images, pick("C", "any")) if guard else images
        return [augmentation.RandAugment(n=3, magnitude=9)(images, np.random.default_rng(5))]

    return "RandAugment", run, [rng.random((size(9), channels, h, w))]


def optimizing():
    make, count = pick((lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True), 1), (lambda p: optim.SGD(p, 0.1), 1),
                       (lambda p: optim.AdamW(p, 0.1), 2), (lambda p: optim.Adam(p, 0.1, weight_decay=0.1), 2),
                       (lambda p: optim.RMSProp(p, 0.1, momentum=0.5, centered=True, eps=0.1), 3))
    shapes = [pick((), sizes(1), sizes(2), (70, 300)) for _ in range(pick(1, 3))]

    def run(guard, *arrays):
        arrays = [x if guard and x.flags.writeable and 0 not in x.strides else x.copy() for x in arrays]
        parameters = [Tensor.from_numpy(x).requires_grad_() for x in arrays]
        optimizer = make(parameters)
        for _ in range(2):
            for p in parameters:
                p.grad = Tensor.from_numpy(cotangent(p.shape, p.dtype, guard, ("C", "F", "any")))
            norm = optim.clip_grad_norm(parameters, 1e9)
            optimizer.step()
        return [np.array(norm), *(p._data for p in parameters)]

    return "optimizer", run, [values(*shape) for shape in shapes]


CASES = (sample,) * 12 + (sums, cross_entropy, matmul, linear, linear, convolution, convolution, convolution, along,
                         pooling, attention, attention, embedding, augmenting, optimizing)


def show(x):
    how = "" if x.flags.c_contiguous else f" strides {x.strides}"
    return f"{x.shape}{how}{'' if x.flags.writeable else ' read-only'}"


def run_case(number, wrong):
    """Whether the case could run; appends to `wrong` if it went wrong."""
    kept.clear()
    name, f, arrays = CASES[number % len(CASES)]()
    arrays = [np.asarray(x, np.float32) for x in arrays]
    same = name in LARGE or name.split()[0] in ("var", "max", "max_pool2d")  # with kinks
    layouts = [pick("C", "C", "F", "any", "read-only", "C" if same else "expanded") for _ in arrays]
    for x, layout in zip(arrays, layouts, strict=True):
        if layout == "expanded" and x.ndim:
            x[...] = x[:1].copy()
    try:
        expected = f(False, *[x.astype(np.float64) for x in arrays])
    except ValueError:  # some random cases are impossible, such as windows larger than the image
        return False
    given = [placed(x, layout if x.ndim else "C") for x, layout in zip(arrays, layouts, strict=True)]
    title = f"{number}: {name} of {', '.join(map(show, given))}"
    os.write(1, (title + "\n").encode())
    try:
        with Guarded():
            found = f(True, *given)
    except Exception:
        wrong.append(f"{title}\n{traceback.format_exc()}")
        return True
    if len(found) != len(expected):
        wrong.append(f"{title}\n  {len(found)} arrays, for {len(expected)}")
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        if x.shape != y.shape:
            wrong.append(f"{title}\n  number {i} has shape {x.shape}, not {y.shape}")
            break
        with np.errstate(invalid="ignore"):
            off = np.abs(x - y)
        if not (off <= 1e-3 * (1 + np.abs(y).max(initial=0))).all():
            wrong.append(f"{title}\n  number {i} is off by {off.max()}, of {np.abs(y).max()}")
    return True


def main():
    parser = argparse.ArgumentParser()
    for option in "cases", "threads", "seed", "only":
        parser.add_argument(f"--{option}", type=int, default=-1 if option == "only" else 1)
    arguments = parser.parse_args()
    global rng
    faulthandler.enable()
    if os.environ.get("NUMBA_NUM_THREADS") != "1":
        threads.set_num_threads(arguments.threads)
    guard_kernels(arguments.threads > 1)
    event.register("numba:compile", Unguarded())
    wrong, count = [], 0
    for number in range(arguments.cases):
        rng = np.random.default_rng((arguments.seed, number))
        if arguments.only in (-1, number):
            count += run_case(number, wrong)
    print(f"{count} cases, {len(wrong)} wrong", *wrong, sep="\n")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
