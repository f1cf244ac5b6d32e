"""Demos run short, and show what they are there to show."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import nn
import optim
from demos import (
    attention_pictures,
    convolution,
    depth,
    gradient_depth,
    grokking,
    lesion,
    linear_collapse,
    neural_ode,
    norm_axes,
    norm_geometry,
    normalization,
    paths,
    regularization,
    scale_invariance,
    uncertainty,
)
from demos.norm_geometry import BEST, CURVATURE
from tinygrad_like import Tensor, manual_seed, ops


def test_only_plain_nets_get_worse_with_depth(tmp_path, capsys):
    found = depth.main(["--quick", "--out", str(tmp_path / "figure.png")])
    assert set(found) == {(kind, blocks) for kind in depth.KINDS for blocks in (1, 12)}
    assert all(errors.shape == (1, 6) for errors in found.values())
    train = {key: errors[0, -2] for key, errors in found.items()}
    assert train["plain", 1] + 0.3 < train["plain", 12]
    assert train["residual", 12] < train["residual", 1] + 0.05 < 0.35
    assert train["residual with norms", 12] < 0.15
    line = f"{100 * train['plain', 1]:.1f}", f"{100 * train['plain', 12]:.1f}"
    assert ["plain", *line] in [text.split() for text in capsys.readouterr().out.splitlines()]
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def untrained(tmp_path_factory):
    path = tmp_path_factory.mktemp("out") / "figure.png"
    found = gradient_depth.main(["--quick", "--out", str(path)])
    assert path.read_bytes().startswith(b"\x89PNG")
    return {case: values[0] for case, values in found.items()}


def test_gradients_reach_the_first_block_past_skips(untrained):
    reach = {case: values[0][0] / values[0][-1] for case, values in untrained.items()}
    for blocks in (2, 12):
        assert all(untrained[kind, blocks].shape == (2, blocks) for kind in gradient_depth.KINDS)
    assert 0.3 < reach["scaled", 12] < 10
    assert reach["residual", 12] > 20 * max(reach[kind, 12] for kind in ("pre-norm", "post-norm", "sandwich"))
    variance = {kind: untrained[kind, 12][1] for kind in gradient_depth.KINDS}
    for kind in ("post-norm", "sandwich"):
        np.testing.assert_allclose(variance[kind], 1, atol=1e-3)
    assert variance["residual"][-1] > 100 * variance["residual"][0] > 0 and variance["pre-norm"][-1] < 100


def test_weights_that_suit_the_activation_keep_gradients(untrained):
    reach = {case: values[0][0] / values[0][-1] for case, values in untrained.items()}
    assert reach["relu", "kaiming"] > 0.03 > reach["relu", "xavier"] > 1e-6 > reach["relu", "default"]
    assert reach["tanh", "xavier"] > 0.03 > 1e-3 > reach["tanh", "default"]
    assert max(reach["sigmoid", init] for init in gradient_depth.INITS) < 1e-9


@pytest.mark.parametrize("kind", gradient_depth.KINDS)
def test_gradients_and_variances_are_those_of_the_blocks_outputs(kind):
    manual_seed(0)
    model = gradient_depth.build(kind, 3, 8, "kaiming")
    x, y = Tensor(np.random.default_rng(0).standard_normal((5, 64))), Tensor(np.arange(5))
    z, outputs = model.project(x), []
    for block in model.blocks:
        z = block(z)
        z.retain_grad()
        outputs.append(z)
    ops.cross_entropy(model.head(z), y).backward()
    gradient, variance = gradient_depth.measure(model, x, y)
    np.testing.assert_allclose(gradient, [np.linalg.norm(z.grad.numpy()) for z in outputs], rtol=1e-9)
    np.testing.assert_allclose(variance, [z.detach().numpy().var() for z in outputs], rtol=1e-9)


OUTPUT = [[-3, -4, -4, -4, -4, -3], [-3, -4, -4, -3, -1, 0], [0, 0, 0, 0, 0, 0],
          [2, 1, 0, 1, 3, 3], [2, 1, 0, 1, 3, 3], [1, 3, 4, 3, 1, 0]]  # of 004


def test_all_36_outputs_are_those_of_the_slides(tmp_path, capsys):
    y = convolution.main(["--at", "3", "5", "--out", str(tmp_path / "figure.png")])
    assert y.tolist() == OUTPUT
    printed = capsys.readouterr().out.splitlines()
    assert [[int(value) for value in line.split()] for line in printed[:6]] == OUTPUT
    assert printed[7] == "output [3, 5] = 1·1 + 2·1 + 1·0 − 1·0 − 2·0 − 1·0 = 3"
    assert [line.split("->")[1].strip() for line in printed[8:11]] == ["6 x 6", "8 x 8", "4 x 4"]
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_stride_of_2_keeps_every_second_output():
    np.testing.assert_array_equal(convolution.convolve(convolution.IMAGE, padding=1, stride=2),
                                  convolution.convolve(convolution.IMAGE, padding=1)[::2, ::2])


def test_the_residual_net_survives(tmp_path):
    found = lesion.main(["--quick", "--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    residual, plain = found["residual"][0], found["plain"][0]
    assert residual.shape == plain.shape == (9,) and residual[4] > 0.93 and plain[4] > 0.85, "nothing is deleted"
    assert residual[:4].mean() > 0.8 > 0.6 > plain[:4].mean()


@pytest.mark.parametrize("build", [lesion.residual, lesion.plain])
def test_without_takes_out_units_and_shares_the_weights(build):
    model = build(8, 3)
    x = Tensor.randn(2, 1, 8, 8)
    np.testing.assert_array_equal(lesion.without(model, set())(x).detach().numpy(), model(x).detach().numpy())
    z = model.project(model.flatten(x))
    np.testing.assert_array_equal(lesion.without(model, {0, 1, 2})(x).detach().numpy(), model.head(z).detach().numpy())
    np.testing.assert_array_equal(lesion.without(model, {0, 2})(x)._data, model.head(model.units[1](z))._data)
    assert len(model.units) == 3 and set(lesion.without(model, {1}).parameters()) < set(model.parameters())


def test_only_an_activation_makes_layers_more_than_one(tmp_path, capsys):
    right, difference, rest = linear_collapse.main(["--quick", "--out", str(tmp_path / "figure.png")])
    line, deep, relu, tanh = (float(values[0, 0]) for values in right.values())
    assert max(line, deep) < 0.75 < 0.95 < min(relu, tanh)
    assert difference < 1e-5
    assert rest["nothing"].max() < 1e-10 and min(rest["ReLU"][0, 1], rest["tanh"][0, 1]) > 0.05
    assert ["3", "layers,", "ReLU", "between", f"{100 * relu:.1f}"] in [
        text.split() for text in capsys.readouterr().out.splitlines()]
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_collapsed_is_the_product_of_the_layers():
    manual_seed(0)
    model, x = linear_collapse.build(3, 8, 4, 2, "nothing"), Tensor.randn(5, 3)
    np.testing.assert_allclose(linear_collapse.collapsed(model)(x)._data, model(x)._data, atol=1e-6)


def test_l1_and_spred_make_weights_zero(tmp_path, capsys):
    found = norm_geometry.main(["--steps", "1500", "--out", str(tmp_path / "figure.png")])
    assert np.abs(found["spred"] - found["l1"]).max() < 5e-3
    assert (found["l1"][20:, 1] == 0).all() and found["l2"].min() > 0.1
    assert capsys.readouterr().out.count("\n") == 12
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("c", [0.1, 0.7, 1.5])
def test_minima_are_where_the_gradient_is_that_of_the_penalty(c):
    w = norm_geometry.ridge(c)
    np.testing.assert_allclose((w - BEST) @ CURVATURE + 2 * c * w, 0, atol=1e-12)
    w = norm_geometry.lasso(c)
    slope = (w - BEST) @ CURVATURE
    np.testing.assert_allclose(slope[w != 0], -c * np.sign(w[w != 0]), atol=1e-9)
    assert (np.abs(slope[w == 0]) <= c).all()


@pytest.mark.parametrize("options", [[], ["--method", "midpoint"]])
def test_more_steps_come_closer_to_the_flow(tmp_path, capsys, options):
    found = neural_ode.main(["--points", "60", "--hidden", "8", "--steps", "4", "--updates", "100", *options,
                             "--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    table = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip().startswith("4 ")]
    assert float(table[0][1].rstrip("%")) > 80
    assert found["euler"][16] / found["euler"][64] == pytest.approx(4, rel=0.25), "the error is like 1 / n"
    assert found["midpoint"][16] / found["midpoint"][64] == pytest.approx(16, rel=0.5), "like 1 / n^2"
    assert found["rk4"][8] < found["midpoint"][8] < found["euler"][8]


def test_the_path_is_eulers_method():
    flow = nn.NeuralODE(neural_ode.Field(2, 8), 3, "euler")
    x = Tensor.randn(5, 2)
    z = x
    for i in range(3):
        z = z + flow.f(z, i / 3) / 3
    found = neural_ode.path(flow, x)
    assert len(found) == 4
    np.testing.assert_allclose(found[-1], z.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert len(list(flow.parameters())) == 6, "one f for all steps"


def test_short_paths_carry_the_gradient(tmp_path, capsys):
    found = paths.main(["--quick", "--out", str(tmp_path / "figure.png")])
    for values in found.values():
        assert values.shape == (1, 9) and values[0, :5].sum() > 0.9 * values.sum()
    assert "256 paths through 8 blocks" in capsys.readouterr().out
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_lengths_add_up_to_the_gradient_and_are_sums_over_paths():
    manual_seed(0)
    model, x, y = lesion.residual(6, 4).double(), Tensor(np.random.default_rng(0).random((3, 64))), Tensor([1, 2, 3])
    parts = paths.gradient_by_length(model, x, y)
    z = model.project(x).detach().requires_grad_()
    inputs, h = [], z
    for block in model.units:
        inputs.append(h)
        h = block(h)
    ops.cross_entropy(model.head(h), y).backward()
    np.testing.assert_allclose(parts.sum(axis=0), z.grad.numpy(), rtol=1e-9, atol=1e-15)

    last = h.detach().requires_grad_()
    start, = ops.cross_entropy(model.head(last), y).gradient(last)
    total = 0.0
    for chosen in combinations(range(4), 2):  # each path of length 2, one by one
        v = start
        for i in reversed(chosen):
            at = inputs[i].detach().requires_grad_()
            v, = (model.units[i](at) - at).gradient(at, gradient=v)
        total = total + v.numpy()
    np.testing.assert_allclose(parts[2], total, rtol=1e-9, atol=1e-15)


def test_norms_make_the_scale_irrelevant(tmp_path, capsys):
    scales = [0.1, 3.0, 50.0]
    found = scale_invariance.main(["--scales", *map(str, scales), "--width", "16",
                                   "--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "picture:" in capsys.readouterr().out
    for norm in ("LayerNorm", "RMSNorm", "BatchNorm"):
        change, gradient = found[norm].T
        assert change.max() < 1e-12
        np.testing.assert_allclose(gradient, 1 / np.array(scales), rtol=1e-9)
    change, gradient = found["no norm"].T
    assert change.min() > 0.1 and gradient[2] > 1


def test_weights_are_left_as_they_were():
    model = scale_invariance.build("LayerNorm", 8, 2)
    before = {name: t.numpy().copy() for name, t in model.state_dict().items()}
    x, y = (scale_invariance.Tensor(a) for a in (np.ones((4, 64)) * np.arange(4)[:, None], np.arange(4)))
    scale_invariance.measure(model, 4.0, x, y)
    for name, t in model.state_dict().items():
        np.testing.assert_array_equal(t.numpy(), before[name])


def test_the_net_is_less_certain_where_it_is_wrong(tmp_path, capsys):
    found, right = uncertainty.main(["--quick", "--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    entropy = found.entropy.numpy()
    assert 0.9 < right.mean() < 1
    assert entropy[~right].mean() > 1.5 * entropy[right].mean()
    assert f"{right.mean():.1%} of {len(right)} test images" in capsys.readouterr().out


def test_retained_accuracy():
    kept = uncertainty.retained_accuracy(np.array([0.3, 0.1, 0.2, 0.9]), np.array([False, True, True, True]))
    np.testing.assert_allclose(kept, [1, 1, 2 / 3, 3 / 4])


def test_the_decoder_looks_backwards(tmp_path, capsys):
    encoding, maps, right = attention_pictures.main([
        "--length", "4", "--examples", "1500", "--epochs", "8", "--dim", "32", "--positions", "40",
        "--out", str(tmp_path / "figure.png")])
    assert encoding.shape == (40, 32) and right > 0.8
    near = encoding @ encoding.T
    assert all(np.ptp(np.diagonal(near, k)) < 1e-4 for k in range(39)) and near.argmax(axis=1).tolist() == [*range(40)]
    assert {name: value.shape for name, value in maps.items()} == dict.fromkeys(maps, (2, 5, 5))
    for value in maps.values():
        np.testing.assert_allclose(value.sum(axis=-1), 1, atol=1e-5)
    assert not np.triu(maps["decoder"], 1).any() and np.triu(maps["encoder"], 1).any()
    assert max(np.mean([head[t, 3 - t] for t in range(4)]) for head in maps["cross"]) > 0.4
    assert capsys.readouterr().out.count("\n") == 12
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_size_of_a_head_is_even(capsys):
    with pytest.raises(SystemExit):
        attention_pictures.main(["--dim", "6", "--heads", "2"])
    assert "argument --dim: must be a multiple of twice --heads 2" in capsys.readouterr().err


def test_the_test_pairs_are_understood_long_after_the_others(tmp_path, capsys):
    found = grokking.main(["--quick", "--out", str(tmp_path / "figure.png")])
    decayed, plain = found.values()
    learned = grokking.passes(decayed, 2)
    assert learned < 150 and decayed[decayed[:, 0] == learned][0, 4] < 0.05
    assert decayed[-1, 4] > 0.5 > 0.1 > plain[-1, 4] and plain[-1, 2] == 1
    assert "99 % of the training pairs at step" in capsys.readouterr().out
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_each_pair_is_learned_or_tested():
    pairs, sums, test_pairs, test_sums = grokking.all_pairs(5, 0.4, 0)
    assert len(pairs) == 10
    assert sorted(map(tuple, [*pairs, *test_pairs])) == [(a, b) for a in range(5) for b in range(5)]
    np.testing.assert_array_equal(sums, pairs.sum(axis=1) % 5)
    np.testing.assert_array_equal(test_sums, test_pairs.sum(axis=1) % 5)


def test_the_strongest_frequency_of_a_wave_is_its_own():
    manual_seed(0)
    net, n = grokking.Adder(11, 4), np.arange(11)[:, None]
    for table in (net.a, net.b):
        table.weight.assign(np.cos(2 * np.pi * n * np.array([[1, 2, 3, 5]]) / 11).astype(np.float32) + 3)
    power = grokking.frequencies(net)
    assert power.shape == (5,) and power[0] > 0.999 and power.sum() == pytest.approx(1)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("out") / "figure.png"
    found = normalization.main(["--quick", "--out", str(path)])
    assert path.read_bytes().startswith(b"\x89PNG")
    return {panel: {name: values[0].tolist() for name, values in lines.items()} for panel, lines in found.items()}


def test_an_output_depends_on_what_is_averaged_over(tmp_path):
    found = norm_axes.main(["--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    i, c, y, x = norm_axes.OUTPUT
    expected = {name: np.zeros((4, 6) if "vectors" in name else (4, 6, 3, 3), bool) for name in norm_axes.AVERAGES}
    expected["BatchNorm of vectors"][:, c] = True
    expected["LayerNorm of vectors"][i] = True
    expected["BatchNorm"][:, c] = True
    expected["LayerNorm, variant A"][i] = True
    expected["LayerNorm, variant B"][i, :, y, x] = True
    expected["InstanceNorm"][i, c] = True
    expected["GroupNorm, 2 groups"][i, :3] = True
    for name, chosen in found.items():
        np.testing.assert_array_equal(chosen, expected[name])


def test_tiny_batches_spoil_batch_norm_alone(found):
    tiny, usual = found["size"]["BatchNorm"]
    assert tiny < found["size"]["RMSNorm"][0] - 0.05 and usual > 0.6
    assert found["ways"]["running averages"] == found["size"]["BatchNorm"]
    assert found["ways"]["statistics of test batches"][0] < found["ways"]["statistics re-estimated"][0]


def test_norms_bear_large_learning_rates(found):
    assert found["rate"]["BatchNorm"][1] > 0.85 > 0.6 > found["rate"]["no norm"][1]


def test_frozen_statistics_survive_fine_tuning(found):
    updated, frozen = found["tuned"]["statistics updated"], found["tuned"]["statistics frozen"]
    assert updated[0] == frozen[0] > 0.8 and frozen[-1] > frozen[0] - 0.02 > updated[-1]


def test_each_method_does_what_it_is_for(tmp_path, capsys):
    results = regularization.main(["--quick", "--out", str(tmp_path / "new" / "r.png")])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "150 training images, 15% of them mislabelled; 359 test images"
    assert [line[2:18].strip() for line in printed[2:-1]] == list(results) == list(regularization.METHODS)
    plain = results["none"]
    assert plain[:, 1].mean() > 0.6
    for name, values in results.items():
        assert np.isfinite(values).all() and (name == "none" or not np.array_equal(values, plain)), name
    columns = {name: values.mean(axis=0) for name, values in results.items()}
    assert columns["L1"][4] > columns["none"][4] + 0.02, "weights become zero"
    assert min(columns["augmentation"][2], columns["dropout"][2], columns["L2"][2]) < columns["none"][2]
    assert (tmp_path / "new" / "r.png").read_bytes().startswith(b"\x89PNG")


def test_a_product_under_l2_becomes_sparse_where_a_plain_weight_only_shrinks():
    """min (w - 1)^2 / 2 + c |w| is at max(0, 1 - c): zero exactly, from c = 1 on."""
    a, b = (nn.Parameter(np.full(3, 0.9, np.float32)) for _ in range(2))
    target, c = Tensor([1.0, 0.3, -0.1]), 0.5
    optimizer = optim.SGD([a, b], lr=0.1)
    for _ in range(600):
        optimizer.zero_grad()
        (0.5 * ((a * b - target) ** 2).sum() + 0.5 * c * optim.l2_penalty([a, b])).backward()
        optimizer.step()
    np.testing.assert_allclose((a * b).detach().numpy(), [0.5, 0, 0], atol=1e-4)
