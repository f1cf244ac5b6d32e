import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor, manual_seed


def test_it_is_a_resnet_without_skips():
    plain, residual = nn.CNN([2, 2], (8, 16), 5), nn.ResNet(nn.BasicBlock, [1, 1], (8, 16), 5, stem="small")
    def convs(model):
        return [m.weight.shape for name, m in model.named_modules() if isinstance(m, nn.Conv2d) and "down" not in name]
    assert convs(plain)[1:] == convs(residual)[2:]
    assert plain(Tensor.randn(2, 3, 32, 32)).shape == (2, 5)
    assert plain[:-3](Tensor.randn(2, 3, 32, 32)).shape == (2, 16, 16, 16)


def test_parts():
    model = nn.CNN([1, 1], (4, 8), 3, 1, norm=None, activation=nn.GELU, dropout=0.2)
    assert [type(m).__name__ for m in model] == ["Conv2d", "GELU", "Dropout2d", "Conv2d", "GELU", "AdaptiveAvgPool2d",
                                                 "Flatten", "Linear"]
    assert model[0].bias is not None and nn.CNN([1], (4,))[0].bias is None
    with pytest.raises(ValueError, match="CNN: layers and widths have one positive integer per stage each"):
        nn.CNN([1, 2], (4,))


def test_it_learns():
    manual_seed(0)
    x = Tensor.randn(32, 1, 8, 8)
    labels = Tensor((x.numpy()[:, 0, :4].mean((1, 2)) > x.numpy()[:, 0, 4:].mean((1, 2))).astype(np.int64))
    model, loss_function = nn.CNN([1, 1], (8, 16), 2, 1), nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = loss_function(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


def test_alexnet_has_about_60_million_parameters():
    """002: 5 convolutional layers and 3 fully-connected layers, totaling approximately 60M parameters."""
    model = nn.AlexNet().eval()
    kinds = [type(m).__name__ for m in model.modules()]
    assert kinds.count("Conv2d") == 5 and kinds.count("Linear") == 3
    assert sum(p.size for p in model.parameters()) == 61_100_840
    assert list(model.state_dict()) == [f"{name}.{kind}" for name in (
        "features.0", "features.3", "features.6", "features.8", "features.10", "classifier.1", "classifier.4",
        "classifier.6") for kind in ("weight", "bias")]
    assert model(Tensor.zeros(1, 3, 224, 224)).shape == (1, 1000)
