"""The DataLoader: a dataset, an order and a batch size make an iterable of batches."""

import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from rushlight.core.dispatch.extension_points import training_observer
from rushlight.utils.data.collate import default_collate, default_convert
from rushlight.utils.data.dataset import Dataset, IterableDataset
from rushlight.utils.data.iterator import _BaseDataLoaderIter, _SingleProcessDataLoaderIter
from rushlight.utils.data.parallel_iterator import _MultiProcessingDataLoaderIter
from rushlight.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from rushlight.utils.data.worker import _DatasetKind, get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)

_PROTECTED = frozenset({"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"})


class _InfiniteConstantSampler(Sampler):
    """None for ever: an iterable dataset needs no indices, and ends by itself."""

    def __iter__(self):
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """An iterable over a dataset's batches, loaded by this process or by worker processes.

    Args:
        dataset: a map dataset (`__getitem__`) or an `IterableDataset`.
        batch_size: samples per batch. None hands out samples as they are, converted by `default_convert`.
        shuffle: reshuffle at every epoch.
        sampler: an iterable of indices instead of `shuffle`.
        batch_sampler: an iterable of lists of indices instead of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: worker processes; 0 loads in this process.
        collate_fn: makes a batch of a list of samples (default: `default_collate`).
        pin_memory, pin_memory_device: accepted; warn where there is no accelerator.
        drop_last: leave out the last batch if it is not full.
        timeout: seconds to wait for a batch from the workers before RuntimeError; 0 waits for ever.
        worker_init_fn: called in each worker with its id, after seeding and before loading.
        multiprocessing_context: a start method ("fork", "spawn", "forkserver") or a multiprocessing context.
        generator: the generator for shuffling and for the workers' base seed.
        prefetch_factor: batches that each worker loads in advance (default: 2).
        persistent_workers: keep the workers, and their copies of the dataset, from epoch to epoch.
        in_order: hand out the batches in the sampler's order; False: as they arrive.

    Worker i is seeded (`random`, Rushlight, NumPy) from base seed + i; the base seed is drawn at each `iter(loader)`.
    Its batches travel by shared memory. An exception in a worker is raised here, with its type, its traceback and the
    sample's index in the message; a worker that dies raises RuntimeError.

    `len(loader)` is the number of batches; for an iterable dataset it is estimated from `len(dataset)`.

    >>> loader = DataLoader([1, 2, 3], batch_size=2)
    >>> list(loader)
    [tensor([1, 2]), tensor([3])]
    """

    dataset: Dataset[_T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler | Iterable
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: Any  # of persistent workers: a _MultiProcessingDataLoaderIter
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers)
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            _check_no_order(shuffle, sampler, batch_sampler)
        else:
            self._dataset_kind = _DatasetKind.Map
        _check_batching(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None
        if sampler is None:
            sampler = self._default_sampler(shuffle, generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called = None
        self._iterator = None
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle, generator) -> Sampler:
        if self._dataset_kind == _DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        dataset: Any = self.dataset
        return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)

    @property
    def multiprocessing_context(self):
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context) -> None:
        if multiprocessing_context is not None:
            multiprocessing_context = _checked_context(multiprocessing_context, self.num_workers)
        self.__multiprocessing_context = multiprocessing_context

    def __setattr__(self, attr, val) -> None:
        if self.__initialized and attr in _PROTECTED:
            raise ValueError(f"{attr} attribute should not be set after {self.__class__.__name__} is initialized")
        super().__setattr__(attr, val)

    def __iter__(self) -> _BaseDataLoaderIter:
        iterator = self._present_iterator()
        observer = training_observer.value
        if observer is not None:
            observer.epoch_begins(self, iterator)
        return iterator

    def _present_iterator(self) -> _BaseDataLoaderIter:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None or not self._iterator._pool.is_usable:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        # Remembered, because the iterator warns when more samples arrive than the dataset promised here.
        dataset: Any = self.dataset
        length = self._IterableDataset_len_called = len(dataset)
        if self.batch_size is None:
            return length
        full, rest = divmod(length, self.batch_size)
        return full if self.drop_last or not rest else full + 1

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors that this process may use."""
        if not self.num_workers:
            return
        knows_affinity = hasattr(os, "sched_getaffinity")
        suggested = len(os.sched_getaffinity(0)) if knows_affinity else os.cpu_count()
        if suggested is None:
            advice = "DataLoader is not able to compute a suggested max number of worker in current system."
        elif self.num_workers > suggested:
            caveat = "" if knows_affinity else " (`cpuset` is not taken into account)"
            advice = (
                f"Our suggested max number of worker in current system is {suggested}{caveat}, which is smaller "
                "than what this DataLoader is going to create."
            )
        else:
            return
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {advice} "
            "Please be aware that excessive worker creation might get DataLoader running slow or even freeze, "
            "lower the worker number to avoid potential slowness/freeze if necessary.",
            stacklevel=2,
        )


def _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_no_order(shuffle, sampler, batch_sampler) -> None:
    if shuffle not in {False, None}:
        raise ValueError(
            f"DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle={shuffle}"
        )
    if sampler is not None:
        raise ValueError(
            f"DataLoader with IterableDataset: expected unspecified sampler option, but got sampler={sampler}"
        )
    if batch_sampler is not None:
        raise ValueError(
            "DataLoader with IterableDataset: expected unspecified "
            f"batch_sampler option, but got batch_sampler={batch_sampler}"
        )


def _check_batching(batch_size, shuffle, sampler, batch_sampler, drop_last) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def _checked_context(context, num_workers: int):
    if num_workers <= 0:
        raise ValueError(
            "multiprocessing_context can only be used with "
            f"multi-process loading (num_workers > 0), but got num_workers={num_workers}"
        )
    import multiprocessing
    from multiprocessing.context import BaseContext

    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                "multiprocessing_context option "
                f"should specify a valid start method in {methods!r}, but got multiprocessing_context={context!r}"
            )
        context = multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context "
            f"object or a string specifying the start method, but got multiprocessing_context={context}"
        )
    return context
