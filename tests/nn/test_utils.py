import pytest

import nn
from tinygrad_like import Tensor, capture


def model():
    m = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    (m(Tensor.ones(4, 2)) * 10).sum().backward()
    return m


def test_the_norm_in_a_captured_step_has_the_gradients_dtype():
    x = Tensor([3.0, 4.0], requires_grad=True)

    def step():
        x.grad = None
        (x * x / 2).sum().backward()
        norm = nn.utils.clip_grad_norm_(x, 1.0)
        return norm, norm * x.detach()

    eager, step = [r.dtype for r in step()], capture(step)
    assert [[r.dtype for r in step()] for _ in range(4)] == [eager] * 4 and step.programs


def test_parameters_become_one_vector_and_back():
    m = model()
    v = nn.utils.parameters_to_vector(m.parameters())
    assert v.shape == (13,) and v.requires_grad
    nn.utils.vector_to_parameters(Tensor.arange(13).float(), m.parameters())
    assert m[0].weight.tolist() == [[0, 1], [2, 3], [4, 5]] and m[1].bias.tolist() == [12]
    with pytest.raises(ValueError, match=r"have 13 elements, but vec has shape \(12,\)"):
        nn.utils.vector_to_parameters(Tensor.zeros(12), m.parameters())
    assert m[1].bias.tolist() == [12]
