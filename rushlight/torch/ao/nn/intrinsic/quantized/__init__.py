"""`torch.ao.nn.intrinsic.quantized`: quantized layers with ReLU."""

from rushlight.nn.quantization.static import ConvReLU1d, ConvReLU2d, ConvReLU3d, LinearReLU
from rushlight.nn.quantization.static_layers import BNReLU2d, BNReLU3d

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]
