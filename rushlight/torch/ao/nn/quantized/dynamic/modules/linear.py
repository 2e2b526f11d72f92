"""`torch.ao.nn.quantized.dynamic.modules.linear`."""

from rushlight.nn.quantization.linear import Linear

__all__ = ["Linear"]
