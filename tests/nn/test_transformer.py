import numpy as np
import pytest

import nn
import nn.functional as F
from tinygrad_like import Tensor, ops

rng = np.random.default_rng(0)


def some(*shape):
    return Tensor(rng.standard_normal(shape), dtype="float32")


def encoder_layer(**options):
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, **options)


def test_feed_forward_equals_its_equation():
    layer, x = nn.FeedForward(6), some(2, 3, 6)
    assert layer.linear1.weight.shape == (24, 6)
    np.testing.assert_array_equal(layer(x).detach().numpy(), layer.linear2(F.relu(layer.linear1(x))).detach().numpy())
    layer = nn.FeedForward(6, activation="swiglu", bias=False)
    value, gate = layer.linear1.weight.chunk(2)
    expected = (x @ value.T * F.silu(x @ gate.T)) @ layer.linear2.weight.T
    np.testing.assert_allclose(layer(x).detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    for activation in ("relu", "gelu", "swiglu"):  # 8 d^2 weights whatever the activation (003)
        layer = nn.FeedForward(12, activation=activation, bias=False)
        assert sum(p.size for p in layer.parameters()) == 8 * 12**2
    assert nn.FeedForward(6, 5, ops.tanh)(x).shape == x.shape
    with pytest.raises(ValueError, match="FeedForward: activation must be one of relu, gelu, .* got 'rleu'"):
        nn.FeedForward(6, activation="rleu")


@pytest.mark.parametrize("make", [nn.LayerNorm, nn.RMSNorm])
def test_norms_may_come_first_last_or_both(make):
    x = some(2, 5, 8)

    def attend(layer, x):
        return layer.self_attn(x, need_weights=False)[0]

    post = encoder_layer(norm=make)
    y = post.norm1(x + attend(post, x))
    np.testing.assert_allclose(post(x)._data, post.norm2(y + post.feed_forward(y))._data, rtol=1e-5, atol=1e-5)
    pre = encoder_layer(norm_first=True, residual_scale=0.5, norm=make)
    y = x + 0.5 * attend(pre, pre.norm1(x))
    np.testing.assert_allclose(pre(x)._data, (y + 0.5 * pre.feed_forward(pre.norm2(y)))._data, rtol=1e-5, atol=1e-5)
    both = encoder_layer(sandwich=True, norm=make)
    y = both.norm1_after(x + attend(both, both.norm1(x)))
    y = both.norm2_after(y + both.feed_forward(both.norm2(y)))
    np.testing.assert_allclose(both(x).detach().numpy(), y.detach().numpy(), rtol=1e-5, atol=1e-5)
    assert isinstance(both.norm2_after, make)


def test_zero_init_starts_as_the_identity_and_learns():
    x, memory = some(2, 5, 8), some(2, 3, 8)
    for layer, inputs in [(encoder_layer(norm_first=True, zero_init=True), (x,)),
                          (nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=True, zero_init=True),
                           (x, memory))]:
        y = layer(*inputs)
        np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy())
        y.square().sum().backward()
        assert np.abs(layer.linear2.weight.grad.numpy()).sum() > 0
        assert np.abs(layer.self_attn.out_proj.weight.grad.numpy()).sum() > 0


def test_causal_layers_ignore_the_future():
    x = some(1, 6, 8)
    changed = Tensor(np.where(np.arange(6)[:, None] < 4, x.numpy(), 9), dtype="float32")
    layer, memory = encoder_layer(), some(1, 3, 8)
    np.testing.assert_allclose(layer(x, is_causal=True)._data[:, :4], layer(changed, is_causal=True)._data[:, :4],
                               rtol=1e-5)
    layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    np.testing.assert_allclose(layer(x, memory, tgt_is_causal=True).detach().numpy()[:, :4],
                               layer(changed, memory, tgt_is_causal=True).detach().numpy()[:, :4], rtol=1e-5)
    assert not np.allclose(layer(x, memory).detach().numpy()[:, :4], layer(changed, memory).detach().numpy()[:, :4])


OPTIONS = [{}, {"norm_first": True, "activation": "gelu"}, {"batch_first": True, "bias": False}]


