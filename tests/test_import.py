"""Imports load nothing heavy, and find `nn` and `optim` by both their names even if other modules have these names."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tinygrad_like

ROOT = Path(tinygrad_like.__file__).parents[1]


def test_importing_the_package_loads_only_numpy():
    """numba takes longer to import than everything else; the first kernel loads it."""
    code = ("import sys, numpy; before = set(sys.modules); import tinygrad_like; "
            "print(sorted({m.partition('.')[0] for m in set(sys.modules) - before} "
            "& {'numba', 'llvmlite', 'ml_dtypes', 'mpi4py', 'nn', 'optim', 'pathlib', 'hashlib', 'signal'}))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def run(folder, code, *path):
    """Run a program in a folder, with other folders on its path, and return its output."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path or [ROOT])), "PYTHONSAFEPATH": ""}
    (folder / "program.py").write_text(code)
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


ONCE = """
import os, sys
of = {}
for name, module in list(sys.modules.items()):
    file = getattr(module, "__file__", None) or ""
    if file.startswith(ROOT):
        of.setdefault(file, set()).add(id(module))
assert len(of) > 100 and {len(ids) for ids in of.values()} == {1}, "a file was imported twice"
"""
BOTH = [
    "import nn, optim", "import tinygrad_like as t; t.nn; t.optim", "from tinygrad_like import nn, optim",
    "import optim.lr_scheduler as G; from tinygrad_like.optim import lr_scheduler as F; assert F is G",
    "import nn.utils.rnn as G; import tinygrad_like.nn.utils.rnn as F; assert F is G",
    "import tinygrad_like.nn.utils.rnn as F; import nn.utils.rnn as G; assert F is G",
]


@pytest.mark.parametrize("first", BOTH)
def test_both_names_are_one_module(tmp_path, first):
    """In any order, also for submodules; where `import nn` finds our package, its name is `nn`."""
    run(tmp_path, f"""
{first}
import pickle
import nn, optim, tinygrad_like
import nn.utils.rnn as G, tinygrad_like.nn.utils.rnn as F, tinygrad_like.nn.utils as utils
assert F is G is nn.utils.rnn is utils.rnn
assert nn is tinygrad_like.nn and optim is tinygrad_like.optim
assert nn.__name__ == nn.__spec__.name == nn.__package__ == "nn" and F.__spec__.name == "nn.utils.rnn"
assert nn.Linear.__module__ == "nn.linear" and optim.SGD.__module__ == "optim.sgd"
assert type(pickle.loads(pickle.dumps(nn.Linear(2, 1)))) is nn.Linear is tinygrad_like.nn.Linear
assert pickle.loads(b"ctinygrad_like.nn.linear\\nLinear\\n.") is nn.Linear
ROOT = {str(ROOT)!r}
{ONCE}""")


@pytest.mark.parametrize("taken", ["nn.py", "nn/__init__.py optim/__init__.py"])
@pytest.mark.parametrize("first", ["import nn, optim", "import tinygrad_like.nn, tinygrad_like.optim"])
def test_a_users_files_called_nn_and_optim_break_nothing(tmp_path, taken, first):
    for name in taken.split():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine = 3")
    theirs = [name for name in ("nn", "optim") if name in taken]
    assert run(tmp_path, f"""
{first}
import pickle
import nn, optim
import tinygrad_like as T
from tinygrad_like import training, func
from tinygrad_like.data import DataLoader, TensorDataset
from tinygrad_like.nn import Linear, functional as F
from tinygrad_like.optim import SGD
import tinygrad_like.nn.utils.rnn, tinygrad_like.nn.onnx

for name in {theirs}:
    assert globals()[name].mine == 3 and not hasattr(getattr(T, name), "mine")
    assert getattr(T, name).__name__ == f"tinygrad_like.{{name}}"
for name in {{"nn", "optim"}} - set({theirs}):
    assert globals()[name] is getattr(T, name) and globals()[name].__name__ == name
assert T.nn.Linear is Linear and T.nn.functional is F
model = T.nn.Sequential(Linear(2, 3), T.nn.ReLU(), Linear(3, 2))
data = TensorDataset(T.randn(8, 2), T.tensor([0, 1] * 4))
training.fit(model, DataLoader(data, 4), F.cross_entropy, SGD(model.parameters(), lr=0.1), epochs=1, progress=False)
assert T.conv1d(T.ones(1, 1, 3), T.ones(1, 1, 2)).shape == (1, 1, 2)
assert T.nn.utils.clip_grad_norm_(model.parameters(), 1.0) is not None
assert T.func.functional_call(model, dict(model.named_parameters()), T.ones(1, 2)).shape == (1, 2)
assert type(pickle.loads(pickle.dumps(model))) is T.nn.Sequential
ROOT = {str(ROOT)!r}
{ONCE}
print("done")""") == "done"


