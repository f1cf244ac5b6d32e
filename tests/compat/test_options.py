"""Options, devices and functions under their names in PyTorch, NumPy and tinygrad."""

import importlib
import re

import numpy as np
import pytest

import nn
import nn.functional as F
import optim
import tinygrad_like as tg
from tinygrad_like import Tensor, data, ops
from tinygrad_like.compat.absent import ABSENT
from tinygrad_like.methods import of_ops as methods


def x23():
    return Tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])


def test_help_shows_the_original_method():
    assert Tensor.sum.__wrapped__.__code__.co_filename == methods.__file__ and Tensor.clip is Tensor.clamp
    assert Tensor.sum.__qualname__ == "Tensor.sum" and Tensor.view is Tensor.reshape


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: x.sum(dim=0, axis=1), "sum: dim and axis are the same; give one of them"),
    (lambda x: x.flip(axis=0, dim=1), "flip: dim and axis are the same; give one of them"),
    (lambda x: x.norm(p=x), "norm: p must be a number, inf or 'fro', got Tensor"),
    (lambda x: x.flip(0, axis=1), "flip: axis is given twice, by position and by name"),
    (lambda x: x.flip(by=1), "flip: unknown argument 'by'; it takes axis"),
    (lambda x: x.sum(dims_=0), "sum: unknown argument 'dims_'; it takes axis, keepdim"),
    (lambda x: ops.sum(x, out=5), "sum: out=5.* is not supported; leave it out"),
    (lambda x: F.relu(x, inplace="yes"), "inplace='yes' is not supported"),
    (lambda x: nn.Linear(2, 2, dim=3), "Linear.*dim"), (lambda x: F.gelu(1j), "gelu: takes real numbers"),
    (lambda x: ops.add(1, np.complex64(1j)), "add: takes real numbers, got complex"),
    (lambda x: x.long().fill_(1j), "fill_: a Tensor holds real numbers, got 1j"),
    (lambda x: x.assign([1j] * 6), "assign: cannot hold list data of dtype complex128"),
    (lambda x: x.max(axis=1).indices, r"write x.max\(dim=1\), which returns values and indices"),
    (lambda x: x.cuda(), "there is only the CPU; leave it out"),
    (lambda x: tg.save(print, "file"), "save: the value is a builtin_function_or_method; a file holds"),
    (lambda x: tg.nothing, "module 'tinygrad_like' has no attribute 'nothing'"),
    (lambda x: x.nothing, "'Tensor' object has no attribute 'nothing'"),
])
def test_wrong_options_and_names_raise(call, text):
    with pytest.raises((TypeError, AttributeError), match=text):
        call(x23())


def test_hooks_are_removed_as_in_pytorch():
    x, seen = Tensor([1.0], requires_grad=True), []
    for remove in (lambda h: h.remove(), lambda h: h(), lambda h: h.__enter__().__exit__(None, None, None)):
        for y in (x, x * 2):
            handle = y.register_hook(lambda g: seen.append(1))
            (y * 1).sum().backward()
            remove(handle)
            remove(handle)  # harmless
            (y * 1).sum().backward() if y is x else None
        assert len(seen) == 2
        seen.clear()
    assert (x * 2).grad_fn.op.name == "mul" and x.grad_fn is None


def test_other_devices_raise():
    model = nn.Linear(2, 3)
    for call in (lambda: x23().to("cuda"), lambda: tg.device("cuda:0"), lambda: tg.zeros(2, device="mps"),
                 lambda: model.to("cuda"), lambda: nn.Linear(2, 2, device="cuda"), lambda: Tensor([1.0], device="mps")):
        with pytest.raises(RuntimeError, match="there is only the CPU, not '(cuda|mps)"):
            call()
    assert model.to("cpu") is model and model.to(tg.device("cpu")).cpu() is model
    assert x23().device == "cpu" and x23().device.type == "cpu" and not tg.cuda.is_available()
    device = tg.device("cuda" if tg.cuda.is_available() else "cpu")
    x = x23()
    assert x.to(device) is x and x.to(x.dtype) is x and tg.zeros(2, device=device).device == device
    assert Tensor([1.0], device=device).tolist() == [1]


