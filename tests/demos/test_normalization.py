import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import normalization


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("out") / "figure.png"
    found = normalization.main(["--batch-sizes", "2", "64", "--rates", "0.03", "1", "--epochs", "2", "--passes", "4",
                                "--width", "32", "--out", str(path)])
    assert path.read_bytes().startswith(b"\x89PNG")
    return found


def test_an_output_depends_on_what_is_averaged_over(found):
    i, c, y, x = normalization.OUTPUT
    expected = {name: np.zeros((4, 6, 3, 3), bool) for name in normalization.AVERAGES}
    expected["BatchNorm"][:, c] = True
    expected["LayerNorm, variant A"][i] = True
    expected["LayerNorm, variant B"][i, :, y, x] = True
    expected["InstanceNorm"][i, c] = True
    expected["GroupNorm, 2 groups"][i, :3] = True
    for name, chosen in found["sets"].items():
        np.testing.assert_array_equal(chosen, expected[name])


def test_tiny_batches_spoil_batch_norm_alone(found):
    tiny, usual = found["by_size"]["BatchNorm"]
    assert tiny < found["by_size"]["RMSNorm"][0] - 0.05 and usual > 0.6
    assert found["ways"]["running averages"] == found["by_size"]["BatchNorm"]
    assert found["ways"]["of test batches"][0] < found["ways"]["re-estimated"][0]


def test_norms_bear_large_learning_rates(found):
    assert found["by_rate"]["BatchNorm"][1] > 0.85 > 0.6 > found["by_rate"]["no norm"][1]


def test_frozen_statistics_survive_fine_tuning(found):
    updated, frozen = found["tuned"]["updated"], found["tuned"]["frozen"]
    assert updated[0] == frozen[0] > 0.8 and frozen[-1] > frozen[0] - 0.02 > updated[-1]
