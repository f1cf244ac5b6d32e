"""79 wrong rules as students write them, each with a pattern of what a teacher would say first: "kind: text".

They are about options, masks, broadcasting, reductions and the second order. They were written by hand before the
checker was tried on them; of the first 60 it then let 16 pass, and named 5 others wrong.
"""

HEAD = ("import numpy as np\nfrom tinygrad_like import Residuals, Tensor, no_grad, ops, primitive\n"
        "from tinygrad_like.learn import example\n\n@primitive\n")

OPTIONS = [
    ("a width that is not squared", r"width", '''
def gaussian(x, *, width=1.0):
    return np.exp(-(x / width) ** 2)

gaussian.vjp(x=lambda g, x, out, width: g * out * -2 * x / width)
'''),
    ("a limit one too many", r"high", '''
def soft_clamp(x, *, high=1.0):
    return high * np.tanh(x / high)

soft_clamp.vjp(x=lambda g, x, high: g * high * (1 - ops.tanh(x / high) ** 2))
'''),
    ("a slope as a number", r"slope|0\\.1", '''
def leaky(x, *, slope=0.1):
    return np.where(x > 0, x, slope * x)

leaky.vjp(x=lambda g, x: ops.where(x > 0, g, 0.1 * g))
'''),
    ("an exponent as a number", r"\\bn\\b", '''
def power(x, *, n=2):
    return x ** n

power.vjp(x=lambda g, x: g * 2 * x)
'''),
    ("softplus without beta", r"beta", '''
def softplus(x, *, beta=1.0):
    return np.log(1 + np.exp(beta * x)) / beta

softplus.vjp(x=lambda g, x: g * ops.sigmoid(x))
'''),
    ("softmax without its temperature", r"temperature", '''
def soft(x, *, temperature=1.0):
    e = np.exp((x - x.max(-1, keepdims=True)) / temperature)
    return e / e.sum(-1, keepdims=True)

soft.vjp(x=lambda g, out: out * (g - (g * out).sum(-1)[..., None]))
'''),
    ("a mean whatever the reduction", r"reduction", '''
def mse(pred, target, *, reduction="mean"):
    d = (pred - target) ** 2
    return d.mean() if reduction == "mean" else d.sum()

mse.vjp(pred=lambda g, pred, target: g * 2 * (pred - target) / pred.size,
        target=lambda g, pred, target: g * -2 * (pred - target) / pred.size)
'''),
    ("eps as a number", r"eps|1e-05", '''
def rms(x, *, eps=1e-5):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + eps)

def backward(g, x):
    r = 1 / ops.sqrt(ops.mean(x * x, axis=-1, keepdim=True) + 1e-5)
    return r * g - x * r ** 3 * ops.mean(g * x, axis=-1, keepdim=True)

rms.vjp(x=backward)
'''),
    ("Huber's delta as 1", r"delta", '''
def huber(x, *, delta=1.0):
    a = np.abs(x)
    return np.where(a <= delta, 0.5 * x ** 2, delta * (a - 0.5 * delta))

huber.vjp(x=lambda g, x: g * ops.where(abs(x) <= 1, x, ops.sign(x)))
'''),
    ("the last axis whatever the axis", r"axis", '''
def share(x, *, axis=-1):
    return x / x.sum(axis, keepdims=True)

def backward(g, x, out):
    s = ops.sum(x, axis=-1, keepdim=True)
    return (g - ops.sum(g * out, axis=-1, keepdim=True)) / s

share.vjp(x=backward)
'''),
    ("keepdim forgotten", r"keepdim", '''
def total(x, *, keepdim=False):
    return x.sum(-1, keepdims=keepdim)

total.vjp(x=lambda g, x_shape: ops.expand(ops.unsqueeze(g, -1), shape=x_shape))
'''),
    ("weights swapped, equal by default", r"\\bt\\b", '''
def mix(a, b, *, t=0.5):
    return (1 - t) * a + t * b

mix.vjp(a=lambda g, t: g * t, b=lambda g, t: g * (1 - t))
'''),
    ("alpha as 1 in ELU", r"alpha|: 'out \\+ 1' should be", '''
def elu(x, *, alpha=1.0):
    return np.where(x > 0, x, alpha * (np.exp(x) - 1))

elu.vjp(x=lambda g, x, out: g * ops.where(x > 0, 1.0, out + 1))
'''),
    ("smoothing forgotten", r"smoothing|term", '''
def smooth_nll(logits, *, smoothing=0.0):
    """Class 0 is right for every row."""
    s = logits - logits.max(-1, keepdims=True)
    logp = s - np.log(np.exp(s).sum(-1, keepdims=True))
    return -(1 - smoothing) * logp[:, 0] - smoothing * logp.mean(-1)

def backward(g, logits):
    p = ops.softmax(logits, axis=-1)
    one = np.zeros(logits.shape, np.float32)
    one[:, 0] = 1
    return ops.unsqueeze(g, -1) * (p - one)

smooth_nll.vjp(logits=backward)
'''),
]

