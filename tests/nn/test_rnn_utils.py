"""Sequences of different lengths, padded to the longest."""

import numpy as np
import pytest

from nn.utils.rnn import pad_sequence
from tinygrad_like import Tensor, gradcheck

rng = np.random.default_rng(0)
BATCH = rng.standard_normal((4, 5, 3)).astype(np.float32)


def test_pad_sequence_pads_to_the_longest():
    xs = [Tensor([1.0, 2.0]), Tensor([3.0]), Tensor([4.0, 5.0, 6.0])]
    assert pad_sequence(xs, batch_first=True).tolist() == [[1, 2, 0], [3, 0, 0], [4, 5, 6]]
    assert pad_sequence(xs, padding_value=-1.0).tolist() == [[1, 3, 4], [2, -1, 5], [-1, -1, 6]]
    assert pad_sequence(xs, True, padding_side="left").tolist() == [[0, 1, 2], [0, 0, 3], [4, 5, 6]]
    assert pad_sequence([Tensor([1, 2]), Tensor([3])], True, padding_value=9).dtype == np.int64
    assert gradcheck(lambda a, b: pad_sequence([a, b]), np.ones((2, 2)), np.ones((3, 2)))


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: pad_sequence([]), "takes Tensors"), (lambda x: pad_sequence([x[0], x[:, 0, 0]]), "takes Tensors"),
    (lambda x: pad_sequence([x[0]], padding_side="up"), "'right' or 'left'"),
])
def test_pad_sequence_refuses_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call(Tensor(BATCH))
