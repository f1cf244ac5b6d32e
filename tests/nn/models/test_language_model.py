import numpy as np
import pytest

import nn
import optim
from nn.models.language_model import sample
from tinygrad_like import Tensor, manual_seed

SETTINGS = {
    "learned": {}, "sinusoidal": {"positions": "sinusoidal"},
    "rotary": {"positions": "rotary", "norm": nn.RMSNorm, "activation": "swiglu", "bias": False},
    "none": {"positions": None, "tied": False},
}


def model(**options):
    manual_seed(0)
    return nn.LanguageModel(11, 16, 2, 4, max_length=40, **options)


@pytest.fixture(params=SETTINGS)
def options(request):
    return SETTINGS[request.param]


def tokens(*shape):
    return Tensor(np.random.default_rng(1).integers(0, 11, shape))


def test_logits_see_only_the_past(options):
    net, x = model(**options), tokens(3, 9)
    y = net(x).detach().numpy()
    assert y.shape == (3, 9, 11)
    changed = x.numpy().copy()
    changed[:, 6:] = (changed[:, 6:] + 1) % 11
    z = net(Tensor(changed)).detach().numpy()
    np.testing.assert_allclose(z[:, :6], y[:, :6], rtol=1e-5, atol=1e-6)
    assert np.abs(z[:, 6:] - y[:, 6:]).max() > 1e-3


def test_it_learns_a_sequence(options):
    net = model(**options)
    x = Tensor(np.arange(33) * 3 % 11)[None]
    optimizer = optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[:, :-1]).reshape(-1, 11), x[0, 1:])
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.2
    assert net.generate(Tensor([0, 3]), 6, temperature=0).tolist() == [0, 3, 6, 9, 1, 4, 7, 10]


def test_a_cache_changes_nothing_but_time(options):
    net = model(**options)
    for prompt in (tokens(2, 5), tokens(1)):
        for how in ({"temperature": 0}, {}, {"top_k": 4, "temperature": 1.5}, {"top_p": 0.7}):
            manual_seed(3)
            a = net.generate(prompt, 25, **how).numpy()
            manual_seed(3)
            b = net.generate(prompt, 25, use_cache=False, **how).numpy()
            np.testing.assert_array_equal(a, b)
            assert a.shape == (*prompt.shape[:-1], prompt.shape[-1] + 25)
            np.testing.assert_array_equal(a[..., : prompt.shape[-1]], prompt.numpy())


def test_generating_runs_without_dropout_and_leaves_the_mode():
    net = model(dropout=0.5)
    a, b = (net.generate(tokens(2, 4), 8, temperature=0).numpy() for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert net.training and net.layers[0].training
    net.eval()
    net.generate(tokens(2, 4), 2)
    assert not net.training
    net.layers[1].train()
    with pytest.raises(ValueError, match="which has 40"):
        net.generate(tokens(1, 38), 5)
    assert net.layers[1].training and not net.layers[0].training


def test_the_output_layer_is_tied():
    net = model()
    assert net.head is None and not any("head" in n for n in net.state_dict())
    x = net.norm(net.layers[1](net.layers[0](net.positions(net.embedding(tokens(1, 4))), is_causal=True),
                               is_causal=True))
    np.testing.assert_allclose(net(tokens(1, 4)).data, (x @ net.embedding.weight.T).data, rtol=1e-4, atol=1e-5)
    assert model(tied=False).head.weight.shape == (11, 16)


def test_sampling_follows_the_distribution():
    manual_seed(0)
    p = np.array([0.5, 0.3, 0.15, 0.05])
    logits = np.tile(np.log(p), (20000, 1))

    def shares(**how):
        return np.bincount(sample(logits, **how), minlength=4) / 20000

    np.testing.assert_allclose(shares(), p, atol=0.015)
    np.testing.assert_allclose(shares(top_k=2), [0.625, 0.375, 0, 0], atol=0.015)
    np.testing.assert_allclose(shares(top_p=0.81), [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0], atol=0.015)
    np.testing.assert_allclose(shares(top_p=0.79), [0.625, 0.375, 0, 0], atol=0.015)
    np.testing.assert_allclose(shares(temperature=0.5), p**2 / (p**2).sum(), atol=0.015)
    assert shares(temperature=0)[0] == shares(top_k=1)[0] == shares(top_p=1e-9)[0] == 1


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: model()(tokens(1, 41)), ValueError, "positions 0 to 40 .* which has 40"),
    (lambda: model().generate(tokens(1, 38), 5), ValueError, "which has 40"),
    (lambda: model()(Tensor([[3, 11]])), IndexError, r"index 11 at position \(0, 1\) .* 11 rows \(0 to 10\)"),
    (lambda: model(positions="learnt"), ValueError, "positions must be learned, sinusoidal, rotary or None"),
    (lambda: nn.LanguageModel(11, 16, 2, 3), ValueError, "num_heads=3 must divide embed_dim=16"),
    (lambda: model().generate(Tensor([], dtype="int64"), 1), ValueError, r"the prompt must be .* got shape \(0,\)"),
    (lambda: model().generate(tokens(3), 1, temperature=-1), ValueError, "temperature must be at least 0"),
    (lambda: model().generate(tokens(3), 1, top_p=0), ValueError, r"top_p in \(0, 1\]; got 1.0, None, 0"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
