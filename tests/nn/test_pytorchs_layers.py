"""Layers and functions that PyTorch has: the same results and gradients from the same weights; and what they refuse."""

import numpy as np
import pytest

import nn
import nn.functional as F
from tinygrad_like import Tensor, capture, gradcheck, gradgradcheck, manual_seed, ops

rng = np.random.default_rng(3)
SIGNAL, IMAGE, VOLUME = (2, 4, 9), (2, 4, 6, 8), (2, 4, 4, 6, 5)
LAYERS = {  # what makes it -> shapes of the inputs
    "Hardshrink(0.3)": [IMAGE], "Softshrink(0.3)": [IMAGE], "Tanhshrink()": [IMAGE], "Threshold(0.2, -3.0)": [IMAGE],
    "RReLU().eval()": [IMAGE], "Softmin(1)": [IMAGE], "Softmax2d()": [IMAGE], "AlphaDropout().eval()": [IMAGE],
    "FeatureAlphaDropout(0.2).eval()": [IMAGE], "Dropout3d().eval()": [VOLUME],
    "CosineSimilarity()": [(3, 4), (3, 4)], "CosineSimilarity(dim=-1)": [(3, 1, 4), (2, 4)],
    "PairwiseDistance(p=1.5, keepdim=True)": [(3, 4), (3, 4)], "Bilinear(3, 5, 4)": [(6, 2, 3), (6, 2, 5)],
    "Bilinear(3, 5, 4, bias=False)": [(3,), (5,)], "Unfold(3, padding=1, stride=2)": [IMAGE],
    "Fold((6, 8), 2, stride=2)": [(2, 16, 12)], "ChannelShuffle(2)": [IMAGE],
    "LocalResponseNorm(3, 0.5, k=2.0)": [IMAGE],
    "LocalResponseNorm(2)": [SIGNAL], "LPPool1d(2, 3)": [SIGNAL], "LPPool2d(4, (2, 3), 2)": [IMAGE],
    "UpsamplingNearest2d(scale_factor=2)": [IMAGE], "UpsamplingBilinear2d((9, 5))": [IMAGE],
    "Conv3d(4, 6, (2, 3, 2), stride=2, padding=1, groups=2)": [VOLUME],
    "Conv3d(4, 2, 3, padding='same', padding_mode='replicate')": [VOLUME],
    "ConvTranspose3d(4, 3, 3, stride=2, output_padding=1)": [VOLUME], "MaxPool3d(2, padding=1)": [VOLUME],
    "AvgPool3d((2, 3, 2), count_include_pad=False, padding=1)": [VOLUME], "AdaptiveAvgPool3d((2, 4, None))": [VOLUME],
    "AdaptiveAvgPool3d(1)": [VOLUME], "AdaptiveMaxPool3d((3, 2, 2))": [VOLUME], "BatchNorm3d(4)": [VOLUME],
    "BatchNorm3d(4, affine=False).eval()": [VOLUME], "InstanceNorm3d(4, affine=True)": [VOLUME],
    "ConstantPad1d((1, 2), 3.5)": [SIGNAL], "ConstantPad2d(1, -1.0)": [IMAGE],
    "ConstantPad3d((0, 1, 2, 0, 1, 1), 0.5)": [VOLUME], "ZeroPad3d(1)": [VOLUME], "ReflectionPad3d(1)": [VOLUME],
    "ReplicationPad3d((1, 0, 2, 1, 0, 1))": [VOLUME],
    "CircularPad3d(2)": [VOLUME], "DataParallel(LIB.Linear(4, 2))": [(3, 4)],
    "TripletMarginWithDistanceLoss(margin=0.5, swap=True)": [(5, 4)] * 3,
    "TripletMarginWithDistanceLoss(distance_function=LIB.PairwiseDistance(1.0), reduction='sum')": [(5, 4)] * 3,
}


def both(lib_torch):
    return ((nn, Tensor), (lib_torch.nn, lib_torch.tensor))


