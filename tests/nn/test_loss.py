import numpy as np
import pytest

import nn
from tinygrad_like import Tensor
from tinygrad_like.transforms.gradcheck import gradcheck

RNG = np.random.default_rng(0)
LOGITS = RNG.standard_normal((6, 4))
LABELS = np.array([0, 3, 1, 1, 2, 0])
OTHER = RNG.standard_normal((6, 4))
P = RNG.uniform(0.1, 0.9, (6, 4))
Q = RNG.dirichlet(np.ones(4), 6)
WEIGHT = np.array([1.0, 2.0, 0.5, 1.5])
LOG_P = np.log(Q[::-1])


def build(n, convert):
    """Every loss with every argument: the loss, its input and its target."""
    w = convert(WEIGHT)
    cases = []
    for r in ("mean", "sum", "none"):
        cases += [
            (n.CrossEntropyLoss(reduction=r), LOGITS, LABELS),
            (n.CrossEntropyLoss(weight=w, ignore_index=1, reduction=r), LOGITS, LABELS),
            (n.CrossEntropyLoss(weight=w, label_smoothing=0.1, reduction=r), LOGITS, LABELS),
            (n.CrossEntropyLoss(reduction=r), LOGITS, Q),
            (n.NLLLoss(reduction=r), LOG_P, LABELS),
            (n.NLLLoss(weight=w, ignore_index=3, reduction=r), LOG_P, LABELS),
            (n.MSELoss(reduction=r), LOGITS, OTHER),
            (n.L1Loss(reduction=r), LOGITS, OTHER),
            (n.HuberLoss(reduction=r, delta=0.7), LOGITS, OTHER),
            (n.SmoothL1Loss(reduction=r, beta=0.7), LOGITS, OTHER),
            (n.SmoothL1Loss(reduction=r, beta=0), LOGITS, OTHER),
            (n.BCELoss(reduction=r), P, Q),
            (n.BCELoss(weight=w, reduction=r), P, Q),
            (n.BCEWithLogitsLoss(reduction=r), LOGITS, Q),
            (n.BCEWithLogitsLoss(weight=w, pos_weight=w, reduction=r), LOGITS, Q),
            (n.KLDivLoss(reduction=r), LOG_P, Q),
            (n.KLDivLoss(reduction=r, log_target=True), LOG_P, np.log(Q)),
        ]
    return [*cases, (n.KLDivLoss(reduction="batchmean"), LOG_P, Q)]


CASES = build(nn, Tensor)
IDS = [f"{i}-{type(loss).__name__}" for i, (loss, _, _) in enumerate(CASES)]


@pytest.mark.parametrize(("loss", "input", "target"), CASES, ids=IDS)
def test_gradient(loss, input, target):
    gradcheck(lambda x: loss(x, Tensor(target)), input)


def test_values_by_hand():
    z = Tensor(LOGITS)
    log_p = LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True))
    np.testing.assert_allclose(nn.CrossEntropyLoss()(z, Tensor(LABELS)).item(), -log_p[np.arange(6), LABELS].mean())
    np.testing.assert_allclose(nn.MSELoss()(z, Tensor(OTHER)).item(), ((LOGITS - OTHER) ** 2).mean())
    np.testing.assert_allclose(nn.L1Loss(reduction="sum")(z, Tensor(OTHER)).item(), np.abs(LOGITS - OTHER).sum())
    np.testing.assert_allclose(nn.BCELoss()(Tensor(P), Tensor(Q)).item(),
                               -(Q * np.log(P) + (1 - Q) * np.log(1 - P)).mean())
    np.testing.assert_allclose(nn.KLDivLoss(reduction="batchmean")(Tensor(LOG_P), Tensor(Q)).item(),
                               (Q * (np.log(Q) - LOG_P)).sum() / 6)


def test_the_gradient_of_cross_entropy_is_p_minus_y():
    z = Tensor(LOGITS, requires_grad=True)
    nn.CrossEntropyLoss(reduction="sum")(z, Tensor(LABELS)).backward()
    p = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    np.testing.assert_allclose(z.grad.numpy(), p - np.eye(4)[LABELS])


def test_repr_and_state():
    loss = nn.CrossEntropyLoss(WEIGHT, label_smoothing=0.1)
    assert repr(loss) == "CrossEntropyLoss(reduction='mean', ignore_index=-100, label_smoothing=0.1)"
    assert list(loss.state_dict()) == ["weight"] and not list(loss.parameters())
    assert list(nn.BCEWithLogitsLoss().state_dict()) == []
    assert list(nn.BCEWithLogitsLoss(pos_weight=[2.0]).state_dict()) == ["pos_weight"]
    assert repr(nn.KLDivLoss(reduction="batchmean")) == "KLDivLoss(reduction='batchmean', log_target=False)"


@pytest.mark.parametrize("make", [nn.CrossEntropyLoss, nn.NLLLoss, nn.MSELoss, nn.L1Loss, nn.HuberLoss, nn.SmoothL1Loss,
                                  nn.BCELoss, nn.BCEWithLogitsLoss, nn.KLDivLoss])
def test_unknown_reduction_is_refused_at_once(make):
    with pytest.raises(ValueError, match=f'{make.__name__}: reduction must be "mean", "sum" or "none", got "?\'?avg'):
        make(reduction="avg")


def test_bad_label_smoothing_is_refused_at_once():
    with pytest.raises(ValueError, match=r"label_smoothing must lie in \[0, 1\], got 2"):
        nn.CrossEntropyLoss(label_smoothing=2)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides:UserWarning")  # of KLDivLoss, in PyTorch
def test_equal_to_pytorch():
    import torch

    for i, ((ours, a, b), (theirs, _, _)) in enumerate(zip(CASES, build(torch.nn, torch.tensor), strict=True)):
        x, t = Tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
        y, u = ours(x, Tensor(b)), theirs(t, torch.tensor(b))
        np.testing.assert_allclose(y.detach().numpy(), u.detach().numpy(), rtol=1e-6, atol=1e-12, err_msg=IDS[i])
        (y * y).sum().backward()
        (u * u).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-6, atol=1e-12, err_msg=IDS[i])
