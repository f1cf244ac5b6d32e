import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, capture, data, manual_seed

X = np.random.default_rng(0).random((16, 3, 8, 8)).astype(np.float32)


def test_it_augments_in_training_only():
    layer = nn.Augment(data.RandomRotation(30))
    manual_seed(0)
    first, second = layer(Tensor(X)).numpy(), layer(Tensor(X)).numpy()
    assert (first != second).any() and (first != X).any()
    manual_seed(0)
    np.testing.assert_array_equal(layer(Tensor(X)).numpy(), first)
    x = Tensor(X)
    assert layer.eval()(x) is x
    manual_seed(0)
    np.testing.assert_array_equal(first, data.RandomRotation(30)(X))
    assert repr(layer) == "Augment(transform=RandomRotation(p=1.0, degrees=(-30, 30)))"


def test_a_model_that_begins_with_it_trains_and_is_captured():
    manual_seed(0)
    model = nn.Sequential(nn.Augment(data.Compose([data.RandomShift(1), data.GaussianNoise(0.1)])), nn.Flatten(),
                          nn.Linear(192, 1))

    @capture
    def step(x):
        model.zero_grad()
        loss = model(x).sum()
        loss.backward()
        return loss

    losses = [step(Tensor(X)).item() for _ in range(8)]
    assert len(set(losses)) == 8, "a program that is played draws anew"
    assert model[2].weight.grad.data.any()


def test_errors():
    with pytest.raises(ValueError, match="Augment: no gradient passes through it, but its input requires grad"):
        nn.Augment(data.RandomShift(1))(Tensor(X, requires_grad=True))
    with pytest.raises(TypeError, match="Augment: transform must be a function of images and a generator"):
        nn.Augment(3)
