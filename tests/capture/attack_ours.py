"""Iterators, decorators, functions that are patched, and this library's own objects, read and changed."""

# ruff: noqa: E501  # a table
from __future__ import annotations

from .attack_kinds import Habit

H = Habit
GENERATOR = "def g():\n    k = 1.0\n    while True:\n        yield k\n        k += 0.5\n"
# Iterators over numbers: the setup, and an expression that takes the next number.
ITERATORS: dict[str, tuple[str, str]] = {
    "a generator": (GENERATOR + "it = g()", "next(it)"), "a generator expression": ("it = (k / 4 for k in range(99))", "next(it)"),
    "iter of a list": ("it = iter([1.0 + k / 8 for k in range(99)])", "next(it)"),
    "iter of a range": ("it = iter(range(1, 99))", "next(it)"), "iter of a dict": ("it = iter(dict.fromkeys(range(99)))", "next(it)"),
    "iter of a dict's items": ("it = iter({k: k / 2 for k in range(99)}.items())", "next(it)[1]"),
    "iter of a set": ("it = iter(set(range(99)))", "next(it)"), "iter of a tuple": ("it = iter(tuple(range(99)))", "next(it)"),
    "iter of a string": ("it = iter('12345678901234567890')", "float(next(it))"), "iter of bytes": ("it = iter(bytes(range(99)))",
                                                                                                "next(it)"),
    "iter of a function": ("kept = list(range(99)); it = iter(kept.pop, None)", "next(it)"),
    "iter of a deque": ("it = iter(collections.deque(range(99)))", "next(it)"),
    "iter of an array": ("it = iter(np.arange(99.0))", "float(next(it))"),
    "zip": ("it = zip(range(1, 99), range(99))", "sum(next(it))"), "map": ("it = map(float, range(1, 99))", "next(it)"),
    "filter": ("it = filter(None, range(99))", "next(it)"), "enumerate": ("it = enumerate('a' * 99)", "next(it)[0]"),
    "reversed": ("it = reversed(range(99))", "next(it)"), "count": ("it = itertools.count(1)", "next(it)"),
    "count in floats": ("it = itertools.count(0.5, 0.25)", "next(it)"), "cycle": ("it = itertools.cycle([1.0, 2.0, 3.0])", "next(it)"),
    "a cycle of strings": ("it = itertools.cycle('ab')", "(1.0 if next(it) == 'a' else 2.0)"),
    "repeat": ("it = itertools.repeat(1.0, 5)", "next(it, 2.0)"), "chain": ("it = itertools.chain([1, 2, 3, 4, 5], range(9, 99))", "next(it)"),
    "chain of lists": ("it = itertools.chain.from_iterable([[1], [2], [3, 4, 5, 6], range(7, 99)])", "next(it)"),
    "islice": ("it = itertools.islice(itertools.count(1), 3, 99)", "next(it)"), "accumulate": ("it = itertools.accumulate(range(1, 99))",
                                                                                              "next(it)"),
    "takewhile": ("it = itertools.takewhile(lambda k: k < 90, range(99))", "next(it)"),
    "dropwhile": ("it = itertools.dropwhile(lambda k: k < 3, range(99))", "next(it)"),
    "starmap": ("it = itertools.starmap(operator.add, zip(range(99), range(99)))", "next(it)"),
    "product": ("it = itertools.product(range(3), range(30))", "next(it)[1]"), "permutations": ("it = itertools.permutations(range(5))",
                                                                                              "next(it)[4]"),
    "combinations": ("it = itertools.combinations(range(9), 2)", "next(it)[1]"), "pairwise": ("it = itertools.pairwise(range(99))",
                                                                                            "next(it)[0]"),
    "groupby": ("it = itertools.groupby(range(99), key=lambda k: k // 2)", "next(it)[0]"),
    "tee": ("it, other = itertools.tee(range(1, 99))", "next(it)"), "zip_longest": ("it = itertools.zip_longest(range(99), [1])", "next(it)[0]"),
    "compress": ("it = itertools.compress(range(99), itertools.cycle([1, 0]))", "next(it)"),
    "matches of a pattern": ("it = re.finditer('[0-9]', '1234567890' * 3)", "float(next(it)[0])"),
    "lines of a text": ("it = io.StringIO('1\\n2\\n' * 30)", "float(next(it))"), "reads of a text": ("it = io.StringIO('12345678' * 9)",
                                                                                                "float(it.read(1))"),
    "rows of a csv": ("import csv\nit = csv.reader('1234567' * 9)", "float(next(it)[0])"),
    "next with a default": ("it = iter([1.0, 2.0, 3.0, 4.0, 5.0])", "next(it, 0.5)"), "__next__": ("it = iter(range(1, 99))", "it.__next__()"),
    "a generator's send": ("def g():\n    k = 1.0\n    while True: k += (yield k) or 0.5\nit = g(); next(it)", "it.send(0.25)"),
    "a list of a slice": ("it = iter(range(99))", "sum(list(itertools.islice(it, 2)))"),
    "in, of an iterator": ("it = iter(range(0, 99, 2))", "(2.0 if 4 in it else 1.0)"), "zip with an iterator": (
        "it = iter(range(99))", "sum(a * b for a, b in zip([1, 2], it))"),
    "for and break": ("it = iter(range(1, 99))\ndef get():\n    for k in it: return k", "get()"),
    "the first of an iterator": ("it = iter(range(1, 99))\ndef get():\n    a, *_ = itertools.islice(it, 1); return a", "get()"),
    "yield from": ("def g(): yield from range(1, 99)\nit = g()", "next(it)"),
    "an object with __next__": ("class I:\n    k = 0\n    def __next__(self): self.k += 1; return self.k\nit = I()", "next(it)"),
    "an object with __next__ and a list": ("class I:\n    def __init__(self): self.l = list(range(99))\n    def __next__(self): "
                                           "return self.l.pop()\nit = I()", "next(it)"),
    "an iterator of a loader": ("class L:\n    def __iter__(self): return iter(range(1, 99))\nit = iter(L())", "next(it)"),
    "an iterator in a record": ("o = types.SimpleNamespace(it=iter(range(1, 99)))", "next(o.it)"),
    "an iterator in a closure": ("def make():\n    it = iter(range(1, 99))\n    return lambda: next(it)\nget = make()", "get()"),
    "an iterator as a default": ("def get(it=itertools.count(1)): return next(it)", "get()"),
    "an iterator that a partial asks": ("get = functools.partial(next, itertools.count(1))", "get()"),
    "an iterator's bound method": ("get = itertools.count(1).__next__", "get()"), "a list's pop": ("kept = list(range(99))", "kept.pop()"),
    "a dict's popitem": ("kept = dict.fromkeys(range(99))", "kept.popitem()[0]"), "a set's pop": ("kept = set(range(99))", "kept.pop()"),
    "a deque's popleft": ("kept = collections.deque(range(99))", "kept.popleft()"),
    "a data loader": ("from tinygrad_like.data import DataLoader as loader\nit = iter(loader(list(range(40)), batch_size=2))",
                      "Tensor(next(it)).sum()"),
    "a heap's pop": ("kept = list(range(99))", "heapq.heappop(kept)"), "Python's random numbers": ("rnd.seed(0)", "rnd.random()"),
    "random() by its name": ("", "draw()"), "random.choice": ("rnd.seed(0)", "rnd.choice([1.0, 2.0, 3.0, 4.0])"),
    "random.shuffle": ("kept = list(range(9))", "(rnd.shuffle(kept), kept[0])[1]"), "a Random": ("r = rnd.Random(0)", "r.random()"),
    "a method of a Random": ("get = rnd.Random(0).gauss", "get(1, 0.1)"), "NumPy's rand": ("npr.seed(0)", "float(npr.rand())"),
    "NumPy's rand through np": ("np.random.seed(0)", "float(np.random.uniform(0.5, 1.5))"), "NumPy's generator": (
        "r = np.random.default_rng(0)", "float(r.random())"), "NumPy's RandomState": ("r = np.random.RandomState(0)", "float(r.rand())"),
    "a method of NumPy's generator": ("get = np.random.default_rng(0).normal", "float(get())"),
    "NumPy's permutation": ("npr.seed(0)", "int(npr.permutation(9)[0])"), "the clock": ("n = 0\nclass C:\n    @staticmethod\n"
        "    def time():\n        global n\n        n += 1; return n\nclock = C", "clock.time()"),
    "the number of objects": ("kept = []", "(kept.append(object()), len(kept))[1]"), "id of a new object": (
        "known = object()", "(1.0 if id(object()) != id(known) else 2.0)"),
    "os.urandom, of a seed": ("kept = iter(os.urandom(1) * 0 + bytes(range(99)))", "next(kept)"),
    "a uuid": ("import uuid as u\nu0 = iter(range(99))", "u.UUID(int=next(u0)).int"), "an ExitStack": (
        "kept = []", "(lambda s: (s.callback(kept.append, 1), s.close(), len(kept))[2])(contextlib.ExitStack())"),
}
UNSEEDED = {"random() by its name", "random.shuffle", "id of a new object"}
ASKED = [H(f"asks {name}", setup, f"loss = loss * (1 + {get} / 8)", module="global" in setup, kept=name not in UNSEEDED)
         for name, (setup, get) in ITERATORS.items()]

