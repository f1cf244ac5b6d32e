"""Wrong rules, made from the right ones: each a small change of a shipped rule's source, with what it should be called.

A mutant is made by one of the mistakes below, chosen by a seed. What does not change any number is no mutant.
"""

import ast

import numpy as np

from tinygrad_like import Tensor, ops
from tinygrad_like.core.primitive import Primitive
from tinygrad_like.learn.measure import Point, close
from tinygrad_like.learn.source import namespace, source
from tinygrad_like.transforms.switches import after

RELATED = {"sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh", "exp": "log", "log": "exp", "rsqrt": "sqrt",
           "sigmoid": "tanh", "sign": "abs", "tril": "triu", "triu": "tril"}


def constant(c):
    return ast.UnaryOp(ast.USub(), ast.Constant(-c)) if c < 0 else ast.Constant(c)


def name(n):
    return ast.Name(n, ast.Load())


def times(a, b):
    return ast.BinOp(a, ast.Mult(), b)


def called(f, *args, **options):
    return ast.Call(ast.Attribute(name("_ops"), f, ast.Load()), list(args),
                    [ast.keyword(k, v) for k, v in options.items()])


# Mistakes: of the whole result, then of a part. Each gives (what it should be called, the wrong expression) -----------


def whole(body, own):
    yield "sign", {"sign"}, ast.UnaryOp(ast.USub(), body)
    for c in 2, 0.5, 3, 1.001:
        yield "factor", {"factor"}, times(ast.Constant(c), body)
    for n in own:
        yield "times a value", {"function", "factor", "sign"}, times(body, name(n))
    yield "transposed", {"transposed"}, called("transpose", body, constant(-1), constant(-2))
    yield "reversed", {"transposed"}, called("flip", body, axis=ast.Constant(0))
    spread = times(called("sum", body, axis=ast.Constant(0), keepdim=ast.Constant(True)),
                   called("exp", times(ast.Constant(0.0), body)))
    yield "summed", {"sum"}, spread
    yield "nothing", {"zero"}, times(body, ast.Constant(0.0))
    yield "g twice", {"g"}, times(body, name("g"))
    yield "plus 1", {"g"}, ast.BinOp(body, ast.Add(), ast.Constant(1.0))
    yield "wide", {"dtype"}, times(body, name("_wide"))  # NumPy makes float64 of that


