"""`torch.cpu`: the one device there is, under the names that code for several kinds of devices asks for."""

from . import amp
from .names import current_device, device_count, is_available, is_initialized, set_device, synchronize

__all__ = ["amp", "current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]