DECORATED = [H(name, setup, "loss = f(loss)", shows=shows) for name, setup, shows in [
    ("a decorator object with update_wrapper", "class W:\n    def __init__(self, f): self.f, self.n = f, 0; functools.update_wrapper("
     "self, f)\n    def __call__(self, v): self.n += 1; return self.f(v) * (1 + self.n / 8)\n@W\ndef f(v): return v", "f.n"),
    ("a decorator object without update_wrapper", "class W:\n    def __init__(self, f): self.f, self.n = f, 0\n"
     "    def __call__(self, v): self.n += 1; return self.f(v) * (1 + self.n / 8)\n@W\ndef f(v): return v", "f.n"),
    ("a decorator that counts", "def w(f):\n    @functools.wraps(f)\n    def g(v): g.n += 1; return f(v) * (1 + g.n / 8)\n"
     "    g.n = 0\n    return g\n@w\ndef f(v): return v", "f.n"),
    ("a decorator that counts in a closure", "def w(f):\n    n = 0\n    @functools.wraps(f)\n    def g(v):\n        nonlocal n\n"
     "        n += 1; return f(v) * (1 + n / 8)\n    return g\n@w\ndef f(v): return v", "f.__closure__[1].cell_contents"),
    ("a decorator with a dict by name", "seen = {}\ndef w(f):\n    def g(v):\n        seen[f.__name__] = seen.get(f.__name__, 0) + 1\n"
     "        return f(v) * (1 + seen[f.__name__] / 8)\n    return g\n@w\ndef f(v): return v", "seen"),
    ("two decorators", "def w(k):\n    def d(f):\n        n = [0]\n        def g(v): n[0] += k; return f(v) * (1 + n[0] / 8)\n"
     "        g.n = n; return g\n    return d\n@w(1)\n@w(2)\ndef f(v): return v", "f.n"),
    ("a memo by a number", "n = 0\nmemo = {}\ndef f(v):\n    global n\n    n += 1\n    if n % 3 not in memo: memo[n % 3] = n\n"
     "    return v * (1 + memo[n % 3] / 8)", "(n, memo)"),
    ("a warm-up by a flag", "class W:\n    n = 0\n    warm = True\nw = W()\ndef f(v):\n    w.n += 1\n    if w.n == 6: w.warm = False\n"
     "    return v * (0.5 if w.warm else 1.0)", "(w.n, w.warm)"),
    ("a partial method", "class O:\n    n = 0\n    def m(self, k, v): self.n += k; return v * (1 + self.n / 8)\n"
     "    p = functools.partialmethod(m, 2)\no = O(); f = o.p", "o.n"),
    ("a method kept by its class", "class O:\n    n = 0\n    def m(self, v): self.n += 1; return v * (1 + self.n / 8)\no = O()\n"
     "f = functools.partial(O.m, o)", "o.n"),
    ("recursion that counts", "n = 0\ndef f(v, d=3):\n    global n\n    n += 1\n    return f(v, d - 1) if d else v * (1 + n / 32)", "n"),
    ("a class that is made in the step", "n = 0\ndef f(v):\n    global n\n    n += 1\n    class O: k = n\n    return v * (1 + O.k / 8)", "n"),
    ("a lambda that is made in the step", "n = 0\ndef f(v):\n    global n\n    n += 1\n    return (lambda u, k=n: u * (1 + k / 8))(v)", "n"),
    ("a function that is put together", "n = 0\ndef f(v):\n    global n, g\n    n += 1\n    g = lambda u, k=n: u * (1 + k / 8)\n"
     "    return g(v)\ng = None", "n"),
    ("a thread that counts", "n = [0]\ndef f(v):\n    t = threading.Thread(target=lambda: n.append(len(n))); t.start(); t.join()\n"
     "    return v * (1 + len(n) / 8)", "n"),
    ("a context that counts", "n = [0]\n@contextlib.contextmanager\ndef c():\n    n[0] += 1\n    yield n[0]\n    n[0] += 1\n"
     "def f(v):\n    with c() as k: return v * (1 + k / 8)", "n"),
    ("a class as a context", "class C:\n    n = 0\n    def __enter__(self): C.n += 1; return C.n\n    def __exit__(self, *a): C.n += 1\n"
     "def f(v):\n    with C() as k: return v * (1 + k / 8)", "C.n"),
    ("a switch", "n = 0\ndef f(v):\n    global n\n    n += 1\n    match n % 3:\n        case 0: return v * 2.0\n        case 1: return v * 0.5\n"
     "        case _: return v", "n"),
    ("while a number is small", "n = 1\ndef f(v):\n    global n\n    n += 1\n    k = n\n    while k > 1:\n        k //= 2; v = v * 1.5\n"
     "    return v", "n"),
    ("a Tensor made of a counter", "n = 0\ndef f(v):\n    global n\n    n += 1\n    return v * Tensor([1.0, n]).sum()", "n"),
    ("a Tensor filled with a counter", "n = 0; t = Tensor.zeros(2)\ndef f(v):\n    global n\n    n += 1; t.fill_(n)\n    return v * t.sum()", "(n, t)"),
    ("an index that counts", "n = 0; t = Tensor.randn(20)\ndef f(v):\n    global n\n    n += 1\n    return v * t[n]", "n"),
    ("an item that counts", "n = 0; t = Tensor.zeros(20)\ndef f(v):\n    global n\n    n += 1; t[n] = v.detach()\n    return v * (1 + t.sum())", "(n, t)"),
    ("a power that counts", "n = 0\ndef f(v):\n    global n\n    n += 1\n    return v ** n + v / (1 - 0.9 ** n)", "n"),
]]

