"""The share of a dataset that one of several training processes loads."""

import math
from collections.abc import Iterator
from typing import Any, TypeVar

from rushlight import ops
from rushlight.core.dispatch.extension_points import distributed
from rushlight.core.random import Generator
from rushlight.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]

_T_co = TypeVar("_T_co", covariant=True)


class DistributedSampler(Sampler[_T_co]):
    """Every `num_replicas`-th index of a permutation that all replicas share, starting at `rank`.

    The permutation depends on `seed` plus the epoch: call `set_epoch(epoch)` before each epoch, or all epochs have
    the same order. A length that `num_replicas` does not divide is padded with the first indices, or, with
    `drop_last`, cut. `num_replicas` and `rank` default to those of the default process group.
    """

    def __init__(
        self,
        dataset,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = int(_process_group().get_world_size())
        if rank is None:
            rank = int(_process_group().get_rank())
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        dropped = drop_last and len(dataset) % num_replicas != 0
        self.num_samples = math.ceil((len(dataset) - (num_replicas if dropped else 0)) / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[Any]:
        indices = self._fit(self._order())
        if len(indices) != self.total_size:
            raise AssertionError(f"Number of indices ({len(indices)}) does not match total_size ({self.total_size})")
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def _order(self) -> list[int]:
        if not self.shuffle:
            return list(range(len(self.dataset)))
        generator = Generator()
        generator.manual_seed(self.seed + self.epoch)
        return ops.randperm(len(self.dataset), generator=generator).tolist()

    def _fit(self, indices: list[int]) -> list[int]:
        if not self.drop_last and len(indices) < self.total_size:
            indices = indices * math.ceil(self.total_size / len(indices))
        return indices[: self.total_size]

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the permutation of the epoch that starts next."""
        self.epoch = epoch


def _process_group():
    """`rushlight.distributed` if the program uses it; that layer is above this one, so it is not imported here."""
    if distributed.value is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return distributed.value
