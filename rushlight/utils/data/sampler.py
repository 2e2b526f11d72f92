"""Samplers: the order in which a loader asks for samples."""

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from rushlight import ops
from rushlight.core.random import Generator
from rushlight.core.tensor.dtype import float64, int64
from rushlight.utils.data.seeding import draw_seed

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_T_co = TypeVar("_T_co", covariant=True)

# torch draws this many indices at a time with replacement; the stream depends on it.
_DRAWS_AT_ONCE = 32


class Sampler(Generic[_T_co]):
    """An iterable of indices, or of lists of indices; a subclass defines `__iter__()` and, for `len`, `__len__()`."""

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, ..., len(data_source) - 1."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order, as many as the source has samples, or `num_samples` (over several shuffles if more).

    With `replacement` every index is drawn independently. Without a `generator` each epoch takes one seed from the
    default generator and shuffles with a generator of its own.
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator=None
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        # The source may grow or shrink between epochs.
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(draw_seed())
        draw = self._independent if self.replacement else self._shuffles
        yield from draw(len(self.data_source), generator)

    def _independent(self, n: int, generator) -> Iterator[int]:
        full, rest = divmod(self.num_samples, _DRAWS_AT_ONCE)
        for size in itertools.chain(
            itertools.repeat(_DRAWS_AT_ONCE, full), [rest]
        ):  # num_samples may be 10**10: no list of it
            yield from ops.randint(high=n, size=(size,), dtype=int64, generator=generator).tolist()

    def _shuffles(self, n: int, generator) -> Iterator[int]:
        full, rest = divmod(self.num_samples, n)
        for size in itertools.chain(
            itertools.repeat(n, full), [rest]
        ):  # the last one is drawn even if nothing of it is used, as torch does
            yield from ops.randperm(n, generator=generator).tolist()[:size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""

    def __init__(self, indices: Sequence[int], generator=None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in ops.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices into `weights`, each drawn with a probability proportional to its weight.

    The weights need not sum to one. Without replacement no index comes twice.
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator=None) -> None:
        if not _is_positive_int(num_samples):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            message = f"replacement should be a boolean value, but got replacement={replacement}"
            raise ValueError(message)  # torch's type
        self.weights = ops.as_tensor(weights, dtype=float64)
        if len(self.weights.shape) != 1:
            shape = tuple(self.weights.shape)
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {shape}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = ops.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` consecutive indices of another sampler; the last may be shorter unless `drop_last`.

    >>> list(BatchSampler(range(7), batch_size=3, drop_last=False))
    [[0, 1, 2], [3, 4, 5], [6]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not _is_positive_int(batch_size):
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            message = f"drop_last should be a boolean value, but got drop_last={drop_last}"
            raise ValueError(message)  # torch's type
        self.sampler: Any = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        full, rest = divmod(len(self.sampler), self.batch_size)
        return full if self.drop_last or not rest else full + 1


def _is_positive_int(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
