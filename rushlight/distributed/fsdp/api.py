"""`torch.distributed.fsdp.api`: what `FullyShardedDataParallel` is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ...core.tensor.dtype import dtype
from ...nn.modules.batchnorm import _BatchNorm
from ...nn.modules.module import Module

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(Enum):
    """What is spread. FULL_SHARD: parameters, gradients and state. SHARD_GRAD_OP: parameters stay between forward and
    backward. NO_SHARD: nothing; gradients are averaged. The two for several hosts are refused.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the unit that backward needs next is gathered: before or after this one's gradients."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """What states hold: whole parameters, this process's rows of each, or its part of the flat parameter."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """Types of a module's computation, as in `MixedPrecisionPolicy`. buffer_dtype: that of its buffers.

    keep_low_precision_grads: refused where it is True. cast_root_forward_inputs: whether the outermost module's arguments are
    cast.
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Module]] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether parts are kept on the CPU, which they are in any case."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """offload_to_cpu: changes nothing, since all is on the CPU."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """rank0_only: other processes get an empty state."""

    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """States of `DTensor`s, whatever `_use_dtensor` says."""

    _use_dtensor: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Of states with parts of flat parameters."""


@dataclass
class OptimStateDictConfig:
    """offload_to_cpu: changes nothing."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """rank0_only: other processes get an empty state."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """States of `DTensor`s, whatever `_use_dtensor` says."""

    _use_dtensor: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Of states with parts of flat parameters."""

    offload_to_cpu: bool = False


class OptimStateKeyType(Enum):
    """What the keys of an optimizer's state are: parameters' names, or their numbers in its groups."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class StateDictSettings:
    """What `state_dict` gives."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