MASKS = [
    ("a clip that passes all", r"points|condition|mask", '''
def clip(x, *, low=-1.0, high=1.0):
    return np.clip(x, low, high)

clip.vjp(x=lambda g: g)
'''),
    ("a hinge that passes all", r"points|condition|mask", '''
def hinge(x):
    return np.maximum(0, 5 - x)

hinge.vjp(x=lambda g: -g)
'''),
    ("another threshold", r"threshold", '''
def gate(x, *, threshold=0.0):
    return np.where(x > threshold, x, 0.0)

gate.vjp(x=lambda g, x: ops.where(x > 0, g, 0.0))
'''),
    ("dropout without its mask", r"function: .*mask|term: .*mask|points: .*mask|mask", '''
def drop(x, mask):
    return x * mask / 0.8

drop.vjp(x=lambda g: g / 0.8)
example(drop, (2, 3), Tensor(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])))
'''),
    ("dropout without its scale", r"factor: .*(p|4/5|0.8)", '''
def drop(x, mask, *, p=0.2):
    return x * mask / (1 - p)

drop.vjp(x=lambda g, mask: g * mask)
example(drop, (2, 3), Tensor(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])))
'''),
    ("a branch without its mask", r"points: .*mask", '''
def pick(mask, a, b):
    return np.where(mask, a, b)

pick.vjp(a=lambda g, mask: ops.where(mask, g, 0.0), b=lambda g: g)
'''),
    ("a triangle that passes all", r"sum|points|places|mask", '''
def lower(x):
    return np.tril(x)

lower.vjp(x=lambda g: g)
'''),
    ("a masked mean over all", r"mean|factor|operator|term|function", '''
def masked_mean(x, mask):
    return (x * mask).sum() / mask.sum()

masked_mean.vjp(x=lambda g, x, mask: g * mask / x.size)
example(masked_mean, (2, 3), Tensor(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])))
'''),
    ("the side that is cut", r"condition|points", '''
def cap(x, *, most=0.5):
    return np.minimum(x, most)

cap.vjp(x=lambda g, x, most: ops.where(x > most, g, 0.0))
'''),
]

