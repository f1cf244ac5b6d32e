"""What editors, `help` and type checkers are told of Tensor's methods and of ops."""

import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

import tinygrad_like
from tinygrad_like import Tensor, linalg, ops
from tinygrad_like.compat.names import MISSING
from tinygrad_like.compat.stubs import _RETURNS, written
from tinygrad_like.methods.docstrings import entries

ENTRIES = {name: (example, result) for name, _, example, result, _ in entries()}
SHAPES = {name: shapes for name, *_, shapes in entries() if shapes}
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")


def run(example):
    return eval(example, {"Tensor": Tensor, "ops": ops, "linalg": linalg, "np": np})


def same(found, expected):
    """Whether two reprs agree, numbers up to rounding, and so up to the blanks that keep them in line."""
    numbers = [[float(x) for x in NUMBER.findall(text)] for text in (found, expected)]
    found, expected = ("".join(NUMBER.sub("#", text).split()) for text in (found, expected))
    return found == expected and np.allclose(*numbers, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ENTRIES)
def test_the_example_gives_what_it_says(name):
    example, result = ENTRIES[name]
    assert same(repr(run(example)), result)
    assert f"{name.rpartition('.')[2]}(" in example or f".{name}" in example


@pytest.mark.parametrize("name", SHAPES)
def test_the_shapes_are_those_of_the_example(name):
    """Of the Tensor it is called on, if it is a method; and of the result, or of each of several."""
    given, _, result = SHAPES[name].partition(" -> ")
    example, place = ENTRIES[name][0], name.rpartition(".")[0]
    assert place or f"{given}, ".startswith(f"{run(example.partition(f'.{name}')[0]).shape}, ")
    found = run(example)
    assert ", ".join(str(y.shape) for y in (found if isinstance(found, list | tuple) else [found])) == result


def test_that_a_wrong_result_would_be_seen():
    assert not same("Tensor([1., 2.])", "Tensor([1., 2.1])") and not same("Tensor([1, 2])", "Tensor([1])")
    assert not same("Tensor([1.])", "Tensor([1.], dtype=float64)") and same("[1. , 2.7182818]", "[1. , 2.718282]")


def test_nearly_all_examples_tell_shapes():
    assert len(SHAPES) > 0.75 * len(ENTRIES)


def test_the_examples_of_changes_in_place_run():
    for name in dir(Tensor):
        doc = getattr(Tensor, name).__doc__ or ""
        if name[-1] == "_" and name[0] != "_" and ">>> " in doc and name not in ENTRIES:
            example, _, result = doc.rpartition(">>> ")[2].partition("\n")
            assert f".{name}(" in example
            assert same(" ".join(repr(run(example)).split()), " ".join(result.split())), name


def test_every_method_and_function_has_a_sentence_and_an_example():
    for name in dir(Tensor):
        member = inspect.getattr_static(Tensor, name)
        if name.startswith("_") or name in MISSING:
            continue
        member = getattr(member, "__func__", member)
        if callable(member) or isinstance(member, property):
            assert len(member.__doc__.split()) > 1, name
            assert ">>> " in member.__doc__ or name[-1] == "_" or isinstance(member, property), name
        else:
            assert name in ENTRIES, name
    for module in ops, linalg:
        for name, f in vars(module).items():
            if name[0] != "_" and callable(f) and (getattr(f, "forward", f).__module__ == "tinygrad_like.ops.linalg"
                                                   or module is ops):
                assert len(f.__doc__.split()) > 1, name
                assert ">>> " in f.__doc__ or name in ("solve_matrices", "logabsdet", "substituted"), name
    for name in tinygrad_like.__all__:
        assert name in ("bool_", "float32", "float64", "int64") or getattr(tinygrad_like, name).__doc__.strip(), name


def test_help(capsys):
    help(Tensor.sum)
    shown = capsys.readouterr().out
    assert "sum(self, axis" in shown and "The sum over `axis`" in shown and ">>> Tensor([[1, 2], [3, 4]]).sum(" in shown
    help(ops.exp)
    assert "e^x." in capsys.readouterr().out


def test_the_stubs_are_up_to_date():
    for path, text in written().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run `python -m tinygrad_like.compat.stubs`"


def test_what_the_stubs_say_is_returned():
    for name, (example, _) in ENTRIES.items():
        name = name.rpartition(".")[2]
        if re.search(rf"\.{name}\((?!.*\)[.\[]).*\)$", example) and example.count(f".{name}(") == 1:
            found, said = run(example), _RETURNS.get(name, "Tensor")
            if said == "Tensor" and name not in ("item", "numpy", "numel", "size", "gradient", "zero_grad", "touch"):
                assert isinstance(found, Tensor), name
            elif said.startswith("tuple"):
                assert isinstance(found, tuple) and all(isinstance(x, Tensor) for x in found), name


PROGRAM = '''
import tinygrad_like as tg
import nn
import nn.functional as F
import optim
from tinygrad_like import Tensor, ops

class Net(nn.Module):
    def __init__(self) -> None:
        self.fc = nn.Linear(2, 2)
    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x).relu()

x = Tensor([1.0, 2.0])
model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
x += 1
'''
TENSORS = """
    x.exp(); x + 1; 1 - x; x @ x; -x; x[0]; x == 2; x.T; x.sum(dim=0, keepdim=True); x.hypot(x); x.add_(1); x
    x.sort()[0]; Tensor.zeros(2, 3); ops.exp(x); ops.softmax(x, axis=0); tg.zeros(2, 3)
    tg.cat([x, x], dim=0); tg.tensor([1.0]); tg.maximum(x, x); tg.where(x > 0, x, 0); F.relu(x); F.mse_loss(x, x)
    model(x); nn.Linear(2, 3)(x); Net()(x); nn.CrossEntropyLoss()(model(x), x); x.detach(); x.gradient(x)[0]
""".replace("\n", ";").split(";")
TENSORS = [t.strip() for t in TENSORS if t.strip()]


def test_a_type_checker_sees_them_from_outside(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    lines = [f"reveal_type({expression})" for expression in TENSORS]
    program.write_text(PROGRAM + "\n".join([*lines, "h, c = nn.LSTM(2, 3)(x)", "reveal_type(h)", "x.exponential()"]))
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--config-file=", f"--cache-dir={tmp_path}",
         str(program)],
        env={"MYPYPATH": tinygrad_like.__path__[0].removesuffix("tinygrad_like"), "PATH": ""}, cwd=tmp_path,
        capture_output=True, text=True)
    revealed = re.findall(r'Revealed type is "(.*)"', found.stdout)
    assert revealed == ["tinygrad_like.tensor.Tensor"] * (len(TENSORS) + 1), found.stdout + found.stderr
    assert re.findall("error: (.*)", found.stdout) == ['"Tensor" has no attribute "exponential"  [attr-defined]']
