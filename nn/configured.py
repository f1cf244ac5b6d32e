"""Layers that hold the options of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, dataclass_transform

from tinygrad_like.core.tensor import Tensor

from .module import Module


@dataclass_transform(eq_default=False)
class Configured(Module):
    """A layer that holds the options of a function: attributes with a type, from which its constructor is made, as a
    dataclass's is. `repr` shows them.

        class ELU(Configured):
            op = staticmethod(ops.elu)
            alpha: float = 1.0

    So `ELU(2.0)(x)` is `ops.elu(x, alpha=2.0)`. `__post_init__` checks the options, and completes them.
    """

    op: ClassVar[Callable]
    _options: ClassVar[dict[str, inspect.Parameter]] = {}

    def __init_subclass__(cls) -> None:
        if not cls.__module__.startswith(f"{__package__}."):
            return  # a subclass of a program's is as any other
        own: dict[str, inspect.Parameter] = {}
        kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
        for name, annotation in inspect.get_annotations(cls).items():
            if annotation == "KW_ONLY":
                kind = inspect.Parameter.KEYWORD_ONLY
            elif not annotation.startswith("ClassVar"):
                own[name] = inspect.Parameter(name, kind, annotation=annotation,
                                              default=cls.__dict__.get(name, inspect.Parameter.empty))
        if own:
            cls._options = dict(sorted({**cls._options, **own}.items(), key=lambda option: option[1].kind))
            if "__init__" not in cls.__dict__:
                cls.__init__ = _constructor(cls._options)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        pass

    def forward(self, x: Tensor) -> Any:
        own = self.__dict__
        return self.op(x, **{name: own[name] for name in self._options})

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._options)


def _constructor(options: dict[str, inspect.Parameter]) -> Callable:
    def __init__(self: Configured, *args: Any, **given: Any) -> None:
        bound = signature.bind(self, *args, **given)
        bound.apply_defaults()
        self.__dict__.update(list(bound.arguments.items())[1:])
        self.__post_init__()

    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([this, *options.values()], __validate_parameters__=False)  # type: ignore[call-arg]
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


Configured.__init__ = _constructor({})  # type: ignore[method-assign]
