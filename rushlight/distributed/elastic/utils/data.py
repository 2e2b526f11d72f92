"""`torch.distributed.elastic.utils.data`: a sampler for training that goes on in the middle of an epoch."""

import math
from collections.abc import Sized
from typing import TypeVar

from .... import ops
from ....core.random import Generator
from ....utils.data.distributed import DistributedSampler

__all__ = ["ElasticDistributedSampler"]

_T_co = TypeVar("_T_co", covariant=True)


class ElasticDistributedSampler(DistributedSampler[_T_co]):
    """`DistributedSampler` of the samples from `start_index` on, in an order that depends on the epoch alone.

    Raises TypeError for a dataset without a length, ValueError for a `start_index` beyond it.
    """

    def __init__(self, dataset, num_replicas: int | None = None, rank: int | None = None, start_index: int = 0) -> None:
        super().__init__(dataset, num_replicas, rank)
        if not isinstance(dataset, Sized):
            raise TypeError("Dataset must be an instance of collections.abc.Sized")
        if start_index >= len(dataset):
            raise ValueError(f"Start index {start_index} should be less than dataset size {len(dataset)}")
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def _order(self) -> list[int]:
        generator = Generator()
        generator.manual_seed(self.epoch)
        left = ops.randperm(len(self.dataset) - self.start_index, generator=generator)
        return [i + self.start_index for i in left.tolist()]

    def _fit(self, indices: list[int]) -> list[int]:
        return indices + indices[: self.total_size - len(indices)]
