"""Names and habits of PyTorch, NumPy and tinygrad, as tables around what there is."""

from typing import Any

from .. import errors
from ..core.dispatch import Op
from ..core.tensor import Tensor
from ..ops import operands
from . import keyword_aliases, more_names, names
from .absent import Missing

_failed, _misfit = Op.failed, Op.misfit


def failed(op: Op, error: Exception, inputs: Any, arrays: Any, options: dict) -> Any:
    """A call of an op that failed is made again, if its options have other libraries' names."""
    y = NotImplemented if type(error) is OverflowError else keyword_aliases.again(op, inputs, options, error)
    if y is not NotImplemented:
        return y
    return _failed(op, error, inputs, arrays, options)


def misfit(op: Op, inputs: Any, options: dict, why: str) -> Any:
    """Inputs by PyTorch's names, or PyTorch's `inplace` by position, in their places."""
    if keyword_aliases.ends_with_inplace(op.name, inputs, len(op.inputs) + len(op.options)):
        return operands.bind(op, inputs[:-1], {**options, "inplace": inputs[-1]})
    if {"input", "other", "self"} & options.keys():
        return operands.bind(op, inputs, keyword_aliases.renamed(op.name, dict.fromkeys(op.inputs), {}, options))
    return _misfit(op, inputs, options, why)


for _f in failed, misfit:
    setattr(Op, _f.__name__, _f)
for _name, _known in {"again": keyword_aliases.again_function, "names": keyword_aliases.other_names,
                      "renamed": keyword_aliases.renamed, "device": keyword_aliases.device,
                      "dtype": keyword_aliases.wanted_dtype}.items():
    setattr(errors.other_keywords, _name, _known)
from . import import_lines, surface, torch_names  # noqa: E402, F401

errors.other_keywords.of_modules["cuda"] = Missing("cuda", names.MISSING["cuda"])

_init = Tensor.__init__


def _of_sizes(self: Any, data: Any, requires_grad: Any = False, dtype: Any = None, *sizes: int) -> None:
    """`Tensor(2, 3)`, or of a shape that `x.size()` gave, is zeros of that shape, as in PyTorch."""
    if type(requires_grad) is int:
        sizes = (requires_grad, *(() if dtype is None else (dtype,)), *sizes)
        data, requires_grad, dtype = Tensor.zeros(data, *sizes), False, None
    elif type(data) is more_names.Size:
        data = Tensor.zeros(*data)
    _init(self, data, requires_grad, dtype)


_of_sizes.__doc__, _of_sizes.__wrapped__ = _init.__doc__, _init
Tensor.__init__ = _of_sizes
