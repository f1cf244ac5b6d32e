"""Sequences of different lengths: padded, packed, and through recurrent layers, as each of them would go by itself."""

import numpy as np
import pytest

import nn
from nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)
from tinygrad_like import Tensor, gradcheck, gradgradcheck, manual_seed

LENGTHS = [3, 5, 1, 4]
rng = np.random.default_rng(0)
BATCH = rng.standard_normal((4, 5, 3)).astype(np.float32)


def test_padding():
    xs = [Tensor([1.0, 2.0]), Tensor([3.0]), Tensor([4.0, 5.0, 6.0])]
    assert pad_sequence(xs, batch_first=True).tolist() == [[1, 2, 0], [3, 0, 0], [4, 5, 6]]
    assert pad_sequence(xs, padding_value=-1.0).tolist() == [[1, 3, 4], [2, -1, 5], [-1, -1, 6]]
    assert pad_sequence(xs, True, padding_side="left").tolist() == [[0, 1, 2], [0, 0, 3], [4, 5, 6]]
    assert [x.tolist() for x in unpad_sequence(pad_sequence(xs), [2, 1, 3])] == [x.tolist() for x in xs]
    assert pad_sequence([Tensor([1, 2]), Tensor([3])], True, padding_value=9).dtype == np.int64
    assert gradcheck(lambda a, b: pad_sequence([a, b]), np.ones((2, 2)), np.ones((3, 2)))


def test_packing():
    x = Tensor(BATCH)
    packed = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [4, 3, 3, 2, 1] and packed.sorted_indices.tolist() == [1, 3, 0, 2]
    assert packed.data.shape == (13, 3) and packed.data[0].tolist() == BATCH[1, 0].tolist()
    back, lengths = pad_packed_sequence(packed, batch_first=True, padding_value=7.0, total_length=6)
    assert lengths.tolist() == LENGTHS and back.shape == (4, 6, 3)
    for i, n in enumerate(LENGTHS):
        np.testing.assert_array_equal(back[i, :n].numpy(), BATCH[i, :n])
        assert (back[i, n:].numpy() == 7).all()
    again = pack_sequence([x[i, :n] for i, n in enumerate(LENGTHS)], enforce_sorted=False)
    assert again.data.tolist() == packed.data.tolist()
    assert [len(s) for s in unpack_sequence(again)] == LENGTHS
    assert packed.double().data.dtype == np.float64 and packed.to(np.float32).cpu().float().data.dtype == np.float32


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: pack_padded_sequence(x, [3, 5, 1, 4], True), "not in falling order"),
    (lambda x: pack_padded_sequence(x, [3, 5, 1], True, False), "must be 4 integers from 1 to 5"),
    (lambda x: pack_padded_sequence(x, [3, 6, 1, 1], True, False), "must be 4 integers from 1 to 5"),
    (lambda x: pack_padded_sequence(x, [3, 0, 1, 1], True, False), "must be 4 integers"),
    (lambda x: pad_packed_sequence(pack_padded_sequence(x, [5, 4, 3, 1], True), total_length=4), "less than the long"),
    (lambda x: pad_sequence([]), "takes Tensors"), (lambda x: pad_sequence([x[0], x[:, 0, 0]]), "takes Tensors"),
    (lambda x: pad_sequence([x[0]], padding_side="up"), "'right' or 'left'"),
    (lambda x: nn.LSTM(4, 2)(pack_padded_sequence(x, [5, 4, 3, 1], True)), r"must be \(steps, 4\)"),
])
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(Tensor(BATCH))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cls", [nn.RNN, nn.GRU, nn.LSTM])
def test_each_sequence_goes_as_it_would_alone(cls, bidirectional):
    manual_seed(1)
    net = cls(3, 4, num_layers=2, bidirectional=bidirectional).double()
    x = Tensor(BATCH.astype(np.float64))
    cells = 4 if bidirectional else 2
    hx = [Tensor(rng.standard_normal((cells, 4, 4))) for _ in range(net.states)]
    given = tuple(hx) if net.states > 1 else hx[0]
    out, state = net(pack_padded_sequence(x, LENGTHS, True, enforce_sorted=False), given)
    assert isinstance(out, PackedSequence)
    out, _ = pad_packed_sequence(out, batch_first=True)
    states = state if net.states > 1 else (state,)
    for i, n in enumerate(LENGTHS):
        mine = tuple(h[:, i] for h in hx)
        alone, last = net(x[i, :n], mine if net.states > 1 else mine[0])
        np.testing.assert_allclose(out[i, :n].detach().numpy(), alone.detach().numpy(), rtol=1e-12)
        for a, b in zip(states, last if net.states > 1 else (last,), strict=True):
            np.testing.assert_allclose(a[:, i].detach().numpy(), b.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("cls", [nn.GRU, nn.LSTM])
def test_gradients(cls):
    net = cls(2, 2, bidirectional=True).double()

    def f(x):
        out, state = net(pack_padded_sequence(x, [3, 1, 2], enforce_sorted=False))
        return out.data.square().sum() + (state[0] if net.states == 1 else state[1]).sum()

    x = rng.standard_normal((3, 3, 2))
    assert gradcheck(f, x) and gradgradcheck(f, x)


@pytest.mark.torch
@pytest.mark.parametrize("enforce_sorted", [True, False])
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_as_in_pytorch(name, enforce_sorted):
    torch = pytest.importorskip("torch")
    from torch.nn.utils import rnn as theirs

    lengths = sorted(LENGTHS, reverse=True) if enforce_sorted else LENGTHS
    manual_seed(2)
    net = getattr(nn, name)(3, 4, 2, batch_first=True, bidirectional=True)
    other = getattr(torch.nn, name)(3, 4, 2, batch_first=True, bidirectional=True)
    other.load_state_dict({k: torch.tensor(v.detach().numpy()) for k, v in net.state_dict().items()})
    found = []
    for lib, rnn, model in (Tensor, nn.utils.rnn, net), (torch.tensor, theirs, other):
        x = lib(BATCH, requires_grad=True)
        packed = rnn.pack_padded_sequence(x, lib(lengths), batch_first=True, enforce_sorted=enforce_sorted)
        out, state = model(packed)
        padded, n = rnn.pad_packed_sequence(out, batch_first=True)
        h = state[0] if isinstance(state, tuple) else state
        (padded.sin().sum() + (h * h).sum() + (state[-1] if isinstance(state, tuple) else h).sum()).backward()
        found.append([padded, h, x.grad, *[p.grad for p in model.parameters()], out.batch_sizes, n])
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), expected.detach().numpy(), rtol=2e-5, atol=1e-6)
