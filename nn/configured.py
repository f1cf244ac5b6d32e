"""Layers that hold the options of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import accumulate
from typing import Any, ClassVar

from .module import Module


class Configured(Module):
    """A layer that holds the options of a function as attributes, set by the constructor and shown by `repr`.

        class ELU(Configured, op=ops.elu):
            ...

    So `ELU(2.0)(x)` is `ops.elu(x, alpha=2.0)`. The op's `axis` is the layer's `dim`, its `training` the module's flag.
    `__post_init__` checks the options and completes them.
    """

    op: ClassVar[Callable]
    forward: Callable[..., Any]
    inputs: ClassVar[int] = 1  # the number of the op's parameters that are inputs
    takes: ClassVar[tuple[str, ...] | None] = None  # the options that the layer has, in its order; None for all
    by_position: ClassVar[bool] = True  # whether keyword-only options may be positional here
    _options: ClassVar[list[str]] = []

    def __init_subclass__(cls, op: Callable | None = None) -> None:
        if op is None:
            return
        cls.op = staticmethod(op)
        parameters = inspect.signature(op).parameters
        inputs, options = list(parameters)[: cls.inputs], list(parameters)[cls.inputs :]
        chosen = options if cls.takes is None else cls.takes
        own = {name: "dim" if name == "axis" else name for name in chosen}
        kept = [parameters[name].replace(name=own[name]) for name in chosen if not hasattr(Module, name)]
        cls._options = [p.name for p in kept]
        # All options after a keyword-only one are keyword-only too.
        kinds = accumulate([p.POSITIONAL_OR_KEYWORD if cls.by_position else p.kind for p in kept], max)
        cls.__init__ = _constructor([  # type: ignore[method-assign]
            p.replace(kind=kind) for p, kind in zip(kept, kinds, strict=True)])
        # Generated source, since a loop over the options in each call would take longer than a small op.
        given = [f"{name}=self.{own[name]}" if parameters[name].kind is inspect.Parameter.KEYWORD_ONLY else
                 f"self.{own[name]}" for name in options if name in own]
        source = f"lambda {', '.join(['self', *inputs])}: op({', '.join([*inputs, *given])})"
        forward: Any = eval(compile(source, __file__, "eval"), {"op": op, "__name__": __name__})
        cls.forward = forward if given else staticmethod(op)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        pass

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._options)


def _constructor(options: list[inspect.Parameter]) -> Callable:
    def __init__(self: Configured, *args: Any, **given: Any) -> None:
        bound = signature.bind(self, *args, **given)
        bound.apply_defaults()
        self.__dict__.update(list(bound.arguments.items())[1:])
        self.__post_init__()

    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([this, *options])
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__
