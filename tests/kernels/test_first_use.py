"""Kernels' first use by several threads at once, or while the user presses Ctrl-C, when numba is half imported."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETUP = """
import json, os, signal, sys, threading, traceback
import numpy as np
import tinygrad_like as T, nn, optim
from nn import functional as F

sys.setswitchinterval(1e-5)
rng = np.random.default_rng(0)
def t(*shape): return T.Tensor(rng.standard_normal(shape, np.float32))
image, x, weight = t(64, 3, 16, 16), t(64, 100), T.Tensor(np.ones((7, 4), np.float32), requires_grad=True)
assert "numba" not in sys.modules
first = {
    "conv": lambda: nn.Conv2d(3, 16, 3)(image),
    "softmax": lambda: x.softmax(-1),
    "attention": lambda q=t(2, 8, 16): F.scaled_dot_product_attention(q, q, q),
    "optimizer": lambda: (weight.sum().backward(), optim.Adam([weight]).step()),
    "capture": lambda f=T.capture(lambda x: x.exp().sum()): [f(x) for _ in range(4)],
    "random": lambda: T.randn(100),
    "threads": lambda: T.get_num_threads(),
    "numba": lambda: __import__("numba"),
}
"""


@pytest.mark.parametrize("both", ["conv softmax", "conv numba", "capture conv", "optimizer threads"])
def test_two_threads_may_be_the_first_to_use_kernels(python, both):
    code = f"""
start, errors = threading.Barrier(2), []
def use(name):
    start.wait()
    try:
        first[name]()
    except BaseException:
        errors.append(traceback.format_exc())
users = [threading.Thread(target=use, args=(name,)) for name in {both.split()}]
[user.start() for user in users]
[user.join() for user in users]
np.testing.assert_allclose(x.gelu().numpy()[:9], x[:9].double().gelu().numpy(), atol=1e-6)
print(json.dumps(errors))
"""
    assert python(SETUP + code) == []


@pytest.mark.parametrize("where", ["numba.core.extending", "tinygrad_like.kernels.program"])
def test_ctrl_c_waits_until_kernels_are_imported_and_compiled(python, where, tmp_path):
    """A half imported numba could not be imported again."""
    code = f"""
class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {where!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
stopped = False
try:
    first["random"]()
except KeyboardInterrupt:
    stopped = True
first["random"]()
print(json.dumps(stopped))
"""
    assert python(SETUP + code, NUMBA_CACHE_DIR=str(tmp_path)) is True


def test_no_part_of_numba_is_imported_before_the_whole():
    """An import of a part does not wait for another thread that imports numba; it would find half of it."""
    firsts = {}
    for path in [*(ROOT / "tinygrad_like").rglob("*.py"), *(ROOT / "nn").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if parts := [name for name in names if name.partition(".")[0] == "numba"]:
                firsts.setdefault(path.name, parts[0])
    assert set(firsts.values()) == {"numba"}