def test_layers_take_device_dtype_and_inplace():
    layer = nn.Linear(2, 3, device="cpu", dtype=tg.float64)
    assert layer.weight.dtype == tg.float64
    assert repr(nn.ReLU(inplace=True)) == repr(nn.ReLU(True)) == "ReLU(inplace=True)"
    assert nn.LeakyReLU(0.2, inplace=True).negative_slope == nn.LeakyReLU(0.2, True).negative_slope == 0.2
    assert nn.Dropout(0.3, inplace=True).p == 0.3
    with pytest.raises(TypeError):
        nn.Linear(2, 3, True, "float32", 3)
    optim.Adam(layer.parameters(), lr=0.1, fused=True, foreach=None)


def test_size_is_a_number_and_a_method():
    x = x23()
    assert x.size == 6 and x.size() == (2, 3) and x.size(0) == 2 and x.size(-1) == x.size(dim=1) == 3
    assert x.size // 2 == 3 and type(x.size // 2) is int and f"{x.size}" == "6"
    with pytest.raises(IndexError, match="size: axis 2 is out of range"):
        x.size(2)
    assert x.dim() == 2 and x.nelement() == x.numel() == 6 and x.element_size() == 4


def test_max_and_min_with_dim_return_values_and_indices():
    x = x23()
    for pair in x.max(1), x.max(dim=1), tg.max(x, 1), tg.max(x.numpy(), dim=1), x.cummax(1)[0].max(dim=1):
        values, predicted = pair  # PyTorch's call returns PyTorch's pair
        assert values.tolist() == pair[0].tolist() == [5, 6] and pair.indices.tolist() == predicted.tolist() == [1, 2]
    assert x.min(0, keepdim=True)[1].shape == (1, 3) and x.min(dim=0, keepdim=True).indices.shape == (1, 3)
    assert Tensor([[3.0]]).max(1, keepdim=True)[1].tolist() == [[0]] and Tensor([3.0, 4.0]).max(0)[1].item() == 1
    v = Tensor([[1.0, 1.0]], requires_grad=True)
    v.max(1)[0].sum().backward()
    assert v.grad.tolist() == [[1, 0]]  # the first of those that tie, as in PyTorch
    assert tg.min(x).item() == 1 and tg.max(x, x + 1)[0, 0] == 2
    a, b = x.max(axis=1)  # our call returns a Tensor
    assert (a.item(), b.item()) == (5, 6) and x.max(axis=1)[0].item() == 5
    w = Tensor(x, requires_grad=True)
    (w.max(1)[0] * 2).sum().backward()
    assert w.grad.tolist() == [[0, 2, 0], [0, 0, 2]]


def test_random_functions_take_pytorchs_arguments():
    tg.manual_seed(3)
    assert tg.randint(0, 4, (100,)).max().item() == 3 and tg.randint(3, (5,)).shape == (5,)
    assert tg.randint(low=2, high=3, size=(2, 2)).tolist() == [[2, 2], [2, 2]]
    assert tg.normal(5.0, 0.1, size=(50,)).mean().item() == pytest.approx(5, abs=0.1)
    assert tg.normal(tg.zeros(3), tg.ones(3)).shape == (3,)
    assert tg.bernoulli(tg.tensor([0.0, 1.0])).tolist() == [0, 1]
    assert tg.randn(size=(2, 3)).shape == tg.rand(2, 3).shape == (2, 3)
    with pytest.raises(TypeError, match="randint: takes"):
        tg.randint(3, 4)


def test_dtypes_and_constants_have_pytorchs_names():
    assert tg.long == tg.int64 == np.int64 and tg.float == tg.float32 and tg.double == tg.float64 and tg.int == tg.int32
    assert tg.zeros(2, dtype=tg.long).dtype == "int64" and tg.is_tensor(tg.eye(2)) and not tg.is_tensor(2)
    assert tg.finfo(tg.float32).eps == np.finfo(np.float32).eps and tg.inf == np.inf
    from tinygrad_like import cat, eye, full, linspace, ones, randn, zeros  # noqa: F401  each can be imported
    a = np.ones(2, np.float32)
    t = tg.as_tensor(a)
    a[0] = 5
    assert t.tolist() == [5, 1] and tg.as_tensor(t) is t and tg.as_tensor([1, 2]).dtype == tg.int64


