"""`torch.distributed.tensor`: tensors that are spread over processes. The names of their layouts and of meshes are here;
the other names raise NotImplementedError when they are called.
"""

from rushlight.distributed.device_mesh import DeviceMesh, init_device_mesh
from rushlight.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "init_device_mesh",
]
