"""The Tensor itself: construction, repr, conversion, copies and shared memory."""

import pickle

import numpy as np
import pytest

import nn
import tinygrad_like
from tinygrad_like import Tensor, get_rng_state, ops, set_rng_state


def test_a_tensor_copies_its_data():
    array = np.ones((2, 3), np.float32)
    x = Tensor(array)
    array[0, 0] = 7
    assert x.numpy()[0, 0] == 1
    y = Tensor(x)
    y.assign(np.zeros((2, 3)))
    assert x.numpy()[0, 0] == 1


def test_a_tensor_has_its_attributes():
    x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert (x.shape, x.ndim, x.size, x.numel(), x.nbytes, len(x)) == ((2, 3), 2, 6, 6, 24, 2)
    assert x.dtype == "float32" and x.is_floating_point() and not x.long().is_floating_point()
    assert x.is_leaf and not x.requires_grad and x.grad is None
    y = x.requires_grad_() * 2
    assert x.is_leaf and not y.is_leaf and y.requires_grad
    assert not x.requires_grad_(False).requires_grad
    assert y.requires_grad_() is y
    with pytest.raises(RuntimeError, match=r"requires_grad_: this Tensor was computed by mul; use detach\(\)"):
        y.requires_grad_(False)


def test_numpy_is_a_read_only_view():
    x = Tensor([1.0, 2.0])
    view = x.numpy()
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 3
    x.assign([5.0, 6.0])
    assert view.tolist() == [5, 6]


@pytest.mark.parametrize(("tensor", "text"), [
    (Tensor([1.0, 2.5]), "Tensor([1. , 2.5])"),
    (Tensor(3), "Tensor(3)"),
    (Tensor([True, False]), "Tensor([ True, False])"),
    (Tensor([[1, 2], [3, 4]]), "Tensor([[1, 2],\n        [3, 4]])"),
    (Tensor([1.0], dtype="float64"), "Tensor([1.], dtype=float64)"),
    (Tensor([1], dtype="uint8"), "Tensor([1], dtype=uint8)"),
    (Tensor([1.0], requires_grad=True), "Tensor([1.], requires_grad=True)"),
    (Tensor([1.0], requires_grad=True) * 2, "Tensor([2.], op=mul)"),
    (Tensor.zeros(0, 3), "Tensor([], shape=(0, 3))"),
])
def test_repr_shows_numbers_dtype_and_op(tensor, text):
    assert repr(tensor) == str(tensor) == text


def test_a_large_repr_is_short():
    assert len(repr(Tensor.zeros(1000, 1000))) < 1000


def test_a_tensor_converts_to_python_numbers():
    x = Tensor([[2.5]])
    assert x.item() == float(x) == 2.5 and int(x) == 2 and bool(x) and not Tensor(0.0)
    assert type(x.item()) is float and type(Tensor(3).item()) is int and type(Tensor(True).item()) is bool
    assert f"{x:.2f}" == "2.50" and f"{Tensor([1, 2])}" == "Tensor([1, 2])"
    assert [10, 20, 30][Tensor(1)] == 20 and list(range(5))[Tensor(1) : Tensor(3)] == [1, 2]
    assert Tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert np.sqrt(np.asarray(Tensor([4.0]))).tolist() == [2]


def test_a_tensor_can_be_iterated_unpacked_and_searched():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    a, b = x
    (a * b).sum().backward()
    assert x.grad.tolist() == [[3, 4], [1, 2]]
    assert 3.0 in x and 5.0 not in x
    assert [row.tolist() for row in reversed(list(x))] == [[3, 4], [1, 2]]


def test_the_hash_is_the_identity():
    x, y = Tensor([1.0]), Tensor([1.0])
    assert len({x, y, x}) == 2 and {x: "x"}[x] == "x"


