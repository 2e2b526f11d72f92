"""`torch.ao`: quantized layers and what makes them; dynamic quantization of linear and recurrent layers is what there is."""

from . import nn, quantization

__all__ = ["nn", "quantization"]
