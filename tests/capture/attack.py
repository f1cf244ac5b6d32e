"""Random training programs, run in Python and captured: the same numbers, to the bit, call by call.

    python -m tests.capture.attack 2000 [first seed]

A program is source text: a model, an optimizer, and a step with some habits, each of which keeps Python state of one
kind, uses it in the loss, and may be changed between calls. It runs twice, once with `@capture(fuse=False)`; after
each call what the step returned, the parameters and everything that the habits keep must be alike. To fall back to
Python is always right; to give other numbers without a word is what this looks for.
"""

# ruff: noqa: E501  # a table
from __future__ import annotations

import ast
import contextlib
import io
import random
import sys
import types
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import nn
from tinygrad_like import Tensor, capture, manual_seed

CALLS = 12

# Each habit: what it sets up, what the step does, what is done before call `i`, and an expression that shows its state.
# `loss` is a Tensor that the step may change; `h` the model's output; `x` its input.


@dataclass
class Habit:
    """One kind of Python state that a step keeps. `{u}` in a text makes names its own."""

    name: str
    step: str
    setup: str = ""
    between: str = ""
    shows: str = "None"
    ends: str = ""  # after optimizer.step(), within the step


HABITS = [
    Habit("global counter", "n{u} += 1; loss = loss * (1 + n{u} / 10)", "n{u} = 0", shows="n{u}"),
    Habit("counter in a dict", "d{u}['n'] += 1; loss = loss * d{u}['n']", "d{u} = {'n': 0}", shows="d{u}"),
    Habit("counter in a list", "l{u}[0] += 0.5; loss = loss + l{u}[0]", "l{u} = [0.5]", shows="l{u}"),
    Habit("counter of an object", "o{u}.t += 1; loss = loss / o{u}.t", "class O{u}: t = 0\no{u} = O{u}()", shows="o{u}.t"),
    Habit("counter of a class", "O{u}.t += 1; loss = loss / O{u}.t", "class O{u}: t = 0", shows="O{u}.t"),
    Habit("counter in slots", "o{u}.t += 1; loss = loss / o{u}.t",
          "class O{u}:\n    __slots__ = ('t',)\no{u} = O{u}(); o{u}.t = 0", shows="o{u}.t"),
    Habit("counter in a closure", "loss = loss * f{u}()",
          "def make{u}():\n    n = 0\n    def f():\n        nonlocal n\n        n += 1\n        return n\n    return f\n"
          "f{u} = make{u}()", shows="f{u}.__closure__[0].cell_contents"),
    Habit("default argument that changes", "loss = loss * f{u}()",
          "def f{u}(kept=[1.0]):\n    kept[0] += 0.25\n    return kept[0]", shows="f{u}.__defaults__"),
    Habit("number set between calls", "loss = loss * s{u}", "s{u} = 1.0", "s{u} = 1.0 + (i // 3)"),
    Habit("number of an object set between calls", "loss = loss * o{u}.s", "class O{u}: s = 1.0\no{u} = O{u}()",
          "o{u}.s = 1.0 + i // 4"),
    Habit("number of a base class", "loss = loss * o{u}.s",
          "class B{u}: s = 1.0\nclass O{u}(B{u}): pass\no{u} = O{u}()", "B{u}.s = 1.0 + i // 4"),
    Habit("computed attribute", "loss = loss * getattr(o{u}, 'scale_' + o{u}.mode)",
          "class O{u}: pass\no{u} = O{u}(); o{u}.mode = 'a'; o{u}.scale_a = 1.0; o{u}.scale_b = 2.0",
          "o{u}.mode = 'ab'[i // 5 % 2]; o{u}.scale_a = 1.0 + i // 3"),
    Habit("attribute that comes later", "loss = loss * getattr(o{u}, 'late', 1.0)", "class O{u}: pass\no{u} = O{u}()",
          "if i == 6: o{u}.late = 3.0"),
    Habit("key that comes later", "loss = loss * d{u}.get('late', 1.0)", "d{u} = {}", "if i == 6: d{u}['late'] = 3.0"),
    Habit("class reassigned", "loss = loss * o{u}.f()",
          "class A{u}:\n    def f(self): return 1.0\nclass B{u}:\n    def f(self): return 2.0\no{u} = A{u}()",
          "if i == 7: o{u}.__class__ = B{u}"),
    Habit("method patched", "loss = loss * o{u}.f()", "class A{u}:\n    def f(self): return 1.0\no{u} = A{u}()",
          "if i == 7: A{u}.f = lambda self: 2.0"),
    Habit("function patched", "loss = loss * f{u}()", "def f{u}(): return 1.0",
          "if i == 7:\n    def f{u}(): return 2.0"),
    Habit("code patched", "loss = loss * f{u}()", "def f{u}(): return 1.0\ndef g{u}(): return 2.0",
          "if i == 7: f{u}.__code__ = g{u}.__code__"),
    Habit("op patched", "loss = loss + F.relu(h).mean()", "relu{u} = F.relu",
          "if i == 7: F.relu = lambda x: relu{u}(x) * 2.0\nif i == 10: F.relu = relu{u}"),
    Habit("math of the module", "loss = loss * math.cos(s{u})", "s{u} = 0.5", "s{u} = 0.5 + i // 4"),
    Habit("property", "loss = loss * o{u}.s",
          "class O{u}:\n    k = 0\n    @property\n    def s(self): return 1.0 + self.k // 4\no{u} = O{u}()",
          "o{u}.k = i"),
    Habit("property that counts", "loss = loss * o{u}.s",
          "class O{u}:\n    k = 0\n    @property\n    def s(self):\n        self.k += 1\n        return self.k\no{u} = O{u}()",
          shows="o{u}.k"),
    Habit("attribute by __getattr__", "loss = loss * o{u}.any",
          "class O{u}:\n    k = 0\n    def __getattr__(self, name): return 1.0 + self.k // 4\no{u} = O{u}()", "o{u}.k = i"),
    Habit("descriptor through its class", "loss = loss * O{u}.s",
          "class D{u}:\n    k = 1.0\n    def __get__(self, o, t): return self.k\nd{u} = D{u}()\nclass O{u}: s = d{u}",
          "d{u}.k = 1.0 + i // 4"),
    Habit("generator", "loss = loss * next(it{u})", "def g{u}():\n    k = 1.0\n    while True:\n        yield k\n"
          "        k += 0.5\nit{u} = g{u}()"),
    Habit("count", "loss = loss * next(it{u})", "it{u} = itertools.count(1)", shows="repr(it{u})"),
    Habit("cycle", "loss = loss * next(it{u})", "it{u} = itertools.cycle([1.0, 2.0, 3.0])"),
    Habit("zip of lists", "a, b = next(it{u}); loss = loss * a + b", "it{u} = zip(range(1, 99), range(99))"),
    Habit("map", "loss = loss * next(it{u})", "it{u} = map(float, range(1, 99))"),
    Habit("own iterator", "loss = loss * next(it{u})",
          "class I{u}:\n    k = 0\n    def __next__(self):\n        self.k += 1\n        return self.k\nit{u} = I{u}()",
          shows="it{u}.k"),
    Habit("list grows", "seen{u}.append(loss.detach().clone()); loss = loss + len(seen{u}) / 10", "seen{u} = []",
          shows="[t.tolist() for t in seen{u}]"),
    Habit("list of Tensors as a window", "w{u}.append(loss.detach()); loss = loss + sum(w{u}[-3:]) / 3", "w{u} = []",
          shows="[t.tolist() for t in w{u}]"),
    Habit("deque", "q{u}.append(loss.detach()); loss = loss + q{u}[0]", "q{u} = collections.deque(maxlen=3)",
          shows="[t.tolist() for t in q{u}]"),
    Habit("replay buffer", "b{u}[k{u} % 5] = x.detach().mean().item(); k{u} += 1; loss = loss + sum(b{u}) / 5",
          "b{u} = [0.0] * 5; k{u} = 0", shows="(b{u}, k{u})"),
    Habit("set", "s{u}.add(len(s{u})); loss = loss * len(s{u})", "s{u} = set()", shows="sorted(s{u})"),
    Habit("long list", "loss = loss * t{u}[k{u}]; k{u} += 1", "t{u} = [1.0 + j / 1000 for j in range(2000)]; k{u} = 0",
          shows="k{u}"),
    Habit("long list that changes", "loss = loss * t{u}[1500]", "t{u} = [1.0] * 2000", "t{u}[1500] = 1.0 + i // 4"),
    Habit("long dict that changes", "loss = loss * t{u}[1500]", "t{u} = dict.fromkeys(range(2000), 1.0)",
          "t{u}[1500] = 1.0 + i // 4"),
    Habit("NumPy table that changes", "loss = loss * Tensor(t{u}[:4]).sum()", "t{u} = np.ones(30000, np.float32)",
          "t{u}[2] = 1.0 + i // 4"),
    Habit("NumPy counter", "t{u}[0] += 1; loss = loss * float(t{u}[0])", "t{u} = np.zeros(2)", shows="t{u}.tolist()"),
    Habit("bytearray", "t{u}[0] += 1; loss = loss * t{u}[0]", "t{u} = bytearray(3)", shows="bytes(t{u})"),
    Habit("heap", "heapq.heappush(t{u}, len(t{u})); loss = loss * len(t{u})", "t{u} = []", shows="t{u}"),
    Habit("queue", "q{u}.put(1); loss = loss * q{u}.qsize()", "q{u} = queue.Queue()", shows="q{u}.qsize()"),
    Habit("subclass of dict", "d{u}['n'] += 1; loss = loss * d{u}['n']", "class D{u}(dict): pass\nd{u} = D{u}(n=0)",
          shows="dict(d{u})"),
    Habit("subclass of list", "d{u}[0] += 1; loss = loss * d{u}[0]", "class D{u}(list): pass\nd{u} = D{u}([0])",
          shows="list(d{u})"),
    Habit("subclass of float", "loss = loss * s{u}", "class S{u}(float): pass\ns{u} = S{u}(1.5)",
          "s{u} = S{u}(1.5 + i // 4)"),
    Habit("defaultdict", "d{u}['n'] += 1; loss = loss * d{u}['n']", "d{u} = collections.defaultdict(int)",
          shows="dict(d{u})"),
    Habit("Counter", "d{u}['n'] += 1; loss = loss * d{u}['n']", "d{u} = collections.Counter()", shows="dict(d{u})"),
    Habit("named tuple", "p{u} = p{u}._replace(a=p{u}.a + 1); loss = loss * p{u}.a",
          "P{u} = collections.namedtuple('P{u}', 'a'); p{u} = P{u}(1)", shows="p{u}"),
    Habit("dataclass", "p{u}.a += 1; loss = loss * p{u}.a", "@dataclasses.dataclass\nclass P{u}:\n    a: float = 0.0\n"
          "p{u} = P{u}()", shows="p{u}.a"),
    Habit("namespace", "p{u}.a += 1; loss = loss * p{u}.a", "p{u} = types.SimpleNamespace(a=0)", shows="p{u}.a"),
    Habit("partial", "loss = loss * f{u}()", "f{u} = functools.partial(lambda d: d['s'], {'s': 1.0})",
          "f{u}.args[0]['s'] = 1.0 + i // 4"),
    Habit("weak reference", "loss = loss * w{u}().s", "class O{u}: s = 1.0\no{u} = O{u}(); w{u} = weakref.ref(o{u})",
          "o{u}.s = 1.0 + i // 4"),
    Habit("NumPy's random numbers", "loss = loss * float(npr.rand())", "npr.seed(0)"),
    Habit("Python's random numbers", "loss = loss * rnd.random()", "rnd.seed(0)"),
    Habit("a generator of NumPy's", "loss = loss * float(rng{u}.random())", "rng{u} = np.random.default_rng(0)"),
    Habit("random numbers of ours", "loss = loss + (Tensor.randn(3) * h[0, :3]).sum()"),
    Habit("Tensor changed between calls", "loss = loss * t{u}", "t{u} = Tensor(1.0)", "t{u}.assign(1.0 + i // 4)"),
    Habit("Tensor replaced between calls", "loss = loss * t{u}", "t{u} = Tensor(1.0)", "t{u} = Tensor(1.0 + i // 4)"),
    Habit("Tensor carried", "c{u} = (c{u} * 0.5 + h.mean()).detach(); loss = loss + c{u}", "c{u} = Tensor(0.0)",
          shows="c{u}.tolist()"),
    Habit("Tensor changed in the step", "t{u}.add_(1.0); loss = loss * t{u}", "t{u} = Tensor(0.0)", shows="t{u}.tolist()"),
    Habit("identity of the argument", "loss = loss * (2.0 if x is kept{u} else 1.0)", "kept{u} = None",
          "kept{u} = x if i % 4 == 3 else None"),
    Habit("None as a sentinel", "loss = loss * (1.0 if m{u} is NONE{u} else m{u})", "NONE{u} = object(); m{u} = NONE{u}",
          "if i == 6: m{u} = 3.0"),
    Habit("flag of the argument", "loss = loss * getattr(x, 'weight_', 1.0)", "", "if i > 6: x.weight_ = 2.0"),
    Habit("flag set on the argument", "x.seen_ = getattr(x, 'seen_', 0) + 1", shows="getattr(x, 'seen_', 0)"),
    Habit("argument changed in place", "x.mul_(2.0); loss = loss + x.mean()", shows="x.tolist()"),
    Habit("Tensor as a key", "loss = loss * d{u}.get(x, 1.0)", "d{u} = {}", "d{u}[x] = 2.0 + i // 5"),
    Habit("exception caught", "try:\n    k{u} += 1\n    if k{u} % 3 == 0: raise KeyError(k{u})\n"
          "    loss = loss * 2.0\nexcept KeyError:\n    loss = loss * 0.5", "k{u} = 0", shows="k{u}"),
    Habit("exception for the caller", "k{u} += 1\nif k{u} in (4, 5, 9): raise ValueError(k{u})\n"
          "loss = loss * k{u}", "k{u} = 0", shows="k{u}"),
    Habit("rate set by hand", "", between="optimizer.param_groups[0]['lr'] = 0.01 / (1 + i // 3)",
          shows="optimizer.param_groups[0]['lr']"),
    Habit("rate set in the step", "", ends="k{u} += 1; optimizer.param_groups[0]['lr'] = 0.01 / k{u}", setup="k{u} = 1",
          shows="optimizer.param_groups[0]['lr']"),
    Habit("schedule in the step", "", "sched{u} = optim.lr_scheduler.StepLR(optimizer, 3, 0.5)", ends="sched{u}.step()",
          shows="(sched{u}.last_epoch, sched{u}.get_last_lr())"),
    Habit("schedule outside", "", "sched{u} = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)", "if i: sched{u}.step()",
          shows="sched{u}.get_last_lr()"),
    Habit("epoch of the schedule", "loss = loss * (1 + sched{u}.last_epoch)",
          "sched{u} = optim.lr_scheduler.StepLR(optimizer, 3, 0.5)", "if i: sched{u}.step()"),
    Habit("rate in the loss", "loss = loss * (1 + optimizer.param_groups[0]['lr'])",
          between="optimizer.param_groups[0]['lr'] = 0.01 * (1 + i // 3)"),
    Habit("steps of the state", "for p in model.parameters():\n    s = optimizer.state.get(p)\n"
          "    if s and 'step' in s: loss = loss * (1 + float(s['step']) / 100)\n    break"),
    Habit("frozen on the way", "", between="if i == 5: list(model.parameters())[0].requires_grad_(False)\n"
          "if i == 9: list(model.parameters())[0].requires_grad_(True)"),
    Habit("eval and train", "loss = loss * (2.0 if model.training else 1.0)", between="model.train(i % 5 != 4)"),
    Habit("weights replaced", "", between="if i == 6: list(model.parameters())[0].data = "
          "Tensor(list(model.parameters())[0].detach().numpy() * 0.5)"),
    Habit("group replaced", "", between="if i == 6: optimizer.param_groups[0]['params'] = list(model.parameters())[:1]"),
    Habit("EMA", "", "ema{u} = optim.EMA(model, decay=0.9)", ends="ema{u}.update()",
          shows="[np.asarray(v).tolist() for v in ema{u}.state_dict().values() if hasattr(v, 'shape')][:1]"),
    Habit("decay of the EMA", "", "ema{u} = optim.EMA(model, decay=0.9)", "ema{u}.decay = 0.9 if i < 6 else 0.5",
          ends="ema{u}.update()",
          shows="[np.asarray(v).tolist() for v in ema{u}.state_dict().values() if hasattr(v, 'shape')][:1]"),
    Habit("target network", "loss = loss + (h - target{u}(x)).square().mean()", "target{u} = copy.deepcopy(model)",
          "if i % 4 == 3: target{u}.load_state_dict(model.state_dict())"),
    Habit("hook added", "", between="if i == 5: h{u} = list(model.parameters())[0].register_hook(lambda g: g * 0.5)\n"
          "if i == 9: h{u}.remove()"),
    Habit("forward hook", "", between="if i == 5: h{u} = model.register_forward_hook(lambda m, a, y: y * 0.5)\n"
          "if i == 9: h{u}.remove()"),
    Habit("dropout", "loss = loss + F.dropout(h, 0.3).mean()"),
    Habit("noise by level", "loss = loss + (Tensor.randn(2) * s{u}).sum() * 0.01", "s{u} = 1.0", "s{u} = 1.0 / (1 + i // 4)"),
    Habit("branch on a number", "loss = loss * 2.0 if s{u} > 0.5 else loss + 1.0", "s{u} = 0.0", "s{u} = float(i // 3 % 2)"),
    Habit("branch on a value", "loss = loss * 2.0 if h.mean().item() > 0 else loss + 1.0"),
    Habit("loop of a number", "for _ in range(k{u}): loss = loss * 1.1", "k{u} = 1", "k{u} = 1 + i // 5"),
    Habit("environment", "loss = loss * float(os.environ.get('S{u}', '1'))", "", "os.environ['S{u}'] = str(1 + i // 4)"),
    Habit("clock", "loss = loss * (1.0 if time.time() > 0 else 2.0)"),
    Habit("globals()", "loss = loss * globals()['s{u}']", "s{u} = 1.0", "s{u} = 1.0 + i // 4"),
    Habit("eval of text", "loss = loss * eval('s{u}')", "s{u} = 1.0", "s{u} = 1.0 + i // 4"),
    Habit("vars of an object", "loss = loss * vars(o{u})['s']", "o{u} = types.SimpleNamespace(s=1.0)", "o{u}.s = 1.0 + i // 4"),
    Habit("context variable", "loss = loss * v{u}.get()", "v{u} = contextvars.ContextVar('v{u}', default=1.0)",
          "v{u}.set(1.0 + i // 4)"),
    Habit("lock", "with lock{u}: loss = loss * 1.5", "lock{u} = threading.Lock()"),
    Habit("distribution's field", "loss = loss - d{u}.log_prob(h).mean()",
          "d{u} = distributions.Normal(Tensor(0.0), Tensor(1.0))", "d{u}.loc = Tensor(float(i // 4))"),
    Habit("gradients returned", "", ends="kept{u} = [p.grad for p in model.parameters()]",
          shows="[None if g is None else g.tolist() for g in kept{u}]", setup="kept{u} = []"),
    Habit("nested capture", "loss = loss + inner{u}(h)", "k{u} = 1.0\n@capture(fuse=False)\ndef inner{u}(h): return h.mean() * k{u}",
          "k{u} = 1.0 + i // 4"),
    Habit("math of a denormal", "loss = loss + (h * 0.0 - 95.0).exp().sum()"),
]
MODELS = ["nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))", "nn.MLP([4, 6, 3])",
          "nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 3))",
          "nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3))"]
