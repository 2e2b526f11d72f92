"""`torch.distributed`: several processes that train together on the CPU, by MPI or over TCP.

>>> import os
>>> os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
>>> init_process_group("gloo")
>>> get_rank(), get_world_size()
(0, 1)
>>> destroy_process_group()
"""

import sys as _sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.dispatch import extension_points as _extension_points
from ..nn.parallel.grad_bucket import GradBucket
from . import captured, collectives, debug_level, errors, objects, world  # noqa: F401
from .coalescing import _coalescing_manager  # noqa: F401
from .collectives import *  # noqa: F403
from .collectives import _all_gather_base, _reduce_scatter_base  # noqa: F401
from .debug_level import *  # noqa: F403
from .device_mesh import DeviceMesh, init_device_mesh
from .errors import *  # noqa: F403
from .group_methods.options import (
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from .objects import *  # noqa: F403
from .process_group import ProcessGroup
from .reduce_op import OlderReduceOp as _OlderReduceOp
from .reduce_op import RedOpType, ReduceOp, supports_complex
from .reduce_op import make_premultiplied_sum as _make_nccl_premul_sum  # noqa: F401
from .rendezvous import register_rendezvous_handler, rendezvous
from .store import FileStore, HashStore, PrefixStore, Store, TCPStore
from .work import Future, Work
from .world import *  # noqa: F403
from .world import default_pg_timeout

_extension_points.distributed.register(_sys.modules[__name__])
reduce_op = _OlderReduceOp()
ProcessGroupGloo = ProcessGroup

__all__ = [
    "AllToAllOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "BarrierOptions",
    "BroadcastOptions",
    "DeviceMesh",
    "FileStore",
    "Future",
    "GatherOptions",
    "GradBucket",
    "HashStore",
    "PrefixStore",
    "ProcessGroup",
    "ProcessGroupGloo",
    "RedOpType",
    "ReduceOp",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
    "Store",
    "TCPStore",
    "Work",
    "default_pg_timeout",
    "init_device_mesh",
    "reduce_op",
    "register_rendezvous_handler",
    "rendezvous",
    "supports_complex",
    "world",
]
__all__ += collectives.__all__
__all__ += debug_level.__all__
__all__ += errors.__all__
__all__ += objects.__all__
__all__ += world.__all__


_LATER = (
    "_functional_collectives", "algorithms", "checkpoint", "constants", "distributed_c10d", "fsdp", "nn", "optim", "rpc",
    "tensor",
)  # fmt: skip

if not TYPE_CHECKING:  # else every name would be one of the module's

    def __getattr__(name: str) -> Any:
        if name in _LATER:
            return import_module(f".{name}", __name__)
        raise AttributeError(f"module 'torch.distributed' has no attribute {name!r}: Rushlight does not have it")
