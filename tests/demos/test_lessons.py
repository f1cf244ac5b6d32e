"""Each demo in its quick version: it draws one picture, and its claim holds."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import (
    activations,
    augmentations,
    convolution,
    depth,
    filters,
    finetune,
    gradient_depth,
    grokking,
    lesion,
    noise,
    norm_axes,
    norm_geometry,
    overfitting,
    paths,
    positions,
    regularization,
    scaling,
    sobel,
    train,
    uncertainty,
    vectorization,
    warmup,
)
from demos.norm_geometry import BEST, CURVATURE
from demos.recipes import MODELS
from tinygrad_like import Tensor, manual_seed, ops


def test_a_separating_curve_is_found(shown):
    _, printed = shown("moons", "--steps", "10", "300", "10")
    assert [line[:10] for line in printed] == ["step    10", "step   300"]
    assert float(printed[1].split()[-1].rstrip("%")) > 97


@pytest.mark.parametrize("name", activations.ACTIVATIONS)
def test_activation_derivatives_are_the_slopes_of_the_curves(name):
    points = np.linspace(-3.99, 4, 400)  # steps of 0.02, none at 0
    value, derivative = activations.value_and_derivative(activations.ACTIVATIONS[name][0], points)
    slope = (value[2:] - value[:-2]) / (points[2:] - points[:-2])
    smooth = np.abs(points[1:-1]) > 0.05
    assert np.allclose(slope[smooth], derivative[1:-1][smooth], atol=1e-3)


def test_activations_are_drawn(shown):
    shown("activations", "--points", "200")


def test_mixed_labels_are_put_into_words():
    assert augmentations.in_words(np.array([0, 0.3, 0, 0.7])) == "70% 3, 30% 1"
    assert augmentations.in_words(np.array([0, 0, 1.0])) == "100% 2"


def test_only_plain_nets_get_worse_with_depth(shown):
    found, printed = shown("depth", "--quick")
    assert set(found) == {(kind, blocks) for kind in depth.KINDS for blocks in (1, 12)}
    train = {key: errors[0, -2] for key, errors in found.items()}
    assert train["plain", 1] + 0.3 < train["plain", 12]
    assert train["residual", 12] < train["residual", 1] + 0.05 < 0.35
    assert train["residual with norms", 12] < 0.15
    line = f"{100 * train['plain', 1]:.1f}", f"{100 * train['plain', 12]:.1f}"
    assert ["plain", *line] in [text.split() for text in printed]


def test_gradients_reach_the_first_block_past_skips(shown):
    untrained = {case: values[0] for case, values in shown("gradient_depth", "--quick")[0].items()}
    reach = {case: values[0][0] / values[0][-1] for case, values in untrained.items()}
    assert 0.3 < reach["scaled", 12] < 10
    assert reach["residual", 12] > 20 * max(reach[kind, 12] for kind in ("pre-norm", "post-norm", "sandwich"))
    variance = {kind: untrained[kind, 12][1] for kind in gradient_depth.KINDS}
    for kind in ("post-norm", "sandwich"):
        np.testing.assert_allclose(variance[kind], 1, atol=1e-3)
    assert variance["residual"][-1] > 100 * variance["residual"][0] > 0 and variance["pre-norm"][-1] < 100
    # and weights that suit the activation keep gradients
    assert reach["relu", "kaiming"] > 0.03 > reach["relu", "xavier"] > 1e-6 > reach["relu", "default"]
    assert reach["tanh", "xavier"] > 0.03 > 1e-3 > reach["tanh", "default"]
    assert max(reach["sigmoid", init] for init in gradient_depth.INITS) < 1e-9


OUTPUT = [[-3, -4, -4, -4, -4, -3], [-3, -4, -4, -3, -1, 0], [0, 0, 0, 0, 0, 0],
          [2, 1, 0, 1, 3, 3], [2, 1, 0, 1, 3, 3], [1, 3, 4, 3, 1, 0]]  # of 004


def test_all_36_outputs_are_those_of_the_slides(shown):
    y, printed = shown("convolution", "--at", "3", "5")
    assert y.tolist() == OUTPUT
    assert [[int(value) for value in line.split()] for line in printed[:6]] == OUTPUT
    assert printed[7] == "output [3, 5] = 1·1 + 2·1 + 1·0 − 1·0 − 2·0 − 1·0 = 3"
    assert [line.split("->")[1].strip() for line in printed[8:11]] == ["6 x 6", "8 x 8", "4 x 4"]


def test_the_residual_net_survives(shown):
    found, _ = shown("lesion", "--quick")
    residual, plain = found["residual"][0], found["plain"][0]
    assert residual.shape == plain.shape == (9,) and residual[4] > 0.93 and plain[4] > 0.85, "nothing is deleted"
    assert residual[:4].mean() > 0.8 > 0.6 > plain[:4].mean()


def test_layers_without_an_activation_collapse_to_one(shown):
    (right, difference, rest), printed = shown("linear_collapse", "--quick")
    line, deep, relu, tanh = (float(values[0, 0]) for values in right.values())
    assert max(line, deep) < 0.75 < 0.95 < min(relu, tanh)
    assert difference < 1e-5
    assert rest["nothing"].max() < 1e-10 and min(rest["ReLU"][0, 1], rest["tanh"][0, 1]) > 0.05
    assert ["3", "layers,", "ReLU", "between", f"{100 * relu:.1f}"] in [text.split() for text in printed]


def test_l1_and_spred_make_weights_zero(shown):
    found, printed = shown("norm_geometry", "--steps", "1500")
    assert np.abs(found["spred"] - found["l1"]).max() < 5e-3
    assert (found["l1"][20:, 1] == 0).all() and found["l2"].min() > 0.1
    assert len(printed) == 11


@pytest.mark.parametrize("c", [0.1, 0.7, 1.5])
def test_at_minima_the_gradient_cancels_the_penaltys(c):
    w = norm_geometry.ridge(c)
    np.testing.assert_allclose((w - BEST) @ CURVATURE + 2 * c * w, 0, atol=1e-12)
    w = norm_geometry.lasso(c)
    slope = (w - BEST) @ CURVATURE
    np.testing.assert_allclose(slope[w != 0], -c * np.sign(w[w != 0]), atol=1e-9)
    assert (np.abs(slope[w == 0]) <= c).all()


@pytest.mark.parametrize("options", [[], ["--method", "midpoint"]])
def test_more_steps_come_closer_to_the_flow(shown, options):
    found, printed = shown("neural_ode", "--points", "60", "--hidden", "8", "--steps", "4", "--updates", "100",
                           *options)
    table = [line.split() for line in printed if line.strip().startswith("4 ")]
    assert float(table[0][1].rstrip("%")) > 80
    assert found["euler"][16] / found["euler"][64] == pytest.approx(4, rel=0.25), "the error is like 1 / n"
    assert found["midpoint"][16] / found["midpoint"][64] == pytest.approx(16, rel=0.5), "like 1 / n^2"
    assert found["rk4"][8] < found["midpoint"][8] < found["euler"][8]


def test_short_paths_carry_the_gradient(shown):
    found, printed = shown("paths", "--quick")
    for values in found.values():
        assert values.shape == (1, 9) and values[0, :5].sum() > 0.9 * values.sum()
    assert any("256 paths through 8 blocks" in line for line in printed)


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


def test_norms_make_the_scale_irrelevant(shown):
    scales = [0.1, 3.0, 50.0]
    found, _ = shown("scale_invariance", "--scales", *map(str, scales), "--width", "16")
    for norm in ("LayerNorm", "RMSNorm", "BatchNorm"):
        change, gradient = found[norm].T
        assert change.max() < 1e-12
        np.testing.assert_allclose(gradient, 1 / np.array(scales), rtol=1e-9)
    change, gradient = found["no norm"].T
    assert change.min() > 0.1 and gradient[2] > 1


def test_the_net_is_less_certain_where_it_is_wrong(shown):
    (found, right), printed = shown("uncertainty", "--quick")
    entropy = found.entropy.numpy()
    assert 0.9 < right.mean() < 1
    assert entropy[~right].mean() > 1.5 * entropy[right].mean()
    assert any(f"{right.mean():.1%} of {len(right)} test images" in line for line in printed)
    kept = uncertainty.retained_accuracy(np.array([0.3, 0.1, 0.2, 0.9]), np.array([False, True, True, True]))
    np.testing.assert_allclose(kept, [1, 1, 2 / 3, 3 / 4])


def test_the_decoder_looks_backwards(shown):
    (encoding, maps, right), printed = shown("attention_pictures", "--length", "4", "--examples", "1500", "--epochs",
                                             "8", "--dim", "32", "--positions", "40")
    assert encoding.shape == (40, 32) and right > 0.8
    near = encoding @ encoding.T
    assert all(np.ptp(np.diagonal(near, k)) < 1e-4 for k in range(39)) and near.argmax(axis=1).tolist() == [*range(40)]
    assert {name: value.shape for name, value in maps.items()} == dict.fromkeys(maps, (2, 5, 5))
    for value in maps.values():
        np.testing.assert_allclose(value.sum(axis=-1), 1, atol=1e-5)
    assert not np.triu(maps["decoder"], 1).any() and np.triu(maps["encoder"], 1).any()
    assert max(np.mean([head[t, 3 - t] for t in range(4)]) for head in maps["cross"]) > 0.4
    assert len(printed) == 11


def test_test_pairs_are_learned_long_after_training_pairs(shown):
    found, printed = shown("grokking", "--quick")
    (decayed,), (plain,) = found.values()
    learned = grokking.passes(decayed, 2)
    assert learned < 150 and decayed[decayed[:, 0] == learned][0, 4] < 0.05
    assert decayed[-1, 4] > 0.5 > 0.1 > plain[-1, 4] and plain[-1, 2] == 1
    assert any("99% of the training pairs at step" in line for line in printed)


def test_each_pair_is_learned_or_tested():
    pairs, sums, test_pairs, test_sums = grokking.all_pairs(5, 0.4, np.random.default_rng(0).permutation(25))
    assert len(pairs) == 10
    assert sorted(map(tuple, [*pairs, *test_pairs])) == [(a, b) for a in range(5) for b in range(5)]
    np.testing.assert_array_equal(sums, pairs.sum(axis=1) % 5)
    np.testing.assert_array_equal(test_sums, test_pairs.sum(axis=1) % 5)


def test_an_output_depends_on_the_averaged_axes(shown):
    found, _ = shown("norm_axes")
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


def test_norms_bear_large_rates_and_batch_norm_needs_large_batches(shown):
    panels = {panel: {name: values[0].tolist() for name, values in lines.items()}
              for panel, lines in shown("normalization", "--quick", "--passes", "2")[0].items()}
    tiny, usual = panels["size"]["BatchNorm"]
    assert tiny < panels["size"]["RMSNorm"][0] - 0.05 and usual > 0.6, "tiny batches spoil batch norm alone"
    assert panels["ways"]["running averages"] == panels["size"]["BatchNorm"]
    assert panels["ways"]["statistics of test batches"][0] < panels["ways"]["statistics re-estimated"][0]
    assert panels["rate"]["BatchNorm"][1] > 0.85 > 0.6 > panels["rate"]["no norm"][1], "norms bear large learning rates"
    updated, frozen = panels["tuned"]["statistics updated"], panels["tuned"]["statistics frozen"]
    assert updated[0] == frozen[0] > 0.8 and frozen[-1] > frozen[0] - 0.02 > updated[-1]


def test_each_regularizer_has_its_effect(shown):
    results, printed = shown("regularization", "--quick", "--seeds", "1")
    assert printed[0] == "150 training images, 15% of them mislabelled; 359 test images"
    assert [line[2:18].strip() for line in printed[2:]] == list(results) == list(regularization.METHODS)
    plain = results["none"]
    assert plain[:, 1].mean() > 0.6
    for name, values in results.items():
        assert np.isfinite(values).all() and (name == "none" or not np.array_equal(values, plain)), name
    columns = {name: values.mean(axis=0) for name, values in results.items()}
    assert columns["L1"][4] > columns["none"][4] + 0.02, "weights become zero"
    assert min(columns["augmentation"][2], columns["dropout"][2], columns["L2"][2]) < columns["none"][2]


def test_four_ways_compute_one_layer_and_features_are_learned(shown):
    shares = shown("vectorization", "--quick")[0]
    inputs, _, learned = (shares[name].mean(axis=0) for name in vectorization.FOUND)
    assert (learned > 0.8).all() and inputs[1] < 0.1 and (learned > inputs).all()
    rng = np.random.default_rng(0)
    arrays = rng.standard_normal((3, 5)), rng.standard_normal(3), rng.standard_normal((4, 5))
    for way in vectorization.WAYS:
        np.testing.assert_allclose(way(*arrays), np.maximum(arrays[2] @ arrays[0].T + arrays[1], 0), rtol=1e-12)


def test_deep_post_norm_needs_warmup(shown):
    found = shown("warmup", "--quick", "--layers", "12", "--epochs", "2")[0]
    assert set(found) == {(norm, warm) for norm in warmup.NORMS for warm in warmup.WARMUPS}
    deep = {case: accuracy.mean() for case, accuracy in found.items()}
    assert deep["post-norm", "no warmup"] < 0.3 < 0.4 < deep["post-norm", "warmup"]
    assert deep["pre-norm", "no warmup"] > deep["post-norm", "no warmup"] + 0.2


def test_dead_relus_stay_dead(shown):
    relu = shown("dead_relu", "--quick", "--rates", "0.03", "5", "--seeds", "1")[0]["ReLU"].mean(axis=0)
    assert relu[1, 0] > relu[0, 0] + 0.2 and relu[1, 1] > relu[0, 1] + 0.2, "more units die at the high rate, for good"
    assert relu[0, 2] > 0.85


def test_noise_is_ridge(shown):
    found = shown("noise", "--quick")[0]
    np.testing.assert_allclose(found["noise"].mean(axis=0), found["ridge"][0], atol=0.15)
    x, y, _, _ = noise.problem(0)
    w = noise.ridge(x, y, 0.7)
    np.testing.assert_allclose(x.T @ (x @ w - y) / len(x) + 0.49 * w, 0, atol=1e-9)


def test_only_relative_positions_extend_to_longer_inputs(shown):
    found = shown("positions", "--quick", "--steps", "250")[0]
    assert set(found) == set(positions.KINDS)
    inside, beyond = slice(0, 6), slice(8, None)
    assert found["none"].mean() < 0.4
    assert found["learned"][:, inside].mean() > 0.9 and found["learned"][:, beyond].mean() < 0.4
    assert found["rotary"][:, inside].mean() > 0.8 and found["rotary"][:, beyond].mean() > 0.7


def test_stacked_3x3_layers_see_3_5_7_9_pixels(shown):
    fields = shown("sobel")[0]
    for layers, field in fields.items():
        assert ((field > 0).any(axis=0).sum(), (field > 0).any(axis=1).sum()) == (2 * layers + 1,) * 2
    np.testing.assert_allclose(fields[2][7:12, 9], np.array([1, 2, 3, 2, 1]) / 3, rtol=1e-6)
    assert (sobel.receptive_field(3, stride=2) > 0).any(axis=0).sum() == 15
    lying, standing = sobel.maps(convolution.IMAGE)
    np.testing.assert_array_equal(lying[1:-1, 1:-1], convolution.convolve(convolution.IMAGE))
    np.testing.assert_array_equal(sobel.maps(convolution.IMAGE.T)[1], lying.T)
    every_second = convolution.convolve(convolution.IMAGE, padding=1)[::2, ::2]
    np.testing.assert_array_equal(convolution.convolve(convolution.IMAGE, padding=1, stride=2), every_second)
    assert np.abs(standing).max() == 4


def test_larger_nets_and_longer_texts_are_better(shown):
    found = shown("scaling", "--quick", "--steps", "150")[0]
    short, long = found.values()
    assert long.mean(axis=0)[1] < long.mean(axis=0)[0] and long.mean(axis=0)[1] < short.mean(axis=0)[1]
    sizes = np.array([1e3, 1e4, 1e5, 1e6])
    np.testing.assert_allclose(scaling.law(sizes, 2 + 10 * sizes**-0.33), (2, 10, 0.33), rtol=1e-6)


def test_the_rule_is_learned_before_the_mistakes(shown):
    found = shown("overfitting", "--quick", "--epochs", "80", "--seeds", "1")[0]
    held, test = found[..., 1], found[..., 2]
    best = held.argmin(axis=1)
    assert (best < 40).all() and (held[:, -1] > held.min(axis=1) + 0.2).all()
    assert (test[0, best] > test[:, -1] + 0.03).all()
    assert found[:, -1, 3].all() and not found[:, 5, 3].any(), "it has stopped by the end, and not at once"
    assert overfitting.make_parser().parse_args(["--quick"]).epochs == 60


def test_pretrained_features_help(shown):
    scores, printed = shown("finetune", "--quick", "--seeds", "1", "--images", "6000", "--steps", "25")
    assert printed[0].startswith("a net trained on 0, 1, 2, 3, 4, 5, 6: 9")
    assert list(scores) == ["new head", "whole net", "from scratch"]
    means = {method: values.mean(axis=0) for method, values in scores.items()}
    assert all(values.shape == (1, 2) for values in scores.values()) and means["whole net"][1] > 0.7
    assert means["whole net"].mean() > means["from scratch"].mean() - 0.03


def test_finetuning_starts_from_a_net_on_disk(shown, tmp_path, no_pictures):
    train.main(["--model", "resnet_s", "--width", "32", "--epochs", "1", "--out", str(tmp_path)])
    _, printed = shown("finetune", "--net", str(tmp_path / "resnet_s_digits_split0.safetensors"), "--classes", "1", "7",
                       "--examples", "3", "--seeds", "1", "--steps", "20")
    assert any("note: --net was already trained on 1, 7" in line for line in printed)


@pytest.mark.parametrize("method", finetune.METHODS)
def test_each_finetuning_method_trains_its_layers(method):
    manual_seed(0)
    trained = MODELS["mlp"].build((1, 8, 8), 5, 16, 2)
    net = {"model": "mlp", "shape": [1, 8, 8], "classes": list("01234"), "width": 16, "depth": 2}
    before = {name: t.numpy().copy() for name, t in trained.state_dict().items()}
    x = np.random.default_rng(0).random((8, 1, 8, 8), dtype=np.float32)
    model = finetune.learn(method, trained, net, 3, x, np.arange(8) % 3, steps=5)
    same = [np.array_equal(before[name], t.numpy()) for name, t in model.state_dict().items()]
    assert same == [method == "new head"] * 4 + [False] * 2
    assert model(Tensor(x)).shape == (8, 3)
    assert all(np.array_equal(before[name], t.numpy()) for name, t in trained.state_dict().items())


def test_filters_and_maps_have_their_sizes(shown):
    maps, printed = shown("filters", "--quick")
    assert {name: m.shape for name, m in maps.items()} == {
        "conv1": (16, 8, 8), "layer1": (16, 8, 8), "layer2": (32, 4, 4), "layer3": (64, 2, 2)}
    assert any("layer3    64 maps of 2 x 2" in line for line in printed)


def test_feature_maps_are_the_layers_outputs():
    model = MODELS["resnet8"].build((1, 8, 8), 10, 4, 1).eval()
    image = np.random.default_rng(0).random((1, 8, 8), np.float32)
    model.train()
    maps = filters.feature_maps(model, image)
    assert model.training and all(m._hooks is None for m in model.modules())
    model.eval()
    y = model.conv1(Tensor(image[None]))
    np.testing.assert_allclose(maps["conv1"], y.detach().numpy()[0], rtol=1e-5)
    np.testing.assert_allclose(maps["layer3"], model.features(Tensor(image[None]))._data[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", filters.KINDS)
def test_a_filter_resembles_itself_and_its_negative(name):
    kernel = np.asarray(filters.KINDS[name], float)
    for sign in (1, -2):
        found, cosine = filters.resembles(sign * kernel)
        assert found == name and cosine == pytest.approx(np.sign(sign))
