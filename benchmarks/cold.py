"""Start-up time: wall-clock time of fresh processes that make a model and take one training step.

    python -m benchmarks.cold                              compiling everything, and then with the kernels on disk
    python -m benchmarks.cold --python /path/bin/python    the same with another installation, such as a wheel

Each number is the median over `--repeats` processes; "import" leaves out NumPy's import. --torch adds PyTorch's times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .process import ROOT

IMPORTS = {"ours": "import numpy as np\nimport nn\nimport optim\nfrom tinygrad_like import Tensor as tensor\n",
           "torch": "import numpy as np\nfrom torch import nn, optim, from_numpy as tensor\n"}
STEP = """
optimizer.zero_grad()
loss = loss_of(model, x, y)
loss.backward()
optimizer.step()
assert np.isfinite(loss.item())
"""
DATA = "rng = np.random.default_rng(0)\n"
IMAGES = """x = tensor(rng.standard_normal((32, 3, 16, 16), np.float32))
y = tensor(rng.integers(0, 10, 32))
loss_of = lambda model, x, y: nn.CrossEntropyLoss()(model(x), y)
"""
PROGRAMS = {
    "linear regression": """x = tensor(rng.standard_normal((100, 3), np.float32))
y = tensor(rng.standard_normal((100, 1), np.float32))
model = nn.Linear(3, 1)
loss_of = lambda model, x, y: nn.MSELoss()(model(x), y)
optimizer = optim.SGD(model.parameters(), lr=0.1)
""",
    "MLP 64-128-10": """x = tensor(rng.standard_normal((64, 64), np.float32))
y = tensor(rng.integers(0, 10, 64))
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
loss_of = lambda model, x, y: nn.CrossEntropyLoss()(model(x), y)
optimizer = optim.AdamW(model.parameters(), lr=1e-3)
""",
    "GRU of 20 steps": """x = tensor(rng.standard_normal((32, 20, 16), np.float32))
y = tensor(rng.standard_normal((32, 1), np.float32))
model = nn.ModuleList([nn.GRU(16, 64, batch_first=True), nn.Linear(64, 1)])
loss_of = lambda model, x, y: nn.MSELoss()(model[1](model[0](x)[0][:, -1]), y)
optimizer = optim.Adam(model.parameters(), lr=1e-3)
""",
    "GPT of two blocks": """x, y = [tensor(rng.integers(0, 65, (8, 32))) for _ in range(2)]
block = lambda: nn.TransformerEncoderLayer(64, 4, 256, 0.0, "gelu", batch_first=True, norm_first=True)
model = nn.ModuleList([nn.Embedding(65, 64), block(), block(), nn.LayerNorm(64), nn.Linear(64, 65)])
mask = nn.Transformer.generate_square_subsequent_mask(32)
def loss_of(model, x, y):
    h = model[0](x)
    h = model[2](model[1](h, src_mask=mask, is_causal=True), src_mask=mask, is_causal=True)
    return nn.CrossEntropyLoss()(model[4](model[3](h)).reshape(-1, 65), y.reshape(-1))
optimizer = optim.AdamW(model.parameters(), lr=1e-3)
""",
    "small conv net": IMAGES + """model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    nn.Linear(32, 10))
optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
""",
}
IMPORTED = """
import time
import numpy
begun = time.perf_counter()
import tinygrad_like, nn, optim
print(time.perf_counter() - begun)
"""


def seconds(python: str, code: str, cache: str) -> float:
    """The wall-clock time of a process, or the time that it prints."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}
    path = {"PYTHONPATH": str(ROOT)} if python == sys.executable else {}
    begun = time.perf_counter()
    done = subprocess.run([python, "-c", code], env={**kept, **path, "NUMBA_CACHE_DIR": cache}, text=True,
                          cwd=tempfile.gettempdir(), capture_output=True)
    taken = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"{code}\n{done.stderr}")
    return float(done.stdout or taken)


def times(python: str, code: str, repeats: int) -> tuple[float, float]:
    """The medians with an empty cache, and with a full one."""
    with tempfile.TemporaryDirectory() as folder:
        cold = [seconds(python, code, str(Path(folder, str(i)))) for i in range(repeats)]
        warm = [seconds(python, code, str(Path(folder, "0"))) for _ in range(repeats)]
    return statistics.median(cold), statistics.median(warm)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--torch", action="store_true", help="also time PyTorch in the same environment")
    options = parser.parse_args()
    seconds(options.python, IMPORTED, "")  # writes bytecode, as pip does
    imported = statistics.median([seconds(options.python, IMPORTED, "") for _ in range(options.repeats)])
    print(f"import, without NumPy's: {imported:.3f} s")
    for name, program in PROGRAMS.items():
        if options.only not in name:
            continue
        code = DATA + program + STEP
        cold, warm = times(options.python, IMPORTS["ours"] + code, options.repeats)
        line = f"{name:20} empty cache {cold:6.2f} s   warm {warm:5.2f} s"
        if options.torch:
            line += f"   PyTorch {times(options.python, IMPORTS['torch'] + code, options.repeats)[1]:5.2f} s"
        print(line, flush=True)


if __name__ == "__main__":
    main()
