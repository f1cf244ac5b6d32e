"""`torch.save` and `torch.load` restore values with their types, and refuse others."""

import io
from collections import OrderedDict

import numpy as np
import pytest

import nn
import optim
import tinygrad_like as torch
from tinygrad_like import Tensor
from tinygrad_like.training import load_weights, save_checkpoint, save_weights
from tinygrad_like.training.checkpoint import VALUE
from tinygrad_like.training.safetensors import serialized

files = pytest.importorskip("safetensors.numpy")

VALUES = [
    None, 3, 2.5, float("inf"), "text", True, [], {}, (), [1, [2.0, ("a", None)]],
    {"a": {"b": (1, 2)}, 3: "x", (1, 2): []},
    {"1": "text", 1: "number"}, OrderedDict(b=1, a=2), np.float32(0.5), np.arange(3), Tensor([1.0, 2.0]),
    [Tensor(3), Tensor([])],
    {"a": {"b": Tensor([1.0])}, "a/b": Tensor([2.0])}, {"": Tensor([1.0]), "__metadata__": Tensor([2.0])},
    {"half": Tensor([1.5]).half(), "mask": Tensor([True, False]), "t": Tensor.arange(6).reshape(2, 3).T},
]


def same(a, b):
    if isinstance(a, Tensor | np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_saved_values_are_restored(value, tmp_path):
    torch.save(value, tmp_path / "value.pt")
    assert same(value, torch.load(tmp_path / "value.pt", map_location="cpu", weights_only=True))
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    assert same(value, torch.load(buffer)) and buffer.getvalue() == (tmp_path / "value.pt").read_bytes()


def test_a_state_dict_is_a_file_of_weights(tmp_path):
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    arrays = files.load_file(tmp_path / "model.pt")  # as other programs read it
    assert {name: a.tolist() for name, a in arrays.items()} == {n: t.tolist() for n, t in model.state_dict().items()}
    load_weights(other, tmp_path / "model.pt")
    assert same(dict(model.state_dict()), dict(other.state_dict()))
    save_weights(model, tmp_path / "weights.safetensors")
    assert nn.Linear(3, 2).load_state_dict(torch.load(tmp_path / "weights.safetensors")) == ([], [])
    files.save_file({"x": np.arange(3)}, tmp_path / "theirs.safetensors")
    assert torch.load(tmp_path / "theirs.safetensors")["x"].tolist() == [0, 1, 2]


def test_requires_grad_is_restored(tmp_path):
    torch.save([nn.Parameter(Tensor([1.0])), Tensor([1.0], requires_grad=True), Tensor([1.0])], tmp_path / "x")
    assert [t.requires_grad for t in torch.load(tmp_path / "x")] == [True, True, False]


def test_save_refuses_modules_optimizers_and_other_objects(tmp_path):
    model, loop = nn.Linear(2, 2), []
    loop.append(loop)
    for value, text in ((model, r"save: the value is a Linear; save its state_dict\(\)"),
                        ({"opt": [optim.SGD(model.parameters(), 0.1)]}, r"save: opt/0 is a SGD; save its state_dict"),
                        ({"f": print}, "save: f is a builtin_function_or_method; a file holds"),
                        ({1, 2}, "save: the value is a set"), (np.array([1j]), "array of complex128")):
        with pytest.raises(TypeError, match=text):
            torch.save(value, tmp_path / "x")
    with pytest.raises(ValueError, match="nested too deep, or contains itself"):
        torch.save(loop, tmp_path / "x")
    assert not list(tmp_path.iterdir())
    with pytest.raises(OSError, match="save: .* could not be written"):
        torch.save(1, tmp_path)


def test_load_refuses_other_files_and_damage(tmp_path):
    with pytest.raises(FileNotFoundError, match="load: there is no file"):
        torch.load(tmp_path / "none.pt")
    (tmp_path / "theirs.pt").write_bytes(b"PK\3\4" + bytes(100))
    with pytest.raises(ValueError, match="load: .*theirs.pt is a torch.save file, a pickle.*save_file"):
        torch.load(tmp_path / "theirs.pt")
    save_checkpoint(tmp_path / "run.ckpt", epoch=3)
    with pytest.raises(ValueError, match="load: .*run.ckpt was written by save_checkpoint; use load_checkpoint"):
        torch.load(tmp_path / "run.ckpt")
    (tmp_path / "other.pt").write_bytes(b"".join(serialized("save", {}, {"format": VALUE, "tree": '[{"tuple": 3}'})))
    with pytest.raises(ValueError, match="load: .*other.pt is damaged, or written by another program: its tree"):
        torch.load(tmp_path / "other.pt")
    torch.save({"x": Tensor([1.0])}, tmp_path / "new" / "folders" / "x.pt")
    assert not int.from_bytes((tmp_path / "new" / "folders" / "x.pt").read_bytes()[:8], "little") % 8  # arrays align
    torch.save({"x": Tensor([1.0])}, tmp_path / "x.pt")
    content = (tmp_path / "x.pt").read_bytes()
    for at in (-1, len(content) // 2):
        damaged = bytearray(content)
        damaged[at] ^= 1
        with pytest.raises(ValueError, match="load: the file is damaged"):
            torch.load(io.BytesIO(bytes(damaged)))
