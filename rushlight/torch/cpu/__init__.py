"""`torch.cpu`: the one device there is, under the names that code for several kinds of devices asks for."""

from . import amp
from .names import current_device, device_count, is_available, is_initialized, set_device, synchronize
from .streams import Event, Stream, StreamContext, current_stream, stream

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]
