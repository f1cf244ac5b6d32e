"""In-place changes: `x += y`, `x.add_(y)`, `x.zero_()`."""

from __future__ import annotations

import math
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from .. import ops, random
from ..core.graph import mode
from ..core.listener import effect, pure
from ..core.tensor import Tensor, wrap
from ..dtypes import BOOL, FLOAT32, FLOAT64, FLOATS, INT64, as_array, can_cast
from ..errors import named, refusal
from . import creation
from . import view_aliases as aliases
from .protocol import write

# Direct NumPy calls on the array to change, with numbers or arrays of its dtype.
_AT_ONCE: dict[str, Callable] = {
    "add": lambda x, b, alpha=1: np.add(x, b if alpha == 1 else np.multiply(b, alpha), out=x),
    "sub": lambda x, b, alpha=1: np.subtract(x, b if alpha == 1 else np.multiply(b, alpha), out=x),
    "mul": lambda x, b: np.multiply(x, b, out=x), "div": lambda x, b: np.true_divide(x, b, out=x),
    "addcmul": lambda x, a, b, value=1: np.add(x, np.multiply(a, b) * value, out=x),
    "addcdiv": lambda x, a, b, value=1: np.add(x, np.true_divide(a, b) * value, out=x),
    "copy_": lambda x, src, non_blocking=False: np.copyto(x, src),
    **dict.fromkeys(("clip", "clamp"), lambda x, low, high: np.clip(x, float(low), float(high), out=x))}


def _at_once(change: Callable, x: Tensor, inputs: tuple, options: dict) -> bool:
    """Let NumPy change x, if all dtypes agree and nothing is recorded: a shortcut for `_become` without a temporary
    array. Returns whether it did."""
    if (mode.listener is not None or x.node is not None or x.dtype not in (FLOAT32, FLOAT64)
            or mode.recording and x.requires_grad):
        return False
    arrays = []
    for y in inputs:
        if isinstance(y, Tensor):
            if mode.recording and y.requires_grad:
                return False
            y = y._data
        if type(y) not in (float, int) and getattr(y, "dtype", None) is not x.dtype:
            return False
        arrays.append(y)
    if not x._data.flags.writeable:
        return False
    try:
        change(x._data, *arrays, **options)
    except Exception:  # `_become` will explain it
        return False
    x.touch()
    return True


def _changing(who: str, at_once: Callable | None, make: Callable) -> Callable:
    """The method `who`, which sets a Tensor to make(x, *inputs, **options)."""
    def change(self: Tensor, *inputs: Any, **options: Any) -> Tensor:
        if at_once is not None and _at_once(at_once, self, inputs, options):
            return self
        return self._become(who, lambda x: make(x, *inputs, **options))

    change.__name__ = change.__qualname__ = who
    return named(change, who)


def in_place(name: str, symbol: str = "") -> Callable:
    change = _changing(symbol or f"{name}_", _AT_ONCE.get(name),
                       lambda x, *inputs, **options: getattr(x, name)(*inputs, **options))
    change.__doc__ = f"`{name}`, in place; a leaf that requires grad can change only under no_grad()."
    return change


def _filled(name: str, values: Callable) -> Callable:
    def fill(x: Tensor, *inputs: Any, **options: Any) -> Tensor:
        if name == "fill_":
            _refuse_lossy(name, x, *inputs, *options.values())
        y = values(x, *inputs, **options)
        y = y if isinstance(y, Tensor) else wrap(np.asarray(y, x.dtype))
        if y.dtype is not x.dtype:  # the source may have any dtype
            y = ops.cast(y, dtype=x.dtype)
        if x.requires_grad and mode.recording:  # the parents of x get zero gradients
            return ops.parts.set_at(y, x, index=(...,))
        return y

    return _changing(name, _AT_ONCE.get(name), fill)