def test_autograd_grad_takes_several_outputs():
    x = tg.tensor([0.5, 2.0], requires_grad=True)
    y = x.exp()
    z = (x * y).sum()
    u = tg.tensor([10.0, 1.0])
    dx, dy = tg.autograd.grad([y, z, y, x], [x, y], [u, None, u, u], create_graph=True)  # nested outputs, one twice
    assert np.allclose(dy.data, (2 * u + x).data)  # of z and of both y
    assert np.allclose(dx.data, (y + (2 * u + x) * y + u).data)
    (d2,) = tg.autograd.grad(dx.sum(), x)
    assert np.allclose(d2.data, (y + (2 * u + x + 1) * y).data)
    with pytest.raises(RuntimeError, match="already freed"):
        tg.autograd.grad([y.sum(), z], x)
    for outputs, cotangents, kind, message in (
            ([], None, TypeError, "got nothing"), ([1.0], None, TypeError, "got float"),
            ([x * 2, x], [u], ValueError, "1 cotangents for 2 outputs"),
            ([x * 2, u], [u, u], RuntimeError, "does not require grad")):
        with pytest.raises(kind, match=message):
            tg.autograd.grad(outputs, x, cotangents)


def test_where_nonzero_and_einsum_take_pytorchs_forms():
    x = tg.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
    for rows, columns in (tg.where(x > 0), x.nonzero(as_tuple=True), (x > 0).nonzero(as_tuple=True)):
        assert rows.tolist() == [0, 1] and columns.tolist() == [1, 0]
    assert x.nonzero().tolist() == tg.nonzero(x).tolist() == [[0, 1], [1, 0]]
    assert tg.where(x > 2, x, 1.0).tolist() == [[1, 1], [3, 1]]
    assert tg.empty_like(x).shape == (2, 2) and tg.empty_like(x.double()).dtype == "float64"
    assert tg.einsum("ij,ik->jk", [x, x]).tolist() == tg.einsum("ij,ik->jk", x, x).tolist()


def test_pytorchs_import_lines_work():
    """With tinygrad_like in place of torch."""
    names: dict = {}
    for line in ("import tinygrad_like.nn as n, tinygrad_like.nn.functional as f, tinygrad_like.optim as o",
                 "from tinygrad_like.nn.utils.rnn import pad_sequence",
                 "from tinygrad_like.optim.lr_scheduler import StepLR",
                 "import tinygrad_like.utils.data as data", "from tinygrad_like.utils.checkpoint import checkpoint"):
        exec(line, names)
    assert names["n"] is nn is tg.nn and names["f"] is F and names["o"] is optim
    assert names["data"] is tg.utils.data and names["checkpoint"] is tg.utils.checkpoint.checkpoint is tg.checkpoint


def test_memory_formats_change_nothing():
    x = Tensor.randn(2, 3, 4, 4)
    for kind in (tg.channels_last, tg.contiguous_format, tg.preserve_format):
        for y in (x.to(memory_format=kind), x.contiguous(memory_format=kind), x.clone(memory_format=kind)):
            assert (y == x).all()
        assert tg.zeros_like(x, memory_format=kind).shape == x.shape
    assert nn.Conv2d(3, 2, 1).to(memory_format=tg.channels_last)(x).shape == (2, 2, 4, 4)
    with pytest.raises(TypeError, match="memory_format='wide' is not supported"):
        x.to(memory_format="wide")


@pytest.mark.parametrize("part", [part for part in ABSENT if part not in ("stft", "istft", "complex", "polar")])
def test_importing_a_missing_part_of_pytorch_says_why(part):
    with pytest.raises(ImportError, match=re.escape(f"No module named 'tinygrad_like.{part}': {ABSENT[part]}")):
        importlib.import_module(f"tinygrad_like.{part}")
    if "." not in part:
        with pytest.raises(AttributeError, match=re.escape(f"has no attribute {part!r}; {ABSENT[part]}")):
            getattr(tg, part)


def test_parts_for_other_devices_say_what_is_missing():
    import tinygrad_like.cuda as cuda

    for part in (tg.cuda, cuda):
        with pytest.raises(AttributeError, match="tinygrad_like.cuda' has no attribute 'synchronize'; there is only"):
            part.synchronize()
        assert not hasattr(part, "FloatTensor") and part.is_available() is False
    for call, message in ((lambda: nn.parallel.DistributedDataParallel(nn.ReLU()), "DistributedDataParallel: .*mpirun"),
                          (lambda: data.DistributedSampler([1, 2]), "DistributedSampler: pass DataLoader")):
        with pytest.raises(NotImplementedError, match=message):
            call()
