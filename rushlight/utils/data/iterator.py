"""Iterating over a loader: what all iterators have in common, and the one that loads in this process."""

import warnings

from rushlight.core.dispatch.extension_points import profiled_block, training_observer
from rushlight.utils.data.fetch import silent_end
from rushlight.utils.data.pinning import device_to_pin_for, pinned
from rushlight.utils.data.seeding import draw_seed
from rushlight.utils.data.worker import _DatasetKind


class _BaseDataLoaderIter:
    """One pass over a loader. Creating it draws one seed from the loader's generator, workers or not, as torch does."""

    def __init__(self, loader) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._pins_for = device_to_pin_for(loader)
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = _started(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0

    def __iter__(self):
        return self

    def _reset(self, loader, first_iter: bool = False) -> None:
        # For worker processes the samplers are started twice before the first epoch: torch does, and a sampler that
        # draws its permutation in __iter__ takes that from the generator's stream.
        self._sampler_iter = _started(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self):
        return next(self._sampler_iter)

    def _next_data(self):
        raise NotImplementedError

    def __next__(self):
        observer, block = training_observer.value, profiled_block.value
        try:
            data = self._next_data() if block is None else self._profiled_data(block)
        except StopIteration:
            if observer is not None:
                observer.epoch_ends(self)
            raise
        self._num_yielded += 1
        if self._dataset_kind == _DatasetKind.Iterable:
            self._warn_about_length()
        data = data if self._pins_for is None else pinned(data, self._pins_for)
        if observer is not None:
            observer.batch(self, data)
        return data

    def _profiled_data(self, block):
        with block(f"enumerate(DataLoader)#{type(self).__name__}.__next__"):
            return self._next_data()

    def _warn_about_length(self) -> None:
        promised = self._IterableDataset_len_called
        if promised is None or self._num_yielded <= promised:
            return
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {promised}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(message, stacklevel=3)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)


def _started(sampler):
    try:
        return iter(sampler)
    except StopIteration as error:
        raise silent_end("starting the sampler") from error


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Loads each batch when it is asked for."""

    def __init__(self, loader) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if self._num_workers != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires num_workers == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self):
        return self._dataset_fetcher.fetch(self._next_index())
