import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, manual_seed, no_grad
from tinygrad_like.transforms.gradcheck import gradcheck

rng = np.random.default_rng(0)


def some(*shape):
    return Tensor(rng.standard_normal(shape), dtype="float32")


def plain(layer, query, key, value, hidden=None):
    """The equations of 004 in NumPy, batch first; hidden (batch, heads, L, S) is True where a key is masked."""
    e, h = layer.embed_dim, layer.num_heads
    w, b = layer.in_proj_weight.detach().numpy(), layer.in_proj_bias.detach().numpy()
    q, k, v = (x @ w[i * e : (i + 1) * e].T + b[i * e : (i + 1) * e] for i, x in enumerate((query, key, value)))
    heads, weights = [], []
    for i in range(h):
        here = slice(i * e // h, (i + 1) * e // h)
        scores = q[..., here] @ np.swapaxes(k[..., here], -1, -2) / np.sqrt(e // h)
        scores = scores if hidden is None else np.where(hidden[:, i], -np.inf, scores)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        weights.append(p)
        heads.append(p @ v[..., here])
    y = np.concatenate(heads, -1) @ layer.out_proj.weight.detach().numpy().T + layer.out_proj.bias.detach().numpy()
    return y, np.stack(weights, 1)


def test_the_batch_may_be_first_second_or_missing():
    first = nn.MultiheadAttention(8, 2, batch_first=True)
    second = nn.MultiheadAttention(8, 2)
    second.load_state_dict(first.state_dict())
    q, k = some(3, 5, 8), some(3, 4, 8)
    for inputs in [(q, k, k), (q, k, k + 1), (q, q, q)]:
        y, w = first(*inputs)
        swapped = {id(x): x.transpose(0, 1) for x in inputs}
        y2, w2 = second(*[swapped[id(x)] for x in inputs])
        np.testing.assert_allclose(y2.detach().numpy(), y.detach().numpy().swapaxes(0, 1), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(w2.detach().numpy(), w.detach().numpy(), rtol=1e-5, atol=1e-6)
        y3, w3 = second(*[x[0] for x in inputs])
        np.testing.assert_allclose(y3.detach().numpy(), y.detach().numpy()[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(w3.detach().numpy(), w.detach().numpy()[0], rtol=1e-5, atol=1e-6)


def test_masks_hide_where_true():
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = some(3, 5, 8)
    padding = np.zeros((3, 5), bool)
    padding[1, 3:] = padding[2, :2] = True
    future = np.triu(np.ones((5, 5), bool), 1)
    hidden = np.broadcast_to(padding[:, None, None], (3, 2, 5, 5))
    for kwargs, where in [
        ({"key_padding_mask": Tensor(padding)}, hidden),
        ({"attn_mask": Tensor(future)}, np.broadcast_to(future, (3, 2, 5, 5))),
        ({"is_causal": True}, np.broadcast_to(future, (3, 2, 5, 5))),
        ({"attn_mask": Tensor(np.broadcast_to(future, (6, 5, 5)))}, np.broadcast_to(future, (3, 2, 5, 5))),
        ({"key_padding_mask": Tensor(np.where(padding, -np.inf, 0), dtype="float32")}, hidden),
    ]:
        for inputs in [(x,), (x, x + 0, x + 0)]:
            y, w = layer(*inputs, **kwargs)
            expected, weights = plain(layer, x.numpy(), x.numpy(), x.numpy(), where)
            np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(w.detach().numpy(), weights.mean(1), rtol=1e-5, atol=1e-6)
    both = layer(x, key_padding_mask=Tensor(padding[::-1].copy()), attn_mask=Tensor(future[:, ::-1].copy()))[0]._data
    added = layer(x, key_padding_mask=Tensor(padding[::-1].copy()),
                  attn_mask=Tensor(np.where(future[:, ::-1], -np.inf, 0), dtype="float32"))[0].detach().numpy()
    np.testing.assert_allclose(both, added, rtol=1e-5, atol=1e-6)


def test_a_query_without_a_visible_key_returns_the_output_bias():
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    nn.init.normal_(layer.out_proj.bias)
    x = some(1, 4, 8).requires_grad_()
    y, _ = layer(x, key_padding_mask=Tensor(np.ones((1, 4), bool)), need_weights=False)
    np.testing.assert_array_equal(y.detach().numpy(), np.broadcast_to(layer.out_proj.bias.detach().numpy(), (1, 4, 8)))
    y.sum().backward()
    assert (x.grad.numpy() == 0).all()


def test_gradients_are_right():
    layer = nn.MultiheadAttention(4, 2, batch_first=True).double()
    names = [name for name, _ in layer.named_parameters()]
    values = [p.detach() for p in layer.parameters()]
    x, z = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 2, 4))
    for memory in (False, True):
        def f(x, z, *parameters, memory=memory):
            inputs = (x, z, z) if memory else (x,)
            return nn.functional_call(layer, dict(zip(names, parameters, strict=True)), *inputs)[0]

        assert gradcheck(f, x, z, *values) if memory else gradcheck(lambda x, *p: f(x, None, *p), x, *values)


def test_dropout_acts_only_in_training():
    layer = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True)
    x = some(2, 6, 8)
    manual_seed(1)
    a = layer(x)[0].detach().numpy()
    assert not np.array_equal(a, layer(x)[0].detach().numpy())
    manual_seed(1)
    np.testing.assert_array_equal(a, layer(x)[0].detach().numpy())
    layer.eval()
    np.testing.assert_array_equal(layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy())


def test_parameters_have_pytorchs_shapes_and_init():
    layer = nn.MultiheadAttention(64, 4)
    assert {n: p.shape for n, p in layer.named_parameters()} == {
        "in_proj_weight": (192, 64), "in_proj_bias": (192,), "out_proj.weight": (64, 64), "out_proj.bias": (64,)}
    bound = np.sqrt(6 / (64 + 192))
    assert 0.99 * bound < np.abs(layer.in_proj_weight.detach().numpy()).max() <= bound
    assert not layer.in_proj_bias.detach().numpy().any() and not layer.out_proj.bias.detach().numpy().any()
    layer = nn.MultiheadAttention(8, 2, bias=False, kdim=6, vdim=5)
    assert {n: p.shape for n, p in layer.named_parameters()} == {
        "q_proj_weight": (8, 8), "k_proj_weight": (8, 6), "v_proj_weight": (8, 5), "out_proj.weight": (8, 8)}
    y, w = layer(some(3, 2, 8), some(4, 2, 6), some(4, 2, 5))
    assert y.shape == (3, 2, 8) and w.shape == (2, 3, 4)


@pytest.mark.parametrize("rotary", [False, True])
def test_a_cache_returns_the_outputs_of_the_whole_sequence(rotary):
    layer = nn.MultiheadAttention(16, 2, batch_first=True, rotary=nn.RotaryEncoding(8) if rotary else None)
    x = some(2, 150, 16)
    whole = layer(x, is_causal=True, need_weights=False)[0].detach().numpy()
    cache, parts = nn.KeyValueCache(), []
    with no_grad():
        for start, stop in [(0, 1), (1, 2), (2, 70), (70, 149), (149, 150)]:
            parts.append(layer(x[:, start:stop], need_weights=False, cache=cache)[0].numpy())
    np.testing.assert_allclose(np.concatenate(parts, 1), whole, rtol=1e-4, atol=1e-5)
    assert cache.length == 150
    with pytest.raises(ValueError, match="a cache needs a call without masks under no_grad"):
        layer(x, need_weights=False, cache=cache)


@pytest.mark.needs("kernels")
def test_heads_are_read_in_place():
    """One projection, one attention op, one projection: no copies or slices in between."""
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    y = layer(some(2, 4, 8).requires_grad_(), need_weights=False)[0]
    ran, node = [], y.node
    while hasattr(node, "op"):
        ran.append(node.op.name)
        node = node.parents[0]
    assert ran == ["linear", "_self_attention", "linear"]


@pytest.mark.parametrize(("make", "text"), [
    (lambda: nn.MultiheadAttention(10, 3), "num_heads=3 must divide embed_dim=10"),
    (lambda: nn.MultiheadAttention(8, 0), "num_heads=0 must divide embed_dim=8"),
    (lambda: nn.MultiheadAttention(8, 2, rotary=nn.RotaryEncoding(8)), "rotary has dim 8 but a head has size 4"),
    (lambda: nn.MultiheadAttention(8, 2)(some(3, 2, 6)), r"query has shape \(3, 2, 6\) but must be \(length, b"),
    (lambda: nn.MultiheadAttention(8, 2)(some(3, 2, 8), some(3, 8)), r"key has shape \(3, 8\)"),
    (lambda: nn.MultiheadAttention(8, 2)(some(3, 2, 8), some(4, 3, 8)), r"must agree in the batch, axis 1"),
    (lambda: nn.MultiheadAttention(8, 2)(some(3, 2, 8), some(4, 2, 8), some(5, 2, 8)), "v must be .* with S=4 as in k"),
    (lambda: nn.MultiheadAttention(8, 2)(some(3, 2, 8), key_padding_mask=Tensor(np.zeros((3, 2), bool))),
     r"key_padding_mask has shape \(3, 2\) but must be \(batch, keys\) = \(2, 3\)"),
    (lambda: nn.MultiheadAttention(8, 2)(some(3, 2, 8), attn_mask=Tensor(np.zeros((2, 3, 3), bool))),
     r"attn_mask has shape \(2, 3, 3\) but must be \(queries, keys\) = \(3, 3\) or .* = \(4, 3, 3\)"),
])
def test_bad_arguments_raise(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_a_mask_of_integers_is_refused():
    with pytest.raises(TypeError, match="attn_mask must be boolean, True for hidden, or floating, got int64"):
        nn.MultiheadAttention(8, 2)(some(3, 2, 8), attn_mask=Tensor(np.ones((3, 3), int)))


@pytest.mark.torch
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("sizes", [{}, {"kdim": 6, "vdim": 10}])
@pytest.mark.parametrize("bias", [False, True])
def test_values_and_gradients_equal_pytorchs(batch_first, sizes, bias):
    torch = pytest.importorskip("torch")
    theirs = torch.nn.MultiheadAttention(12, 3, bias=bias, batch_first=batch_first, **sizes)
    ours = nn.MultiheadAttention(12, 3, bias=bias, batch_first=batch_first, **sizes)
    ours.load_state_dict({n: Tensor(p.detach().numpy()) for n, p in theirs.state_dict().items()})
    shapes = [(4, 5, 12), (4, 7, sizes.get("kdim", 12)), (4, 7, sizes.get("vdim", 12))]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    arrays = arrays if batch_first else [a.swapaxes(0, 1).copy() for a in arrays]
    padding = rng.random((4, 7)) < 0.3
    padding[:, 0] = False
    mask = rng.random((5, 7)) < 0.3
    mask[:, 0] = False
    for m in (None, mask, np.where(mask, -1.5, 0.3).astype(np.float32),
              np.repeat(mask[None], 12, 0) & (rng.random((12, 5, 7)) < 0.5)):
        for p in (None, padding):
            for average in (False, True):
                xs = [Tensor(a, requires_grad=True) for a in arrays]
                ts = [torch.tensor(a, requires_grad=True) for a in arrays]
                kwargs = {"average_attn_weights": average}
                tm, tp = (None if a is None else torch.tensor(a) for a in (m, p))
                om, op = (None if a is None else Tensor(a) for a in (m, p))
                if tm is not None and tm.dtype != torch.bool and tp is not None:
                    tp = torch.zeros(4, 7).masked_fill(tp, -np.inf)  # PyTorch wants both masks of one type
                y, w = ours(*xs, key_padding_mask=op, attn_mask=om, **kwargs)
                t, u = theirs(*ts, key_padding_mask=tp, attn_mask=tm, **kwargs)
                np.testing.assert_allclose(y.detach().numpy(), t.detach().numpy(), rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(w.detach().numpy(), u.detach().numpy(), rtol=1e-4, atol=1e-5)
                g = rng.standard_normal(y.shape).astype(np.float32)
                found = y.gradient(*xs, *ours.parameters(), gradient=g)
                names = dict(theirs.named_parameters())
                expected = torch.autograd.grad(t, [*ts, *(names[n] for n, _ in ours.named_parameters())],
                                               torch.tensor(g))
                for a, b in zip(found, expected, strict=True):
                    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=2e-5)