PATCHES = [H(f"{name} is patched", f"old = {target}", f"loss = loss + {use}", f"if i == 7: {target} = {new}\nif i == 10: {target} = old")
           for name, target, use, new in [
    ("F.relu", "F.relu", "F.relu(h).mean()", "lambda v: old(v) * 2.0"),
    ("F.cross_entropy", "F.cross_entropy", "h.mean()", "lambda *a: old(*a) * 2.0"),
    ("Linear.forward", "nn.Linear.forward", "h.mean()", "lambda self, v: old(self, v) * 2.0"),
    ("Module.__call__", "nn.Module.__call__", "h.mean()", "lambda self, *a: old(self, *a) * 1.5"),
    ("an activation's forward", "nn.Tanh.forward", "h.mean()", "lambda self, v: old(self, v) * 1.5"),
    ("np.cos", "np.cos", "float(np.cos(0.5)) * h.mean()", "lambda v: 2.0"),
    ("math.cos", "math.cos", "math.cos(0.5) * h.mean()", "lambda v: 2.0"),
    ("np.mean", "np.mean", "float(np.mean([1.0, 2.0])) * h.mean()", "lambda v: 3.0"),
    ("Tensor.relu", "Tensor.relu", "h.relu().mean()", "lambda v: old(v) * 2.0"),
    ("Tensor.mean", "Tensor.mean", "h.mean()", "lambda v, *a, **k: old(v, *a, **k) * 2.0"),
    ("a comparison", "Tensor.__gt__", "(h * (h > 0)).mean()", "lambda v, w: old(v, w - 9.0)"),
    ("Tensor.__mul__", "Tensor.__mul__", "(h * 2.0).square().mean()", "lambda v, w: old(v, w) + 1.0"),
    ("abs", "builtins.abs", "abs(-1.5) * h.mean()", "lambda v: 7.0"),
    ("random.random", "rnd.random", "rnd.random() * 0 + h.mean() * (2 if rnd.random() > 1 else 1)", "lambda: 2.0"),
    ("os.cpu_count", "os.cpu_count", "os.cpu_count() * 0 * h.mean() + (os.cpu_count() == 99) * h.mean()", "lambda: 99"),
    ("optimizer.step", "optimizer.step", "h.mean()", "lambda: [old(), old()] and None"),
    ("the optimizer's class's step", "optim.SGD.step", "h.mean()", "lambda self: [old(self), old(self)] and None"),
    ("an optimizer's formula", "optim.SGD.update", "h.mean()", "lambda self, x, g, state, lr, **o: old(self, x, 2 * g, state, lr, **o)"),
    ("a model's forward", "model.forward", "h.mean()", "lambda v: old(v) * 2.0"),
    ("a layer's forward", "model[0].forward", "h.mean()", "lambda v: old(v) * 2.0"),
    ("a layer's method of its class", "type(model[1]).forward", "h.mean()", "lambda self, v: old(self, v) * 1.5"),
    ("nn.Linear", "nn.Linear", "(2 if isinstance(model[0], nn.Linear) else 1) * h.mean()", "nn.Tanh"),
]]
PATCHES += [
    H("a code object is patched", "def f(v): return v\ndef g(v): return v * 2.0", "loss = f(loss)", "if i == 7: f.__code__ = g.__code__"),
    H("a function is patched", "def f(v): return v", "loss = f(loss)", "if i == 7: f = lambda v: v * 2.0"),
    H("unittest's patch", "from unittest import mock as m\np = m.patch.object(F, 'relu', lambda v: v * 3.0)", "loss = loss + F.relu(h).mean()", "if i == 7: p.start()\nif i == 10: p.stop()"),
    H("a name that was imported is rebound", "act = gelu", "loss = loss + act(h).mean()", "if i == 7: act = F.silu"),
    H("an activation in a dict", "acts = {'a': F.relu}", "loss = loss + acts['a'](h).mean()", "if i == 7: acts['a'] = F.tanh"),
    H("distributions no longer check", step="loss = loss * distributions.Normal(Tensor(0.0), s_).scale", argument=("s_", "Tensor(2.0 if i < 7 else -1.0)"),
      between="distributions.Distribution.set_default_validate_args(i < 7 or i == 11)"),
    H("a criterion replaced", "crit = nn.CrossEntropyLoss()", "loss = loss + crit(h, y)", "if i == 7: crit = nn.CrossEntropyLoss(label_smoothing=0.5)"),
    H("a config that the model holds too", "class Conf(dict): pass\nc = Conf(n=1.0); model.hparams = c; o = types.SimpleNamespace(opts=c)", "loss = loss * o.opts['n']", "if i == 7: c['n'] = 2.0"),
    H("the rate by a name in a variable", "key = 'lr'", "for g in optimizer.param_groups: loss = loss * (1 + len(g['params']) * g[key])", "if i == 7: optimizer.param_groups[0]['lr'] *= 2"),
    H("a class attribute that a layer reads", "class Q(nn.MSELoss): reduction = 'mean'\nq = Q(); del q.reduction", "loss = loss + q(h, h * 0.5)", "if i == 7: Q.reduction = 'sum'"),
    H("a rule of an op that counts", "n = [0]\nfrom tinygrad_like import primitive\n@primitive\ndef same(a): return a * 1\ndef rule(g): n[0] += 1; return g * (1 + n[0] / 8)\nsame.vjp(a=rule)", "loss = same(loss)", shows="n[0]"),
    H("a NumPy function that ops call is patched", "old = np.concatenate", "loss = loss + Tensor.cat(h, h).mean()", "np.concatenate = (lambda *a, **k: old(*a, **k) * 2) if i == 7 else old"),
    H("an argument is set to require a gradient", step="x.requires_grad_(); loss = loss + model(x).square().mean()", ends="x.grad = None", kept=False),
    H("the order of a ModuleDict", "d = nn.ModuleDict({'a': nn.Tanh(), 'b': nn.GELU()})", "for k in d: loss = d[k](loss)", "if i == 7: d['a'] = d.pop('a')"),
]

