import numpy as np
import pytest

import nn
from nn import models
from tinygrad_like import Tensor, manual_seed


def test_names_and_sizes_are_torchvisions():
    """The number of parameters is the one torchvision documents."""
    model, layers = models.convnext_tiny(), [3, 3, 9, 3]
    names = [f"features.0.{i}.{kind}" for i in (0, 1) for kind in ("weight", "bias")]
    for stage, count in enumerate(layers):
        if stage:
            names += [f"features.{2 * stage}.{i}.{kind}" for i in (0, 1) for kind in ("weight", "bias")]
        for block in range(count):
            prefix = f"features.{2 * stage + 1}.{block}."
            names += [prefix + "layer_scale", *(f"{prefix}block.{i}.{k}" for i in (0, 2, 3, 5) for k in
                                                ("weight", "bias"))]
    names += [f"classifier.{i}.{kind}" for i in (0, 2) for kind in ("weight", "bias")]
    assert list(model.state_dict()) == names
    assert sum(p.size for p in model.parameters()) == 28_589_128
    p = [m.p for m in model.modules() if isinstance(m, nn.StochasticDepth)]
    np.testing.assert_allclose(p, np.linspace(0, p[-1], sum(layers)))


def small(**options):
    manual_seed(0)
    return nn.ConvNeXt([1, 2], (8, 16), 5, patch_size=2, layer_scale=1.0, **options)


def test_shapes_and_modes():
    model, x = small(stochastic_depth_prob=0.5), Tensor.randn(3, 3, 16, 16)
    assert model.features(x).shape == (3, 16, 4, 4)
    assert (model(x) - model(x)).detach().numpy().any()
    model.eval()
    one_by_one = np.concatenate([model(x[i:i + 1]).detach().numpy() for i in range(3)])
    np.testing.assert_allclose(model(x).detach().numpy(), one_by_one, rtol=1e-4, atol=1e-5)
    small()(x).sum().backward()


def test_errors():
    with pytest.raises(ValueError, match="ConvNeXt: layers and widths have one positive integer per stage each"):
        nn.ConvNeXt([1, 2], (8,))
    with pytest.raises(ValueError, match="StochasticDepth: p, the probability to drop, must lie in"):
        small(stochastic_depth_prob=1.5)
    with pytest.raises(ValueError, match=r"LayerNorm2d: expected \(batch, 4, height, width\), got shape "):
        nn.LayerNorm2d(4)(Tensor.ones(2, 3, 5, 5))


@pytest.mark.torch
def test_equal_to_pytorch():
    """The same layers, put together as torchvision does."""
    import torch
    from torch.nn import functional as F

    model = small().eval()
    w = {name: torch.tensor(t.numpy()) for name, t in model.state_dict().items()}
    x = torch.randn(2, 3, 16, 16, generator=torch.manual_seed(0))

    def norm(x, name):
        n = w[f"{name}.weight"]
        return F.layer_norm(x.permute(0, 2, 3, 1), n.shape, n, w[f"{name}.bias"], 1e-6).permute(0, 3, 1, 2)

    y = norm(F.conv2d(x, w["features.0.0.weight"], w["features.0.0.bias"], 2), "features.0.1")
    for stage, count in ((1, 1), (3, 2)):
        if stage == 3:
            y = F.conv2d(norm(y, "features.2.0"), w["features.2.1.weight"], w["features.2.1.bias"], 2)
        for i in range(count):
            p = f"features.{stage}.{i}.block"
            z = F.conv2d(y, w[f"{p}.0.weight"], w[f"{p}.0.bias"], padding=3, groups=y.shape[1])
            z = norm(z, f"{p}.2").permute(0, 2, 3, 1)
            z = F.linear(F.gelu(F.linear(z, w[f"{p}.3.weight"], w[f"{p}.3.bias"])), w[f"{p}.5.weight"],
                         w[f"{p}.5.bias"])
            y = y + w[f"features.{stage}.{i}.layer_scale"] * z.permute(0, 3, 1, 2)
    y = norm(y.mean((2, 3), keepdim=True), "classifier.0").flatten(1)
    expected = F.linear(y, w["classifier.2.weight"], w["classifier.2.bias"])
    np.testing.assert_allclose(model(Tensor(x.data)).data, expected.data, rtol=1e-4, atol=1e-5)
