"""Generated code for each op: its call, and the pull of a cotangent through it.

`general` and `pull` of `ops/operands.py`, around `core/dispatch.py`, define a call. They loop over inputs and test for
all special cases, which takes longer than the arithmetic of a small array. In the usual case, a generated function does
the same without loops, with the names that the op was declared with; otherwise, it calls the general one. It is a
method of a class whose only instance is the op, so that a call reaches it directly.

To read that of an op that has been called twice: `print(inspect.getsource(type(ops.mul).pull))`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, partialmethod
from string import Template
from typing import Any

import numpy as np

from ..core.dispatch import Op
from ..core.graph import Node, mode, tick
from ..core.primitive import Primitive
from ..core.tensor import Tensor, wrap
from ..dtypes import BOOL, FLOAT32, FLOAT64, INT64, NARROW
from ..errors import blame, refusal
from ..methods.versions import share_version
from ..ops.composite import Composite
from ..ops.cotangents import Scattered
from ..ops.on_arrays import on_arrays
from ..ops.operands import PLAIN, PROMOTES, SETTINGS, SINGLE, by_position, general
from ..transforms.codegen import define

ABSENT = object()  # stands for a missing input
# Names in the templates end in _, or start with it and a digit, unlike the names of ops.
_NAMES: dict[str, Any] = {
    "ABSENT_": ABSENT, "BOOL_": BOOL, "FLOAT32_": FLOAT32, "FLOAT64_": FLOAT64, "INT64_": INT64, "NARROW_": NARROW,
    "NOTHING_": {}, "NO_NARROWER_": frozenset({BOOL, INT64}),
    "Node_": Node, "PLAIN_": PLAIN, "Scattered_": Scattered, "SETTINGS_": SETTINGS, "SINGLE_": SINGLE,
    "Tensor_": Tensor, "array_": np.ndarray, "asarray_": np.asarray, "blame_": blame, "mode_": mode,
    "dtype_of_": lambda x: getattr(x, "dtype", BOOL), "new_": Tensor.__new__,
    "refusal_": refusal, "numbers_": frozenset({np.float32, np.float64, np.int64, np.bool_}),
    "shape_": lambda x: getattr(x, "shape", ()), "share_version_": share_version, "tick_": tick, "wrap_": wrap,
}
# An op with an option of such a name has only general calls.
_TAKEN = {"any", "isinstance", "len", "list", "map", "self", "tuple", "type"}

_CALL = Template('''\
def __call__(self, $head, $options_or_default **named_):
$options_by_position\
    usual_ = mode_.usual
    if usual_ is None or named_ or NARROW_ $or_an_option_is_a_tensor:
        return self.given($given, {$options}, named_)
$each_input\
    try:
$the_contracts\
        $run
    except Exception as error_:
        if (y_ := self.failed(error_, $inputs, ($arrays), {$options})) is NotImplemented: raise
        return y_
    $take_residuals
    if type(out_) in numbers_: out_ = asarray_(out_)  # NumPy returns these for 0-d arrays
    if type(out_) is not array_ or (dtype_ := out_.dtype) is not FLOAT32_ and not (
            dtype_ is BOOL_ or dtype_ is INT64_ $of_no_narrower or dtype_ is FLOAT64_ and
            FLOAT64_ in (kinds_ := [*map(dtype_of_, ($arrays))]) and FLOAT32_ not in kinds_):
        return self.record($inputs, ($arrays), {$options}, out_, residuals_)
    y_ = new_(Tensor_)
    y_._data = out_
    if usual_ and ($one_requires_grad) and (dtype_ is FLOAT32_ or dtype_ is FLOAT64_):
        y_.node = node_ = Node_()
        node_.op, node_.parents, node_.extra, node_.saved = self, $parents, None, ($kept)
        node_.order, node_.shape, node_.dtype, y_.requires_grad = tick_(), out_.shape, dtype_, True
    if out_.base is not None or $out_is_an_input:
        share_version_(y_, $inputs)
    return y_
''')

_CONTRACT = """\
        if (why_ := contract_{k}({values})) is not None: raise refusal_(self.called, why_)
