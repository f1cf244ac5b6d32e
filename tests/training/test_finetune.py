import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor
from tinygrad_like.training import replace_head, train_epoch


@pytest.mark.parametrize("model", [
    lambda: nn.MLP([6, 8, 3]), lambda: nn.Sequential(nn.Flatten(), nn.ResNetS(6, 8, 2, 3)),
    lambda: nn.Sequential(nn.Linear(6, 8), nn.Sequential(nn.Linear(8, 3, bias=False), nn.Softmax(-1))),
])
def test_only_the_new_head_learns(model):
    model = model()
    model.requires_grad_(False)
    before = {name: t.numpy().copy() for name, t in model.state_dict().items()}
    head = replace_head(model, 5)
    x, y = Tensor.randn(20, 6), Tensor.randint(20, low=0, high=5)
    start = head.weight.detach().numpy().copy()
    train_epoch(model, [(x, y)], nn.CrossEntropyLoss(), optim.SGD(head.parameters(), lr=0.1))
    assert model(x).shape == (20, 5) and not np.array_equal(head.weight.detach().numpy(), start)
    kept = [name for name, t in model.state_dict().items() if t.shape == before[name].shape]
    assert len(kept) == len(before) - len(list(head.parameters()))
    assert all(np.array_equal(before[name], model.state_dict()[name].numpy()) for name in kept)
    assert model.state_dict().keys() == before.keys()


def test_a_new_head_keeps_dtype_and_bias():
    model = nn.Sequential(nn.Linear(2, 3, bias=False)).double()
    head = replace_head(model, 4)
    assert head.bias is None and head.weight.dtype == np.float64 and model[0] is head


@pytest.mark.parametrize("model", [nn.Linear(2, 2), nn.Sequential(nn.ReLU())])
def test_a_model_without_a_head_is_refused(model):
    with pytest.raises(ValueError, match="has no nn.Linear to replace"):
        replace_head(model, 2)
