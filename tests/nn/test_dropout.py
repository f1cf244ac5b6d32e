import math

import numpy as np
import pytest

import nn
import nn.functional as F
from tinygrad_like import Tensor, manual_seed, ops

LAYERS = [nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.GaussianDropout]


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_equal_their_functions_in_training_and_the_identity_in_evaluation(layer):
    drop, x = layer(0.3), Tensor(np.ones((20, 30, 4)))
    function = {"Dropout": F.dropout, "Dropout1d": F.dropout1d, "Dropout2d": F.dropout2d,
                "GaussianDropout": F.gaussian_dropout}[layer.__name__]
    y = drop(x)
    manual_seed(0)
    assert np.array_equal(y.numpy(), function(x, 0.3).numpy()) and (y.numpy() != 1).any()
    assert drop.eval()(x) is x and drop.train()(x) is not x
    assert repr(drop) == f"{layer.__name__}(p=0.3)" and layer().p == 0.5


def test_drop_connect_drops_weights():
    layer, x = nn.DropConnect(30, 20, p=0.25), Tensor(np.eye(30, dtype=np.float32))
    y = (layer(x) - layer.bias).detach().numpy().T / layer.weight.detach().numpy()  # rows of x pick weights
    dropped = np.isclose(y, 0, atol=1e-5)
    assert np.allclose(y[~dropped], 1 / 0.75, rtol=1e-4)
    assert abs(dropped.mean() - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 600)
    layer.zero_grad()
    (layer(x) * 1.0).sum().backward()
    assert set(np.unique(layer.weight.grad.numpy().round(4))) == {0, np.float32(1.3333)}
    plain = nn.Linear(30, 20)
    plain.load_state_dict(layer.state_dict())
    assert np.array_equal(layer.eval()(x).detach().numpy(), plain(x).detach().numpy())
    assert repr(layer) == "DropConnect(in_features=30, out_features=20, bias=True, p=0.25)"


@pytest.mark.parametrize("make", [lambda p: nn.Dropout(p), lambda p: nn.Dropout2d(p),
                                  lambda p: nn.DropConnect(2, 3, p=p)])
@pytest.mark.parametrize("p", [-0.1, 1.5, math.nan])
def test_constructors_check_probabilities(make, p):
    with pytest.raises(ValueError, match=r"Drop\w+: p, the probability of dropping, must lie in \[0, 1\], got"):
        make(p)


def model():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 3))


X = Tensor(np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32))


def test_mc_predict_of_a_linear_model_has_a_known_mean_and_variance():
    """y = sum_i w_i m_i x_i / (1 - p): E[y] = w x, Var[y] = p / (1 - p) sum_i (w_i x_i)^2."""
    net = nn.Sequential(nn.Dropout(0.2), nn.Linear(4, 3))
    mean, std, entropy, information = nn.mc_predict(net, X, samples=4000, dim=None)
    w, b = net[1].weight.detach().numpy(), net[1].bias.detach().numpy()
    expected = np.sqrt(0.25 * np.square(X.numpy()[:, None] * w).sum(-1))
    assert (np.abs(mean.numpy() - (X.numpy() @ w.T + b)) < 4.5 * expected / math.sqrt(4000)).all()
    np.testing.assert_allclose(std.numpy(), expected, rtol=0.1)
    assert entropy is None and information is None


def test_mc_predict_of_a_classifier_returns_probabilities_and_entropies():
    net = model()
    net[3].weight.assign(net[3].weight.detach().numpy() * 20)  # far from certain
    mean, std, entropy, information = nn.mc_predict(net, X, samples=300)
    assert mean.shape == std.shape == (8, 3) and entropy.shape == information.shape == (8,)
    p = mean.numpy()
    np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(entropy.numpy(), -(p * np.log(p)).sum(-1), rtol=1e-5)
    assert (std.numpy() > 0.01).all() and (information.numpy() > 0).all()
    assert (information.numpy() <= entropy.numpy()).all() and (entropy.numpy() <= math.log(3) + 1e-6).all()
    assert not mean.requires_grad


def test_full_disagreement_is_all_mutual_information():
    class Coin(nn.Module):
        """Certain of one of two random classes."""

        drops = True

        def forward(self, x):
            return Tensor([[-1e4, 1e4], [1e4, -1e4]])[int(ops.dropout(Tensor([1.0]), 0.5, self.training).item() > 0)]

    mean, std, entropy, information = nn.mc_predict(Coin(), None, samples=2000)
    np.testing.assert_allclose(mean.numpy(), 0.5, atol=0.05)
    np.testing.assert_allclose(std.numpy(), 0.5, atol=0.01)
    np.testing.assert_allclose([entropy.item(), information.item()], math.log(2), atol=0.01)


def test_mc_predict_sets_only_dropout_to_training_and_restores_all_modes():
    seen = []

    class Watch(nn.Module):
        def forward(self, x):
            seen.append((self.training, net[1].training, net[2].training))
            return x

    net = nn.Sequential(Watch(), nn.Dropout(0.5), nn.DropConnect(4, 3))
    net.train()
    net[1].eval()
    nn.mc_predict(net, X, samples=2)
    assert seen == [(False, True, True)] * 2
    assert [m.training for m in net.modules()] == [True, True, False, True]
    with pytest.raises(ValueError, match="linear"):  # restored after an error, too
        nn.mc_predict(net, Tensor.ones(2, 5))
    assert [m.training for m in net.modules()] == [True, True, False, True]


def test_mc_predict_refuses_models_without_dropout():
    with pytest.raises(ValueError, match="mc_predict: this Linear has no dropout layer"):
        nn.mc_predict(nn.Linear(4, 3), X)
    with pytest.raises(ValueError, match="mc_predict: samples must be at least 1, got 0"):
        nn.mc_predict(model(), X, samples=0)


def test_dropout3d_drops_whole_channels():
    volumes = F.dropout3d(Tensor.ones(10, 20, 2, 3, 2), 0.5).numpy()
    assert sorted(np.unique(volumes)) == [0, 2] and np.ptp(volumes.reshape(200, -1), axis=1).max() == 0
