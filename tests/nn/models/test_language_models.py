"""Language models with attention and recurrent ones, and a sequence-to-sequence model."""

import numpy as np
import pytest

import nn
import optim
from demos.networks import RecurrentLanguageModel, Seq2Seq
from nn.models.language_model import sample
from optim.schedule import cosine
from tinygrad_like import Tensor, manual_seed

KINDS = {
    "learned": {}, "sinusoidal": {"positions": "sinusoidal"},
    "rotary": {"positions": "rotary", "norm": nn.RMSNorm, "activation": "swiglu", "bias": False},
    "none": {"positions": None, "tied": False}, "rnn": "rnn", "lstm": "lstm", "gru": "gru"}
PAD, START, END = 0, 1, 2


def model(kind="learned", **options):
    manual_seed(0)
    how = KINDS[kind]
    if isinstance(how, str):
        return RecurrentLanguageModel(11, 16, 2, how, **options)
    return nn.LanguageModel(11, 16, 2, 4, max_length=40, **{**how, **options})


def tokens(*shape):
    return Tensor(np.random.default_rng(1).integers(0, 11, shape))


@pytest.mark.parametrize("kind", KINDS)
def test_logits_depend_only_on_the_past(kind):
    net, x = model(kind), tokens(3, 9)
    y = net(x).detach().numpy()
    assert y.shape == (3, 9, 11)
    changed = x.numpy().copy()
    changed[:, 6:] = (changed[:, 6:] + 1) % 11
    z = net(Tensor(changed)).detach().numpy()
    np.testing.assert_allclose(z[:, :6], y[:, :6], rtol=1e-5, atol=1e-6)
    assert np.abs(z[:, 6:] - y[:, 6:]).max() > 1e-3
    if isinstance(KINDS[kind], str):  # the state holds the past
        _, state = net.read(x[:, :5])
        np.testing.assert_allclose(net.read(x[:, 5:], state)[0].detach().numpy(), y[:, 5:], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "rnn"])
def test_a_language_model_learns_a_sequence(kind):
    net = model(kind)
    x = Tensor(np.arange(33) * 3 % 11)[None]
    optimizer = optim.AdamW(net.parameters(), lr=2e-2 if isinstance(KINDS[kind], str) else 1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[:, :-1]).reshape(-1, 11), x[0, 1:])
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.2
    assert net.generate(Tensor([0, 3]), 6, temperature=0).tolist() == [0, 3, 6, 9, 1, 4, 7, 10]


@pytest.mark.parametrize("kind", [kind for kind, how in KINDS.items() if isinstance(how, dict)])
def test_a_cache_changes_no_generated_token(kind):
    net = model(kind)
    for prompt in (tokens(2, 5), tokens(1)):
        for how in ({"temperature": 0}, {}, {"top_k": 4, "temperature": 1.5}, {"top_p": 0.7}):
            found = []
            for cache in True, False:
                manual_seed(3)
                found.append(net.generate(prompt, 25, use_cache=cache, **how).numpy())
            np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("kind", ["learned", "lstm"])
def test_greedy_generation_uses_no_dropout_and_keeps_the_mode(kind):
    net = model(kind, dropout=0.5)
    for prompt in (tokens(2, 5), tokens(1)):
        a = net.generate(prompt, 8, temperature=0).numpy()
        assert a.shape == (*prompt.shape[:-1], prompt.shape[-1] + 8) and all(m.training for m in net.modules())
        np.testing.assert_array_equal(a[..., : prompt.shape[-1]], prompt.numpy())
        expected = net.eval()(Tensor(a[..., :-1].reshape(-1, a.shape[-1] - 1))).detach().numpy().argmax(-1)
        np.testing.assert_array_equal(a.reshape(-1, a.shape[-1])[:, -8:], expected[:, -8:])
        net.train()


@pytest.mark.parametrize("net, fail", [
    (lambda: model(), lambda net: net.generate(tokens(1, 38), 5)),
    (lambda: Seq2Seq(12, 12, 8, 2, 1, 16), lambda net: net.generate(Tensor([[30, 4]]), START, END)),
    (lambda: Seq2Seq(12, 12, 8, 2, 1, 16), lambda net: net.generate(Tensor([[3, 4]]), 99, END))])
