import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor, manual_seed


def model(kind="lstm", **options):
    manual_seed(0)
    return nn.RecurrentLanguageModel(11, 16, 2, kind, **options)


def tokens(*shape):
    return Tensor(np.random.default_rng(1).integers(0, 11, shape))


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_logits_see_only_the_past_and_the_state_holds_it(kind):
    net, x = model(kind), tokens(3, 9)
    y = net(x).detach().numpy()
    assert y.shape == (3, 9, 11)
    changed = x.numpy().copy()
    changed[:, 6:] = (changed[:, 6:] + 1) % 11
    z = net(Tensor(changed)).detach().numpy()
    np.testing.assert_allclose(z[:, :6], y[:, :6], rtol=1e-5, atol=1e-6)
    assert np.abs(z[:, 6:] - y[:, 6:]).max() > 1e-3
    _, state = net.read(x[:, :5])
    np.testing.assert_allclose(net.read(x[:, 5:], state)[0].detach().numpy(), y[:, 5:], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_recurrent_one_learns_a_sequence(kind):
    net = model(kind)
    x = Tensor(np.arange(33) * 3 % 11)[None]
    optimizer = optim.AdamW(net.parameters(), lr=2e-2)
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[:, :-1]).reshape(-1, 11), x[0, 1:])
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.2
    assert net.generate(Tensor([0, 3]), 6, temperature=0).tolist() == [0, 3, 6, 9, 1, 4, 7, 10]


def test_generating():
    net = model(dropout=0.5)
    for prompt in (tokens(2, 5), tokens(1)):
        a, b = (net.generate(prompt, 8, temperature=0).numpy() for _ in range(2))
        np.testing.assert_array_equal(a, b)
        assert a.shape == (*prompt.shape[:-1], prompt.shape[-1] + 8) and net.training
        np.testing.assert_array_equal(a[..., : prompt.shape[-1]], prompt.numpy())
        expected = net.eval()(Tensor(a[..., :-1].reshape(-1, a.shape[-1] - 1))).detach().numpy().argmax(-1)
        np.testing.assert_array_equal(a.reshape(-1, a.shape[-1])[:, -8:], expected[:, -8:])
        net.train()


def test_errors():
    with pytest.raises(ValueError, match="RecurrentLanguageModel: kind must be one of rnn, lstm, gru, got 'gpt'"):
        model("gpt")
    with pytest.raises(ValueError, match="generate: the prompt must be"):
        model().generate(Tensor([], dtype="int64"), 1)
