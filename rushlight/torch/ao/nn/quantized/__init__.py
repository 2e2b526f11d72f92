"""`torch.ao.nn.quantized`: layers of quantized tensors, and `dynamic`, those that quantize activations in each call."""

from rushlight.nn.quantization.static.functional_modules import FloatFunctional, FXFloatFunctional, QFunctional
from rushlight.nn.quantization.static.layers import (
    ELU,
    BatchNorm2d,
    BatchNorm3d,
    DeQuantize,
    Dropout,
    GroupNorm,
    Hardswish,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LeakyReLU,
    PReLU,
    Quantize,
    ReLU6,
    Sigmoid,
    Softmax,
)
from rushlight.nn.quantization.static.weighted import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Linear,
)

__all__ = [
    "ELU",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "DeQuantize",
    "Dropout",
    "FXFloatFunctional",
    "FloatFunctional",
    "GroupNorm",
    "Hardswish",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "PReLU",
    "QFunctional",
    "Quantize",
    "ReLU6",
    "Sigmoid",
    "Softmax",
]

from . import dynamic as dynamic