def test_operators_work_on_both_sides():
    x = Tensor([1.0, 2.0, 4.0])
    for result, expected in [
        (2 + x, [3, 4, 6]), (2 - x, [1, 0, -2]), (2 * x, [2, 4, 8]), (8 / x, [8, 4, 2]), (2**x, [2, 4, 16]),
        (x**2, [1, 4, 16]),
        (9 // x, [9, 4, 2]), (5 % x, [0, 1, 1]), (-x, [-1, -2, -4]), (abs(-x), [1, 2, 4]), (x // 2, [0, 1, 2]),
        (np.array([1.0, 1.0, 1.0], np.float32) - x, [0, -1, -3]), (np.array([2.0, 2.0, 2.0]) * x, [2, 4, 8]),
        ([1, 1, 1] + x, [2, 3, 5]),
        (x > 1, [False, True, True]), (2 <= x, [False, True, True]), (x == 2, [False, True, False]),
        (x != 2, [True, False, True]),
        ((x > 1) & (x < 3), [False, True, False]), ((x < 2) | (x > 3), [True, False, True]),
        (~(x > 1), [True, False, False]),
        ((x > 1) ^ (x < 3), [True, False, True]), (x @ x, 21), (np.eye(3, dtype=np.float32) @ x, [1, 2, 4]),
    ]:
        assert isinstance(result, Tensor) and result.tolist() == expected


def test_methods_take_sizes_axes_and_sequences():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    for result, expected in [
        (x.reshape(4), [1, 2, 3, 4]), (x.reshape((4,)), [1, 2, 3, 4]), (x.view([4]), [1, 2, 3, 4]),
        (x.permute(1, 0), [[1, 3], [2, 4]]),
        (x.permute((1, 0)), [[1, 3], [2, 4]]), (x.transpose(), [[1, 3], [2, 4]]), (x.T, [[1, 3], [2, 4]]),
        (x.mT, [[1, 3], [2, 4]]),
        (x[0].expand(2, 2), [[1, 2], [1, 2]]), (x[0].repeat(2), [1, 2, 1, 2]), (x.flip(1), [[2, 1], [4, 3]]),
        (x.flip(0, 1), [[4, 3], [2, 1]]),
        (x.cat(x, axis=1)[0], [1, 2, 1, 2]), (x[0].stack(x[1]), [[1, 2], [3, 4]]), (x.clamp(2, 3), [[2, 2], [3, 3]]),
        ((x > 2).where(x, 0.0), [[0, 0], [3, 4]]), (x.masked_fill(x > 2, 0), [[1, 2], [0, 0]]),
        (x[0].lerp(x[1], 0.5), [2, 3]),
        (Tensor.einsum("ij->j", x), [4, 6]), (x.dot(x), [[7, 10], [15, 22]]),
        (x.sequential([Tensor.neg, Tensor.abs]), x.tolist()),
        (x.swish() - x.silu(), [[0, 0], [0, 0]]), (x.cumsum(0, dtype="int64"), [[1, 2], [4, 6]]),
    ]:
        assert result.tolist() == expected
    assert x.cumsum(0, dtype="int64").dtype == "int64"


def test_creation_takes_requires_grad_and_another_tensors_shape():
    for x in (Tensor.zeros(2, requires_grad=True), Tensor.ones((2,), requires_grad=True),
              Tensor.full((2,), 1.0, requires_grad=True),
              Tensor.eye(2, requires_grad=True), Tensor.linspace(0, 1, 2, requires_grad=True),
              Tensor.randn(2, requires_grad=True)):
        assert x.requires_grad and x.is_leaf and x.dtype == "float32"
    x = Tensor([[1, 2]], dtype="int32")
    for like, value in ((x.zeros_like(), 0), (x.ones_like(), 1), (x.full_like(7), 7)):
        assert like.shape == (1, 2) and like.dtype == "int32" and (like == value).all()
    assert x.ones_like(dtype="float64").dtype == "float64"
    y = Tensor([1.0], dtype="float64")
    assert y.rand_like().dtype == y.randn_like().dtype == "float64"
    assert Tensor.zeros().shape == () and Tensor.empty(2, 3).shape == (2, 3) and Tensor.arange(0.0, 1.0,
                                                                                               0.25).dtype == "float32"


# Randomness -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [
    {}, {"seed": 0}, {"seed": 0, "position": -1}, {"seed": 1 << 64, "position": 0}, {"seed": 0, "position": 0.5},
    {"seed": 0, "position": True}, {"seed": 0, "position": 0, "more": 1}, [0, 0], None, {"bit_generator": "PCG64"}])