"""

_OPTIONS_BY_POSITION = Template('''\
    if rest_:
        if len(rest_) > $count or $one_is_named: return self.given($given, {$options}, named_)
        $names = (*rest_, *($names)[len(rest_):])
        rest_ = ()
''')

_INPUT = Template('''\
    if isinstance(_$i, Tensor_):
        x_$i = _$i._data
        p_$i = (_$i.node or _$i) if _$i.requires_grad else None
    elif type(_$i) in PLAIN_: x_$i, p_$i = _$i, None
    elif $optional and _$i is ABSENT_: _$i = x_$i = p_$i = None
    else: return self.given($given, {$options}, named_)
''')

_ENOUGH = Template('''\
    if rest_ or $all_are_numbers:
        return self.given($given, {$options}, named_)
''')

_ANY_INPUTS = Template('''\
    arrays_, parents_, differs_ = [], [], False
    for x_ in inputs_:
        if not isinstance(x_, Tensor_): return self.given($given, {$options}, named_)
        arrays_.append(x_._data)
        parents_.append((x_.node or x_) if x_.requires_grad else None)
        differs_ = differs_ or x_.requires_grad
''')

_LISTED = """\
    rest_ = ()
    if inputs_ and type(inputs_[0]) in (list, tuple): inputs_, rest_ = tuple(inputs_[0]), inputs_[1:]
"""

_PULL = Template('''\
def pull(self, node, g, parents):
    if mode_.usual is not $usual or type(g) is Scattered_ or node.saved is None or NARROW_ and node.dtype in NARROW_:
        return $otherwise(self, node, g, parents)
    ($saved) = node.saved
    ($parents) = parents
$each_saved_input\
$saved_output\
    try:
$the_rules\
    except Exception as error:
        blame_(where if isinstance(where, str) else self.rule_for(where), error)
        raise
    try:
$each_cotangent\
    except AttributeError:
        return general_(self, node, g, parents)
    return ($cotangents)
''')

_SAVED_INPUT = Template('''\
    if isinstance(s_$k, Tensor_):
        if s_$k.version is not None and s_$k.version[0] > node.order: return general_(self, node, g, parents)
$as_array\
''')

_SAVED_OUTPUT = Template('''\
    if node.extra is not None and (changed_ := node.extra.version) is not None and changed_[0] > node.order:
        return general_(self, node, g, parents)
$on_the_graph\
''')
# While recording, rules get the output as a Tensor, as in `Op.values`.
_ON_THE_GRAPH = """\
    if s_{k} is not None:
        s_{k} = wrap_(s_{k})
        s_{k}.node, s_{k}.requires_grad = node, True
        s_{k}.shared_version()
"""

_RULE = Template('''\
        where = $i
        c_$i = None if p_$i is None else $rule(g, $values)
''')

_JOINT_RULE = Template('''\
        where = 'the joint VJP of ' + self.name
        found = self.joint[0](g, $values)
        if found is NotImplemented or len(found) != $count: return general_(self, node, g, parents)
        ($cotangents) = found
''')

_COTANGENT = Template('''\
        if p_$i is None: c_$i = None
        elif c_$i.shape != p_$i.shape or c_$i.dtype is not p_$i.dtype: c_$i = self.unbroadcast(c_$i, p_$i, g, $i)
''')


def given(self: Any, inputs: Any, options: dict, others: dict) -> Any:
    """`general`, for a call from generated code: all inputs and options in their places, `others` by name.

    On arrays alone, as in rules, it is the forward; if that fails, the general call explains the error.
    """
    return _given(self, inputs, options, others) if mode.around is None else mode.around(
        (self, *inputs, *options.values(), *others.values()), _given, self, inputs, options, others)


def _given(self: Any, inputs: Any, options: dict, others: dict) -> Any:
    inputs = [x for x in inputs if x is not ABSENT]
    alone = not others and len(inputs) >= self.required and not self.variadic and not any(
        [isinstance(value, SINGLE) for value in options.values()])
    if alone and _ON_ARRAYS.issuperset(map(type, inputs)):
        try:
            if self.contracts:
                self.check(self.contracts, inputs, options)
            out = self.forward(*inputs, **options)
            return out[0] if type(out) is tuple else out
        except Exception:
            pass
    return self.general(tuple(inputs), {**options, **others})


_ON_ARRAYS = {np.ndarray, np.float32, np.float64, np.int64, np.bool_} | PLAIN


def _first_calls(self: Any, *inputs: Any, **options: Any) -> Any:
    """The first two calls; then the op gets a class of its own, unless it was made for a single call."""
    if self.met:
        self.__class__ = specialized(self)
    self.met = True
    return self.general(inputs, options)


# Most calls only test `mode.usual`: it is `recording`, or None if there is a listener.
mode.declare(usual=True)


def _set(self: Any, field: str, value: Any) -> None:
    mine = self.__dict__  # this thread's
    mine[field] = value
    if field in ("recording", "listener"):
        mine["usual"] = self.recording if self.listener is None else None


def install() -> None:
    """Switch all ops to their generated calls and pulls."""
    type(mode).__setattr__ = _set  # type: ignore[method-assign, assignment]
    for name, value in (("__call__", _first_calls), ("given", given), ("of_arrays", lambda op, rule: on_arrays(rule)),
                        ("large", (0, {})), ("general", general)):
        setattr(Primitive, name, value)


def specialized(op: Any) -> type:
    """A class for this op alone, with generated code in place of its family's methods."""
    made: dict[str, Any] = {"__module__": op.family.__module__, "__call__": Op.__call__}
    if _TAKEN.isdisjoint(op.options) and not (isinstance(op, Composite) and op.kernel is None):
        made["__call__"] = call(op)
    if not op.variadic and (op.joint is not None or len(op.rules) == len(op.inputs)):
        made["pull"] = pull(op)
    elif op.variadic and op.rules and not op.saves:
        made["pull"] = partialmethod(pull_all, *op.array_rules[0])
    return type(op.family.__name__, (op.family,), made)


