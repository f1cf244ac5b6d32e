"""Names and habits of PyTorch, NumPy and tinygrad, as tables around what there is."""

from typing import Any

from .. import errors
from ..core.dispatch import Op
from . import keyword_aliases

_failed, _renamed = Op.failed, Op.renamed


def failed(op: Op, error: Exception, inputs: Any, arrays: Any, options: dict) -> Any:
    """A call of an op that failed is made again, if its options have other libraries' names."""
    if type(error) is not OverflowError and (y := keyword_aliases.again(op, inputs, options)) is not NotImplemented:
        return y
    return _failed(op, error, inputs, arrays, options)


def renamed(op: Op, missing: str, options: dict) -> dict:
    """The options by an op's own names, if PyTorch's names of inputs are among them."""
    if {"input", "other", "self"} & options.keys():
        return keyword_aliases.renamed(op.name, dict.fromkeys(op.inputs), {}, options)
    return _renamed(op, missing, options)


for _f in failed, renamed:
    setattr(Op, _f.__name__, _f)
errors.other_keywords.again, errors.other_keywords.names = keyword_aliases.again_function, keyword_aliases.other_names
from . import surface  # noqa: E402, F401
