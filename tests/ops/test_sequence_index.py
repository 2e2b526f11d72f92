"""A list as an index: a tuple of indices by torch's rule, with its warning, or one index."""

import numpy as np
import pytest

import rushlight as torch

one = torch.tensor(1)
SEVERAL = {
    "tensors": ([one, one], 5.0),
    "a tensor and a number": ([one, 2], 6.0),
    "lists": ([[0, 1], [1, 2]], [1.0, 6.0]),
    "one list": ([[0, 1]], [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]),
    "a slice": ([slice(0, 2), 1], [1.0, 5.0]),
    "None": ([None, 0], [[0.0, 1.0, 2.0, 3.0]]),
    "arrays": ([np.array([0, 1]), np.array([1, 2])], [1.0, 6.0]),
    "ranges": ([range(2), [1, 2]], [1.0, 6.0]),
    "a mask in a list": ([[True, False, True]], [[0.0, 1.0, 2.0, 3.0], [8.0, 9.0, 10.0, 11.0]]),
}
ONE = {
    "numbers": ([0, 1], (2, 4)),
    "a mask": ([True, False, True], (2, 4)),
    "a range": (range(2), (2, 4)),
    "32 tensors and more": ([one] * 33, (33, 4)),
    "an array": (np.array([[0, 1], [1, 2]]), (2, 2, 4)),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_indices(name):
    x, (index, expected) = torch.arange(12.0).view(3, 4), SEVERAL[name]
    with pytest.warns(UserWarning, match="Using a non-tuple sequence for multidimensional indexing is deprecated"):
        assert x[index].tolist() == expected
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        x[index] = 0.0
    assert (x[tuple(index)] == 0).all()


@pytest.mark.parametrize("name", ONE)
def test_one_index(name):
    index, shape = ONE[name]
    assert torch.arange(12.0).view(3, 4)[index].shape == shape


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_nothing_is_looked_for_in_any_type(dtype):
    values = torch.zeros(2, 0, dtype=getattr(torch, dtype))
    assert torch.bucketize(values, torch.tensor([1.0, 2.0])).shape == (2, 0)
    assert torch.searchsorted(torch.zeros(0), values, out_int32=True).dtype is torch.int32


def test_data_of_an_inference_tensor_is_one():
    with torch.inference_mode():
        t = torch.ones(2) * 2
    assert t.data.is_inference() and not torch.ones(2).data.is_inference()
    with pytest.raises(RuntimeError, match="on inference tensor outside InferenceMode"):
        t.data.requires_grad = True