def call(op: Any) -> Callable:
    """`__call__` for inputs that are Tensors or numbers, if the result has their dtype and nobody listens."""
    count, sources = range(len(op.inputs)), {n: n for n in op.options} | {"out": "out_"}
    if isinstance(op, Composite):
        sources["residuals"] = "residuals_"
    words = {"options": ", ".join([f"{n!r}: {n}" for n in op.options])}
    if op.variadic:
        name = op.inputs[0]
        sources |= {name: "*inputs_", f"{name}_shape": "tuple(map(shape_, inputs_))"}
        words |= {"head": "*inputs_", "given": "([*inputs_], *rest_)", "inputs": "inputs_", "arrays": "*arrays_, ",
                  "parents": "parents_", "one_requires_grad": "differs_",
                  "out_is_an_input": "any([out_ is x_ for x_ in arrays_])"}
        words["each_input"] = _ANY_INPUTS.substitute(words)
    else:
        for i, n in enumerate(op.inputs):
            sources |= {n: f"_{i}", f"{n}_shape": f"() if x_{i} is _{i} else x_{i}.shape"}
        inputs = "".join([f"_{i}, " for i in count])
        words |= {"head": ", ".join([f"_{i}=ABSENT_" for i in count]) + ", *rest_", "given": f"({inputs} *rest_)",
                  "inputs": f"({inputs})", "arrays": "".join([f"x_{i}, " for i in count]),
                  "parents": f"({''.join([f'p_{i}, ' for i in count])})",
                  "one_requires_grad": " or ".join([f"p_{i} is not None" for i in count]),
                  "out_is_an_input": " or ".join([f"out_ is x_{i}" for i in count])}
        numbers = " and ".join([f"x_{i} is _{i}" for i in count])
        words["each_input"] = "".join([_INPUT.substitute(words, i=i, optional=i >= op.required) for i in count]
                                      + [_ENOUGH.substitute(words, all_are_numbers=numbers)])
    if not op.differentiable:
        words["one_requires_grad"] = "False"
    words["options_by_position"] = (_LISTED if op.variadic else "") + (_OPTIONS_BY_POSITION.substitute(
        words, count=by_position(op), names="".join([n + ", " for n in op.options]),
        one_is_named=" or ".join([f"len(rest_) > {k} and {n} is not defaults_[{n!r}]"
                                  for k, n in enumerate(op.options)])) if op.options else "")
    kinds = f"{{*map(dtype_of_, ({words['arrays']}))}}"
    arrays = {n: "arrays_" if op.variadic else f"x_{i}" for i, n in enumerate(op.inputs)}
    text = _CALL.substitute(
        words, of_no_narrower=f"and NO_NARROWER_ >= {kinds}" if op.name in PROMOTES else "",
        options_or_default="".join([f"{n}=defaults_[{n!r}], " for n in op.options]),
        or_an_option_is_a_tensor="".join(
            [f" or type({n}) not in SETTINGS_ and isinstance({n}, SINGLE_)" for n in op.options]),
        the_contracts="".join([_CONTRACT.format(k=k, values=", ".join([arrays.get(n, n) for n in names]))
                               for k, (_, names) in enumerate(op.contracts)]),
        **_what_runs(op, words, residuals=not sources.keys() >= set(op.saved)),
        kept=_saved(op, sources))
    return _define(op, "__call__", text, defaults_=op.options,
                   **{f"contract_{k}": contract for k, (contract, _) in enumerate(op.contracts)})