OPTIMIZERS = ["optim.SGD(model.parameters(), lr=0.01)", "optim.SGD(model.parameters(), lr=0.01, momentum=0.9)",
              "optim.Adam(model.parameters(), lr=0.01)", "optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)",
              "optim.RMSprop(model.parameters(), lr=0.01)"]
RESULTS = ["loss", "loss.detach()", "{'loss': loss, 'h': h.detach()}", "(loss, h.mean())", "None", "[loss.detach(), 1]",
           "types.SimpleNamespace(loss=loss.detach())", "loss.item()"]
HEAD = """
import collections, contextvars, copy, dataclasses, functools, heapq, itertools, math, os, queue, threading, time
import random as rnd, types, weakref
import numpy as np
from numpy import random as npr
import nn, optim
import nn.functional as F
from tinygrad_like import Tensor, capture, distributions, manual_seed
"""


@dataclass
class Program:
    """The source of a training script, and the names of its habits."""

    seed: int
    habits: list[str] = field(default_factory=list)
    text: str = ""

    @classmethod
    def of(cls, seed: int, name: str = "") -> Program:
        """A program of one to three habits, or of the one that is named."""
        r = random.Random(seed)
        habits = [h for h in HABITS if h.name == name] or r.sample(HABITS, r.choice([1, 1, 2, 3]))
        made = [(h, str(k)) for k, h in enumerate(habits)]

        def fill(text: str, u: str) -> str:
            return text.replace("{u}", u)

        kept = sorted({name for h, u in made for name in _assigned(fill(h.step + "\n" + h.ends, u))})
        lines = [HEAD, "manual_seed(1)", f"model = {r.choice(MODELS)}", f"optimizer = {r.choice(OPTIMIZERS)}",
                 *[fill(h.setup, u) for h, u in made], "def step(x, y):",
                 *([f"    global {', '.join(kept)}"] if kept else []),
                 "    h = model(x)", "    loss = F.cross_entropy(h, y)",
                 *[_indented(fill(h.step, u)) for h, u in made],
                 "    optimizer.zero_grad()", "    loss.backward()",
                 *(["    optim.clip_grad_norm(model.parameters(), 0.5)"] if r.random() < 0.3 else []),
                 "    optimizer.step()", *[_indented(fill(h.ends, u)) for h, u in made],
                 f"    return {r.choice(RESULTS)}",
                 "def between(i, x):", "    global " + ", ".join(sorted(
                     {n for h, u in made for n in _assigned(fill(h.between, u))} | {"nothing"})),
                 "    nothing = i", *[_indented(fill(h.between, u)) for h, u in made],
                 "def shows(x):", "    return [" + ", ".join([fill(h.shows, u) for h, u in made]) + "]"]
        return cls(seed, [h.name for h in habits], "\n".join(line for line in lines if line))


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines()) if text else ""


