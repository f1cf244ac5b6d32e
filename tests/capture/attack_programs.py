"""The text of a training program: a model, an optimizer, and a step with habits, in one of several forms."""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass, field

from .attack_habits import HABITS
from .attack_kinds import Habit

MODELS = ["nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))", "nn.MLP([4, 6, 3])",
          "nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 3))",
          "nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3))",
          "nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.2), nn.SiLU(), nn.Linear(6, 3))",
          "nn.Sequential(nn.Linear(4, 16), nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), "
          "nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3, 3))",
          "nn.Sequential(nn.Linear(4, 8), nn.Unflatten(1, (2, 4)), nn.TransformerEncoderLayer(4, 2, 8, "
          "batch_first=True), nn.Flatten(), nn.Linear(8, 3))"]
OPTIMIZERS = ["optim.SGD(model.parameters(), lr=0.01)", "optim.SGD(model.parameters(), lr=0.01, momentum=0.9)",
              "optim.Adam(model.parameters(), lr=0.01)", "optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)",
              "optim.RMSprop(model.parameters(), lr=0.01)",
              "optim.SGD([{'params': [p]} for p in model.parameters()], lr=0.01)"]
RESULTS = ["loss", "loss.detach()", "{'loss': loss, 'h': h.detach()}", "(loss, h.mean())", "None", "[loss.detach(), 1]"]
FORMS = ["module", "module", "closure", "method", "nested", "decorated", "partial", "forward"]
HEAD = """
import abc, array, bisect, builtins, collections, contextlib, contextvars, copy, ctypes, dataclasses, decimal, enum
import fractions, functools, gc, heapq, io, itertools, json, math, operator, os, pathlib, pickle, queue, re, string, sys
import tempfile, threading, time, types, typing, weakref
import random as rnd
import numpy as np
from numpy import random as npr
from random import random as draw
import nn, optim
import nn.functional as F
from nn.functional import gelu
import tinygrad_like
from tinygrad_like import Tensor, capture, distributions, eager, manual_seed, no_grad
"""
OURS = {"loss", "h", "x", "y", "i", "model", "optimizer", "result"}


@dataclass
class Program:
    """The source of a training script, and the names of its habits."""

    name: str
    habits: list[str]
    seed: int = 0
    text: str = ""
    setup: str = ""
    threads: bool = False
    short: int = -1  # the batch that is short, if any
    made: list[Habit] = field(default_factory=list)

    @classmethod
    def of(cls, habit: str) -> Program:
        """A plain program of one habit."""
        program = cls(habit, [habit])
        program.write(random.Random(7), "module", MODELS[0], OPTIMIZERS[1 if "state" in habit else 0], "loss", False)
        return program

    @classmethod
    def random(cls, seed: int) -> Program:
        """A program of one to three habits, of a random form."""
        r = random.Random(seed)
        habits = r.sample(sorted(HABITS), r.choice([1, 1, 2, 3]))
        program = cls(f"program {seed}", habits, seed)
        program.threads, program.short = r.random() < 0.15, 3 if r.random() < 0.2 else -1
        form = "module" if any(HABITS[n].module for n in habits) else r.choice(FORMS)
        program.write(r, form, r.choice(MODELS), r.choice(OPTIMIZERS), r.choice(RESULTS), r.random() < 0.3)
        return program

    def write(self, r: random.Random, form: str, model: str, optimizer: str, result: str, clip: bool) -> None:
        habits = self.made = [_own_names(HABITS[name], str(k)) for k, name in enumerate(self.habits)]
        results = [h.result for h in habits if h.result]
        if len(results) > 1:
            result = "(" + ", ".join(results) + ")"
        elif results:
            (result,) = results
        if any(h.model for h in habits):
            model = next(h.model for h in habits if h.model)
        if any(h.optimizer for h in habits):
            optimizer = next(h.optimizer for h in habits if h.optimizer)
        self.setup = "\n".join(h.setup for h in habits)
        update = next((h.update for h in habits if h.update), "optimizer.zero_grad()\nloss.backward()\n" + (
            "optim.clip_grad_norm(model.parameters(), 0.5)\n" if clip else "") + "optimizer.step()")
        assigned = [n for h in habits for n in _names(h.setup)]
        head = "h = forward(x)" if form in ("nested", "forward") else "h = model(x)"
        body = [_globals(assigned, *["\n".join((h.starts, h.step, h.ends)) for h in habits], update),
                *[h.starts for h in habits], head, "loss = F.cross_entropy(h, y)", *[h.step for h in habits], update,
                *[h.ends for h in habits], f"return {result}"]
        more = [h.argument for h in habits if h.argument]
        parameters, values = (", ".join(["x", "y", *[a[k] for a in more]]) for k in (0, 1))
        lines = ["manual_seed(1)", f"model = {model}", f"optimizer = {optimizer}", self.setup,
                 *_step(form, parameters, _indented(body)), "def between(i, x, y, result):",
                 _indented([_globals(assigned, *[h.between for h in habits]), "pass", *[h.between for h in habits]]),
                 "def call(i, x, y):", f"    return step({values})",
                 "def shows(x, y, result):", "    return [" + ", ".join([h.shows for h in habits]) + "]"]
        text = "\n".join(line for line in lines if line)
        if form == "closure":
            text = "def program():\n" + _indented([text.replace("global ", "nonlocal ")]) + "\n    return model, " + \
                "optimizer, between, call, shows\nmodel, optimizer, between, call, shows = program()"
        self.text = HEAD + text


def _step(form: str, parameters: str, body: str) -> list[str]:
    """The definition of `step`; `body` is already indented."""
    if form == "method":
        return ["class Trainer:", "    t = 0", "    @captured", f"    def step(self, {parameters}):",
                *["    " + line for line in body.splitlines()], "step = Trainer().step"]
    if form in ("nested", "forward"):  # the model is captured, alone or inside a captured step
        return ["@captured", "def forward(x): return model(x)", *["@captured"] * (form == "nested"),
                f"def step({parameters}):", body]
    if form == "decorated":
        return ["def counted(f):", "    @functools.wraps(f)", "    def g(*a, **k):", "        g.calls += 1",
                "        return f(*a, **k)", "    g.calls = 0", "    return g", "@counted", "@captured",
                f"def step({parameters}):", body]
    if form == "partial":
        return [f"def whole(scale, {parameters}):", body, "step = captured(functools.partial(whole, 1.0))"]
    return ["@captured", f"def step({parameters}):", body]


def _indented(texts: list[str]) -> str:
    return "\n".join("    " + line for text in texts for line in text.splitlines() if line)


def _names(text: str) -> set[str]:
    """Names that the text binds at its outermost level."""
    found: set[str] = set()
    todo: list[ast.AST] = list(ast.parse(text).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {a.asname for a in node.names if a.asname}
        elif not isinstance(node, ast.Lambda | ast.comprehension):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            todo += ast.iter_child_nodes(node)
    return found


def _globals(assigned: list[str], *texts: str) -> str:
    names = sorted({n for text in texts for n in _names(text)} & {*assigned, "model", "optimizer"})
    return f"global {', '.join(names)}" if names else ""


def _own_names(habit: Habit, u: str) -> Habit:
    """The habit with its names made unique, so that several fit into one program."""
    names = sorted(_names(habit.setup) - OURS)

    def renamed(text: str) -> str:
        return re.sub(rf"\b({'|'.join(names)})\b", lambda m: m[1] + "_" + u, text) if names else text

    made = {k: renamed(v) if isinstance(v, str) else v for k, v in vars(habit).items()}
    return Habit(**{**made, "argument": tuple(map(renamed, habit.argument)), "name": habit.name})
