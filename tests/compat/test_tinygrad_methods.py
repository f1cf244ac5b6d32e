"""tinygrad's Tensor: every name in its documentation (docs/tensor/*.md) exists here, and has an example."""

import numpy as np
import pytest

from tests.compat.test_types import ENTRIES
from tinygrad_like import Tensor, manual_seed

NAMES = """
    empty zeros ones full arange linspace eye full_like zeros_like ones_like manual_seed rand rand_like randn randn_like
    randint randperm normal uniform scaled_uniform glorot_uniform kaiming_uniform kaiming_normal

    logical_not neg log log2 log10 exp exp2 sqrt rsqrt sin cos tan asin acos atan trunc ceil floor round isinf isnan
    isfinite lerp square clamp clip sign abs reciprocal
    relu sigmoid logsigmoid hardsigmoid elu celu selu swish silu relu6 hardswish tanh sinh cosh atanh asinh acosh
    hardtanh erf gelu quick_gelu leaky_relu mish softplus softsign

    add sub mul div mod fmod bitwise_xor bitwise_and bitwise_or bitwise_not lshift rshift pow maximum minimum where
    copysign logaddexp
    cast bitcast float half int bool bfloat16 double long short
    view reshape expand permute flip shrink pad __getitem__ gather cat stack repeat repeat_interleave split chunk unfold
    meshgrid squeeze unsqueeze T transpose flatten unflatten diag diagonal roll rearrange

    sum prod max min any all isclose allclose mean var var_mean std std_mean softmax log_softmax logsumexp logcumsumexp
    argmax argmin

    avg_pool2d max_pool2d max_unpool2d conv2d conv_transpose2d dot matmul einsum cumsum cumprod cummax cummin triu tril
    interpolate scatter scatter_reduce masked_select masked_fill nonzero sort argsort topk multinomial

    linear sequential layernorm batchnorm dropout one_hot scaled_dot_product_attention binary_crossentropy
    binary_crossentropy_logits sparse_categorical_crossentropy cross_entropy nll_loss
    qr svd
    shape dtype device ndim numel element_size nbytes is_floating_point size data item tolist numpy assign detach clone
    to contiguous gradient backward
""".split()
# Names without a meaning here: there is one device, ops compute at once, files are read by `training` and `data`.
ELSEWHERE = """
    from_blob from_url linear_with_vars schedule_linear realize replace to_ shard shard_ contiguous_backward""".split()

DRAWS = {  # random numbers: the call, their mean and their standard deviation
    "rand": (lambda: Tensor.rand(90, 90), 0.5, 12**-0.5), "randn": (lambda: Tensor.randn(90, 90), 0, 1),
    "rand_like": (lambda: Tensor.zeros(90, 90).rand_like(), 0.5, 12**-0.5),
    "randn_like": (lambda: Tensor.zeros(90, 90).randn_like(), 0, 1),
    "normal": (lambda: Tensor.normal(90, 90, mean=3, std=2), 3, 2),
    "uniform": (lambda: Tensor.uniform(90, 90, low=-1, high=1), 0, 3**-0.5),
    "randint": (lambda: Tensor.randint(90, 90, low=0, high=2), 0.5, 0.5),
    "randperm": (lambda: Tensor.randperm(8100) / 8099, 0.5, 12**-0.5),
    "scaled_uniform": (lambda: Tensor.scaled_uniform(90, 90), 0, 3**-0.5 / 90),
    "glorot_uniform": (lambda: Tensor.glorot_uniform(90, 30, 3), 0, (2 / 180) ** 0.5),
    "kaiming_uniform": (lambda: Tensor.kaiming_uniform(90, 90, a=1.0), 0, (1 / 90) ** 0.5),
    "kaiming_normal": (lambda: Tensor.kaiming_normal((90, 30, 3), a=1.0), 0, (1 / 90) ** 0.5),
    "dropout": (lambda: Tensor.ones(90, 90).dropout(0.5), 1, 1),
    "multinomial": (lambda: Tensor([1.0, 0, 3]).multinomial(8100, replacement=True), 1.5, 0.75**0.5),
}
OTHERWISE = {"__getitem__", "data", "device", "numpy", "assign", "gradient", "backward"}  # without an example


def test_every_name_of_tinygrad_exists_and_has_an_example():
    assert [name for name in NAMES if name not in OTHERWISE | DRAWS.keys() | ENTRIES.keys()] == []
    assert [name for name in NAMES if name not in OTHERWISE and not hasattr(Tensor([1.0]), name)] == []
    assert [name for name in ELSEWHERE if name != "to_" and hasattr(Tensor([1.0]), name)] == []


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_have_their_moments(name):
    call, mean, std = DRAWS[name]
    manual_seed(3)
    x = call().numpy()
    assert abs(x.mean() - mean) < 0.06 * std and abs(x.std() / std - 1) < 0.03
    manual_seed(3)
    assert np.array_equal(call().numpy(), x)


def test_multinomial_without_replacement_draws_each_once():
    weights = Tensor([[1.0, 0, 2, 3], [1, 1, 1, 1]])
    drawn = weights.multinomial(3).numpy()
    assert drawn.shape == (2, 3) and all(len(set(row)) == 3 for row in drawn) and 1 not in drawn[0]
    first = np.array([weights.multinomial(1).numpy()[0, 0] for _ in range(2000)])
    np.testing.assert_allclose(np.bincount(first, minlength=4) / 2000, [1 / 6, 0, 2 / 6, 3 / 6], atol=0.04)