BROADCASTING = [
    ("a bias with a mean", r"mean", '''
def add_bias(x, b):
    return x + b

add_bias.vjp(x=lambda g: g, b=lambda g: g.mean(0))
example(add_bias, (2, 3), (3,))
'''),
    ("rows scaled, not summed", r"sum: a sum over axis 1 is missing", '''
def scale_rows(x, s):
    return x * s[:, None]

scale_rows.vjp(x=lambda g, s: g * s[:, None], s=lambda g, x: g * x)
'''),
    ("a channel's bias over the wrong axes", r"sum|option|constant", '''
def add_channel(x, b):
    return x + b[None, :, None, None]

add_channel.vjp(x=lambda g: g, b=lambda g: ops.sum(g, axis=(0, 1, 2)))
example(add_channel, (2, 3, 4, 5), (3,))
'''),
    ("centred rows, passed through", r"mean|term|sum", '''
def centre(x):
    return x - x.mean(-1, keepdims=True)

centre.vjp(x=lambda g: g)
'''),
    ("one number for a bias", r"sum|return|shape|option", '''
def affine(x, w, b):
    return x @ w + b

affine.vjp(x=lambda g, w: g @ w.T, w=lambda g, x: x.T @ g, b=lambda g: g.sum() + 0 * g)
example(affine, (2, 3), (3, 4), (4,))
'''),
    ("distances, the other point's axis", r"sum|option|constant", '''
def distances(a, b):
    """out[i, j] = |a[i] - b[j]|^2"""
    return ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)

def for_a(g, a, b):
    return (2 * (a[:, None, :] - b[None, :, :]) * g[:, :, None]).sum(1)

def for_b(g, a, b):
    return (-2 * (a[:, None, :] - b[None, :, :]) * g[:, :, None]).sum(1)

distances.vjp(a=for_a, b=for_b)
example(distances, (2, 3), (4, 3))
'''),
    ("gamma gets g alone", r"function: a factor of xhat|function: a factor of x|factor|name", '''
def film(x, gamma, beta):
    return x * gamma + beta

film.vjp(x=lambda g, gamma: g * gamma, gamma=lambda g: g, beta=lambda g: g)
'''),
    ("summed to a column too much", r"sum|factor", '''
def shift(x, c):
    return x + c

shift.vjp(x=lambda g: g, c=lambda g: ops.sum(g, axis=1, keepdim=True) + 0 * g)
example(shift, (2, 3), (2, 1))
'''),
]

REDUCTIONS = [
    ("a variance without n", r"mean", '''
def variance(x):
    return x.var()

variance.vjp(x=lambda g, x: g * 2 * (x - x.mean()))
'''),
    ("a deviation without its root", r"function: .*out", '''
def deviation(x):
    return x.std()

deviation.vjp(x=lambda g, x: g * (x - x.mean()) / x.size)
'''),
    ("logsumexp as exp", r"function: .*out|term|sum", '''
def lse(x):
    return np.log(np.exp(x).sum())

lse.vjp(x=lambda g, x: g * ops.exp(x))
'''),
    ("a sum that is not spread", r"sum: .*repeated|call|shape|sum", '''
def row_sums(x):
    return x.sum(1)

row_sums.vjp(x=lambda g: g)
example(row_sums, (2, 3))
'''),
    ("a norm of rows along the wrong axis", r"shape|error|sum|call|transposed|axis", '''
def row_norms(x):
    return np.sqrt((x ** 2).sum(1))

row_norms.vjp(x=lambda g, x, out: g * x / out)
'''),
    ("a cumsum forwards", r"transposed: .*by the Jacobian", '''
def running(x):
    return np.cumsum(x, -1)

running.vjp(x=lambda g: ops.cumsum(g, axis=-1))
'''),
    ("a sum of squares without x", r"function: .*x|term", '''
def squares(x):
    return (x ** 2).sum(-1)

squares.vjp(x=lambda g, x_shape: 2 * ops.expand(ops.unsqueeze(g, -1), shape=x_shape))
'''),
]

