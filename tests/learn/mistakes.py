"""Ops as they are first written, with the mistakes that are made then: a name, what is said, and the file.

A file begins with the imports of HEAD, unless it has its own. Some are right: what looks like a mistake is none here.
"""

HEAD = "import numpy as np\nfrom tinygrad_like import Tensor, ops, primitive\n\n"

MISTAKES = [
    ("sign of a quotient", r"sign: the rule gives minus what is right",
     '''@primitive
def quotient(a, b):
    return a / b

quotient.vjp(a=lambda g, b: g / b,
             b=lambda g, a, b: g * a / b**2)
'''),
    ("forgotten factor 2", r"factor: the rule gives 1/2 times",
     '''@primitive
def squared_error(pred, target):
    return (pred - target) ** 2

squared_error.vjp(pred=lambda g, pred, target: g * (pred - target),
                  target=lambda g, pred, target: -g * (pred - target))
'''),
    ("x for out", r"name: 'x' stands where 'out' is meant",
     '''@primitive
def logistic(x):
    return 1 / (1 + np.exp(-x))

logistic.vjp(x=lambda g, x: g * x * (1 - x))
'''),
    ("bias returns sum over wrong axis", r"option: .*'g.sum\(axis=1\)' should be 'g.sum\(axis=0\)'",
     '''@primitive
def add_bias(x, b):
    return x + b[None, :]

add_bias.vjp(x=lambda g: g,
             b=lambda g: g.sum(axis=1))
'''),
    ("forgot sum over axis the forward added", r"sum: a sum over axis 1 is missing: 's' has no such axis",
     '''@primitive
def scale_rows(x, s):
    """x[i, j] * s[i]."""
    return x * s[:, None]

scale_rows.vjp(x=lambda g, s: g * s.reshape(-1, 1),
               s=lambda g, x: g * x)
'''),
    ("wrong transposition", r"transposed: .*'w.T' should be 'w'",
     '''@primitive
def project(x, w):
    return x @ w.T

project.vjp(x=lambda g, w: g @ w.T,
            w=lambda g, x: x.T @ g)
'''),
    ("tuple of both", r"return: the rule returns several things",
     '''@primitive
def times(a, b):
    return a * b

def rule(g, a, b):
    return g * b, g * a

times.vjp(a=rule, b=rule)
'''),
    ("joint wrong length", r"return: a joint rule returns a list with one cotangent for each input.*this one has 1",
     '''@primitive
def times(a, b):
    return a * b

@times.joint_vjp
def backward(g, a, b):
    return (g * b,)
'''),
    ("forgot return", r"return: the rule returns nothing",
     '''@primitive
def cube(x):
    return x ** 3

def backward(g, x):
    3 * x ** 2 * g

cube.vjp(x=backward)
'''),
    ("forward forgot return", r"inputs: the forward gives None",
     '''@primitive
def cube(x):
    y = x ** 3

cube.vjp(x=lambda g, x: 3 * x ** 2 * g)
'''),
    ("numpy in the rule", r"right in first and second order",
     '''@primitive
def my_tanh(x):
    return np.tanh(x)

my_tanh.vjp(x=lambda g, x: g * (1 - np.tanh(x) ** 2))
'''),
    ("np where in the rule", r"right in first and second order",
     '''@primitive
def leaky(x, *, slope=0.1):
    return np.where(x > 0, x, slope * x)

leaky.vjp(x=lambda g, x, slope: np.where(x > 0, g, slope * g))
'''),
    ("tensor methods in forward", r"numpy: a forward gets NumPy's arrays.*write np.exp\(x\)",
     '''@primitive
def soft(x):
    return x.exp() / (1 + x.exp())

soft.vjp(x=lambda g, out: g * out * (1 - out))
'''),
    ("tensor methods on arrays in rule", r"numpy: .*write ops.cos\(x\)",
     '''@primitive
def sine(x):
    return np.sin(x)

sine.vjp(x=lambda g, x: g * x.cos())
'''),
    ("wrote into g", r"in place: 'g' is changed",
     '''@primitive
def my_relu(x):
    return np.maximum(x, 0)

def backward(g, x):
    g[x <= 0] = 0
    return g

my_relu.vjp(x=backward)
'''),
    ("state in a global", r"state: the rule reads the global 'saved'",
     '''saved = {}

@primitive
def my_exp(x):
    saved["y"] = np.exp(x)
    return saved["y"]

my_exp.vjp(x=lambda g: g * saved["y"])
'''),
    ("wrong axis", r"option: .*should be '.*axis=-1",
     '''from tinygrad_like.learn import example

@primitive
def my_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

my_softmax.vjp(x=lambda g, out: out * (g - (g * out).sum(axis=0, keepdims=True)))
'''),
    ("forgot keepdims", r"option: .*keepdims=True",
     '''@primitive
def my_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

my_softmax.vjp(x=lambda g, out: out * (g - (g * out).sum(-1)))
'''),
    ("only one input", r"no rule: add weighted.vjp\(w=",
     '''@primitive
def weighted(x, w):
    return x * w

weighted.vjp(x=lambda g, w: g * w)
'''),
    ("kink gives both sides", r"points: .*elements of x are 0 the rule gives nan",
     '''@primitive
def my_abs(x):
    return np.abs(x)

my_abs.vjp(x=lambda g, x: g * x / abs(x))
'''),
    ("max ties", r"points: .*elements of x are equal",
     '''@primitive
def row_max(x):
    return x.max(-1)

row_max.vjp(x=lambda g, x, out: ops.where(ops.eq(x, out.reshape(*x.shape[:-1], 1)), g.reshape(*x.shape[:-1], 1), 0.0))
'''),
    ("mean for sum", r"mean: .*rule of a sum where a mean is meant",
     '''@primitive
def average(x):
    return x.mean()

average.vjp(x=lambda g, x_shape: g * np.ones(x_shape))
'''),
    ("sum for mean n wrong axis", r"constant: .*'x.shape\[0\]' should be 'x.shape\[1\]'",
     '''@primitive
def row_mean(x):
    return x.mean(axis=1)

row_mean.vjp(x=lambda g, x: ops.expand(g.reshape(-1, 1), shape=x.shape) / x.shape[0])
'''),
    ("exponent off by one", r"function: a factor of x is one too many",
     '''@primitive
def power(x, *, n=3):
    return x ** n

power.vjp(x=lambda g, x, n: g * n * x ** n)
'''),
    ("integer division", r"operator: .*'2 \* x // 2' should be '2 \* x / 2'",
     '''@primitive
def half_square(x):
    return x ** 2 / 2

half_square.vjp(x=lambda g, x: g * (2 * x // 2))
'''),
    ("forward mutates input", r"in place: the forward changes its input 'x'",
     '''@primitive
def centre(x):
    x -= x.mean()
    return x

centre.vjp(x=lambda g: g - g.mean())
'''),
    ("wrong dtype forward", r"dtype: the forward gives float32",
     '''@primitive
def doubled(x):
    return (2 * x).astype(np.float32)

doubled.vjp(x=lambda g: 2 * g)
'''),
    ("wrong dtype rule", r"dtype: right in float64, but not in float32",
     '''@primitive
def doubled(x):
    return 2 * x

doubled.vjp(x=lambda g, x_shape: g * np.full(x_shape, 2.0))
'''),
    ("no rule", r"no rule: .*add swish.vjp",
     '''@primitive
def swish(x):
    return x / (1 + np.exp(-x))
'''),
    ("option not passed", r"name: 'slope' is not among the rule's parameters",
     '''@primitive
def leaky(x, *, slope=0.1):
    return np.where(x > 0, x, slope * x)

leaky.vjp(x=lambda g, x: g * ops.where(x > 0, 1.0, slope))
'''),
    ("option with its default hard coded", r"factor: .*'x' should be 'x / alpha'",
     '''from tinygrad_like.learn import example

@primitive
def celu(x, *, alpha=1.0):
    return np.where(x > 0, x, alpha * (np.exp(x / alpha) - 1))

celu.vjp(x=lambda g, x: g * ops.where(x > 0, 1.0, ops.exp(x)))
example(celu, (3, 4), alpha=2.0)
'''),
    ("misspelt name in rule", r"name: there is no ops.cosine; did you mean ops.cos\?",
     '''@primitive
def sine(x):
    return np.sin(x)

sine.vjp(x=lambda g, x: g * ops.cosine(x))
'''),
    ("misspelt variable", r"name: 'widht' is not defined; did you mean 'width'\?",
     '''@primitive
def gaussian(x, *, width=1.0):
    return np.exp(-(x / width) ** 2)

gaussian.vjp(x=lambda g, x, out, width: g * out * -2 * x / widht ** 2)
'''),
    ("syntax error", r"SyntaxError: expected ':'",
     '''@primitive
def sine(x)
    return np.sin(x)

sine.vjp(x=lambda g, x: g * ops.cos(x))
'''),
    ("missing import np", r"name: 'np' is not defined: add `import numpy as np`",
     '''from tinygrad_like import ops, primitive

@primitive
def sine(x):
    return np.sin(x)

sine.vjp(x=lambda g, x: g * ops.cos(x))
'''),
    ("missing import ops", r"name: 'ops' is not defined: add `from tinygrad_like import ops`",
     '''import numpy as np
from tinygrad_like import primitive

@primitive
def sine(x):
    return np.sin(x)

sine.vjp(x=lambda g, x: g * ops.cos(x))
'''),
    ("missing import primitive", r"'primitive' is not defined: add `from tinygrad_like import primitive`",
     '''import numpy as np
from tinygrad_like import ops

@primitive
def sine(x):
    return np.sin(x)

sine.vjp(x=lambda g, x: g * ops.cos(x))
'''),
    ("decorator forgotten", r"write @primitive in the line above",
     '''def sine(x):
    return np.sin(x)

sine.vjp(x=lambda g, x: g * ops.cos(x))
'''),
    ("forward returns list", r"right in first and second order",
     '''@primitive
def listed(x):
    return [2 * v for v in x]

listed.vjp(x=lambda g: 2 * g)
'''),
    ("argument order", r"name: g comes first",
     '''@primitive
def my_exp(x):
    return np.exp(x)

my_exp.vjp(x=lambda out, g: g * out)
'''),
    ("g left out of parameters", r"name: the first parameter of a rule is the cotangent.*lambda g, x:",
     '''@primitive
def sine(x):
    return np.sin(x)

sine.vjp(x=lambda x: ops.cos(x))
'''),
    ("second order wrong", r"numpy: the rule takes a Tensor off the graph",
     '''@primitive
def cube(x):
    return x ** 3

cube.vjp(x=lambda g, x: g * 3 * Tensor(x).data ** 2 if not isinstance(x, Tensor) else g * Tensor(3 * x.numpy() ** 2))
'''),
    ("pytorch style class", r"saved: .*without a ctx",
     '''@primitive
def my_exp(ctx, x):
    y = np.exp(x)
    ctx.save_for_backward(y)
    return y

my_exp.vjp(x=lambda g, ctx: g * ctx.saved_tensors[0])
'''),
    ("derivative without g added", r"g: the rule returns a number",
     '''@primitive
def line(x, a, b):
    return a * x + b

line.vjp(x=lambda g, a: g * a, a=lambda g, x: g * x, b=lambda g: 1.0)
'''),
    ("rule gives number", r"g: the rule returns a number",
     '''@primitive
def shift(x):
    return x + 1

shift.vjp(x=lambda g: 1)
'''),
    ("option as input", r"no rule: .*make it an option",
     '''@primitive
def power(x, n):
    return x ** n

power.vjp(x=lambda g, x, n: g * n * x ** (n - 1))
'''),
    ("chain rule forgotten", r"function: a factor of x, and of 2 is missing",
     '''@primitive
def sin_squared(x):
    return np.sin(x ** 2)

sin_squared.vjp(x=lambda g, x: g * ops.cos(x ** 2))
'''),
    ("product rule one term", r"function: a factor of \(1 \+ x\) is missing",
     '''@primitive
def x_exp_x(x):
    return x * np.exp(x)

x_exp_x.vjp(x=lambda g, x: g * ops.exp(x))
'''),
    ("quotient rule square forgotten", r"function: a factor of out is missing",
     '''@primitive
def inverse(x):
    return 1 / x

inverse.vjp(x=lambda g, out: -g * out)
'''),
    ("vjp called on wrong parameter", r"an option, a parameter after the \*, has none",
     '''@primitive
def gaussian(x, *, width=1.0):
    return np.exp(-(x / width) ** 2)

gaussian.vjp(x=lambda g, x, out, width: g * out * -2 * x / width ** 2, width=lambda g: 0)
'''),
    ("jacobian instead of vjp", r"sum: the rule has the diagonal of the Jacobian",
     '''@primitive
def my_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

my_softmax.vjp(x=lambda g, out: g * out * (1 - out))
'''),
    ("relu wrong condition", r"name: .*'g > 0' should be 'out > 0'",
     '''@primitive
def my_relu(x):
    return np.maximum(x, 0)

my_relu.vjp(x=lambda g, x: g * (g > 0))
'''),
    ("rule prints instead", r"my_op.vjp\(x=rule\), not @my_op.vjp",
     '''@primitive
def sine(x):
    return np.sin(x)

@sine.vjp
def backward(g, x):
    return g * ops.cos(x)
'''),
    ("log wrong", r"factor: the rule gives ln 10 times",
     '''@primitive
def my_log10(x):
    return np.log10(x)

my_log10.vjp(x=lambda g, x: g / x)
'''),
    ("g shape of scalar loss", r"sum: g must be repeated",
     '''@primitive
def total(x):
    return x.sum()

total.vjp(x=lambda g: g)
'''),
    ("indexing", r"places: .*0 in all others",
     '''@primitive
def first_row(x):
    return x[0]

first_row.vjp(x=lambda g: g)
'''),
    ("concat", r"transposed: g is used shifted along axis 0",
     '''@primitive
def join(a, b):
    return np.concatenate([a, b])

join.vjp(a=lambda g, a: g[:len(a)], b=lambda g, a: g[:len(a)])
'''),
    ("forgot transpose back", r"call: .*arguments that it does not take",
     '''@primitive
def turned(x):
    return np.transpose(x, (1, 2, 0))

turned.vjp(x=lambda g: ops.permute(g, order=(1, 2, 0)))
'''),
    ("indent", r"IndentationError",
     '''@primitive
def sine(x):
    return np.sin(x)

  sine.vjp(x=lambda g, x: g * ops.cos(x))
'''),
    ("forward raises", r"name: there is no np.sinus; did you mean np.sin\?",
     '''@primitive
def sine(x):
    return np.sinus(x)

sine.vjp(x=lambda g, x: g * ops.cos(x))
'''),
    ("residual without Residuals", r"name: 'mask' is a variable of the forward.*Residuals\(mask=mask\)",
     '''@primitive
def my_relu(x):
    mask = x > 0
    return x * mask, mask

my_relu.vjp(x=lambda g, mask: g * mask)
'''),
    ("if in forward", r"condition: .*write np.where",
     '''@primitive
def my_relu(x):
    if x > 0:
        return x
    return 0.0

my_relu.vjp(x=lambda g, x: g * (x > 0))
'''),
    ("if in rule", r"condition: .*write ops.where",
     '''@primitive
def my_relu(x):
    return np.maximum(x, 0)

my_relu.vjp(x=lambda g, x: g if x > 0 else 0)
'''),
    ("math sin", r"function: functions of `math`.*write np.exp",
     '''import math
@primitive
def sine(x):
    return math.sin(x)

sine.vjp(x=lambda g, x: g * math.cos(x))
'''),
    ("math in rule", r"function: functions of `math`.*write ops.exp",
     '''import math
@primitive
def sine(x):
    return np.sin(x)

sine.vjp(x=lambda g, x: g * math.cos(x))
'''),
    ("xor for power", r"operator: \^ is",
     '''@primitive
def square(x):
    return x * x

square.vjp(x=lambda g, x: g * 2 * x ^ 1)
'''),
    ("missing times", r"operator: .*is a \* missing",
     '''@primitive
def my_tanh(x):
    return np.tanh(x)

my_tanh.vjp(x=lambda g, out: g (1 - out ** 2))
'''),
    ("missing parentheses", r"g: something is added that g does not multiply",
     '''@primitive
def my_tanh(x):
    return np.tanh(x)

my_tanh.vjp(x=lambda g, out: g * 1 - out ** 2)
'''),
    ("imul g", r"in place: 'g' is changed",
     '''@primitive
def my_exp(x):
    return np.exp(x)

def backward(g, out):
    g *= out
    return g

my_exp.vjp(x=backward)
'''),
    ("gradcheck in file fails", r"sign: the rule gives minus what is right",
     '''from tinygrad_like import gradcheck

@primitive
def sine(x):
    return np.sin(x)

sine.vjp(x=lambda g, x: -g * ops.cos(x))

assert gradcheck(sine, np.linspace(-1, 1, 5))
'''),
    ("keepdim on array", r"option: .*keepdims",
     '''@primitive
def my_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

my_softmax.vjp(x=lambda g, out: out * (g - (g * out).sum(-1, keepdim=True)))
'''),
    ("np dot 3d transpose", r"right in first and second order",
     '''@primitive
def product(a, b):
    return a @ b

product.vjp(a=lambda g, b: g @ b.T, b=lambda g, a: a.T @ g)
'''),
    ("log softmax", r"sum: a sum is missing there",
     '''@primitive
def my_log_softmax(x):
    s = x - x.max(-1, keepdims=True)
    return s - np.log(np.exp(s).sum(-1, keepdims=True))

my_log_softmax.vjp(x=lambda g, out: g - ops.exp(out) * g)
'''),
    ("layer norm std constant", r"term: two terms are missing: .* mean of the gradient over axis -1.*"
     r"-out \* mean\(g \* out, axis=-1, keepdim=True\) / std\(x\)",
     '''@primitive
def normed(x):
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)

normed.vjp(x=lambda g, x: g / x.std(-1, keepdims=True))
'''),
    ("mse forgot n", r"mean: .*rule of a sum where a mean is meant",
     '''@primitive
def my_mse(pred, target):
    return np.mean((pred - target) ** 2)

my_mse.vjp(pred=lambda g, pred, target: g * 2 * (pred - target),
           target=lambda g, pred, target: g * -2 * (pred - target))
'''),
    ("hinge wrong side", r"condition: .*'x > 1' should be 'x < 1'",
     '''@primitive
def hinge(x):
    return np.maximum(0, 1 - x)

hinge.vjp(x=lambda g, x: -g * (x > 1))
'''),
    ("clip passes all", r"points: .*the rule must give 0",
     '''@primitive
def clip01(x):
    return np.clip(x, 0, 1)

clip01.vjp(x=lambda g: g)
'''),
    ("norm", r"factor: the rule gives 2 times",
     '''@primitive
def norm(x):
    return np.sqrt((x ** 2).sum())

norm.vjp(x=lambda g, x, out: g * 2 * x / out)
'''),
    ("cross entropy labels", r"inputs: .*must be whole numbers",
     '''@primitive
def nll(logp, labels):
    return -logp[np.arange(len(labels)), labels].mean()

nll.vjp(logp=lambda g, logp, labels: -g / len(labels))
'''),
    ("misspelt rule parameter", r"name: .*did you mean 'out'\?",
     '''@primitive
def gaussian(x, *, width=1.0):
    return np.exp(-(x / width) ** 2)

gaussian.vjp(x=lambda g, x, outt, width: g * outt * -2 * x / width ** 2)
'''),
    ("vjp of unknown input", r"rules are given by the names of the inputs",
     '''@primitive
def sine(x):
    return np.sin(x)

sine.vjp(y=lambda g, x: g * ops.cos(x))
'''),
    ("called decorator", r"write @primitive without parentheses",
     '''@primitive()
def sine(x):
    return np.sin(x)

sine.vjp(x=lambda g, x: g * ops.cos(x))
'''),
    ("attribute backward", r"no rule: .*add sine.vjp",
     '''@primitive
def sine(x):
    return np.sin(x)

sine.backward = lambda g, x: g * ops.cos(x)
'''),
    ("integer output", r"inputs: the forward gives int64",
     '''@primitive
def count(x):
    return (x > 0).sum()

count.vjp(x=lambda g, x: g * x)
'''),
    ("uses torch style names", r"numpy: .*write ops.unsqueeze",
     '''@primitive
def my_sum(x, *, dim=0):
    return x.sum(dim)

my_sum.vjp(x=lambda g, x, dim: g.unsqueeze(dim) * ops.ones_like(x))
'''),
    ("abs wrong sign side", r"condition: .*should be 'ops.where\(x < 0, slope, 1.0\)'",
     '''@primitive
def leaky(x, *, slope=0.1):
    return np.where(x > 0, x, slope * x)

leaky.vjp(x=lambda g, x, slope: g * ops.where(x < 0, 1.0, slope))
'''),
    ("derivative of inner missing", r"factor: a factor of k is missing",
     '''@primitive
def scaled_tanh(x, *, k=3.0):
    return np.tanh(k * x)

scaled_tanh.vjp(x=lambda g, out, k: g * (1 - out ** 2))
'''),
    ("log of forward", r"function: .*should be 'ops.reciprocal\(x\)'",
     '''@primitive
def my_log(x):
    return np.log(x)

my_log.vjp(x=lambda g, x: g * ops.log(x))
'''),
    ("state counter", r"random: noisy gives two values",
     '''n = 0
@primitive
def noisy(x):
    global n
    n += 1
    return x * n

noisy.vjp(x=lambda g: g * n)
'''),
    ("dict state self", r"state: the rule reads the global 'cache'",
     '''class Cache:
    pass
cache = Cache()

@primitive
def my_tanh(x):
    cache.out = np.tanh(x)
    return cache.out

my_tanh.vjp(x=lambda g: g * (1 - cache.out ** 2))
'''),
    ("flatten", r"shape: .*reshape\(x_shape\)",
     '''@primitive
def flat(x):
    return x.reshape(-1)

flat.vjp(x=lambda g: g)
'''),
    ("cumsum", r"transposed: .*by the Jacobian, not by its transpose",
     '''@primitive
def my_cumsum(x):
    return np.cumsum(x, axis=-1)

my_cumsum.vjp(x=lambda g: ops.cumsum(g, axis=-1))
'''),
    ("var correction", r"mean: the rule divides by n where n - 1 is meant",
     '''@primitive
def my_var(x):
    return x.var(ddof=1)

my_var.vjp(x=lambda g, x: g * 2 * (x - x.mean()) / x.size)
'''),
    ("x size tensor", r"right in first and second order",
     '''@primitive
def my_mean(x):
    return x.mean()

my_mean.vjp(x=lambda g, x: g * np.ones_like(x) / x.size)
'''),
    ("numerically unstable sigmoid", r"mean: .*rule of a sum where a mean is meant",
     '''@primitive
def bce(x, y):
    p = 1 / (1 + np.exp(-x))
    return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()

bce.vjp(x=lambda g, x, y: g * (1 / (1 + ops.exp(-x)) - y))
'''),
    ("matvec", r"sum: the rule gives a diagonal only",
     '''@primitive
def matvec(w, x):
    return w @ x

matvec.vjp(w=lambda g, x: g * x, x=lambda g, w: w @ g)
'''),
    ("weighted mean", r"term: a term is missing.*'x' should be 'x - out'",
     '''@primitive
def weighted_mean(x, w):
    return (x * w).sum() / w.sum()

weighted_mean.vjp(x=lambda g, w: g * w / w.sum(), w=lambda g, x, w: g * x / w.sum())
'''),
    ("return in wrong place", r"return: the rule returns nothing",
     '''@primitive
def my_relu(x):
    return np.maximum(x, 0)

def backward(g, x):
    if g.ndim == 1:
        return g * (x > 0)

my_relu.vjp(x=backward)
'''),
    ("lambda default", r"factor: a factor of k is one too many",
     '''@primitive
def scaled(x, *, k=2.0):
    return k * x

scaled.vjp(x=lambda g, k=2.0: g * k * k)
'''),
    ("infinite", r"inputs: the forward gives inf or NaN",
     '''@primitive
def bad(x):
    return x / 0.0

bad.vjp(x=lambda g: g)
'''),
    ("sys exit", r"ends Python",
     '''import sys
@primitive
def sine(x):
    return np.sin(x)
sine.vjp(x=lambda g, x: g * ops.cos(x))
if __name__ != "x":
    sys.exit("done")
'''),
    ("detach", r"numpy: the rule takes a Tensor off the graph",
     '''@primitive
def cube(x):
    return x ** 3

cube.vjp(x=lambda g, x: 3 * g * np.asarray(x) ** 2)
'''),
    ("softplus derivative swapped", r"function: a factor of e\^x is missing",
     '''@primitive
def soft(x):
    return np.log(1 + np.exp(x))

soft.vjp(x=lambda g, x: g / (1 + ops.exp(x)))
'''),
    ("matmul only b wrong", r"order: .*'ops.matmul\(transpose\(a, -1, -2\), g\)'",
     '''@primitive
def mm(a, b):
    return a @ b

mm.vjp(a=lambda g, b: ops.matmul(g, ops.transpose(b, -1, -2)), b=lambda g, a: ops.matmul(g, a))
'''),
    ("hard coded size", r"constant: .*a number stands where a size is meant",
     '''@primitive
def avg(x):
    return x.mean()

avg.vjp(x=lambda g, x_shape: g * np.ones(x_shape) / 6)
'''),
    ("log softmax no exp", r"function: .*'out' should be 'exp\(out\)'",
     '''@primitive
def ls(x):
    s = x - x.max(-1, keepdims=True)
    return s - np.log(np.exp(s).sum(-1, keepdims=True))

ls.vjp(x=lambda g, out: g - out * g.sum(-1, keepdims=True))
'''),
    ("interpolation weights swapped", r"term: .*'t' should be '1 - t'",
     '''@primitive
def lerp(a, b, t):
    return a + t * (b - a)

lerp.vjp(a=lambda g, t: g * t, b=lambda g, t: g * (1 - t), t=lambda g, a, b: g * (a - b))
'''),
    ("triple product missing factor", r"function: a factor of c is missing",
     '''@primitive
def abc(a, b, c):
    return a * b * c

abc.vjp(a=lambda g, b, c: g * b * c, b=lambda g, a, c: g * a, c=lambda g, a, b: g * a * b)
'''),
    ("dropout scale forgotten", r"factor: a factor of \(1 - p\) is one too many, or a division by it is missing",
     '''import numpy as np
from tinygrad_like import Residuals, Tensor, ops, primitive

@primitive
def drop(x, *, p=0.5):
    mask = np.arange(x.size).reshape(x.shape) % 2
    return x * mask / (1 - p), Residuals(mask=mask)

drop.vjp(x=lambda g, mask: g * mask)
'''),
    ("huber sign missing", r"points: .*where x is -0.503 or less",
     '''@primitive
def hub(x):
    return np.where(np.abs(x) < 0.5, 0.5 * x ** 2, 0.5 * (np.abs(x) - 0.25))

hub.vjp(x=lambda g, x: g * ops.where(abs(x) < 0.5, x, 0.5))
'''),
    ("pow log missing", r"function: a factor of log a is missing",
     '''@primitive
def p(a, b):
    return a ** b

p.vjp(a=lambda g, a, b: g * b * a ** (b - 1), b=lambda g, out: g * out)
'''),
    ("div b forgot square", r"function: .*a division by it is missing",
     '''@primitive
def d(a, b):
    return a / b

d.vjp(a=lambda g, b: g / b, b=lambda g, a, b: -g * a / b)
'''),
    ("reversed", r"transposed: the gradient is reversed along axis 0",
     '''@primitive
def rev(x):
    return x[::-1]

rev.vjp(x=lambda g: g)
'''),
    ("where wrong mask dtype", r"g: the rule returns a condition",
     '''@primitive
def keep(x):
    return x * (x > 0)

keep.vjp(x=lambda g, x: (x > 0))
'''),
    ("dict return", r"return: the rule must return an array",
     '''@primitive
def f(x):
    return 2 * x

f.vjp(x=lambda g: {'x': 2 * g})
'''),
    ("softmax as if by itself", r"sum: the rule has the diagonal.* d out\[i\] / d x\[j\] is -out\[i\] \* out\[j\]",
     '''@primitive
def my_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

my_softmax.vjp(x=lambda g, out: g * out * (1 - out))
'''),
    ("softmax without its sum", r"term: a term is missing.* minus out \* sum\(g \* out, axis=-1, keepdim=True\)\.$",
     '''@primitive
def my_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

my_softmax.vjp(x=lambda g, out: g * out)
'''),
    ("log-softmax without its sum", r"term: a term is missing.* minus exp\(out\) \* sum\(g, axis=-1, keepdim=True\)\.$",
     '''@primitive
def my_log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))

my_log_softmax.vjp(x=lambda g: g)
'''),
    ("log-softmax as if one-hot", r"g: something is added that g does not multiply",
     '''@primitive
def my_log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))

my_log_softmax.vjp(x=lambda g, out: g - ops.exp(out))
'''),
    ("keepdim of a method", r"option: .* says keepdims",
     '''@primitive
def my_log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))

my_log_softmax.vjp(x=lambda g, out: g - out * g.sum(-1, keepdim=True))
'''),
    ("matmul for two axes",
     r"right in first and second order[^|]*shapes \(2, 3, 4\), \(2, 4, 2\) too, and there the rules are wrong",
     '''@primitive
def bmm(a, b):
    return a @ b

bmm.vjp(a=lambda g, b: g @ b.T,
        b=lambda g, a: a.T @ g)
'''),
    ("pad by habit", r"call: something is called with arguments",
     '''@primitive
def conv1d(x, w):
    """Valid correlation of a signal with a kernel."""
    n = len(x) - len(w) + 1
    return np.array([x[i:i + len(w)] @ w for i in range(n)])

def back_x(g, w, x_shape):
    k = w.shape[0]
    out = 0
    for j in range(k):
        out = out + ops.pad(g * w[j], ((k - 1 - j, j),))
    return out

def back_w(g, x, w_shape):
    k, n = w_shape[0], g.shape[0]
    return ops.stack([(g * x[j:j + n]).sum() for j in range(k)])

conv1d.vjp(x=back_x, w=back_w)
'''),
    ("half of the pool's gradient to each", r"places: ",
     '''@primitive
def pool2(x):
    return x.reshape(-1, 2).max(axis=1)

pool2.vjp(x=lambda g, x: ops.stack([g / 2, g / 2], axis=1).reshape(x.shape))
'''),
    ("where without a mask", r"points: wrong at some points only: where mask is true",
     '''@primitive
def choose(mask, a, b):
    return np.where(mask, a, b)

choose.vjp(a=lambda g, mask: ops.where(mask, g, 0.0),
           b=lambda g: g)
'''),
    ("where the wrong way round", r"condition: .* should be 'ops.where\(mask, g, 0.0\)'",
     '''@primitive
def choose(mask, a, b):
    return np.where(mask, a, b)

choose.vjp(a=lambda g, mask: ops.where(mask, 0.0, g),
           b=lambda g, mask: ops.where(mask, g, 0.0))
'''),
    ("cumsum from the start", r"transposed: the rule multiplies by the Jacobian, not by its transpose",
     '''@primitive
def running(x):
    return np.cumsum(x)

running.vjp(x=lambda g: ops.cumsum(g, axis=0))
'''),
    ("picked once more", r"transposed: the rule multiplies by the Jacobian, not by its transpose",
     '''@primitive
def pick(x, *, index=(2, 0, 2)):
    return x[list(index)]

pick.vjp(x=lambda g, x, index: g[list(index)])
'''),
    ("zeros of ops", r"name: there is no ops.zeros; write np.zeros",
     '''@primitive
def pick(x, *, index=(2, 0, 2)):
    return x[list(index)]

def back(g, x_shape, index):
    rows = [ops.zeros(x_shape[1:])] * x_shape[0]
    for i, j in enumerate(index):
        rows[j] = g[i]
    return ops.stack(rows)

pick.vjp(x=back)
'''),
    ("norm without a division", r"function: a factor of out is one too many, or a division by it is missing",
     '''@primitive
def length(x):
    return np.sqrt((x ** 2).sum())

length.vjp(x=lambda g, x: g * x)
'''),
    ("deviation of a sample", r"mean: the rule divides by n where n - 1 is meant",
     '''@primitive
def deviation(x):
    return x.std(ddof=1)

deviation.vjp(x=lambda g, x, out: g * (x - x.mean()) / (out * x.size))
'''),
    ("deviation without the mean", r"term: .* takes off the mean",
     '''@primitive
def deviation(x):
    return x.std()

deviation.vjp(x=lambda g, x, out: g * x / (out * x.size))
'''),
    ("logsumexp without out", r"function: a factor of e\^out is one too many",
     '''@primitive
def lse(x):
    m = x.max()
    return m + np.log(np.exp(x - m).sum())

lse.vjp(x=lambda g, x: g * ops.exp(x))
'''),
    ("half of GELU's product rule", r"term: of the product rule one of two terms is missing",
     '''@primitive
def my_gelu(x):
    return 0.5 * x * (1 + np.tanh(0.79788 * (x + 0.044715 * x ** 3)))

my_gelu.vjp(x=lambda g, x: g * 0.5 * (1 + ops.tanh(0.79788 * (x + 0.044715 * x ** 3))))
'''),
    ("half of swish's product rule", r"term: .* plus g \* out \* \(1 - sigmoid\(x\)\)\.$",
     '''@primitive
def swish(x):
    return x / (1 + np.exp(-x))

swish.vjp(x=lambda g, x: g * ops.sigmoid(x))
'''),
    ("a power's exponent without log", r"function: a factor of log a is missing",
     '''@primitive
def power(a, b):
    return a ** b

power.vjp(a=lambda g, a, b: g * b * a ** (b - 1),
          b=lambda g, a, b: g * a ** b)
'''),
    ("a power that stays", r"function: a factor of x is one too many",
     '''@primitive
def power(x, *, n=3):
    return x ** n

power.vjp(x=lambda g, x, n: g * n * x ** n)
'''),
    ("einsum's letters", r"transposed: the gradient is transposed",
     '''@primitive
def bilinear(x, w, y):
    """x_bi w_ij y_bj."""
    return np.einsum("bi,ij,bj->b", x, w, y)

bilinear.vjp(x=lambda g, w, y: ops.einsum("b,ij,bj->bi", g, w, y),
             w=lambda g, x, y: ops.einsum("b,bi,bj->ji", g, x, y),
             y=lambda g, x, w: ops.einsum("b,bi,ij->bj", g, x, w))
'''),
    ("a square forgotten", r"term: .* plus 2 \* g \* x\.$",
     '''@primitive
def cube_sum(x, y):
    return x * y + x ** 2

cube_sum.vjp(x=lambda g, y: g * y,
             y=lambda g, x: g * x)
'''),
    ("share of a sum", r"term: .* minus sum\(g \* x, axis=-1, keepdim=True\) / sum\(x\) \*\* 2\.$",
     '''@primitive
def proportion(x):
    return x / x.sum(-1, keepdims=True)

proportion.vjp(x=lambda g, x: g / ops.sum(x, -1, keepdim=True))
'''),
    ("tanh without its square", r"function: a factor of \(1 \+ out\) is missing",
     '''@primitive
def my_tanh(x):
    return np.tanh(x)

my_tanh.vjp(x=lambda g, out: g * (1 - out))
'''),
    ("mean without a count", r"mean: the rule gives n times what is right",
     '''@primitive
def row_mean(x):
    return x.mean(axis=1)

row_mean.vjp(x=lambda g, x_shape: ops.expand(g.reshape(-1, 1), x_shape))
'''),
    ("mean by all elements", r"mean: the rule gives 1 / n times what is right, n being the size of axis 0",
     '''@primitive
def row_mean(x):
    return x.mean(axis=1)

row_mean.vjp(x=lambda g, x: 0 * x + g.reshape(-1, 1) / x.size)
'''),
    ("half of a cosine", r"term: .* minus g \* a \* out / sum\(a \*\* 2\)\.$",
     '''@primitive
def cosine(a, b):
    return (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())

def for_a(g, a, b):
    return g * b / ops.sqrt((a * a).sum() * (b * b).sum())

def for_b(g, a, b):
    return g * a / ops.sqrt((a * a).sum() * (b * b).sum())

cosine.vjp(a=for_a, b=for_b)
'''),
    ("half of the cosines of rows", r"term: .* minus g \* a \* out / sum\(a \*\* 2\)\.$",
     '''@primitive
def cosine(a, b):
    return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))

def for_a(g, a, b):
    n = ops.sqrt(ops.sum(a * a, -1) * ops.sum(b * b, -1))
    return ops.unsqueeze(g / n, -1) * b

cosine.vjp(a=for_a, b=lambda g, a, b: for_a(g, b, a))
'''),
    ("Huber without a sign", r"points: wrong at some points only: where x is -1.07 or less",
     '''@primitive
def huber(x):
    return np.where(np.abs(x) < 1, x * x / 2, np.abs(x) - 0.5)

huber.vjp(x=lambda g, x: g * ops.where(abs(x) < 1, x, 1.0))
'''),
    ("softplus the other way", r"function: a factor of e\^x is missing",
     '''@primitive
def my_softplus(x):
    return np.log1p(np.exp(x))

my_softplus.vjp(x=lambda g, x: g / (1 + ops.exp(x)))
'''),
    ("half of RMS norm",
     r"term: .* minus x \* sum\(g \* out, axis=-1, keepdim=True\) / sum\(x \*\* 2\)\.$",
     '''@primitive
def rms(x, w):
    r = np.sqrt((x ** 2).mean(-1, keepdims=True))
    return w * x / r

def for_x(g, x, w):
    r = ops.sqrt(ops.mean(x ** 2, -1, keepdim=True))
    return g * w / r

def for_w(g, x):
    r = ops.sqrt(ops.mean(x ** 2, -1, keepdim=True))
    return g * x / r

rms.vjp(x=for_x, w=for_w)
'''),
    ("the other axis of an outer product", r"'\(g \* b\).sum\(0\)' should be '\(g \* b\).sum\(1\)'",
     '''@primitive
def outer(a, b):
    return a[:, None] * b[None, :]

outer.vjp(a=lambda g, b: (g * b).sum(0),
          b=lambda g, a: (g * a).sum(1))
'''),
    ("scores without their scale", r"factor: the rule gives sqrt\(n\) times what is right, n being the size of axis 1",
     '''@primitive
def scores(q, k):
    return q @ k.T / np.sqrt(q.shape[-1])

scores.vjp(q=lambda g, k: g @ k,
           k=lambda g, q: g.T @ q)
'''),
    ("half of x log x", r"term: .* should be '1 \+ ops.log\(x\)'",
     '''@primitive
def xlogx(x):
    return x * np.log(x)

xlogx.vjp(x=lambda g, x: g * ops.log(x))
'''),
    ("log-softmax without exp", r"function: .*'out' should be 'exp\(out\)'",
     '''@primitive
def my_log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))

my_log_softmax.vjp(x=lambda g, out: g - out * ops.sum(g, -1, keepdim=True))
'''),
    ("layer norm as a division", r"term: two terms are missing: .* mean of the gradient .* -out \* sum\(g \* out",
     '''@primitive
def norm_rows(x, *, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    std = np.sqrt(x.var(-1, keepdims=True) + eps)
    return (x - mean) / std

def back(g, x, eps):
    var = ops.mean((x - ops.mean(x, -1, keepdim=True)) ** 2, -1, keepdim=True)
    return g / ops.sqrt(var + eps)

norm_rows.vjp(x=back)
'''),
    ("layer norm without a mean of products", r"term: .* minus out \* sum\(g \* out, axis=-1, keepdim=True\)",
     '''@primitive
def norm_rows(x, *, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    std = np.sqrt(x.var(-1, keepdims=True) + eps)
    return (x - mean) / std

def back(g, x, out, eps):
    var = ops.mean((x - ops.mean(x, -1, keepdim=True)) ** 2, -1, keepdim=True)
    return (g - ops.mean(g, -1, keepdim=True)) / ops.sqrt(var + eps)

norm_rows.vjp(x=back)
'''),
    ("layer norm without a mean of g", r"term: .* takes off the mean of the gradient",
     '''@primitive
def norm_rows(x, *, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    std = np.sqrt(x.var(-1, keepdims=True) + eps)
    return (x - mean) / std

def back(g, x, out, eps):
    var = ops.mean((x - ops.mean(x, -1, keepdim=True)) ** 2, -1, keepdim=True)
    return (g - out * ops.mean(g * out, -1, keepdim=True)) / ops.sqrt(var + eps)

norm_rows.vjp(x=back)
'''),
    ("norm with a 2", r"factor: the rule gives 1/2 times",
     '''@primitive
def length(x, *, axis=-1):
    return np.sqrt((x ** 2).sum(axis))

length.vjp(x=lambda g, x, out, axis: ops.unsqueeze(g / (2 * out), axis) * x)
'''),
    ("the last one wins", r"sum: .* must get the sum of what these send back; here one of them overwrites",
     '''@primitive
def pick(x, *, index=(2, 0, 2)):
    return x[list(index)]

def back(g, x_shape, index):
    rows = [np.zeros(x_shape[1:])] * x_shape[0]
    for i, j in enumerate(index):
        rows[j] = g[i]
    return ops.stack(rows)

pick.vjp(x=back)
'''),
    ("a Gram matrix on one way", r"term: .* add the same with g transposed",
     '''@primitive
def gram(x):
    return x @ x.T

gram.vjp(x=lambda g, x: g @ x)
'''),
    ("times its mean", r"term: .* plus mean\(g \* x\)\.$",
     '''@primitive
def scaled(x):
    return x * x.mean()

scaled.vjp(x=lambda g, x: g * ops.mean(x))
'''),
    ("a unit vector as a division",
     r"term: .* minus x \* sum\(g \* x, axis=-1, keepdim=True\) / sqrt\(sum\(x \*\* 2\)\) \*\* 3",
     '''@primitive
def unit(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True))

unit.vjp(x=lambda g, x: g / ops.sqrt(ops.sum(x * x, -1, keepdim=True)))
'''),
    ("half of Mish", r"term: of the product rule one of two terms is missing",
     '''@primitive
def mymish(x):
    return x * np.tanh(np.log1p(np.exp(x)))

mymish.vjp(x=lambda g, x: g * ops.tanh(ops.softplus(x)))
'''),
    ("attention without softmax's sum",
     r"term: .* minus exp\(s\) \* sum\(what it gives, axis=-1, keepdim=True\) times a factor",
     '''@primitive
def soft_pick(s, v):
    p = np.exp(s - s.max(-1, keepdims=True)); p = p / p.sum(-1, keepdims=True)
    return p @ v

soft_pick.vjp(s=lambda g, s, v: (g @ v.T) * ops.softmax(s),
              v=lambda g, s: ops.softmax(s).T @ g)
'''),
    ("the other half of swish", r"term: .* plus g \* sigmoid\(x\)\.$",
     '''@primitive
def swish(x):
    return x / (1 + np.exp(-x))

swish.vjp(x=lambda g, x, out: g * out * (1 - ops.sigmoid(x)))
'''),
    ("a quadratic form on one way", r"term: .* add the same with a transposed",
     '''@primitive
def form(a, x):
    """x . A x"""
    return x @ a @ x

form.vjp(a=lambda g, x: g * ops.outer(x, x), x=lambda g, a, x: g * (a @ x))
'''),
    ("std of ops divides by n - 1", r"option: .*'ops.std\(x\)' should be 'ops.std\(x, correction=0\)'",
     '''@primitive
def deviation(x):
    return x.std()

deviation.vjp(x=lambda g, x: g * (x - ops.mean(x)) / (x.size * ops.std(x)))
'''),
]
