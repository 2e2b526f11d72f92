"""Ways to combine gradients, for `DistributedDataParallel.register_comm_hook`."""

from . import default_hooks, post_localSGD_hook, powerSGD_hook

__all__ = ["default_hooks", "post_localSGD_hook", "powerSGD_hook"]
