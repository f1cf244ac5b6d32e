"""PyTorch users' everyday code, in idioms.txt, runs here with other imports, and in PyTorch unchanged."""

import re
import warnings
from pathlib import Path

import pytest

IMPORTS = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nimport torch.optim as optim\n"
TEXT = Path(__file__).with_name("idioms.txt").read_text(encoding="utf-8")
IDIOMS = dict(part.split("\n", 1) for part in re.split(r"^### ", TEXT, flags=re.M)[1:])


def ours(source):
    source = re.sub(r"^import torch$", "import tinygrad_like as torch", source, flags=re.M)
    return re.sub(r"^(import|from) torch\.([\w.]+) (as|import) ", r"\1 tinygrad_like.\2 \3 ", source, flags=re.M)


@pytest.mark.filterwarnings("ignore:.*no parameter has a gradient")  # if a schedule is only shown
@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "compile: changes nothing here")
        exec(compile(ours(IMPORTS + IDIOMS[name]), name, "exec"), {"__name__": name})


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_runs_in_pytorch(name):
    torch = pytest.importorskip("torch")
    with torch.backends.__allow_nonbracketed_mutation():  # PyTorch's own tests, which other tests import, forbid it
        exec(compile(IMPORTS + IDIOMS[name], name, "exec"), {"__name__": name})
        torch.backends.cudnn.benchmark = torch.backends.cudnn.deterministic = False
    torch.set_float32_matmul_precision("highest")
