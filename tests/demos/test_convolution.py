import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import convolution

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
