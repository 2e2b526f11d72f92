"""Ways to combine gradients, for `DistributedDataParallel.register_comm_hook`."""

from . import default_hooks

__all__ = ["default_hooks"]
