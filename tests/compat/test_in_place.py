"""`x += y` and `x.add_(y)` follow one rule: memory changes, or, if that must be recorded, x becomes the result."""

import copy
import gc
import weakref

import numpy as np
import pytest

import nn
import nn.functional as F
import tinygrad_like as tg
from tinygrad_like import Tensor, gradcheck, gradgradcheck, no_grad
from tinygrad_like.core.graph import setting
from tinygrad_like.methods import in_place


def leaf(*values):
    return Tensor(list(values), requires_grad=True, dtype="float64")


def plain(*values):
    return Tensor(list(values), dtype="float64")


def plus(x, y):
    x += y
    return x


@pytest.mark.parametrize("change", [plus, lambda x, y: x.add_(y)])
class TestOneRule:
    def test_without_a_graph_memory_is_changed(self, change):
        x = plain(1, 2, 3)
        view, same, detached = x[1:], x, x.detach()
        assert change(x, 1) is x
        assert view.tolist() == [3, 4] and same.tolist() == detached.tolist() == [2, 3, 4]
        change(view, plain(10, 20))
        assert x.tolist() == [2, 13, 24]

    def test_a_leaf_that_requires_grad_changes_only_under_no_grad(self, change):
        x = leaf(1, 2)
        with pytest.raises(RuntimeError, match="leaf that requires grad .* under no_grad.*x = x"):
            change(x, 1)
        assert x.tolist() == [1, 2]
        with no_grad():
            assert change(x, 1) is x
        assert x.tolist() == [2, 3] and x.requires_grad and x.is_leaf
        (x * x).sum().backward()
        assert x.grad.tolist() == [4, 6]

    def test_a_computed_tensor_becomes_the_result(self, change):
        x, w = leaf(1, 2), leaf(3, 4)
        y = x * 2
        same = y
        assert change(y, w) is y and same.tolist() == [5, 8]
        (y * y).sum().backward()
        assert x.grad.tolist() == [20, 32] and w.grad.tolist() == [10, 16]

    def test_a_plain_tensor_joins_the_graph(self, change):
        x, total = leaf(1, 2), plain(0, 0)
        for _ in range(3):
            change(total, x * x)
        total.sum().backward()
        assert x.grad.tolist() == [6, 12]

    def test_ops_that_saved_the_old_values_notice(self, change):
        x = leaf(1, 2)
        y = x * 2
        z = y * y  # saves y
        change(y, 1)
        with pytest.raises(RuntimeError, match="an input of mul .* was changed in place after mul saved it"):
            (z + y).sum().backward()
        v, x = plain(1, 2), leaf(1, 2)
        z = v * x
        change(v, 1)
        with pytest.raises(RuntimeError, match="changed in place"):
            z.sum().backward()

    def test_views_follow_the_change(self, change):
        x = leaf(1, 2)
        y = x * 2
        view, other, reshaped = y[:1], y[1:], y.reshape(2, 1)
        change(y, 1)
        assert y.tolist() == [3, 5] and view.tolist() == [3] and reshaped.tolist() == [[3], [5]]
        change(view, 1)  # changes y[:1]
        change(reshaped, 1)
        assert y.tolist() == [5, 6] and view.tolist() == [5] and other.tolist() == [6]
        (y * view * other * reshaped.reshape(2)).sum().backward()
        # y0 and y1 are 2 x0 + 3 and 2 x1 + 2: the loss is y0 y1 (y0 y0 + y1 y1)
        assert x.grad.tolist() == [2 * (3 * 25 * 6 + 6**3), 2 * (5**3 + 3 * 36 * 5)]
        z = (x * 2).reshape(2, 1).reshape(1, 2)  # a view that nothing else shares
        change(z, 1)
        assert z.tolist() == [[3, 5]]

    def test_a_detached_tensor_gets_only_the_values(self, change):
        x = leaf(1, 2)
        y = x * 2
        shown, whole = y.detach(), y.detach()
        part = whole[1:]
        change(y, x)
        assert shown.tolist() == [3, 6] and part.tolist() == [6]
        assert not shown.requires_grad and not part.requires_grad and (y * shown).requires_grad
        change(part, x[0])  # not on y's graph
        assert part.requires_grad and whole.requires_grad and not shown.requires_grad
        assert shown.tolist() == y.tolist() == whole.tolist() == [3, 7]
        y.sum().backward()
        assert x.grad.tolist() == [3, 3]

    def test_a_change_keeps_shape_and_dtype(self, change):
        with pytest.raises(ValueError, match=r"shape \(2, 3\), which does not fit in place into \(3,\)"):
            change(plain(1, 2, 3), tg.ones(2, 3))
        with pytest.raises(TypeError, match="float32, which does not fit in place into int64"):
            change(tg.tensor([1, 2]), 0.5)
        x = Tensor([1.0])
        assert change(x, plain(2)).dtype == "float32" and x.item() == 3

    def test_read_only_memory_is_refused(self, change):
        x = tg.ones(1).expand(3)
        with pytest.raises(ValueError, match="read-only memory"):
            change(x, 1)