def _assigned(text: str) -> set[str]:
    """Global names that a text binds: those of habits end in a digit."""
    names = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names |= {n.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)}
    return {n for n in names if n[-1].isdigit()}


def _plain(value: Any) -> Any:
    if hasattr(value, "numpy"):
        return value.detach().numpy().tobytes()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return {k: _plain(v) for k, v in vars(value).items()} if type(value) is types.SimpleNamespace else value


def run(program: Program, captured: bool) -> list:
    """What can be seen after each call: the result, or the exception; the parameters; the habits' state."""
    module = sys.modules["program"] = types.ModuleType("program")
    names: dict[str, Any] = vars(module)
    exec(compile(program.text, f"<program {program.seed}>", "exec"), names)
    step = capture(names["step"], fuse=False) if captured else names["step"]
    rng, seen = np.random.default_rng(program.seed), []
    xs = [Tensor(rng.standard_normal((5, 4)).astype(np.float32)) for _ in range(4)]
    ys = [Tensor(rng.integers(0, 3, 5)) for _ in range(4)]
    manual_seed(2)
    random.seed(3)
    np.random.seed(4)
    for i in range(CALLS):
        x, y = xs[i % 4], ys[i % 4]
        names["between"](i, x)
        try:
            result = _plain(step(x, y))
        except (ValueError, KeyError, TypeError, RuntimeError, AttributeError, RecursionError) as error:
            result = f"{type(error).__name__}: {error}"
        parameters = [p.detach().numpy().tobytes() for p in names["model"].state_dict().values()]
        seen.append((result, parameters, repr(names["shows"](x))))
    return seen


