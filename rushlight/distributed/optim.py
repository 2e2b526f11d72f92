"""`torch.distributed.optim`: optimizers whose state is spread over processes. Its names raise NotImplementedError when they are called."""

from rushlight.distributed.absent import absent_class

__all__ = [
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
]

DistributedOptimizer = absent_class("optim", "DistributedOptimizer")
PostLocalSGDOptimizer = absent_class("optim", "PostLocalSGDOptimizer")
ZeroRedundancyOptimizer = absent_class("optim", "ZeroRedundancyOptimizer")