def test_the_changes_own_rule_keeps_the_old_values():
    x, w = leaf(2, 3), leaf(5, 7)
    y = x * 1
    y *= w
    y **= 2
    y.sum().backward()  # (x w)^2
    assert x.grad.tolist() == [2 * 2 * 25, 2 * 3 * 49] and w.grad.tolist() == [2 * 5 * 4, 2 * 7 * 9]


@pytest.mark.parametrize(("change", "expected"), [
    (lambda x: x.__isub__(1), [0, 1, 2]), (lambda x: x.__imul__(2), [2, 4, 6]),
    (lambda x: x.__itruediv__(2), [0.5, 1, 1.5]),
    (lambda x: x.__ifloordiv__(2), [0, 1, 1]), (lambda x: x.__imod__(2), [1, 0, 1]),
    (lambda x: x.__ipow__(2), [1, 4, 9]),
    (lambda x: x.__imatmul__(np.eye(3)), [1, 2, 3]), (lambda x: x.sub_(1, alpha=2), [-1, 0, 1]),
    (lambda x: x.mul_(2).div_(4), [0.5, 1, 1.5]), (lambda x: x.pow_(2), [1, 4, 9]),
    (lambda x: x.clamp_(min=2), [2, 2, 3]),
    (lambda x: x.zero_(), [0, 0, 0]), (lambda x: x.fill_(4), [4, 4, 4]), (lambda x: x.fill_(Tensor(4.0)), [4, 4, 4]),
    (lambda x: x.copy_(Tensor(7)), [7, 7, 7]), (lambda x: x.copy_([1, 0, 1]), [1, 0, 1]),
    (lambda x: x.addcmul_(x, x, value=2), [3, 10, 21]), (lambda x: x.addcdiv_(x, x, value=2), [3, 4, 5]),
    (lambda x: x.exp_().log_(), [1, 2, 3]), (lambda x: x.neg_().abs_(), [1, 2, 3]), (lambda x: x.relu_(), [1, 2, 3]),
    (lambda x: x.masked_fill_(x > 2, 0), [1, 2, 0]), (lambda x: x.lerp_(plain(3, 4, 5), 0.5), [2, 3, 4]),
    (lambda x: x.add_(1).requires_grad_(), [2, 3, 4]), (lambda x: x.copy_(np.array([9, 8, 7])), [9, 8, 7]),
    (lambda x: x.copy_(x == 2), [0, 1, 0]),
])
def test_in_place_methods_equal_their_formulas(change, expected):
    x = plain(1, 2, 3)
    assert change(x) is x and x.dtype == "float64"
    np.testing.assert_allclose(x.tolist(), expected)


def test_every_in_place_method_has_its_plain_method():
    for name in dir(in_place.InPlace):
        if name.endswith("_") and name[0] != "_":
            assert callable(getattr(Tensor, name)), name
            plain_name = name.rstrip("_")
            assert callable(getattr(Tensor, plain_name, None)) or plain_name in (
                "zero", "fill", "copy", "normal", "uniform", "bernoulli", "detach", "exponential"), name