def _what_runs(op: Any, words: dict[str, str], residuals: bool) -> dict[str, str]:
    """The lines that call the forward, or the kernel of a composite, and its definition if the kernel declines."""
    passed = ", ".join([f"{n}={n}" for n in op.options])
    if isinstance(op, Composite):
        return {"run": f"out_ = self.kernel({words['arrays']} {passed})\n"
                       f"        if out_ is NotImplemented: return self.definition(*{words['inputs']}, {passed})",
                "take_residuals": "out_, residuals_ = out_"}
    return {"run": f"out_, residuals_ = self.forward({words['arrays']} {passed}), NOTHING_",
            "take_residuals": "if type(out_) is tuple: out_, residuals_ = out_" if residuals else ""}


def pull(op: Any, graph: bool = False) -> Callable:
    """`pull` if nobody listens: the rules, one after another, on arrays; or on Tensors, to record the gradient's
    graph."""
    count = range(len(op.inputs))
    cotangents, values = "".join([f"c_{i}, " for i in count]), [f"s_{k}" for k in range(len(op.saved))]
    (least, large), rules = ((0, {}), op.rules) if graph else (op.large, op.array_rules)
    names = {f"rule_{i}": rule for i, (rule, _) in rules.items()} | {f"large_{i}": rule for i, rule in large.items()}
    if op.joint is not None:
        wanted = f"[{', '.join([f'p_{i} is not None' for i in count])}]"
        text = _JOINT_RULE.substitute(values=", ".join([wanted if k < 0 else values[k] for k in op.joint[1]]),
                                      count=len(count), cotangents=cotangents)
    else:
        text = "".join([_RULE.substitute(
            i=i, rule=f"(rule_{i} if g.size < {least} else large_{i})" if i in large else f"rule_{i}",
            values=", ".join([str(i) if k < 0 else values[k] for k in uses]))
            for i, (_, uses) in sorted(rules.items())])
    own, on_the_graph = op.family.cotangents is Op.cotangents, _ON_THE_GRAPH.format(k=op.out) if graph else ""
    otherwise = "(recorded_ if mode_.usual else general_)" if own and not graph else "general_"
    return _define(op, "pull", _PULL.substitute(
        usual=graph, otherwise=otherwise,
        saved="".join([s + ", " for s in values]), parents="".join([f"p_{i}, " for i in count]),
        each_saved_input="".join([
            _SAVED_INPUT.substitute(k=k, as_array="" if graph else f"        s_{k} = s_{k}._data\n")
            for k, n in enumerate(op.saved) if n in op.inputs]),
        saved_output="" if op.out is None else _SAVED_OUTPUT.substitute(on_the_graph=on_the_graph), the_rules=text,
        each_cotangent="".join([_COTANGENT.substitute(i=i) for i in count]), cotangents=cotangents),
        general_=op.family.pull, recorded_=recorded, **names)


def recorded(self: Any, node: Node, g: Any, parents: Any) -> Any:
    """`pull` that records the gradient's graph; its code is generated when it is first needed."""
    made = type(self).__dict__.get("pull_recorded")
    if made is None:
        made = type(self).pull_recorded = pull(self, graph=True)  # type: ignore[attr-defined]
    return made(self, node, g, parents)


def pull_all(self: Any, rule: Callable, uses: list[int], node: Node, g: Any, parents: Any) -> list:
    """`pull` of an op of any number of inputs, none of which its rule needs, on arrays."""
    if mode.usual is False and type(g) is not Scattered and not (NARROW and node.dtype in NARROW):
        found: list[Any] = [
            None if p is None else self._run(node, i, rule, g, [i if k < 0 else node.saved[k] for k in uses])
            for i, p in enumerate(parents)]
        if all([p is None or getattr(c, "shape", ()) == p.shape and c.dtype is p.dtype
                for c, p in zip(found, parents, strict=True)]):
            return found
    return self.family.pull(self, node, g, parents)


def _saved(op: Any, sources: dict[str, str]) -> str:
    """The tuple of values that a node saves, each from the source of its name; a name without one is a residual. None
    for an input, or the output, that only the rules of inputs without gradient name."""
    row = ""
    for n in op.saved:
        row += sources.get(n, f"residuals_[{n!r}] if {n!r} in residuals_ else unknown_({n!r})")
        if (rules := op.needed(n)) is not None:
            row += f" if {' or '.join([f'p_{i} is not None' for i in rules])} else None"
        row += ", "
    return row


def _define(op: Any, name: str, text: str, **names: Any) -> Callable:
    """The function of this text. Tracebacks show its lines, like those of a file of this package."""
    file = os.path.join(os.path.dirname(__file__), f"<{name} of {op.name} {id(op):x}>")
    names |= {**_NAMES, "unknown_": partial(_unknown, repr(op))}  # not the op itself, which would make a cycle
    return define(name, text, file, names, owner=op)


def _unknown(op: str, name: str):
    raise TypeError(f"a VJP rule of {op} names {name!r}, which is not an input, option or residual")