SECOND = [
    ("a detached factor", r"second order: .*'x'", '''
def sine(x):
    return np.sin(x)

sine.vjp(x=lambda g, x: g * ops.cos(x.detach() if isinstance(x, Tensor) else x))
'''),
    ("a new Tensor", r"second order|numpy", '''
def cube(x):
    return x ** 3

def backward(g, x):
    x = np.asarray(x.numpy() if isinstance(x, Tensor) else x)
    return g * (3 * x ** 2)

cube.vjp(x=backward)
'''),
    ("no_grad in the rule", r"second order", '''
def square(x):
    return x * x

def backward(g, x):
    with no_grad():
        slope = 2 * x
    return g * slope

square.vjp(x=backward)
'''),
    ("a residual that depends on x", r"second order", '''
def swish(x):
    s = 1 / (1 + np.exp(-x))
    return x * s, Residuals(s=s)

swish.vjp(x=lambda g, x, s: g * (s + x * s * (1 - s)))
'''),
    ("g detached", r"second order: .*'g'", '''
def double(x):
    return 2 * x

double.vjp(x=lambda g: 2 * (g.detach() if isinstance(g, Tensor) else g))
'''),
    ("a function of NumPy without a gradient", r"numpy|second order", '''
def my_tanh(x):
    return np.tanh(x)

my_tanh.vjp(x=lambda g, x: g / np.cosh(np.array(x)) ** 2)
'''),
    ("a helper with a wrong rule", r"factor: the rule returns 1/2 times", '''
def cosine(x):
    return np.cos(x)

cosine.vjp(x=lambda g, x: g * ops.sin(x) * -1.0 if True else g)

@primitive
def helper(x):
    return x ** 2

helper.vjp(x=lambda g, x: g * x)

@primitive
def fourth(x):
    return x ** 4

fourth.vjp(x=lambda g, x: g * 4 * x * helper(x))
'''),
    ("matrices detached", r"second order: .*'b'", '''
def product(a, b):
    return a @ b

product.vjp(a=lambda g, b: g @ (b.detach() if isinstance(b, Tensor) else b).T, b=lambda g, a: a.T @ g)
'''),
    ("a number taken out", r"second order|numpy|function", '''
def scaled(x):
    return x * x.mean()

scaled.vjp(x=lambda g, x: g * float(x.mean()) + (g * x).mean())
'''),
    ("zero at NaN", r"points", '''
def root(x):
    return np.sqrt(np.abs(x)) * np.abs(x)

root.vjp(x=lambda g, x, out: 1.5 * g * out / x)
'''),
]

