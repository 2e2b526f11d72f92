"""`torch.distributed.nn`: collectives through which gradients flow."""

from . import functional
from .functional import *  # noqa: F403

__all__ = ["functional"]
__all__ += functional.__all__