def test_an_invalid_generator_state_changes_nothing(state):
    before = get_rng_state()
    with pytest.raises(ValueError, match="set_rng_state: a state needs a seed and a position"):
        set_rng_state(state)
    assert get_rng_state() == before


def test_random_numbers_have_their_moments():
    n = 20_000
    u, z = Tensor.uniform(n, low=2.0, high=4.0).numpy(), Tensor.normal(n, mean=-1.0, std=3.0).numpy()
    k = Tensor.randint(n, low=-2, high=2).numpy()
    assert u.min() >= 2 and u.max() < 4 and abs(u.mean() - 3) < 0.02 and abs(u.var() - 1 / 3) < 0.02
    assert abs(z.mean() + 1) < 0.1 and abs(z.std() - 3) < 0.1
    assert abs(Tensor.randn(n).mean().item()) < 0.03 and abs(Tensor.randn(n).std().item() - 1) < 0.03
    assert set(k.tolist()) == {-2, -1, 0, 1} and abs(k.mean() + 0.5) < 0.05


# Copies and shared memory ---------------------------------------------------------------------------------------------


def test_detach_shares_and_clone_copies():
    x = Tensor([1.0, 2.0], requires_grad=True)
    d, c = x.detach(), x.clone()
    assert not d.requires_grad and c.requires_grad
    assert np.shares_memory(d._data, x._data) and not np.shares_memory(c._data, x._data)
    d.assign([5.0, 6.0])
    assert x.tolist() == [5, 6] and c.tolist() == [1, 2]


@pytest.mark.parametrize("who", ["data", "from_numpy"])
def test_only_plain_arrays_lie_beneath_a_tensor(who, tmp_path):
    """Kernels read addresses, so only plain arrays may reach them."""
    def take(array):
        if who == "from_numpy":
            return Tensor.from_numpy(array)
        x.data = array
        return x

    x = Tensor([1.0, 2.0])
    unaligned = np.frombuffer(bytes(13), np.float32, count=3, offset=1)
    for bad, text in ((np.ones((1, 1)).view(np.matrix), "takes a plain array, got matrix.*np.asarray"),
                      (np.ma.array([1.0, 2.0], mask=[0, 1]), r"have no mask.*array\.filled\(value\)"),
                      ([1.0], "takes a NumPy array, got list; Tensor"), (3.0, "takes a NumPy array, got float"),
                      (None, "takes a NumPy array, got NoneType"),
                      (np.zeros(2, np.uint16), "dtype uint16 is not supported"),
                      (np.zeros(2, ">f4"), "dtype >f4 is not supported"), (np.array(["a"]), "dtype <U1 is not"),
                      (np.zeros(2, [("a", "f4")]), "is not supported"), (unaligned, "not aligned for float32")):
        with pytest.raises(TypeError, match=f"^{who}: .*{text}"):
            take(bad)
    assert x.tolist() == [1, 2] and x.version is None
    np.arange(4, dtype=np.float32).tofile(tmp_path / "x.bin")
    mapped = np.memmap(tmp_path / "x.bin", np.float32, "r+")
    y = take(mapped)
    assert type(y._data) is np.ndarray and np.shares_memory(y._data, mapped) and (y * 2).tolist() == [0, 2, 4, 6]
    assert take(pickle.loads(pickle.dumps(np.ones(2)))).dtype is np.dtype("float64")


def test_data_may_be_set_to_a_tensor_and_changed_in_place():
    """As in PyTorch: `p.data = p._data - lr * p.grad`."""
    w = Tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    w.data = w._data - 0.5 * w.grad
    assert type(w._data) is np.ndarray and w.tolist() == [0, 0] and w.requires_grad
    w.data += 1
    w.data[0] = 5
    assert w.tolist() == [5, 1]
    w.data = np.ones((2, 2))  # another shape and dtype
    assert w.shape == (2, 2) and w.dtype == "float64"
    with pytest.raises(RuntimeError, match=r"gradient has shape \(2, 2\), but .grad, .* \(2,\); call zero_grad"):
        (w * w).sum().backward()
    w.data = w._data.sum() * 2  # a NumPy scalar, as its functions return for 0-d arrays
    assert type(w._data) is np.ndarray and w.shape == () and w.item() == 8
    with pytest.raises(TypeError, match="data: a Tensor that requires grad cannot be int64; cast it with .float()"):
        w.data = np.array([1, 2])
    w.requires_grad_(False).data = np.array([1, 2])
    assert w.dtype == "int64"