# Of 168 more, written later, the checker named these badly.
LATER = [
    ("a masked softmax with that of all", r"name: .*'out'", '''
def masked_softmax(x, mask):
    e = np.where(mask, np.exp(x - x.max(-1, keepdims=True)), 0)
    return e / e.sum(-1, keepdims=True)

masked_softmax.vjp(x=lambda g, x, mask, out: ops.where(
    mask, ops.softmax(x, axis=-1) * (g - (g * out).sum(-1)[..., None]), 0.0))
example(masked_softmax, (2, 3), np.array([[True, False, True], [True, True, False]]))
'''),
    ("logsumexp along an axis, softmax of all", r"sum: 'e.sum\\(\\)' should be", '''
def lse(x, *, axis=-1):
    m = x.max(axis, keepdims=True)
    return (m + np.log(np.exp(x - m).sum(axis, keepdims=True))).squeeze(axis)

def back(g, x, axis):
    e = ops.exp(x)
    return ops.unsqueeze(g, axis) * e / e.sum()

lse.vjp(x=back)
'''),
    ("cosine similarity, one term", r"term: .*'a' in 'a \\* b' of the forward alone", '''
def cosine(a, b):
    return (a * b).sum() / (np.sqrt((a * a).sum()) * np.sqrt((b * b).sum()))

def for_a(g, a, b):
    return g * b / (ops.sqrt((a * a).sum()) * ops.sqrt((b * b).sum()))

cosine.vjp(a=for_a, b=lambda g, a, b: for_a(g, b, a))
'''),
    ("a share as a number", r"option: .*'eps'", '''
def smooth(p, *, eps=0.1):
    return (1 - eps) * p + eps / p.shape[-1]

smooth.vjp(p=lambda g: g * 0.9)
'''),
    ("focal loss, one term", r"term: .*'1 - p' in '\\(1 - p\\) \\*\\* gamma'", '''
def focal(p, *, gamma=2.0):
    return -(1 - p) ** gamma * np.log(p)

focal.vjp(p=lambda g, p, gamma: -g * (1 - p) ** gamma / p)
example(focal, np.array([[0.2, 0.5], [0.8, 0.3], [0.6, 0.9]]))
'''),
    ("hardtanh, the limits of another", r"points: wrong at some points only", '''
def hardtanh(x, *, low=-1.0, high=2.0):
    return np.clip(x, low, high)

hardtanh.vjp(x=lambda g, x: ops.where(abs(x) <= 1, g, 0.0))
'''),
    ("a mask left in a global", r"state: ", '''
def gate(x):
    global MASK
    MASK = x > 0
    return x * MASK

gate.vjp(x=lambda g: g * MASK)
'''),
    ("a size left in a global", r"state: ", '''
def row_mean(x):
    global ROWS
    ROWS = len(x)
    return x / ROWS

row_mean.vjp(x=lambda g: g / ROWS)
'''),
    ("two rules swapped", r"order: .*swapped", '''
def ratio(a, b):
    return a / b

ratio.vjp(a=lambda g, a, b: -g * a / b ** 2, b=lambda g, b: g / b)
'''),
    ("a joint rule in the wrong order", r"order: .*swapped", '''
def times(a, b):
    return a * b

times.joint_vjp(lambda g, a, b: (g * a, g * b))
'''),
    ("a mean along an axis, by all elements", r"mean: .*all elements", '''
def mean(x, *, axis=0):
    return x.mean(axis, keepdims=True)

mean.vjp(x=lambda g, x: ops.expand(g, x.shape) / x.size)
'''),
    ("an outer product, no axis for a", r"'a\\[..., None\\]'", '''
def outer(a, b):
    return a[:, None] * b

outer.vjp(a=lambda g, b: ops.sum(g * b, axis=1), b=lambda g, a: ops.sum(g * a, axis=0))
example(outer, (3,), (3,))
'''),
    ("a quadratic form, twice one half", r"A\\.T", '''
def quadratic(x, A):
    return (x * (x @ A)).sum(-1, keepdims=True)

quadratic.vjp(x=lambda g, x, A: g * 2 * (x @ A), A=lambda g, x: x.T @ (g * x))
example(quadratic, (2, 3), (3, 3))
'''),
    ("a filter that is not turned round", r"flip|unknown", '''
def conv(x, w):
    return x[:-1] * w[0] + x[1:] * w[1]

def for_x(g, x, w):
    there = np.zeros(len(x))
    there[:-1] += g * w[1]
    there[1:] += g * w[0]
    return there

conv.vjp(x=for_x, w=lambda g, x: np.array([(g * x[:-1]).sum(), (g * x[1:]).sum()]))
example(conv, (5,), (2,))
'''),
    ("the halves of a gated unit swapped", r"order: ", '''
def glu(x):
    return x[:, :2] / (1 + np.exp(-x[:, 2:]))

def backward(g, x, out):
    s = 1 / (1 + ops.exp(-x[:, 2:]))
    return ops.cat(g * out * (1 - s), g * s, axis=1)

glu.vjp(x=backward)
example(glu, (3, 4))
'''),
    ("cross entropy not averaged", r"3 times the right gradient", '''
def nll(x, y):
    s = x - x.max(-1, keepdims=True)
    logp = s - np.log(np.exp(s).sum(-1, keepdims=True))
    return -(y * logp).sum() / len(x), Residuals(p=np.exp(logp))

nll.vjp(x=lambda g, y, p: g * (p - y))
example(nll, (3, 4), Tensor(np.eye(4)[:3]))
'''),
]

