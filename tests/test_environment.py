"""Optional packages: code that needs one says so before any work, and how to install it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tinygrad_like
from tinygrad_like import environment
from tinygrad_like.environment import EXTRAS, PACKAGES, require

ROOT = Path(tinygrad_like.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WITHOUT = f"""
import runpy, sys
for name in {[*EXTRAS, "jax"]}:
    sys.modules[name] = None
program, *sys.argv[1:] = sys.argv[1:]
if " " in program:
    exec(program)
else:
    sys.argv[0] = program
    runpy.run_module(program, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("module", EXTRAS)
def test_extras_install_the_packages_that_errors_name_them_for(module):
    packages = [re.split(r"[^\w.-]", line)[0].lower() for line in PROJECT["optional-dependencies"][EXTRAS[module]]]
    assert PACKAGES.get(module, module).lower() in packages


def test_missing_packages_are_named_with_their_extras(monkeypatch):
    for module in ("PIL", "onnx", "no_such_module"):
        monkeypatch.setitem(sys.modules, module, None)
    require("this", "numpy", "sys")
    with pytest.raises(ImportError, match=r"^this needs pillow: pip install 'tinygrad-like\[pictures\]', or leave it$"):
        require("this", "numpy", "PIL", otherwise=", or leave it")
    with pytest.raises(ImportError, match=r"^x needs onnx, pillow, no_such_module: pip install '.\[onnx,pictures\]' "
                                          r"no_such_module$"):
        require("x", "onnx", "PIL", "no_such_module", project=".")
    with pytest.raises(ImportError, match="^x needs no_such_module: pip install no_such_module$"):
        require("x", "no_such_module")
    assert environment.require is require


@pytest.mark.parametrize(("program", "said"), [
    ("benchmarks.run", "error: this benchmark needs matplotlib, torch: pip install '.[pictures,torch]'"),
    ("benchmarks.run --against torch.compile jax", "needs matplotlib, "),
    ("benchmarks.compare", ""),
    ("benchmarks.distributed", "error: this benchmark needs matplotlib, mpi4py: pip install '.[pictures,distributed]'"),
    ("benchmarks.programs", "error: this benchmark needs torch: pip install '.[torch]'"),
    ("handbook", "error: the handbook needs zensical, latex2mathml, matplotlib, onnx: "),
    ("import nn.onnx; nn.onnx.export(None, None, None)",
     "ImportError: nn.onnx.export needs onnx: pip install 'tinygrad-like[onnx]'"),
    ("import tinygrad_like as T; T.ones(2).bfloat16()",
     "ImportError: bfloat16 needs ml_dtypes: pip install 'tinygrad-like[bfloat16]', or use float16"),
    ("from tinygrad_like.training import Log; Log(tensorboard='runs')",
     "ImportError: Log(tensorboard=...) needs tensorboardX: pip install 'tinygrad-like[tensorboard]'"),
    ("from tinygrad_like import distributed; distributed.init(strict=True)",
     "ImportError: distributed.init in a process that was started by MPI needs mpi4py: pip install "
     "'tinygrad-like[distributed]'"),
])
def test_extras_are_asked_for_before_any_work(tmp_path, program, said):
    """Not after minutes of measurements."""
    words = [program] if " " in program and ";" in program or "import" in program else program.split()
    done = subprocess.run([sys.executable, "-c", WITHOUT, *words], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=300)
    assert said in done.stderr and done.stdout == "" and not [*tmp_path.iterdir()], done.stderr
    assert "Traceback" not in done.stderr * said.startswith("error")
    assert (done.returncode == 0) == (said == "")