def test_a_read_only_array_can_be_read_but_not_changed():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    array.flags.writeable = False
    for x in (Tensor.from_numpy(array).requires_grad_(), Tensor.from_numpy(array.T).requires_grad_()):
        y = (x * x).sum() + x.exp().mean() + ops.linear(x, x).sum() + ops.softmax(x).sum()
        y.backward()
        assert np.isfinite(x.grad.numpy()).all() and x.grad._data.flags.writeable
        text = "has read-only memory, as expand's results and read-only arrays have; change a clone"
        with pytest.raises(ValueError, match=f"assign: .* {text}"):
            x.assign(np.zeros(x.shape))
        with pytest.raises(ValueError, match=f"setitem: .* {text}"):
            x.detach()[0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            x.data += 1
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_tensor_may_be_assigned_its_own_transpose():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.assign(x.T).tolist() == [[1, 3], [2, 4]]


# The package ----------------------------------------------------------------------------------------------------------


def test_the_package_has_its_public_names():
    for name in tinygrad_like.__all__:
        assert getattr(tinygrad_like, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tinygrad_like.nothing  # noqa: B018
    assert tinygrad_like.float32 == "float32" and Tensor([1],
                                                         dtype=tinygrad_like.float64).dtype is tinygrad_like.float64


@pytest.mark.needs("compat")
def test_a_tensor_can_be_made_from_sizes_as_in_pytorch():
    assert Tensor(2, 3).shape == (2, 3) and Tensor(2, 3, 4).shape == (2, 3, 4)
    assert Tensor(1, 1, 2, 2).shape == (1, 1, 2, 2) and Tensor(1, 1, 2, 2).dtype == np.float32
    assert Tensor(5).item() == 5 and Tensor(5).zero_().item() == 0 and Tensor(5).fill_(2).item() == 2
    assert nn.Parameter(Tensor(2, 3)).shape == (2, 3)
    for number in (Tensor(5), Tensor([5])):
        with pytest.raises(TypeError, match="int64 cannot require grad"):
            nn.Parameter(number)


TO_FLOATS = {
    "[0] =": lambda x: x.__setitem__(0, 0.5), "[:2] =": lambda x: x.__setitem__(slice(2), Tensor([0.5, 0.5])),
    "[mask] =": lambda x: x.__setitem__(x == 1, 0.5), "fill_": lambda x: x.fill_(0.5), "normal_": lambda x: x.normal_(),
    "*=": lambda x: x.__imul__(0.5), "sub_": lambda x: x.sub_(0.5),
    "/=": lambda x: x.__itruediv__(2), "lerp_": lambda x: x.lerp_(Tensor([0.5]), 0.5),
    "clamp_": lambda x: x.clamp_(max=0.5), "masked_fill_": lambda x: x.masked_fill_(x == 1, 0.5),
    "addcmul_": lambda x: x.addcmul_(x, x, value=0.5),
    "requires_grad_": lambda x: x.requires_grad_(),
    "index_add_": lambda x: x.index_add_(0, Tensor([1]), Tensor([0.5])),
    "[0] = of NumPy": lambda x: x.__setitem__(0, np.float32(0.5)),
}


@pytest.mark.parametrize("change", TO_FLOATS.values(), ids=TO_FLOATS)
def test_integer_tensors_refuse_fractions(change):
    x = Tensor([1, 2, 3])
    with pytest.raises(TypeError):
        change(x)
    assert x.tolist() == [1, 2, 3] and x.dtype == np.int64
    x[0] = 4.0
    assert x.tolist() == [4, 2, 3]


def test_numpy_refuses_tensors_that_require_grad_unless_forced():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 2] and (x * 2).numpy(force=True).tolist() == [2, 4]
