import numpy as np
import pytest

import nn
import optim
from optim.schedule import cosine
from tinygrad_like import Tensor, manual_seed

PAD, START, END = 0, 1, 2


def model():
    manual_seed(0)
    return nn.Seq2Seq(12, 12, 32, 4, 1, 64, dropout=0.0, padding_idx=PAD)


def test_padding_of_the_source_changes_nothing():
    net = model()
    source, target = Tensor([[4, 5, 6]]), Tensor([[START, 6, 5]])
    y = net(source, target).detach().numpy()
    assert y.shape == (1, 3, 12)
    np.testing.assert_allclose(net(Tensor([[4, 5, 6, PAD, PAD]]), target).detach().numpy(), y, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(net(source, Tensor([[START, 6, 9]])).data[:, :2], y[:, :2], rtol=1e-4, atol=1e-5)


def test_it_learns_to_reverse():
    net, rng = model(), np.random.default_rng(0)
    optimizer = optim.AdamW(net.parameters(), lr=cosine(3e-3, 250))
    for _ in range(250):
        words = rng.integers(3, 12, (32, 4))
        target = np.concatenate([np.full((32, 1), START), words[:, ::-1], np.full((32, 1), END)], 1)
        optimizer.zero_grad()
        logits = net(Tensor(words), Tensor(target[:, :-1]))
        loss = nn.functional.cross_entropy(logits.reshape(-1, 12), Tensor(target[:, 1:].ravel()))
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    words = rng.integers(3, 12, (20, 4))
    found = net.generate(Tensor(words), START, END, max_new_tokens=8).numpy()
    correct = (found[:, 1:5] == words[:, ::-1]).all(1) & (found[:, 5] == END)
    assert found.shape[1] <= 9 and correct.mean() >= 0.9
    assert net.training


def test_generating_leaves_the_mode_of_each_module_also_after_an_error():
    net = nn.Seq2Seq(12, 12, 8, 2, 1, 16)
    net.transformer.encoder.eval()
    modes = [m.training for m in net.modules()]
    net.generate(Tensor([[3, 4]]), START, END, max_new_tokens=2)
    assert [m.training for m in net.modules()] == modes and set(modes) == {True, False}
    for bad, start in (([[30, 4]], START), ([[3, 4]], 99)):  # in the encoder, and in the decoder
        with pytest.raises(IndexError):
            net.generate(Tensor(bad), start, END)
        assert [m.training for m in net.modules()] == modes