def test_each_module_keeps_its_mode_even_after_an_error(net, fail):
    net = net()
    list(net.modules())[3].eval()
    modes = [m.training for m in net.modules()]
    with pytest.raises((ValueError, IndexError)):
        fail(net)
    assert [m.training for m in net.modules()] == modes and set(modes) == {True, False}
    net.generate(*((tokens(1, 3), 2) if isinstance(net, nn.LanguageModel) else (Tensor([[3, 4]]), START, END)))
    assert [m.training for m in net.modules()] == modes


def test_weights_at_the_end_of_a_residual_branch_start_smaller():
    for name, p in nn.LanguageModel(100, 64, 8, 2).named_parameters():
        if p.ndim > 1:
            std = 0.02 / 16**0.5 if name.endswith(("linear2.weight", "out_proj.weight")) else 0.02
            assert p.detach().numpy().std() == pytest.approx(std, rel=0.05), name


def test_the_output_layer_is_tied():
    net = model()
    assert net.head is None and not any("head" in n for n in net.state_dict())
    x = net.norm(net.layers[1](net.layers[0](net.positions(net.embedding(tokens(1, 4))), is_causal=True),
                               is_causal=True))
    np.testing.assert_allclose(net(tokens(1, 4))._data, (x @ net.embedding.weight.T)._data, rtol=1e-4, atol=1e-5)
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


def test_padding_the_source_changes_nothing():
    net = Seq2Seq(12, 12, 32, 4, 1, 64, dropout=0.0, padding_idx=PAD)
    source, target = Tensor([[4, 5, 6]]), Tensor([[START, 6, 5]])
    y = net(source, target).detach().numpy()
    assert y.shape == (1, 3, 12)
    np.testing.assert_allclose(net(Tensor([[4, 5, 6, PAD, PAD]]), target).detach().numpy(), y, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(net(source, Tensor([[START, 6, 9]]))._data[:, :2], y[:, :2], rtol=1e-4, atol=1e-5)


def test_seq2seq_learns_to_reverse():
    manual_seed(0)
    net, rng = Seq2Seq(12, 12, 32, 4, 1, 64, dropout=0.0, padding_idx=PAD), np.random.default_rng(0)
    optimizer = optim.AdamW(net.parameters(), lr=cosine(3e-3, 250))
    for _ in range(250):
        words = rng.integers(3, 12, (32, 4))
        target = np.concatenate([np.full((32, 1), START), words[:, ::-1], np.full((32, 1), END)], 1)
        optimizer.zero_grad()
        logits = net(Tensor(words), Tensor(target[:, :-1]))
        nn.functional.cross_entropy(logits.reshape(-1, 12), Tensor(target[:, 1:].ravel())).backward()
        optimizer.step()
    words = rng.integers(3, 12, (20, 4))
    found = net.generate(Tensor(words), START, END, max_new_tokens=8).numpy()
    correct = (found[:, 1:5] == words[:, ::-1]).all(1) & (found[:, 5] == END)
    assert found.shape[1] <= 9 and correct.mean() >= 0.9


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: model()(tokens(1, 41)), ValueError, "positions 0 to 40 .* the table of 40"),
    (lambda: model().generate(tokens(1, 38), 5), ValueError, "the table of 40"),
    (lambda: model()(Tensor([[3, 11]])), IndexError, r"index 11 is out of range for axis 0 of size 11"),
    (lambda: model(positions="learnt"), ValueError, "positions must be learned, sinusoidal, rotary or None"),
    (lambda: nn.LanguageModel(11, 16, 2, 3), ValueError, "num_heads=3 must divide embed_dim=16"),
    (lambda: model().generate(Tensor([], dtype="int64"), 1), ValueError, r"the prompt must be .* got shape \(0,\)"),
    (lambda: model("gru").generate(Tensor([], dtype="int64"), 1), ValueError, "the prompt must be"),
    (lambda: model().generate(tokens(3), 1, temperature=-1), ValueError, "temperature must be at least 0"),
    (lambda: model().generate(tokens(3), 1, top_p=0), ValueError, r"top_p in \(0, 1\]; got 1.0, None, 0"),
    (lambda: RecurrentLanguageModel(11, 16, 2, "gpt"), ValueError, "kind must be one of rnn, lstm, gru, got 'gpt'"),
])
def test_bad_arguments_raise(call, error, text):
    with pytest.raises(error, match=text):
        call()
