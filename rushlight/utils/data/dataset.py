"""Datasets: maps from an index to a sample, streams of samples, and ways to combine them."""

import bisect
import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Iterable, TypeVar  # noqa: UP035 (abc's Iterable and Generic have no common MRO as bases)

from rushlight import ops
from rushlight.core.random import default_generator

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """A map from an index (or key) to a sample.

    A subclass defines `__getitem__(index)`, and `__len__()` where samplers or `len(loader)` need it. It may define
    `__getitems__(indices)`, which loads the samples of a batch at once and returns them as a list.
    """

    def __getitem__(self, index) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset[_T_co]") -> "ConcatDataset[_T_co]":
        return ConcatDataset([self, other])

    if TYPE_CHECKING:  # without it `len(loader.dataset)` is an error; a class that has none raises when asked

        def __len__(self) -> int: ...


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """A stream of samples; a subclass defines `__iter__()`.

    With `num_workers > 0` every worker iterates over its own copy, so that every sample arrives `num_workers` times
    unless `__iter__` (or the loader's `worker_init_fn`) picks the worker's share by `get_worker_info()`:

    >>> class Range(IterableDataset):
    ...     def __iter__(self):
    ...         worker = get_worker_info()
    ...         return iter(range(10)) if worker is None else iter(range(worker.id, 10, worker.num_workers))
    """

    def __add__(self, other: Dataset[_T_co]) -> "ChainDataset":
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple]):
    """Sample `i` is the tuple of row `i` of every tensor.

    Shape: each tensor (N, *) -> N samples of shapes (*). Different N raise AssertionError.
    """

    def __init__(self, *tensors) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Datasets of one length side by side: samples are tuples (positional datasets) or dicts (keyword datasets).

    >>> StackDataset(image=["a", "b"], label=[0, 1])[1]
    {'image': 'b', 'label': 1}
    """

    def __init__(self, *args, **kwargs) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not (args or kwargs):
            raise ValueError("At least one dataset should be passed")
        self.datasets: tuple | dict = args or kwargs
        lengths = [len(dataset) for dataset in self._columns()]
        if any(length != lengths[0] for length in lengths):
            raise ValueError("Size mismatch between datasets")
        self._length = lengths[0]

    def _columns(self):
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def _sample(self, row):
        return dict(zip(self.datasets, row, strict=True)) if isinstance(self.datasets, dict) else tuple(row)

    def __getitem__(self, index):
        return self._sample([dataset[index] for dataset in self._columns()])

    def __getitems__(self, indices: list) -> list:
        columns = [_load_samples(dataset, indices) for dataset in self._columns()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
        return [self._sample(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """Map datasets one after the other; negative indices count from the end."""

    @staticmethod
    def cumsum(sequence) -> list[int]:
        return list(itertools.accumulate(len(dataset) for dataset in sequence))

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[part - 1] if part else 0
        return self.datasets[part][idx - start]

    @property
    def cummulative_sizes(self) -> list[int]:
        message = "`cummulative_sizes` attribute is renamed to `cumulative_sizes`"
        warnings.warn(message, category=FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        super().__init__()
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")  # torch's type
            yield dataset

    def __iter__(self):
        return itertools.chain.from_iterable(self._streams())

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._streams())


class Subset(Dataset[_T_co]):
    """The samples of `dataset` at `indices`, in that order.

    A subclass that overrides `__getitem__` must override `__getitems__` too (the loader fetches by it), or creating
    it raises NotImplementedError.
    """

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        if type(self).__getitem__ is not Subset.__getitem__ and type(self).__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{type(self).__name__} overrides __getitem__ but not __getitems__. "
                "When subclassing Subset and overriding __getitem__, you must also override "
                "__getitems__ to ensure DataLoader works correctly with your custom logic. "
                "A simple implementation:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[_T_co]:
        return _load_samples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def _load_samples(dataset, indices: list) -> list:
    """dataset[i] for every index, at once where the dataset can; a failure's note names the sample."""
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(indices)
    samples = []
    for index in indices:
        try:
            samples.append(dataset[index])
        except Exception as error:
            error.add_note(f"Raised by sample {index!r} of {type(dataset).__name__}.")
            raise
    return samples


def random_split(dataset: Any, lengths: Sequence[int | float], generator=default_generator) -> list[Subset]:
    """Split a dataset at random into disjoint subsets of the given lengths.

    Fractions that sum to 1 mean floor(fraction * len(dataset)) samples each; the remaining samples go one by one
    to the first subsets. Lengths that do not sum to len(dataset) raise ValueError.

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = ops.randperm(len(dataset), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


def _lengths_of_fractions(total: int, fractions: Sequence[float]) -> list[int]:
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            message = f"Length of split at index {i} is 0. This might result in an empty dataset."
            warnings.warn(message, stacklevel=3)
    return lengths