def difference(program: Program) -> str:
    """How the captured run differs from the one in Python, or an empty text; "loud: " if an exception says so."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        relu = nn.functional.relu  # which some habit patches
        try:
            expected = run(program, False)
            nn.functional.relu = relu
            found = run(program, True)
        except Exception as error:
            return f"loud: {type(error).__name__}: {str(error)[:120]}"
        finally:
            nn.functional.relu = relu
    for i, (a, b) in enumerate(zip(expected, found, strict=True)):
        for what, u, v in zip(("the result", "the parameters", "the state"), a, b, strict=True):
            if u != v:
                loud = isinstance(v, str) and what == "the result" and not isinstance(u, str)
                return f"{'loud: ' if loud else ''}call {i}: {what}" + (f": {v[:120]}" if isinstance(v, str) else "")
    return ""


def main() -> None:
    count, first = int(sys.argv[1]) if len(sys.argv) > 1 else 300, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    wrong: dict[str, list[str]] = {}
    for seed in range(first, first + count):
        program = Program.of(seed)
        if found := difference(program):
            wrong.setdefault(" + ".join(program.habits), []).append(f"{seed}: {found}")
            print(seed, program.habits, found, flush=True)
    print(f"{count} programs, {sum(map(len, wrong.values()))} differ")


if __name__ == "__main__":
    main()
