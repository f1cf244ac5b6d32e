import pytest

import nn
from tinygrad_like import Tensor, is_grad_enabled


def test_a_summary_is_a_table():
    text = str(nn.summary(nn.MLP([784, 16, 10]), (32, 784)))
    assert text == """\
name     layer   input          output    parameters
----------------------------------------------------
(model)  MLP     (32, 784)  ->  (32, 10)
  0      Linear  (32, 784)  ->  (32, 16)      12,560
  1      ReLU    (32, 16)   ->  (32, 16)
  2      Linear  (32, 16)   ->  (32, 10)         170
----------------------------------------------------
parameters  12,730 (12,730 trainable, 0 frozen)"""


def test_trainable_and_frozen_parameters_are_counted():
    m = nn.MLP([4, 8, 2])
    m[0].requires_grad_(False)
    s = nn.summary(m, Tensor.ones(3, 4))
    assert (s.parameters, s.trainable, s.frozen) == (58, 18, 40)
    assert repr(s) == str(s)


def test_every_parameter_is_counted_once_at_every_depth():
    m = nn.ResNetS(10, 8, 3, 4)
    total = sum(p.size for p in m.parameters())
    for depth in (None, 0, 1, 2, 3):
        rows = nn.summary(m, (2, 10), depth=depth).rows
        assert sum(row.parameters for row in rows) == total
        assert max(row.depth for row in rows) == (3 if depth is None else depth)
    assert [row.name for row in nn.summary(m, (2, 10), depth=1).rows] == ["", "project", "blocks", "head"]


def test_tied_repeated_and_unused_layers_are_counted_right():
    class M(nn.Module):
        def __init__(self):
            self.a, self.b, self.unused = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 7)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(self.a(x)))

    s = nn.summary(M(), (2, 3))
    rows = {row.name: row for row in s.rows}
    assert (rows["a"].calls, rows["a"].parameters, rows["b"].parameters) == (2, 12, 3)
    assert rows["unused"].input is None and s.parameters == 12 + 3 + 28
    assert "(2, 3) (x2)" in str(s) and "not called" in str(s)


def test_a_summary_leaves_the_model_unchanged():
    m = nn.MLP([2, 3, 1])
    m[0].eval()
    seen = []
    m[1].register_forward_hook(lambda module, args, out: seen.append((module.training, is_grad_enabled())))
    nn.summary(m, (1, 2))
    assert seen == [(False, False)]
    assert m.training and m[2].training and not m[0].training
    assert m._hooks is None and m[0]._hooks is None and m[1]._hooks is not None
    assert all(p.grad is None for p in m.parameters())


def test_an_error_names_the_layer():
    m = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    with pytest.raises(ValueError, match="linear") as e:
        nn.summary(m, (5, 4))
    assert e.value.__notes__ == ["in layer 1.1, Linear(in_features=4, out_features=2, bias=True), given float32 (5, 3)"]
    assert m._hooks is None and m.training
    with pytest.raises(TypeError, match="summary: pass the model's inputs"):
        nn.summary(m)
