"""What editors, `help` and type checkers know of Tensor's methods and of ops."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tinygrad_like
from handbook.stubs import STUB, stub
from tinygrad_like import Tensor, linalg, ops

FILES = Path(__file__).parents[1] / "examples.txt", Path(__file__).with_name("examples.txt")
LINES = [line.split(" | ") for file in FILES for line in file.read_text(encoding="utf-8").splitlines()
         if line and line[0] != "#"]
ENTRIES = {name: (example, result) for name, example, result, *_ in LINES}
SHAPES = {name: shapes for name, _, _, shapes in [line for line in LINES if len(line) == 4]}
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")


def run(example):
    return eval(example, {"Tensor": Tensor, "ops": ops, "linalg": linalg, "np": np})


def same(found, expected):
    """Whether two reprs agree up to blanks and the rounding of numbers."""
    numbers = [[float(x) for x in NUMBER.findall(text)] for text in (found, expected)]
    found, expected = ("".join(NUMBER.sub("#", text).split()) for text in (found, expected))
    return found == expected and np.allclose(*numbers, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_example_returns_its_stated_result(name):
    example, result = ENTRIES[name]
    assert same(repr(run(example)), result)
    assert f"{name.rpartition('.')[2]}(" in example or f".{name}" in example


@pytest.mark.parametrize("name", SHAPES)
def test_the_stated_shapes_are_the_examples(name):
    """The shape of the Tensor, for a method, and those of the results."""
    given, _, result = SHAPES[name].partition(" -> ")
    example, place = ENTRIES[name][0], name.rpartition(".")[0]
    assert place or f"{given}, ".startswith(f"{run(example.partition(f'.{name}')[0]).shape}, ")
    found = run(example)
    assert ", ".join(str(y.shape) for y in (found if isinstance(found, list | tuple) else [found])) == result


def test_a_wrong_result_would_be_noticed():
    assert not same("Tensor([1., 2.])", "Tensor([1., 2.1])") and not same("Tensor([1, 2])", "Tensor([1])")
    assert not same("Tensor([1.])", "Tensor([1.], dtype=float64)") and same("[1. , 2.7182818]", "[1. , 2.718282]")


def test_nearly_all_examples_state_shapes():
    assert len(SHAPES) > 0.75 * len(ENTRIES)


def test_every_op_has_a_sentence():
    for module in ops, linalg:
        for name, f in vars(module).items():
            if name[0] != "_" and callable(f) and (getattr(f, "forward", f).__module__ == "tinygrad_like.ops.linalg"
                                                   or module is ops):
                assert f.__doc__.strip(), name
    for name in tinygrad_like.__all__:
        assert name in ("bool_", "float32", "float64", "int64") or getattr(tinygrad_like, name).__doc__.strip(), name


def test_help_shows_signatures_and_docstrings(capsys):
    help(Tensor.sum)
    shown = capsys.readouterr().out
    assert "sum(self, axis" in shown and "The sum over `axis`" in shown
    help(ops.exp)
    assert "e^x." in capsys.readouterr().out


def test_the_stub_is_up_to_date():
    assert STUB.read_text(encoding="utf-8") == stub(), "run `python -m handbook.stubs`"


def test_results_have_the_types_that_the_stub_states():
    returns = dict(re.findall(r"def (\w+)\(.*\) -> ([^\n]+?): ", STUB.read_text(encoding="utf-8")))
    for name, (example, _) in ENTRIES.items():
        name = name.rpartition(".")[2]
        if re.search(rf"\.{name}\((?!.*\)[.\[]).*\)$", example) and example.count(f".{name}(") == 1:
            found, said = run(example), returns.get(name, "")
            if said == "Tensor":
                assert isinstance(found, Tensor), name
            elif said.startswith("tuple") or said == "_Found":
                assert isinstance(found, tuple) and all(isinstance(x, Tensor) for x in found), name


RIGHT = '''
import numpy as np
import tinygrad_like as tg
import nn.functional as F
from tinygrad_like import *
from tinygrad_like import Tensor, capture, grad, nn, no_grad, ops, optim, value_and_grad
from tinygrad_like.data import DataLoader
from nn.utils.rnn import pad_sequence

def f(n: int, s: str) -> bool:
    return int(s) == n + sum([1])

@capture
def step(x: Tensor, n: int) -> Tensor:
    return x + n

@capture(fuse=False)
def predict(x: Tensor) -> float:
    return x.item()

@no_grad()
def count(n: int) -> int:
    return n

def loss(w: Tensor, x: Tensor) -> Tensor:
    return (w * x).sum()

def of_tree(p: dict[str, Tensor]) -> Tensor:
    return p["a"].sum()

x = Tensor([1.0, 2.0])
model: nn.Module = tg.nn.Linear(2, 3)
optimizer: tg.optim.Optimizer = optim.SGD(model.parameters(), lr=0.1)
with no_grad(), tg.enable_grad(), tg.eager():
    x.sum(dim=0, keepdims=True); x.gather(dim=0, index=x); x.var(ddof=1); tg.zeros(2, device="cpu"); tg.cat([x], dim=0)
F.cross_entropy(x, x, size_average=True); tg.ones(2, out=None)
'''
REVEALED = {
    "step(x, 1)": "Tensor", "predict(x)": "float", "count(3)": "int", "x.item()": "float", "grad(loss)(x, x)": "Tensor",
    "grad(loss, (0, 1))(x, x)": "tuple[Tensor, ...]", "value_and_grad(loss)(x, x)": "tuple[Tensor, Tensor]",
    "grad(of_tree)({'a': x})": "dict[str, Tensor]",
    "next(iter(DataLoader(np.ones(3), np.ones(3))))": "tuple[Tensor, ...]", "next(iter(DataLoader(x)))": "Tensor",
    **dict.fromkeys(("x.exp()", "x + 1", "1 - x", "x @ x", "x[0]", "x.T", "x.sort()[0]", "ops.softmax(x, axis=0)",
                     "tg.maximum(x, x)", "nn.Sequential(nn.ReLU())(x)", "nn.CrossEntropyLoss()(x, x)", "x.add_(1)"),
                    "Tensor"),
    "tg.nn.Linear(1, 2)(x)": "Tensor", "nn.functional.relu(x)": "Tensor", "tg.tensor(1.0)": "Tensor",
}
MISTAKES = """
    x.exponential(); x.summ(); x.sum(dims_=0); x.sum(axiss=0); x.sum(keepdimm=True); x.softmax(axs=1); x.exp_(3)
    tg.zeross(3); tg.exp(x, diim=0); tg.optimm; tg.cat([x], axes_=0); tg.randn(2).nope; tg.nn.Linearr(1, 2)
    nn.Linear("a", 2); nn.Linear(2); nn.Linear(1, 2, biass=True); nn.functional.rell(x)
    F.cross_entropy(x, x, redct="sum"); F.mse_loss(x); optim.Adamm; optim.SGD(model.parameters(), lr="a")
    optim.SGD(model.parameters(), learning_rate=1.0)
    step(x); step(x, "a"); predict(x).shape; count("a"); grad(loss)(x); grad(loss)("a", x); grad(loss)(x, x).nope
    value_and_grad(loss)(x, x)[2]; grad(of_tree)({"a": x})["a"].nope; len(x.item()); capture(fuze=True); no_grad().nope
    DataLoader(x, x, batch_sise=2); DataLoader(x, x, shufle=True); [batch.nope for batch in DataLoader(x)]
    [a.nope for a, b in DataLoader(x, x)]; zeros(3); x + "a"; x.reshape(2).nope; tg.relu_(x, 1)
