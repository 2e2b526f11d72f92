"""`torch.distributed.tensor`: tensors that are spread over processes. The names of their layouts are here;
the other names raise NotImplementedError when they are called.
"""

from rushlight.distributed.absent import absent_class
from rushlight.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "init_device_mesh",
]

DTensor = absent_class("tensor", "DTensor")
DeviceMesh = absent_class("tensor", "DeviceMesh")
distribute_module = absent_class("tensor", "distribute_module")
distribute_tensor = absent_class("tensor", "distribute_tensor")
init_device_mesh = absent_class("tensor", "init_device_mesh")
