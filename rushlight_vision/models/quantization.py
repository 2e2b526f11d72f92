"""Quantized models: not implemented, each raises when called."""

from rushlight_vision.models._absent import absent

__all__ = [
    "googlenet",
    "inception_v3",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "resnet18",
    "resnet50",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]

googlenet = absent("quantization", "googlenet")
inception_v3 = absent("quantization", "inception_v3")
mobilenet_v2 = absent("quantization", "mobilenet_v2")
mobilenet_v3_large = absent("quantization", "mobilenet_v3_large")
resnet18 = absent("quantization", "resnet18")
resnet50 = absent("quantization", "resnet50")
resnext101_32x8d = absent("quantization", "resnext101_32x8d")
resnext101_64x4d = absent("quantization", "resnext101_64x4d")
shufflenet_v2_x0_5 = absent("quantization", "shufflenet_v2_x0_5")
shufflenet_v2_x1_0 = absent("quantization", "shufflenet_v2_x1_0")
shufflenet_v2_x1_5 = absent("quantization", "shufflenet_v2_x1_5")
shufflenet_v2_x2_0 = absent("quantization", "shufflenet_v2_x2_0")
