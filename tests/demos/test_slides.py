"""What the short demos say, in their quick versions: each makes one picture, and its claim holds."""

from importlib import import_module

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import cli, convolution, figures, noise, overfitting, positions, sobel, vectorization, warmup
from tinygrad_like import manual_seed


@pytest.fixture
def quick(tmp_path, capsys):
    """Run a demo in its quick version; what it returns."""
    def run(name, *options):
        path = tmp_path / "new" / f"{name}.png"
        found = import_module(f"demos.{name}").main([*options, "--out", str(path)])
        assert capsys.readouterr().out.endswith(f"picture: {path}\n")
        assert path.read_bytes().startswith(b"\x89PNG")
        return found

    return run


def test_the_four_ways_are_one_layer_and_features_are_found(quick, capsys):
    shares = quick("vectorization", "--quick")
    inputs, _, learned = (shares[name].mean(axis=0) for name in vectorization.FOUND)
    assert (learned > 0.8).all() and inputs[1] < 0.1 and (learned > inputs).all()
    rng = np.random.default_rng(0)
    arrays = rng.standard_normal((3, 5)), rng.standard_normal(3), rng.standard_normal((4, 5))
    for way in vectorization.WAYS:
        np.testing.assert_allclose(way(*arrays), np.maximum(arrays[2] @ arrays[0].T + arrays[1], 0), rtol=1e-12)


def test_deep_post_norm_needs_warmup(quick):
    found = quick("warmup", "--quick", "--layers", "12", "--epochs", "3")
    assert set(found) == {(norm, warm) for norm in warmup.NORMS for warm in warmup.WARMUPS}
    deep = {case: accuracy.mean() for case, accuracy in found.items()}
    assert deep["post-norm", "no warmup"] < 0.3 < 0.5 < deep["post-norm", "warmup"]
    assert deep["pre-norm", "no warmup"] > deep["post-norm", "no warmup"] + 0.2


def test_dead_relus_stay_dead(quick):
    relu = quick("dead_relu", "--quick", "--rates", "0.03", "5")["ReLU"].mean(axis=0)
    assert relu[1, 0] > relu[0, 0] + 0.2 and relu[1, 1] > relu[0, 1] + 0.2, "more units die at the high rate, for good"
    assert relu[0, 2] > 0.85


def test_noise_is_ridge(quick):
    found = quick("noise", "--quick")
    np.testing.assert_allclose(found["noise"].mean(axis=0), found["ridge"][0], atol=0.15)
    x, y, _, _ = noise.problem(0)
    w = noise.ridge(x, y, 0.7)
    np.testing.assert_allclose(x.T @ (x @ w - y) / len(x) + 0.49 * w, 0, atol=1e-9)


def test_only_distances_carry_over(quick):
    found = quick("positions", "--quick")
    assert set(found) == set(positions.KINDS)
    inside, beyond = slice(0, 6), slice(8, None)
    assert found["none"].mean() < 0.4
    assert found["learned"][:, inside].mean() > 0.9 and found["learned"][:, beyond].mean() < 0.4
    assert found["rotary"][:, inside].mean() > 0.8 and found["rotary"][:, beyond].mean() > 0.7


def test_layers_of_3x3_see_3_5_7_9_pixels(quick):
    fields = quick("sobel")
    for layers, field in fields.items():
        assert ((field > 0).any(axis=0).sum(), (field > 0).any(axis=1).sum()) == (2 * layers + 1,) * 2
    np.testing.assert_allclose(fields[2][7:12, 9], np.array([1, 2, 3, 2, 1]) / 3, rtol=1e-6)
    assert (sobel.receptive_field(3, stride=2) > 0).any(axis=0).sum() == 15
    lying, standing = sobel.maps(convolution.IMAGE)
    np.testing.assert_array_equal(lying[1:-1, 1:-1], convolution.convolve(convolution.IMAGE))
    np.testing.assert_array_equal(sobel.maps(convolution.IMAGE.T)[1], lying.T)
    assert np.abs(standing).max() == 4


def test_larger_nets_and_longer_texts_are_better(quick):
    found = quick("scaling", "--quick")
    short, long = found.values()
    assert long.mean(axis=0)[1] < long.mean(axis=0)[0] and long.mean(axis=0)[1] < short.mean(axis=0)[1]


def test_the_rule_is_learned_before_the_mistakes(quick):
    found = quick("overfitting", "--quick", "--epochs", "80")
    held, test = found[..., 1], found[..., 2]
    best = held.argmin(axis=1)
    assert (best < 40).all() and (held[:, -1] > held.min(axis=1) + 0.2).all()
    assert (test[np.arange(2), best] > test[:, -1] + 0.03).all()
    assert found[:, -1, 3].all() and not found[:, 5, 3].any(), "it has stopped by the end, and not at once"
    assert overfitting.make_parser().parse_args(["--quick"]).epochs == 60


def test_quick_is_what_its_help_says_and_gives_way_to_options():
    parser = cli.parser("name", "", draws=True, seeds=3, quick=dict(sizes=[1, 2], seeds=1))
    parser.add_argument("--sizes", type=cli.whole(), nargs="+", default=[4])
    assert "as with --sizes 1 2 --seeds 1" in " ".join(parser.format_help().split())
    for words, expected in (([], ([4], 3)), (["--quick"], ([1, 2], 1)), (["--quick", "--seeds", "2"], ([1, 2], 2))):
        args = parser.parse_args(words)
        assert (args.sizes, args.seeds) == expected


def test_every_case_meets_every_seed():
    args = cli.parser("name", "", seeds=2).parse_args(["--seed", "5"])
    drawn = figures.over_seeds(args, "ab", lambda case: figures_draw())
    manual_seed(6)
    assert np.array_equal(drawn["a"], drawn["b"]) and drawn["a"].shape == (2,) and drawn["a"][1] == figures_draw()


def figures_draw():
    from tinygrad_like import Tensor

    return Tensor.rand(1).item()


def test_a_table_shows_mean_and_deviation(capsys):
    figures.table("title", [1, 0.5], {"x": np.array([[0.1, 0.2], [0.3, 0.2]])})
    assert capsys.readouterr().out == "title\n              1         0.5\n  x  20.0 ±10.0   20.0 ±0.0\n"
    figures.table("title", ["a"], {"x": np.array([[1.0], [10.0], [1000.0]])}, ".0e", 1)
    assert capsys.readouterr().out == "title\n         a\n  x  1e+01\n"


def test_a_slide_has_one_legend_of_all_lines(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(figures, "save", lambda fig, path: seen.append(fig) or path)
    with figures.slide(tmp_path / "a.png", "title", 1, 2) as (left, right):
        for axes in (left, right):
            figures.spread(axes, [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]), label="line", color="red")
        right.plot([1, 2], [1, 2], label="another")
    fig, = seen
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["line", "another"]
    assert tuple(fig.get_size_inches()) == figures.SLIDE and not any(axes.get_legend() for axes in fig.axes)
