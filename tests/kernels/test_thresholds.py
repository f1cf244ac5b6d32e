"""All ops with every kernel's threshold so high that NumPy does all, and so low that kernels do: both give the same.

Thresholds are part of the code that chooses, so each is tried by a process of its own, which runs this file.
"""

import importlib.machinery
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


class Thresholds:
    """Sets the table of kernels, between its module and the functions that they stand in for."""

    def __init__(self, least):
        self.least = least

    def find_spec(self, name, path=None, target=None):
        if name not in ("tinygrad_like.kernels.registry", "tinygrad_like.kernels.composites"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def exec_module(module):
            if name.endswith("registry"):
                run(module)
                table = module.ACCELERATED
                table.update({kernel: (home, self.least) for kernel, (home, _) in table.items()})
            else:  # where a function is given them
                source = spec.loader.get_source(name).replace("x.size >= least", f"x.size >= {self.least}")
                exec(compile(source, spec.origin, "exec"), vars(module))

        spec.loader.exec_module = exec_module
        return spec


def dot(arrays, rng):
    """The sum of all that arrays hold, times random cotangents."""
    from tinygrad_like import Tensor

    return sum([(y * Tensor(np.asarray(rng.standard_normal(y.shape), y.dtype))).sum() for y in arrays])


def computed(f, inputs, dtype, second):
    """Outputs, gradients, gradients whose graph is recorded, and theirs."""
    from tinygrad_like import Tensor

    leaves, rng = [Tensor(np.array(x, dtype), requires_grad=True) for x in inputs], np.random.default_rng(0)
    out = f(*leaves)
    out = list(out) if isinstance(out, tuple | list) else [out]
    loss = dot(out, rng)
    first = loss.gradient(*leaves, retain_graph=True, materialize_grads=True)
    found = {"output": out, "gradient": first}
    if second:
        found["gradient in ops"] = loss.gradient(*leaves, create_graph=True, materialize_grads=True)
        if (loss := dot(found["gradient in ops"], rng)).requires_grad:
            found["second gradient"] = loss.gradient(*leaves, materialize_grads=True)
    return {what: [x.detach().numpy() for x in xs] for what, xs in found.items()}


def main(least, target):
    sys.meta_path.insert(0, Thresholds(least))
    from tests.kernels.samples import LARGE
    from tests.ops.samples import CASES as SMALL

    cases = {name: (case, True) for name, case in SMALL.items()}
    if least:
        cases |= {f"{name}, large": (case, False) for name, case in LARGE.items()}
    found = {name: {dtype: computed(f, inputs, dtype, second) for dtype in ("float32", "float64")}
             for name, ((f, *inputs), second) in cases.items()}
    assert ("tinygrad_like.kernels.norm" in sys.modules) == (least == 0)
    Path(target).write_bytes(pickle.dumps(found))


@pytest.mark.slow
@pytest.mark.parametrize("least", [0, 10**15])
def test_kernels_may_be_there_for_all_sizes_or_for_none(least, tmp_path):
    target = tmp_path / "found"
    subprocess.run([sys.executable, "-W", "error", __file__, str(least), str(target)], check=True, cwd=ROOT,
                   env={**os.environ, "PYTHONPATH": str(ROOT)})
    found, wrong = pickle.loads(target.read_bytes()), []
    assert len(found) > 350
    for name, of in found.items():
        for what, exact in of["float64"].items():
            for i, (x, y) in enumerate(zip(of["float32"][what], exact, strict=True)):
                scale = np.abs(y[np.isfinite(y)]).max(initial=1)
                if what != "output" and x.dtype != np.float32:
                    wrong.append(f"{name}: {what} {i} is {x.dtype}")
                elif not np.allclose(x, y, atol=2e-5 * scale, rtol=1e-4, equal_nan=True):
                    wrong.append(f"{name}: {what} {i} is wrong by {np.nanmax(abs(x - y))} of {scale}")
    assert not wrong


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
