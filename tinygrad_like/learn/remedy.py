"""Advice on an error that a forward, a rule or a file of ops raises."""

from __future__ import annotations

import builtins
import difflib
import re
from collections.abc import Iterable

import numpy as np

from .. import ops
from ..core.tensor import Tensor

_OPS = [n for n in dir(ops) if not n.startswith("_")]
_IMPORTS = {"np": "import numpy as np", "numpy": "import numpy", "math": "import math",
            "nn": "import nn", "optim": "import optim", "F": "import nn.functional as F",
            "example": "from tinygrad_like.learn import example",
            "pointwise": "from tinygrad_like.ops.pointwise import pointwise",
            **{n: f"from tinygrad_like import {n}" for n in
               ("ops", "primitive", "Tensor", "Residuals", "composite", "gradcheck", "gradgradcheck")}}
# Functions with another name in ops, or missing there because a NumPy array serves as a constant.
_INSTEAD = {"broadcast_to": "ops.expand(x, shape)", "concatenate": "ops.cat", "concat": "ops.cat", "dot": "ops.matmul",
            "mm": "ops.matmul", "bmm": "ops.matmul", "power": "ops.pow", "multiply": "ops.mul",
            "subtract": "ops.sub", "negative": "ops.neg", "true_divide": "ops.div", "absolute": "ops.abs",
            "swapaxes": "ops.transpose(x, i, j)", "moveaxis": "ops.movedim", "expand_dims": "ops.unsqueeze(x, axis)",
            "tile": "ops.repeat", "amax": "ops.max", "amin": "ops.min", "view": "ops.reshape", "ravel": "ops.flatten",
            "zeros_like": "np.zeros(x.shape), or 0 * x", "ones_like": "np.ones(x.shape), or 0 * x + 1",
            "full_like": "np.full(x.shape, value)", "index_add": "ops.scatter_add",
            **{n: f"np.{n}, since constants may be NumPy's" for n in ("zeros", "ones", "full", "eye", "arange",
                                                                      "linspace")}}

IN_PLACE = ("the rule writes into an array that is not its own: others may still need g and what was saved; make a new "
            "one, as with ops.where(condition, g, 0.0).")
_NUMPY = ("the rule calls NumPy on what may be a Tensor; write it with operators and with functions of "
          "tinygrad_like.ops, such as ops.cos(x), which work on both.")
_SHAPES = ("shapes inside the rule do not fit: write the shape of each factor beside it, and compare with the "
           "derivation.")

# Messages of Python, NumPy and the engine -> the kind of mistake, and the remedy. {f} stands for the module of
# functions: np in a forward, ops in a rule.
_SAID = [(re.compile(said), kind, text) for said, kind, text in [
    (r"returned (?:bool|u?int\d+), but the input is", "g",
     "the rule returns a condition or whole numbers: multiply g by them, or write ops.where(condition, g, 0.0)."),
    (r"returned float\d+, but the input is|float32 times float64|float64 times float32", "dtype",
     "the rule mixes dtypes: NumPy's numbers and arrays are float64 unless you say otherwise; use Python numbers, or "
     "make arrays with dtype=g.dtype."),
    (r"returned NoneType, not an array", "return", "the rule returns nothing: a `return` is missing."),
    (r"returned (?:tuple|list), not an array", "return",
     "the rule returns several things, and it must return one: the cotangent of its own input. Each input has a rule "
     "of its own; one for all of them is declared with joint_vjp."),
    (r"returned (?:int|float|bool), not an array", "g",
     "the rule returns a number: what arrives, g, must be multiplied by it."),
    (r"returned \w+, not an array", "return",
     "the rule must return an array or a Tensor: one cotangent, of the shape of its input."),
    (r"joint VJP of .* returned (\d+) cotangents, not (\d+)", "return",
     r"a joint rule returns a list with one cotangent for each input, in their order; this one has \1, and the op "
     r"\2 inputs. What needs none gets None."),
    (r"NumPy computes it off the graph|support ufuncs", "numpy", _NUMPY),
    (r"another library's results have no gradient", "second order",
     "the rule takes a Tensor off the graph (.numpy(), NumPy's functions): write it with operators and ops."),
    (r"setitem: a leaf|destination is read-only|cannot be changed in place", "in place", IN_PLACE),
    (r"truth value of an array|truth value of a Tensor|needs a single number, True or False", "condition",
     "`if`, `and`, `or`, `not` and max() want one truth value, and an array has many; write {f}.where(condition, a, b),"
     " and & and | between conditions."),
    (r"only (?:length-1|size-1|0-dimensional) arrays can be converted|must be real number, not", "function",
     "functions of `math` and float() take one number; write {f}.exp(x) and the like, which take arrays."),
    (r"bitwise_xor|for \^:|for \^ |unsupported operand type\(s\) for \^", "operator",
     "^ is `exclusive or` in Python; a power is **."),
    (r"object is not callable", "operator", "something other than a function is called: is a * missing before a "
     "parenthesis?"),
    (r"unexpected keyword argument 'keepdim'", "option",
     "a method of NumPy's arrays says keepdims; ops.sum(x, axis=..., keepdim=True) takes arrays and Tensors."),
    (r"'function' object has no attribute '(?:joint_)?vjp'", "file",
     "it is a plain function: write @primitive in the line above its def."),
    (r"vjp\(\) takes 1 positional argument", "file",
     "say of which input it is the rule: my_op.vjp(x=rule), not @my_op.vjp."),
    (r"missing 1 required positional argument: 'forward'", "file", "write @primitive without parentheses."),
    (r"\.vjp: '\w+' is not an input", "file",
     "rules are given by the names of the inputs; an option, a parameter after the *, has none."),
    (r"unknown argument|unexpected keyword argument|missing input|positional argument|by position; give", "call",
     "something is called with arguments that it does not take; the message says what it takes."),
    (r"arrays used as indices must be of integer|cannot be interpreted as an integer", "inputs",
     "an input is used as an index, and must be whole numbers, which the checker does not guess: name some, as in "
     "example(my_op, (3, 4), np.array([0, 2, 1]))."),
]]