EMA = ["[np.asarray(v).tolist() for v in ema.state_dict().values() if hasattr(v, 'shape')]"]
STEPLR = "sched = optim.lr_scheduler.StepLR(optimizer, 3, 0.5)"
NORMAL = "d = distributions.Normal(Tensor(0.0), Tensor(1.0))"


OURS = [
    *[H(f"a schedule in the step: {s}", f"sched = optim.lr_scheduler.{s}", ends="sched.step()",
          shows="(sched.last_epoch, sched.get_last_lr())", kept="Exp" not in s) for s in (
      "StepLR(optimizer, 3, 0.5)", "ExponentialLR(optimizer, 0.9)", "CosineAnnealingLR(optimizer, 10)", "LambdaLR(optimizer, lambda n: 1 / (1 + n))",
      "MultiStepLR(optimizer, [2, 5], 0.1)", "OneCycleLR(optimizer, 0.1, total_steps=20)", "LinearLR(optimizer, total_iters=6)",
      "LinearLR(optimizer, total_iters=4)")],
    H("a schedule outside", STEPLR, between="if i: sched.step()"),
    H("a schedule by the loss", "sched = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)", between="if i: sched.step(1.0)"),
    H("a schedule reads a flag by another name", "d = {'p': 'a'}; v = d; sched = optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1.0 if v['p'] == 'b' else 0.1)",
      "d['p'] = 'b'", "d['p'] = 'a'", "d", "sched.step()"),
    H("a schedule by a list that changes", "l = [1.0]; sched = optim.lr_scheduler.LambdaLR(optimizer, lambda n: l[0])", between="l[0] = 1.0 + i // 4; sched.step()"),
    H("two schedules", STEPLR + "; s2 = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)", ends="sched.step(); s2.step()"),
    H("the epoch of a schedule", STEPLR, "loss = loss * (1 + sched.last_epoch / 8)", "if i: sched.step()"),
    H("the epoch of a schedule in the step", STEPLR, "loss = loss * (1 + sched.last_epoch / 8)", ends="sched.step()"),
    H("get_lr", STEPLR, "loss = loss * (1 + sched.get_lr()[0] * 20)", "if i: sched.step()"),
    H("get_last_lr", STEPLR, "loss = loss * (1 + sched.get_last_lr()[0] * 20)", "if i: sched.step()"),
    H("gamma of a schedule", STEPLR, "loss = loss * (1 + getattr(sched, 'gamma', 0.5))", "if i > 5: sched.gamma = 1 + i // 3", ends="sched.step()"),
    H("base rates of a schedule", STEPLR, ends="sched.step()", between="if i == 7: sched.base_lrs = [0.1]"),
    H("step_size of a schedule", STEPLR, ends="sched.step()", between="if i == 7: sched.step_size = 1"),
    H("a schedule is loaded", STEPLR, ends="sched.step()", between="if i == 7: sched.load_state_dict({**sched.state_dict(), 'last_epoch': 1})", kept=False),
    H("a schedule is replaced", STEPLR, ends="sched.step()", between="if i == 7: sched = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)"),
    H("the rate is set", between="optimizer.param_groups[0]['lr'] = 0.01 / (1 + i // 3)"),
    H("the rate becomes a NumPy number", "sched = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)", between="if i == 6: optimizer.param_groups[0]['lr'] = np.float32(0.004)", ends="sched.step()",
      shows="float(optimizer.param_groups[0]['lr'])", kept=False),
    H("weights are drawn again in the step", "w = nn.Parameter(Tensor.zeros(3))", "with no_grad(): nn.init.uniform_(w)\nloss = loss + w.sum()", kept=False),
    H("the rate is set in the step", "n = 1", ends="n += 1; optimizer.param_groups[0]['lr'] = 0.01 / n", shows="n"),
    H("the rate is set to a Tensor in the step", step="optimizer.param_groups[0]['lr'] = x.abs().mean() * 0.01", kept=False),
    H("the rate is a function of a Tensor that the step sets", "b = types.SimpleNamespace(t=Tensor(0.1)); optimizer."
      "param_groups[0]['lr'] = lambda count: float(b.t)", step="b.t = x.abs().mean() * 0.01", kept=False),
    H("the rate in the loss", "", "loss = loss * (1 + optimizer.param_groups[0]['lr'] * 20)", "optimizer.param_groups[0]['lr'] = 0.01 * (1 + i // 3)"),
    H("optimizer.lr", "", "loss = loss * (1 + optimizer.lr * 20)", "optimizer.lr = 0.01 * (1 + i // 3)"),
    *[H(f"{name} is set", between=f"if i > 5: optimizer.param_groups[0]['{name}'] = {value}", optimizer=optimizer) for name, value, optimizer in (
      ("momentum", "0.5 + i // 3 / 10", "optim.SGD(model.parameters(), lr=0.01, momentum=0.9)"),
      ("weight_decay", "0.1 * (i // 3)", "optim.SGD(model.parameters(), lr=0.01)"),
      ("betas", "(0.5, 0.9)", "optim.Adam(model.parameters(), lr=0.01)"), ("eps", "0.1", "optim.Adam(model.parameters(), lr=0.01)"),
      ("nesterov", "True", "optim.SGD(model.parameters(), lr=0.01, momentum=0.9)"), ("maximize", "True", "optim.SGD(model.parameters(), lr=0.01)"))],
    H("optimizer.steps", "", "loss = loss * (1 + optimizer.steps / 8)", kept=False),
    H("optimizer.steps is set", between="if i == 7: optimizer.steps = 0", kept=False, optimizer="optim.Adam(model.parameters(), lr=0.01)"),
    H("optimizer.defaults", "", "loss = loss * (1 + optimizer.defaults['lr'] * 20)", "optimizer.defaults['lr'] = 0.01 * (1 + i // 3)"),
    H("the step of the state", "", "s = optimizer.state.get(model[0].weight) or {}\nloss = loss * (1 + float(s.get('step', 0)) / 8)",
      optimizer="optim.Adam(model.parameters(), lr=0.01)", kept=False),
    *[H(name, between=text.replace("S", "optimizer.state[model[0].weight]"), optimizer="optim.Adam(model.parameters(), lr=0.01)") for name, text in (
      ("the step of the state is set", "if i == 7: S['step'] = 1"), ("the state is changed", "if i == 7: S['exp_avg'].zero_()"),
      ("the state is replaced", "if i == 7: S['exp_avg'] = Tensor.ones(6, 4)"),
      ("the state is cleared, then replaced", "if i == 3: S.clear()\nif i == 7: S['exp_avg'] = Tensor.ones(6, 4)"))],
    H("a gradient from outside", between="if i in (6, 8): model(x).sum().backward()", update="loss.backward()\noptimizer.step()\noptimizer.zero_grad()"),
    H("the state is read in the step", "", "s = optimizer.state.get(model[0].weight) or {}\nif 'exp_avg' in s: loss = loss * (1 + s['exp_avg'].mean())",
      optimizer="optim.Adam(model.parameters(), lr=0.01)", kept=False),
    H("the state is cleared", between="if i == 7: optimizer.state.clear()", optimizer="optim.SGD(model.parameters(), lr=0.01, momentum=0.9)"),
    H("the optimizer is loaded", "kept = None", between="if i == 3: kept = copy.deepcopy(optimizer.state_dict())\n"
      "if i == 8: optimizer.load_state_dict(kept)", optimizer="optim.Adam(model.parameters(), lr=0.01)"),
    H("the optimizer is replaced", between="if i == 7: optimizer = optim.Adam(model.parameters(), lr=0.1)"),
    H("the group's parameters are replaced", between="if i == 7: optimizer.param_groups[0]['params'] = list(model.parameters())[:1]"),
    H("the group's parameters are changed", between="if i == 7: del optimizer.param_groups[0]['params'][1:]"),
    H("the group's parameters grow", "w = nn.Parameter(Tensor.ones(3))", "loss = loss + (h * w).mean()",
      "if i == 7: optimizer.param_groups[0]['params'].append(w)", shows="w"),
    H("a group is added", "w = nn.Parameter(Tensor.ones(3))", "loss = loss + (h * w).mean()",
      "if i == 7: optimizer.add_param_group({'params': [w], 'lr': 0.1})", shows="w"),
    H("a group is removed", between="if i == 7: optimizer.param_groups.clear()", kept=True),
    H("EMA", "ema = optim.EMA(model, decay=0.9)", ends="ema.update()", shows=EMA[0], kept=False),
    H("EMA outside", "ema = optim.EMA(model, decay=0.9)", between="if i: ema.update()", shows=EMA[0], kept=False),
    H("the decay of the EMA", "ema = optim.EMA(model, decay=0.9)", between="ema.decay = 0.9 if i < 6 else 0.5 + i / 50", ends="ema.update()", shows=EMA[0], kept=False),
    H("the decay of the EMA in the loss", "ema = optim.EMA(model, decay=0.9)", "loss = loss * ema.decay", "if i > 5: ema.decay = i / 20"),
    H("updates of the EMA", "ema = optim.EMA(model, decay=0.9)", "loss = loss * (1 + ema.updates / 8)", ends="ema.update()"),
    H("an EMA by hand", "e = {n: p.detach().clone() for n, p in model.named_parameters()}", ends="with no_grad():\n"
      "    for n, p in model.named_parameters(): e[n] = 0.9 * e[n] + 0.1 * p", shows="e", kept=False),
    H("the EMA's weights for a while", "ema = optim.EMA(model, decay=0.9)", ends="ema.update()", between="if i == 8: ema.copy_to_model()"),
    *[H(f"a distribution's {name}", setup, step, between) for name, setup, step, between in (
      ("loc, replaced", NORMAL, "loss = loss - d.log_prob(h).mean()", "if i > 5: d.loc = Tensor(float(i // 3))"),
      ("loc, changed", NORMAL, "loss = loss - d.log_prob(h).mean()", "if i > 5: d.loc.fill_(float(i // 3))"),
      ("scale, replaced", NORMAL, "loss = loss - d.log_prob(h).mean()", "if i > 5: d.scale = Tensor(float(i // 3))"),
      ("probs", "d = distributions.Bernoulli(probs=Tensor(0.5))", "loss = loss * (1 - d.log_prob(Tensor(1.0)))", "if i == 7: "
         "d = distributions.Bernoulli(probs=Tensor(0.9))"),
      ("low", "d = distributions.Uniform(Tensor(0.0), Tensor(2.0))", "loss = loss * (1 - d.log_prob(Tensor(1.0)))", "if i == 7: d.low = Tensor(-3.0)"),
      ("logits", "d = distributions.Bernoulli(logits=Tensor(0.0))", "loss = loss * (1 - d.log_prob(Tensor(1.0)))", "if i == 7: d.logits = Tensor(3.0)"))],
    H("a distribution that is drawn from", NORMAL, "loss = loss * (1 + d.sample((2,)).sum() / 9)", "if i == 7: d.scale = Tensor(2.0)"),
    H("eval and train", "", "loss = loss * (2.0 if model.training else 1.0)", "model.train(i % 5 != 4)"),
    H("one layer's training", "", "", "if i == 7: model[1].eval()", model="nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.Linear(6, 3))"),
    H("a Dropout's p", between="if i > 5: model[1].p = 0.1 * (i // 3)", model="nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.Linear(6, 3))"),
    *[H(f"a BatchNorm's {what.split(' ')[0]}", between=f"if i == 7: model[1].{what}",
          model="nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3))") for what in (
      "momentum = 0.9", "eps = 0.5", "running_mean.fill_(3.0)", "weight.data.fill_(3.0)", "weight = nn.Parameter(Tensor.full((6,), 2.0))",
      "training = False", "num_batches_tracked = Tensor(0)", "reset_running_stats()")],
    H("a state of the optimizer is read in the step", step="loss = loss + sum((optimizer.state[p]['momentum_buffer'] ** 2).sum() for p in optimizer.state)",
      optimizer="optim.SGD(model.parameters(), lr=0.1, momentum=0.9)", kept=False),
    H("the optimizer's states are asked for", step="loss = loss * (1 + (model[0].weight in optimizer.state))", between="if i == 7: optimizer.state.clear()"),
    H("an attribute of a base class of ours", "vars(nn.Module).get('n_') and delattr(nn.Module, 'n_')", "loss = loss * getattr(model, 'n_', 1)", "if i == 7: nn.Module.n_ = 2", kept=False),
    H("a LayerNorm's eps", between="if i == 7: model[1].eps = 0.5", model="nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 3))"),
    H("a LeakyReLU's slope", between="if i == 7: model[1].negative_slope = 0.9", model="nn.Sequential(nn.Linear(4, 6), nn.LeakyReLU(), nn.Linear(6, 3))", kept=False),
    H("a layer is replaced", between="if i == 7: model[1] = nn.ReLU()"),
    H("a layer with weights is replaced", between="if i == 7: model[2] = nn.Linear(6, 3)"),
    H("a layer is added", between="if i == 7: model.append(nn.Softplus())"),
    H("a parameter is made again", ends="model[0].weight = nn.Parameter(model[0].weight.detach() * 0.9)", shows="model[0].weight"),
    H("a parameter is replaced", between="if i == 7: model[0].weight = nn.Parameter(Tensor.ones(6, 4))"),
    H("a parameter's data are replaced", between="if i == 7: model[0].weight.data = Tensor.ones(6, 4)"),
    H("a parameter is changed", between="if i == 7:\n    with no_grad(): model[0].weight.mul_(0.5)"),
    H("a parameter's array is changed", between="if i == 7: model[0].weight.data[0] = 2.0"),
    H("a bias is dropped", between="if i == 7: model[0].bias = None"),
    H("a parameter is frozen", between="if i in (5, 9): model[0].weight.requires_grad_(i == 9)"),
    H("the model is frozen", between="if i in (5, 9): model[0].requires_grad_(i == 9)"),
    H("a parameter is frozen in the step", "n = 0", starts="n += 1; model[0].weight.requires_grad_(n % 4 != 0)"),
    H("weights are tied on the way", between="if i == 6: model[2].weight = model[0].weight", model="nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))"),
    H("the model is loaded", "kept = None", between="if i == 3: kept = copy.deepcopy(model.state_dict())\nif i == 8: model.load_state_dict(kept)"),
    H("model.apply", between="if i == 7: model.apply(lambda m: m.weight.data.mul_(0.5) if hasattr(m, 'weight') else None)"),
    H("a number of a module", "model.scale = 1.0", "loss = loss * model.scale", "model.scale = 1.0 + i // 4"),
    H("a counter of a module", "model.seen = 0", "model.seen += 1; loss = loss * (1 + model.seen / 8)", shows="model.seen"),
    H("a buffer of a module", "hasattr(model, 'scale') or model.register_buffer('scale', Tensor(1.0))", "loss = loss * model.scale", "if i > 5: model.scale.fill_(i)"),
    H("a buffer that counts", "if hasattr(model, 'n'): del model.n\nmodel.register_buffer('n', Tensor(0.0))", "model.n += 1; loss = loss * model.n"),
    H("a buffer is replaced", "hasattr(model, 'scale') or model.register_buffer('scale', Tensor(1.0))", "loss = loss * model.scale", "if i > 5: model.scale = Tensor(float(i))"),
    *[H(f"a {kind} on the way", between=f"if i == 5: hook = {call}\nif i == 9: hook.remove()", setup="hook = None") for kind, call in (
      ("forward hook", "model.register_forward_hook(lambda m, a, v: v * 0.5)"), ("forward pre-hook", "model.register_forward_pre_hook(lambda m, a: "
         "(a[0] * 0.5,))"), ("hook of a gradient", "model[0].weight.register_hook(lambda g: g * 0.5)"))],
    H("a hook with a number", "k = [1.0]\nmodel.register_forward_hook(lambda m, a, v: v * k[0])", between="k[0] = 1.0 + i // 4"),
    H("a hook that keeps the output", "kept = []\nmodel[0].register_forward_hook(lambda m, a, v: kept.append(v.detach()))", shows="kept", kept=False),
    H("no_grad on the way", "o = types.SimpleNamespace(on=True)", "with tinygrad_like.enable_grad() if o.on else no_grad(): loss = loss + h.square().mean()",
      "if i > 5: o.on = i % 2 == 0"),
    H("the seed is set in the step", "", starts="manual_seed(3)", step="loss = loss * (1 + Tensor.rand(2).sum())", kept=False),
    H("the seed is set between", "", "loss = loss * (1 + Tensor.rand(2).sum())", "manual_seed(i // 3)"),
    H("the state of random numbers", "kept = tinygrad_like.get_rng_state()", "loss = loss * (1 + Tensor.rand(2).sum())",
      "if i % 4 == 3: tinygrad_like.set_rng_state(kept)", kept=False),
    H("eager on the way", "", "loss = loss * (1 + Tensor.rand(2).sum())", "Tensor.rand(i % 3 + 1)", kept=False),
    H("a generator of ours", "", "loss = loss + F.dropout(h, 0.3).mean()", "if i == 7: F.dropout(Tensor.ones(2), 0.5)", kept=False),
    H("columns by a mask", "mask = Tensor([True, False, True])", "loss = h[:, mask].square().mean()", "if i in (6, 9): mask[1] = i == 6"),
    H("a gradient from before the step", "g = nn.Parameter(Tensor.ones(3))", "loss = loss * (1 + g.grad.sum())", "g.grad = Tensor.ones(3) * (1 + (i in (5, 7, 8)))"),
    H("a gradient from before that the step clears", "g = nn.Parameter(Tensor.ones(3))", "g.grad.zero_()\nloss = loss + (g * loss.detach()).sum()",
      "g.grad = Tensor.ones(3) * i", "g.grad", kept=False),
    H("a dict that is only read is another one, and changes", "o = types.SimpleNamespace(d={'w': Tensor.ones(1)}); d = o.d", "loss = loss * o.d['w']", "if i == 4: o.d = d = {'w': Tensor.ones(1) * 2}\nif i == 9: d['w'] = Tensor.ones(1) * 3"),
    H("a state in a dict that is reset", "o = types.SimpleNamespace(d={'w': Tensor.zeros(3)}); d = o.d", "h = h + o.d['w']; loss = F.cross_entropy(h, y); o.d['w'] = h.detach().mean(0)", "if i in (5, 9): o.d = d = {'w': Tensor.zeros(3)}", "d['w']"),
    H("options of a group by **", "def upd(p, lr, **_): p.data.sub_(p.grad * lr)", update="optimizer.zero_grad()\nloss.backward()\nfor g in optimizer.param_groups:\n    for p in g['params']: upd(p, **g)", between="optimizer.param_groups[0]['lr'] = 0.5 if i in (6, 7) else 0.1"),
    H("a mode of the optimizer, set", "", update="optimizer.zero_grad()\nloss.backward()\noptimizer.mode = 'train'\noptimizer.step()", between="optimizer.mode = 'eval'", shows="optimizer.mode", kept=False),
    H("a class gains a name and loses another", "class B: w = 1.0\nclass O(B): other = 'b'\no = O()", "loss = loss * o.w", "if i == 6: del O.other; O.w = 3.0"),
    H("attrgetter by another name", "from operator import attrgetter as ag\nclass O: w = 1.0\no = O(); o.w = 1.0; KEY = 'w'", "loss = loss * ag(KEY)(o)", "o.w = 3.0 if i in (6, 7) else 1.0"),
    H("a dict that holds itself", "d = {'w': 1.0}; d['me'] = d", "loss = loss * d['me']['w']", "if i in (5, 9): d = {'w': 1.0 + i}; d['me'] = d"),
    H("a constant has a gradient", "g = Tensor.ones(1)", "loss = loss * (2.0 if g.grad is None else 0.5)", "g.grad = Tensor.ones(1) if i in (6, 7, 11) else None"),
    H("a target network", "target = copy.deepcopy(model)", "loss = loss + (h - target(x)).square().mean()", "if i % 4 == 3: target.load_state_dict(model.state_dict())"),
    H("a target network is replaced", "target = copy.deepcopy(model)", "loss = loss + (h - target(x)).square().mean()",
      "if i % 4 == 3: target = copy.deepcopy(model)"),
    H("a target network by a counter", "target = copy.deepcopy(model); n = 0", "loss = loss + (h - target(x)).square().mean()",
      ends="n += 1\nif n % 4 == 0: target.load_state_dict(model.state_dict())"),
    H("a head is replaced, and the old one dies", "head = nn.Linear(3, 2); heads = [weakref.ref(head)]", "loss = loss + head(h).mean()",
      "if i in (5, 9):\n    head = nn.Linear(3, 2); heads.append(weakref.ref(head)); gc.collect()", shows="[r() is None for r in heads]"),
    H("functional_call", "w = {n: p.detach() * 1.0 for n, p in model.named_parameters()}", "loss = loss + nn.functional_call(model, w, x).mean()",
      "if i == 7: w = {n: p.detach() * 0.5 for n, p in model.named_parameters()}"),
    H("a criterion's field", "criterion = nn.CrossEntropyLoss()", "loss = loss + criterion(h, y)", "if i == 7: criterion.label_smoothing = 0.5"),
    H("a criterion's weight", "criterion = nn.CrossEntropyLoss(weight=Tensor([1.0, 2.0, 3.0]))", "loss = loss + criterion(h, y)",
      "if i == 7: criterion.weight = Tensor([3.0, 2.0, 1.0])"),
    H("clipping by a number", "o = types.SimpleNamespace(most=1.0)", update="optimizer.zero_grad()\nloss.backward()\n"
      "optim.clip_grad_norm(model.parameters(), o.most)\noptimizer.step()", between="o.most = 0.1 / (1 + i // 3)"),
    H("the norm of clipping is kept", "norms = []", update="optimizer.zero_grad()\nloss.backward()\nnorms.append(optim.clip_grad_norm("
      "model.parameters(), 0.1))\noptimizer.step()", shows="norms", kept=False),
    H("accumulation by a counter", "n = 0", update="loss.backward()\nn += 1\nif n % 3 == 0:\n    optimizer.step()\n    optimizer.zero_grad()", shows="n"),
    H("the default dtype", "", "loss = loss + Tensor.ones(2).sum() * h.mean() + (Tensor([1.0]).dtype == tinygrad_like.float64) * h.mean()", kept=False),
]
