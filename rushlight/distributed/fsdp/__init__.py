"""`torch.distributed.fsdp`: parameters that are spread over processes. Its names raise NotImplementedError when they are called."""

from rushlight.distributed.absent import absent_class

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalStateDictConfig",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictType",
    "fully_shard",
    "register_fsdp_forward_method",
]

BackwardPrefetch = absent_class("fsdp", "BackwardPrefetch")
CPUOffload = absent_class("fsdp", "CPUOffload")
CPUOffloadPolicy = absent_class("fsdp", "CPUOffloadPolicy")
FSDPModule = absent_class("fsdp", "FSDPModule")
FullOptimStateDictConfig = absent_class("fsdp", "FullOptimStateDictConfig")
FullStateDictConfig = absent_class("fsdp", "FullStateDictConfig")
FullyShardedDataParallel = absent_class("fsdp", "FullyShardedDataParallel")
LocalStateDictConfig = absent_class("fsdp", "LocalStateDictConfig")
MixedPrecision = absent_class("fsdp", "MixedPrecision")
MixedPrecisionPolicy = absent_class("fsdp", "MixedPrecisionPolicy")
OffloadPolicy = absent_class("fsdp", "OffloadPolicy")
OptimStateDictConfig = absent_class("fsdp", "OptimStateDictConfig")
ShardedOptimStateDictConfig = absent_class("fsdp", "ShardedOptimStateDictConfig")
ShardedStateDictConfig = absent_class("fsdp", "ShardedStateDictConfig")
ShardingStrategy = absent_class("fsdp", "ShardingStrategy")
StateDictConfig = absent_class("fsdp", "StateDictConfig")
StateDictType = absent_class("fsdp", "StateDictType")
fully_shard = absent_class("fsdp", "fully_shard")
register_fsdp_forward_method = absent_class("fsdp", "register_fsdp_forward_method")