@pytest.mark.torch
@pytest.mark.parametrize("text", LAYERS)
def test_as_in_pytorch(text):
    torch = pytest.importorskip("torch")
    made = [eval(f"LIB.{text}", {"LIB": lib}) for lib in (nn, torch.nn)]
    made[1].load_state_dict({k: torch.tensor(v.detach().numpy()) for k, v in made[0].state_dict().items()})
    arrays, found = [rng.standard_normal(s).astype(np.float32) for s in LAYERS[text]], []
    for layer, tensor in zip(made, (Tensor, torch.tensor), strict=True):
        xs = [tensor(a, requires_grad=True) for a in arrays]
        y = layer(*xs)
        (y * y.detach().cos()).sum().backward()
        found.append([y, *[x.grad for x in xs], *[p.grad for p in layer.parameters()], *layer.state_dict().values()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-4, atol=2e-5)


SMOOTH = {
    "bilinear": (lambda x, y, w, b: F.bilinear(x, y, w, b), (2, 3), (2, 4), (5, 3, 4), (5,)),
    "pdist": (F.pdist, (4, 3)), "local_response_norm": (lambda x: F.local_response_norm(x, 3), (2, 5, 4)),
    "tanhshrink": (F.tanhshrink, (3, 4)), "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), (2, 4, 3)),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, 2), (1, 2, 3, 4, 3)),
    "lp_pool1d": (lambda x: F.lp_pool1d(x, 2, 2), (1, 2, 6)),
    "embedding_bag": (lambda w, f: F.embedding_bag(Tensor([0, 2, 2, 1]), w, Tensor([0, 3, 3]), mode="sum",
                                                   per_sample_weights=f), (4, 3), (4,)),
    "embedding_bag mean": (lambda w: F.embedding_bag(Tensor([[0, 2], [2, 1]]), w, padding_idx=1), (4, 3)),
    "embedding_bag max": (lambda w: F.embedding_bag(Tensor([0, 2, 1]), w, Tensor([0, 2]), mode="max"), (4, 3)),
    "instance_norm": (F.instance_norm, (2, 3, 5)),
    "triplet": (lambda *x: F.triplet_margin_with_distance_loss(*x, margin=9.0), (3, 4), (3, 4), (3, 4)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name):
    f, *shapes = SMOOTH[name]
    xs = [rng.standard_normal(s) for s in shapes]
    assert gradcheck(f, *xs) and gradgradcheck(f, *xs)


BAGS = [
    (dict(), [[1, 2], [0, 5], [3, 3]], None), (dict(mode="sum"), [1, 2, 0, 5, 3], [0, 2, 2, 4]),
    (dict(mode="max"), [1, 2, 0, 5, 3, 3], [0, 3, 3]), (dict(mode="mean", padding_idx=2), [1, 2, 2, 5, 3], [0, 2, 3]),
    (dict(mode="max", padding_idx=1), [[1, 2, 1], [1, 1, 1]], None),
    (dict(mode="sum", include_last_offset=True), [1, 2, 0, 5], [0, 1, 4]),
]


@pytest.mark.torch
@pytest.mark.parametrize("options, index, offsets", BAGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_bags_are_pytorchs(options, index, offsets, weighted):
    torch = pytest.importorskip("torch")
    if weighted and options.get("mode") != "sum":
        pytest.skip("weights are for sums")
    table, factors, found = rng.standard_normal((6, 3)).astype(np.float32), rng.random(np.shape(index)), []
    for lib, tensor in both(torch):
        bag = lib.EmbeddingBag.from_pretrained(tensor(table), freeze=False, **options)
        weights = tensor(factors.astype(np.float32), requires_grad=True) if weighted else None
        y = bag(tensor(index), None if offsets is None else tensor(offsets), weights)
        (y * y).sum().backward()
        found.append([y, bag.weight.grad] + ([weights.grad] if weighted else []))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)


LABELS = [[1, 2, 2], [3, 1, 0], [4, 4, 4]]


@pytest.mark.torch
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("case", ["padded", "one axis", "no labels", "impossible", "another blank", "one sequence"])
def test_ctc_is_pytorchs(case, reduction):
    torch = pytest.importorskip("torch")
    logits, options = rng.standard_normal((12, 3, 6)).astype(np.float32), {"reduction": reduction}
    targets, steps, lengths = LABELS, [12, 10, 7], [3, 2, 3]
    if case == "one axis":
        targets = [1, 2, 2, 3, 1, 4, 4, 4]
    elif case == "no labels":
        lengths = [3, 0, 2]
    elif case == "impossible":
        steps, options = [12, 10, 4], {**options, "zero_infinity": True}
    elif case == "another blank":
        options["blank"], targets = 5, [[1, 2, 2], [3, 1, 1], [0, 4, 4]]
    elif case == "one sequence":
        logits, targets, steps, lengths = logits[:, 0], targets[0], 12, 3
    found = []
    for lib, tensor in both(torch):
        x = tensor(logits, requires_grad=True)
        loss = lib.CTCLoss(**options)(x.log_softmax(-1), tensor(targets), tensor(steps), tensor(lengths))
        (loss * loss).sum().backward()
        found.append((loss, x.grad))
    for ours, theirs in zip(*found, strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape)
        ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5 * max(1, abs(theirs).max()))


def test_ctc_counts_the_ways():
    """Of 3 steps and the label a: aaa, aa-, a--, -a-, --a, -aa: six of the 2^3 ways."""
    even = Tensor(np.full((3, 1, 2), np.log(0.5)))
    loss = F.ctc_loss(even, Tensor([[1]]), Tensor([3]), Tensor([1]), reduction="sum")
    assert loss.item() == pytest.approx(-np.log(6 / 8))
    never = F.ctc_loss(even, Tensor([[1, 1]]), Tensor([2]), Tensor([2]), reduction="sum")
    assert never.item() == float("inf")
    x = Tensor(np.zeros((2, 1, 2)), requires_grad=True)
    F.ctc_loss(x, Tensor([[1, 1]]), Tensor([2]), Tensor([2]), zero_infinity=True).backward()
    ops.ctc(x, Tensor([[1, 1]]), Tensor([2]), Tensor([2])).sum().backward()
    assert x.grad.tolist() == np.zeros((2, 1, 2)).tolist()
    for labels in np.zeros((1, 0), int), np.zeros(0, int):
        assert F.ctc_loss(x, Tensor(labels), [2], [0]).item() == 0  # no labels, and of blanks one way
    far = Tensor(np.full((3, 1, 2), -1051282046976, np.float32), requires_grad=True)
    ops.ctc(far, Tensor([[1, 1]]), Tensor([3]), Tensor([2])).sum().backward()
    assert far.grad.tolist() == [[[0, -1]], [[-1, 0]], [[0, -1]]]  # one way alone, of sums that float32 rounds


def test_ctc_does_not_hide_nan_behind_what_is_impossible():
    """NaN is NaN, in its own sequence; what has no probability at some step is impossible, and has no gradient."""
    logits = rng.standard_normal((5, 4, 3)).astype(np.float32)
    logits[2, 1] = np.nan
    x = Tensor(logits, requires_grad=True)
    log_p = ops.where(np.arange(20).reshape(5, 4, 1) == 2 * 4 + 2, -np.inf, x.log_softmax(-1))
    losses = F.ctc_loss(log_p, Tensor([[1, 2]] * 4), [5] * 4, [2] * 4, reduction="none", zero_infinity=True)
    assert np.isnan(losses.data).tolist() == [False, True, False, False] and losses.data[2] == 0
    (losses[0] + losses[2] + losses[3]).backward()
    d = x.grad.numpy()
    assert np.isfinite(d[:, [0, 2, 3]]).all() and not d[:, 2].any() and d[:, [0, 3]].all()
    losses = F.ctc_loss(log_p, Tensor([[1, 2]] * 4), [5] * 4, [2] * 4, reduction="none")
    assert losses.data[2] == np.inf and np.isnan(losses.data[1])


@pytest.mark.torch
@pytest.mark.parametrize("shape", [(3, 5), (5,)])
def test_multilabel_margin_loss_is_pytorchs(shape):
    torch = pytest.importorskip("torch")
    target = np.array([[3, 0, -1, 2, 1], [1, -1, -1, -1, -1], [-1, 0, 1, 2, 3]])[:3 if len(shape) == 2 else 0]
    target = target if len(shape) == 2 else np.array([3, 0, -1, 2, 1])
    logits = rng.standard_normal(shape).astype(np.float32)
    for reduction in "mean", "none":
        found = []
        for lib, tensor in both(torch):
            x = tensor(logits, requires_grad=True)
            loss = lib.MultiLabelMarginLoss(reduction=reduction)(x, tensor(target))
            loss.sum().backward()
            found.append((loss, x.grad))
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpooling_what_was_pooled(rank):
    torch = pytest.importorskip("torch")
    x, found = rng.standard_normal((2, 3, 6, 8, 4)[:2 + rank]).astype(np.float32), []
    for lib, tensor in both(torch):
        y, index = getattr(lib, f"MaxPool{rank}d")(2, return_indices=True)(tensor(x))
        found.append((y, index, getattr(lib, f"MaxUnpool{rank}d")(2)(y, index)))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    y, index = nn.MaxPool2d(2, return_indices=True)(Tensor.rand(1, 1, 4, 4))
    for rank, g in ((2, y), (1, y[:, :, 0]), (3, y[None])):
        places = index[:, :, 0] if rank == 1 else index[None] if rank == 3 else index
        found = getattr(F, f"max_unpool{rank}d")(g, places, 2 if rank < 3 else (1, 2, 2))
        assert found.shape[-1] == 4


def test_noise_in_training():
    manual_seed(0)
    x = Tensor.ones(200, 200)
    y = F.rrelu(-x, training=True).numpy()
    assert -1 / 3 <= y.min() and y.max() <= -1 / 8 and y.std() > 0.05
    normal = Tensor.randn(300, 300)
    for f in (lambda x: F.alpha_dropout(x, 0.3, True), nn.AlphaDropout(0.3)):
        y = f(normal).numpy()
        assert abs(y.mean()) < 0.02 and abs(y.std() - 1) < 0.02
    channels = F.feature_alpha_dropout(Tensor.ones(20, 30, 5), 0.4, True).numpy()
    assert np.ptp(channels, axis=2).max() == 0 and len(np.unique(channels)) == 2
    assert (F.alpha_dropout(x, 1.0, True).numpy() == 0).all()
    volumes = F.dropout3d(Tensor.ones(10, 20, 2, 3, 2), 0.5).numpy()
    assert sorted(np.unique(volumes)) == [0, 2] and np.ptp(volumes.reshape(200, -1), axis=1).max() == 0

    @capture
    def noisy(x):
        return F.alpha_dropout(x, 0.5, True), F.rrelu(-x, training=True)

    drawn = [tuple(t.numpy().sum() for t in noisy(x)) for _ in range(6)]
    assert len({a for a, _ in drawn}) == len({b for _, b in drawn}) == 6


def test_a_bag_is_captured_or_not_at_all():
    table = Tensor(np.arange(8.0).reshape(4, 2))
    mean, largest = (capture(lambda index, mode=mode: F.embedding_bag(index, table, mode=mode)) for mode in
                     ("mean", "max"))
    for i in range(6):
        index = np.array([[i % 4, (i + 1) % 4]])
        assert mean(Tensor(index)).tolist() == [table.numpy()[index[0]].mean(0).tolist()]
    with pytest.warns(UserWarning, match="embedding_bag reads indices and offsets in NumPy"):
        for i in range(16):  # in the end without capture
            index = divmod(i, 4)
            assert largest(Tensor([index])).tolist() == [table.numpy()[max(index)].tolist()]


def test_embeddings_from_elsewhere():
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    frozen = nn.Embedding.from_pretrained(Tensor(table))
    assert not frozen.weight.requires_grad and frozen(Tensor([2])).tolist() == [[4, 5]]
    assert nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0).weight.requires_grad
    assert nn.Embedding(3, 2, sparse=True, _weight=table).weight.tolist() == table.tolist()
    for make in (lambda: nn.Embedding(3, 3, _weight=table), lambda: nn.Embedding.from_pretrained(table[0])):
        with pytest.raises(ValueError, match="Embedding"):
            make()


