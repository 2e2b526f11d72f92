"""`torch.distributed.tensor`: tensors that are spread over processes. The names of their layouts, of meshes and of what
`fully_shard` gives are here; the other names raise NotImplementedError when they are called.
"""

from rushlight.distributed.device_mesh import DeviceMesh, init_device_mesh
from rushlight.distributed.tensor._dtensor import DTensor, distribute_tensor
from rushlight.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_tensor",
    "init_device_mesh",
]