def test_started_processes_and_pickles_agree_on_names(tmp_path):
    """A worker finds the same module as the program, and reads the program's pickles."""
    (tmp_path / "nn.py").write_text("mine = 3")
    assert run(tmp_path, """
import multiprocessing
from tinygrad_like import nn

def name(model):
    return type(model) is nn.Linear and type(model).__module__

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(name, [nn.Linear(2, 1)]))
""") == "tinygrad_like.nn.linear"


def test_the_folders_are_found_without_being_on_the_path(tmp_path):
    """They stay the same modules if the folder is added to the path later."""
    assert run(tmp_path, f"""
import importlib.machinery, importlib.util, os, sys
sys.path[:] = [folder for folder in sys.path if not os.path.exists(os.path.join(folder, "nn"))]
spec = importlib.machinery.PathFinder.find_spec("tinygrad_like", [{str(ROOT)!r}])
package = sys.modules["tinygrad_like"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from tinygrad_like.nn import Linear
assert Linear.__module__ == "tinygrad_like.nn.linear"
try:
    import nn
except ModuleNotFoundError as error:
    print(error)
sys.path.append({str(ROOT)!r})
import nn, nn.linear, nn.functional, optim, tinygrad_like.nn.functional
assert nn is package.nn and nn.Linear is nn.linear.Linear is Linear and optim is package.optim
ROOT = {str(ROOT)!r}
{ONCE}""", tmp_path) == "No module named 'nn'"


def test_unknown_submodules_are_not_found(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "nn.py").write_text("")
    code = """
for line in "tinygrad_like.nn.no", "from tinygrad_like.nn import no", "nn.no", "tinygrad_like.no":
    try:
        exec(line if " " in line else f"import {line}")
    except ImportError as error:
        print(type(error).__name__, str(error).split(";")[0].split(" (")[0])
"""
    assert run(tmp_path, code).splitlines() == [
        "ModuleNotFoundError No module named 'tinygrad_like.nn.no'", "ImportError cannot import name 'no' from 'nn'",
        "ModuleNotFoundError No module named 'nn.no'", "ModuleNotFoundError No module named 'tinygrad_like.no'"]
    assert run(tmp_path, code, tmp_path / "mine", ROOT).splitlines() == [
        "ModuleNotFoundError No module named 'tinygrad_like.nn.no'",
        "ImportError cannot import name 'no' from 'tinygrad_like.nn'",
        "ModuleNotFoundError No module named 'nn.no'", "ModuleNotFoundError No module named 'tinygrad_like.no'"]


def test_a_package_installed_over_ours_is_named(tmp_path):
    """The registry has packages of both names, and pip lets one overwrite the other's files."""
    for name in ("tinygrad_like", "optim"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "nn").mkdir()
    (tmp_path / "nn" / "__init__.py").write_text("mine = 3")
    assert run(tmp_path, """
import os
for line in "from tinygrad_like.nn import Linear", "from tinygrad_like.training import fit":
    try:
        exec(line)
    except ImportError as error:
        message = str(error)
        assert message.startswith(os.path.join(os.getcwd(), "nn", "__init__.py") + " is not tinygrad_like's nn, but ")
        print(message.partition("; ")[2])
""", tmp_path) == "\n".join(["uninstall that package, and install tinygrad_like again"] * 2)


def test_our_packages_import_each_other_by_names_that_are_ours():
    """`import nn` within them could import a user's file of that name."""
    for package in ("tinygrad_like", "nn", "optim"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = ([alias.name for alias in node.names] if isinstance(node, ast.Import) else
                         [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else [])
                assert not {"nn", "optim"} & {name.partition(".")[0] for name in names}, path
