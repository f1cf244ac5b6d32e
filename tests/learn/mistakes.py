"""Beginners' ops with typical mistakes: a name, the expected message, and the file.

A file begins with the imports of HEAD, unless it has its own. Some are right although they look wrong.
"""

HEAD = "import numpy as np\nfrom tinygrad_like import Tensor, ops, primitive\n\n"

MISTAKES = [
    ("log wrong", r"factor: the rule returns ln 10 times",
     '''@primitive
def my_log10(x):
    return np.log10(x)

my_log10.vjp(x=lambda g, x: g / x)
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
    ("forward forgot return", r"inputs: the forward returns None",
     '''@primitive
def cube(x):
    y = x ** 3

cube.vjp(x=lambda g, x: 3 * x ** 2 * g)
'''),
    ("np where in the rule", r"numpy: the rule calls NumPy on what may be a Tensor",
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
    ("state in a global", r"state: the rule gives something else",
     '''saved = {}

@primitive
def my_exp(x):
    saved["y"] = np.exp(x)
    return saved["y"]

my_exp.vjp(x=lambda g: g * saved["y"])
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
    ("option not passed", r"name: 'slope' is not among the rule's parameters",
     '''@primitive
def leaky(x, *, slope=0.1):
    return np.where(x > 0, x, slope * x)

leaky.vjp(x=lambda g, x: g * ops.where(x > 0, 1.0, slope))
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
    ("missing import ops", r"name: 'ops' is not defined: add `from tinygrad_like import ops`",
     '''import numpy as np
from tinygrad_like import primitive

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
    ("pytorch style class", r"saved: .*without a ctx",
     '''@primitive
def my_exp(ctx, x):
    y = np.exp(x)
    ctx.save_for_backward(y)
    return y

my_exp.vjp(x=lambda g, ctx: g * ctx.saved_tensors[0])
'''),
    ("option as input", r"no rule: .*make it an option",
     '''@primitive
def power(x, n):
    return x ** n

power.vjp(x=lambda g, x, n: g * n * x ** (n - 1))
'''),
    ("rule prints instead", r"my_op.vjp\(x=rule\), not @my_op.vjp",
     '''@primitive
def sine(x):
    return np.sin(x)

@sine.vjp
def backward(g, x):
    return g * ops.cos(x)
'''),
    ("forgot transpose back", r"call: .*arguments that it does not take",
     '''@primitive
def turned(x):
    return np.transpose(x, (1, 2, 0))

turned.vjp(x=lambda g: ops.permute(g, order=(1, 2, 0)))
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
    ("gradcheck in file fails", r"sign: the rule returns minus the right gradient",
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
    ("integer output", r"inputs: the forward returns int64",
     '''@primitive
def count(x):
    return (x > 0).sum()

count.vjp(x=lambda g, x: g * x)
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
    ("flatten", r"shape: .*the shape of the input again",
     '''@primitive
def flat(x):
    return x.reshape(-1)

flat.vjp(x=lambda g: g)
'''),
    ("var correction", r"mean: the rule returns \(n - 1\) / n times .* divides by n where n - 1 is meant",
     '''@primitive
def my_var(x):
    return x.var(ddof=1)

my_var.vjp(x=lambda g, x: g * 2 * (x - x.mean()) / x.size)
'''),
    ("infinite", r"inputs: the forward returns inf or NaN",
     '''@primitive
def bad(x):
    return x / 0.0

bad.vjp(x=lambda g: g)
'''),
    ("sys exit", r"exits Python",
     '''import sys
@primitive
def sine(x):
    return np.sin(x)
sine.vjp(x=lambda g, x: g * ops.cos(x))
if __name__ != "x":
    sys.exit("done")
'''),
    ("hard coded size", r"factor: .*1 times at \(2, 3\); 1.5 times at \(3, 3\)",
     '''@primitive
def avg(x):
    return x.mean()

avg.vjp(x=lambda g, x_shape: g * np.ones(x_shape) / 6)
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
    ("zeros of ops", r"name: there is no ops.zeros; write np.zeros",
     '''@primitive
def steps(x):
    return np.floor(x)

steps.vjp(x=lambda g, x_shape: ops.zeros(x_shape))
'''),
    ("scores without their scale", r"sqrt\(n\) times the right gradient, where n is the size of axis 1",
     '''@primitive
def scores(q, k):
    return q @ k.T / np.sqrt(q.shape[-1])

scores.vjp(q=lambda g, k: g @ k,
           k=lambda g, q: g.T @ q)
'''),
    ("a Gram matrix on one way", r"term: .* treats 'x.T' in 'x @ x.T' of the forward as constant",
     '''@primitive
def gram(x):
    return x @ x.T

gram.vjp(x=lambda g, x: g @ x)
'''),
]
