"""torchvision's module name for the blocks in `layers`."""

from rushlight_vision.ops.layers import (
    MLP,
    Conv2dNormActivation,
    Conv3dNormActivation,
    ConvNormActivation,
    FrozenBatchNorm2d,
    Permute,
    SqueezeExcitation,
)

__all__ = [
    "MLP",
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "ConvNormActivation",
    "FrozenBatchNorm2d",
    "Permute",
    "SqueezeExcitation",
]