def _refuse_lossy(who: str, x: Tensor, *values: Any) -> None:
    """Raise TypeError if a value might lose its fraction in integer memory, or its imaginary part."""
    if any([isinstance(value, complex | np.complexfloating) for value in values]):
        raise TypeError(f"{who}: a Tensor holds real numbers, got {', '.join(map(str, values))}")
    if x._data.dtype.kind in "iu":
        for value in values:
            if type(value) is float and not value.is_integer() or getattr(value, "dtype", INT64).kind in FLOATS:
                said = value if type(value) is float else f"what is {value.dtype}"
                raise TypeError(f"{who}: {said} does not fit in place into {x.dtype}, which holds integers; make "
                                "the Tensor floating point with .float(), or cast the value")


def _array(value: Any, dtype: np.dtype) -> np.ndarray:
    """A value that is not a Tensor, for items: numbers get the items' dtype."""
    given = value, None if isinstance(value, np.ndarray | np.generic) else dtype, "setitem"
    return as_array(*given) if mode.listener is None else mode.listener.compute("setitem", as_array, given, {})


def _full(x: Tensor, value: Any) -> Any:
    """A number everywhere; a Tensor of one element gets a gradient."""
    if np.ndim(value):
        raise ValueError(f"fill_: takes a number, got a value of shape {np.shape(value)}; copy_ takes what broadcasts")
    if isinstance(value, Tensor):
        return ops.expand(value, shape=x.shape)
    return pure(np.full)(x.shape, value, x.dtype)


def _with_items(x: Tensor, index: Any, value: Any, reuse: bool = False) -> Tensor:
    """x with `value` at `index`, on the graph. Of several values for one element, the last wins, as in NumPy."""
    if x.dtype.kind not in FLOATS:
        raise TypeError(f"setitem: x is {x.dtype}, so the value would get no gradient; cast x with .float()")
    if not isinstance(value, Tensor):
        value = wrap(_array(value, x.dtype))
    index = ops.index.plain_index(index, x.shape)
    axis = ops.index.axis_of_array(index)
    axis = None if axis is None or index[axis].ndim != 1 else axis
    try:
        part = np.shape(x._data[index]) if axis is None else (*x.shape[:axis], index[axis].size, *x.shape[axis + 1 :])
    except IndexError as error:
        raise refusal("getitem", ops.index.missing(index, x.shape) or error) from None
    axes = ops.index.torch_order(index, x.ndim)
    part = part if axes is None else tuple([part[a] for a in axes])
    if (extra := value.ndim - len(part)) > 0 and value.shape[:extra] == (1,) * extra:
        value = value.reshape(value.shape[extra:])
    if axes is not None:
        value = ops.permute(ops.expand(value, shape=part), axes=np.argsort(axes).tolist())
        part = value.shape
    if value.dtype is not x.dtype:
        value = ops.cast(value, dtype=x.dtype)
    if axis is not None:
        places = ops.movement.slices_named("setitem", x.shape, axis, index[axis], wraps=True)
        return ops.movement.with_slices(x, axis, places, ops.expand(value, shape=part))
    if not ops.index.is_basic(index) and any([getattr(i, "dtype", BOOL) is not BOOL for i in index]):
        turn = wrap(np.arange(math.prod(part)).reshape(part))  # the index may repeat an element
        last = ops.take(ops.parts.surround(turn, shape=x.shape, index=index), index=index)
        value = ops.where(ops.eq(turn, last), value, 0.0)
    return ops.parts.set_at(value, x, index=index, reuse=reuse)


def _mask_of(x: Tensor, index: Any, value: Any) -> Tensor | None:
    """The mask with all axes of x, if the index is a mask and the value a number that fits x's dtype."""
    if not isinstance(index, Tensor) or index.dtype is not BOOL or index.shape != x.shape[:index.ndim]:
        return None
    suits = type(value) is int or x.dtype.kind in FLOATS and (
        type(value) is float or isinstance(value, Tensor) and value.ndim == 0 and value.dtype.kind in FLOATS)
    return ops.reshape(index, shape=(*index.shape, *[1] * (x.ndim - index.ndim))) if suits and x.ndim else None


