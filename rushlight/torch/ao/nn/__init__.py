"""`torch.ao.nn`: quantized layers."""

from . import quantized

__all__ = ["quantized"]