X, W = Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones((4, 2), np.float32))


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: F.rrelu(X, 0.5, 0.2), ValueError, "lower=0.5"), (lambda: nn.Softshrink(-1.0), ValueError, "must be >= 0"),
    (lambda: nn.Softmax2d()(X), ValueError, "takes .batch, channels"), (lambda: F.pdist(X[0]), ValueError, "a matrix"),
    (lambda: F.bilinear(X, X, W), ValueError, "bilinear: takes"), (lambda: F.dropout3d(X), ValueError, "dropout3d"),
    (lambda: F.local_response_norm(X, 2), ValueError, "local_response_norm"),
    (lambda: F.channel_shuffle(X, 2), ValueError, "channel_shuffle"),
    (lambda: nn.ChannelShuffle(0), ValueError, "positive"),
    (lambda: F.adaptive_avg_pool3d(X, 2), ValueError, "adaptive_avg_pool3d: takes"),
    (lambda: F.embedding_bag(Tensor([[0]]), W, mode="min"), ValueError, "must be one of sum, mean, max"),
    (lambda: F.embedding_bag(Tensor([[0]]), W, Tensor([0])), ValueError, "offsets are for an input of one axis"),
    (lambda: F.embedding_bag(Tensor([0]), W), ValueError, "or of one axis with offsets"),
    (lambda: F.embedding_bag(Tensor([0, 1]), W, Tensor([1])), ValueError, "begin with 0"),
    (lambda: F.embedding_bag(Tensor([0]), W, Tensor([0]), per_sample_weights=X[0, :1]), ValueError, "for mode='sum'"),
    (lambda: F.embedding_bag(Tensor([[9]]), W), IndexError, "embedding"),
    (lambda: nn.EmbeddingBag(3, 2, mode="min"), ValueError, "must be one of"),
    (lambda: nn.EmbeddingBag(3, 2, padding_idx=3), ValueError, "out of range"),
    (lambda: F.ctc_loss(X, Tensor([2]), 2, 2), ValueError, "ctc"),
    (lambda: F.ctc_loss(X[:, None], Tensor([[3]]), [2], [1]), ValueError, "labels must be classes from 0 to 2"),
    (lambda: F.ctc_loss(X[:, None], Tensor([[1]]), [3], [1]), ValueError, "input_lengths must lie in 1 to 2"),
    (lambda: F.ctc_loss(X[:, None], Tensor([1, 2]), [2], [1]), ValueError, "must add up to the 2 labels"),
    (lambda: F.ctc_loss(X[:, None], Tensor([[1.5]]), [2], [1]), TypeError, "must be integers"),
    (lambda: F.ctc_loss(X[:, None], Tensor([[1]]), [2], [1], reduction="no"), ValueError, "ctc_loss: reduction must"),
    (lambda: F.ctc_loss(X[None, None], Tensor([[1]]), [2], [1]), ValueError, "takes log_probs"),
    (lambda: F.ctc_loss(X[:0, None], Tensor([[1]]), [0], [1]), ValueError, "takes log_probs"),
    (lambda: F.ctc_loss(X[:, None], Tensor([[[1]]]), [2], [1]), ValueError, "takes log_probs"),
    (lambda: F.ctc_loss(X[:, None], Tensor([[1], [1]]), [2], [1]), ValueError, "takes log_probs"),
    (lambda: F.ctc_loss(X[:, None], Tensor([[1]]), [2, 2], [1]), ValueError, "takes log_probs"),
    (lambda: F.ctc_loss(X[:, None], Tensor([[1]]), [2], [1, 1]), ValueError, "takes log_probs"),
    (lambda: F.multilabel_margin_loss(X, Tensor([[1]])), ValueError, "of one shape"),
    (lambda: F.multilabel_margin_loss(X, Tensor([[3, -1, -1]] * 2)), ValueError, "label 3 is out of range"),
    (lambda: F.triplet_margin_with_distance_loss(X, X, X, reduction="no"), ValueError, "reduction"),
])
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_instance_norm_by_running_statistics():
    x = Tensor.rand(2, 3, 4)
    y = F.instance_norm(x, Tensor.zeros(3), Tensor.ones(3), use_input_stats=False)
    np.testing.assert_allclose(y.numpy(), x.numpy(), rtol=1e-4)
    assert F.upsample(x, scale_factor=2).shape == (2, 3, 8) and ops.ctc.name == "ctc"