# From 135 more, also written beforehand: those that the checker first named wrong or vaguely, or mended wrongly.
FRESH = [
    ("huber without sign", r"ops\\.sign\\(x\\)", '''
def hub(x, *, delta=1.0):
    return np.where(np.abs(x) <= delta, x * x / 2, delta * (np.abs(x) - delta / 2))

hub.vjp(x=lambda g, x, delta: ops.where(abs(x) <= delta, g * x, g * delta))
'''),
    ("min given max's rule", r"should be 'ops\\.min", '''
def least(x, *, axis=-1):
    return x.min(axis)

least.vjp(x=lambda g, x, axis: ops.unsqueeze(g, axis) * (x == ops.max(x, axis=axis, keepdim=True)))
'''),
    ("max, whole maximum under an axis", r"axis=axis, keepdim", '''
def peak(x, *, axis=-1):
    return x.max(axis, keepdims=True)

peak.vjp(x=lambda g, x: g * (x == ops.max(x)))
'''),
    ("rmsnorm, two counts by size", r"'x\\.size' should be 'x\\.shape\\[-1\\]', in both places", '''
def rmsn(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w

def rmsn_x(g, x, w):
    r = 1 / ops.sqrt(ops.sum(x * x, axis=-1, keepdim=True) / x.size + 1e-6)
    h = g * w
    return r * h - x * r ** 3 * ops.sum(h * x, axis=-1, keepdim=True) / x.size

rmsn.vjp(x=rmsn_x, w=lambda g, x: g * x / ops.sqrt(ops.mean(x * x, axis=-1, keepdim=True) + 1e-6))
example(rmsn, (2, 3), (3,))
'''),
    ("put: x keeps its gradient", r"points: .*the slope is 0", '''
def put(x, v):
    y = x.copy()
    y[1:3] = v
    return y

put.vjp(x=lambda g: g, v=lambda g: g[1:3])
example(put, (5,), (2,))
'''),
    ("sort with the order, not its inverse", r"not by its transpose", '''
def ordered(x):
    order = np.argsort(x)
    return x[order], Residuals(order=order)

ordered.vjp(x=lambda g, order: g[order])
example(ordered, np.array([0.3, 2.0, -1.0, 0.9]))
'''),
    ("logsumexp along a lost axis", r"shape: g and out need the axis", '''
def lse(x, *, axis=-1):
    return np.log(np.exp(x).sum(axis))

lse.vjp(x=lambda g, x, out: g * ops.exp(x - out))
example(lse, (3, 3))
'''),
    ("gather rows by one hot", r"dtype: .*dtype=g\\.dtype", '''
def tk(x, *, index=(0, 2, 0)):
    return x[list(index)]

tk.vjp(x=lambda g, x, index: Tensor(np.eye(x.shape[0])[list(index)].T) @ g)
example(tk, (3, 2))
'''),
    ("where, both branches alike", r"'a <=? at'", '''
def choose(a, b, *, at=0.0):
    return np.where(a > at, a, b)

choose.vjp(a=lambda g, a, at: g * (a > at), b=lambda g, a, at: g * (a > at))
'''),
    ("permute with itself", r"not by its transpose", '''
def turn(x, *, order=(1, 2, 0)):
    return x.transpose(order)

turn.vjp(x=lambda g, order: ops.permute(g, order))
example(turn, (2, 2, 2))
'''),
    ("standardize both counts", r"'x\\.shape\\[0\\]'", '''
def stdz(x):
    m = x.mean(0)
    return ((x - m) ** 2).mean(0)

stdz.vjp(x=lambda g, x: g * 2 * (x - ops.mean(x, axis=0)) / x.shape[-1])
example(stdz, (4, 3))
'''),
    ("batchmean by size", r"the size of axis 1", '''
def kl(logq, p):
    return (p * (np.log(p) - logq)).sum() / p.shape[0]

kl.vjp(logq=lambda g, p: -g * p / p.size)
example(kl, (2, 3), Tensor(np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])))
'''),
    ("first call remembered", r"state: .*'KEPT'", '''
def once(x):
    KEPT.setdefault("x", x)
    return np.sin(x)

KEPT = {}
once.vjp(x=lambda g: g * np.cos(KEPT["x"]))
'''),
    ("matmul swapped transposes", r"should be 'g @ b\\.T'", '''
def mm(a, b):
    return a @ b

mm.vjp(a=lambda g, b: b @ g, b=lambda g, a: a.T @ g)
example(mm, (3, 3), (3, 3))
'''),
    ("mean hard-coded", r"factor: .*1\\.333 times at \\(5, 4\\)", '''
def m3(x):
    return x.mean(-1, keepdims=True)

m3.vjp(x=lambda g, x: (g + 0 * x) / 3)
example(m3, (2, 3))
'''),
]

STUDENTS = [(name, said.replace("\\\\", "\\"), HEAD + text.lstrip("\n"))
            for name, said, text in OPTIONS + MASKS + BROADCASTING + REDUCTIONS + SECOND + LATER + FRESH]
