"""Datasets and their combinations."""

import pytest

from rushlight import ops
from rushlight.core.random import Generator
from rushlight.utils.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Stream(IterableDataset):
    def __init__(self, *samples):
        self.samples = samples

    def __iter__(self):
        return iter(self.samples)

    def __len__(self):
        return len(self.samples)


class Batched:
    """A dataset that loads a batch at once, and can be made to lose a sample."""

    def __init__(self, extra=0):
        self.extra = extra

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return -index

    def __getitems__(self, indices):
        return [-10 * index for index in indices] + [0] * self.extra


def test_tensor_dataset():
    dataset = TensorDataset(ops.tensor([[1, 2], [3, 4]]), ops.tensor([5, 6]))
    assert len(dataset) == 2
    assert [column.tolist() for column in dataset[1]] == [[3, 4], 6]


def test_concat_and_chain():
    both = Subset(range(10), [1, 2]) + Subset(range(10), [7])
    assert isinstance(both, ConcatDataset)
    assert [both[i] for i in (0, 1, 2, -1, -3)] == [1, 2, 7, 7, 1]
    assert both.cumulative_sizes == ConcatDataset.cumsum(both.datasets) == [2, 3]
    with pytest.warns(FutureWarning, match="renamed to `cumulative_sizes`"):
        assert both.cummulative_sizes == [2, 3]
    chain = Stream(1, 2) + Stream(3)
    assert isinstance(chain, ChainDataset)
    assert (list(chain), len(chain)) == ([1, 2, 3], 3)


def test_stack():
    rows, named = StackDataset(range(3), "abc"), StackDataset(x=range(3), y="abc")
    assert (len(rows), rows[1], len(named), named[2]) == (3, (1, "b"), 3, {"x": 2, "y": "c"})
    assert rows.__getitems__([0, 2]) == [(0, "a"), (2, "c")]
    assert StackDataset(a=Batched(), b=range(4)).__getitems__([1, 3]) == [{"a": -10, "b": 1}, {"a": -30, "b": 3}]


def test_subset():
    assert [Subset("abcd", [3, 1])[i] for i in (0, 1)] == ["d", "b"]
    assert Subset(ops.arange(5), [3, 4])[[1, 0]].tolist() == [4, 3]
    assert Subset(Batched(), [3, 1]).__getitems__([0, 1]) == [-30, -10]
    assert Subset(Subset("abcd", [3, 1, 0]), [2, 0]).__getitems__([0, 1]) == ["a", "d"]


@pytest.mark.parametrize(
    ("total", "lengths", "expected"),
    [(10, [3, 7], [3, 7]), (11, [0.5, 0.5], [6, 5]), (10, [0.25] * 4, [3, 3, 2, 2]), (7, [1.0], [7])],
)
def test_random_split(total, lengths, expected):
    parts = random_split(range(total), lengths, Generator().manual_seed(0))
    assert [len(part) for part in parts] == expected
    assert sorted(sample for part in parts for sample in part) == list(range(total))


def test_random_split_warns_of_empty_parts():
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(1), [0.5, 0.5])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Dataset()[0], NotImplementedError, "should implement __getitem__"),
        (lambda: TensorDataset(ops.zeros(2), ops.zeros(3)), AssertionError, "Size mismatch between tensors"),
        (lambda: StackDataset(), ValueError, "At least one dataset"),
        (lambda: StackDataset("a", x="a"), ValueError, "both types are given"),
        (lambda: StackDataset("a", "ab"), ValueError, "Size mismatch between datasets"),
        (lambda: StackDataset(Batched(1)).__getitems__([1]), ValueError, "Expected 1, got 2"),
        (lambda: ConcatDataset([]), AssertionError, "should not be an empty iterable"),
        (lambda: ConcatDataset([Stream()]), AssertionError, "does not support IterableDataset"),
        (lambda: ConcatDataset(["ab"])[-3], ValueError, "should not exceed dataset length"),
        (lambda: list(ChainDataset(["ab"])), AssertionError, "only supports IterableDataset"),
        (
            lambda: type("Odd", (Subset,), {"__getitem__": lambda self, i: i})("ab", [0]),
            NotImplementedError,
            "Odd overrides __getitem__ but not __getitems__",
        ),
        (lambda: random_split(range(3), [1, 1]), ValueError, "Sum of input lengths does not equal"),
        (lambda: random_split(range(3), [-0.5, 1.5]), ValueError, "Fraction at index 0 is not between 0 and 1"),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()
