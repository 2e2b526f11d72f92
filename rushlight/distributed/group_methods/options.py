"""Options of the collectives that are methods of a process group: which reduction, which rank, how long to wait."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ..reduce_op import ReduceOp

__all__ = [
    "AllToAllOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "BarrierOptions",
    "BroadcastOptions",
    "GatherOptions",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
]

_UNSET = timedelta(milliseconds=-1)


class _Options:
    """timeout: how long to wait for the call; a negative one means as long as the group's calls wait.

    asyncOp changes nothing: these calls return a `Work` in any case.
    """

    asyncOp = True
    timeout = _UNSET

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name == "timeout" and not isinstance(value, timedelta):
            raise TypeError(f"{type(self).__name__}.timeout: expected a datetime.timedelta, got {value!r}")
        super().__setattr__(name, value)


class AllreduceOptions(_Options):
    """Of `allreduce`: reduceOp."""

    reduceOp = ReduceOp.SUM


class AllreduceCoalescedOptions(AllreduceOptions):
    """Of `allreduce_coalesced`: reduceOp."""


class ReduceScatterOptions(AllreduceOptions):
    """Of `reduce_scatter`: reduceOp."""


class BroadcastOptions(_Options):
    """Of `broadcast`: rootRank, in the group; rootTensor, always 0."""

    rootRank = 0
    rootTensor = 0


class ReduceOptions(BroadcastOptions):
    """Of `reduce`: reduceOp, rootRank; rootTensor, always 0."""

    reduceOp = ReduceOp.SUM


class GatherOptions(_Options):
    """Of `gather`: rootRank, in the group."""

    rootRank = 0


class ScatterOptions(GatherOptions):
    """Of `scatter`: rootRank, in the group."""


class AllgatherOptions(_Options):
    """Of `allgather`."""


class AllToAllOptions(_Options):
    """Of `alltoall` and `alltoall_base`."""


class BarrierOptions(_Options):
    """Of `barrier`. There are no devices to choose from."""

    device = None
    device_ids: list[int] = []


for _kind in [kind for kind in vars().copy().values() if isinstance(kind, type) and issubclass(kind, _Options)]:
    _kind.__module__ = "torch.distributed.distributed_c10d"
