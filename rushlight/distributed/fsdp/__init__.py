"""`torch.distributed.fsdp`: modules whose parameters, gradients and optimizer's state are spread over processes."""

from . import api, fully_sharded_data_parallel, wrap  # noqa: F401
from ._fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from .api import *  # noqa: F403
from .fully_sharded_data_parallel import FullyShardedDataParallel

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]
__all__ += api.__all__