_NUMBERS = {FLOAT32: float, INT64: int}  # NumPy writes these as we do
_MASKED = 4096  # up to this size, `where` is faster than NumPy's masked write
_BY_SELF_AND_PART = 3  # references to an array: by its Tensor, by a part of it, and as the argument of `getrefcount`


class InPlace:
    """The part of Tensor that changes it."""

    def _become(self: Any, who: str, make: Callable[[Tensor], Tensor], part: np.ndarray | None = None,
                alone: bool = False) -> Tensor:
        """Set this Tensor to make(self), in its own memory, so views see the change.

        If the change is recorded, this Tensor becomes the result of `make`, with its node, and its views and its base
        follow. Raises RuntimeError for a leaf that requires grad while ops are recorded, and if a view or base cannot
        follow.

        part: the part that changes, if not all. alone: whether no other known Tensor shares its memory.
        """
        plain = f"write x = x.{who.rstrip('_')}(...)" if who.endswith("_") else f"write x = x {who[:-1]} ..."
        if who == "setitem":
            plain = "build the result with where, cat or scatter"
        if self.requires_grad and self.node is None and mode.recording:
            raise RuntimeError(f"{who}: a leaf that requires grad cannot be changed in place while ops are recorded; "
                               f"do it under no_grad(), or {plain} for a new Tensor")
        before = aliases.twin(self, self.version)
        y = make(before)
        if y.shape != self.shape:
            raise ValueError(f"{who}: the result has shape {y.shape}, which does not fit in place into {self.shape}; "
                             f"{plain}")
        if not can_cast(y.dtype, self.dtype):
            raise TypeError(f"{who}: the result is {y.dtype}, which does not fit in place into {self.dtype}; {plain}")
        if y.dtype is not self.dtype:
            y = ops.cast(y, dtype=self.dtype)
        if not y.requires_grad:
            if self.node is not None:
                raise RuntimeError(f"{who}: this Tensor was computed by {self.node.op.name}, whose rule may need its "
                                   f"values; {plain}, or change a clone()")
            self._require_writable(who)
            write(self._data, ..., y._data)
            self.touch()
        else:
            if y.version is not None and y.version is not before.version:  # such as the argument of `copy_`
                y = ops.clone(y)
            self._require_writable(who)
            others = [] if alone else aliases.sharing(self, before, y)
            if not others:
                aliases.become(self, y)
            elif why := aliases.follow(self, y, part, others, _with_items):
                raise RuntimeError(f"{who}: {why}; {plain}, or start from a clone()")
        return self

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        if isinstance(value, Tensor) and value._viewed is not None and value._viewed[0]() is self and (
                value._viewed[1] is index and value.version is self.version is not None):  # type: ignore[union-attr]
            return  # `x[i] += y` has already changed x
        many = self._data.size >= _MASKED and getattr(index, "ndim", 0) == self.ndim
        if (many or mode.listener is not None) and (mask := _mask_of(self, index, value)) is not None:
            value = ops.cast(value, dtype=self.dtype) if isinstance(value, Tensor) else value
            return self._become("setitem", lambda x: x.masked_fill(mask, value))  # no size depends on values
        recorded = mode.recording and (self.requires_grad or isinstance(value, Tensor) and value.requires_grad)
        if recorded or self.node is not None:
            return self._set_items(index, value)
        self._require_writable("setitem")
        _refuse_lossy("setitem", self, value)
        index = ops.index.plain_index(index, self.shape)
        if isinstance(value, Tensor):
            value = value._data
        elif mode.listener is not None or type(value) is not _NUMBERS.get(self._data.dtype):
            # Do not round a number to float32 on its way into float64.
            value = _array(value, self.dtype)
        axes = ops.index.torch_order(index, self.ndim)
        try:
            if axes is None:
                write(self._data, index, value)
            else:
                effect("assign", ops.index.assign, self._data, index, value, axes, writes=[self._data])
        except (IndexError, ValueError) as error:
            why = error
        else:
            return self.touch()
        if (missing := ops.index.missing(index, self.shape)) is not None or type(why) is IndexError:
            raise refusal("getitem", missing or why) from None
        shape = self._data[index].transpose(axes).shape if axes else self._data[index].shape
        raise ValueError(f"setitem: a value of shape {value.shape} does not broadcast to {shape}, the shape of "
                         "x[index]")

    __setitem__ = named(__setitem__, "setitem")

    def _set_items(self: Any, index: Any, value: Any) -> None:
        places = index if type(index) is tuple else (index,)
        basic = all([i is None or i is ... or type(i) in (int, slice) for i in places])
        try:
            part = self._data[places if ... in places else (*places, ...)] if basic else None
        except IndexError:  # explained below
            part = None
        # Filling a loop's result row by row: nothing else shares the memory, and no node keeps it.
        reuse = part is not None and mode.listener is None and mode.recording and part.base is self._data and (
            part.flags.writeable and getrefcount(self._data) == _BY_SELF_AND_PART and not aliases.sharing(self))
        self._become("setitem", lambda x: _with_items(x, index, value, reuse), part, reuse)

    add_, sub_, mul_, div_, pow_, clamp_ = map(in_place, ("add", "sub", "mul", "div", "pow", "clamp"))
    addcmul_, addcdiv_ = map(in_place, ("addcmul", "addcdiv"))
    __iadd__, __isub__, __imul__ = in_place("add", "+="), in_place("sub", "-="), in_place("mul", "*=")
    __itruediv__, __ifloordiv__ = in_place("div", "/="), in_place("__floordiv__", "//=")
    __imod__, __ipow__, __imatmul__ = in_place("mod", "%="), in_place("pow", "**="), in_place("matmul", "@=")
    __iand__, __ior__, __ixor__ = in_place("__and__", "&="), in_place("__or__", "|="), in_place("__xor__", "^=")
    zero_ = _filled("zero_", lambda x: np.zeros(x.shape, x.dtype))
    fill_ = _filled("fill_", _full)
    copy_ = _filled("copy_", lambda x, src, non_blocking=False: ops.expand(
        src if isinstance(src, Tensor) else Tensor(src), shape=x.shape))
    normal_ = _filled("normal_", lambda x, mean=0.0, std=1.0, generator=None: creation.normal(
        *x.shape, mean=mean, std=std, dtype=x.dtype, generator=generator))
    uniform_ = _filled("uniform_", lambda x, low=0.0, high=1.0, generator=None: creation.uniform(
        *x.shape, low=low, high=high, dtype=x.dtype, generator=generator))
    bernoulli_ = _filled("bernoulli_", lambda x, p=0.5, generator=None: creation.rand(
        *x.shape, dtype=FLOAT64, generator=generator) < p)
    exponential_ = _filled("exponential_", lambda x, lambd=1.0, generator=None: random.sampled(
        "exponential", lambda rng, scale: rng.exponential(scale, x.shape).astype(x.dtype), 1 / lambd,
        generator=generator))

    def detach_(self):
        """Leave the graph: become a leaf that does not require grad."""
        self.__dict__.pop("node", None)
        self.requires_grad = False
        return self


for _name in """
    abs acos acosh asin asinh atan atan2 atanh ceil celu clip copysign cos cosh cumprod cumsum elu erf exp exp2
    expm1 floor fmod hardsigmoid hardswish hardtanh hypot leaky_relu lerp log log10 log1p log2 logical_not
    masked_fill mod neg reciprocal relu relu6 round rsqrt clamp_max clamp_min deg2rad floor_divide frac
    nan_to_num rad2deg remainder true_divide scatter scatter_add scatter_reduce selu sigmoid sign silu sin
    sinh softmax sqrt square tan tanh tril triu trunc arccos arccosh arcsin arcsinh arctan arctan2 arctanh
    bitwise_and bitwise_not bitwise_or bitwise_xor erfinv
""".split():
    setattr(InPlace, f"{_name}_", in_place(_name))
