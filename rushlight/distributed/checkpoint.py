"""`torch.distributed.checkpoint`: checkpoints that several processes write. Its names raise NotImplementedError when they are called."""

from rushlight.distributed.absent import absent_class

__all__ = [
    "FileSystemReader",
    "FileSystemWriter",
    "async_save",
    "load",
    "save",
]

FileSystemReader = absent_class("checkpoint", "FileSystemReader")
FileSystemWriter = absent_class("checkpoint", "FileSystemWriter")
async_save = absent_class("checkpoint", "async_save")
load = absent_class("checkpoint", "load")
save = absent_class("checkpoint", "save")
