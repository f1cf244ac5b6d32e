import math

import numpy as np
import pytest

import nn
import optim
from optim import clip_grad_norm, clip_grad_value
from tinygrad_like import Tensor


def leaves(*gradients, dtype="float32"):
    """Leaves with these gradients; None is a leaf without."""
    out = []
    for g in gradients:
        x = Tensor(np.zeros(np.shape(g) if g is not None else 3, dtype), requires_grad=True)
        x.grad = None if g is None else Tensor(np.asarray(g, dtype))
        out.append(x)
    return out


def test_norm_over_all_gradients_together():
    a, b, c = leaves([3.0, 0.0], None, [[4.0]])
    norm = clip_grad_norm([a, b, c], 1.0)
    assert norm.item() == 5.0 and norm.shape == () and not norm.requires_grad
    np.testing.assert_allclose(a.grad._data, [0.6, 0.0], rtol=1e-6)
    np.testing.assert_allclose(c.grad._data, [[0.8]], rtol=1e-6)
    assert b.grad is None


@pytest.mark.parametrize("change", [np.asfortranarray, lambda a: np.repeat(a, 2, 1)[:, ::2],
                                    lambda a: a.astype("float64"), lambda a: a[:, ::-1].copy()[:, ::-1]])
def test_gradients_of_any_layout_and_dtype_are_clipped(change):
    a, b = leaves(np.arange(6.0).reshape(2, 3), [1.0])
    g = change(a.grad._data)
    a.data = np.zeros_like(g)
    a.grad = Tensor.from_numpy(g)
    expected = a.grad.numpy() / 2
    assert clip_grad_norm([a, b], 0.5 * 56**0.5).item() == pytest.approx(56**0.5)
    np.testing.assert_allclose(a.grad.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("clip", [clip_grad_norm, clip_grad_value])
def test_a_gradient_that_two_parameters_share_is_clipped_once(clip):
    a, b = leaves([3.0, 4.0], [0.0, 0.0])
    b.grad = a.grad
    clip([a, b, a], 2.5)
    np.testing.assert_allclose(a.grad.numpy(), [1.5, 2.0] if clip is clip_grad_norm else [2.5, 2.5], rtol=1e-5)


@pytest.mark.parametrize("clip", [clip_grad_norm, clip_grad_value])
def test_read_only_gradients_are_refused_before_any_is_changed(clip):
    a, b = leaves([3.0, 4.0], [1.0, 1.0])
    b.grad = Tensor([9.0]).expand(2)
    with pytest.raises(ValueError, match=rf"{clip.__name__}: .*of shape \(2,\) has read-only memory"):
        clip([a, b], 0.1)
    assert a.grad.tolist() == [3, 4]


def test_small_gradients_keep_their_bits():
    (a,) = leaves([3.0, 4.0])
    assert clip_grad_norm([a], 5.1).item() == 5.0
    assert np.array_equal(a.grad._data, np.float32([3.0, 4.0]))


@pytest.mark.parametrize("norm_type, expected", [(1, 7.0), (3, 91 ** (1 / 3)), (math.inf, 4.0)])
def test_other_norms_can_be_clipped(norm_type, expected):
    a, b = leaves([3.0], [-4.0])
    assert clip_grad_norm((p for p in [a, b]), 1.0, norm_type).item() == pytest.approx(expected)
    assert b.grad.item() == pytest.approx(-4 / expected, rel=1e-5)


def test_squares_beyond_float32_do_not_overflow():
    (a,) = leaves([3e25, 4e25])
    assert clip_grad_norm([a], 1.0).item() == pytest.approx(5e25)
    np.testing.assert_allclose(a.grad._data, [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize("clip", [
    lambda ps: clip_grad_norm(ps, 1.0), lambda ps: clip_grad_value(ps, 1.0),
    lambda ps: nn.utils.clip_grad_norm_(ps, 1.0), lambda ps: nn.utils.clip_grad_value_(ps, 1.0)])
def test_an_exhausted_generator_warns(clip):
    model = nn.Linear(2, 1)
    generator = model.parameters()
    optim.SGD(generator, lr=0.1)
    with pytest.warns(UserWarning, match="the generator is empty.* read only once") as seen:
        clip(generator)
    assert len(seen) == 1
    clip([])  # an empty list is intended
    clip(p.detach() for p in model.parameters())


def test_without_gradients_the_norm_is_0():
    assert clip_grad_norm([], 1.0).item() == 0.0
    assert clip_grad_norm(leaves(None), 1.0, math.inf).item() == 0.0
    assert clip_grad_norm(leaves(np.zeros((0, 2))), 1.0, math.inf).item() == 0.0


@pytest.mark.parametrize("bad, norm_type", [(math.nan, 2), (math.inf, 2), (math.nan, math.inf), (-math.inf, 1)])
def test_a_norm_that_is_not_finite_can_raise(bad, norm_type):
    (a,) = leaves([1.0, bad])
    with pytest.raises(FloatingPointError, match="clip_grad_norm: the norm of the gradients is (nan|inf)"):
        clip_grad_norm([a], 1.0, norm_type, error_if_nonfinite=True)
    assert a.grad.data[0] == 1.0
    assert not math.isfinite(clip_grad_norm([a], 1.0, norm_type).item())
    assert not a.grad.data[0] == 1.0 and math.isnan(a.grad._data[1])


def test_values_are_clipped():
    a, b = leaves([-3.0, 0.2, 3.0], None)
    clip_grad_value([a, b], 0.5)
    assert np.array_equal(a.grad._data, np.float32([-0.5, 0.2, 0.5])) and b.grad is None


def test_backward_notices_clipping():
    (a,) = leaves([3.0, 4.0])
    a.grad.requires_grad_()
    y = (a.grad * a.grad).sum()
    clip_grad_norm([a], 1.0)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()


@pytest.mark.parametrize("clip", [clip_grad_norm, clip_grad_value])
def test_bad_arguments_raise(clip):
    with pytest.raises(TypeError, match=f"{clip.__name__}: parameter 0 is a ndarray, not a Tensor"):
        clip([np.zeros(3)], 1.0)
    with pytest.raises(ValueError, match=f"{clip.__name__}: .*=-1.0 must be >= 0"):
        clip([], -1.0)
    with pytest.raises(ValueError, match="max_norm='1' must be >= 0"):
        clip_grad_norm([], "1")
    with pytest.raises(ValueError, match="norm_type='2' > 0"):
        clip_grad_norm([], 1.0, "2")
    with pytest.raises(ValueError, match="norm_type=0 > 0"):
        clip_grad_norm([], 1.0, 0)


@pytest.mark.torch
@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.5, float("inf")])
@pytest.mark.parametrize("max_norm", [0.5, 1e4])
def test_clipping_equals_pytorchs(norm_type, max_norm):
    torch = pytest.importorskip("torch")
    values = [np.random.default_rng(i).standard_normal(shape) for i, shape in enumerate([(5, 3), (7,), (), (1500,)])]
    ours, theirs = leaves(*values, None, dtype="float64"), [torch.tensor(v, requires_grad=True) for v in values]
    for q, v in zip(theirs, values, strict=True):
        q.grad = torch.tensor(v)
    norm = clip_grad_norm(ours, max_norm, norm_type)
    assert norm.item() == pytest.approx(torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type).item(), rel=1e-12)
    clip_grad_value(ours, 0.25)
    torch.nn.utils.clip_grad_value_(theirs, 0.25)
    for a, b in zip(ours, theirs, strict=False):
        np.testing.assert_allclose(a.grad._data, b.grad.numpy(), rtol=1e-12)
