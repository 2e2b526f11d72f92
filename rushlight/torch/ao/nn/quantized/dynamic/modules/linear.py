"""`torch.ao.nn.quantized.dynamic.modules.linear`."""

from rushlight.nn.quantized.linear import Linear

__all__ = ["Linear"]