def test_copy_takes_any_dtype():
    counts, reals = tg.tensor([0, 0, 0]), Tensor([1.7, -2.9, 3.0], requires_grad=True)
    assert counts.copy_(reals * 2).tolist() == [3, -5, 6] and not counts.requires_grad
    assert Tensor([False, True, True]).copy_(counts - 3).tolist() == [False, True, True]
    step = tg.capture(lambda x: counts.copy_(x) + 1)
    assert [step(Tensor([i + 0.5, -i - 0.5, 3.0])).tolist() for i in range(4)] == [[i + 1, 1 - i, 4] for i in range(4)]


def test_random_in_place_methods_have_their_moments():
    tg.manual_seed(0)
    x = tg.zeros(2000)
    assert abs(x.normal_(3.0, 0.1).mean().item() - 3) < 0.02 and abs(x.uniform_(2, 4).std().item() - 0.577) < 0.03
    assert abs(x.exponential_(2.0).mean().item() - 0.5) < 0.05
    assert set(x.bernoulli_(0.25).tolist()) == {0.0, 1.0} and abs(x.mean().item() - 0.25) < 0.05
    w = nn.Parameter(tg.zeros(3))
    with no_grad():
        assert w.normal_() is w and w.requires_grad and w.is_leaf


def test_under_no_grad_a_computed_tensor_is_not_overwritten():
    y = leaf(1, 2) * 2
    with no_grad(), pytest.raises(RuntimeError, match="computed by mul, whose rule may need its values"):
        y += 1


ITEMS = {  # the index, and the shape of the value
    "row": (0, (3,)), "column": ((slice(None), 1), (4,)), "number": ((1, 2), ()), "all": (Ellipsis, (4, 3)),
    "broadcast": ((slice(None), 1), ()), "axes of one": (slice(0, 4, 2), (1, 2, 3)), "new axis": ((None, 0), (1, 3)),
    "rows": ([3, 0], (2, 3)), "pairs": ((np.array([0, 1, 3]), np.array([1, 2, 1])), (3,)),
    "mask": (np.array([True, False, True, False]), (2, 3)), "rows, one value": (np.array([[0, 1], [2, 3]]), (3,)),
    "twice": ([0, 2, 0], (3, 3)), "pairs, twice": ((np.array([1, 2, 1]), np.array([2, 0, 2])), (3,)),
}


@pytest.mark.parametrize("case", ITEMS)
def test_setting_items_is_recorded(case):
    index, shape = ITEMS[case]
    rng = np.random.default_rng(4)
    a, v = rng.standard_normal((4, 3)), rng.standard_normal(shape)

    def changed(x, value):
        y = x * x
        y[index] = value * value
        return y

    expected = a * a
    expected[index] = v * v
    np.testing.assert_array_equal(changed(Tensor(a), Tensor(v)).numpy(), expected)
    assert tg.gradcheck(changed, a, v) and tg.gradgradcheck(changed, a, v)


def test_setting_items_follows_the_rule_of_in_place_changes():
    x, y = leaf(1, 2), tg.zeros(2, 2)
    view = y[0]
    y[1] = x
    assert y.tolist() == [[0, 0], [1, 2]] and not view.any() and not view.requires_grad
    y = x * 2
    with no_grad(), pytest.raises(RuntimeError, match="^setitem: this Tensor was computed by mul"):
        y[0] = 1
    with no_grad():
        x[0] = 5
        y = tg.zeros(2)
        y[:] = x
    assert x.tolist() == y.tolist() == [5, 2] and x.requires_grad and not y.requires_grad


def test_setting_rows_one_by_one_keeps_no_copies():
    rows, w = tg.zeros(20, 8, 100), tg.ones(8, 100).requires_grad_()
    for i in range(20):
        rows[i] = w
    kept, seen, node = 0, 0, rows.node
    while node is not None:
        kept += sum(getattr(x, "nbytes", 0) for x in node.saved)
        seen, node = seen + 1, node.parents[1]
    assert seen == 20 and kept < rows.nbytes / 20
    rows.sum().backward()
    assert w.grad.tolist() == [[20] * 100] * 8