def compare(ours, theirs, ours_inputs, theirs_inputs, arrays, **kwargs):
    torch = pytest.importorskip("torch")
    assert set(ours.state_dict()) == set(theirs.state_dict())
    ours.load_state_dict({n: Tensor(p.detach().numpy()) for n, p in theirs.state_dict().items()})
    xs = [Tensor(a, requires_grad=True) for a in arrays]
    ts = [torch.tensor(a, requires_grad=True) for a in arrays]
    y, t = ours(*xs, **ours_inputs), theirs(*ts, **theirs_inputs)
    np.testing.assert_allclose(y.detach().numpy(), t.detach().numpy(), rtol=1e-4, atol=1e-5)
    g = rng.standard_normal(y.shape).astype(np.float32)
    names = dict(theirs.named_parameters())
    found = y.gradient(*xs, *ours.parameters(), gradient=g)
    expected = torch.autograd.grad(t, [*ts, *(names[n] for n, _ in ours.named_parameters())], torch.tensor(g))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-3, atol=1e-4 * max(1, np.abs(b.numpy()).max()))


def masks(length, total):
    """Boolean masks for both frameworks that leave every query a key."""
    mask, padding = rng.random((length, total)) < 0.3, rng.random((3, total)) < 0.3
    mask[:, 0] = padding[:, 0] = False
    return mask, padding


def both(**arrays):
    torch = pytest.importorskip("torch")
    return {n: Tensor(a) for n, a in arrays.items()}, {n: torch.tensor(a) for n, a in arrays.items()}


@pytest.mark.torch
@pytest.mark.parametrize("options", OPTIONS)
def test_the_encoder_layer_equals_pytorchs(options):
    torch = pytest.importorskip("torch")
    mask, padding = masks(5, 5)
    ours_in, theirs_in = both(src_mask=mask, src_key_padding_mask=padding)
    x = rng.standard_normal((3, 5, 12) if options.get("batch_first") else (5, 3, 12)).astype(np.float32)
    compare(nn.TransformerEncoderLayer(12, 3, 20, 0.0, **options),
            torch.nn.TransformerEncoderLayer(12, 3, 20, 0.0, **options), ours_in, theirs_in, [x])


@pytest.mark.torch
@pytest.mark.parametrize("options", OPTIONS)
def test_the_decoder_layer_equals_pytorchs(options):
    torch = pytest.importorskip("torch")
    (mask, padding), (mask2, padding2) = masks(5, 5), masks(5, 7)
    ours_in, theirs_in = both(tgt_mask=mask, tgt_key_padding_mask=padding, memory_mask=mask2,
                              memory_key_padding_mask=padding2)
    arrays = [rng.standard_normal((n, 3, 12)).astype(np.float32) for n in (5, 7)]
    if options.get("batch_first"):
        arrays = [a.swapaxes(0, 1).copy() for a in arrays]
    compare(nn.TransformerDecoderLayer(12, 3, 20, 0.0, **options),
            torch.nn.TransformerDecoderLayer(12, 3, 20, 0.0, **options), ours_in, theirs_in, arrays)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_the_transformer_equals_pytorchs():
    torch = pytest.importorskip("torch")
    arrays = [rng.standard_normal((n, 3, 12)).astype(np.float32) for n in (7, 5)]
    causal = np.triu(np.ones((5, 5), bool), 1)
    compare(nn.Transformer(12, 3, 2, 2, 20, 0.0), torch.nn.Transformer(12, 3, 2, 2, 20, 0.0),
            {"tgt_is_causal": True}, {"tgt_mask": torch.tensor(causal)}, arrays)


def test_a_square_subsequent_mask_is_causal():
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    assert mask.tolist() == [[0, -np.inf, -np.inf], [0, 0, -np.inf], [0, 0, 0]] and mask.dtype == np.float32
    model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0)
    src, tgt = Tensor.randn(4, 2, 8), Tensor.randn(3, 2, 8)
    np.testing.assert_allclose(model(src, tgt, tgt_mask=mask).detach().numpy(),
                               model(src, tgt, tgt_is_causal=True).detach().numpy(), rtol=1e-5, atol=1e-6)
