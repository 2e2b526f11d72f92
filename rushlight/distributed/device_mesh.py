"""`torch.distributed.device_mesh`: processes in a grid. Its names raise NotImplementedError when they are called."""

from rushlight.distributed.absent import absent_class

__all__ = [
    "DeviceMesh",
    "init_device_mesh",
]

DeviceMesh = absent_class("device_mesh", "DeviceMesh")
init_device_mesh = absent_class("device_mesh", "init_device_mesh")
