"""`torch.ao.nn`: quantized layers, those for training before quantization, and layers that become one."""

from . import intrinsic, qat, quantized

__all__ = ["intrinsic", "qat", "quantized"]
