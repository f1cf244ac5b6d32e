"""Does a test fail if the code is wrong? Make small changes in files, and run the tests of the changed line.

    python tests/mutation.py tinygrad_like/ops/conv.py tinygrad_like/ops/pool.py --tests tests/ops tests/nn

needs coverage, and a system that can fork. The tests run once, to record the lines that each test runs. Then each
mutant gets its own process, in which the changed functions have other code, until a test fails. Mutants that no test
kills are printed in the format of `mutants.md`, which lists the ones that nothing can kill; these are not tried again.
Code outside functions, which runs at import, is not changed.
"""

import argparse
import ast
import copy
import gc
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType

os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # fork copies only the calling thread
os.environ["CI"] = "1"  # hypothesis then takes the same examples each time

import coverage
import pytest

KNOWN = Path(__file__).with_name("mutants.md")
SWAP = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
        ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
        ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
        ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}


def change(node):
    """The replacement of a node, which may be the node itself, changed; or None."""
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAP:
        node.op = SWAP[type(node.op)]()
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        node.ops[0] = SWAP[type(node.ops[0])]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("array", "copy", "ascontiguousarray"):
        node.func.attr = "view" if node.func.attr == "copy" else "asarray"
    elif isinstance(node, ast.AugAssign | ast.Raise) or isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.Pass()
    else:
        return None
    return node


def places(node, path=()):
    """The path to each node that can change: pairs of a field and, in a list, an index. Skips messages and types."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or isinstance(node, ast.Raise | ast.JoinedStr):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":  # zip's, for lengths that are known to be equal
            continue
        for i, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                if change(copy.deepcopy(child)) is not None:
                    yield (*path, (field, i))
                yield from places(child, (*path, (field, i)))


def mutate(source, path):
    """The changed tree, the changed line, and a description of the change."""
    tree = node = parent = ast.parse(source)
    nodes = [tree]
    for field, i in path:
        parent, node = node, getattr(node, field) if i is None else getattr(node, field)[i]
        nodes.append(node)
    names = [x.name for x in nodes if isinstance(x, ast.FunctionDef | ast.ClassDef)]
    whole = next(x for x in nodes[::-1] if isinstance(x, ast.stmt | ast.arguments) or len(ast.unparse(x)) > 23)
    line, before = getattr(node, "test", node), ast.unparse(whole)
    new = change(node)
    if i is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[i] = new
    after = ast.unparse(new if whole is node else whole)
    before, after = (text.split("\n")[0] for text in (before, after))
    return ast.fix_missing_locations(tree), line.lineno, f"{'.'.join(names) or 'module'}: `{before}` → `{after}`"


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def live_functions(file):
    """The existing functions of a file, by their code."""
    found = {}
    for x in gc.get_objects():
        if type(x) is FunctionType and x.__code__.co_filename == file:
            found.setdefault(x.__code__, []).append(x)
    return found


def exchanges(functions, old, tree):
    """Functions and their new code; none if the change affects only code that runs at import."""
    new = list(codes(compile(tree, "file", "exec")))
    if len(old) != len(new):  # the change removed a function
        return []
    return [(f, b) for a, b in zip(old, new, strict=True) if a != b for f in functions.get(a, ())]


class Mutation:
    """The plugin that replaces pytest's loop over the tests."""

    def __init__(self, options):
        self.options, self.random = options, random.Random(options.seed)

    def pytest_runtestloop(self, session):
        gc.unfreeze()  # see conftest.py; live_functions searches all objects
        traced, took = coverage.Coverage(data_file=None, include=self.options.files), {}
        traced.start()
        for item in session.items:
            traced.switch_context(item.nodeid)
            passed, begun = passes(session, [item]), time.process_time()
            if passed and passes(session, [item]) and time.process_time() - begun < self.options.seconds:
                took[item.nodeid] = time.process_time() - begun, item  # one that fails when repeated would kill all
        traced.stop()
        session.config.option.tbstyle = "native"  # fast; nobody reads it
        print(f"{len(took)} of {len(session.items)} tests", flush=True)
        again = self.options.again and self.options.again.read_text()
        known, total = set(re.findall("^- (.*`)$", KNOWN.read_text(), re.M)), Counter()
        self.caches = [x for x in gc.get_objects() if type(x) is _lru_cache_wrapper  # may hold the right answer
                       and x.__module__.partition(".")[0] in ("tinygrad_like", "nn", "optim")]
        gc.disable()  # it would visit many objects and free few
        for file in self.options.files:
            counts = Counter()
            lines = traced.get_data().contexts_by_lineno(str(Path(file).resolve()))
            for line, text, pairs in self.mutants(file):
                if again and f"- {file} {text}" not in again:
                    continue
                if f"{file} {text}" in known:
                    fate = "known"
                elif not (names := took.keys() & lines.get(line, ())):
                    fate = "not run by any test"
                else:
                    fate = "killed" if self.killed(session, [took[name] for name in names], pairs) else "survived"
                counts[fate] += 1
                if fate.startswith(("survived", "not")):
                    print(f"- {file} {text}", "" if fate == "survived" else f"({fate})", flush=True)
            print(file, dict(counts), flush=True)
            total += counts
        print(dict(total), flush=True)
        return True

    def mutants(self, file):
        """The line, the description and the exchanged functions of a file's mutants, in random order."""
        source, full = Path(file).read_text(), str(Path(file).resolve())
        found, functions = list(places(ast.parse(source))), live_functions(full)
        old = list(codes(compile(source, "file", "exec")))
        self.random.shuffle(found)
        for path in found:
            tree, line, text = mutate(source, path)
            if pairs := exchanges(functions, old, tree):
                yield line, text, pairs

    def killed(self, session, tests, pairs):
        """Whether a test fails: the fastest case of each function first, as many as time allows."""
        counts, order, chosen, left = Counter(), [], [], self.options.seconds
        for seconds, item in sorted(tests, key=lambda test: test[0]):
            counts[item.function] += 1
            order.append((counts[item.function], seconds, item))
        for _, seconds, item in sorted(order, key=lambda test: test[:2]):
            left -= seconds
            chosen += [item] if left > 0 else []
        pid = os.fork()
        if pid:
            return os.waitpid(pid, 0)[1] != 0
        try:
            signal.setitimer(signal.ITIMER_PROF, 4 * self.options.seconds)  # these end the process
            signal.alarm(100)
            gc.freeze()
            gc.enable()
            for function, code in pairs:
                function.__code__ = code
            for cache in self.caches:
                cache.cache_clear()
            os._exit(not passes(session, chosen))
        finally:
            os._exit(2)


def passes(session, items):
    for item, following in zip(items, [*items[1:], None][: len(items)], strict=True):
        before = session.testsfailed
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed > before:
            return False
    return True


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", help="files to change")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="pytest's paths")
    parser.add_argument("-m", default="not slow", help="pytest's marks")
    parser.add_argument("--again", type=Path, help="only the survivors that this file, an earlier output, lists")
    parser.add_argument("--seconds", type=float, default=2, help="time of the tests of each mutant")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.exit(pytest.main(["-o", "addopts=--import-mode=importlib", "-p", "no:terminal", "-p", "no:cacheprovider",
                          "-m", options.m, "-k", "not ctrl_c", "-W", "ignore::coverage.exceptions.CoverageWarning",
                          *options.tests], plugins=[Mutation(options)]))