def test_setting_a_row_reuses_unshared_memory():
    rows, w = tg.zeros(3, 2), leaf(1, 2)
    place = id(rows._data)
    rows[0] = w
    rows[1] = w * 2
    assert id(rows._data) == place
    array = rows._data
    rows[2] = w
    assert rows._data is not array and array.tolist() == [[1, 2], [2, 4], [0, 0]]
    y = (w * 1).exp()  # its node keeps its memory
    total = y.sum() + rows.sum()
    y[0] = 5.0
    total.backward()
    np.testing.assert_allclose(w.grad.numpy(), np.exp([1, 2]) + 4, rtol=1e-6)
    shown = tg.from_numpy(np.zeros(2, "f"))
    view = shown.numpy()
    shown[0] = w[1]
    assert shown.tolist() == [2, 0] and view.tolist() == [0, 0]


def changed_by_views(w):
    y = w * 2
    y[0] += w[1]
    y[:, 1] *= w[0, 0]
    y[1, 2] -= 3
    v = y[1]
    v += w[0]
    v *= 2
    rows = w.new_zeros(3, 3)
    for i in range(3):
        rows[i] += y[i % 2] * i
    return (y * y).sum() + v.sum() + rows.prod(1).sum()


def test_changing_a_view_changes_its_base():
    w = np.random.default_rng(3).standard_normal((2, 3))
    assert gradcheck(changed_by_views, w) and gradgradcheck(changed_by_views, w)
    y = Tensor(w, requires_grad=True) * 2
    v = y[0]
    v += 1
    assert y[0].tolist() == v.tolist() == (2 * w[0] + 1).tolist() and y.requires_grad


def test_a_change_that_another_view_would_miss_is_refused():
    w = Tensor(np.ones((2, 3)), requires_grad=True)
    a = (w * 2)[0]  # the base is gone
    b, c = a[:2], a[1:]
    del a
    with pytest.raises(RuntimeError, match="another Tensor shares"):
        b += 1
    with pytest.raises(RuntimeError, match="another Tensor shares"):
        b[0] += 1  # which c does not show
    assert b.tolist() == c.tolist() == [2, 2]
    a, b = (w * 2).chunk(2)
    a += 1  # which b does not show
    assert a.tolist() == [[3, 3, 3]] and b.tolist() == [[2, 2, 2]]
    with pytest.raises(RuntimeError, match="a leaf that requires grad"):
        w[0] += 1
    y = w * 2
    squared = y * y
    y[0] += 1
    with pytest.raises(RuntimeError, match="was changed in place after mul saved it"):
        squared.sum().backward()


def test_a_saved_slice_stays_valid_if_another_slice_changes():
    u = (w := Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)) * 1
    first = u[0]
    product = first * first  # saves first
    u[1] = product
    product.sum().backward(retain_graph=True)
    assert w.grad.tolist() == [[2, 4], [0, 0]] and u.tolist() == [[1, 2], [1, 4]]
    u[0, 1] = 5.0
    assert first.tolist() == [1, 5]
    with pytest.raises(RuntimeError, match="was changed in place after mul saved it"):
        product.sum().backward()


@pytest.mark.parametrize("whole", [True, False])
def test_a_slice_beside_a_recorded_change_shares_later_changes(whole):
    w, x = Tensor([2.0, 3.0, 4.0, 5.0], requires_grad=True), tg.ones(4)
    a, b = x[:2], x[2:]
    a += w[:2]
    y = b * w[2:] if whole else x * w
    (x if whole else b).detach().zero_()
    with pytest.raises(RuntimeError, match="was changed in place after mul saved it"):
        y.sum().backward()


def test_dead_views_are_forgotten():
    x = tg.ones(4)
    for _ in range(1000):
        view = x[:2]
    assert view.version is x.version and len(x.version.shown) < 50


def test_changed_views_keep_nothing_alive():
    gc.disable()
    try:
        w = Tensor([1.0, 2.0], requires_grad=True)
        states = tg.zeros(3, 2)
        for i in range(3):
            states[i] += states[i - 1].clone() * w + w
            states[i] *= w
        node = weakref.ref(states.node)
        del states
        assert node() is None
        x = tg.ones(3, 2)
        assert "_viewed" not in vars(copy.deepcopy(x[1]))
    finally:
        gc.enable()