def parts(node, own):
    if isinstance(node, ast.Name) and node.id in own:
        for n in own:
            if n != node.id:
                yield "name", {"name"}, name(n)
        yield "frozen", {"second order"}, ast.Call(name("_frozen"), [node], [])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield "plus or minus", {"sign"}, ast.BinOp(node.left, other, node.right)
        yield "term lost", {"term", "factor", "sum", "function"}, node.left
        if isinstance(node.op, ast.Add):
            yield "first term lost", {"term", "factor", "sum", "function"}, node.right
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        if isinstance(node.left, ast.Name) and node.left.id == "g" and isinstance(node.op, ast.Mult):
            yield "g dropped", {"g"}, node.right
        other = ast.Div() if isinstance(node.op, ast.Mult) else ast.Mult()
        if not isinstance(node.right, ast.Name) or node.right.id != "g":
            yield "times or divided by", {"operator", "function", "factor", "mean"}, \
                ast.BinOp(node.left, other, node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "minus lost", {"sign", "constant"}, node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value:
        yield "constant", {"constant", "factor", "function", "condition"}, constant(node.value * 2)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        turned = ast.Gt() if isinstance(node.ops[0], ast.Lt | ast.LtE) else ast.Lt()
        yield "other side", {"condition", "points"}, ast.Compare(node.left, [turned], node.comparators)
    if isinstance(node, ast.Call):
        yield from calls(node)


def calls(node):
    f = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if f in RELATED:
        yield "related function", {"function", "factor"}, called(RELATED[f], *node.args)
    if f == "sum":
        yield "mean for sum", {"mean"}, ast.Call(name("_mean"), node.args, node.keywords)
    if f in ("transpose", "permute", "flip", "roll", "cumsum"):
        yield "reordering lost", {"transposed", "order", "sum"}, node.args[0]
    if f in ("transpose", "batched_matmul", "tie_weight") and len(node.args) > 1:
        swapped = [node.args[1], node.args[0], *node.args[2:]]
        if f != "transpose":
            yield "order", {"order", "name", "transposed"}, ast.Call(node.func, swapped, node.keywords)
    if f == "where" and len(node.args) == 3:
        yield "branches", {"condition", "points"}, ast.Call(node.func, [node.args[0], *node.args[:0:-1]], [])
    for k in node.keywords:
        if k.arg == "divisor":
            rest = [other for other in node.keywords if other is not k]
            yield "sum for mean", {"mean"}, ast.Call(node.func, node.args, rest)
        if k.arg == "axis" and f in ("softmax_vjp", "log_softmax_vjp", "flip", "cumsum"):
            wrong = [other if other is not k else ast.keyword("axis", constant(0)) for other in node.keywords]
            yield "axis", {"option", "transposed", "sum"}, ast.Call(node.func, node.args, wrong)


def slots(tree):
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            for k, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(part, ast.expr) and isinstance(getattr(part, "ctx", ast.Load()), ast.Load):
                    if not (isinstance(parent, ast.Call) and field == "func") and field != "annotation":
                        yield parent, field, k, part


def put(parent, field, k, part):
    if k is None:
        setattr(parent, field, part)
    else:
        getattr(parent, field)[k] = part


# Rules and the points at which they are checked -----------------------------------------------------------------------


def _frozen(x):
    return x.detach() if isinstance(x, Tensor) else x


SPACE = {"_ops": ops, "_mean": ops.mean, "_frozen": _frozen, "_wide": np.float64(1.0)}


def rules(cases):
    """(op, input, rule, points): every rule whose source can be read, at up to three of the points in the table."""
    seen = {}

    def watch(op, inputs, options, y):
        if y.node is not None and isinstance(op, Primitive):
            seen.setdefault(op, []).append((list(inputs), dict(options)))

    with after(watch):
        for f, *inputs in cases.values():
            f(*[Tensor(x, requires_grad=True) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
                for x in inputs])
    for op, found in sorted(seen.items(), key=lambda pair: pair[0].name):
        if op.joint is None:
            for i, (rule, _) in sorted(op.rules.items()):
                points = [p for p in distinct(op, found) if i in p.vary and p.numeric(i).any()][:3]
                if points and source(rule).tree is not None:
                    yield op, i, rule, points


def distinct(op, found):
    """Points of different shapes; at squares too if an input is a matrix."""
    shapes = set()
    for inputs, options in found:
        point = Point(op, inputs, options)
        key = tuple(map(np.shape, point.inputs)), str(options)
        if key not in shapes and len(shapes) < 4 and point.vary:
            shapes.add(key)
            yield point


def mutants(cases):
    """(label, expected, op, points): every mutant there is, in a fixed order."""
    for op, i, rule, points in rules(cases):
        where = source(rule)
        if not isinstance(where.tree, ast.Lambda):
            continue
        for label, expected, text in changed(where.tree, op):
            if text.count("\n"):
                continue
            made = eval(compile(text, "<mutant>", "eval"), {**namespace(rule), **SPACE})
            clone = cloned(op, i, made, text)
            if clone is not None and differs(points, clone, i, label):
                yield f"{op.name}.{op.inputs[0 if op.variadic else i]} {label}: {text}", expected, clone, [
                    Point(clone, p.like(p.inputs), p.options) for p in points]


def changed(tree, op):
    tree = ast.parse(ast.unparse(tree), mode="eval").body
    given = [a.arg for a in tree.args.args]
    own = [n for n in dict.fromkeys([*op.inputs, *given, "out"])
           if n != "g" and (n in op.inputs or n == "out") and n not in ("condition", "index")]
    if op.variadic:
        own = []

    def text():
        used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        arguments = [*given, *(n for n in own if n in used and n not in given)]
        return f"lambda {', '.join(arguments)}: {ast.unparse(tree.body)}"

    body = tree.body
    for label, expected, wrong in whole(body, own):
        tree.body = wrong
        yield label, expected, text()
    tree.body = body
    for parent, field, k, part in list(slots(tree)):
        for label, expected, wrong in parts(part, own):
            put(parent, field, k, wrong)
            yield label, expected, text()
            put(parent, field, k, part)


def cloned(op, i, rule, text):
    """The op with another rule for input i. Its source is entered where Python looks for that of what was typed in."""
    import linecache

    file = f"<mutant {abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, [text + "\n"], file)
    rule = eval(compile(text, file, "eval"), rule.__globals__)
    clone = object.__new__(type(op))  # a copy would be the op itself
    clone.__dict__.update(op.__dict__)
    clone.rules, clone.saved, clone.out, clone.ours = {}, [], None, False
    try:
        Primitive.vjp(clone, **{op.inputs[k]: rule if k == i else r for k, (r, _) in op.rules.items()})
    except TypeError:
        return None
    clone.fresh = False
    return clone


def differs(points, clone, i, label):
    """Whether the clone is wrong: it raises, or gives other numbers; in second order, or float32, if meant to."""
    if label == "frozen":
        there = Point(clone, points[0].like(points[0].inputs), points[0].options)
        return any(not close(given, right, 1e-4) for _, given, right in there.second(np.random.default_rng(1)))
    for point in points:
        there = Point(clone, point.like(point.inputs), point.options)
        try:
            if label == "wide":
                _, y = there.record(np.float32)
                given = clone.cotangents(y.node, there.g.astype(np.float32), y.node.parents)[i]
                return given.dtype != np.float32
            given = there.pull(there.g, i)[i]
        except Exception:
            return True
        if not close(given, point.wanted(i), 1e-5):
            return True
    return False
