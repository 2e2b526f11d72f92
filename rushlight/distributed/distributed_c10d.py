"""`torch.distributed.distributed_c10d`: where torch keeps the names of `torch.distributed`."""

import warnings
from typing import Any

from .. import distributed
from ..core.device import device
from . import *  # noqa: F403
from .coalescing import _coalescing_manager
from .collectives import _all_gather_base, _reduce_scatter_base
from .group_methods.options import AllgatherOptions
from .process_group import ProcessGroup
from .reduce_op import make_premultiplied_sum as _make_nccl_premul_sum
from .store import Store
from .world import GroupMember, _World, get_global_rank
from .world import default_group as _get_default_group
from .world import default_store as _get_default_store

__all__ = [
    "AllgatherOptions",
    "GroupMember",
    "_all_gather_base",
    "_coalescing_manager",
    "_get_default_group",
    "_get_default_store",
    "_get_global_rank",
    "_make_nccl_premul_sum",
    "_reduce_scatter_base",
    "_world",
]
__all__ += distributed.__all__


def _get_pg_default_device(group: Any = None) -> device:
    """Where tensors have to be for a group's calls: the CPU."""
    return device("cpu")


def _get_global_rank(group: Any, rank: int) -> int:
    """`get_global_rank` under its older name."""
    warnings.warn(
        "`torch.distributed.distributed_c10d._get_global_rank` is deprecated, please use "
        "`torch.distributed.distributed_c10d.get_global_rank` instead",
        FutureWarning,
        stacklevel=2,
    )
    return get_global_rank(group, rank)


def _rank_not_in_group(group: Any) -> bool:
    """Whether this process is outside a group."""
    return group is GroupMember.NON_GROUP_MEMBER


class _WorldView:
    """What `torch.distributed` knows of the groups of this process, as libraries read it."""

    @property
    def default_pg(self) -> ProcessGroup | None:
        """The default group, or None."""
        return GroupMember.WORLD

    @property
    def pg_map(self) -> dict[ProcessGroup, tuple[str, Store]]:
        """{group: (backend, store)}"""
        return {pg: (pg.backend, pg.get_group_store()) for pg in _World.groups.values()}  # type: ignore[attr-defined]

    @property
    def pg_names(self) -> dict[ProcessGroup, str]:
        """{group: its name}"""
        return {pg: pg.group_name for pg in _World.groups.values()}

    @property
    def pg_group_ranks(self) -> dict[ProcessGroup, dict[int, int]]:
        """{group: {rank in the world: rank in the group}}"""
        return {pg: {rank: i for i, rank in enumerate(pg.ranks)} for pg in _World.groups.values()}


_world = _WorldView()