def certain(error: BaseException, names: Iterable[str] = (), forward: bool = False) -> tuple[str, str] | None:
    """(kind, sentence) for an error whose message reveals the cause; None for others, such as wrong shapes.

    names: the names known to the function that raised it. forward: whether it is a forward, which gets only arrays.
    """
    text = str(error)
    if isinstance(error, NameError):
        return "name", _not_defined(error.name or "", names)
    if isinstance(error, AttributeError):
        found = _no_attribute(text, forward)
        if found is not None:
            return found
    for said, kind, told in _SAID:
        if match := said.search(text):
            return kind, match.expand(told.replace("{f}", "np" if forward else "ops"))
    return None


def remedy(error: Exception) -> str:
    """The sentence that goes with an error of a rule."""
    text = str(error)
    if known := certain(error):
        return known[1]
    if match := re.search(r"returned shape (\(.*?\)), not a broadcast of (\(.*?\))", text):
        return (f"the gradient must have the shape of the input, {match[2]}, but the rule gives {match[1]}: transpose "
                "it, reshape it, or sum or repeat it over the axes that are too many or missing.")
    if re.search(r"broadcast|matmul|axes|shape", text):
        return _SHAPES
    return "the rule raises this error; run it by hand on small arrays."


def of_parameter(error: Exception, known: Iterable[str], local: Iterable[str]) -> str:
    """The remedy for an unknown parameter of a rule. local: the names of the forward's own variables."""
    match = re.search(r"names '(\w+)'", str(error))
    name, known = match[1] if match else "", list(known)
    if name == "g":
        return "g comes first: the first parameter of a rule is the cotangent, the others are found by their names."
    if name in local:
        return (f"{name!r} is a variable of the forward; hand it out to the rules with return ..., "
                f"Residuals({name}={name}), imported from tinygrad_like.")
    near = _nearest(name, known)
    return ("a rule may name g, the inputs, <input>_shape, out, the options, and what the forward hands out with "
            "Residuals; " + (f"did you mean {near!r}?" if near else f"here: {', '.join(known)}."))


def _not_defined(name: str, names: Iterable[str]) -> str:
    if name in _IMPORTS:
        return f"{name!r} is not defined: add `{_IMPORTS[name]}` at the top of the file."
    near = _nearest(name, [*names, *_IMPORTS, *dir(builtins)])
    if near:
        return f"{name!r} is not defined; did you mean {near!r}?"
    if name in _OPS:
        return f"{name!r} is not defined; did you mean ops.{name}?"
    return f"{name!r} is not defined, neither here nor in the file."


def _no_attribute(text: str, forward: bool) -> tuple[str, str] | None:
    """The remedy for a function that a module, an array or a Tensor does not have."""
    if match := re.search(r"module '([\w.]+)' has no attribute '(\w+)'", text):
        module, name = match[1], match[2]
        if module == "tinygrad_like.ops" or module == "numpy":
            short, there = ("np", dir(np)) if module == "numpy" else ("ops", _OPS)
            if short == "ops" and name in _INSTEAD:
                return "name", f"there is no ops.{name}; write {_INSTEAD[name]}."
            near = _nearest(name, there)
            meant = f"ops.{name}" if name in _OPS and not forward else f"{short}.{near}" if near else ""
            return "name", f"there is no {short}.{name}" + (f"; did you mean {meant}?" if meant else ".")
    if match := re.search(r"'(?:numpy\.)?(ndarray|float64|float32)' object has no attribute '(\w+)'", text):
        name = match[2]
        if name in ("save_for_backward", "saved_tensors", "needs_input_grad"):
            return "saved", ("a forward gets the inputs, without a ctx, and need save nothing: a rule gets what its "
                             "parameters name, as in lambda g, x, out: ...")
        instead = f"np.{name}(x)" if hasattr(np, name) else "a function of np"
        if forward:
            return "numpy", f"a forward gets NumPy's arrays, which have no .{name}: write {instead}."
        if name in _OPS or hasattr(Tensor, name):
            instead = f"ops.{name}(x)" if name in _OPS else "a function of ops"
            return "numpy", ("a rule gets NumPy's arrays, and Tensors only where its own graph is wanted; arrays have "
                             f"no .{name}: write {instead}, which takes both.")
    return None


def _nearest(name: str, names: Iterable[str]) -> str:
    """The name that was probably meant: a beginning of this one, such as cos of cosine, or a similar one."""
    others = [n for n in names if n != name]
    shorter = [n for n in others if len(n) > 2 and name.startswith(n)]
    return max(shorter, key=len) if shorter else next(iter(difflib.get_close_matches(name, others, 1, 0.6)), "")
