"""What is meant by leaving an argument out: part of the interface, and the same as in PyTorch where it has the op."""

import inspect

import pytest

from tinygrad_like import ops

DEFAULTS = {
    "all any argmax argmin logsumexp max mean min norm prod sum": {"axis": None, "keepdim": False},
    "argsort sort": {"axis": -1, "descending": False},
    "attention_weights": {"attn_mask": None, "is_causal": False, "scale": None},
    "avg_pool1d": {"stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True},
    "avg_pool2d avg_pool3d":
        {"stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True, "divisor_override": None},
    "batch_norm":
        {"weight": None, "bias": None, "running_mean": None, "running_var": None, "eps": 1e-05, "stats": None},
    "binary_cross_entropy": {"weight": None, "reduction": "mean"},
    "binary_cross_entropy_with_logits": {"weight": None, "pos_weight": None, "reduction": "mean"},
    "cat chunk cummax cummin cumprod cumsum logcumsumexp split stack unbind": {"axis": 0},
    "clip": {"min": None, "max": None},
    "conv1d conv2d conv3d": {"bias": None, "stride": 1, "padding": 0, "dilation": 1, "groups": 1},
    "conv_transpose1d conv_transpose2d conv_transpose3d":
        {"bias": None, "stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1},
    "cross_entropy": {"weight": None, "ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0},
    "diag": {"offset": 0},
    "diagonal": {"offset": 0, "axis1": 0, "axis2": 1},
    "divide": {"rounding_mode": None},
    "dropout dropout1d dropout2d gaussian_dropout": {"p": 0.5, "training": True},
    "celu elu": {"alpha": 1.0},
    "embedding": {"padding_idx": None},
    "flatten": {"start_axis": 0, "end_axis": -1},
    "flip repeat_interleave roll squeeze": {"axis": None},
    "fold unfold": {"dilation": 1, "padding": 0, "stride": 1},
    "gaussian_nll_loss": {"full": False, "eps": 1e-06, "reduction": "mean"},
    "gelu": {"approximate": "none"},
    "glu log_softmax softmax softmin swiglu": {"axis": -1},
    "group_norm": {"weight": None, "bias": None, "num_groups": 1, "eps": 1e-05},
    "huber_loss": {"reduction": "mean", "delta": 1.0},
    "instance_norm": {"weight": None, "bias": None, "eps": 1e-05},
    "hardsigmoid": {"alpha": 1 / 6, "beta": 0.5},
    "hardtanh": {"min_val": -1.0, "max_val": 1.0},
    "interpolate": {"size": None, "scale_factor": None, "mode": "nearest", "align_corners": False, "antialias": False,
                    "recompute_scale_factor": False},
    "allclose isclose": {"rtol": 1e-05, "atol": 1e-08, "equal_nan": False},
    "kl_div": {"reduction": "mean", "log_target": False},
    "l1_loss mse_loss": {"reduction": "mean"},
    "layer_norm": {"weight": None, "bias": None, "normalized_shape": None, "eps": 1e-05},
    "leaky_relu": {"negative_slope": 0.01},
    "linear": {"bias": None},
    "margin_ranking_loss": {"margin": 0.0, "reduction": "mean"},
    "max_pool1d max_pool2d max_pool3d": {"stride": None, "padding": 0, "dilation": 1, "ceil_mode": False},
    "multinomial": {"num_samples": 1, "replacement": False, "generator": None},
    "normalize": {"p": 2.0, "axis": 1, "eps": 1e-12},
    "nll_loss": {"weight": None, "ignore_index": -100, "reduction": "mean"},
    "one_hot": {"num_classes": -1},
    "pad": {"mode": "constant", "value": 0.0},
    "rms_norm": {"weight": None, "normalized_shape": None, "eps": None},
    "scaled_dot_product_attention":
        {"attn_mask": None, "dropout_p": 0.0, "is_causal": False, "scale": None, "enable_gqa": False},
    "scatter_reduce": {"include_self": True},
    "lstm": {"reverse": False},
    "gru": {"bias": None, "reverse": False},
    "self_attention": {"attn_mask": None, "dropout_p": 0.0, "is_causal": False, "scale": None},
    "searchsorted": {"right": False, "side": None},
    "smooth_l1_loss": {"reduction": "mean", "beta": 1.0},
    "softplus": {"beta": 1.0, "threshold": 20.0},
    "std std_mean var var_mean": {"axis": None, "keepdim": False, "correction": 1},
    "topk": {"axis": -1, "largest": True, "sorted": True},
    "transpose": {"axis0": 1, "axis1": 0},
    "triplet_margin_loss": {"margin": 1.0, "p": 2.0, "eps": 1e-06, "swap": False, "reduction": "mean"},
    "tril triu": {"diagonal": 0},
    "sync_batch_norm": {"weight": None, "bias": None, "eps": 1e-05, "shift": None, "stats": None},
}


@pytest.mark.parametrize(("name", "defaults"), [(name, d) for names, d in DEFAULTS.items() for name in names.split()])
def test_defaults(name, defaults):
    parameters = inspect.signature(getattr(ops, name)).parameters.values()
    assert {p.name: p.default for p in parameters if p.default is not p.empty} == defaults