""".replace("\n", ";").split(";")
MISTAKES = [t.strip() for t in MISTAKES if t.strip()]


def test_a_type_checker_finds_mistakes_and_only_these(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    shown = [f"reveal_type({expression})" for expression in REVEALED]
    program.write_text("\n".join([RIGHT.rstrip(), *shown, *MISTAKES]))
    first = len(RIGHT.rstrip().splitlines()) + len(REVEALED) + 1
    found = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=",
                            f"--cache-dir={tmp_path}", str(program)], cwd=tmp_path, capture_output=True, text=True,
                           env={"MYPYPATH": tinygrad_like.__path__[0].removesuffix("tinygrad_like"), "PATH": ""})
    revealed = [text.replace("tinygrad_like.core.tensor.", "") for text in re.findall('type is "(.*)"', found.stdout)]
    assert dict(zip(REVEALED, revealed, strict=True)) == REVEALED, found.stdout + found.stderr
    lines = {int(line) for line in re.findall(r"program.py:(\d+): error", found.stdout)}
    assert [t for i, t in enumerate(MISTAKES, first) if i not in lines] == [], "mistakes that no checker would find"
    assert min(lines) >= first, found.stdout


def test_the_stub_has_exactly_the_packages_names():
    names, exported = set(), []
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            names.add(target.id)
            exported = ast.literal_eval(node.value) if target.id == "__all__" else exported
    assert exported == tinygrad_like.__all__ and {*exported} <= names
    rest = names - {*"Any Callable Self Sequence TypeVar TypedDict Unpack builtins np overload".split()}
    assert [name for name in sorted(rest) if name[0] != "_" and not hasattr(tinygrad_like, name)] == []