@pytest.mark.parametrize("change", [
    lambda x, a, b: x.add_(a, alpha=-0.3), lambda x, a, b: x.sub_(a, alpha=2), lambda x, a, b: x.mul_(a[0]),
    lambda x, a, b: x.addcmul_(a, b, value=0.7), lambda x, a, b: x.addcdiv_(a, b, value=-0.1),
    lambda x, a, b: x.copy_(a[0]), lambda x, a, b: x.add_(a.data), lambda x, a, b: x.data.add_(a.data, alpha=3),
    lambda x, a, b: x.data.copy_(b.data), lambda x, a, b: x.copy_(a.data)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fast_in_place_methods_have_the_bits_of_the_ops(change, dtype):
    rng = np.random.default_rng(0)
    start, a, b = (rng.uniform(0.5, 2, (3, 4)).astype(dtype) for _ in range(3))
    a, b, x, view = Tensor(a), Tensor(b), Tensor(start), None
    view = x[1]
    change(x, a, b)
    with setting("usual", None):  # as with a listener: each op is called
        y = Tensor(start)
        change(y, a, b)
    np.testing.assert_array_equal(x.numpy(), y.numpy())
    np.testing.assert_array_equal(view.numpy(), x.numpy()[1])
    assert x.dtype == dtype
    with pytest.raises((ValueError, TypeError)):
        change(x, Tensor(np.ones((5, 7), dtype)), Tensor(np.ones((5, 7), dtype)))
    np.testing.assert_array_equal(x.numpy(), y.numpy())  # unchanged


def walls(u):
    u[0] = u[1]
    u[-1] = u[-2]
    u[:, 0] = u[:, 1]
    u[:, -1] -= u[:, -2]
    return u


def columns(u):
    u[..., -1] -= u[..., 0]
    u[1] += u[0]
    return u


def held(u):
    v = u[1]
    u[0] = v
    v.mul_(3.0)
    return u * v


def number(u):
    row = u[0]
    row[0] = row[1]
    return u


@pytest.mark.parametrize("change", [walls, columns, held, number])
def test_a_slice_may_be_written_to_another(change):
    x = np.random.default_rng(0).standard_normal((4, 3))
    assert gradcheck(lambda w: change(w * 2).sum(0), x) and gradgradcheck(lambda w: change(w * w), x)
    plain = change(Tensor(x) * 2)
    recorded = change(Tensor(x, requires_grad=True) * 2)
    np.testing.assert_array_equal(plain.numpy(), recorded.detach().numpy())


def test_a_diagonal_is_a_view():
    for x in (tg.zeros(3, 3), tg.zeros(2, 3, 3)[1], tg.zeros(3, 3).t()):
        x.diagonal().add_(2.0)
        x.diagonal(1)[:] = 5.0
        assert x.tolist() == [[2, 5, 0], [0, 2, 5], [0, 0, 2]]
    w = np.random.default_rng(0).standard_normal((3, 4))

    def change(w):
        u = w * 2
        u.diagonal(1).mul_(w[0, :3]).add_(1.0)
        u.diagonal()[1:] = w[2, 2]
        return u * u

    assert gradcheck(change, w) and gradgradcheck(change, w)
    with pytest.raises(ValueError, match="read-only memory"):
        tg.ones(1).expand(3, 3).diagonal().add_(1.0)


def test_setting_items_by_masks_is_captured():
    w = leaf(0.5, -1.0, 2.0)
    rows = Tensor([[1.0, -1.0], [2.0, 3.0], [-4.0, 5.0]])

    def step(limit):
        w.grad = None
        y = w * 2
        y[y < limit] = 0.0
        kept = rows.clone()
        kept[w > 1] = w.sum() * 0 + 9.0
        kept[rows < 0] = 3
        (y.sum() + (kept * kept).sum()).backward()
        return y.detach(), kept.detach()

    captured = tg.capture(step, fuse=False)
    for limit in (0.0, 1.5, -3.0, 5.0, 0.0, 2.5):
        eager = [t.tolist() for t in step(Tensor(limit))], w.grad.tolist()
        assert ([t.tolist() for t in captured(Tensor(limit))], w.grad.tolist()) == eager
    assert len(captured.programs) == 1 and not captured.gave_up


def test_as_strided_views_whole_tensors_and_refuses_others():
    x = tg.arange(6.0)
    for call, message in (
            (lambda: x.as_strided((2, 2), (4, 2)), "reach number 6, but this Tensor has 6"),
            (lambda: x.as_strided((2, 2), (1,)), "as many numbers >= 0 for each"),
            (lambda: x.as_strided((2,), (-1,)), "as many numbers >= 0 for each"),
            (lambda: x[2:].as_strided((2,), (1,), 0), "is a view, whose numbers lie among others"),
            (lambda: x[::2].as_strided((2,), (1,)), "or in another order")):
        with pytest.raises(ValueError, match=message):
            call()
    assert x.as_strided((0, 2), (9, 9)).shape == (0, 2)
    with pytest.raises(ValueError, match="add_: this Tensor of shape .* read-only memory.* change a clone"):
        x.as_strided((2, 2), (2, 1)).add_(1)
    y = Tensor(np.arange(6.0), requires_grad=True)
    y.as_strided((3, 2), (1, 1)).square().sum().backward()
    assert y.grad.tolist() == [0, 4, 8, 6, 0, 0]
    captured = tg.capture(lambda x: x.as_strided((2, 2), (2, 1)) + 1)
    assert [captured(x + i).tolist() for i in range(5)] == [[[1 + i, 2 + i], [3 + i, 4 + i]] for i in range(5)]


VIEWS = {
    "diagonal": lambda x: x.diagonal(1), "expand": lambda x: x.expand(1, 4, 4),
    "expand to itself": lambda x: x.expand(4, -1), "expand_as": lambda x: x.expand_as(x),
    "broadcast_to": lambda x: x.broadcast_to((4, 4)), "a row": lambda x: x[1].expand(1, 4),
    "broadcast_tensors": lambda x: tg.broadcast_tensors(x, x[0])[0], "movedim": lambda x: x.movedim(0, 1),
    "narrow": lambda x: x.narrow(0, 1, 2), "permute": lambda x: x.permute(1, 0), "select": lambda x: x.select(0, 1),
    "squeeze": lambda x: x[None].squeeze(), "transpose": lambda x: x.transpose(0, 1), "t": lambda x: x.t(),
    "T": lambda x: x.T, "mT": lambda x: x.mT, "unflatten": lambda x: x.unflatten(0, (2, 2)),
    "unsqueeze": lambda x: x.unsqueeze(1), "view": lambda x: x.view(2, 8), "view_as": lambda x: x.view_as(x),
    "unbind": lambda x: x.unbind(1)[0], "split": lambda x: x.split(2, 1)[1], "chunk": lambda x: x.chunk(2)[1],
    "swapaxes": lambda x: x.swapaxes(0, 1), "reshape": lambda x: x.reshape(16), "flatten": lambda x: x.flatten(),
    "ravel": lambda x: x.ravel(), "atleast_3d": lambda x: tg.atleast_3d(x), "items": lambda x: x[1:, None, ::2],
    "unfold": lambda x: x.unfold(1, 2, 2), "unfold, apart": lambda x: x.reshape(2, 8).unfold(1, 3, 4),
    "unfold, one": lambda x: x.unfold(0, 4, 9), "unfold, some left": lambda x: x.reshape(1, 16).unfold(1, 3, 5),
    "einsum, a diagonal": lambda x: tg.einsum("ii->i", x), "einsum, turned": lambda x: tg.einsum("ij->ji", x),
    "einsum, of matrices": lambda x: tg.einsum("iij->ji", x.reshape(2, 2, 4)),
    "einsum, the last": lambda x: tg.einsum("iji->ij", x.reshape(2, 4, 2)),
    "Unflatten": lambda x: nn.Unflatten(1, (2, 2))(x), "detach": lambda x: x.detach(),
}
SIXTEEN = np.arange(16.0).reshape(4, 4)


@pytest.mark.parametrize("name", VIEWS)
def test_pytorchs_views_are_views(name):
    x, index = Tensor(SIXTEEN), VIEWS[name](Tensor(SIXTEEN)).numpy().astype(int).ravel()
    y = VIEWS[name](x)
    y += 100
    expected = SIXTEEN.copy().ravel()
    expected[index] += 100
    assert x.tolist() == expected.reshape(4, 4).tolist()
    if name == "detach":
        return
    leaf = Tensor(SIXTEEN, requires_grad=True)  # the same on the graph
    x = leaf * 2
    y = VIEWS[name](x)
    y *= Tensor(3.0)
    expected = SIXTEEN.copy().ravel() * 2
    expected[index] *= 3
    assert x.tolist() == expected.reshape(4, 4).tolist()
    g = np.random.default_rng(0).standard_normal((4, 4))
    x.backward(Tensor(g))
    factor = np.full(16, 2.0)
    factor[index] = 6
    np.testing.assert_allclose(leaf.grad.numpy(), g * factor.reshape(4, 4))


@pytest.mark.parametrize("make", [
    lambda x: x.unfold(1, 2, 1), lambda x: x.unfold(0, 2, 1)[:1], lambda x: x.unfold(1, 1, 3),
    lambda x: x[:1].expand(4, 4), lambda x: x.expand(2, 4, 4), lambda x: tg.meshgrid(x[0], x[1])[0],
    lambda x: x.as_strided((2, 2), (4, 1))])
def test_overlapping_views_cannot_be_changed_in_place(make):
    x, base = Tensor(SIXTEEN), Tensor(SIXTEEN, requires_grad=True) * 2
    for change in (lambda y: y.add_(1), lambda y: y.__setitem__((0, 0), 1.0),
                   lambda y: y.mul_(Tensor(2.0, requires_grad=True))):
        with pytest.raises((ValueError, RuntimeError), match="read-only memory|shares"):
            change(make(x))
        with pytest.raises((ValueError, RuntimeError), match="read-only memory|shares|computed by"):
            change(make(base))
    assert x.tolist() == SIXTEEN.tolist()


@pytest.mark.parametrize("make", [
    lambda x: x.flip(0), lambda x: x.repeat(1, 1), lambda x: x.roll(0, 0), lambda x: x.diag(), lambda x: x.tile(1),
    lambda x: x.index_select(1, Tensor([0])), lambda x: F.interpolate(x[None], size=4), lambda x: x[[0, 1]],
    lambda x: tg.einsum("ij->i", x), lambda x: x.repeat_interleave(1, 0), lambda x: x[x > 3]])
def test_pytorchs_copies_are_copies(make):
    x = Tensor(SIXTEEN)
    y = make(x)
    y += 1
    assert x.tolist() == SIXTEEN.tolist()


@pytest.mark.parametrize("value", [lambda v: v, lambda v: v * 3, lambda v: v[0], lambda v: v.double()[1:]])
@pytest.mark.parametrize("change", ["copy_", "fill_", "setitem"])
def test_overwritten_numbers_get_no_gradient(change, value):
    x, v, g = (Tensor(np.float32(numbers), requires_grad=k < 2) for k, numbers in enumerate(
        ([1, 2, 3, 4], [5, 6], [1, -2, 3, 0.5])))
    given = value(v)
    y = (x * 2).reshape(2, 2)
    if change == "copy_":
        y.copy_(given)
    elif change == "setitem":
        y[...] = given
    elif given.ndim:
        with pytest.raises(ValueError, match="fill_: takes a number, got a value of shape"):
            y.fill_(given)
        return
    else:
        y.fill_(given)
    y.backward(g.reshape(2, 2))
    same = Tensor(np.float32([5, 6]), requires_grad=True)
    (value(same).float().expand(2, 2) * g.reshape(2, 2)).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 0] and v.grad.tolist() == same.grad.tolist()


def test_detach_in_place_makes_a_leaf():
    y = (leaf(1, 2) * 2).detach_()
    assert y.is_leaf and not y.requires_grad
