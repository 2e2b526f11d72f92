"""`torch.ao.nn.intrinsic.quantized`: quantized layers with ReLU."""

from rushlight.nn.quantization.static.layers import BNReLU2d, BNReLU3d
from rushlight.nn.quantization.static.weighted import ConvReLU1d, ConvReLU2d, ConvReLU3d, LinearReLU

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]
