"""Weights go both ways between PyTorch and this package, by name, in safetensors files."""

import re
from pathlib import Path

import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor
from tinygrad_like.training import load_weights, save_weights

torch = pytest.importorskip("torch")
files = pytest.importorskip("safetensors.torch")
pytestmark = pytest.mark.torch
ROOT = Path(__file__).parents[2]


class Ours(nn.Module):
    def __init__(self):
        self.body = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
        self.head = nn.Linear(8, 3, bias=False)

    def forward(self, x):
        return self.head(self.body(x))


class Theirs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU())
        self.head = torch.nn.Linear(8, 3, bias=False)

    forward = Ours.forward


def outputs(ours, theirs):
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    return ours(Tensor(x)).detach().numpy(), theirs(torch.tensor(x)).detach().numpy()


def test_weights_load_from_pytorch(tmp_path):
    ours, theirs = Ours(), Theirs()
    files.save_file(theirs.state_dict(), tmp_path / "w.safetensors", {"format": "pt"})
    assert load_weights(ours, tmp_path / "w.safetensors") == ([], [])
    np.testing.assert_allclose(*outputs(ours, theirs), atol=1e-6)


def test_weights_load_into_pytorch(tmp_path):
    ours, theirs = Ours(), Theirs()
    save_weights(ours, tmp_path / "w.safetensors")
    theirs.load_state_dict(files.load_file(tmp_path / "w.safetensors"))
    np.testing.assert_allclose(*outputs(ours, theirs), atol=1e-6)


PAIRS = {
    "linear": lambda lib: lib.Linear(3, 2), "norm": lambda lib: lib.BatchNorm2d(3),
    "recurrent": lambda lib: lib.LSTM(3, 4, 2, bidirectional=True), "bfloat16": lambda lib: lib.Linear(3, 2).bfloat16(),
    "float16": lambda lib: lib.Linear(3, 2).half(), "float64": lambda lib: lib.Linear(3, 2).double(),
    "attention": lambda lib: lib.TransformerEncoderLayer(8, 2), "nothing": lambda lib: lib.ReLU(),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pytorch_loads_our_state_dicts_directly(name):
    ours, theirs = PAIRS[name](nn), PAIRS[name](torch.nn)
    for tensor in ours.state_dict().values():
        tensor.copy_((Tensor.randn(*tensor.shape) * 9).to(tensor.dtype))
    assert theirs.load_state_dict(ours.state_dict()) == ([], [])
    for mine, other in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        np.testing.assert_array_equal(mine.double().numpy(), other.double().numpy())
    before = {name: t.clone() for name, t in theirs.state_dict().items()}
    for tensor in ours.state_dict().values():  # PyTorch copied them
        tensor.zero_()
    assert all(torch.equal(before[name], t) for name, t in theirs.state_dict().items())


def test_pytorch_takes_only_the_values_of_our_tensors():
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        torch.nn.Linear(3, 2).load_state_dict(nn.Linear(4, 2).state_dict())
    x = torch.ones(2)
    assert torch.equal(x.copy_(Tensor([3, 4])), torch.tensor([3.0, 4.0]))
    with pytest.raises(RuntimeError, match="this Tensor requires grad"):
        x.copy_(Tensor([1.0, 2.0], requires_grad=True))
    with pytest.raises(TypeError):  # PyTorch's other functions refuse our Tensors
        torch.relu(Tensor([1.0]))
    assert type(x + Tensor([1.0, 1.0])) is Tensor


def test_tied_weights_load_from_pytorch(tmp_path):
    """PyTorch's `save_model` writes a shared tensor once."""
    ours, theirs = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), torch.nn.Sequential(*[torch.nn.Linear(4, 4)] * 2)
    ours[1].weight, ours[1].bias = ours[0].weight, ours[0].bias
    files.save_model(theirs, str(tmp_path / "w.safetensors"))
    load_weights(ours, tmp_path / "w.safetensors")
    assert np.array_equal(ours[1].weight.detach().numpy(), theirs[0].weight.detach().numpy())


def test_tied_weights_load_into_pytorch(tmp_path):
    """PyTorch's `load_model` expects a shared tensor once."""
    ours, theirs = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), torch.nn.Sequential(*[torch.nn.Linear(4, 4)] * 2)
    ours[1].weight, ours[1].bias = ours[0].weight, ours[0].bias
    save_weights(ours, tmp_path / "w.safetensors", {"best": "3"})
    files.save_model(theirs, str(tmp_path / "theirs.safetensors"), {"best": "3"})
    with files.safe_open(tmp_path / "w.safetensors", "pt") as a, \
            files.safe_open(tmp_path / "theirs.safetensors", "pt") as b:
        assert set(a.keys()) == set(b.keys()) and b.metadata().items() <= a.metadata().items()
    assert files.load_model(theirs, tmp_path / "w.safetensors") == (set(), [])
    assert np.array_equal(theirs[1].weight.detach().numpy(), ours[0].weight.detach().numpy())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_weights_load_from_pytorch(tmp_path, dtype):
    ours, theirs = Ours(), Theirs().to(dtype)
    files.save_file(theirs.state_dict(), tmp_path / "w.safetensors")
    load_weights(ours, tmp_path / "w.safetensors")
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert p.dtype == np.float32 and np.array_equal(p.detach().numpy(), q.detach().float().detach().numpy())


def test_the_handbooks_example_of_one_process_works():
    ours, theirs = Ours(), Theirs()
    optimizer, their_optimizer = (lib.AdamW(model.parameters(), lr=0.1) for lib, model in (
        (optim, ours), (torch.optim, theirs)))

    def step():
        for model, o, x in ((theirs, their_optimizer, torch.ones(2, 5)), (ours, optimizer, Tensor.ones(2, 5))):
            o.zero_grad()
            model(x).square().sum().backward()
            o.step()

    step()
    code, = re.findall(r"```py\n(.*?)```", (ROOT / "docs" / "exchange.md").read_text(encoding="utf-8"), re.S)
    exec(code, {"torch": torch, "ours": ours, "theirs": theirs, "optimizer": optimizer,
                "their_optimizer": their_optimizer})
    step()
    np.testing.assert_allclose(*outputs(ours, theirs), atol=1e-5)
