"""`torch.distributed.tensor.parallel`: layers that are spread over processes. Its names raise NotImplementedError when they are called."""

from rushlight.distributed.absent import absent_class

__all__ = [
    "ColwiseParallel",
    "PrepareModuleInput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]

ColwiseParallel = absent_class("tensor.parallel", "ColwiseParallel")
PrepareModuleInput = absent_class("tensor.parallel", "PrepareModuleInput")
PrepareModuleOutput = absent_class("tensor.parallel", "PrepareModuleOutput")
RowwiseParallel = absent_class("tensor.parallel", "RowwiseParallel")
SequenceParallel = absent_class("tensor.parallel", "SequenceParallel")
loss_parallel = absent_class("tensor.parallel", "loss_parallel")
parallelize_module = absent_class("tensor.parallel", "parallelize_module")
