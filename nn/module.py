"""Module: a layer, or a model made of layers, with its parameters, buffers and submodules.

A module's state is its `__dict__`: Parameters in it are its parameters, Modules its submodules, and names given to
`register_buffer` its buffers. So attributes are plain, fast Python attributes in order of definition, and there are no
tables to keep in sync.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ParamSpec, Protocol, Self, TypeVar

from tinygrad_like import rings
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import FLOAT16, FLOAT32, FLOAT64, FLOATS, as_dtype, bfloat16
from tinygrad_like.errors import named, rescued
from tinygrad_like.methods.gradients import zero_gradients

from .hooks import Handle, Hooks
from .parameter import Buffer, Parameter
from .state import HOLDERS, Keys, load, locate, unregistered
from .state import check_positive as check_positive
from .state import modes_restored as modes_restored

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class _Computes(Protocol[P, R]):
    """Anything with a `forward`, whose signature type checkers see in a call."""

    _hooks: Hooks | None

    @property
    def forward(self) -> Callable[P, R]: ...


class Module:
    """The base of all layers and models: define `forward`, and assign parameters and submodules as attributes.

        class Classifier(nn.Module):
            def __init__(self, features, classes):
                self.hidden = nn.Linear(features, 64)
                self.head = nn.Linear(64, classes)

            def forward(self, x):
                return self.head(F.relu(self.hidden(x)))

    You may call `super().__init__()`, but need not. It calls no mixin, unless `call_super_init` is set.
    """

    # Defaults live on the class; an instance stores only what differs.
    training: bool = True
    _buffers: Mapping[str, bool] = {}  # name of a buffer -> whether it is in the state_dict
    _hooks: Hooks | None = None
    call_super_init: bool = False

    def __init__(self, *args: Any, **kwargs: Any):
        if self.call_super_init:
            super().__init__(*args, **kwargs)
        elif args or kwargs:
            raise TypeError(f"{type(self).__name__}: without __init__ it takes no arguments, got {args or kwargs}")

    def __call__(self: _Computes[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if self._hooks is None:
                return self.forward(*args, **kwargs)
            return self._hooks.call(self, args, kwargs)  # type: ignore[arg-type]
        except Exception as error:
            if isinstance(error, AttributeError) and hasattr(Tensor, error.name or "") and any(
                    error.obj is x for x in args) and not isinstance(error.obj, Tensor):
                raise locate(TypeError(f"{type(self).__name__}: takes Tensors, got {type(error.obj).__name__}; "
                                       "make one with Tensor(data)"), self, args) from None
            locate(error, self, args)
            y: Any = NotImplemented
            if kwargs and type(error) is TypeError:
                try:
                    y = rescued(type(self).forward, (self, *args), kwargs, error)  # type: ignore[attr-defined]
                except Exception as better:
                    raise locate(better, self, args)  # noqa: B904
            if y is NotImplemented:
                raise
            return y

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; call it as `module(...)`, which also runs the hooks."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    # Attributes -----------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        if problem := self._problem(name, value):
            raise TypeError(f"{type(self).__name__}.{name} {problem}")
        if type(value) is Buffer:
            self.__dict__["_buffers"] = {**self._buffers, name: value.persistent}
        object.__setattr__(self, name, value)

    def _problem(self, name: str, value: Any) -> str | None:
        """Why an attribute cannot be set: a parameter, for instance, must not silently become a plain number."""
        if (old := self.__dict__.get(name)) is not None and value is not None:
            if isinstance(old, Parameter) and not isinstance(value, Parameter):
                return (f"is a Parameter and cannot become a {type(value).__name__}; wrap it in nn.Parameter, or "
                        f"copy values into it with .{name}.assign(value)")
            if isinstance(old, Module) and not isinstance(value, Module):
                return f"is a submodule and cannot become {described(value)}; assign a Module, or delete it first"
        if name in self._buffers and not _is_buffer(value):
            return (f"is a buffer and cannot become a {type(value).__name__}; wrap it in Tensor, or copy values into "
                    f"it with .{name}.assign(value)")
        return None  # a list of modules may still be registered by add_module: `_walk` checks

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        if name in self._buffers:
            self.__dict__["_buffers"] = {n: persistent for n, persistent in self._buffers.items() if n != name}

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Set the unused attribute `name` to a Parameter, or to None for an absent one."""
        self._check_name("register_parameter", name)
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f"register_parameter: {name!r} must be an nn.Parameter or None, got "
                            f"{type(parameter).__name__}")
        setattr(self, name, parameter)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Set the unused attribute `name` to a Tensor of untrained state, such as a running mean.

        persistent: whether it is in the `state_dict`. None stands for an absent buffer.
        """
        self._check_name("register_buffer", name)
        if not _is_buffer(tensor):
            raise TypeError(f"register_buffer: {name!r} must be a Tensor or None, got {type(tensor).__name__}")
        self.__dict__["_buffers"] = {**self._buffers, name: persistent}
        setattr(self, name, tensor)

    def register_module(self, name: str, module: Module | None) -> None:
        """Set the unused attribute `name` to a submodule. The name need not be an identifier: "0" is allowed."""
        self._check_name("register_module", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"register_module: {name!r} must be an nn.Module or None, got {described(module)}")
        setattr(self, name, module)

    add_module = register_module

    def _check_name(self, who: str, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{who}: a name must be a str, got {type(name).__name__}")
        if not name or "." in name:
            raise ValueError(f"{who}: a name must not be empty or contain a dot (dots separate levels), got {name!r}")
        if hasattr(self, name):
            raise ValueError(f"{who}: {type(self).__name__} already has an attribute {name!r}")

    # Walking the tree -------------------------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Name and module of the direct submodules, in order of definition, each once."""
        seen = set()
        for name, module in self._children():
            if module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules, in order of definition, each once."""
        return (module for _, module in self.named_children())

    def named_modules(self, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Dotted name and module, for this module (named `prefix`) and all below it, parents before children."""
        return self._walk(prefix, set() if remove_duplicate else None)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, parents before children, each once."""
        return (module for _, module in self.named_modules())

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Dotted name and parameter, in order of definition; a shared (tied) parameter once, under its first name."""
        return self._named(Module._own_parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters for an optimizer, in order of definition, shared ones once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Dotted name and Tensor of the buffers, in order of definition."""
        return self._named(Module._own_buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, in order of definition, shared ones once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _children(self) -> Iterator[tuple[str, Module]]:
        return ((name, v) for name, v in self.__dict__.items() if isinstance(v, Module))

    def _own_parameters(self) -> Iterator[tuple[str, Parameter]]:
        return ((name, v) for name, v in self.__dict__.items() if isinstance(v, Parameter))

    def _own_buffers(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, v) for name in self._buffers if (v := self.__dict__.get(name)) is not None)

    def _walk(self, name: str, seen: set | None) -> Iterator[tuple[str, Module]]:
        if seen is not None:
            if self in seen:
                return
            seen.add(self)
        yield name, self
        for attribute, value in self.__dict__.items():
            if isinstance(value, Module):
                yield from value._walk(_join(name, attribute), seen)
            elif type(value) in HOLDERS and unregistered(value, self, (Module, Parameter)):
                raise TypeError(f"{type(self).__name__}.{attribute}: parameters() and state_dict() would not find the "
                                f"contents of a plain {type(value).__name__}; use nn.ModuleList or nn.ModuleDict, or a "
                                "tuple to hide it on purpose")

    def _named(self, tensors_of: Callable, prefix: str, recurse: bool, unique: bool) -> Iterator[tuple[str, Any]]:
        seen = set()
        for path, module in self.named_modules(prefix, unique) if recurse else [(prefix, self)]:
            for name, tensor in tensors_of(module):
                if tensor not in seen:
                    if unique:
                        seen.add(tensor)
                    yield _join(path, name), tensor

    def get_submodule(self, target: str) -> Module:
        """The module of dotted name `target`, such as "blocks.0.mm1"; "" is this one. AttributeError if there is
        none."""
        module: Module = self
        for name in target.split(".") if target else ():
            child = module.__dict__.get(name)
            if not isinstance(child, Module):
                raise AttributeError(f"get_submodule: {target!r}: {type(module).__name__} has no submodule {name!r}, "
                                     f"only {[n for n, _ in module._children()]}")
            module = child
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of dotted name `target`. Raises AttributeError if there is none."""
        return self._get("get_parameter", target, Module._own_parameters)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of dotted name `target`. Raises AttributeError if there is none."""
        return self._get("get_buffer", target, Module._own_buffers)

    def _get(self, who: str, target: str, tensors_of: Callable) -> Any:
        path, _, name = target.rpartition(".")
        found = dict(tensors_of(module := self.get_submodule(path)))
        if name not in found:
            raise AttributeError(f"{who}: {type(module).__name__} has no {name!r} of that kind, only {list(found)}")
        return found[name]

    # State ------------------------------------------------------------------------------------------------------------

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        for path, module in self.named_modules(remove_duplicate=False):
            for name, parameter in module._own_parameters():
                yield _join(path, name), parameter
            for name, buffer in module._own_buffers():
                if module._buffers[name]:
                    yield _join(path, name), buffer

    def state_dict(self) -> dict[str, Tensor]:
        """Dotted name -> value of every parameter and persistent buffer, with PyTorch's names and order.

        The Tensors are detached but share the module's memory, so training changes them. For a snapshot, take
        `{name: t.clone() for name, t in module.state_dict().items()}`. A tied parameter appears under all its names.
        """
        return {name: tensor.detach() for name, tensor in self._state()}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> Keys:
        """Copy values by name into the parameters and buffers, in place, so optimizers remain valid.

        state: name -> Tensor, array, PyTorch tensor, or anything else `np.asarray` takes; the module keeps its dtypes.
        strict: whether missing and unexpected names are errors. For a tied parameter, one name is enough.

        Returns the missing and the unexpected names. On any problem, it changes nothing and raises ValueError with all
        of them.
        """
        return load(self, state, strict)

    # Settings for the whole tree --------------------------------------------------------------------------------------


    def train(self, mode: bool = True) -> Self:
        """Set `training` here and below. Dropout and batch norm, for instance, differ between training and
        evaluation."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether the parameters here and below are trained; False freezes them."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters; with set_to_none=False, existing ones become zeros."""
        zero_gradients([*self.parameters()], set_to_none)

    def apply(self, function: Callable[[Module], Any]) -> Self:
        """Call `function` on every module below and then on this one, for instance to initialise layers by type."""
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    @named
    def to(self, dtype: Any) -> Self:
        """Cast the floating-point parameters and buffers, in place, so optimizers remain valid."""
        dtype = as_dtype(dtype, "to")
        if dtype.kind not in FLOATS:
            raise TypeError(f"to: parameters must be floating point, got {dtype}; use float32 or float64")
        for tensor in itertools.chain(self.parameters(), self.buffers()):
            if tensor.is_floating_point() and tensor.dtype is not dtype:
                tensor.data = tensor._data.astype(dtype)
                tensor.grad = None if tensor.grad is None else tensor.grad.detach().cast(dtype)
                tensor.touch()
        return self

    def cpu(self) -> Self:
        """The module itself: all Tensors are on the CPU."""
        return self

    def float(self) -> Self:
        """`to(float32)`."""
        return self.to(FLOAT32)

    def double(self) -> Self:
        """`to(float64)`, for checking gradients."""
        return self.to(FLOAT64)

    def half(self) -> Self:
        """`to(float16)`, half the memory; ops compute in float32 and round."""
        return self.to(FLOAT16)

    def bfloat16(self) -> Self:
        """`to(bfloat16)`, half the memory; ops compute in float32 and round."""
        return self.to(bfloat16())

    # Hooks ------------------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Before each call, call `hook(module, args)`; a result other than None replaces the arguments."""
        return self._hook("before", hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> Handle:
        """After each call, call `hook(module, args, output)`; a result other than None replaces the output."""
        return self._hook("after", hook)

    def register_full_backward_hook(self, hook: Callable[[Module, tuple, tuple], Any]) -> Handle:
        """In backward, call `hook(module, grad_input, grad_output)` when the gradients of the module's inputs are
        known.

        Both are tuples with one entry per positional argument or output, None where no gradient flows. If the hook
        returns a tuple, it replaces `grad_input`. The module must return a Tensor, or a tuple or list of Tensors.
        """
        return self._hook("backward", hook)

    def _hook(self, kind: str, hook: Callable) -> Handle:
        self._hooks = self._hooks or Hooks()
        return self._hooks.add(self, kind, hook)

    # Text -------------------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """The layer's settings, which `repr` shows in parentheses."""
        return ""

    def __repr__(self) -> str:
        lines = [line for line in self.extra_repr().split("\n") if line]
        children = [(name, repr(module)) for name, module in self._children()]
        if not children and len(lines) < 2:
            return f"{type(self).__name__}({''.join(lines)})"
        # Equal neighbours with numbers as names, such as the blocks of a deep model, share a line.
        for _, group in itertools.groupby(children, key=lambda child: (child[1], child[0].isdigit() or child[0])):
            (first, text), *rest = group
            label = f"({first}-{rest[-1][0]}): {len(rest) + 1} x" if rest else f"({first}):"
            lines += f"{label} {text}".split("\n")
        body = "".join(f"  {line}\n" for line in lines)
        return f"{type(self).__name__}(\n{body})"

    def _repr_html_(self) -> str | None:
        """The display in a notebook: a tree to unfold."""
        return None if rings.missing("learn") else rings.named("shown")(self)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _is_buffer(value: Any) -> bool:
    return value is None or isinstance(value, Tensor) and not isinstance(value, Parameter)


def described(value: Any) -> str:
    """A description of a value that is not a Module, with a hint at the likely intention."""
    if isinstance(value, Module):
        return f"the module {value!r}"
    if isinstance(value, type) and issubclass(value, Module):
        return f"the class {value.__name__}; create an instance: {value.__name__}(...)"
    if callable(value):
        return f"the function {getattr(value, '__name__', value)!s}; use a Module, such as nn.ReLU() for ops.relu"
    return type(value).__name__
