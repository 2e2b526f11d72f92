"""Writes to repeated places, against NumPy's own `at`."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.ops.index.duplicate_index import add_at, combine_at

RANDOM = np.random.default_rng(0)


def numbers(*shape, below=3):
    return RANDOM.integers(-below, below, shape)


CASES = {
    "rows": ((3, 4), (numbers(9),), (9, 4)),
    "one value for all": ((3, 4), (numbers(9),), ()),
    "vector": ((3,), (numbers(9),), (9,)),
    "wide rows": ((3, 700), (numbers(9),), (9, 700)),
    "rows of several dimensions": ((3, 2, 2), (numbers(2, 3),), (2, 3, 2, 2)),
    "two indices": ((3, 4, 2), (numbers(5), numbers(5)), (5, 2)),
    "indices that broadcast": ((3, 4, 2), (numbers(5, 1), numbers(6)), (5, 6, 2)),
    "whole dimension before": ((3, 4), (slice(None), numbers(5)), (3, 5)),
    "mask": ((3, 4), (np.array([True, False, True]),), (2, 4)),
    "several blocks": ((3, 300), (numbers(700),), (700, 300)),
    "nothing": ((3, 4), (numbers(0),), (0, 4)),
}


@pytest.mark.parametrize("how", [np.add, np.multiply, np.maximum, np.minimum])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("turned", [False, True])
def test_combines_as_numpy_does(how, case, turned):
    shape, where, like = CASES[case]
    out = RANDOM.normal(size=shape).astype(np.float32)
    out = np.asfortranarray(out) if turned else out
    values, expected = RANDOM.normal(size=like).astype(np.float32), out.copy()
    how.at(expected, where, values)
    combine_at(how, out, where, values)
    np.testing.assert_array_equal(out, expected)


def test_places_outside_are_an_error():
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            add_at(np.zeros((3, 2)), (np.array([0, wrong]),), 1.0)


def test_rows_are_added_in_order():
    """1e8 swallows a one that comes after it, not one that comes before the difference is taken."""
    source = torch.tensor([[1e8], [1.0], [-1e8], [1.0]])
    assert torch.zeros(1, 1).index_add(0, torch.zeros(4, dtype=torch.int64), source).item() == 1.0
    assert torch.zeros(1, 1).scatter_add(0, torch.zeros(4, 1, dtype=torch.int64), source).item() == 1.0
    sparse = torch.sparse_coo_tensor(torch.tensor([[0, 0, 0, 0], [0, 1, 2, 3]]), source[:, 0], (1, 4))
    assert (sparse @ torch.ones(4, 1)).item() == 1.0
