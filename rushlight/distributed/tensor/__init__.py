"""`torch.distributed.tensor`: tensors that are spread over processes. The names of their layouts are here;
the other names raise NotImplementedError when they are called.
"""

from rushlight.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
]
