"""`torch.ao.nn`: quantized layers, and those for training before quantization."""

from . import qat, quantized

__all__ = ["qat", "quantized"]
