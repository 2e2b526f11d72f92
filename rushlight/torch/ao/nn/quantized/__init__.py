"""`torch.ao.nn.quantized`: quantized layers, of which there are those that quantize activations in each call."""

from . import dynamic

__all__ = ["dynamic"]
