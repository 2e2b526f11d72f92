"""`torch.distributed.distributed_c10d`: where torch keeps the names of `torch.distributed`."""

from typing import Any

from .. import distributed
from . import *  # noqa: F403
from .coalescing import _coalescing_manager
from .collectives import _all_gather_base, _reduce_scatter_base
from .reduce_op import make_premultiplied_sum as _make_nccl_premul_sum
from .world import GroupMember
from .world import default_group as _get_default_group
from .world import default_store as _get_default_store

__all__ = [
    "GroupMember",
    "_all_gather_base",
    "_coalescing_manager",
    "_get_default_group",
    "_get_default_store",
    "_make_nccl_premul_sum",
    "_reduce_scatter_base",
]
__all__ += distributed.__all__


def _rank_not_in_group(group: Any) -> bool:
    """Whether this process is outside a group."""
    return group is GroupMember.NON_GROUP_MEMBER
